#!/usr/bin/env bash
# S08 - fsync publishes like close: what a program declares durable is a version (S8); fdatasync and O_SYNC likewise.
#
# Method: files are written and synced, and kept open while the daemon is killed (SIGKILL); the next mount has them.
. "$(dirname "$0")/lib.sh"

start m
is "listed while open" "$(py 'import subprocess
m, daemon = a
names = []
for name, sync in (("fsync", os.fsync), ("fdatasync", os.fdatasync)):
    f = os.open(m + "/" + name, os.O_CREAT | os.O_WRONLY)
    os.write(f, name.encode())
    sync(f)
    os.write(f, b" and what was not synced")
    names.append(f)
f = os.open(m + "/o_sync", os.O_CREAT | os.O_WRONLY | os.O_SYNC)
os.write(f, b"o_sync")
print(subprocess.run(["ls", m], capture_output=True, text=True).stdout.split())
print([subprocess.run(["cat", m + "/" + n], capture_output=True, text=True).stdout for n in ("fsync", "fdatasync", "o_sync")])
os.kill(int(daemon), signal.SIGKILL)' "$T/m" "${mount_pid[m]}")" "['fdatasync', 'fsync', 'o_sync']
['fsync', 'fdatasync', 'o_sync']"
crash m
start m
is "after the crash" "$(cat "$T/m/fsync" "$T/m/fdatasync" "$T/m/o_sync")" fsyncfdatasynco_sync
mkdir "$T/m/folder"
holds "fsync of a folder" py 'f = os.open(a[0], os.O_RDONLY | os.O_DIRECTORY); os.fsync(f)' "$T/m/folder"
crash m
start m
[ -d "$T/m/folder" ] || fail "a synced folder is gone"
stop m
check
pass
