#!/usr/bin/env python3
"""tidy.py - goal: what the house rules promise of the tree as a whole, and no compiler checks, is checked by the tests.

Method: each rule is one function that yields a line for every breach; `tidy.py RULE [BUILD]` fails when there is one.
Rules look at the files that git knows, or at all files where the tree is no clone. BUILD is the build tree, for the rules
that look at what was built."""

import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LINES_MAX = 700
TEST_LINES_MAX = 900  # tables of cases
FUNCTION_LINES_MAX = 70

# What of docs/PROTOCOL.md and docs/SEMANTICS.md is built: each number is cited by a test.
BUILT_P = range(1, 16)
BUILT_S = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 16, 17, 18, 20, 22, 23, 24, 25, 26, 27, 28, 29]

# Pure layers may call these of the C library, expat and libcrypto and nothing else: no I/O, clock, randomness, lock, log.
PURE = r"""
    mem(chr|cmp|cpy|move|set|mem|rchr) str(chr|cmp|casecmp|ncasecmp|cspn|len|ncmp|nlen|pbrk|rchr|spn|str|sep|dup|ndup)
    rawmemchr stpcpy (v)?snprintf v?sscanf __isoc99_v?sscanf strto(l|ul|ll|ull) malloc calloc realloc free qsort bsearch
    __ctype_(b|tolower|toupper)_loc tolower toupper explicit_bzero __errno_location abort fprintf stderr
    __stack_chk_fail _GLOBAL_OFFSET_TABLE_ __(v)?(snprintf|memcpy|memmove|memset)_chk __explicit_bzero_chk
"""
PURE_WIRE = r" XML_\w+ EVP_\w+ HMAC\w* MD5 SHA256 OSSL_\w+"


def tracked():
    """Every file of the tree that belongs to the project, relative to its top."""
    listed = subprocess.run(["git", "-C", TOP, "ls-files", "-co", "--exclude-standard", "-z"], capture_output=True)
    if listed.returncode == 0:
        names = listed.stdout.decode().split("\0")
    else:
        names = []
        for folder, below, files in os.walk(TOP):
            below[:] = [b for b in below if b not in (".git", "build", "node_modules")]
            names += [os.path.relpath(os.path.join(folder, f), TOP) for f in files]
    return sorted(n for n in names if n and os.path.isfile(os.path.join(TOP, n)))


def text(name):
    with open(os.path.join(TOP, name), encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


def sources(prefix=("src/", "include/", "tests/")):
    return [n for n in tracked() if n.startswith(prefix) and n.endswith((".c", ".h"))]


def scripts():
    for name in tracked():
        with open(os.path.join(TOP, name), "rb") as file:
            first = file.readline(80)
        if re.match(rb"#!.*\b(ba)?sh\b", first):
            yield name


def rule_format(_build):
    """clang-format agrees with every source."""
    for name in sources():
        run = subprocess.run(["clang-format", "--dry-run", "-Werror", name], cwd=TOP, capture_output=True, text=True)
        if run.returncode:
            yield run.stderr.splitlines()[0] if run.stderr else name


def rule_banned(_build):
    """Banned functions stay banned, and what would take the ban off is nowhere."""
    banned = text("src/base/banned.h")
    for function in "strcpy sprintf strtok atoi gmtime alloca sleep rand system".split():
        if not re.search(rf"#define {function}\(", banned):
            yield f"src/base/banned.h no longer bans {function}"
    names = "|".join(re.findall(r"#define (\w+)\(\.\.\.\)", banned))
    for name in sources():
        for number, line in enumerate(text(name).splitlines(), 1):
            if name != "src/base/banned.h" and re.search(rf"#\s*undef\s+({names})\b", line):
                yield f"{name}:{number}: {line.strip()}"


def undefined(build, library):
    out = subprocess.run(["nm", "-u", os.path.join(build, f"libreadyfs_{library}.a")], capture_output=True, text=True,
                         check=True).stdout
    return {line.split()[-1] for line in out.splitlines() if re.match(r"\s+[Uw] ", line)}


def defined(build, library):
    out = subprocess.run(["nm", os.path.join(build, f"libreadyfs_{library}.a")], capture_output=True, text=True,
                         check=True).stdout
    return {line.split()[-1] for line in out.splitlines() if re.search(r" [TDRBC] ", line)}


def rule_purity(build):
    """core/ and wire/ reach for nothing but memory and text."""
    for library, allowed in (("core", PURE), ("wire", PURE + PURE_WIRE)):
        known = defined(build, library) | defined(build, "base")
        patterns = [re.compile(p + r"\Z") for p in allowed.split()]
        for symbol in sorted(undefined(build, library) - known):
            if symbol.startswith(("__asan", "__ubsan", "__tsan", "__gcov", "__sanitizer")):
                continue
            if not any(p.match(symbol) for p in patterns):
                yield f"{library}/ calls {symbol}"


def rule_citations(_build):
    """Every numbered promise that is built is named by a test."""
    tests = "\n".join(text(n) for n in tracked() if n.startswith("tests/") and not n.startswith("tests/tidy/"))
    for letter, numbers in (("P", BUILT_P), ("S", BUILT_S)):
        for number in numbers:
            if not re.search(rf"\b{letter}{number}\b", tests):
                yield f"no test names {letter}{number}"


def rule_size(_build):
    """Files and functions keep a size that a person can hold in mind."""
    for name in sources():
        lines = text(name).splitlines()
        most = TEST_LINES_MAX if name.startswith("tests/") else LINES_MAX
        if len(lines) > most:
            yield f"{name}: {len(lines)} lines, {most} are the limit"
        start = None
        for number, line in enumerate(lines, 1):
            if line == "{":
                start = number
            elif line == "}" and start:
                if number - start + 1 > FUNCTION_LINES_MAX:
                    yield f"{name}:{start}: a function of {number - start + 1} lines"
                start = None


def rule_includes(_build):
    """Includes of ours are written "layer/file.h" and name a file; a header is included once guarded."""
    for name in sources(("src/",)):
        body = text(name)
        for include in re.findall(r'^#include "([^"]+)"', body, re.M):
            if not os.path.isfile(os.path.join(TOP, "src", include)):
                yield f'{name}: "{include}" is no path below src/'
        if name.endswith(".h"):
            guard = "READYFS_" + re.sub(r"\W", "_", name[len("src/"):]).upper()
            if f"#ifndef {guard}\n#define {guard}\n" not in body:
                yield f"{name}: no include guard {guard}"


def rule_heads(_build):
    """A file opens with what it is."""
    for name in sources(("src/", "tests/")):
        if not re.search(rf"\A(/\* links: .*\n)?/\* {re.escape(os.path.basename(name))} - ", text(name)):
            yield f"{name}: does not open with /* {os.path.basename(name)} - ..."
    for name in scripts():
        if not re.search(r"\A#!.*\n# \S+", text(name)):
            yield f"{name}: does not open with a comment that says what it is"


def rule_machines(_build):
    """Nothing in the tree knows the machine on which it was written."""
    places = re.compile(r"(?<![\w.])/(?:work|root|home/[a-z]\w*|Users/\w+)/|\b(?:TODO|FIXME|XXX)\b")
    for name in tracked():
        # The bare root is a machine of its own, whose home is known.
        if name.endswith((".png", ".svg")) or name in ("tests/tidy/tidy.py", "tests/bare-root/run"):
            continue
        for number, line in enumerate(text(name).splitlines(), 1):
            if places.search(line) or re.search(r'"resolved": *"https?:', line):
                yield f"{name}:{number}: {line.strip()[:100]}"


def rule_links(_build):
    """Links between documents lead somewhere."""
    for name in tracked():
        if not name.endswith(".md"):
            continue
        for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text(name)):
            if "://" not in link and not os.path.exists(os.path.join(TOP, os.path.dirname(name), link)):
                yield f"{name}: ({link}) leads nowhere"


def rule_named_files(_build):
    """Documents that the sources name are there."""
    for name in tracked():
        if name.startswith("tests/tidy/") or name.endswith((".json", ".png", ".svg")):
            continue
        for path in re.findall(r"\b(docs/(?:[\w-]+/)?[\w-]+\.(?:md|1))\b", text(name)):
            if not os.path.isfile(os.path.join(TOP, path)):
                yield f"{name}: names {path}, which is not there"


def rule_shell(_build):
    """shellcheck has nothing to say."""
    for name in scripts():
        # Left out: what it cannot see of a sourced lib.sh, and `ls` as the very thing that is tested.
        run = subprocess.run(["shellcheck", "-f", "gcc", "-S", "warning", "-e", "SC1091,SC2034,SC2154,SC2010,SC2164", name],
                             cwd=TOP, capture_output=True, text=True)
        yield from run.stdout.splitlines()
        if not os.access(os.path.join(TOP, name), os.X_OK):
            yield f"{name}: is not executable"


def rule_manual(build):
    """The manual knows every verb, flag, key, variable and exit code."""
    manual = text("docs/man/readyfs.1").replace("\\-", "-").replace("\\&", "")
    program = os.path.join(build, "readyfs")
    verbs = re.findall(r"^  ([a-z][a-z-]+) ", subprocess.run([program, "help"], capture_output=True, text=True).stdout, re.M)
    if len(verbs) < 10:
        yield "readyfs help lists too few verbs"
    wanted = set(verbs)
    for verb in verbs:
        lines = subprocess.run([program, "help", verb], capture_output=True, text=True).stdout.splitlines()
        wanted |= {w for line in lines for w in re.findall(r"^  (?:-\w, )?--([a-z][a-z-]+)", line)}
        wanted |= {w for line in lines for w in re.findall(r"^ +(AZURE_[A-Z_]+)", line)}
    for word in sorted(wanted):
        if word.replace("-", "_") not in manual.replace("-", "_"):
            yield f"docs/man/readyfs.1 does not know {word}"
    for code in sorted(set(re.findall(r"X\(\w+, \"[^\"]*\", \w+, (\d+),", text("src/base/status.h")))):
        if not re.search(rf"^\.It {code}$", manual, re.M):
            yield f"docs/man/readyfs.1 does not know the exit code {code}"


def main():
    rules = {name[len("rule_"):]: rule for name, rule in globals().items() if name.startswith("rule_")}
    if len(sys.argv) < 2 or sys.argv[1] not in rules:
        sys.exit("usage: tidy.py RULE [BUILD]; rules: " + " ".join(rules))
    breaches = list(rules[sys.argv[1]](sys.argv[2] if len(sys.argv) > 2 else None))
    for breach in breaches:
        print(breach)
    sys.exit(1 if breaches else 0)


if __name__ == "__main__":
    main()
