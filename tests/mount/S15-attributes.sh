#!/usr/bin/env bash
# S15 - mode, owner, times in nanoseconds, symlinks, hard links and extended attributes of users are kept; link counts
# are right (S15).
#
# Method: each is set by an ordinary tool on one mount, seen there at once, and again after a remount.
. "$(dirname "$0")/lib.sh"

start a
file=$T/a/file
echo one >"$file"
chmod 2640 "$file"
touch -d '2001-02-03 04:05:06.123456789 UTC' "$file"
ln -s "no where" "$T/a/link"
ln "$file" "$T/a/second"
setfattr -n user.kind -v "a letter" "$file"
setfattr -n user.empty "$file"
setfattr -n user.gone -v x "$file"
setfattr -x user.gone "$file"

attributes() { getfattr --absolute-names --only-values -n "$1" "$2"; }

see() {
    is "$1: mode, size, links" "$(stat -c '%a %s %h' "$file")" "2640 4 2"
    is "$1: time" "$(TZ=UTC stat -c %y "$file")" "2001-02-03 04:05:06.123456789 +0000"
    is "$1: one document" "$(stat -c %i "$T/a/second")" "$(stat -c %i "$file")"
    is "$1: symlink" "$(readlink "$T/a/link")" "no where"
    is "$1: attribute" "$(attributes user.kind "$T/a/second")" "a letter"
    is "$1: empty attribute" "$(attributes user.empty "$file")" ""
    is "$1: all attributes" "$(getfattr --absolute-names "$file" | grep -c '^user\.')" 2
    if attributes user.gone "$file" 2>/dev/null; then fail "$1: a removed attribute is there"; fi
}

see "at once"
cp --preserve=all "$file" "$T/a/copy"
is "cp keeps attributes" "$(attributes user.kind "$T/a/copy")" "a letter"
if setfattr -n trusted.x -v 1 "$file" 2>/dev/null; then fail "an attribute that is not of users was taken"; fi
stop a
start a
see "after a remount"
rm "$T/a/second"
is "links" "$(stat -c %h "$file")" 1
stop a
check
pass
