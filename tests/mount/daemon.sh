#!/usr/bin/env bash
# daemon - the process in the background: the parent's exit code is the mount's; nothing holds the terminal or a folder;
# no core and no debugger; SIGHUP is harmless; a service manager is told (S26, S27).
#
# Method: a background mount is looked at through /proc and unmounted; a foreground one is given a socket as a service
# manager's and must write READY=1 and STOPPING=1 into it.
. "$(dirname "$0")/lib.sh"

mkdir "$T/b" "$T/cwd"
[ $store = dir ] || options+=(--create_container)
(cd "$T/cwd" && readyfs mount "$source" ../b </dev/null >"$T/b.out" 2>"$T/b.err") || fail "mount: $(cat "$T/b.err")"
is_mounted "$T/b" || fail "the parent returned before the mount was live"
pid=$(sed -n 's/^pid=//p' "$T"/run/*.mount)
mount_pid[b]=$pid
grep -q 'made the catalogue' "$T/b.err" || fail "nothing was said of the new catalogue"
is "standard output" "$(cat "$T/b.out")" ""
echo hello >"$T/b/file"
is "working directory" "$(readlink "/proc/$pid/cwd")" /
for fd in 0 1 2; do is "descriptor $fd" "$(readlink "/proc/$pid/fd/$fd")" /dev/null; done
is "session" "$(py 'print(os.getsid(int(a[0])) == int(a[0]))' "$pid")" True
is "core limit" "$(sed -n 's/^Max core file size  *\([0-9]*\) .*/\1/p' "/proc/$pid/limits")" 0
is "mode of the record" "$(stat -c %a "$T"/run/*.mount "$T/run" | tr '\n' ' ')" "600 700 "
kill -HUP "$pid"
is "after SIGHUP" "$(cat "$T/b/file")" hello
holds "umount" readyfs umount "$T/b"
not alive "$pid" || until_true 10 "its process ends" not alive "$pid"
unset 'mount_pid[b]'
is "records that are left" "$(ls "$T/run" | grep -c 'mount\|socket')" 0

# A parent whose child cannot mount says the child's line and has its exit code.
code=0
readyfs mount "$source" "$T/missing" >"$T/b.out" 2>"$T/b.err" || code=$?
is "exit code of a failed mount" "$code $(grep -c . "$T/b.err")" "3 1"

# A service manager.
python3 - "$T/notify" >"$T/notify.out" <<'END' &
import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
while True:
    print(s.recv(4096).decode().replace("\n", " "), flush=True)
END
until_true 10 "the manager listens" test -S "$T/notify"
NOTIFY_SOCKET=$T/notify start m
until_true 10 "READY=1" grep -q '^READY=1' "$T/notify.out"
kill -TERM "${mount_pid[m]}"
ended m
is "exit code" $code 0
until_true 10 "STOPPING=1" grep -q '^STOPPING=1' "$T/notify.out"
pass
