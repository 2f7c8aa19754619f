#!/usr/bin/env bash
# S04 - a new file that is not published yet can be reached by its exact name on the mount that writes it, is not
# listed, and is not visible elsewhere, though its name is taken (S4).
#
# Method: a file is held open unpublished on mount a; stat, open, chmod, rename and unlink by name there, listings on
# both, and O_EXCL on mount b.
. "$(dirname "$0")/lib.sh"

start a
start b
hold w "$T/a/new" CREAT+WRONLY
ask w write abc
is "size by name" "$(stat -c %s "$T/a/new")" 3
is "read by name" "$(cat "$T/a/new")" abc
is "not listed here" "$(ls "$T/a")" ""
is "not listed there" "$(ls "$T/b")" ""
is "not visible there" "$(py 'os.stat(a[0])' "$T/b/new")" ENOENT
is "its name is taken there" "$(py 'os.open(a[0], os.O_CREAT | os.O_EXCL | os.O_WRONLY)' "$T/b/new")" EEXIST
chmod 640 "$T/a/new"
is "mode by name" "$(stat -c %a "$T/a/new")" 640
mv "$T/a/new" "$T/a/renamed"
is "old name" "$(py 'os.stat(a[0])' "$T/a/new")" ENOENT
is "read by the new name" "$(cat "$T/a/renamed")" abc
is "still not listed" "$(ls "$T/a")" ""
ask w close
is "close" "$answer" ok
is "listed once it is finished" "$(ls "$T/a")" renamed
until_true 5 "visible there" test -e "$T/b/renamed"
is "read there" "$(cat "$T/b/renamed")" abc
is "mode is kept" "$(stat -c %a "$T/b/renamed")" 640
done_with w

hold w "$T/a/gone" CREAT+WRONLY
ask w write abc
rm "$T/a/gone"
is "unlinked" "$(py 'os.stat(a[0])' "$T/a/gone")" ENOENT
is "its name is free there" "$(py 'os.close(os.open(a[0], os.O_CREAT | os.O_EXCL | os.O_WRONLY)); print("ok")' "$T/b/gone")" ok
ask w close
is "close of an unlinked file" "$answer" ok
done_with w
is "the other's file" "$(stat -c %s "$T/b/gone")" 0
stop b
stop a
check
pass
