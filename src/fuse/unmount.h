/* unmount.h - `readyfs umount`: waits for what runs, takes the mount down, tells whether all was published (S26). */
#ifndef READYFS_FUSE_UNMOUNT_H
#define READYFS_FUSE_UNMOUNT_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* What is still under way. */
struct unmount_progress {
    unsigned handles, dirty, uploads;
    uint64_t unsent_bytes;
};

struct unmount_options {
    const char *runtime_dir; /* of the configuration, or NULL */
    bool force;              /* end the connection whatever programs are doing, and detach */
    void (*progress)(void *context, const struct unmount_progress *progress); /* several times a second; may be NULL */
    void *context;
};

/* Unmounts the readyfs mount at `dir` and waits until its process has ended. A dead mount of our own is detached.
 * NOT_FOUND: not mounted; INVALID: not a readyfs mount of this user; BUSY: programs hold files open, nothing was done;
 * UNFINISHED: unmounted, but some documents could not be published, or the process has gone without a word. */
MUST_CHECK enum status unmount_run(const char *dir, const struct unmount_options *options, struct err *err);

#endif
