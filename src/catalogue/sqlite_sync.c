/* sqlite_sync.c - what is durable, what is doubtful, and what has moved.
 *
 * A failed sync of the log is worse than it looks: the kernel drops the pages that it could not write and reports it
 * once, so the next sync succeeds without having written them. Hence a failure makes the whole catalogue doubtful until
 * every page of the log was read back, checked and written again elsewhere (P6): that is what reopen() does.
 */
#include "catalogue/sqlite_internal.h"

void sqlite_doubt(struct sqlite_catalogue *catalogue)
{
    atomic_store(&catalogue->doubtful, true);
}

enum status sqlite_undoubted(struct sqlite_catalogue *catalogue, struct err *err)
{
    if (!atomic_load(&catalogue->doubtful))
        return STATUS_OK;
    return err_set(err, STATUS_IO, "catalogue '%s': nothing is written until it was reopened after a failed sync",
                   catalogue->place.path);
}

/* ---- the log ---- */

void sqlite_checkpoint(struct sqlite_catalogue *catalogue, struct connection *connection)
{
    if (connection->log_frames < connection->copy_from)
        return;
    int code = sqlite3_wal_checkpoint_v2(connection->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    /* While a reader keeps the log from being begun anew, not each commit shall pay for another copy. */
    connection->copy_from = connection->log_frames + SQLITE_CHECKPOINT_FRAMES;
    if ((code & 0xff) == SQLITE_IOERR)
        sqlite_doubt(catalogue);
}

/* The log's file, which is the same for every connection; a sync of it needs no transaction. Before the first use of
 * the log there is none, and then the database file is all that there is to sync. */
static int sync_log(sqlite3 *db)
{
    sqlite3_file *file = NULL;
    int code = sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
    if (code == SQLITE_OK && (!file || !file->pMethods))
        code = sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (code != SQLITE_OK)
        return code;
    return file && file->pMethods ? file->pMethods->xSync(file, SQLITE_SYNC_FULL) : SQLITE_CANTOPEN;
}

static enum status touch(struct connection *connection, struct err *err)
{
    static const char sql[] = "SELECT one FROM sequence";
    AUTO_QUERY struct query query;
    query_begin(&query, connection->db, &connection->statements, sql, err);
    enum status status = query_step(&query);
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

/* With sync_mutex held. Reading a row is what opens the log. */
static enum status open_syncer(struct sqlite_catalogue *catalogue, struct err *err)
{
    if (catalogue->syncer)
        return STATUS_OK;
    enum status status = connection_open(&catalogue->place, CONNECTION_READ, &catalogue->syncer, err);
    if (status == STATUS_OK)
        status = touch(catalogue->syncer, err);
    if (status != STATUS_OK)
        catalogue->syncer = connection_close(catalogue->syncer, false);
    return status;
}

static enum status sync_now(struct sqlite_catalogue *catalogue, struct err *err)
{
    enum status status = sqlite_undoubted(catalogue, err);
    if (status == STATUS_OK)
        status = open_syncer(catalogue, err);
    if (status != STATUS_OK)
        return status;
    int code = sync_log(catalogue->syncer->db);
    if (code == SQLITE_OK)
        return STATUS_OK;
    sqlite_doubt(catalogue);
    return err_set(err, STATUS_IO, "catalogue '%s': sync of the log: %s (SQLite %d)", catalogue->place.path,
                   sqlite3_errstr(code), code);
}

enum status sqlite_sync(struct catalogue *port, struct err *err)
{
    struct sqlite_catalogue *catalogue = sqlite_of(port);
    if (catalogue->read_only)
        return STATUS_OK;
    INVARIANT(pthread_mutex_lock(&catalogue->sync_mutex) == 0);
    enum status status = sync_now(catalogue, err);
    INVARIANT(pthread_mutex_unlock(&catalogue->sync_mutex) == 0);
    return status;
}

/* ---- reopening ---- */

void sqlite_close_connections(struct sqlite_catalogue *catalogue, bool leave_log)
{
    while (catalogue->idle) {
        struct connection *connection = catalogue->idle;
        catalogue->idle = connection->next;
        (void)connection_close(connection, leave_log); /* returns NULL */
    }
    catalogue->idle_count = 0;
    catalogue->writer = connection_close(catalogue->writer, leave_log);
    catalogue->watcher = connection_close(catalogue->watcher, leave_log);
    catalogue->syncer = connection_close(catalogue->syncer, leave_log);
}

/* Copies the whole log into the file, syncs the file and empties the log. What a half-written commit left behind the
 * log's end goes with it, and must not come back after a power cut: so the empty log and its folder are synced too. */
static enum status rewrite_log(struct sqlite_catalogue *catalogue, struct err *err)
{
    sqlite3 *db = catalogue->writer->db;
    int left = 0, copied = 0;
    int code = sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_TRUNCATE, &left, &copied);
    if (code != SQLITE_OK)
        return query_failure(db, code, "rewrite the log", err);
    code = sync_log(db);
    if (code != SQLITE_OK)
        return err_set(err, STATUS_IO, "sync the emptied log: %s (SQLite %d)", sqlite3_errstr(code), code);
    return place_sync(&catalogue->place, err);
}

static enum status open_anew(struct sqlite_catalogue *catalogue, struct err *err)
{
    enum status status = place_check(&catalogue->place, err);
    if (status == STATUS_OK)
        status = connection_open(&catalogue->place, CONNECTION_WRITE, &catalogue->writer, err);
    enum schema_state state = SCHEMA_EMPTY;
    if (status == STATUS_OK)
        status = schema_look(catalogue->writer->db, catalogue->schema, &state, err);
    if (status == STATUS_OK && state != SCHEMA_CURRENT)
        return err_set(err, STATUS_CORRUPT, "the file is another one now");
    if (status == STATUS_OK)
        status = rewrite_log(catalogue, err);
    return status;
}

/* Inside the gate, pool_mutex held. */
static enum status reopen_quietly(struct sqlite_catalogue *catalogue, struct err *err)
{
    if (catalogue->open_txns)
        return err_set(err, STATUS_BUSY, "%u transactions are open", catalogue->open_txns);
    INVARIANT(pthread_mutex_lock(&catalogue->watch_mutex) == 0);
    INVARIANT(pthread_mutex_lock(&catalogue->sync_mutex) == 0);
    /* The log stays as it is: opened anew, SQLite reads and checks each page of it, unless another process has it open.
     */
    sqlite_close_connections(catalogue, true);
    enum status status = open_anew(catalogue, err);
    catalogue->generation++;
    if (status == STATUS_OK)
        atomic_store(&catalogue->doubtful, false);
    INVARIANT(pthread_mutex_unlock(&catalogue->sync_mutex) == 0);
    INVARIANT(pthread_mutex_unlock(&catalogue->watch_mutex) == 0);
    return status;
}

enum status sqlite_reopen(struct catalogue *port, struct err *err)
{
    struct sqlite_catalogue *catalogue = sqlite_of(port);
    if (catalogue->read_only)
        return STATUS_OK;
    enum status status = gate_take(catalogue->gate, SQLITE_OPEN_GATE_MS, err);
    if (status != STATUS_OK)
        return status;
    INVARIANT(pthread_mutex_lock(&catalogue->pool_mutex) == 0);
    status = reopen_quietly(catalogue, err);
    INVARIANT(pthread_mutex_unlock(&catalogue->pool_mutex) == 0);
    gate_leave(catalogue->gate);
    if (status != STATUS_OK)
        (void)err_context(err, "reopen catalogue '%s'", catalogue->place.path); /* returns the same status */
    return status;
}

/* ---- the watcher ---- */

static enum status watch(struct sqlite_catalogue *catalogue, uint64_t *ret_version, struct err *err)
{
    static const char sql[] = "PRAGMA main.data_version";
    if (!catalogue->watcher) {
        enum status status = connection_open(&catalogue->place, CONNECTION_READ, &catalogue->watcher, err);
        if (status != STATUS_OK)
            return status;
    }
    AUTO_QUERY struct query query;
    query_begin(&query, catalogue->watcher->db, &catalogue->watcher->statements, sql, err);
    enum status status = query_step(&query);
    if (status == STATUS_OK) {
        /* A connection opened anew counts from the beginning, hence the generation above it. */
        *ret_version = (uint64_t)catalogue->generation << 32 | (query_column_uint(&query) & UINT32_MAX);
        status = query_read(&query, "data_version");
    }
    return status;
}

enum status sqlite_data_version(struct catalogue *port, uint64_t *ret_version, struct err *err)
{
    struct sqlite_catalogue *catalogue = sqlite_of(port);
    INVARIANT(pthread_mutex_lock(&catalogue->watch_mutex) == 0);
    enum status status = watch(catalogue, ret_version, err);
    INVARIANT(pthread_mutex_unlock(&catalogue->watch_mutex) == 0);
    return status;
}

enum status sqlite_check_place(struct catalogue *port, struct err *err)
{
    return place_check(&sqlite_of(port)->place, err);
}
