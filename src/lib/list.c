/* list.c - documents and versions as a listing shows them. */
#include "lib/volume.h"

#include "base/buf.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define BATCH        64
#define QUOTED_BYTES 400 /* of a path in a message; a longer one goes without it */

struct reader {
    struct catalogue *catalogue;
    const struct catalogue_ops *rows;
    struct catalogue_txn *txn;
};

static enum status reader_begin(struct readyfs_volume *volume, struct reader *ret_reader, struct err *err)
{
    ret_reader->catalogue = volume->app->world.catalogue;
    ret_reader->rows = ret_reader->catalogue->ops;
    ret_reader->txn = NULL;
    return ret_reader->rows->read_begin(ret_reader->catalogue, &ret_reader->txn, err);
}

static void reader_end(struct reader *reader)
{
    reader->rows->abort(reader->txn);
}

static enum status refuse(enum status status, const char *path, const char *why, struct err *err)
{
    AUTO_BUF struct buf quoted = {0};
    buf_init(&quoted, QUOTED_BYTES);
    if (quote_text(&quoted, path, strlen(path)) == STATUS_OK)
        return err_set(err, status, "%s: %s", quoted.bytes, why);
    return err_set(err, status, "%s", why);
}

/* The document behind one component; reserved names are not published and so not there (S4). */
static enum status step(struct reader *reader, const char *bytes, size_t len, struct document_row *document,
                        struct err *err)
{
    struct name name;
    struct entry_row entry = {0};
    if (!S_ISDIR(document->mode))
        return STATUS_NOT_DIRECTORY;
    enum status status = name_set(&name, bytes, len);
    if (status == STATUS_OK)
        status = reader->rows->entry_get(reader->txn, document->id, &name, &entry, err);
    if (status == STATUS_OK && entry.reserved)
        status = STATUS_NOT_FOUND;
    if (status == STATUS_OK)
        status = reader->rows->document_get(reader->txn, entry.document, document, err);
    return status;
}

static enum status walk(struct reader *reader, const char *path, struct document_row *ret_document, struct err *err)
{
    enum status status = reader->rows->document_get(reader->txn, CATALOGUE_ROOT, ret_document, err);
    for (const char *rest = path; status == STATUS_OK && *rest;) {
        size_t len = strcspn(rest, "/");
        if (len)
            status = step(reader, rest, len, ret_document, err);
        rest += len + (rest[len] == '/');
    }
    if (status == STATUS_NOT_FOUND)
        return refuse(status, path, "no such file or directory in the volume", err);
    if (status == STATUS_NOT_DIRECTORY)
        return refuse(status, path, "a part of this path is not a directory", err);
    return status;
}

static enum status fill_entry(struct reader *reader, const struct entry_row *entry, const struct document_row *document,
                              struct readyfs_entry *ret_entry, struct err *err)
{
    *ret_entry = (struct readyfs_entry){
        .name_len = entry->name.len,
        .document = document->id,
        .mode = document->mode,
        .uid = document->uid,
        .gid = document->gid,
        .nlink = document->nlink,
        .size = document->size_bytes,
        .mtime = document->mtime_ns,
        .ctime = document->ctime_ns,
        .number = document->version_number,
    };
    memcpy(ret_entry->name, entry->name.bytes, (size_t)entry->name.len + 1);
    if (!document->version)
        return STATUS_OK;
    struct version_row version;
    enum status status = reader->rows->version_get(reader->txn, document->version, false, &version, err);
    if (status == STATUS_OK)
        memcpy(ret_entry->blob, version.blob, sizeof ret_entry->blob);
    return status;
}

_Static_assert(sizeof((struct readyfs_entry *)0)->blob == LIMIT_BLOB_NAME_BYTES, "a blob's name fits");

/* A batch of entries, reserved ones left out, from *cursor on. */
static enum status fill_batch(struct reader *reader, int64_t dir, int64_t *cursor, struct readyfs_entry *ret_entries,
                              size_t capacity, size_t *ret_seen, size_t *ret_count, struct err *err)
{
    struct entry_row entries[BATCH];
    struct document_row documents[BATCH];
    size_t wanted = capacity < BATCH ? capacity : BATCH, seen = 0, count = 0;
    enum status status = reader->rows->entry_list(reader->txn, dir, *cursor, entries, documents, wanted, &seen, err);
    for (size_t i = 0; i < seen && status == STATUS_OK; i++) {
        *cursor = entries[i].cookie;
        if (!entries[i].reserved)
            status = fill_entry(reader, &entries[i], &documents[i], &ret_entries[count++], err);
    }
    *ret_seen = seen < wanted ? 0 : seen;
    *ret_count = count;
    return status;
}

static enum status list(struct reader *reader, const char *path, int64_t *cursor, struct readyfs_entry *ret_entries,
                        size_t capacity, size_t *ret_count, struct err *err)
{
    struct document_row dir;
    size_t used = 0, seen = 1;
    int64_t at = *cursor;
    enum status status = walk(reader, path, &dir, err);
    if (status == STATUS_OK && !S_ISDIR(dir.mode))
        status = refuse(STATUS_NOT_DIRECTORY, path, "is a file; name its directory, with -l for details", err);
    while (status == STATUS_OK && seen && used < capacity) {
        size_t count = 0;
        status = fill_batch(reader, dir.id, &at, ret_entries + used, capacity - used, &seen, &count, err);
        used += count;
    }
    if (status == STATUS_OK) {
        *cursor = at;
        *ret_count = used;
    }
    return status;
}

int readyfs_ls(struct readyfs_volume *volume, const char *path, int64_t *cursor, struct readyfs_entry *ret_entries,
               size_t capacity, size_t *ret_count, struct readyfs_error *error)
{
    struct err err = {0};
    struct reader reader;
    enum status status = reader_begin(volume, &reader, &err);
    if (status == STATUS_OK) {
        status = list(&reader, path, cursor, ret_entries, capacity, ret_count, &err);
        reader_end(&reader);
    }
    return readyfs_result(status, &err, error);
}

int readyfs_readlink(struct readyfs_volume *volume, int64_t document, char *ret_target, struct readyfs_error *error)
{
    struct err err = {0};
    struct reader reader;
    struct document_row row;
    enum status status = reader_begin(volume, &reader, &err);
    if (status != STATUS_OK)
        return readyfs_result(status, &err, error);
    status = reader.rows->document_get(reader.txn, document, &row, &err);
    if (status == STATUS_OK && !S_ISLNK(row.mode))
        status = err_set(&err, STATUS_INVALID, "not a symbolic link");
    if (status == STATUS_OK)
        status = reader.rows->document_target(reader.txn, document, ret_target, &err);
    reader_end(&reader);
    return readyfs_result(status, &err, error);
}

static void fill_version(const struct version_row *row, struct readyfs_version *ret_version)
{
    *ret_version = (struct readyfs_version){
        .id = row->id,
        .document = row->document,
        .session = row->session,
        .state = version_state_name(row->state),
        .size = row->size_bytes,
        .created = row->created_utc_ns,
        .pooled = row->state == VERSION_PENDING && !row->document && !row->sent_utc_ns,
    };
    memcpy(ret_version->blob, row->blob, sizeof ret_version->blob);
    memcpy(ret_version->reason, row->reason, sizeof ret_version->reason);
}

static enum status list_versions(struct reader *reader, int64_t *cursor, struct readyfs_version *ret_versions,
                                 size_t capacity, size_t *ret_count, struct err *err)
{
    struct version_row rows[BATCH];
    struct version_filter filter = {.after = *cursor};
    size_t used = 0, count = 1;
    enum status status = STATUS_OK;
    while (status == STATUS_OK && count && used < capacity) {
        size_t wanted = capacity - used < BATCH ? capacity - used : BATCH;
        status = reader->rows->version_list(reader->txn, &filter, rows, wanted, &count, err);
        for (size_t i = 0; i < count && status == STATUS_OK; i++) {
            filter.after = rows[i].id;
            fill_version(&rows[i], &ret_versions[used++]);
        }
    }
    if (status == STATUS_OK) {
        *cursor = filter.after;
        *ret_count = used;
    }
    return status;
}

int readyfs_versions(struct readyfs_volume *volume, int64_t *cursor, struct readyfs_version *ret_versions,
                     size_t capacity, size_t *ret_count, struct readyfs_error *error)
{
    struct err err = {0};
    struct reader reader;
    enum status status = reader_begin(volume, &reader, &err);
    if (status == STATUS_OK) {
        status = list_versions(&reader, cursor, ret_versions, capacity, ret_count, &err);
        reader_end(&reader);
    }
    return readyfs_result(status, &err, error);
}

/* Writes the path backwards, from the end of `ret_path` on, then moves it to the front; what does not fit is cut at the
 * front. */
static enum status path_of(struct reader *reader, int64_t document, char *ret_path, size_t capacity, struct err *err)
{
    size_t start = capacity - 1;
    enum status status = STATUS_OK;
    ret_path[start] = '\0';
    while (document != CATALOGUE_ROOT) {
        struct entry_row entry;
        size_t count = 0;
        status = reader->rows->entry_of(reader->txn, document, 0, &entry, 1, &count, err);
        if (status != STATUS_OK || !count)
            break;
        size_t len = entry.name.len, slash = ret_path[start] ? 1 : 0;
        if (len + slash > start)
            break;
        if (slash)
            ret_path[--start] = '/';
        start -= len;
        memcpy(ret_path + start, entry.name.bytes, len);
        document = entry.dir;
    }
    memmove(ret_path, ret_path + start, capacity - start);
    return status;
}

int readyfs_path(struct readyfs_volume *volume, int64_t document, char *ret_path, size_t capacity,
                 struct readyfs_error *error)
{
    struct err err = {0};
    struct reader reader;
    if (!capacity)
        return readyfs_refuse(error, STATUS_INVALID, "no room for a path");
    enum status status = reader_begin(volume, &reader, &err);
    if (status == STATUS_OK) {
        status = path_of(&reader, document, ret_path, capacity, &err);
        reader_end(&reader);
    }
    return readyfs_result(status, &err, error);
}
