#!/usr/bin/env bash
# S12 - O_EXCL holds across mounts: exactly one wins, the others get EEXIST; every O_CREAT takes its name (S12).
#
# Method: four processes, two on each of two mounts, create the same 100 names with O_EXCL; each name must be won once.
# Then a name that is held unpublished by one mount is tried on the other, and again after its holder was killed.
. "$(dirname "$0")/lib.sh"

start a
start b
cat >"$T/race.py" <<'END'
import os, sys
won = 0
for i in range(100):
    try:
        f = os.open(f"{sys.argv[1]}/{i}", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        os.write(f, sys.argv[2].encode())
        os.close(f)
        won += 1
    except FileExistsError:
        pass
print(won)
END
jobs=()
for racer in a1 a2 b1 b2; do
    python3 "$T/race.py" "$T/${racer%?}" "$racer" >"$T/$racer.won" 2>"$T/$racer.log" &
    jobs+=($!)
done
for job in "${jobs[@]}"; do holds "racer" wait "$job"; done
is "names won in all" "$(($(cat "$T"/*.won | tr '\n' '+')0))" 100
until_true 5 "all names are listed" test "$(ls "$T/b" | wc -l)" = 100
is "each by one racer" "$(cat "$T"/a/* | wc -c)" 200

hold w "$T/a/held" CREAT+WRONLY
is "while it is held" "$(py 'os.open(a[0], os.O_CREAT | os.O_EXCL | os.O_WRONLY)' "$T/b/held")" EEXIST
crash a
is "after its holder died" "$(py 'os.close(os.open(a[0], os.O_CREAT | os.O_EXCL | os.O_WRONLY)); print("ok")' "$T/b/held")" ok
done_with w
fusermount3 -uz "$T/a"
stop b
check
pass
