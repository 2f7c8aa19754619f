/* batch.c - gathering what is appended to the log. */
#include "catalogue/batch.h"

#include "base/cleanup.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define LOG_HEADER_BYTES   32
#define FRAME_HEADER_BYTES 24
#define BATCH_BYTES        (128 * 1024)

struct batch {
    sqlite3_vfs vfs;
    sqlite3_vfs *below;
    char name[40];
};

/* The log as SQLite sees it; the file below follows in the same memory. */
struct log_file {
    sqlite3_file base; /* first */
    char *bytes;       /* gathered; NULL until needed */
    int used;
    sqlite3_int64 start; /* where they belong */
    sqlite3_int64 end;   /* of the last write */
    bool header;         /* the last write was a frame's header */
    bool commit;         /* of a commit's last page */
    sqlite3_file below[];
};

static struct log_file *log_of(sqlite3_file *file)
{
    return (struct log_file *)file;
}

#define BELOW(file) (log_of(file)->below)

/* What could not be written is given up: its transaction fails, and the next one begins at the same place. */
static int write_out(struct log_file *log)
{
    int used = log->used;
    log->used = 0;
    return used ? log->below->pMethods->xWrite(log->below, log->bytes, used, log->start) : SQLITE_OK;
}

static int write_through(struct log_file *log, const void *bytes, int len, sqlite3_int64 offset)
{
    int code = write_out(log);
    return code == SQLITE_OK ? log->below->pMethods->xWrite(log->below, bytes, len, offset) : code;
}

static bool gather(struct log_file *log, const void *bytes, int len, sqlite3_int64 offset)
{
    if (!log->bytes)
        log->bytes = sqlite3_malloc(BATCH_BYTES);
    if (!log->bytes || len > BATCH_BYTES - log->used)
        return false;
    if (!log->used)
        log->start = offset;
    memcpy(log->bytes + log->used, bytes, (size_t)len);
    log->used += len;
    return true;
}

/* The fourth to seventh byte are not 0 in the header of a commit's last frame alone. */
static bool is_last(const uint8_t *header)
{
    return header[4] || header[5] || header[6] || header[7];
}

static int write_log(sqlite3_file *file, const void *bytes, int len, sqlite3_int64 offset)
{
    struct log_file *log = log_of(file);
    bool appended = offset == log->end && offset >= LOG_HEADER_BYTES;
    bool header = appended && len == FRAME_HEADER_BYTES && !log->header;
    bool page = appended && log->header && len > FRAME_HEADER_BYTES;
    bool last = page && log->commit;
    log->end = offset + len;
    log->header = header;
    if (header)
        log->commit = is_last(bytes);
    if (!header && !page)
        return write_through(log, bytes, len, offset);
    if (!gather(log, bytes, len, offset)) {
        int code = write_out(log);
        if (code != SQLITE_OK)
            return code;
        if (!gather(log, bytes, len, offset))
            return write_through(log, bytes, len, offset);
    }
    return last ? write_out(log) : SQLITE_OK;
}

static int read_log(sqlite3_file *file, void *bytes, int len, sqlite3_int64 offset)
{
    int code = write_out(log_of(file));
    return code == SQLITE_OK ? BELOW(file)->pMethods->xRead(BELOW(file), bytes, len, offset) : code;
}

static int truncate_log(sqlite3_file *file, sqlite3_int64 size)
{
    int code = write_out(log_of(file));
    log_of(file)->end = 0;
    return code == SQLITE_OK ? BELOW(file)->pMethods->xTruncate(BELOW(file), size) : code;
}

static int sync_log(sqlite3_file *file, int flags)
{
    int code = write_out(log_of(file));
    return code == SQLITE_OK ? BELOW(file)->pMethods->xSync(BELOW(file), flags) : code;
}

static int log_size(sqlite3_file *file, sqlite3_int64 *ret_size)
{
    int code = write_out(log_of(file));
    return code == SQLITE_OK ? BELOW(file)->pMethods->xFileSize(BELOW(file), ret_size) : code;
}

/* A transaction that is under way has nothing to keep: what was committed is written. */
static int close_log(sqlite3_file *file)
{
    struct log_file *log = log_of(file);
    sqlite3_free(log->bytes);
    log->bytes = NULL;
    return log->below->pMethods->xClose(log->below);
}

static int lock_log(sqlite3_file *file, int level)
{
    return BELOW(file)->pMethods->xLock(BELOW(file), level);
}

static int unlock_log(sqlite3_file *file, int level)
{
    return BELOW(file)->pMethods->xUnlock(BELOW(file), level);
}

static int check_reserved_lock(sqlite3_file *file, int *ret_locked)
{
    return BELOW(file)->pMethods->xCheckReservedLock(BELOW(file), ret_locked);
}

static int control_log(sqlite3_file *file, int op, void *argument)
{
    return BELOW(file)->pMethods->xFileControl(BELOW(file), op, argument);
}

static int sector_size(sqlite3_file *file)
{
    return BELOW(file)->pMethods->xSectorSize(BELOW(file));
}

static int characteristics(sqlite3_file *file)
{
    return BELOW(file)->pMethods->xDeviceCharacteristics(BELOW(file));
}

/* Shared memory and memory maps belong to the database file. */
static const sqlite3_io_methods log_methods = {
    .iVersion = 1,
    .xClose = close_log,
    .xRead = read_log,
    .xWrite = write_log,
    .xTruncate = truncate_log,
    .xSync = sync_log,
    .xFileSize = log_size,
    .xLock = lock_log,
    .xUnlock = unlock_log,
    .xCheckReservedLock = check_reserved_lock,
    .xFileControl = control_log,
    .xSectorSize = sector_size,
    .xDeviceCharacteristics = characteristics,
};

static int open_file(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *file, int flags, int *ret_flags)
{
    sqlite3_vfs *below = ((struct batch *)vfs)->below;
    if (!(flags & SQLITE_OPEN_WAL))
        return below->xOpen(below, name, file, flags, ret_flags);
    struct log_file *log = log_of(file);
    memset(log, 0, sizeof *log);
    int code = below->xOpen(below, name, log->below, flags, ret_flags);
    if (log->below->pMethods)
        log->base.pMethods = &log_methods;
    return code;
}

enum status batch_open(struct batch **ret_batch, struct err *err)
{
    AUTO_FREE struct batch *batch = calloc(1, sizeof *batch);
    if (!batch)
        return err_set(err, STATUS_NO_MEMORY, "catalogue: out of memory");
    batch->below = sqlite3_vfs_find(NULL);
    if (!batch->below)
        return err_set(err, STATUS_IO, "catalogue: SQLite has no files here");
    (void)snprintf(batch->name, sizeof batch->name, "readyfs-%p", (void *)batch); /* no two have one address */
    batch->vfs = *batch->below; /* the rest of its calls know nothing of files */
    batch->vfs.pNext = NULL;
    batch->vfs.zName = batch->name;
    batch->vfs.szOsFile = (int)sizeof(struct log_file) + batch->below->szOsFile;
    batch->vfs.xOpen = open_file;
    if (sqlite3_vfs_register(&batch->vfs, 0) != SQLITE_OK)
        return err_set(err, STATUS_NO_MEMORY, "catalogue: out of memory");
    *ret_batch = TAKE(batch);
    return STATUS_OK;
}

struct batch *batch_close(struct batch *batch)
{
    if (batch)
        (void)sqlite3_vfs_unregister(&batch->vfs); /* it was registered */
    free(batch);
    return NULL;
}

const char *batch_name(const struct batch *batch)
{
    return batch->name;
}
