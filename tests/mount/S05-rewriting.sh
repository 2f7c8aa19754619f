#!/usr/bin/env bash
# S05 - while a document is rewritten its name leads to the Ready version; the writer and its process's new opens see
# the workspace; writers of one document share it, but O_TRUNC begins one of its own, and the last close wins (S5).
#
# Method: writers are processes that do one step at a time (hold.py); between the steps others look by name.
. "$(dirname "$0")/lib.sh"

start m
printf old >"$T/m/file"
hold w "$T/m/file" RDWR
ask w pwrite 0 "NEW!"
is "others see" "$(cat "$T/m/file")" old
is "and its size" "$(stat -c %s "$T/m/file")" 3
ask w read 0 10
is "the writer sees" "$answer" "ok NEW!"
ask w size
is "and its size" "$answer" "ok 4"
ask w close
is "others see afterwards" "$(cat "$T/m/file")" "NEW!"
done_with w
is "its process's new opens see it too" "$(py 'f = os.open(a[0], os.O_RDWR)
os.pwrite(f, b"mine", 0)
print(open(a[0]).read(), os.stat(a[0]).st_size)
os.pwrite(f, b"NEW!", 0)
os.close(f)' "$T/m/file")" "mine 4"

hold one "$T/m/file" RDWR
ask one pwrite 0 A
hold two "$T/m/file" RDWR
ask two read 0 10
is "a second writer shares the workspace" "$answer" "ok AEW!"
ask two pwrite 1 B
ask two close
is "its close publishes both" "$(cat "$T/m/file")" "ABW!"
ask one pwrite 2 C
is "the first writes on, unseen" "$(cat "$T/m/file")" "ABW!"
ask one close
is "until its close" "$(cat "$T/m/file")" "ABC!"
done_with one
done_with two

hold one "$T/m/file" RDWR
ask one pwrite 0 first
hold two "$T/m/file" WRONLY+TRUNC
ask two write "second one"
is "O_TRUNC shows nothing yet" "$(cat "$T/m/file")" "ABC!"
ask one close
is "the first close" "$(cat "$T/m/file")" first
ask two close
is "the last close wins" "$(cat "$T/m/file")" "second one"
done_with one
done_with two
stop m
check
pass
