/* recover.c - keeping, listing and dropping items of the recovery folder. */
#include "fs/recover.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "host/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define INFO_MAX 8192

static enum status open_folder(const char *folder, int *ret_fd, struct err *err)
{
    *ret_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return *ret_fd >= 0 ? STATUS_OK : err_set_errno(err, errno, "recovery folder %s", folder);
}

/* Digits and dashes alone: an id never leads out of the folder. */
static bool is_id(const char *id)
{
    size_t len = strlen(id);
    return len > 0 && len < RECOVER_ID_SIZE && strspn(id, "0123456789-") == len;
}

static void file_name(const char *id, const char *ending, char ret_name[RECOVER_ID_SIZE + 8])
{
    (void)snprintf(ret_name, RECOVER_ID_SIZE + 8, "%s%s", id, ending);
}

/* ---- the info file ---- */

static void parse_line(struct recover_item *item, char *line)
{
    char *value = strchr(line, '=');
    if (!value)
        return;
    *value++ = '\0';
    if (strcmp(line, "name") == 0)
        (void)snprintf(item->name, sizeof item->name, "%s", value);
    else if (strcmp(line, "reason") == 0)
        (void)snprintf(item->reason, sizeof item->reason, "%s", value);
    else if (strcmp(line, "document") == 0)
        item->document = strtoll(value, NULL, 10);
    else if (strcmp(line, "base") == 0)
        item->base = strtoll(value, NULL, 10);
    else if (strcmp(line, "utc_ns") == 0)
        item->utc_ns = strtoll(value, NULL, 10);
    else if (strcmp(line, "missing") == 0)
        item->missing_bytes = strtoull(value, NULL, 10);
}

/* What the item's info says; without one (a crash between two renames) what its id says. */
static enum status read_item(int fd, const char *id, struct recover_item *item)
{
    char name[RECOVER_ID_SIZE + 8];
    file_name(id, ".data", name);
    struct stat facts;
    if (fstatat(fd, name, &facts, AT_SYMLINK_NOFOLLOW) != 0)
        return STATUS_NOT_FOUND;
    *item = (struct recover_item){.size_bytes = (uint64_t)facts.st_size, .utc_ns = strtoll(id, NULL, 10)};
    (void)snprintf(item->id, sizeof item->id, "%s", id);
    (void)snprintf(item->reason, sizeof item->reason, "not known");
    AUTO_BUF struct buf text;
    buf_init(&text, INFO_MAX);
    file_name(id, ".info", name);
    if (file_read(fd, name, &text, NULL) != STATUS_OK)
        return STATUS_OK;
    char *at = text.bytes;
    for (char *line = strsep(&at, "\n"); line; line = strsep(&at, "\n"))
        parse_line(item, line);
    return STATUS_OK;
}

static enum status write_info(int fd, const struct recover_item *item, struct err *err)
{
    AUTO_BUF struct buf text;
    buf_init(&text, INFO_MAX);
    enum status status =
        buf_printf(&text,
                   "document=%" PRId64 "\nbase=%" PRId64 "\nutc_ns=%" PRId64 "\nmissing=%" PRIu64
                   "\nname=%s\nreason=%s\n",
                   item->document, item->base, item->utc_ns, item->missing_bytes, item->name, item->reason);
    if (status != STATUS_OK)
        return err_set(err, status, "write what is known of kept bytes");
    char name[RECOVER_ID_SIZE + 8];
    file_name(item->id, ".info", name);
    return file_write(fd, name, text.bytes, text.len, 0600, err);
}

/* ---- listing ---- */

struct listing {
    char (*ids)[RECOVER_ID_SIZE]; /* owned */
    size_t count, capacity;
};

static void listing_done(struct listing *listing)
{
    free(listing->ids);
}

static enum status listing_add(struct listing *listing, const char *id)
{
    if (listing->count == listing->capacity) {
        size_t capacity = listing->capacity ? 2 * listing->capacity : 64;
        char(*ids)[RECOVER_ID_SIZE] = realloc(listing->ids, capacity * sizeof *ids);
        if (!ids)
            return STATUS_NO_MEMORY;
        listing->ids = ids;
        listing->capacity = capacity;
    }
    (void)snprintf(listing->ids[listing->count++], RECOVER_ID_SIZE, "%s", id);
    return STATUS_OK;
}

static int compare_ids(const void *a, const void *b)
{
    return strcmp(a, b); /* an id begins with the time, in digits of one length */
}

static enum status list_ids(int fd, struct listing *listing, struct err *err)
{
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    if (!dir) {
        int reason = errno;
        if (copy >= 0)
            (void)close(copy); /* nothing was written */
        return err_set_errno(err, reason, "list the recovery folder");
    }
    enum status status = STATUS_OK;
    for (const struct dirent *entry = readdir(dir); entry && status == STATUS_OK; entry = readdir(dir)) {
        char id[NAME_MAX + 1];
        (void)snprintf(id, sizeof id, "%s", entry->d_name);
        char *ending = strstr(id, ".data");
        if (!ending || ending[5])
            continue;
        *ending = '\0';
        if (is_id(id))
            status = listing_add(listing, id);
    }
    (void)closedir(dir); /* read only */
    if (status != STATUS_OK)
        return err_set(err, status, "list the recovery folder");
    if (listing->count)
        qsort(listing->ids, listing->count, sizeof *listing->ids, compare_ids);
    return STATUS_OK;
}

enum status recover_list(const char *folder, recover_fn *fn, void *context, struct err *err)
{
    AUTO_FD int fd = -1;
    struct err folder_err = {0};
    enum status status = open_folder(folder, &fd, &folder_err);
    if (status == STATUS_NOT_FOUND)
        return STATUS_OK;
    if (status != STATUS_OK) {
        if (err)
            *err = folder_err;
        return status;
    }
    CLEANUP(listing_done) struct listing listing = {0};
    status = list_ids(fd, &listing, err);
    for (size_t i = 0; i < listing.count && status == STATUS_OK; i++) {
        struct recover_item item;
        if (read_item(fd, listing.ids[i], &item) == STATUS_OK) /* else dropped meanwhile */
            fn(context, &item);
    }
    return status;
}

/* ---- dropping ---- */

static bool drop(int fd, const char *id)
{
    char data[RECOVER_ID_SIZE + 8], info[RECOVER_ID_SIZE + 8];
    file_name(id, ".data", data);
    file_name(id, ".info", info);
    bool dropped = unlinkat(fd, data, 0) == 0;
    (void)unlinkat(fd, info, 0); /* without its data it is not listed, and the next item of this id replaces it */
    return dropped;
}

enum status recover_open(const char *folder, const char *id, int *ret_fd, struct err *err)
{
    AUTO_FD int fd = -1;
    if (!is_id(id))
        return err_set(err, STATUS_INVALID, "there is no kept item of that name");
    enum status status = open_folder(folder, &fd, err);
    if (status != STATUS_OK)
        return status;
    char name[RECOVER_ID_SIZE + 8];
    file_name(id, ".data", name);
    int data = openat(fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (data < 0)
        return err_set_errno(err, errno, "kept item %s", id);
    *ret_fd = data;
    return STATUS_OK;
}

/* What an item takes of the disk: holes are free. */
static uint64_t disk_bytes(int fd, const char *id)
{
    char name[RECOVER_ID_SIZE + 8];
    file_name(id, ".data", name);
    struct stat facts;
    return fstatat(fd, name, &facts, AT_SYMLINK_NOFOLLOW) == 0 ? (uint64_t)facts.st_blocks * 512 : 0;
}

static enum status make_room(const struct recovery *recovery, int fd, uint64_t needed, struct err *err)
{
    if (!recovery->bytes_max)
        return STATUS_OK;
    CLEANUP(listing_done) struct listing listing = {0};
    enum status status = list_ids(fd, &listing, err);
    if (status != STATUS_OK)
        return status;
    uint64_t used = needed;
    for (size_t i = 0; i < listing.count; i++)
        used += disk_bytes(fd, listing.ids[i]);
    for (size_t i = 0; i < listing.count && used > recovery->bytes_max; i++) {
        struct recover_item item;
        uint64_t bytes = disk_bytes(fd, listing.ids[i]);
        bool known = read_item(fd, listing.ids[i], &item) == STATUS_OK;
        if (drop(fd, listing.ids[i]) && known && recovery->dropped)
            recovery->dropped(recovery->context, &item);
        used -= bytes;
    }
    return STATUS_OK;
}

/* ---- keeping ---- */

/* The folder lies on another filesystem: the bytes are copied, then the source goes. */
static enum status copy_over(int from_dir, const char *path, int fd, const char *name, struct err *err)
{
    AUTO_FD int from = openat(from_dir, path, O_RDONLY | O_CLOEXEC);
    AUTO_FD int to = openat(fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    enum { STEP = 1 << 16 };
    AUTO_FREE char *bytes = malloc(STEP);
    int reason = from < 0 || to < 0 ? errno : bytes ? 0 : ENOMEM;
    for (off_t offset = 0; !reason;) {
        size_t len = 0;
        reason = file_read_all(from, bytes, STEP, offset, &len);
        if (!reason && len)
            reason = file_write_all(to, bytes, len, offset);
        offset += (off_t)len;
        if (!len)
            break;
    }
    if (!reason && fsync(to) != 0)
        reason = errno;
    if (reason) {
        (void)unlinkat(fd, name, 0); /* half a copy; the source is still there */
        return err_set_errno(err, reason, "copy unpublished bytes to the recovery folder");
    }
    (void)unlinkat(from_dir, path, 0); /* kept twice if it stays */
    return STATUS_OK;
}

static enum status move(int from_dir, const char *path, int fd, const char *name, struct err *err)
{
    if (renameat(from_dir, path, fd, name) == 0)
        return STATUS_OK;
    if (errno == EXDEV)
        return copy_over(from_dir, path, fd, name, err);
    return err_set_errno(err, errno, "move unpublished bytes to the recovery folder");
}

static enum status sync_file(int dir_fd, const char *path, uint64_t *ret_size, uint64_t *ret_disk, struct err *err)
{
    AUTO_FD int data = openat(dir_fd, path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    struct stat facts;
    if (data < 0 || fstat(data, &facts) != 0 || fsync(data) != 0)
        return err_set_errno(err, errno, "sync unpublished bytes");
    *ret_size = (uint64_t)facts.st_size;
    *ret_disk = (uint64_t)facts.st_blocks * 512;
    return STATUS_OK;
}

enum status recover_keep(const struct recovery *recovery, int dir_fd, const char *path, struct recover_item *item,
                         struct err *err)
{
    AUTO_FD int fd = -1;
    uint64_t disk = 0;
    enum status status = file_make_directory(AT_FDCWD, recovery->folder, err);
    if (status == STATUS_OK)
        status = open_folder(recovery->folder, &fd, err);
    if (status == STATUS_OK)
        status = sync_file(dir_fd, path, &item->size_bytes, &disk, err);
    if (status == STATUS_OK)
        status = make_room(recovery, fd, disk, err);
    if (status != STATUS_OK)
        return status;
    char name[RECOVER_ID_SIZE + 8];
    for (unsigned attempt = 0;; attempt++) {
        (void)snprintf(item->id, sizeof item->id, "%019" PRId64 "-%" PRId64 "-%u", item->utc_ns, item->document,
                       attempt);
        file_name(item->id, ".data", name);
        if (faccessat(fd, name, F_OK, AT_SYMLINK_NOFOLLOW) != 0 || attempt == 1000)
            break;
    }
    status = move(dir_fd, path, fd, name, err);
    if (status == STATUS_OK)
        IGNORE(write_info(fd, item, NULL)); /* on a full disk: the bytes are kept, whose they are only the log says */
    return status;
}
