#!/usr/bin/env bash
# S11 - two mounts that write one document: the last close wins, whole; with conflict=fail the later close gets ESTALE
# and its bytes are kept; a publish follows the document, not its name (S11).
#
# Method: one writer on each of two mounts of one catalogue, step by step; between, the document is renamed, removed,
# or removed and made again on the other mount.
. "$(dirname "$0")/lib.sh"

start a
start b
begin() { # NAME: a document that both see, and a writer on a that has begun
    echo old >"$T/a/$1"
    hold w "$T/a/$1" WRONLY
    ask w pwrite 0 "from a, longer"
}
kept() { [ "$(readyfs recover --list "$source" | grep -c "$1")" = 1 ]; } # the last release puts them there

begin file
hold v "$T/b/file" WRONLY
ask v pwrite 0 "from b"
ask v close
is "the first close" "$(cat "$T/a/file")" "from b"
ask w close
is "the last close" "$answer" ok
is "wins whole" "$(cat "$T/b/file")" "from a, longer"
done_with v
done_with w

begin moved
mv "$T/b/moved" "$T/b/elsewhere"
ask w close
is "close after a rename" "$answer" ok
is "lands under the new name" "$(cat "$T/b/elsewhere") $(ls "$T/b")" "from a, longer elsewhere
file"
done_with w

begin removed
rm "$T/b/removed"
ask w close
is "close after a removal" "$answer" ESTALE
until_true 10 "the bytes are kept" kept removed
is "nothing came back" "$(ls "$T/b")" $'elsewhere\nfile'
done_with w

begin again
rm "$T/b/again"
echo new >"$T/b/again"
ask w close
is "close after it was made anew" "$answer" ESTALE
is "the new one is not touched" "$(cat "$T/a/again" "$T/b/again")" $'new\nnew'
until_true 10 "the bytes are kept, too" kept again
done_with w
code=0
readyfs umount "$T/a" || code=$?
ended a
stop b

start a --conflict=fail
start b --conflict=fail
begin contested
hold v "$T/b/contested" WRONLY
ask v pwrite 0 "from b"
ask v close
is "the first close under conflict=fail" "$answer" ok
ask w close
is "the later close" "$answer" ESTALE
is "the first one's version stays" "$(cat "$T/a/contested")" "from b"
until_true 10 "the later one's bytes are kept" kept contested
done_with v
done_with w
readyfs umount "$T/a" || true
ended a
readyfs umount "$T/b" || true
ended b
check
pass
