#!/usr/bin/env bash
# S09 - a write that fails poisons the workspace: close fails too and publishes nothing (S9).
#
# Method: the spool is limited to 1 MiB and a file is written from its end to its beginning, so that nothing can leave
# the spool early. The write that does not fit gets ENOSPC, close fails, readers keep the old version; a new attempt
# that fits works.
. "$(dirname "$0")/lib.sh"

start m --spool_max=1M
printf old >"$T/m/file"
is "write and close" "$(py 'f = os.open(a[0], os.O_WRONLY)
try:
    for i in range(64, 0, -1): os.pwrite(f, b"x" * 65536, i * 65536)
except OSError as e: print("write", errno.errorcode[e.errno])
try: os.close(f)
except OSError as e: print("close", errno.errorcode[e.errno])' "$T/m/file")" "write ENOSPC
close ENOSPC"
is "the old version" "$(cat "$T/m/file")" old
is "a new file" "$(py 'f = os.open(a[0], os.O_CREAT | os.O_WRONLY)
try:
    for i in range(64, 0, -1): os.pwrite(f, b"x" * 65536, i * 65536)
except OSError as e: print("write", errno.errorcode[e.errno])
os.close(f)' "$T/m/new")" "write ENOSPC
ENOSPC"
is "is not there" "$(ls "$T/m")" file
printf new >"$T/m/file"
is "and then one that fits" "$(cat "$T/m/file")" new
code=0
readyfs umount "$T/m" || code=$?
ended m
check
pass
