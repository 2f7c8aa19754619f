/* staging.c - folders of the living and the dead, and staged files in them. */
#include "blob/staging.h"

#include "base/text.h"
#include "host/entropy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define GATE_WAIT_MS 30000
#define DEPTH_MAX    (LIMIT_BLOB_NAME_BYTES / 2 + 4)

static void remove_tree(int dir_fd, const char *name, unsigned depth);

/* Removes what is in the open folder, which it closes. */
static void remove_content(int fd, unsigned depth)
{
    DIR *dir = fdopendir(fd);
    if (!dir) {
        (void)close(fd); /* the folder stays for the next one who opens */
        return;
    }
    for (struct dirent *entry; (entry = readdir(dir));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            remove_tree(dirfd(dir), entry->d_name, depth + 1);
    (void)closedir(dir);
}

/* Removes a file, or a folder with all in it, as far as that goes: what stays is tried again at the next opening. */
static void remove_tree(int dir_fd, const char *name, unsigned depth)
{
    if (depth > DEPTH_MAX || unlinkat(dir_fd, name, 0) == 0 || (errno != EISDIR && errno != EPERM))
        return;
    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return;
    remove_content(fd, depth);
    (void)unlinkat(dir_fd, name, AT_REMOVEDIR); /* as above */
}

/* Removes a store's folder if nobody lives in it. */
static void bury(int staging_fd, const char *name)
{
    char path[NAME_MAX + 8];
    AUTO_LOCK struct lock lock = LOCK_CLOSED;
    if (strlen(name) > NAME_MAX)
        return;
    (void)snprintf(path, sizeof path, "%s/lock", name);
    enum status status = lock_open(staging_fd, path, false, &lock, NULL);
    if (status == STATUS_OK)
        status = lock_try(&lock, NULL);
    if (status == STATUS_OK || status == STATUS_NOT_FOUND)
        remove_tree(staging_fd, name, 0);
}

static void bury_the_dead(int staging_fd)
{
    int fd = openat(staging_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        if (fd >= 0)
            (void)close(fd); /* nothing is buried today */
        return;
    }
    for (struct dirent *entry; (entry = readdir(dir));)
        if (entry->d_name[0] != '.' && strcmp(entry->d_name, "gate") != 0)
            bury(staging_fd, entry->d_name);
    (void)closedir(dir);
}

/* Makes and locks this store's folder. The caller holds the gate, so nobody takes it for a dead one's in between. */
static enum status move_in(int staging_fd, struct staging *staging, struct err *err)
{
    uint8_t random[8];
    char text[HEX_SIZE(sizeof random)];
    entropy_fill(entropy_system(), random, sizeof random);
    hex_encode(random, sizeof random, text);
    (void)snprintf(staging->name, sizeof staging->name, STAGING_FOLDER "/%s", text);
    if (mkdirat(staging_fd, text, 0700))
        return err_set_errno(err, errno, "make '%s'", staging->name);
    staging->fd = openat(staging_fd, text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (staging->fd < 0)
        return err_set_errno(err, errno, "open '%s'", staging->name);
    enum status status = lock_open(staging->fd, "lock", true, &staging->lock, err);
    if (status == STATUS_OK)
        status = lock_try(&staging->lock, err);
    return status;
}

static enum status enter(int root_fd, struct staging *staging, struct err *err)
{
    AUTO_LOCK struct lock gate = LOCK_CLOSED;
    AUTO_FD int fd = openat(root_fd, STAGING_FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return err_set_errno(err, errno, "open the staging folder");
    enum status status = lock_open(fd, "gate", true, &gate, err);
    if (status == STATUS_OK)
        status = lock_wait(&gate, GATE_WAIT_MS, err);
    if (status != STATUS_OK)
        return status;
    bury_the_dead(fd);
    return move_in(fd, staging, err);
}

static bool cannot_write(enum status status)
{
    return status == STATUS_READ_ONLY || status == STATUS_ACCESS || status == STATUS_PERMISSION;
}

enum status staging_open(int root_fd, struct staging *ret_staging, struct err *err)
{
    *ret_staging = (struct staging){.root_fd = root_fd, .fd = -1, .lock = LOCK_CLOSED};
    struct err mine = {0};
    enum status status = STATUS_OK;
    if (mkdirat(root_fd, STAGING_FOLDER, 0700) && errno != EEXIST)
        status = err_set_errno(&mine, errno, "make the staging folder");
    if (status == STATUS_OK)
        status = enter(root_fd, ret_staging, &mine);
    if (status == STATUS_OK)
        return STATUS_OK;
    staging_close(ret_staging);
    ret_staging->failure = status_errno(status);
    return cannot_write(status) ? STATUS_OK : err_set(err, status, "%s", mine.message);
}

void staging_close(struct staging *staging)
{
    if (staging->fd >= 0) {
        (void)close(staging->fd); /* a directory: nothing is written through it */
        remove_tree(staging->root_fd, staging->name, 0);
    }
    staging->fd = -1;
    lock_close(&staging->lock);
}

/* Makes the folders on the way to a staged file; they need not last. */
static int make_way(const struct staging *staging, const char *name)
{
    char path[LIMIT_BLOB_NAME_BYTES + 8];
    for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
        (void)snprintf(path, sizeof path, "%.*s", (int)(slash - name), name);
        if (mkdirat(staging->fd, path, 0700) && errno != EEXIST)
            return errno;
    }
    return 0;
}

int staged_file_open(struct staging *staging, const char *blob_name, struct staged_file *ret_file)
{
    struct staged_file file = {.staging = staging, .fd = -1};
    if (staging->failure)
        return staging->failure;
    if (blob_name)
        (void)snprintf(file.name, sizeof file.name, STAGING_BLOCKS "/%s", blob_name);
    else
        (void)snprintf(file.name, sizeof file.name, "p%lu", atomic_fetch_add(&staging->files, 1));
    int failure = make_way(staging, file.name);
    if (failure)
        return failure;
    file.fd = openat(staging->fd, file.name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file.fd < 0)
        return errno;
    *ret_file = file;
    return 0;
}

void staged_file_unname(struct staged_file *file)
{
    if (file->staging && file->name[0])
        (void)unlinkat(file->staging->fd, file->name, 0); /* what stays is removed with the folder */
    file->name[0] = '\0';
}

void staged_file_close(struct staged_file *file)
{
    if (!file->staging)
        return;
    staged_file_unname(file);
    (void)close(file->fd); /* what matters of it has been synced */
    *file = (struct staged_file)NO_STAGED_FILE;
}
