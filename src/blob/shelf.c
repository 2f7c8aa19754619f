/* shelf.c - blobs as files: making folders, giving and taking names, each durably. */
#define HASH_NONFATAL_OOM 1 /* a folder that cannot be remembered is synced again */

#include "blob/shelf.h"

#include "base/cleanup.h"
#include "host/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <uthash.h>

struct shelf_folder {
    char path[LIMIT_BLOB_NAME_BYTES];
    UT_hash_handle hh;
};

enum status shelf_open(const char *path, bool create, struct shelf *ret_shelf, struct err *err)
{
    enum status status = create ? file_make_directory(AT_FDCWD, path, err) : STATUS_OK;
    if (status != STATUS_OK)
        return status;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_set_errno(err, errno, "open the blob folder '%s'", path);
    *ret_shelf = (struct shelf){.fd = fd};
    (void)pthread_mutex_init(&ret_shelf->lock, NULL);
    return STATUS_OK;
}

void shelf_close(struct shelf *shelf)
{
    struct shelf_folder *folder, *next;
    HASH_ITER (hh, shelf->durable, folder, next) {
        HASH_DEL(shelf->durable, folder);
        free(folder);
    }
    (void)pthread_mutex_destroy(&shelf->lock);
    (void)close(shelf->fd); /* a directory: nothing is written through it */
}

static bool ends_with(const char *text, size_t len, const char *end)
{
    size_t end_len = strlen(end);
    return len >= end_len && memcmp(text + len - end_len, end, end_len) == 0;
}

static bool is(const char *text, size_t len, const char *what)
{
    return len == strlen(what) && memcmp(text, what, len) == 0;
}

static bool part_valid(const char *part, size_t len)
{
    return len && len <= LIMIT_NAME_BYTES && !is(part, len, ".") && !is(part, len, "..") &&
           !is(part, len, ".staging") && !is(part, len, ".control.lock") && !ends_with(part, len, ".about");
}

bool shelf_name_valid(const char *name)
{
    if (strlen(name) >= LIMIT_BLOB_NAME_BYTES)
        return false;
    for (const char *part = name;; part++) {
        size_t len = strcspn(part, "/");
        if (!part_valid(part, len))
            return false;
        part += len;
        if (!*part)
            return true;
    }
}

int shelf_find(struct shelf *shelf, const char *name, int *ret_fd, struct stat *ret_facts)
{
    AUTO_FD int fd = openat(shelf->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOTDIR || errno == ELOOP ? ENOENT : errno;
    if (fstat(fd, ret_facts))
        return errno;
    if (!S_ISREG(ret_facts->st_mode))
        return ENOENT;
    *ret_fd = fd;
    fd = -1;
    return 0;
}

int shelf_has(struct shelf *shelf, const char *name, bool *ret_there)
{
    struct stat facts;
    *ret_there = fstatat(shelf->fd, name, &facts, AT_SYMLINK_NOFOLLOW) == 0;
    return *ret_there || errno == ENOENT || errno == ENOTDIR ? 0 : errno;
}

/* The path of the folder that holds `name`: "." for the root. */
static void folder_of(const char *name, char ret_path[LIMIT_BLOB_NAME_BYTES])
{
    const char *slash = strrchr(name, '/');
    (void)snprintf(ret_path, LIMIT_BLOB_NAME_BYTES, "%.*s", slash ? (int)(slash - name) : 1, slash ? name : ".");
}

static int sync_folder(struct shelf *shelf, const char *path)
{
    AUTO_FD int fd = openat(shelf->fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    return fsync(fd) ? errno : 0;
}

static bool known_durable(struct shelf *shelf, const char *path)
{
    struct shelf_folder *folder = NULL;
    (void)pthread_mutex_lock(&shelf->lock);
    HASH_FIND_STR(shelf->durable, path, folder);
    (void)pthread_mutex_unlock(&shelf->lock);
    return folder;
}

static void remember_durable(struct shelf *shelf, const char *path)
{
    struct shelf_folder *folder = calloc(1, sizeof *folder), *before = NULL;
    if (!folder)
        return; /* it will be synced again */
    (void)snprintf(folder->path, sizeof folder->path, "%s", path);
    (void)pthread_mutex_lock(&shelf->lock);
    HASH_FIND_STR(shelf->durable, path, before);
    if (!before)
        HASH_ADD_STR(shelf->durable, path, folder);
    bool kept = !before && folder->hh.tbl;
    (void)pthread_mutex_unlock(&shelf->lock);
    if (!kept)
        free(folder);
}

static void forget_durable(struct shelf *shelf)
{
    struct shelf_folder *folder, *next;
    (void)pthread_mutex_lock(&shelf->lock);
    HASH_ITER (hh, shelf->durable, folder, next) {
        HASH_DEL(shelf->durable, folder);
        free(folder);
    }
    (void)pthread_mutex_unlock(&shelf->lock);
}

/* A folder that somebody else has just made may not be durable yet, so its parent is synced here too, whoever made it,
 * once in this store's life. */
static int make_folder(struct shelf *shelf, const char *path)
{
    char parent[LIMIT_BLOB_NAME_BYTES];
    if (known_durable(shelf, path))
        return 0;
    if (mkdirat(shelf->fd, path, 0700) && errno != EEXIST)
        return errno;
    folder_of(path, parent);
    int failure = sync_folder(shelf, parent);
    if (!failure)
        remember_durable(shelf, path);
    return failure;
}

/* Makes every folder on the way to `name`, outermost first. */
static int make_folders(struct shelf *shelf, const char *name)
{
    char path[LIMIT_BLOB_NAME_BYTES];
    for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
        (void)snprintf(path, sizeof path, "%.*s", (int)(slash - name), name);
        int failure = make_folder(shelf, path);
        if (failure)
            return failure;
    }
    return 0;
}

static int sync_folder_of(struct shelf *shelf, const char *name)
{
    char path[LIMIT_BLOB_NAME_BYTES];
    folder_of(name, path);
    return sync_folder(shelf, path);
}

static int link_once(struct shelf *shelf, int from_fd, const char *from, const char *name)
{
    int failure = make_folders(shelf, name);
    if (failure)
        return failure;
    return linkat(from_fd, from, shelf->fd, name, 0) ? errno : 0;
}

int shelf_link(struct shelf *shelf, int from_fd, const char *from, const char *name)
{
    int failure = link_once(shelf, from_fd, from, name);
    if (failure == ENOENT) { /* somebody has removed an empty folder that was remembered */
        forget_durable(shelf);
        failure = link_once(shelf, from_fd, from, name);
    }
    if (failure)
        return failure;
    failure = sync_folder_of(shelf, name);
    if (failure)
        (void)unlinkat(shelf->fd, name, 0); /* what is not durable must not be there: a look would take it for done */
    return failure;
}

int shelf_replace(struct shelf *shelf, int from_fd, const char *from, const char *name)
{
    int failure = make_folders(shelf, name);
    if (failure)
        return failure;
    if (renameat(from_fd, from, shelf->fd, name))
        return errno;
    return sync_folder_of(shelf, name);
}

int shelf_unlink(struct shelf *shelf, const char *name)
{
    int gone = unlinkat(shelf->fd, name, 0) ? errno : 0;
    if (gone == ENOTDIR)
        return ENOENT;
    if (gone && gone != ENOENT)
        return gone;
    /* An earlier attempt may have unlinked and failed to sync: absence is told only once it will last. */
    int failure = sync_folder_of(shelf, name);
    return failure && failure != ENOENT ? failure : gone;
}

void shelf_etag(const struct stat *facts, char ret_etag[LIMIT_ETAG_BYTES])
{
    uint64_t mtime_ns = (uint64_t)facts->st_mtim.tv_sec * 1000000000 + (uint64_t)facts->st_mtim.tv_nsec;
    (void)snprintf(ret_etag, LIMIT_ETAG_BYTES, "\"%" PRIx64 ":%" PRIx64 ":%" PRIx64 ":%" PRIx64 "\"",
                   (uint64_t)facts->st_dev, (uint64_t)facts->st_ino, (uint64_t)facts->st_size, mtime_ns);
}
