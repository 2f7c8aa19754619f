"""run_py.py - a few lines of Python from a shell test, with system calls at hand and errors by name.

The names os, sys, errno, time, fcntl, mmap, stat, signal are imported, `a` holds the arguments. An OSError prints its
name and ends the program with 0, so that a test compares texts.
"""
import errno, fcntl, mmap, os, signal, stat, sys, time

a = sys.argv[2:]
try:
    exec(compile(sys.argv[1], "test", "exec"))
except OSError as error:
    print(errno.errorcode.get(error.errno, error.errno))
