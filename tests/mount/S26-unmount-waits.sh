#!/usr/bin/env bash
# S26 - unmounting waits for uploads that run and returns non-zero where something could not be finished (S26); a mount
# that is in use is refused with one line; --force takes it down; SIGTERM keeps what was not closed.
#
# Method: `umount` beside a running copy of a large file; beside an open file; SIGTERM and --force with unpublished
# bytes, which must be in the recovery folder. Exit codes of the verb and of the daemon are looked at each time.
READYFS_TEST_SECONDS=120
. "$(dirname "$0")/lib.sh"

start m
head -c 60000000 /dev/zero >"$T/large"
cp "$T/large" "$T/m/large" &
copy=$!
until_true 10 "the copy has begun" test -e "$T/m/large"
code=0
readyfs umount "$T/m" 2>"$T/umount.err" || code=$?
if [ $code = 0 ]; then # it waited for the close
    holds "the copy" wait $copy
    ended m
    is "exit code of the daemon" $code 0
else # or met the file open without an upload: refused, nothing was done
    grep -q 'in use' "$T/umount.err" || fail "umount said: $(cat "$T/umount.err")"
    holds "the copy" wait $copy
    stop m
fi
start m
holds "the copied file" cmp "$T/large" "$T/m/large"

hold r "$T/m/large" RDONLY
code=0
readyfs umount "$T/m" 2>"$T/umount.err" || code=$?
is "umount of a mount in use" $code 4
is "lines" "$(grep -c . "$T/umount.err")" 1
grep -q 'in use' "$T/umount.err" || fail "umount said: $(cat "$T/umount.err")"
is_mounted "$T/m" || fail "it was unmounted all the same"
done_with r
stop m

start m
hold w "$T/m/unclosed" CREAT+WRONLY
ask w write "bytes of a program"
kill -TERM "${mount_pid[m]}"
ended m
is "exit code after SIGTERM with an unpublished file" $code 7
not is_mounted "$T/m" || fail "it is still mounted"
ask w write more
[ "$answer" != ok ] || fail "a program writes on to a mount that is gone"
done_with w
is "kept bytes" "$(readyfs recover --list "$source" | grep -cF '  "unclosed": ')" 1

start m
kill -TERM "${mount_pid[m]}"
ended m
is "exit code after SIGTERM of an idle mount" $code 0

start m
hold w "$T/m/forced" CREAT+WRONLY
ask w write "bytes of a program"
code=0
readyfs umount --force "$T/m" 2>"$T/umount.err" || code=$?
is "umount --force" $code 7
ended m
is "exit code of the daemon" $code 7
done_with w
is "kept bytes" "$(readyfs recover --list "$source" | grep -cF '  "forced": ')" 1

# A namespace that was made meanwhile holds a copy: while a program reads there it is waited for, and no longer.
if [ "$(id -u)" = 0 ] && unshare --mount true 2>/dev/null; then
    start m
    echo "in a copy" >"$T/m/copied"
    mkfifo "$T/go"
    unshare --mount --propagation private sh -c 'exec 3<"$1/m/copied"; echo open >"$1/ready"; read -r _ <"$1/go"
        cat <&3 >"$1/seen"; exec 3<&-; echo closed >"$1/ready"; exec sleep 600' sh "$T" &
    copy=$!
    until_true 10 "the copy is in use" grep -qs open "$T/ready"
    readyfs umount "$T/m" &
    unmounting=$!
    until_true 10 "it is gone here" not is_mounted "$T/m"
    echo go >"$T/go"
    ended m
    is "exit code of the daemon" $code 0
    holds "umount beside a copy" wait "$unmounting"
    is "what was read there" "$(cat "$T/seen")" "in a copy"
    end_process "$copy"
fi

refused "umount of what is not mounted" readyfs umount "$T/m"
refused "umount of what is not ours" readyfs umount /proc
check
pass
