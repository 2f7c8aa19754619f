#!/usr/bin/env bash
# S07 - writes after a close of a duplicated descriptor begin the next version; each close that finds changes publishes
# one; a Ready version never changes; appends are published by a timer while the file is open (S7).
#
# Method: a writer that does one step at a time; between the steps the catalogue is asked for the version's number and
# another process reads. Then a log is appended to and kept open.
. "$(dirname "$0")/lib.sh"

start m --append_publish=300ms
number() { sql "select version from documents join names on document = documents.id where name = 'file'"; }

hold w "$T/m/file" CREAT+WRONLY
ask w write one
is "nothing yet" "$(number)" ""
ask w dup
is "close of a duplicate publishes" "$(number) $(cat "$T/m/file")" "1 one"
ask w dup
is "another one finds no change" "$(number)" 1
hold r "$T/m/file" RDONLY
ask w write two
is "the Ready version stays" "$(number) $(cat "$T/m/file")" "1 one"
ask w close
is "the next version" "$(number) $(cat "$T/m/file")" "2 onetwo"
done_with w
done_with r

hold w "$T/m/file" WRONLY
ask w truncate 3
ask w close
is "ftruncate is a change" "$(number) $(cat "$T/m/file")" "3 one"
done_with w
py 'os.truncate(a[0], 2)' "$T/m/file"
is "truncate by name publishes at once" "$(number) $(cat "$T/m/file")" "4 on"

echo "line 1" >"$T/m/log"
hold w "$T/m/log" APPEND+WRONLY
ask w write "line 2"
seen() { grep -q "line 2" "$T/m/log"; }
until_true 20 "an append is seen while the log is open" seen
ask w write ", more"
until_true 20 "and the next one" grep -q "line 2, more" "$T/m/log"
ask w close
is "close" "$answer" ok
is "the log" "$(cat "$T/m/log")" $'line 1\nline 2, more'
done_with w
stop m
check
pass
