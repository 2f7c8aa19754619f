#!/usr/bin/env bash
# S25 - the mount always starts after a crash, sweeps on start (but for `ro`), and says what it swept (S25).
#
# Method: the daemon is killed while a program has 20 MiB unpublished and a replaced version waits for its deletion. A
# read-only mount starts and sweeps nothing; a writable one starts, says what it swept, and the blobs are those of Ready
# documents alone; the unpublished bytes are in the recovery folder.
. "$(dirname "$0")/lib.sh"

start m
echo kept >"$T/m/kept"
hold w "$T/m/unfinished" CREAT+WRONLY
ask w fill x 20000000
for i in 1 2 3; do echo $i >"$T/m/replaced"; done
crash m
done_with w
fusermount3 -uz "$T/m"

before=$(blob_names | wc -l)
start m --ro
is "read-only mount" "$(cat "$T/m/kept" "$T/m/replaced") $(ls "$T/m" | wc -l)" $'kept\n3 2'
is "a write" "$(py 'os.open(a[0], os.O_CREAT | os.O_WRONLY)' "$T/m/new")" EROFS
stop m
is "blobs that a read-only mount left" "$(blob_names | wc -l)" "$before"
! grep -q ' sweep ' "$T/m.log" || fail "a read-only mount has swept"

start m
until_true 10 "it says what it swept" log_says m ' sweep fenced=[1-9]'
is "listing" "$(ls "$T/m")" $'kept\nreplaced'
only_ready() { [ "$(blob_names)" = "$(sql 'select blob_name from documents order by 1')" ]; }
until_true 30 "only Ready blobs are left" only_ready
readyfs recover --list "$source" >"$T/recover.out"
is "kept bytes" "$(grep -c unfinished "$T/recover.out")" 1
stop m
check
pass
