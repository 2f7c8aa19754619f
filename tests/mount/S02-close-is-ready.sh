#!/usr/bin/env bash
# S02 - close returns 0 only when the new version is Ready: stored, verified, listed; else it returns an error (S2).
#
# Method: the daemon is killed (SIGKILL) right behind a close that returned 0; the next mount must show the whole file.
# Then the store's disk is filled (root only): close must fail, and the old version must still be what is read.
. "$(dirname "$0")/lib.sh"

if [ $store = dir ] && [ "$(id -u)" = 0 ]; then small_disk "$T/blobs" 12m; fi

for round in 1 2 3; do
    start m
    holds "write" py 'f = os.open(a[0], os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
data = bytes([int(a[1])]) * 3000000
while data: data = data[os.write(f, data):]
os.close(f)
os.kill(int(a[2]), signal.SIGKILL)' "$T/m/file" $round "${mount_pid[m]}"
    crash m
    start m
    is "size after the crash" "$(stat -c %s "$T/m/file")" 3000000
    is "content after the crash" "$(py 'print(set(open(a[0], "rb").read()))' "$T/m/file")" "{$round}"
    stop m
done
check

if [ ${#disks[@]} -gt 0 ]; then
    start m
    is "close on a full store" "$(py 'f = os.open(a[0], os.O_TRUNC | os.O_WRONLY)
try:
    for i in range(20): os.write(f, b"x" * (1 << 20))
except OSError: print("write", end=" ")
os.close(f)' "$T/m/file" | grep -c ENOSPC)" 1
    is "the old version" "$(py 'print(set(open(a[0], "rb").read()))' "$T/m/file")" "{3}"
    log_says m 'errno=ENOSPC' || fail "no line in the log says why"
    stop_code=0
    readyfs umount "$T/m" || stop_code=$?
    ended m
    is "exit code of umount" $stop_code $code
    start m
    is "the old version, mounted again" "$(stat -c %s "$T/m/file")" 3000000
    stop m
fi
pass
