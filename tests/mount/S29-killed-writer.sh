#!/usr/bin/env bash
# S29 - a program that is killed while it writes publishes nothing: a document stays as it was, a new one does not
# appear, the bytes go to the recovery folder; with on_kill=publish, and for appends, they are published (S29).
#
# Method: a writer with unclosed bytes gets SIGKILL, SIGTERM, SIGINT, SIGABRT; a plain exit publishes.
. "$(dirname "$0")/lib.sh"

start m
echo old >"$T/m/doc"
for signal in KILL TERM INT ABRT; do
    hold w "$T/m/doc" WRONLY
    ask w pwrite 0 "$signal overwrites"
    hold n "$T/m/new $signal" CREAT+WRONLY
    ask n write "half a file"
    kill -$signal "${holder_pid[w]}" "${holder_pid[n]}"
    until_true 10 "the writers are gone" not alive "${holder_pid[w]}"
    until_true 10 "the writers are gone" not alive "${holder_pid[n]}"
    kept() { [ "$(readyfs recover --list "$source" | grep -c "new $signal")" = 1 ]; }
    until_true 10 "the bytes are kept ($signal)" kept
    is "the document after $signal" "$(cat "$T/m/doc")" old
    is "listing after $signal" "$(ls "$T/m")" doc
    for h in w n; do wait "${holder_pid[$h]}" 2>/dev/null || true; done
done
is "all were kept" "$(readyfs recover --list "$source" | grep -c doc)" 4

hold w "$T/m/doc" WRONLY
ask w pwrite 0 "plain exit"
done_with w
until_true 10 "an exit without close publishes" grep -q "plain exit" "$T/m/doc"

echo "line 1" >"$T/m/log"
hold w "$T/m/log" APPEND+WRONLY
ask w write "line 2"
kill -KILL "${holder_pid[w]}"
until_true 10 "appends publish all the same" grep -q "line 2" "$T/m/log"
stop m

start m --on_kill=publish
hold w "$T/m/half" CREAT+WRONLY
ask w write "half a file"
kill -KILL "${holder_pid[w]}"
until_true 10 "on_kill=publish" grep -q "half a file" "$T/m/half"
stop m
check
pass
