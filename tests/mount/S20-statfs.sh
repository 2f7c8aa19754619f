#!/usr/bin/env bash
# S20 - statfs shows a large free space, or the configured capacity; never the size of a disk of ours (S20).
#
# Method: statvfs on mounts with and without `capacity`, before and after a file is written.
. "$(dirname "$0")/lib.sh"

free() { py 'v = os.statvfs(a[0]); print(v.f_bavail * v.f_frsize)' "$1"; }
total() { py 'v = os.statvfs(a[0]); print(v.f_blocks * v.f_frsize)' "$1"; }
start m
[ "$(free "$T/m")" -ge $((1 << 40)) ] || fail "free space is only $(free "$T/m")"
is "longest name" "$(py 'print(os.statvfs(a[0]).f_namemax)' "$T/m")" 255
stop m
start m --capacity=1G
is "total" "$(total "$T/m")" $((1 << 30))
before=$(free "$T/m")
[ "$before" -le $((1 << 30)) ] || fail "free space is $before of 1 GiB"
head -c 3000000 /dev/zero >"$T/m/file"
after=$(free "$T/m")
[ $((before - after)) -ge 2900000 ] || fail "3,000,000 bytes were written, free space went from $before to $after"
stop m
pass
