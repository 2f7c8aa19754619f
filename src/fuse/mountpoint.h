/* mountpoint.h - whether a directory can be mounted on, and one clear line where it cannot (S27).
 *
 * A filesystem that hangs is never asked: what is mounted where is read from the kernel's list, and whether a mount of
 * our own is dead is told by the lock of its record (app/record.h).
 */
#ifndef READYFS_FUSE_MOUNTPOINT_H
#define READYFS_FUSE_MOUNTPOINT_H

#include "base/err.h"
#include "host/lock.h"
#include "host/mountinfo.h"

#include <stdbool.h>

struct mountpoint {
    char path[MOUNTINFO_PATH_SIZE];    /* absolute and canonical */
    char runtime[MOUNTINFO_PATH_SIZE]; /* the runtime directory */
    struct lock lock;                  /* held as long as this process serves the mount */
    bool detached;                     /* a dead mount of our own was in the way and has been taken down */
    bool not_empty;                    /* files lie under the mount, hidden by it (nonempty) */
};

/* Locks the mount point for this process and looks at all that can be in the way: DIR missing, no directory, not empty,
 * a mount already (a dead one of our own is detached), /dev/fuse or fusermount3 missing, allow_other not allowed.
 * MOUNT with one line and what to do. Done by the process that will serve, since the lock does not survive a fork. */
MUST_CHECK enum status mountpoint_init(struct mountpoint *mountpoint, const char *dir, const char *runtime,
                                       struct err *err);
void mountpoint_done(struct mountpoint *mountpoint);

struct mountpoint_rules {
    bool allow_other, nonempty;
};
MUST_CHECK enum status mountpoint_check(struct mountpoint *mountpoint, const struct mountpoint_rules *rules,
                                        struct err *err);

/* Refuses a folder of ours (blobs, catalogue, spool) that the mount would hide, or that would hold the mount. `what`
 * names it. */
MUST_CHECK enum status mountpoint_apart(const struct mountpoint *mountpoint, const char *what, const char *folder,
                                        struct err *err);

#endif
