# lib.sh - what every mount test begins with: a folder of its own, a store, mounts that are gone afterwards.
#
# A test says `. "$(dirname "$0")/lib.sh"` after the comment with its goal and method. It runs with a time limit, as
# `READYFS_TEST_SECONDS=n` before that line says (60), and leaves nothing behind on any way out: its mounts are taken
# down (-u, then -uz), its own processes ended by their ids, its folder removed. On failure the daemons' logs are shown.
#
#   READYFS              the program under test
#   READYFS_TEST_STORE   dir (default) or azurite
#
# Exit codes: 0 passed, 77 skipped (it says why), anything else failed.
set -euo pipefail

# With its own mount namespace, where that is allowed, so that nothing can be left mounted whatever happens.
if [ -z "${READYFS_TEST_INNER:-}" ]; then
    export READYFS_TEST_INNER=1
    apart=()
    if [ "$(id -u)" = 0 ] && unshare --mount true 2>/dev/null; then
        apart=(unshare --mount --propagation private)
        export READYFS_TEST_APART=1
    fi
    exec timeout -k 20 "${READYFS_TEST_SECONDS:-60}" "${apart[@]}" bash "$0" "$@"
fi

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
test_name=$(basename "$0" .sh)
store=${READYFS_TEST_STORE:-dir}
T=$(mktemp -d "${TMPDIR:-/tmp}/readyfs-mount.XXXXXX")
declare -A mount_pid=()
disks=()
passed=no

# ---- the end ----

is_mounted() { grep -qF " $1 " /proc/self/mountinfo; }

alive() { kill -0 "$1" 2>/dev/null && ! grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; }

end_process() { # PID: by asking, then by force
    alive "$1" || return 0
    kill "$1" 2>/dev/null || true
    for _ in $(seq 100); do
        alive "$1" || return 0
        sleep 0.1
    done
    kill -KILL "$1" 2>/dev/null || true
}

clean_up() {
    local code=$?
    trap - EXIT TERM INT
    set +e
    ! declare -F before_end >/dev/null || before_end # a test's own
    for name in "${!mount_pid[@]}"; do
        if is_mounted "$T/$name"; then
            fusermount3 -u "$T/$name" 2>/dev/null || fusermount3 -uz "$T/$name" 2>/dev/null
        fi
        end_process "${mount_pid[$name]}"
        wait "${mount_pid[$name]}" 2>/dev/null
    done
    for job in $(jobs -p); do end_process "$job"; done
    [ ! -d "$T/azurite" ] || "$here/../support/azurite" stop "$T/azurite"
    if [ $code -ne 0 ] && [ $code -ne 77 ]; then
        for log in "$T"/*.log; do
            [ ! -s "$log" ] || { echo "--- $(basename "$log")" && tail -n 60 "$log"; } >&2
        done
    fi
    for disk in "${disks[@]}"; do umount "$disk" || umount -l "$disk"; done
    if grep -qF " $T/" /proc/self/mountinfo; then
        echo "$test_name: a mount below $T is left" >&2
        exit 1
    fi
    rm -rf "$T"
    [ $code -ne 0 ] || [ $passed = yes ] || { echo "$test_name: ended before its end" >&2 && exit 1; }
    exit $code
}
trap clean_up EXIT
trap 'exit 143' TERM INT

# ---- saying ----

fail() {
    echo "$test_name: $*" >&2
    exit 1
}

skip() {
    echo "$test_name: skipped: $*" >&2
    exit 77
}

pass() { # last line of each test
    passed=yes
    exit 0
}

# is WHAT GOT WANTED
is() { [ "$2" = "$3" ] || fail "$1: got '$2', wanted '$3'"; }

# holds WHAT COMMAND...
holds() {
    local what=$1
    shift
    "$@" || fail "$what: failed: $*"
}

# refused WHAT COMMAND...: the command must fail
refused() {
    local what=$1
    shift
    if "$@" 2>>"$T/refused.err"; then fail "$what: succeeded: $*"; fi
}

# until_true SECONDS WHAT COMMAND...: waits for an event, bounded
until_true() {
    local limit=$(($(date +%s%N) + $1 * 1000000000)) what=$2
    shift 2
    until "$@"; do
        [ "$(date +%s%N)" -lt "$limit" ] || fail "$what: did not come about: $*"
        sleep 0.05
    done
}

# py EXPRESSION-OR-STATEMENTS [ARG...]: runs Python with os, sys, errno, time imported and a = the arguments; prints what
# it prints; an OSError ends it with its name ("ENOSPC") as the only output.
py() {
    local code=$1
    shift
    python3 "$here/run_py.py" "$code" "$@"
}

# ---- a program that holds a file open, and does what it is told ----

declare -A holder_pid=() holder_in=() holder_out=()

# hold NAME PATH FLAGS: opens it in a process of its own (hold.py); the answer is in $answer
hold() {
    mkfifo "$T/$1.in" "$T/$1.out"
    python3 "$here/hold.py" "$2" "$3" <"$T/$1.in" >"$T/$1.out" 2>>"$T/hold.log" &
    holder_pid[$1]=$!
    exec {holder_in[$1]}>"$T/$1.in" {holder_out[$1]}<"$T/$1.out"
    rm "$T/$1.in" "$T/$1.out"
    read -r answer <&"${holder_out[$1]}" || fail "holder $1 died"
}

# tell NAME COMMAND...: sends it without waiting; hear NAME: reads the answer into $answer; ask does both
tell() {
    local name=$1
    shift
    echo "$*" >&"${holder_in[$name]}"
}
hear() { read -r answer <&"${holder_out[$1]}" || fail "holder $1 died"; }
ask() {
    tell "$@"
    hear "$1"
}

# done_with NAME: its process ends; what it had not closed is closed by the kernel
done_with() {
    tell "$1" exit # the pipe's end would not do: other processes have inherited it
    exec {holder_in[$1]}>&- {holder_out[$1]}<&-
    wait "${holder_pid[$1]}" 2>/dev/null || true
    unset "holder_pid[$1]" "holder_in[$1]" "holder_out[$1]"
}

# ---- the store ----

start_store() {
    case $store in
    dir)
        source="dir:$T/blobs"
        ;;
    azurite)
        mkdir -p "$T/azurite"
        local port
        port=$("$here/../support/azurite" start "$T/azurite") || exit $?
        source="http://127.0.0.1:$port/devstoreaccount1/documents"
        export AZURE_STORAGE_ACCESS_KEY=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==
        ;;
    *) fail "READYFS_TEST_STORE is '$store', not dir or azurite" ;;
    esac
}

only_on() { [ "$store" = "$1" ] || skip "this one is for the store '$1'"; }

# A test that mounts over the machine's own files does it where nobody else can see it, or not at all.
is_apart() { [ -n "${READYFS_TEST_APART:-}" ]; }

need_root() { [ "$(id -u)" = 0 ] || skip "needs root for $1"; }

# Options that each command line of a test gets: its places are in the test's folder.
options=(--catalogue="$T/catalogue.db" --runtime_dir="$T/run")

readyfs() { # VERB ARGS...
    local verb=$1
    shift
    "$READYFS" "$verb" "${options[@]}" "$@"
}

# ---- mounts ----

# launch NAME OPTION...: starts a mount at $T/NAME in the foreground mode, without waiting; log in $T/NAME.log
launch() {
    local name=$1
    shift
    is_mounted "$T/$name" || mkdir -p "$T/$name" # a dead mount is not looked at
    local first=()
    [ "$store" != azurite ] || first=(--create_container)
    "$READYFS" mount -f "${options[@]}" "${first[@]}" --late_after=0 "$@" "$source" "$T/$name" >>"$T/$name.log" 2>&1 &
    mount_pid[$name]=$!
}

log_says() { grep -q -- "$2" "$T/$1.log"; }

live_or_dead() { log_says "$1" ' mounted dir=' || ! alive "${mount_pid[$1]}"; }

# start NAME OPTION...: the same, and waits until it is live
start() {
    local name=$1
    rm -f "$T/$name.log"
    launch "$@"
    until_true 30 "mount $name" live_or_dead "$name"
    is_mounted "$T/$name" || fail "mount $name did not come up"
}

# ended NAME: waits for the end of its process; its exit code in $code
ended() {
    until_true 40 "the end of mount $1" not alive "${mount_pid[$1]}"
    code=0
    wait "${mount_pid[$1]}" || code=$?
    unset "mount_pid[$1]"
}

not() { ! "$@"; }

# stop NAME: unmounts with the verb and insists that all went well
stop() {
    holds "unmount $1" readyfs umount "$T/$1"
    ended "$1"
    is "exit code of mount $1" $code 0
}

# crash NAME: SIGKILL; the dead mount point stays
crash() {
    kill -KILL "${mount_pid[$1]}" 2>/dev/null || true # the test may have done it itself
    { wait "${mount_pid[$1]}"; } 2>/dev/null || true
}

# The catalogue and the container agree.
check() { readyfs fsck "$@" "$source" >"$T/fsck.log" 2>&1 || fail "fsck found faults"; }

sql() { python3 "$here/run_py.py" 'import sqlite3
for row in sqlite3.connect("file:" + a[0] + "?mode=ro", uri=True).execute(a[1]): print(*row, sep="|")' "$T/catalogue.db" "$1"; }

# The container as somebody else sees and changes it; the control blob is not listed.
blob_names() {
    case $store in
    dir) (cd "$T/blobs" && find . -type f ! -path './.*' | sed 's|^\./||' | sort) ;;
    azurite) python3 "$here/azure_tool.py" "$source" list | grep -v '^\.readyfs/' | sort ;;
    esac
}

blob_put() { # NAME < bytes: over what is there
    case $store in
    dir) cat >"$T/blobs.new" && mkdir -p "$(dirname "$T/blobs/$1")" && mv "$T/blobs.new" "$T/blobs/$1" ;;
    azurite) python3 "$here/azure_tool.py" "$source" put "$1" ;;
    esac
}

blob_get() { # NAME
    case $store in
    dir) cat "$T/blobs/$1" ;;
    azurite) python3 "$here/azure_tool.py" "$source" get "$1" ;;
    esac
}

blob_delete() { # NAME
    case $store in
    dir) rm "$T/blobs/$1" ;;
    azurite) python3 "$here/azure_tool.py" "$source" delete "$1" ;;
    esac
}

blob_of() { # NAME of a document in the root: its Ready version's blob
    sql "select blob_name from documents join names on names.document = documents.id where dir = 1 and name = '$1'"
}

# A file system of its own that is full soon, for a folder; gone with the test's mount namespace.
small_disk() { # FOLDER SIZE
    [ "$(id -u)" = 0 ] || skip "needs root for a small disk"
    mkdir -p "$1"
    mount -t tmpfs -o "size=$2" tmpfs "$1" || skip "may not mount a small disk here"
    disks+=("$1")
}

mkdir -p "$T/home"
export HOME=$T/home XDG_STATE_HOME=$T/home/state XDG_CACHE_HOME=$T/home/cache XDG_CONFIG_HOME=$T/home/config
unset AZURE_STORAGE_ACCOUNT AZURE_STORAGE_KEY AZURE_STORAGE_SAS_TOKEN AZURE_STORAGE_CONNECTION_STRING NOTIFY_SOCKET
[ -c /dev/fuse ] || skip "no /dev/fuse"
[ -x "${READYFS:-}" ] || fail "READYFS does not name the program"
start_store
