#!/usr/bin/env bash
# story - the whole way of a user in seven lines: mount, copy a tree, compare, replace while a reader loops, move a
# tree, remove half of it, unmount; mount again with a sweep. In the end every blob is named by exactly one Ready row.
#
# Method: a tree of this machine's documentation (or one made here), `cp -r`, `diff -r`, a reader loop, `mv`, `rm -r`;
# fsck and an independent listing of the container agree with the catalogue.
READYFS_TEST_SECONDS=240
. "$(dirname "$0")/lib.sh"

tree=$T/tree
mkdir "$tree"
for folder in /usr/share/doc/fuse3 /usr/share/doc/git /usr/share/doc/bash /usr/share/doc/libc6; do
    [ ! -d "$folder" ] || cp -rL "$folder" "$tree" 2>/dev/null || true
done
for i in $(seq 60); do mkdir -p "$tree/made/$((i % 7))" && head -c $((i * i * 37)) /dev/urandom >"$tree/made/$((i % 7))/$i.bin"; done
head -c 9000000 /dev/urandom >"$tree/made/large.bin"

start m
cp -r "$tree" "$T/m/docs"
holds "diff of the copy" diff -r "$tree" "$T/m/docs"

cat >"$T/reader.py" <<'END'
import os, sys, time
path, stop = sys.argv[1], sys.argv[2]
n = 0
while not os.path.exists(stop):
    data = open(path, "rb").read()
    if len(data) != 300000 or len(set(data)) != 1: sys.exit(f"{len(data)} bytes, kinds {sorted(set(data))[:5]}")
    n += 1
    time.sleep(0.002) # leaves the writer a processor
print(n)
END
head -c 300000 /dev/zero >"$T/m/docs/replaced"
python3 "$T/reader.py" "$T/m/docs/replaced" "$T/stop" >"$T/reader.out" 2>"$T/reader.log" &
reader=$!
for i in $(seq 40); do head -c 300000 /dev/zero | tr '\0' "\\$(printf %o $i)" >"$T/m/docs/replaced"; done
touch "$T/stop"
holds "the reader saw whole versions alone" wait $reader
[ "$(cat "$T/reader.out")" -gt 10 ] || fail "the reader hardly read"
rm "$T/m/docs/replaced"

mv "$T/m/docs" "$T/m/moved"
holds "diff of the moved tree" diff -r "$tree" "$T/m/moved"
rm -r "$T/m/moved/made" "$tree/made"
stop m
start m
log_says m ' sweep ' || fail "it does not say that it swept"
holds "diff after a remount" diff -r "$tree" "$T/m/moved"
agree() { [ "$(blob_names)" = "$(sql 'select blob_name from documents order by 1')" ]; }
until_true 60 "every blob is named by a Ready row, and every Ready row names a blob" agree

# The service's own client agrees: every blob but the control blob is named by one Ready row and tagged committed.
witness() {
    local main modules
    main=$("$here/../support/azurite" find) && modules=${main%/azurite/dist/*}
    local node=$modules/.bin/node
    [ -x "$node" ] || node=node
    "$node" "$here/../support/list_blobs.mjs" "$source" "$modules" | grep -v '^\.readyfs/' | sort
}
committed() { [ "$(witness)" = "$(sql "select blob_name || char(9) || 'committed' from documents order by 1")" ]; }
[ "$store" != azurite ] || witness >/dev/null || fail "the service's own client (@azure/storage-blob) cannot list the container"
[ "$store" != azurite ] || until_true 60 "an independent listing shows the Ready blobs alone, each tagged committed" committed
stop m
is "rows that are not Ready but for unused intents" "$(sql "select count(*) from versions where status <> 'Ready' and document is not null")" 0
check --data
pass
