#!/usr/bin/env bash
# verbs.sh - the verbs beside a live mount say the same as the mount and each other, names cannot harm a terminal, exit codes are
# those of the manual, and mount(8)'s helper passes its options on (S13, S25, S26).
#
# Method: a mount in the background, made through the helper as mount(8) calls it; its directory and its SOURCE are asked in turn; JSON is
# read by Python.
READYFS_TEST_SECONDS=90
. "$(dirname "$0")/lib.sh"


json() { # EXPRESSION with the object as j, from stdin
    python3 -c 'import json, sys
j = json.load(sys.stdin)
print(eval(sys.argv[1]))' "$1"
}

code_of() { # CODE COMMAND...: the exit code, with what it said in $T/said
    local wanted=$1 code=0
    shift
    "$@" >"$T/said.out" 2>"$T/said" || code=$?
    is "exit code of $*" $code "$wanted"
}

# ---- mounting through the helper ----
mkdir "$T/bin" "$T/m"
ln -s "$READYFS" "$T/bin/readyfs"
more=
[ "$store" != azurite ] || more=,create_container
PATH=$T/bin:$PATH holds "the helper" "$here/../../packaging/mount.readyfs" "$source" "$T/m" -n \
    -o "rw,_netdev,nofail,x-systemd.automount,noatime,catalogue=$T/catalogue.db,runtime_dir=$T/run,late_after=0$more"
mount_pid[m]=$(sed -n 's/^pid=//p' "$T"/run/*.mount)
is_mounted "$T/m" || fail "the helper returned before the mount was live"

# ---- what is there, from all sides ----
mkdir "$T/m/sub"
echo hello >"$T/m/sub/one"
echo two >"$T/m/two"
ln -s two "$T/m/link"
py 'open(os.fsencode(a[0]) + b"/\xff\n\x1b[31m", "w").write("x")' "$T/m"

is "ls of the directory" "$(readyfs ls "$T/m" sub)" one
is "ls of the source" "$(readyfs ls "$source" /sub/)" one
is "a name that is no text" "$(readyfs ls --json "$T/m" | json '[e["name_hex"] for e in j["entries"] if "name" not in e]')" "['ff0a1b5b33316d']"
readyfs ls "$T/m" | LC_ALL=C grep -q '[^ -~]' && fail "ls prints a byte that a terminal may obey"
is "a symlink" "$(readyfs ls --json "$T/m" | json '[e["target"] for e in j["entries"] if e["kind"] == "symlink"]')" "['two']"
is "sizes below" "$(readyfs ls -R --json "$source" | json 'sum(e["size"] for e in j["entries"] if e["kind"] == "file")')" $((6 + 4 + 1))
holds "ls -l names the blob" grep -q "$(readyfs ls --json "$T/m" | json '[e["blob"] for e in j["entries"] if e.get("name") == "two"][0]')" \
    <(readyfs ls -la "$T/m")
is "inode numbers" "$(readyfs ls --json "$T/m" | json '[e["document"] for e in j["entries"] if e.get("name") == "two"][0]')" "$(stat -c %i "$T/m/two")"

readyfs status --json "$T/m" >"$T/status.json"
is "counts" "$(json '(j["documents"], j["directories"], j["others"], j["ready"], j["condemned"])' <"$T/status.json")" "(3, 2, 1, 3, 0)"
is "the session" "$(json '[(s["kind"], s["state"]) for s in j["sessions"]]' <"$T/status.json")" "[('mount', 'alive')]"
is "the place" "$(json 'j["sessions"][0]["place"]' <"$T/status.json")" "$T/m"
is "no failures" "$(json '(j["failures"], j["warnings"])' <"$T/status.json")" "([], [])"

# ---- an unfinished document: seen by --all, by no listing ----
hold w "$T/m/half" CREAT+WRONLY
ask w write hello
is "an unfinished name" "$(readyfs ls --json "$T/m" | json '[e for e in j["entries"] if e.get("name") == "half"]')" "[]"
code_of 4 readyfs umount "$T/m"
is "a busy unmount is one line" "$(wc -l <"$T/said")" 1
is_mounted "$T/m" || fail "a refused unmount has unmounted"
done_with w

# ---- audit and sweep ----
echo again >"$T/m/two"
code_of 0 readyfs fsck --data --json "$T/m"
is "faults" "$(json '(j["faults"], j["bytes_verified"] > 0)' <"$T/said.out")" "(0, True)"
code_of 0 readyfs sweep --json --dry-run "$source"
is "a dry run does nothing" "$(json '(j["dry_run"], j["failed"])' <"$T/said.out")" "(True, 0)"
code_of 0 readyfs sweep "$T/m"
is "still there" "$(cat "$T/m/two")" again

# ---- mistakes ----
code_of 2 readyfs frobnicate
code_of 2 readyfs status --frobnicate "$T/m"
code_of 2 readyfs recover "$T/m"
code_of 2 readyfs fsck --dry-run "$T/m"
code_of 2 readyfs fsck --grace=never "$T/m"
code_of 2 readyfs status 'https://a.blob.core.windows.net/box?sig=c2VjcmV0'
! grep -q c2VjcmV0 "$T/said" || fail "a signature is repeated"
code_of 1 readyfs ls "$T/m" nowhere
code_of 1 readyfs status "$T"
code_of 1 "$READYFS" status --catalogue="$T/none.db" "$source"
code_of 2 "$READYFS"
code_of 0 "$READYFS" help
for verb in mount umount status ls sweep fsck recover lifecycle-policy version help; do
    code_of 0 "$READYFS" help $verb
    code_of 0 "$READYFS" $verb --help
done
"$READYFS" version | grep -qx 'readyfs [0-9.]*' || fail "the version"
if [ -c /dev/full ]; then
    code=0
    "$READYFS" help >/dev/full 2>"$T/said" || code=$?
    is "a full disk under stdout" $code 5
fi

# ---- the second net ----
"$READYFS" lifecycle-policy --days=7 az://box/pre >"$T/rule.json" 2>"$T/rule.txt"
is "the rule" "$(json '(j["rules"][0]["definition"]["filters"]["prefixMatch"], j["rules"][0]["definition"]["actions"]["baseBlob"]["delete"]["daysAfterCreationGreaterThan"])' <"$T/rule.json")" "(['box/pre/'], 7)"
grep -q 'soft delete' "$T/rule.txt" || fail "the rule comes without its limits"

# ---- the end ----
holds "umount" readyfs umount "$T/m"
is_mounted "$T/m" && fail "umount returned while the mount was there"
until_true 10 "the end of the daemon" not alive "${mount_pid[m]}"
unset "mount_pid[m]"
is "the session afterwards" "$(readyfs status --json "$source" | json 'j["sessions"][0]["state"]')" ended
code_of 1 readyfs umount "$T/m"
check
pass
