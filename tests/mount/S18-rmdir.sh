#!/usr/bin/env bash
# S18 - rmdir of a directory with an unfinished file in it is ENOTEMPTY, on the other mount too; `rm -r` works (S18).
#
# Method: an unpublished file is held in a folder that looks empty; rmdir and rename over it are refused on both mounts,
# `rm -r` removes it, and rmdir works once the holder has gone.
. "$(dirname "$0")/lib.sh"

start a
start b
mkdir "$T/a/folder"
until_true 5 "the other mount has it" test -d "$T/b/folder"
hold w "$T/a/folder/unfinished" CREAT+WRONLY
is "it looks empty" "$(ls "$T/a/folder" "$T/b/folder")" "$T/a/folder:

$T/b/folder:"
is "rmdir here" "$(py 'os.rmdir(a[0])' "$T/a/folder")" ENOTEMPTY
is "rmdir there" "$(py 'os.rmdir(a[0])' "$T/b/folder")" ENOTEMPTY
mkdir "$T/a/other"
is "rename over it" "$(py 'os.rename(*a)' "$T/a/other" "$T/a/folder")" ENOTEMPTY
done_with w
until_true 5 "released, it is listed" test "$(ls "$T/a/folder")" = unfinished
mkdir -p "$T/a/folder/x/y/z"
for i in $(seq 40); do echo $i >"$T/a/folder/x/y/$i"; done
rm -r "$T/a/folder"
is "rm -r" "$(ls "$T/a")" other
until_true 5 "gone there" not test -e "$T/b/folder"

mkdir "$T/a/held"
hold w "$T/a/held/unfinished" CREAT+WRONLY
rm "$T/a/held/unfinished"
rmdir "$T/a/held"
ask w close
is "close of a file whose folder is gone" "$answer" ok
done_with w

# A holder that died does not keep the folder.
mkdir "$T/a/dead"
until_true 5 "the other mount has it" test -d "$T/b/dead"
hold w "$T/a/dead/unfinished" CREAT+WRONLY
crash a
holds "rmdir after the holder died" rmdir "$T/b/dead"
done_with w
fusermount3 -uz "$T/a"
stop b
check
pass
