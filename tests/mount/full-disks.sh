#!/usr/bin/env bash
# full-disks - the disk of the blobs, of the catalogue, of the spool is full: programs get ENOSPC where they look, what
# was closed before is there, reading goes on, nothing partial is listed, bytes are kept, and it all works again when
# there is room (S9, S22).
#
# Method: each lies on a small disk of its own (root only), which files fill, or are filled beside.
READYFS_TEST_SECONDS=120
. "$(dirname "$0")/lib.sh"
only_on dir
need_root "small disks"

# Writes files of 60000 bytes until the first that fails; says where, and how many were closed before.
cat >"$T/fill.py" <<'END'
import errno, os, sys
root, closed, where = sys.argv[1], 0, "never"
while closed < 200 and where == "never":
    try:
        step = "open"
        f = os.open(f"{root}/{closed}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        step = "close"
        os.write(f, b"%3d" % closed * 20000)
        os.close(f)
        closed += 1
    except OSError as error:
        where = f"{step} {errno.errorcode[error.errno]}"
print(closed, where)
END
fill() {
    read -r closed step reason < <(python3 "$T/fill.py" "$T/m")
    is "the error at $step" "$reason" ENOSPC
    [ "$closed" -gt 0 ] || fail "nothing could be written"
    is "the listing" "$(ls "$T/m" | wc -l)" "$closed"
    is "the first file" "$(md5sum <"$T/m/0")" "$(printf '  0%.0s' $(seq 20000) | md5sum)"
}
kept() { readyfs recover --list "$source" | tail -n 1; }

# ---- the blobs ----
small_disk "$T/blobs" 2m
start m
fill
is "bytes of the failed one" "$(kept)" "1 kept"
rm "$T/m/0" "$T/m/1"
again() { echo again 2>/dev/null >"$T/m/again"; } # the sweeper makes the room
until_true 20 "it works again" again
is "what was written then" "$(cat "$T/m/again")" again
stop m
check --data
umount "$T/blobs"
disks=()
rm -rf "$T"/catalogue.db*

# ---- the catalogue ----
mkdir "$T/cat"
small_disk "$T/cat" 2m
options=(--catalogue="$T/cat/catalogue.db" --runtime_dir="$T/run")
start m
echo before >"$T/m/before"
head -c 900k /dev/zero >"$T/cat/filler"
python3 "$T/fill.py" "$T/m" >"$T/filled"
grep -q ENOSPC "$T/filled" || fail "the catalogue's disk is not full: $(cat "$T/filled")"
head -c 2m /dev/zero 2>/dev/null >"$T/cat/filler2" || true
is "making a directory" "$(py 'os.mkdir(a[0])' "$T/m/dir")" ENOSPC
is "moving a file" "$(py 'os.rename(a[0], a[0] + "x")' "$T/m/before")" ENOSPC
is "reading" "$(cat "$T/m/before")" before
! grep -q LOST "$T/m.log" || fail "kept bytes are called lost"
rm "$T/cat/filler" "$T/cat/filler2"
until_true 20 "it works again" mkdir "$T/m/dir"
echo after >"$T/m/dir/after"
stop m
check --data
umount "$T/cat"
disks=()

# ---- the spool ----
options=(--catalogue="$T/catalogue.db" --runtime_dir="$T/run")
rm -rf "$T/blobs"
mkdir -p "$T/catalogue.db.d"
small_disk "$T/catalogue.db.d/spool" 1m
start m
is "writing on after the failure" "$(py 'f = os.open(a[0], os.O_CREAT | os.O_RDWR)
failed = 0
for i in range(60, 0, -1):
    try: os.pwrite(f, b"y" * 60000, i * 60000)
    except OSError as e: failed += e.errno == errno.ENOSPC
print(failed > 2)
os.close(f)' "$T/m/large")" "True
ENOSPC"
is "the listing" "$(ls "$T/m")" ""
echo small >"$T/m/small"
is "another file" "$(cat "$T/m/small")" small
stop m
check --data
pass
