#!/usr/bin/env bash
# S16 - st_ino is the document's id: the same from creation to removal, across versions, renames, mounts and remounts (S16).
#
# Method: the number is taken by fstat and stat at each step, on two mounts, and compared with the catalogue's id.
. "$(dirname "$0")/lib.sh"

start a
start b
hold w "$T/a/file" CREAT+RDWR
ask w ino
ino=${answer#ok }
is "by name, unpublished" "$(stat -c %i "$T/a/file")" "$ino"
ask w write one
ask w close
done_with w
is "published" "$(stat -c %i "$T/a/file")" "$ino"
is "in the catalogue" "$(sql "select document from names where name = 'file'")" "$ino"
until_true 5 "the other mount has it" test -e "$T/b/file"
is "on the other mount" "$(stat -c %i "$T/b/file")" "$ino"
hold r "$T/a/file" RDONLY
echo two >"$T/a/file"
is "the next version" "$(stat -c %i "$T/a/file")" "$ino"
ask r ino
is "the old version's reader" "$answer" "ok $ino"
done_with r
hold w "$T/b/file" RDWR
ask w pwrite 0 three
ask w ino
is "a workspace" "$answer" "ok $ino"
ask w close
done_with w
mv "$T/a/file" "$T/a/renamed"
is "renamed" "$(stat -c %i "$T/a/renamed")" "$ino"
is "as the listing says" "$(ls -i "$T/a" | sed 's/^ *//')" "$ino renamed"
stop a
stop b
start a
is "after a remount" "$(stat -c %i "$T/a/renamed")" "$ino"
rm "$T/a/renamed"
echo new >"$T/a/renamed"
[ "$(stat -c %i "$T/a/renamed")" != "$ino" ] || fail "a new document has the old one's number"
stop a
check
pass
