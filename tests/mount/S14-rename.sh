#!/usr/bin/env bash
# S14 - rename of a file or a tree is one commit, atomic, over an existing target too, and of open files; an unpublished
# file renamed onto an existing name is published first (S14).
#
# Method: a tree is renamed back and forth while another process looks for it under both names; files are replaced by
# rename while they are read; an editor's way of saving (write, rename, close) is played.
. "$(dirname "$0")/lib.sh"

if [ "$store" = dir ] && [ "$(id -u)" = 0 ]; then small_disk "$T/blobs" 12m; fi
start m
mkdir -p "$T/m/tree/deep/er"
for i in 1 2 3 4 5; do echo $i >"$T/m/tree/deep/f$i"; done
cat >"$T/look.py" <<'END'
import os, sys, time
m, stop = sys.argv[1], sys.argv[2]
while not os.path.exists(stop):
    names = os.listdir(m)
    time.sleep(0.001) # leaves the others a processor
    if ("tree" in names) + ("moved" in names) != 1: sys.exit(f"saw {names}")
END
mkdir "$T/m/other"
python3 "$T/look.py" "$T/m" "$T/stop" 2>"$T/look.log" &
looker=$!
for i in $(seq 60); do
    mv "$T/m/tree" "$T/m/moved"
    mv "$T/m/moved" "$T/m/tree"
done
touch "$T/stop"
holds "a listing shows one of the two names" wait $looker
is "the tree is whole" "$(cat "$T/m/tree/deep"/f* | tr -d '\n')" 12345

echo new >"$T/m/new"
echo target >"$T/m/target"
hold r "$T/m/target" RDONLY
mv "$T/m/new" "$T/m/target"
ask r read 0 100
is "a reader keeps what it opened" "$answer" "ok target"
is "the name shows the new one" "$(cat "$T/m/target")" new
is "the source is gone" "$(ls "$T/m")" $'other\ntarget\ntree'
done_with r

hold w "$T/m/target" WRONLY
ask w pwrite 0 NEWER
mv "$T/m/target" "$T/m/elsewhere"
ask w close
is "close of a file that was renamed while open" "$answer $(cat "$T/m/elsewhere")" "ok NEWER"
done_with w

hold w "$T/m/.save" CREAT+WRONLY
ask w write "saved by an editor"
mv "$T/m/.save" "$T/m/elsewhere"
is "an unpublished file over an existing one is published first" "$(cat "$T/m/elsewhere")" "saved by an editor"
ask w close
is "its close" "$answer" ok
done_with w
is "content afterwards" "$(cat "$T/m/elsewhere")" "saved by an editor"

is "a folder over a full one" "$(py 'os.rename(a[0] + "/other", a[0] + "/tree")' "$T/m")" ENOTEMPTY
is "a file over a folder" "$(py 'os.rename(a[0] + "/elsewhere", a[0] + "/tree")' "$T/m")" EISDIR
is "a folder over a file" "$(py 'os.rename(a[0] + "/tree", a[0] + "/elsewhere")' "$T/m")" ENOTDIR
is "a folder into itself" "$(py 'os.rename(a[0] + "/tree", a[0] + "/tree/deep/x")' "$T/m")" EINVAL
mkdir "$T/m/empty"
mv -T "$T/m/other" "$T/m/empty"
is "a folder over an empty one" "$(ls "$T/m")" $'elsewhere\nempty\ntree'
stop m
start m
is "after a remount" "$(cat "$T/m/tree/deep/f3" "$T/m/elsewhere")" $'3\nsaved by an editor'

if [ ${#disks[@]} -gt 0 ]; then
    hold w "$T/m/large" CREAT+WRONLY
    ask w fill x 20000000 # more than the store takes; the spool has room
    is "a rename whose publishing fails" "$(py 'os.rename(*a)' "$T/m/large" "$T/m/elsewhere")" ENOSPC
    is "leaves the target" "$(cat "$T/m/elsewhere")" "saved by an editor"
    ask w close
    is "and the close fails, too" "$answer" ENOSPC
    done_with w
fi
code=0
readyfs umount "$T/m" || code=$?
ended m
check
pass
