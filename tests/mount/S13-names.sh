#!/usr/bin/env bash
# S13 - any name of 1 to 255 bytes without '/' and NUL works, in any encoding; a longer one is ENAMETOOLONG; no name
# reaches a blob's name (S13).
#
# Method: files with awkward names are made, listed, read, renamed and removed on two mounts in turn.
. "$(dirname "$0")/lib.sh"

cat >"$T/names.py" <<'END'
import errno, os, sys
root, phase = os.fsencode(sys.argv[1]), sys.argv[2]
names = [b"a", b"x" * 255, b"new\nline", b"per%20cent%", b"ha#sh?query&x=1", b"sp ace ", b" lead", b"back\\slash",
         b"\xff\xfe invalid", b"\x01\x02\x7f", "gr\u00fc\u00df \u4f60\u597d \U0001f600".encode(), b"..x", b"...", b"'\"`$(x)",
         b"*", b"-rf", b"CON", b"e\xcc\x81", b"\xc3\xa9", b"trailing."]
path = lambda n: root + b"/" + n
if phase == "make":
    for i, n in enumerate(names):
        with open(path(n), "wb") as f: f.write(b"%d" % i)
    os.mkdir(path(b"dir\n\xff"))
    with open(path(b"dir\n\xff/in"), "wb") as f: f.write(b"in")
    for n in (b"y" * 256, b"y" * 1000):
        try: open(path(n), "wb"); sys.exit("a long name was taken")
        except OSError as e: assert e.errno == errno.ENAMETOOLONG, e
        for call in (os.stat, os.mkdir, os.unlink):
            try: call(path(n)); sys.exit("a long name was taken")
            except OSError as e: assert e.errno == errno.ENAMETOOLONG, (call, e)
    try: open(root + b"/", "wb"); sys.exit("an empty name was taken")
    except OSError: pass
else:
    assert sorted(os.listdir(root)) == sorted(names + [b"dir\n\xff"]), os.listdir(root)
    for i, n in enumerate(names):
        assert open(path(n), "rb").read() == b"%d" % i, n
    assert open(path(b"dir\n\xff/in"), "rb").read() == b"in"
    os.rename(path(names[8]), path(b"z" * 254 + b"\xff"))
    assert open(path(b"z" * 254 + b"\xff"), "rb").read() == b"8"
    os.rename(path(b"z" * 254 + b"\xff"), path(names[8]))
if phase == "remove":
    for n in names: os.unlink(path(n))
    os.unlink(path(b"dir\n\xff/in")); os.rmdir(path(b"dir\n\xff"))
    assert os.listdir(root) == [], os.listdir(root)
END
start m
holds "make" python3 "$T/names.py" "$T/m" make
holds "look" python3 "$T/names.py" "$T/m" look
stop m
readyfs ls "$source" >"$T/ls.out"
is "lines of the verb" "$(wc -l <"$T/ls.out")" 21
is "blobs named by documents" "$(blob_names | grep -cv '^d/[0-9a-f][0-9a-f]/[0-9a-f]\{32\}$' || true)" 0
start m
holds "look after a remount" python3 "$T/names.py" "$T/m" look
holds "remove" python3 "$T/names.py" "$T/m" remove
stop m
check
pass
