/* mountpoint.c - the questions asked of a directory before anything is mounted on it. */
#include "fuse/mountpoint.h"

#include "app/record.h"
#include "fuse/attach.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STACKED_MAX 16
#define ENDING_MS   15000

/* A process that has been unmounted is still putting its things away: it is waited for, so that one can mount again at
 * once. */
static enum status take_lock(struct mountpoint *mountpoint, const char *dir, struct err *err)
{
    struct mountinfo mount;
    enum status status = record_lock(mountpoint->runtime, mountpoint->path, &mountpoint->lock, err);
    if (status == STATUS_BUSY && mountinfo_find(mountpoint->path, &mount, NULL) == STATUS_NOT_FOUND)
        status = lock_wait(&mountpoint->lock, ENDING_MS, err);
    if (status != STATUS_BUSY && status != STATUS_TIMEOUT)
        return status;
    if (status == STATUS_TIMEOUT) {
        (void)err_set(err, STATUS_MOUNT, "cannot mount on %s: the process of its last mount is still ending", dir);
        (void)err_hint(err, "it sends what programs have written; try again when it has ended");
        return STATUS_MOUNT;
    }
    (void)err_set(err, STATUS_MOUNT, "%s is mounted already: another readyfs serves it", dir);
    (void)err_hint(err, "unmount it first: readyfs umount %s", dir);
    return STATUS_MOUNT;
}

enum status mountpoint_init(struct mountpoint *mountpoint, const char *dir, const char *runtime, struct err *err)
{
    memset(mountpoint, 0, sizeof *mountpoint);
    mountpoint->lock = (struct lock)LOCK_CLOSED;
    if (snprintf(mountpoint->runtime, sizeof mountpoint->runtime, "%s", runtime) >= (int)sizeof mountpoint->runtime)
        return err_set(err, STATUS_NAME_TOO_LONG, "%s: path is too long", runtime);
    enum status status = mountinfo_path(dir, mountpoint->path, err);
    if (status != STATUS_OK)
        return err_set(err, STATUS_MOUNT, "cannot mount on %s: its parent folder cannot be reached", dir);
    return take_lock(mountpoint, dir, err);
}

void mountpoint_done(struct mountpoint *mountpoint)
{
    lock_close(&mountpoint->lock);
}

static enum status refuse(struct err *err, const char *path, const char *what, const char *hint)
{
    (void)err_set(err, STATUS_MOUNT, "cannot mount on %s: %s", path, what);
    (void)err_hint(err, "%s", hint);
    return STATUS_MOUNT;
}

/* We hold the lock, so no process serves a mount that has a record of ours: it is dead. */
static enum status clear_mounts(struct mountpoint *mountpoint, struct err *err)
{
    for (int i = 0; i < STACKED_MAX; i++) {
        struct mountinfo mount;
        struct record record;
        enum status status = mountinfo_find(mountpoint->path, &mount, err);
        if (status != STATUS_OK)
            return status == STATUS_NOT_FOUND ? STATUS_OK : status;
        if (strcmp(mount.type, "fuse.readyfs") != 0 ||
            record_read(mountpoint->runtime, mountpoint->path, &record, err) != STATUS_OK) {
            (void)err_set(err, STATUS_MOUNT, "cannot mount on %s: it is a mount point already (%s, %s)",
                          mountpoint->path, mount.type, mount.source);
            (void)err_hint(err, "unmount it first: umount %s, or fusermount3 -u %s", mountpoint->path,
                           mountpoint->path);
            return STATUS_MOUNT;
        }
        status = attach_unmount(mountpoint->path, UNMOUNT_LAZILY, err);
        if (status != STATUS_OK)
            return (void)err_context(err, "detach the dead mount at %s", mountpoint->path), status;
        mountpoint->detached = true;
    }
    return refuse(err, mountpoint->path, "too many dead mounts lie there", "unmount them by hand: fusermount3 -uz DIR");
}

static bool is_empty(DIR *dir)
{
    for (struct dirent *item; (item = readdir(dir));)
        if (strcmp(item->d_name, ".") != 0 && strcmp(item->d_name, "..") != 0)
            return false;
    return true;
}

static enum status check_folder(struct mountpoint *mountpoint, bool nonempty, struct err *err)
{
    const char *path = mountpoint->path;
    DIR *dir = opendir(path);
    if (!dir && errno == ENOENT)
        return refuse(err, path, "there is no such directory", "make it first: mkdir DIR");
    if (!dir && errno == ENOTDIR)
        return refuse(err, path, "it is not a directory", "give a directory to mount on");
    if (!dir) {
        (void)err_set_errno(err, errno, "cannot mount on %s", path);
        return err->status = STATUS_MOUNT;
    }
    mountpoint->not_empty = !is_empty(dir);
    (void)closedir(dir); /* only read from */
    if (mountpoint->not_empty && !nonempty)
        return refuse(err, path, "it is not empty, and the mount would hide what is in it",
                      "use an empty directory, or mount over it all the same with -o nonempty");
    return STATUS_OK;
}

static bool file_has_line(const char *path, const char *wanted)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    char line[512];
    bool found = false;
    while (!found && fgets(line, sizeof line, file)) {
        char *begin = line + strspn(line, " \t");
        begin[strcspn(begin, " \t\r\n")] = '\0';
        found = strcmp(begin, wanted) == 0;
    }
    (void)fclose(file); /* only read from */
    return found;
}

static enum status check_machine(const char *path, bool allow_other, struct err *err)
{
    struct stat device;
    if (stat("/dev/fuse", &device) != 0 || !S_ISCHR(device.st_mode))
        return refuse(err, path, "there is no /dev/fuse",
                      "load the kernel module (modprobe fuse); in a container, pass it the device /dev/fuse");
    if (access("/dev/fuse", R_OK | W_OK) != 0)
        return refuse(err, path, "/dev/fuse may not be opened by this user",
                      "ask for read and write access to /dev/fuse (mode 0666 is customary), or run as root");
    if (geteuid() == 0)
        return STATUS_OK;
    if (!attach_has_fusermount())
        return refuse(err, path, "fusermount3 is not installed", "install the package fuse3, or run as root");
    if (allow_other && !file_has_line("/etc/fuse.conf", "user_allow_other"))
        return refuse(err, path, "allow_other is not allowed for users on this machine",
                      "root must add the line user_allow_other to /etc/fuse.conf; or mount without allow_other");
    return STATUS_OK;
}

enum status mountpoint_check(struct mountpoint *mountpoint, const struct mountpoint_rules *rules, struct err *err)
{
    enum status status = check_machine(mountpoint->path, rules->allow_other, err);
    if (status == STATUS_OK)
        status = clear_mounts(mountpoint, err);
    if (status == STATUS_OK)
        status = check_folder(mountpoint, rules->nonempty, err);
    return status;
}

/* Whether `path` is `folder` or lies in it. */
static bool lies_in(const char *path, const char *folder)
{
    size_t len = strlen(folder);
    return strncmp(path, folder, len) == 0 && (path[len] == '\0' || path[len] == '/' || strcmp(folder, "/") == 0);
}

enum status mountpoint_apart(const struct mountpoint *mountpoint, const char *what, const char *folder, struct err *err)
{
    char real[MOUNTINFO_PATH_SIZE];
    if (mountinfo_path(folder, real, NULL) != STATUS_OK) /* not there yet: its spelling is all there is */
        (void)snprintf(real, sizeof real, "%s", folder);
    if (!lies_in(real, mountpoint->path) && !lies_in(mountpoint->path, real))
        return STATUS_OK;
    (void)err_set(err, STATUS_MOUNT, "cannot mount on %s: %s (%s) and the mount would lie in each other",
                  mountpoint->path, what, real);
    (void)err_hint(err, "mount somewhere else");
    return STATUS_MOUNT;
}
