#!/usr/bin/env bash
# S17 - unlink of an open or unfinished file works: the name is gone, descriptors live on, an unfinished version is
# cancelled (S17).
#
# Method: files are unlinked while they are read, rewritten, and not yet published; afterwards the container holds no
# blob of theirs.
. "$(dirname "$0")/lib.sh"

start m
printf 'ready document' >"$T/m/read"
hold r "$T/m/read" RDONLY
rm "$T/m/read"
ask r read 0 100
is "a reader lives on" "$answer" "ok ready document"
is "the name is gone" "$(ls "$T/m")" ""

printf 'ready document' >"$T/m/written"
hold w "$T/m/written" RDWR
ask w pwrite 0 READY
rm "$T/m/written"
ask w read 0 100
is "a writer reads on" "$answer" "ok READY document"
ask w pwrite 20 more
is "and writes on" "$answer" ok
ask w close
is "and closes" "$answer" ok

hold n "$T/m/new" CREAT+RDWR
ask n fill x 5000000
rm "$T/m/new"
is "its name is free" "$(py 'os.stat(a[0])' "$T/m/new")" ENOENT
ask n read 4999999 10
is "a new file lives on without a name" "$answer" "ok x"
ask n close
is "and closes" "$answer" ok
done_with n
done_with w
is "nothing was published" "$(ls "$T/m")" ""
done_with r
gone() { [ -z "$(blob_names)" ]; }
until_true 30 "no blob is left" gone
stop m
start m
is "after a remount" "$(ls "$T/m")" ""
stop m
check
pass
