/* spool.c - sparse files in one folder. */
#include "fs/spool.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "host/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define SPARES_MAX 16

struct spool {
    struct spools *spools;
    atomic_uint holders;
    int fd, info_fd;
    bool notes; /* what is written is noted in the info file */
    bool stays;
    char data[24], info[24];
    struct spool *next; /* of the spares */
};

enum status spools_init(struct spools *spools, const char *folder, uint64_t bytes_max, struct err *err)
{
    *spools = (struct spools){.fd = -1, .bytes_max = bytes_max, .lock = PTHREAD_MUTEX_INITIALIZER};
    enum status status = file_make_directory(AT_FDCWD, folder, err);
    if (status != STATUS_OK)
        return err_context(err, "spool folder");
    spools->fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (spools->fd < 0)
        return err_set_errno(err, errno, "spool folder %s", folder);
    if (faccessat(spools->fd, ".", W_OK | X_OK, AT_EACCESS) != 0) {
        status = err_set_errno(err, errno, "spool folder %s", folder);
        spools_done(spools);
        return status;
    }
    spools->folder = strdup(folder);
    if (spools->folder)
        return STATUS_OK;
    spools_done(spools);
    return err_set(err, STATUS_NO_MEMORY, "spool folder: out of memory");
}

static void spool_free(struct spool *spool)
{
    if (spool->fd >= 0)
        (void)close(spool->fd); /* its bytes are published, kept elsewhere, or given up */
    if (spool->info_fd >= 0)
        (void)close(spool->info_fd);
    if (!spool->stays) {
        (void)unlinkat(spool->spools->fd, spool->data, 0); /* gone already where it was moved to recovery */
        (void)unlinkat(spool->spools->fd, spool->info, 0);
    }
    free(spool);
}

void spools_done(struct spools *spools)
{
    for (struct spool *spool = spools->spares, *next; spool; spool = next) {
        next = spool->next;
        spool_free(spool);
    }
    spools->spares = NULL;
    if (spools->fd >= 0)
        (void)close(spools->fd); /* a directory */
    if (spools->folder)
        (void)rmdir(spools->folder); /* not empty: files that nobody could move away; the next mount finds them */
    free(spools->folder);
    spools->folder = NULL;
    spools->fd = -1;
}

enum status spools_charge(struct spools *spools, uint64_t bytes, struct err *err)
{
    uint64_t used = atomic_fetch_add(&spools->bytes_used, bytes) + bytes;
    if (!spools->bytes_max || used <= spools->bytes_max)
        return STATUS_OK;
    spools_credit(spools, bytes);
    (void)err_set(err, STATUS_NO_SPACE,
                  "the spool is full: %" PRIu64 " bytes wait to be published, spool_max is %" PRIu64, used - bytes,
                  spools->bytes_max);
    return err_hint(err, "raise spool_max, or write with fewer programs at once");
}

void spools_credit(struct spools *spools, uint64_t bytes)
{
    atomic_fetch_sub(&spools->bytes_used, bytes);
}

/* ---- making ---- */

static enum status write_info(struct spool *spool, const struct spool_about *about, struct err *err)
{
    AUTO_BUF struct buf text;
    buf_init(&text, 4096);
    enum status status =
        buf_printf(&text, "document=%" PRId64 "\nbase=%" PRId64 "\nname=", about->document, about->base);
    if (status == STATUS_OK)
        status = quote_text(&text, about->name, strlen(about->name));
    if (status == STATUS_OK)
        status = buf_append_text(&text, "\n");
    if (status != STATUS_OK)
        return err_set(err, status, "describe a spool file");
    ssize_t written = ftruncate(spool->info_fd, 0) == 0 ? write(spool->info_fd, text.bytes, text.len) : -1;
    if (written != (ssize_t)text.len)
        return err_set_errno(err, written < 0 ? errno : ENOSPC, "write a spool file");
    spool->notes = about->base != 0;
    return STATUS_OK;
}

static struct spool *take_spare(struct spools *spools)
{
    (void)pthread_mutex_lock(&spools->lock);
    struct spool *spool = spools->spares;
    if (spool) {
        spools->spares = spool->next;
        spools->spare_count--;
    }
    (void)pthread_mutex_unlock(&spools->lock);
    return spool;
}

static enum status make_files(struct spools *spools, struct spool **ret_spool, struct err *err)
{
    struct spool *spool = calloc(1, sizeof *spool);
    if (!spool)
        return err_set(err, STATUS_NO_MEMORY, "make a spool file: out of memory");
    *spool = (struct spool){.spools = spools, .fd = -1, .info_fd = -1};
    unsigned number = atomic_fetch_add(&spools->next, 1);
    (void)snprintf(spool->data, sizeof spool->data, "%u.data", number);
    (void)snprintf(spool->info, sizeof spool->info, "%u.info", number);
    spool->info_fd = openat(spools->fd, spool->info, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    if (spool->info_fd >= 0)
        spool->fd = openat(spools->fd, spool->data, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (spool->fd < 0) {
        int reason = errno;
        spool_free(spool);
        return err_set_errno(err, reason, "make a spool file");
    }
    *ret_spool = spool;
    return STATUS_OK;
}

enum status spool_new(struct spools *spools, const struct spool_about *about, struct spool **ret_spool, struct err *err)
{
    struct spool *spool = take_spare(spools);
    enum status status = spool ? STATUS_OK : make_files(spools, &spool, err);
    if (status != STATUS_OK)
        return status;
    status = write_info(spool, about, err); /* while there is no data: that without a description is of no use */
    if (status != STATUS_OK) {
        spool_free(spool);
        return status;
    }
    atomic_init(&spool->holders, 1);
    *ret_spool = spool;
    return STATUS_OK;
}

enum status spool_open(struct spools *spools, const char *info, struct spool **ret_spool, uint64_t *ret_size,
                       struct err *err)
{
    const char *ending = strrchr(info, '.');
    struct spool *spool = calloc(1, sizeof *spool);
    if (!spool || !ending || strlen(info) >= sizeof spool->info) {
        free(spool);
        return err_set(err, spool ? STATUS_INVALID : STATUS_NO_MEMORY, "open spool file %s", info);
    }
    *spool = (struct spool){.spools = spools, .info_fd = -1};
    atomic_init(&spool->holders, 1);
    (void)snprintf(spool->info, sizeof spool->info, "%s", info);
    (void)snprintf(spool->data, sizeof spool->data, "%.*s.data", (int)(ending - info), info);
    spool->fd = openat(spools->fd, spool->data, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    struct stat facts = {0};
    enum status status = STATUS_OK;
    if (spool->fd >= 0 ? fstat(spool->fd, &facts) != 0 : errno != ENOENT) /* a description alone is dropped */
        status = err_set_errno(err, errno, "open spool file %s", info);
    if (status != STATUS_OK) {
        spool_leave(spool);
        spool_drop(spool);
        return status;
    }
    *ret_size = (uint64_t)facts.st_size;
    *ret_spool = spool;
    return STATUS_OK;
}

void spool_leave(struct spool *spool)
{
    spool->stays = true;
}

struct spool *spool_ref(struct spool *spool)
{
    atomic_fetch_add(&spool->holders, 1);
    return spool;
}

/* Empties both files for the next holder. One whose data was moved to the recovery folder is not touched: whether it
 * was is seen at the name, since its descriptor would lead there. */
static bool keep_spare(struct spool *spool)
{
    struct spools *spools = spool->spools;
    struct stat own, named;
    if (spool->stays || spool->fd < 0 || spool->info_fd < 0 || fstat(spool->fd, &own) != 0 ||
        fstatat(spools->fd, spool->data, &named, AT_SYMLINK_NOFOLLOW) != 0 || own.st_ino != named.st_ino ||
        own.st_dev != named.st_dev || ftruncate(spool->fd, 0) != 0)
        return false;
    (void)pthread_mutex_lock(&spools->lock);
    bool kept = spools->spare_count < SPARES_MAX;
    if (kept) {
        spool->next = spools->spares;
        spools->spares = spool;
        spools->spare_count++;
    }
    (void)pthread_mutex_unlock(&spools->lock);
    return kept;
}

void spool_drop(struct spool *spool)
{
    if (!spool || atomic_fetch_sub(&spool->holders, 1) > 1)
        return;
    if (!keep_spare(spool))
        spool_free(spool);
}

enum status spool_write(struct spool *spool, uint64_t offset, const void *bytes, size_t len, struct err *err)
{
    int reason = file_write_all(spool->fd, bytes, len, (off_t)offset);
    return reason ? err_set_errno(err, reason, "write to the spool") : STATUS_OK;
}

enum status spool_read(struct spool *spool, uint64_t offset, void *ret_bytes, size_t len, struct err *err)
{
    size_t got = 0;
    int reason = file_read_all(spool->fd, ret_bytes, len, (off_t)offset, &got);
    if (reason)
        return err_set_errno(err, reason, "read from the spool");
    memset((char *)ret_bytes + got, 0, len - got);
    return STATUS_OK;
}

void spool_punch(struct spool *spool, uint64_t offset, uint64_t len)
{
    /* Where the filesystem cannot punch, the bytes stay on the disk and nobody reads them. */
    (void)fallocate(spool->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)len);
}

enum status spool_resize(struct spool *spool, uint64_t size, struct err *err)
{
    return ftruncate(spool->fd, (off_t)size) == 0 ? STATUS_OK : err_set_errno(err, errno, "resize a spool file");
}

void spool_note(struct spool *spool, char what, uint64_t offset, uint64_t len)
{
    if (spool->info_fd < 0 || !(spool->notes || what == 'g'))
        return;
    char line[64];
    int size = snprintf(line, sizeof line, "%c=%" PRIu64 " %" PRIu64 "\n", what, offset, len);
    ssize_t written = write(spool->info_fd, line, (size_t)size);
    (void)written; /* a range that is not noted costs a later recovery precision, not this writer its bytes */
}

int spool_folder(const struct spool *spool)
{
    return spool->spools->fd;
}

const char *spool_file(const struct spool *spool)
{
    return spool->data;
}
