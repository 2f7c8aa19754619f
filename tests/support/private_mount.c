/* private_mount.c - a mount namespace: root's own, or one with a user namespace around it. */
#include "support/private_mount.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

static bool write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        (void)close(fd);
    return written;
}

static bool enter_namespace(void)
{
    char map[64];
    uid_t uid = geteuid();
    gid_t gid = getegid();
    if (uid == 0)
        return unshare(CLONE_NEWNS) == 0;
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
        return false;
    (void)write_file("/proc/self/setgroups", "deny"); /* older kernels have no such file and need none */
    (void)snprintf(map, sizeof map, "0 %u 1", uid);
    if (!write_file("/proc/self/uid_map", map))
        return false;
    (void)snprintf(map, sizeof map, "0 %u 1", gid);
    return write_file("/proc/self/gid_map", map);
}

bool private_mount(const char *type, const char *path, const char *options)
{
    static bool inside; /* one namespace holds all mounts of a test program */
    inside = inside || (enter_namespace() && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
    return inside && mount(type, path, type, MS_NOSUID | MS_NODEV, options) == 0;
}

bool private_remount_read_only(const char *path)
{
    return mount(NULL, path, NULL, MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) == 0;
}

void private_unmount(const char *path)
{
    (void)umount2(path, MNT_DETACH); /* what is not mounted needs none */
}
