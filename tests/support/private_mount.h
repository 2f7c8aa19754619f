/* private_mount.h - file systems of other kinds for a test, seen by its process alone and gone with it. */
#ifndef READYFS_TESTS_PRIVATE_MOUNT_H
#define READYFS_TESTS_PRIVATE_MOUNT_H

#include <stdbool.h>

/* Mounts a file system of `type` ("tmpfs", "ramfs") with `options` (may be NULL) on the folder `path`, in a mount
 * namespace of this thread and those it starts. False where this machine does not let us: the test is then skipped. */
bool private_mount(const char *type, const char *path, const char *options);

/* Makes what private_mount() has mounted there read-only. */
bool private_remount_read_only(const char *path);

/* Takes it away again, before the folder is removed. */
void private_unmount(const char *path);

#endif
