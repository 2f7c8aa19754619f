#!/usr/bin/env bash
# S03 - a replacement is atomic: a reader gets one version from open to close, whole; nobody sees an empty, short or
# mixed file (S3), on this mount or another of the same catalogue.
#
# Method: a writer replaces a file of one repeated byte again and again, in place (O_TRUNC) and by rename, while readers
# on both mounts loop; each read must be one length and one byte. A reader that stays open reads its old version to the
# end after it was replaced, renamed and removed. A new open gets the newest.
READYFS_TEST_SECONDS=120
. "$(dirname "$0")/lib.sh"

cat >"$T/reader.py" <<'END'
import os, sys, time
path, stop, seen = sys.argv[1], sys.argv[2], set()
reads = 0
while not os.path.exists(stop) or reads < 20:
    with open(path, "rb") as f:
        size = os.fstat(f.fileno()).st_size
        data = f.read()
    if len(data) != 200000 or size not in (200000,) or len(set(data)) != 1:
        sys.exit(f"{path}: fstat {size}, read {len(data)} bytes, kinds {sorted(set(data))}")
    seen.add(data[0])
    reads += 1
    time.sleep(0.002) # leaves the writer a processor
print(reads, len(seen))
END

start a
start b
py 'open(a[0], "wb").write(b"\0" * 200000)' "$T/a/file"
until_true 5 "the other mount sees it" test -s "$T/b/file"
python3 "$T/reader.py" "$T/a/file" "$T/stop" >"$T/reader-a.out" 2>"$T/reader-a.log" &
reader_a=$!
python3 "$T/reader.py" "$T/b/file" "$T/stop" >"$T/reader-b.out" 2>"$T/reader-b.log" &
reader_b=$!
py 'for i in range(1, 60):
    data = bytes([i]) * 200000
    if i % 3:
        with open(a[0] + "/file", "wb") as f: f.write(data[:70000]); f.flush(); f.write(data[70000:])
    else:
        with open(a[0] + "/next", "wb") as f: f.write(data)
        os.rename(a[0] + "/next", a[0] + "/file")' "$T/a"
touch "$T/stop"
holds "reader on the writing mount" wait $reader_a
holds "reader on the other mount" wait $reader_b
is "newest version here" "$(py 'print(set(open(a[0], "rb").read()))' "$T/a/file")" "{59}"
is "newest version there" "$(py 'print(set(open(a[0], "rb").read()))' "$T/b/file")" "{59}"

# A reader that stays open, on each mount.
is "pinned readers" "$(py 'old = [os.open(m + "/file", os.O_RDONLY) for m in a]
for f in old: os.pread(f, 1000, 0)
for byte in (b"X", b"Y"):
    with open(a[0] + "/file", "wb") as f: f.write(byte * 200000)
os.rename(a[0] + "/file", a[0] + "/renamed")
os.unlink(a[0] + "/renamed")
time.sleep(2.5) # longer than the sweeper waits, so that it would have deleted what it may
for f in old:
    data = b""
    while part := os.pread(f, 65536, len(data)): data += part
    print(len(data), set(data), end=";")' "$T/a" "$T/b")" "200000 {59};200000 {59};"
stop b
stop a
check
pass
