#!/usr/bin/env bash
# S08 - fsync publishes like close: what a program declares durable is a version (S8); fdatasync and O_SYNC likewise.
#
# Method: files are written and synced, and kept open; they must be listed and whole for others, without what was
# written later, and the next mount must have them after the daemon was killed.
. "$(dirname "$0")/lib.sh"

start m
for how in fsync fdatasync; do
    hold $how "$T/m/$how" CREAT+WRONLY
    ask $how write $how
    is "nothing is listed before $how" "$(ls "$T/m" | grep -c $how)" 0
    ask $how $how
    is "$how" "$answer" ok
    ask $how write " and what was not synced"
    is "others see" "$(cat "$T/m/$how")" $how
done
hold o_sync "$T/m/o_sync" CREAT+WRONLY+SYNC
ask o_sync write o_sync
is "O_SYNC" "$(cat "$T/m/o_sync")" o_sync
is "listed while open" "$(ls "$T/m" | tr '\n' ' ')" "fdatasync fsync o_sync "
crash m
start m
is "after the crash" "$(cat "$T/m/fsync" "$T/m/fdatasync" "$T/m/o_sync")" fsyncfdatasynco_sync
for how in fsync fdatasync o_sync; do done_with $how; done

mkdir "$T/m/folder"
holds "fsync of a folder" py 'f = os.open(a[0], os.O_RDONLY | os.O_DIRECTORY); os.fsync(f)' "$T/m/folder"
crash m
start m
[ -d "$T/m/folder" ] || fail "a synced folder is gone"
stop m
check
pass
