#!/usr/bin/env bash
# S24 - a Ready version whose blob is missing, short or changed is EIO for its reader, is named by fsck, and affects
# nobody else (S24).
#
# Method: three documents' blobs are deleted, truncated and changed behind the mount's back; each is read by a mount
# that has never read it.
. "$(dirname "$0")/lib.sh"

start m
for name in missing short changed fine; do
    py 'open(a[0], "wb").write(bytes(range(256)) * 4000)' "$T/m/$name"
done
stop m
check --data
blob_delete "$(blob_of missing)"
blob_get "$(blob_of short)" >"$T/short"
truncate -s 500000 "$T/short"
blob_put "$(blob_of short)" <"$T/short"
blob_get "$(blob_of changed)" | tr "\001" "\002" >"$T/changed"
blob_put "$(blob_of changed)" <"$T/changed"
start m
for name in missing short changed; do
    is "read of the $name one" "$(py 'f = os.open(a[0], os.O_RDONLY)
while os.read(f, 1 << 20): pass
print("read it all")' "$T/m/$name")" EIO
    until_true 5 "a line for the $name one" log_says m "$(blob_of $name)"
done
is "the fine one" "$(py 'print(open(a[0], "rb").read() == bytes(range(256)) * 4000)' "$T/m/fine")" True
is "the list" "$(ls "$T/m")" $'changed\nfine\nmissing\nshort'
code=0
readyfs fsck --data "$source" >"$T/fsck.log" 2>&1 || code=$?
is "exit code of fsck" $code 6
for name in missing short changed; do
    grep -q "$(blob_of $name)" "$T/fsck.log" || fail "fsck does not name the $name one"
done
! grep -q "$(blob_of fine)" "$T/fsck.log" || fail "fsck names the fine one"
echo new >"$T/m/missing"
is "it can be written anew" "$(cat "$T/m/missing")" new
rm "$T/m/short" "$T/m/changed"
stop m
pass
