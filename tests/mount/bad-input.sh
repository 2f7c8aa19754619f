#!/usr/bin/env bash
# bad-input - one clear line, nothing lost, no dead mount point, no core, whatever is given (S27): wrong words on the
# command line, directories that cannot be mounted on, machines without FUSE, catalogues that are not what they should
# be, spool folders that are full or read-only.
#
# Method: each is tried; the exit code, the one line and the list of mounts are looked at, and the volume is checked in
# the end. Missing devices and files are arranged in the test's own mount namespace (root only; skipped one by one else).
READYFS_TEST_SECONDS=180
. "$(dirname "$0")/lib.sh"

ulimit -c unlimited 2>/dev/null || true
cd "$T" # a core would lie here
mkdir m

one_line() { # WHAT CODE WORD: of $T/said, with exit code $code
    is "exit code: $1" "$code" "$2"
    is "lines: $1: $(cat "$T/said")" "$(grep -c '^readyfs' "$T/said")" 1
    grep '^readyfs' "$T/said" | grep -qi -- "$3" || fail "$1: no '$3' in: $(cat "$T/said")"
}
run() { # ARGS...
    code=0
    timeout 60 "$READYFS" "$@" >"$T/said" 2>&1 || code=$?
}
mount_says() { # WHAT CODE WORD ARGS...
    local what=$1 wanted=$2 word=$3
    shift 3
    run mount "${options[@]}" "$@"
    one_line "$what" "$wanted" "$word"
}

# ---- the command line ----
run frobnicate; one_line "unknown verb" 2 frobnicate
run mount --frobnicate=1 "$source" "$T/m"; one_line "unknown option" 2 frobnicate
run mount -o frobnicate "$source" "$T/m"; one_line "unknown key" 2 frobnicate
run mount --block_size=lots "$source" "$T/m"; one_line "bad value" 2 block_size
run mount --block_size=1 "$source" "$T/m"; one_line "value out of range" 2 block_size
run mount --account_key=c2VjcmV0 "$source" "$T/m"; one_line "a secret in the argument list" 2 account_key
! grep -q c2VjcmV0 "$T/said" || fail "the secret is shown"
run mount "$source"; one_line "an operand too few" 2 DIR
run mount "$source" m m; one_line "an operand too many" 2 .
for wrong in nonsense ftp://host/container https:///container dir: "https://account.blob.core.windows.net" az://; do
    run mount "${options[@]}" "$wrong" "$T/m"; one_line "SOURCE $wrong" 2 .
done
echo "frobnicate = 1" >bad.conf
run mount --config="$T/bad.conf" "$source" "$T/m"; one_line "unknown key in a file" 2 'bad.conf:1'
printf 'account_key = c2VjcmV0\n' >open.conf && chmod 644 open.conf
run mount --config="$T/open.conf" "$source" "$T/m"; one_line "a secret in a file that others read" 4 'open.conf'
! grep -q c2VjcmV0 "$T/said" || fail "the secret is shown"

# ---- the directory ----
mount_says "DIR missing" 3 mkdir "$source" "$T/missing"
mount_says "its parent missing" 3 missing "$source" "$T/missing/too"
touch file
mount_says "not a directory" 3 'not a directory' "$source" "$T/file"
mkdir full && touch full/file
mount_says "not empty" 3 nonempty "$source" "$T/full"
mount_says "the mount point in the blobs' own place" 3 'in each other' "--catalogue=$T/m/catalogue.db" "$source" "$T/m"
start full -o nonempty
log_says full mounted_over_files || fail "nonempty: no warning"
stop full
start m
mount_says "already a mount of ours" 3 'mounted already' "$source" "$T/m"
mount_says "by another way to write it" 3 'mounted already' "$source" "$T/full/../m/"
is_mounted "$T/m" || fail "the mount is gone"
echo fine >"$T/m/file"
crash m
start m
log_says m dead_mount_detached || fail "our own dead mount was not told of"
is "what was in it" "$(cat "$T/m/file")" fine
stop m
if [ "$(id -u)" = 0 ] && mkdir foreign && mount -t tmpfs tmpfs foreign 2>/dev/null; then
    disks+=("$T/foreign")
    mount_says "a foreign mount" 3 'mount point already' "$source" "$T/foreign"
    # A foreign dead FUSE mount: one whose record is not ours.
    start m
    crash m
    code=0
    timeout 60 "$READYFS" mount "${options[@]}" --runtime_dir="$T/other-run" "$source" "$T/m" >"$T/said" 2>&1 || code=$?
    one_line "a foreign dead mount" 3 'mount point already'
    fusermount3 -uz "$T/m"
fi

# ---- the machine ----
if [ "$(id -u)" = 0 ] && is_apart; then
    touch empty
    mount --bind empty /dev/fuse
    mount_says "no /dev/fuse" 3 /dev/fuse "$source" "$T/m"
    umount /dev/fuse
    if command -v setpriv >/dev/null && mknod fuse c 10 229 && chmod 666 fuse; then
        mount --bind fuse /dev/fuse
        chmod 711 "$T"
        for folder in user user/m user/home user/run; do mkdir "$folder" && chown 65534:65534 "$folder"; done
        as_user() {
            code=0
            env -i PATH="$user_path" HOME="$T/user/home" TMPDIR="$T/user" setpriv --reuid 65534 --regid 65534 \
                --clear-groups --bounding-set=-all timeout 60 "$READYFS" "$@" >"$T/said" 2>&1 || code=$?
        }
        user_path=/nowhere
        env_path=$PATH
        cp "$(command -v timeout)" "$(command -v setpriv)" user/ && chmod 755 user/timeout user/setpriv
        user_path=$T/user
        as_user mount --runtime_dir="$T/user/run" --catalogue="$T/user/c.db" "dir:$T/user/blobs" "$T/user/m"
        one_line "no fusermount3" 3 'fusermount3'
        user_path=$env_path
        if ! grep -q '^user_allow_other' /etc/fuse.conf 2>/dev/null; then
            as_user mount -o allow_other --runtime_dir="$T/user/run" --catalogue="$T/user/c.db" "dir:$T/user/blobs" "$T/user/m"
            one_line "allow_other" 3 user_allow_other
        fi
        umount /dev/fuse
    fi
fi

# ---- the catalogue ----
start m
stop m # in order, so that the file alone is the whole catalogue
[ ! -s catalogue.db-wal ] || fail "an orderly end leaves a write-ahead log"
cp catalogue.db older.db
start m
stop m
cp older.db catalogue.db
mount_says "an older copy of the catalogue" 4 accept_restore "$source" "$T/m"
start m -o accept_restore
stop m
cp catalogue.db good.db
head -c 5000 /dev/urandom >catalogue.db
rm -f catalogue.db-wal catalogue.db-shm
mount_says "a damaged catalogue" 6 'damaged\|not a database\|corrupt' "$source" "$T/m"
echo "this is no database at all, but a text" >catalogue.db
mount_says "a file that is no catalogue" 6 . "$source" "$T/m"
cp good.db catalogue.db
python3 "$here/run_py.py" 'import sqlite3
db = sqlite3.connect(a[0]); db.execute("pragma user_version = 99"); db.commit()' "$T/catalogue.db"
mount_says "a newer schema" 4 newer "$source" "$T/m"
cp good.db catalogue.db
rm -rf catalogue.db-wal catalogue.db-shm
run mount --runtime_dir="$T/run" --catalogue="$T/other.db" "$source" "$T/m"
one_line "the catalogue of another container" 4 .
rm -rf other.db*
if [ "$(id -u)" = 0 ]; then
    small_disk "$T/tiny" 40k
    head -c 38000 /dev/zero >tiny/filler 2>/dev/null || true
    mount_says "a catalogue on a full disk" 5 'space\|full' --catalogue="$T/tiny/c.db" "dir:$T/blobs2" "$T/m"
fi
start m
is "nothing was lost" "$(cat "$T/m/file")" fine
stop m

# ---- the spool ----
if [ "$(id -u)" = 0 ]; then
    small_disk "$T/catalogue.db.d/spool" 256k
    start m
    is "a full spool" "$(py 'f = os.open(a[0], os.O_CREAT | os.O_WRONLY)
try:
    for i in range(40, 0, -1): os.pwrite(f, b"x" * 65536, i * 65536)
except OSError as e: print("write", errno.errorcode[e.errno])
os.close(f)' "$T/m/spooled")" "write ENOSPC
ENOSPC"
    is "nothing was lost with a full spool" "$(cat "$T/m/file") $(ls "$T/m")" "fine file"
    readyfs umount "$T/m" || true
    ended m
    mount -o remount,ro "$T/catalogue.db.d/spool"
    mount_says "a read-only spool" 1 'spool' "$source" "$T/m" || true
    umount "$T/catalogue.db.d/spool"
    disks=("${disks[@]/$T\/catalogue.db.d\/spool/$T/tiny}")
fi
! ls core* 2>/dev/null | grep -q . || fail "a core was left"
check
pass
