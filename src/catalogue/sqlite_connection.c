/* sqlite_connection.c - one connection to the file, set up for its use. */
#include "catalogue/sqlite_internal.h"

#include "catalogue/batch.h"

#include "base/buf.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Nothing in the file is trusted: no function of ours could be called from a view, and each page is checked. */
static const char careful[] = "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;"
                              "PRAGMA temp_store = MEMORY; PRAGMA foreign_keys = ON;";

static const char for_reading[] = "PRAGMA query_only = ON; PRAGMA cache_size = -1024;";

/* The log is copied by sqlite_checkpoint(), which looks at the outcome; SQLite itself would ignore it. */
static const char for_writing[] = "PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = NORMAL;"
                                  "PRAGMA secure_delete = FAST; PRAGMA cache_size = -4096;";

enum status connection_run(struct connection *connection, const char *sql, struct err *err)
{
    int code = sqlite3_exec(connection->db, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? STATUS_OK : query_failure(connection->db, code, "catalogue", err);
}

static int committed(void *context, sqlite3 *db, const char *name, int frames)
{
    (void)db;
    (void)name;
    struct connection *connection = context;
    if (frames < connection->log_frames) /* it was copied whole, and begun anew */
        connection->copy_from = SQLITE_CHECKPOINT_FRAMES;
    connection->log_frames = frames;
    return SQLITE_OK;
}

static enum status set_up(struct connection *connection, enum connection_use use, struct err *err)
{
    sqlite3 *db = connection->db;
    (void)sqlite3_busy_timeout(db, SQLITE_BUSY_MS);                  /* cannot fail */
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL); /* a second net; known since 3.26 */
    enum status status = connection_run(connection, careful, err);
    if (status == STATUS_OK && use == CONNECTION_READ)
        status = connection_run(connection, for_reading, err);
    if (status == STATUS_OK && use == CONNECTION_WRITE) {
        status = connection_run(connection, for_writing, err);
        char limit[64];
        (void)snprintf(limit, sizeof limit, "PRAGMA journal_size_limit = %d", SQLITE_LOG_BYTES);
        if (status == STATUS_OK)
            status = connection_run(connection, limit, err);
        (void)sqlite3_wal_hook(db, committed, connection); /* returns the context of the hook before it */
    }
    connection->durability = ORDERED;
    connection->copy_from = SQLITE_CHECKPOINT_FRAMES;
    return status;
}

/* A file that nobody can write, in a folder that nobody can write, is read without log and locks. */
static enum status immutable_uri(const struct place *place, struct buf *uri, struct err *err)
{
    enum status status = buf_append_text(uri, "file:");
    if (status == STATUS_OK)
        status = percent_encode(uri, place->path, strlen(place->path), true);
    if (status == STATUS_OK)
        status = buf_append_text(uri, "?immutable=1");
    return status == STATUS_OK ? STATUS_OK : err_set(err, status, "catalogue: out of memory");
}

static int open_file(const struct place *place, enum connection_use use, const char *uri, sqlite3 **ret_db)
{
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE;
    if (place->immutable)
        return sqlite3_open_v2(uri, ret_db, flags | SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
    const char *vfs = use == CONNECTION_WRITE ? batch_name(place->batch) : NULL;
    return sqlite3_open_v2(place->path, ret_db, flags | SQLITE_OPEN_READWRITE, vfs);
}

static enum status open_and_set_up(const struct place *place, enum connection_use use, struct connection *connection,
                                   struct err *err)
{
    AUTO_BUF struct buf uri;
    buf_init(&uri, 4096);
    enum status status = place->immutable ? immutable_uri(place, &uri, err) : STATUS_OK;
    if (status != STATUS_OK)
        return status;
    int code = open_file(place, use, uri.bytes, &connection->db);
    if (code != SQLITE_OK)
        return query_failure(connection->db, code, "open it", err);
    return set_up(connection, use, err);
}

enum status connection_open(const struct place *place, enum connection_use use, struct connection **ret_connection,
                            struct err *err)
{
    struct connection *connection = calloc(1, sizeof *connection);
    if (!connection)
        return err_set(err, STATUS_NO_MEMORY, "catalogue: out of memory");
    enum status status = open_and_set_up(place, use, connection, err);
    if (status == STATUS_OK) {
        *ret_connection = connection;
        return STATUS_OK;
    }
    (void)connection_close(connection, false); /* returns NULL */
    (void)err_context(err, "catalogue '%s'", place->path);
    return status;
}

struct connection *connection_close(struct connection *connection, bool leave_log)
{
    if (!connection)
        return NULL;
    statement_cache_done(&connection->statements);
    if (leave_log && connection->db)
        (void)sqlite3_db_config(connection->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL); /* known since 3.16 */
    INVARIANT(sqlite3_close(connection->db) == SQLITE_OK); /* BUSY would mean a statement that we forgot */
    free(connection);
    return NULL;
}
