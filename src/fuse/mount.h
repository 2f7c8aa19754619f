/* mount.h - `readyfs mount`: from a configuration to a served mount, and in order back again.
 *
 * Whatever can fail is tried before anything is mounted, so that a failure never leaves a dead mount point (S27). The
 * mount ends when it is unmounted, when its connection is aborted, or by SIGTERM or SIGINT; then running uploads are
 * waited for, bytes that could not be published go to the recovery folder, and the result says so (S26).
 */
#ifndef READYFS_FUSE_MOUNT_H
#define READYFS_FUSE_MOUNT_H

#include "base/err.h"

struct config;

/* Mounts config's source on `dir`. In the background (not config->foreground) it returns when the mount is live, and
 * the process that serves it never returns from here but exits; in the foreground it returns when the mount has ended.
 * UNFINISHED: it ended, and some documents could not be published; the line says where their bytes are. */
MUST_CHECK enum status mount_run(const struct config *config, const char *dir, struct err *err);

#endif
