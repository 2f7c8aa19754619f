#!/usr/bin/env bash
# S22 - every error is a clear errno and one log line with document, blob, HTTP status, service code and request id; no
# error body reaches a reader; no credential reaches a log (S22).
#
# Method: the store is broken behind the mount's back (its container is deleted; its folder is full), a file is written
# and an old one read; the errno and the log are looked at.
. "$(dirname "$0")/lib.sh"

case $store in
dir) small_disk "$T/blobs" 8m ;;
esac
start m --deadline=5s --log_level=info
head -c 2000000 /dev/zero >"$T/m/old"
case $store in
dir)
    is "close on a full disk" "$(py 'f = os.open(a[0], os.O_CREAT | os.O_WRONLY)
try:
    for i in range(12): os.write(f, b"x" * (1 << 20))
except OSError: pass
os.close(f)' "$T/m/new file")" ENOSPC
    until_true 5 "a line with the document" log_says m 'document="new file"'
    grep 'new file' "$T/m.log" | grep -q 'errno=ENOSPC' || fail "the line has no errno"
    is "the old one" "$(stat -c %s "$T/m/old")" 2000000
    ;;
azurite)
    python3 "$here/azure_tool.py" "$source" drop
    is "close without a container" "$(py 'f = os.open(a[0], os.O_CREAT | os.O_WRONLY)
os.write(f, b"x" * 100)
os.close(f)' "$T/m/new file")" EIO
    until_true 5 "a line with the document" log_says m 'document="new file"'
    line=$(grep 'new file' "$T/m.log" | tail -1)
    for part in 'http=404' 'code="ContainerNotFound"' 'request_id="' 'errno=EIO' 'd/[0-9a-f][0-9a-f]/'; do
        grep -q "$part" <<<"$line" || fail "no $part in: $line"
    done
    echo 1 >/proc/sys/vm/drop_caches 2>/dev/null || true
    is "a reader" "$(py 'print(len(os.read(os.open(a[0], os.O_RDONLY), 100)))' "$T/m/old")" EIO
    ;;
esac
! grep -qF "${AZURE_STORAGE_ACCESS_KEY:-no key}" "$T/m.log" || fail "the key is in the log"
! grep -qi 'sig=\|SharedKey' "$T/m.log" || fail "a signature is in the log"
readyfs umount "$T/m" || true
ended m
pass
