#!/usr/bin/env bash
# unprivileged - a user who is not root mounts, unmounts, forces, and mounts over a dead mount, through fusermount3 (S25,
# S26, S27).
#
# Method: run by root, who makes a /dev/fuse for everybody in the test's own mount namespace and becomes "nobody" for the
# commands; anybody else runs this very way in the other tests.
. "$(dirname "$0")/lib.sh"

only_on dir
[ "$(id -u)" = 0 ] || skip "it is for root to try what users do; users run the other tests"
is_apart || skip "no mount namespace of its own: / is no mount point, as in a chroot"
[ -e /etc/mtab ] || skip "no /etc/mtab, without which fusermount3 unmounts for nobody"
command -v setpriv >/dev/null || skip "no setpriv"
mknod "$T/fuse" c 10 229 && chmod 666 "$T/fuse" && mount --bind "$T/fuse" /dev/fuse 2>/dev/null || skip "may not make a device"
disks+=(/dev/fuse)
chmod 711 "$T"
cp "$READYFS" "$T/readyfs" && chmod 755 "$T/readyfs"
for folder in user user/home user/run user/m; do mkdir "$T/$folder" && chown 65534:65534 "$T/$folder"; done
M=$T/user/m
cp "$here/hold.py" "$T/user/"
as_user() { setpriv --reuid 65534 --regid 65534 --clear-groups env HOME="$T/user/home" XDG_STATE_HOME="$T/user/home/state" XDG_RUNTIME_DIR="$T/user/run" "$@"; }
user_readyfs() { as_user timeout 40 "$T/readyfs" "$@"; }
their_pid() { sed -n 's/^pid=//p' "$T"/user/run/readyfs/*.mount; }
before_end() { as_user fusermount3 -uz "$M" 2>/dev/null; }
as_user true 2>/dev/null || skip "may not become another user"

holds "mount" user_readyfs mount "dir:$T/user/blobs" "$M" 2>"$T/mount.log"
as_user sh -c "echo hello >'$M/file'"
is "owner" "$(as_user stat -c '%u %g' "$M/file")" "65534 65534"
is "root may not look" "$(py 'os.listdir(a[0])' "$M")" EACCES
holds "umount" user_readyfs umount "$M"
not is_mounted "$M" || fail "it is still mounted"

holds "mount again" user_readyfs mount "dir:$T/user/blobs" "$M"
kill -KILL "$(their_pid)"
until_true 10 "the mount is dead" as_user sh -c "! ls '$M' 2>/dev/null"
holds "mount over the dead one" user_readyfs mount "dir:$T/user/blobs" "$M"
is "content" "$(as_user cat "$M/file")" hello

mkfifo "$T/user/in"
chown 65534 "$T/user/in"
as_user python3 "$T/user/hold.py" "$M/open" CREAT+WRONLY <"$T/user/in" >"$T/holder.out" 2>&1 &
exec 7>"$T/user/in"
echo "write bytes" >&7
wrote() { [ "$(grep -c ok "$T/holder.out")" = 2 ]; }
until_true 10 "the holder wrote" wrote
code=0
user_readyfs umount --force "$M" 2>"$T/force.err" || code=$?
case $code in 0 | 7) ;; *) fail "umount --force: $code $(cat "$T/force.err")" ;; esac
not is_mounted "$M" || fail "it is still mounted"

holds "mount once more" user_readyfs mount "dir:$T/user/blobs" "$M"
kill -TERM "$(their_pid)"
until_true 20 "SIGTERM unmounts" not is_mounted "$M"
holds "a dead mount is unmounted by the verb" user_readyfs mount "dir:$T/user/blobs" "$M"
kill -KILL "$(their_pid)"
holds "umount of the dead one" user_readyfs umount "$M"
not is_mounted "$M" || fail "it is still mounted"
pass
