/* recover.c - the recovery folder for a library user. */
#include "lib/volume.h"

#include "fs/recover.h"
#include "host/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define CHUNK_BYTES (256u * 1024)

struct telling {
    void (*fn)(void *context, const struct readyfs_kept *kept);
    void *context;
};

static void tell(void *context, const struct recover_item *item)
{
    const struct telling *telling = context;
    struct readyfs_kept kept = {.id = item->id,
                                .name = item->name,
                                .reason = item->reason,
                                .kept_at = item->utc_ns,
                                .size = item->size_bytes,
                                .missing = item->missing_bytes};
    telling->fn(telling->context, &kept);
}

int readyfs_recover_list(struct readyfs_volume *volume, void (*fn)(void *context, const struct readyfs_kept *kept),
                         void *context, struct readyfs_error *error)
{
    struct err err = {0};
    struct telling telling = {fn, context};
    return readyfs_result(recover_list(volume->app->places.recovery, tell, &telling, &err), &err, error);
}

static enum status copy(int from, int to, const char *path, struct err *err)
{
    AUTO_FREE char *chunk = malloc(CHUNK_BYTES);
    off_t at = 0;
    size_t got = CHUNK_BYTES;
    if (!chunk)
        return err_set(err, STATUS_NO_MEMORY, "out of memory");
    while (got == CHUNK_BYTES) {
        int error = file_read_all(from, chunk, CHUNK_BYTES, at, &got);
        if (!error)
            error = file_write_all(to, chunk, got, at);
        if (error)
            return err_set_errno(err, error, "%s", path);
        at += (off_t)got;
    }
    if (fsync(to))
        return err_set_errno(err, errno, "%s", path);
    return file_sync_parent(AT_FDCWD, path, err);
}

int readyfs_recover_save(struct readyfs_volume *volume, const char *id, const char *path, struct readyfs_error *error)
{
    struct err err = {0};
    AUTO_FD int from = -1, to = -1;
    enum status status = recover_open(volume->app->places.recovery, id, &from, &err);
    if (status == STATUS_OK) {
        to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (to < 0)
            status = err_set_errno(&err, errno, "%s", path);
    }
    if (status != STATUS_OK)
        return readyfs_result(status, &err, error);
    status = copy(from, to, path, &err);
    if (status != STATUS_OK)
        (void)unlink(path); /* a short copy would be taken for a whole one */
    return readyfs_result(status, &err, error);
}
