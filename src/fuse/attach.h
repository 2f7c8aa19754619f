/* attach.h - hanging the filesystem into the tree of names, and taking it down again.
 *
 * Root does it with mount(2), everybody else through fusermount3. We do it ourselves rather than by libfuse, so that a
 * refusal is one line of ours, and so that a mount that was detached is never unmounted a second time by path. Any
 * thread; starts a child process where fusermount3 is needed.
 */
#ifndef READYFS_FUSE_ATTACH_H
#define READYFS_FUSE_ATTACH_H

#include "base/err.h"

#include <stdbool.h>

struct attach_options {
    const char *source; /* shown in the list of mounts; no secret */
    bool allow_other, read_only, noexec;
};

/* Mounts at `point` (absolute, canonical) and returns the connection's descriptor, close-on-exec and non-blocking; it
 * belongs to the caller. default_permissions, nosuid and nodev always. MOUNT with one line and what to do. */
MUST_CHECK enum status attach_mount(const char *point, const struct attach_options *options, int *ret_fd,
                                    struct err *err);

enum unmount_how {
    UNMOUNT_GENTLY,   /* BUSY while it is in use */
    UNMOUNT_LAZILY,   /* out of the tree at once, for good when the last user has gone */
    UNMOUNT_BY_FORCE, /* lazily, and for root every request under way fails (others: see attach_abort) */
};

/* Unmounts. BUSY, NOT_FOUND where nothing is mounted, PERMISSION. */
MUST_CHECK enum status attach_unmount(const char *point, enum unmount_how how, struct err *err);

/* Ends the connection behind a mount whatever it is doing: every request fails, the serving process sees its end.
 * `device_minor` is the mount's (host/mountinfo.h). NOT_FOUND where
 * /sys/fs/fuse/connections is not mounted. */
MUST_CHECK enum status attach_abort(unsigned device_minor, struct err *err);

/* Whether an executable fusermount3 is on the PATH. */
bool attach_has_fusermount(void);

#endif
