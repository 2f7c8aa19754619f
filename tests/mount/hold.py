"""hold.py PATH FLAGS - opens a file and does what standard input says, one answer a line ("ok ..." or an errno's name).

    write TEXT | pwrite OFFSET TEXT | fill BYTE COUNT | read OFFSET COUNT | truncate SIZE | fsync | fdatasync | size | ino | dup |
    close | exit
FLAGS are names without O_, joined by '+': CREAT+WRONLY. The end of input ends the process without a close of its own.
"""
import errno, os, signal, sys


signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell ignores it for what runs beside it


def main():
    flags = 0
    for name in sys.argv[2].split("+"):
        flags |= getattr(os, "O_" + name)
    f = None
    try:
        f = os.open(sys.argv[1], flags, 0o666)
        print("ok", flush=True)
    except OSError as error:
        print(errno.errorcode[error.errno], flush=True)
    for line in sys.stdin:
        verb, *rest = line.rstrip("\n").split(" ")
        try:
            answer = act(f, verb, rest)
        except OSError as error:
            answer = errno.errorcode[error.errno]
        print(answer, flush=True)


def act(f, verb, rest):
    if verb == "write":
        os.write(f, " ".join(rest).encode())
    elif verb == "pwrite":
        os.pwrite(f, " ".join(rest[1:]).encode(), int(rest[0]))
    elif verb == "fill":
        left = int(rest[1])
        while left:
            left -= os.write(f, rest[0].encode() * min(left, 1 << 20))
    elif verb == "read":
        return "ok " + os.pread(f, int(rest[1]), int(rest[0])).decode()
    elif verb == "truncate":
        os.ftruncate(f, int(rest[0]))
    elif verb == "fdatasync":
        os.fdatasync(f)
    elif verb == "fsync":
        os.fsync(f)
    elif verb == "size":
        return f"ok {os.fstat(f).st_size}"
    elif verb == "ino":
        return f"ok {os.fstat(f).st_ino}"
    elif verb == "dup":
        os.close(os.dup(f))
    elif verb == "close":
        os.close(f)
    elif verb == "exit":
        os._exit(0)
    else:
        return "unknown command"
    return "ok"


main()
