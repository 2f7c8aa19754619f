#!/usr/bin/env bash
# kill9 - SIGKILL of the daemon in the middle of a 100 MiB copy, then mount again: nothing partial is listed, everything
# whose close returned 0 is there, the sweeper says what it cleaned, and nobody needs `fusermount3 -uz` (P1, P8, S25).
#
# Method: a program copies small files, noting each close that returned 0, while 100 MiB are copied; the kill comes at a
# different point of the large copy in each round.
READYFS_TEST_SECONDS=180
. "$(dirname "$0")/lib.sh"

head -c 104857600 /dev/urandom >"$T/large"
cat >"$T/small.py" <<'END'
import os, sys
root, notes = sys.argv[1], os.open(sys.argv[2], os.O_CREAT | os.O_WRONLY | os.O_APPEND)
try:
    for i in range(100000):
        f = os.open(f"{root}/s{i}", os.O_CREAT | os.O_WRONLY)
        os.write(f, b"content of %d" % i)
        os.close(f)
        os.write(notes, b"%d\n" % i)
except OSError:
    pass
END
cat >"$T/copy.py" <<'END'
import os, sys, time
source, target, mark, megabytes, done = open(sys.argv[1], "rb"), sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5]
try:
    f = os.open(target, os.O_CREAT | os.O_WRONLY)
    for i in range(100):
        os.write(f, source.read(1 << 20))
        if i == megabytes: open(mark, "w").close()
        if i >= megabytes: time.sleep(0.05) # so that the kill comes before the end
    os.close(f)
    open(done, "w").close()
except OSError:
    pass
END
start m
mkdir "$T/m/1" "$T/m/2" "$T/m/3"
round=0
for megabytes in 5 40 80; do
    round=$((round + 1))
    python3 "$T/small.py" "$T/m/$round" "$T/notes$round" &
    small=$!
    python3 "$T/copy.py" "$T/large" "$T/m/large$round" "$T/mark$round" $megabytes "$T/done$round" &
    copy=$!
    until_true 60 "the copy is at $megabytes MiB" test -e "$T/mark$round"
    until_true 60 "small files are closed" test -s "$T/notes$round"
    crash m
    wait $copy || true
    wait $small || true
    start m # over the dead mount point
    log_says m dead_mount_detached || fail "the dead mount was not told of"
    [ ! -e "$T/done$round" ] || fail "the copy was finished before the kill: nothing was tried"
    [ ! -e "$T/m/large$round" ] || fail "a partial copy is listed"
    count=0
    while read -r i; do
        is "s$i" "$(cat "$T/m/$round/s$i")" "content of $i"
        count=$((count + 1))
        [ $count -lt 200 ] || break
    done < <(shuf "$T/notes$round")
    [ "$(ls "$T/m/$round" | wc -l)" -ge "$(wc -l <"$T/notes$round")" ] || fail "a closed file is missing"
    until_true 10 "it says what it swept" log_says m ' sweep fenced=[1-9]'
done
only_ready() { [ "$(blob_names)" = "$(sql 'select blob_name from documents order by 1')" ]; }
until_true 60 "only Ready blobs are left" only_ready
stop m
check --data
pass
