#!/usr/bin/env bash
# sweep-keeps-up - programs that never pause do not put the sweeper off: what they replace is deleted while they run, as
# fast as it comes, and unmounting does not wait for the rest.
#
# Method: writers replace a few files without a pause until the log tells of passes that have deleted more than one
# ordinary pass may, which only happens where one follows on the other.
READYFS_TEST_SECONDS=200
. "$(dirname "$0")/lib.sh"

cat >"$T/replace.py" <<'END'
import os, sys
i = 0
while not os.path.exists(sys.argv[2]):
    i += 1
    with open(f"{sys.argv[1]}/{os.getpid()}-{i % 3}", "w") as f:
        f.write("content of %d" % i)
END
writers=()
start m --sweep_every=5s
for _ in 1 2 3; do
    python3 "$T/replace.py" "$T/m" "$T/enough" &
    writers+=($!)
done
until_true 150 "a long pass beside the writers" log_says m ' sweep .*deleted=\([5-9][0-9][0-9]\|[0-9]\{4,\}\)'
for writer in "${writers[@]}"; do alive "$writer" || fail "a writer has ended"; done
touch "$T/enough"
wait "${writers[@]}"
stop m
check
pass
