#!/usr/bin/env bash
# S27 - wrong option, unreachable store, bad key, missing container and the like: the command that mounts fails with one
# line that says what and how to mend it, and never leaves a dead mount point (S27).
#
# Method: `mount` in the background mode and in the foreground is given each; its exit code, the number of its lines, a
# word that must stand in the line, and the list of mounts are looked at.
READYFS_TEST_SECONDS=180
. "$(dirname "$0")/lib.sh"

mkdir "$T/m"
# says WORD CODE ARGS...: both ways of mounting fail with that code and one line with that word
says() {
    local word=$1 wanted=$2 mode code
    shift 2
    for mode in "" -f; do
        code=0
        timeout 60 "$READYFS" mount $mode "${options[@]}" "$@" >"$T/said" 2>&1 || code=$?
        is "exit code of mount $mode $*" $code "$wanted"
        # the foreground's log stands beside the line
        is "lines of mount $mode $*" "$(grep -c '^readyfs' "$T/said")" 1
        grep '^readyfs' "$T/said" | grep -qi -- "$word" || fail "mount $mode $*: no '$word' in: $(cat "$T/said")"
        not is_mounted "$T/m" || fail "mount $mode $* left a mount"
        not grep -qF 'Eby8vdM02x' "$T/said" || fail "mount $mode $*: the key is shown"
    done
    [ -z "$(ls -A "$T/m")" ] || fail "something was put into the mount point"
}

# case of the command line
says 'no_such_option' 2 -o no_such_option "$source" "$T/m"
says 'deadline' 2 --deadline=soon "$source" "$T/m"
says 'SOURCE' 2 nonsense "$T/m"
says 'password\|user' 2 "https://user:secret@host/container" "$T/m"

if [ $store = dir ]; then
    # A catalogue that is there, and the folder of its blobs that is not: a disk that is not mounted, nothing to make anew.
    start m
    stop m
    mv "$T/blobs" "$T/away"
    says 'is its disk mounted' 4 "$source" "$T/m"
    mv "$T/away" "$T/blobs"
    touch "$T/file"
    says 'directory' 1 "--catalogue=$T/other.db" "dir:$T/file" "$T/m"
else
    url=$source
    says 'container' 4 "${url%/*}/missing" "$T/m"
    says 'reach\|connect' 4 --deadline=2s http://127.0.0.1:1/devstoreaccount1/documents "$T/m"
    export AZURE_STORAGE_ACCESS_KEY=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==
    says 'key\|credential' 4 --create_container "$url" "$T/m"
    export AZURE_STORAGE_ACCESS_KEY=short
    says 'key' 2 "$url" "$T/m"
    unset AZURE_STORAGE_ACCESS_KEY
    says 'AZURE_STORAGE' 4 "$url" "$T/m"
    export AZURE_STORAGE_SAS_TOKEN='sv=2021-12-02&ss=b&srt=sco&sp=rwdlacupt&se=2020-01-01T00:00:00Z&sig=AAAA'
    says 'signature ended' 4 "$url" "$T/m"
fi
pass
