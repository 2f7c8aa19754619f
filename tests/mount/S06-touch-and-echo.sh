#!/usr/bin/env bash
# S06 - `echo text > f` never shows an empty f to anyone; after `touch f`, f is listed and empty (S6).
#
# Method: a shell writes many files while another process lists the folder with their sizes in a loop, and may see no
# empty one; `touch` and `: >` are followed at once by a listing, 300 times.
READYFS_TEST_SECONDS=120
. "$(dirname "$0")/lib.sh"

start m
mkdir "$T/m/echo" "$T/m/touch"
cat >"$T/watch.py" <<'END'
import os, sys, time
folder, stop = sys.argv[1], sys.argv[2]
looks = 0
while not os.path.exists(stop):
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as f:
            data = f.read()
        if data != b"text\n" or os.stat(os.path.join(folder, name)).st_size != 5:
            sys.exit(f"{name}: {data!r}")
    looks += 1
    time.sleep(0.002) # leaves the writer a processor
print(looks)
END
python3 "$T/watch.py" "$T/m/echo" "$T/stop" >"$T/watch.out" 2>"$T/watch.log" &
watcher=$!
for i in $(seq 200); do echo text >"$T/m/echo/$i"; done
for i in $(seq 50); do echo text >"$T/m/echo/$i"; done
touch "$T/stop"
holds "no empty file was seen" wait $watcher

for i in $(seq 150); do
    touch "$T/m/touch/t$i"
    [ -n "$(ls "$T/m/touch" | grep -x "t$i")" ] || fail "t$i is not listed behind its touch"
    : >"$T/m/touch/c$i"
    [ -n "$(ls "$T/m/touch" | grep -x "c$i")" ] || fail "c$i is not listed behind its creation"
done
is "all are empty" "$(find "$T/m/touch" -type f -size 0 | wc -l)" 300
stop m
check
pass
