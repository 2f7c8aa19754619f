#!/usr/bin/env bash
# S01 - a listing shows what is Ready and nothing else (S1).
#
# Method: files, directories and symlinks are made, two files are left open and unfinished; `find`, `ls` and the verb
# `ls` must show the first and not the last. Finished, they are listed, before and after a remount.
. "$(dirname "$0")/lib.sh"

start m
mkdir "$T/m/folder" "$T/m/folder/deep"
echo one >"$T/m/one"
echo two >"$T/m/folder/two"
ln -s ../one "$T/m/folder/link"
hold first "$T/m/unfinished" CREAT+WRONLY
ask first write begun
hold second "$T/m/folder/unfinished too" CREAT+WRONLY

seen() { (cd "$T/m" && find . -mindepth 1 | sed 's|^\./||' | LC_ALL=C sort); }
is "listing" "$(seen)" $'folder\nfolder/deep\nfolder/link\nfolder/two\none'
is "names in the root" "$(ls "$T/m")" $'folder\none'
readyfs ls "$source" >"$T/ls.out"
is "what the verb shows" "$(grep -c one "$T/ls.out"):$(grep -c unfinished "$T/ls.out")" 1:0

ask first close
is "close" "$answer" ok
is "names once one is finished" "$(ls "$T/m")" $'folder\none\nunfinished'
done_with second
is "and the other" "$(ls "$T/m/folder")" $'deep\nlink\ntwo\nunfinished too'
done_with first
stop m
start m
is "names after a remount" "$(ls "$T/m")" $'folder\none\nunfinished'
is "content after a remount" "$(cat "$T/m/folder/two" "$T/m/unfinished")" $'two\nbegun'
is "link" "$(readlink "$T/m/folder/link")" ../one
stop m
check
pass
