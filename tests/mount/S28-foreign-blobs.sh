#!/usr/bin/env bash
# S28 - blobs that other tools put into the container are not documents; they are never touched (S28).
#
# Method: foreign blobs, one with a name like ours, are put beside documents; after writes, replacements, removals,
# sweeps and a crash they are there, unchanged, and no listing shows them.
. "$(dirname "$0")/lib.sh"

start m
echo one >"$T/m/one"
foreign=d/ab/0123456789abcdef0123456789abcdef
for name in notes.txt folder/data.bin $foreign; do echo "foreign $name" | blob_put "$name"; done
for i in 1 2 3; do echo $i >"$T/m/one"; done
echo two >"$T/m/two"
rm "$T/m/two"
is "listing" "$(ls "$T/m")" one
crash m
start m
holds "sweep" readyfs sweep "$source" >"$T/sweep.out"
is "listing after a crash" "$(ls "$T/m")" one
stop m
for name in notes.txt folder/data.bin $foreign; do
    is "$name" "$(blob_get "$name")" "foreign $name"
done
check
pass
