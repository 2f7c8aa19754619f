/* sqlite_txn.c - transactions: taking a connection, beginning, and the three ways in which a commit ends. */
#include "catalogue/sqlite_internal.h"

#include <errno.h>
#include <stdlib.h>

#define COMMIT_RETRY_MS 5

static const char sql_begin[] = "BEGIN";
static const char sql_begin_immediate[] = "BEGIN IMMEDIATE";
static const char sql_commit[] = "COMMIT";
static const char sql_rollback[] = "ROLLBACK";
static const char sql_pin[] = "SELECT one FROM sequence";

static enum status taken_back(struct err *err)
{
    return err_set(err, STATUS_IO, "catalogue: an earlier failure has taken the transaction back");
}

void txn_query(struct query *query, struct catalogue_txn *txn, const char *sql, struct err *err)
{
    if (txn->writing && sqlite3_get_autocommit(txn->connection->db))
        *query = (struct query){.db = txn->connection->db, .err = err, .status = taken_back(err)};
    else
        query_begin(query, txn->connection->db, &txn->connection->statements, sql, err);
}

void txn_change(struct query *query, struct catalogue_txn *txn, const char *sql, struct err *err)
{
    INVARIANT(txn->writing);
    txn_query(query, txn, sql, err);
}

static enum status run_text(struct catalogue_txn *txn, const char *sql, struct err *err)
{
    AUTO_QUERY struct query query;
    txn_query(&query, txn, sql, err);
    return query_run(&query, NULL);
}

static struct catalogue_txn *txn_new(struct sqlite_catalogue *catalogue, struct err *err)
{
    struct catalogue_txn *txn = calloc(1, sizeof *txn);
    if (!txn)
        (void)err_set(err, STATUS_NO_MEMORY, "catalogue: out of memory");
    else
        txn->catalogue = catalogue;
    return txn;
}

static void count_open(struct sqlite_catalogue *catalogue, int change)
{
    INVARIANT(pthread_mutex_lock(&catalogue->pool_mutex) == 0);
    catalogue->open_txns += (unsigned)change;
    INVARIANT(pthread_mutex_unlock(&catalogue->pool_mutex) == 0);
}

/* ---- readers ---- */

static enum status pool_take(struct sqlite_catalogue *catalogue, struct connection **ret_connection, struct err *err)
{
    INVARIANT(pthread_mutex_lock(&catalogue->pool_mutex) == 0);
    struct connection *connection = catalogue->idle;
    if (connection) {
        catalogue->idle = connection->next;
        catalogue->idle_count--;
    }
    catalogue->open_txns++;
    INVARIANT(pthread_mutex_unlock(&catalogue->pool_mutex) == 0);
    enum status status = STATUS_OK;
    if (!connection)
        status = connection_open(&catalogue->place, CONNECTION_READ, &connection, err);
    if (status != STATUS_OK)
        count_open(catalogue, -1);
    else
        *ret_connection = connection;
    return status;
}

static void pool_give(struct sqlite_catalogue *catalogue, struct connection *connection)
{
    bool whole = sqlite3_get_autocommit(connection->db);
    INVARIANT(pthread_mutex_lock(&catalogue->pool_mutex) == 0);
    bool keep = whole && catalogue->idle_count < SQLITE_POOL_CONNECTIONS;
    if (keep) {
        connection->next = catalogue->idle;
        catalogue->idle = connection;
        catalogue->idle_count++;
    } else {
        (void)connection_close(connection, atomic_load(&catalogue->doubtful)); /* returns NULL */
    }
    catalogue->open_txns--;
    INVARIANT(pthread_mutex_unlock(&catalogue->pool_mutex) == 0);
}

/* BEGIN alone takes no snapshot; the first row read does. */
static enum status snapshot(struct catalogue_txn *txn, struct err *err)
{
    enum status status = run_text(txn, sql_begin, err);
    if (status != STATUS_OK)
        return status;
    AUTO_QUERY struct query query;
    txn_query(&query, txn, sql_pin, err);
    status = query_step(&query);
    if (status == STATUS_NOT_FOUND)
        return err_set(err, STATUS_CORRUPT, "catalogue: the table 'sequence' is empty");
    return status;
}

enum status sqlite_read_begin(struct catalogue *port, struct catalogue_txn **ret_txn, struct err *err)
{
    struct sqlite_catalogue *catalogue = sqlite_of(port);
    struct catalogue_txn *txn = txn_new(catalogue, err);
    if (!txn)
        return STATUS_NO_MEMORY;
    enum status status = pool_take(catalogue, &txn->connection, err);
    if (status != STATUS_OK) {
        free(txn);
        return status;
    }
    status = snapshot(txn, err);
    if (status != STATUS_OK)
        sqlite_abort(txn);
    else
        *ret_txn = txn;
    return status;
}

/* ---- the writer ---- */

static enum status set_durability(struct connection *writer, enum durability durability, struct err *err)
{
    if (writer->durability == durability)
        return STATUS_OK;
    /* Inside a transaction SQLite would refuse this. */
    const char *sql = durability == DURABLE ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL";
    enum status status = connection_run(writer, sql, err);
    if (status == STATUS_OK)
        writer->durability = durability;
    return status;
}

static int busy_ms(struct catalogue_txn *txn)
{
    int64_t left = txn->deadline_boot_ms - clock_boot_ms(txn->catalogue->clock);
    if (left < 1)
        return 1;
    return left < SQLITE_BUSY_MS ? (int)left : SQLITE_BUSY_MS;
}

/* Inside the gate. */
static enum status begin_writing(struct catalogue_txn *txn, enum durability durability, struct err *err)
{
    struct sqlite_catalogue *catalogue = txn->catalogue;
    enum status status = sqlite_undoubted(catalogue, err);
    if (status == STATUS_OK && !catalogue->writer)
        status = connection_open(&catalogue->place, CONNECTION_WRITE, &catalogue->writer, err);
    if (status == STATUS_OK)
        status = set_durability(catalogue->writer, durability, err);
    if (status != STATUS_OK)
        return status;
    txn->connection = catalogue->writer;
    (void)sqlite3_busy_timeout(txn->connection->db, busy_ms(txn)); /* cannot fail */
    return run_text(txn, sql_begin_immediate, err);
}

static enum status enter_and_begin(struct catalogue_txn *txn, enum durability durability, int64_t deadline_ms,
                                   struct err *err)
{
    struct sqlite_catalogue *catalogue = txn->catalogue;
    txn->deadline_boot_ms = clock_boot_ms(catalogue->clock) + deadline_ms;
    enum status status = gate_take(catalogue->gate, deadline_ms, err);
    if (status != STATUS_OK)
        return status;
    status = begin_writing(txn, durability, err);
    if (status != STATUS_OK)
        gate_leave(catalogue->gate);
    return status;
}

enum status sqlite_write_begin(struct catalogue *port, enum durability durability, int64_t deadline_ms,
                               struct catalogue_txn **ret_txn, struct err *err)
{
    struct sqlite_catalogue *catalogue = sqlite_of(port);
    if (catalogue->read_only)
        return err_set(err, STATUS_READ_ONLY, "catalogue '%s': opened for reading", catalogue->place.path);
    enum status status = sqlite_undoubted(catalogue, err);
    if (status != STATUS_OK)
        return status;
    struct catalogue_txn *txn = txn_new(catalogue, err);
    if (!txn)
        return STATUS_NO_MEMORY;
    status = enter_and_begin(txn, durability, deadline_ms, err);
    if (status != STATUS_OK) {
        free(txn);
        return status;
    }
    txn->writing = true;
    count_open(catalogue, 1);
    *ret_txn = txn;
    return STATUS_OK;
}

/* ---- ending ---- */

/* Leaves the writer's connection without a transaction, or leaves none. */
static void settle_writer(struct catalogue_txn *txn)
{
    struct sqlite_catalogue *catalogue = txn->catalogue;
    if (!sqlite3_get_autocommit(txn->connection->db))
        (void)run_text(txn, sql_rollback, NULL); /* looked at in the next line */
    if (!sqlite3_get_autocommit(txn->connection->db))
        catalogue->writer = connection_close(catalogue->writer, atomic_load(&catalogue->doubtful));
}

static void leave(struct catalogue_txn *txn)
{
    struct sqlite_catalogue *catalogue = txn->catalogue;
    if (txn->writing) {
        count_open(catalogue, -1);
        gate_leave(catalogue->gate);
    } else {
        pool_give(catalogue, txn->connection);
    }
    free(txn);
}

void sqlite_abort(struct catalogue_txn *txn)
{
    if (!txn)
        return;
    if (txn->writing) {
        sqlite_locks_undo(txn->catalogue);
        settle_writer(txn);
    } else if (!sqlite3_get_autocommit(txn->connection->db)) {
        (void)run_text(txn, sql_rollback, NULL); /* pool_give() looks whether it has ended */
    }
    leave(txn);
}

/* A refusal of COMMIT is one of those that come before the log holds a whole commit: a foreign lock, a broken foreign
 * key, and no room for a page of the log, whose last page alone makes the pages before it a commit (sqlite.org/
 * fileformat2.html, 4.1). After anything else the log may hold the commit. */
static bool provably_refused(sqlite3 *db, int code)
{
    int kind = code & 0xff;
    if (kind == SQLITE_BUSY || kind == SQLITE_CONSTRAINT || kind == SQLITE_FULL)
        return true;
    return code == SQLITE_IOERR_WRITE && sqlite3_system_errno(db) == EDQUOT;
}

static int step_commit(struct catalogue_txn *txn, struct err *err, enum status *ret_status)
{
    for (;;) {
        AUTO_QUERY struct query query;
        txn_query(&query, txn, sql_commit, err);
        *ret_status = query_run(&query, NULL);
        int code = *ret_status == STATUS_OK ? SQLITE_OK : sqlite3_extended_errcode(txn->connection->db);
        bool again = (code & 0xff) == SQLITE_BUSY && !sqlite3_get_autocommit(txn->connection->db);
        if (!again || clock_boot_ms(txn->catalogue->clock) >= txn->deadline_boot_ms)
            return code;
        clock_wait_ms(txn->catalogue->clock, COMMIT_RETRY_MS);
    }
}

static enum status unknown(struct catalogue_txn *txn, struct err *err)
{
    sqlite_doubt(txn->catalogue);
    (void)err_context(err, "commit: the outcome is not known");
    if (err)
        err->status = STATUS_UNKNOWN;
    return STATUS_UNKNOWN;
}

static enum status commit_writing(struct catalogue_txn *txn, struct err *err)
{
    sqlite3 *db = txn->connection->db;
    if (sqlite3_get_autocommit(db))
        return taken_back(err);
    enum status status;
    int code = step_commit(txn, err, &status);
    if (code == SQLITE_OK)
        return STATUS_OK;
    bool refused = provably_refused(db, code); /* asked before another statement changes the error */
    if (!refused)
        sqlite_doubt(txn->catalogue); /* before a connection is closed, which would copy the log */
    settle_writer(txn);
    /* With the writer's connection gone nobody can tell whether it rolled back. */
    if (!refused || !txn->catalogue->writer)
        return unknown(txn, err);
    return status;
}

enum status sqlite_commit(struct catalogue_txn *txn, struct err *err)
{
    if (!txn->writing) {
        sqlite_abort(txn); /* a reader has nothing to lose */
        return STATUS_OK;
    }
    enum status status = commit_writing(txn, err);
    if (status == STATUS_OK)
        sqlite_checkpoint(txn->catalogue, txn->connection);
    if (status == STATUS_OK || status == STATUS_UNKNOWN) /* a session that may be there must not look dead */
        sqlite_locks_keep(txn->catalogue);
    else
        sqlite_locks_undo(txn->catalogue);
    leave(txn);
    return status;
}

/* ---- savepoints ---- */

enum status sqlite_savepoint(struct catalogue_txn *txn, struct err *err)
{
    static const char sql[] = "SAVEPOINT part";
    INVARIANT(txn->writing && !txn->nested);
    enum status status = run_text(txn, sql, err);
    txn->nested = status == STATUS_OK;
    return status;
}

static enum status release(struct catalogue_txn *txn, struct err *err)
{
    static const char sql[] = "RELEASE part";
    enum status status = run_text(txn, sql, err);
    txn->nested = false;
    return status;
}

enum status sqlite_savepoint_release(struct catalogue_txn *txn, struct err *err)
{
    INVARIANT(txn->nested);
    return release(txn, err);
}

enum status sqlite_savepoint_rollback(struct catalogue_txn *txn, struct err *err)
{
    static const char sql[] = "ROLLBACK TO part";
    INVARIANT(txn->nested);
    enum status status = run_text(txn, sql, err);
    if (status == STATUS_OK)
        status = release(txn, err);
    txn->nested = false;
    return status;
}
