/* mountinfo.h - what is mounted where, read from the kernel's list alone.
 *
 * Nothing here touches a mounted filesystem: a stat of a mount point whose server hangs would hang too. Paths are
 * compared as text, so a path is made canonical first (mountinfo_path). Any thread.
 */
#ifndef READYFS_HOST_MOUNTINFO_H
#define READYFS_HOST_MOUNTINFO_H

#include "base/err.h"

#include <stdbool.h>

#define MOUNTINFO_PATH_SIZE 4096

struct mountinfo {
    unsigned device_major, device_minor;
    char type[64];    /* "ext4", "fuse.readyfs" */
    char source[512]; /* what was mounted, cut to fit */
};

/* The topmost mount at exactly `path` (absolute, canonical). NOT_FOUND, without a message, where none is; IO where the
 * list cannot be read. */
MUST_CHECK enum status mountinfo_find(const char *path, struct mountinfo *ret_mount, struct err *err);

/* Makes `path` absolute and free of ".", ".." and symbolic links without asking the filesystem that is mounted at it:
 * only the folders above it are walked. What it names need not exist. Errors: NOT_FOUND and others for a folder above
 * it, NAME_TOO_LONG. */
MUST_CHECK enum status mountinfo_path(const char *path, char ret_path[MOUNTINFO_PATH_SIZE], struct err *err);

/* Reads one line of /proc/self/mountinfo (proc(5)); `ret_point` gets the mount point. False for a malformed one. Pure;
 * the line is cut into pieces. */
MUST_CHECK bool mountinfo_parse(char *line, struct mountinfo *ret_mount, char ret_point[MOUNTINFO_PATH_SIZE]);

#endif
