#!/usr/bin/env bash
# S23 - a fatal signal ends the wait of a program and cancels its upload, a handled one (a timer) does neither; no
# process hangs beyond the deadline; what passes is repeated (S23).
#
# Method, with the emulator: it is stopped (SIGSTOP) while a program closes a file. A timer's signal changes nothing,
# and the close succeeds once the emulator goes on; a killed program is gone at once; a close without an end of the
# standstill fails within the deadline. With a local folder: the mount's process is stopped and let go on while a
# program that is being signalled by a timer waits for it.
READYFS_TEST_SECONDS=120
. "$(dirname "$0")/lib.sh"

case $store in
dir) stopped=daemon ;;
azurite) stopped=$(cat "$T/azurite/azurite.pid") ;;
esac
start m --deadline=6s --late_after=10m # what a stopped emulator does later is late
[ $stopped != daemon ] || stopped=${mount_pid[m]}
freeze() { kill -STOP "$stopped"; }
thaw() { kill -CONT "$stopped"; }
before_end() { kill -CONT "$stopped" 2>/dev/null; }

cat >"$T/closer.py" <<'END'
import errno, os, signal, sys
signals = 0
def handler(*_):
    global signals
    signals += 1
signal.signal(signal.SIGALRM, handler)
f = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
os.write(f, b"x" * 100000)
print("written", flush=True)
sys.stdin.readline()
signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
try:
    os.close(f)
    result = "closed"
except OSError as error:
    result = errno.errorcode[error.errno]
signal.setitimer(signal.ITIMER_REAL, 0)
print(result, "signals" if signals else "no signal", flush=True)
END

coproc CLOSER { exec python3 "$T/closer.py" "$T/m/timer" 2>&1; }
closer_pid=$CLOSER_PID # bash forgets it, and its ends of the pipes, when the process ends
exec {closer_out}<&"${CLOSER[0]}" {closer_in}>&"${CLOSER[1]}"
read -r line <&"$closer_out"
is "closer" "$line" written
freeze
echo >&"$closer_in"
alarm_pending() { [ $((0x$(sed -n 's/^ShdPnd:\t//p' "/proc/$closer_pid/status") & 0x2000)) != 0 ]; }
until_true 10 "the timer's signal is there while it waits" alarm_pending
thaw
read -r line <&"$closer_out"
is "a close that a timer's signals met" "$line" "closed signals"
is "the file" "$(stat -c %s "$T/m/timer")" 100000
wait "$closer_pid" || true

if [ $store = azurite ]; then
    hold w "$T/m/killed" CREAT+WRONLY
    ask w write never
    freeze
    tell w close
    in_flush() { grep -q request_wait "/proc/${holder_pid[w]}/wchan"; }
    until_true 10 "it waits in close" in_flush
    kill -KILL "${holder_pid[w]}"
    until_true 4 "a killed program is gone" not alive "${holder_pid[w]}"
    thaw
    is "and published nothing" "$(py 'os.stat(a[0])' "$T/m/killed")" ENOENT

    hold v "$T/m/late" CREAT+WRONLY
    ask v write late
    freeze
    tell v close
    until_true 30 "close fails within the deadline" log_says m 'late'
    hear v
    case $answer in ETIMEDOUT | EIO) ;; *) fail "close after the deadline: $answer" ;; esac
    thaw
    cat >"$T/crowd.py" <<'END'
import os, sys, threading
def write(i):
    f = os.open(f"{sys.argv[1]}/crowd{i}", os.O_CREAT | os.O_WRONLY)
    os.write(f, b"x")
    try: os.close(f)
    except OSError: pass
threads = [threading.Thread(target=write, args=(i,)) for i in range(30)]
for t in threads: t.start()
for t in threads: t.join()
END
    freeze
    python3 "$T/crowd.py" "$T/m" &
    crowd=$!
    waiting() { [ "$(grep -l request_wait /proc/$crowd/task/*/wchan | wc -l)" = 30 ]; }
    until_true 10 "30 programs wait for the store" waiting
    holds "a listing beside them" timeout 5 ls -l "$T/m" >/dev/null
    holds "a look-up beside them" timeout 5 stat "$T/m/timer" >/dev/null
    thaw
    holds "the crowd" wait $crowd
    echo well >"$T/m/again"
    is "the mount goes on" "$(cat "$T/m/again")" well
    done_with v
fi
readyfs umount "$T/m" || true
ended m
check
pass
