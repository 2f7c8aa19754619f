/* sqlite_query.c - binding, stepping and reading with a failure that sticks. */
#include "catalogue/sqlite_query.h"

#include <errno.h>
#include <string.h>

void statement_cache_done(struct statement_cache *cache)
{
    for (size_t i = 0; i < STATEMENT_SLOTS; i++)
        (void)sqlite3_finalize(cache->slots[i].stmt); /* repeats the last step's result, which was looked at */
    *cache = (struct statement_cache){0};
}

static size_t slot_of(const struct statement_cache *cache, const char *sql)
{
    size_t slot = (size_t)((uintptr_t)sql * 0x9E3779B97F4A7C15u >> 32) % STATEMENT_SLOTS;
    while (cache->slots[slot].sql && cache->slots[slot].sql != sql)
        slot = (slot + 1) % STATEMENT_SLOTS;
    return slot;
}

/* ---- failures ---- */

static enum status io_status(sqlite3 *db, int extended)
{
    if (extended == SQLITE_IOERR_NOMEM)
        return STATUS_NO_MEMORY;
    int system = sqlite3_system_errno(db);
    if (system == ENOSPC)
        return STATUS_NO_SPACE;
    return system == EDQUOT ? STATUS_QUOTA : STATUS_IO;
}

static enum status open_status(sqlite3 *db)
{
    int system = sqlite3_system_errno(db);
    return system ? status_from_errno(system) : STATUS_IO;
}

static bool unique_violated(int extended)
{
    return extended == SQLITE_CONSTRAINT_UNIQUE || extended == SQLITE_CONSTRAINT_PRIMARYKEY ||
           extended == SQLITE_CONSTRAINT_ROWID;
}

static enum status status_of(sqlite3 *db, int code)
{
    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return STATUS_BUSY;
    case SQLITE_NOMEM: return STATUS_NO_MEMORY;
    case SQLITE_READONLY: return code == SQLITE_READONLY_DBMOVED ? STATUS_IO : STATUS_READ_ONLY;
    case SQLITE_FULL: return STATUS_NO_SPACE;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT: return STATUS_CORRUPT;
    case SQLITE_CANTOPEN: return open_status(db);
    case SQLITE_PERM:
    case SQLITE_AUTH: return STATUS_ACCESS;
    case SQLITE_IOERR: return io_status(db, code);
    case SQLITE_CONSTRAINT: return unique_violated(code) ? STATUS_EXISTS : STATUS_INVALID;
    case SQLITE_TOOBIG: return STATUS_TOO_LARGE;
    case SQLITE_INTERRUPT: return STATUS_INTERRUPTED;
    /* A table, column or function that a statement names is missing: the file is not what its header says. */
    case SQLITE_ERROR:
    case SQLITE_SCHEMA: return STATUS_CORRUPT;
    default: return STATUS_IO;
    }
}

static void add_hint(enum status status, int code, struct err *err)
{
    if (code == SQLITE_NOTADB)
        (void)err_hint(err, "if it is no catalogue, name another file with --catalogue");
    else if (status == STATUS_CORRUPT)
        (void)err_hint(err, "keep a copy of the file and its -wal, then see what `readyfs fsck` finds");
    else if (status == STATUS_NO_SPACE || status == STATUS_QUOTA)
        (void)err_hint(err, "make room on the file system that holds the catalogue");
    else if (status == STATUS_BUSY)
        (void)err_hint(err, "another program holds the catalogue locked; close it and try again");
}

enum status query_failure(sqlite3 *db, int code, const char *what, struct err *err)
{
    enum status status = status_of(db, code);
    int system = sqlite3_system_errno(db);
    const char *text = db ? sqlite3_errmsg(db) : sqlite3_errstr(code);
    if (((code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN) && system > 0) {
        char reason[128];
        (void)err_set(err, status, "%s: %s (SQLite %d): %s", what, text, code,
                      strerror_r(system, reason, sizeof reason));
    } else {
        (void)err_set(err, status, "%s: %s (SQLite %d)", what, text, code);
    }
    add_hint(status, code, err);
    return status;
}

static void fail(struct query *query, int code)
{
    if (query->status != STATUS_OK)
        return;
    query->status = query_failure(query->db, code, "catalogue", query->err);
    if (query->status == STATUS_NOT_FOUND) /* the file, not the row: must not be taken for an answer */
        query->status = STATUS_IO;
}

/* ---- begin and end ---- */

void query_begin(struct query *query, sqlite3 *db, struct statement_cache *cache, const char *sql, struct err *err)
{
    *query = (struct query){.db = db, .err = err};
    size_t slot = slot_of(cache, sql);
    if (!cache->slots[slot].sql) {
        sqlite3_stmt *stmt = NULL;
        int code = sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt, NULL);
        if (code != SQLITE_OK) {
            fail(query, code);
            return;
        }
        INVARIANT(++cache->used < STATEMENT_SLOTS / 2);
        cache->slots[slot].sql = sql;
        cache->slots[slot].stmt = stmt;
    }
    query->stmt = cache->slots[slot].stmt;
    INVARIANT(!sqlite3_stmt_busy(query->stmt)); /* one use at a time: the reset below would end the other's */
}

void query_done(struct query *query)
{
    if (!query->stmt)
        return;
    (void)sqlite3_reset(query->stmt); /* repeats the result of the last step, which was looked at */
    (void)sqlite3_clear_bindings(query->stmt);
    query->stmt = NULL;
}

/* ---- binding ---- */

static void bound(struct query *query, int code)
{
    if (code != SQLITE_OK)
        fail(query, code);
}

void query_int(struct query *query, int64_t value)
{
    if (query->status == STATUS_OK)
        bound(query, sqlite3_bind_int64(query->stmt, ++query->bound, value));
}

void query_uint(struct query *query, uint64_t value)
{
    query_int(query, (int64_t)value);
}

void query_id(struct query *query, int64_t id)
{
    if (id)
        query_int(query, id);
    else
        query->bound++; /* an unbound parameter is NULL */
}

void query_text(struct query *query, const char *text)
{
    if (query->status == STATUS_OK)
        bound(query, sqlite3_bind_text(query->stmt, ++query->bound, text, -1, SQLITE_STATIC));
}

void query_blob(struct query *query, const void *bytes, size_t len)
{
    if (query->status == STATUS_OK)
        bound(query, sqlite3_bind_blob64(query->stmt, ++query->bound, bytes, len, SQLITE_STATIC));
}

void query_name(struct query *query, const struct name *name)
{
    query_blob(query, name->len ? name->bytes : NULL, name->len);
}

/* ---- stepping ---- */

enum status query_step(struct query *query)
{
    if (query->status != STATUS_OK)
        return query->status;
    INVARIANT(query->bound == sqlite3_bind_parameter_count(query->stmt));
    query->column = 0;
    int code = sqlite3_step(query->stmt);
    if (code == SQLITE_ROW)
        return STATUS_OK;
    if (code == SQLITE_DONE)
        return STATUS_NOT_FOUND;
    fail(query, code);
    return query->status;
}

enum status query_run(struct query *query, int64_t *ret_changes)
{
    enum status status;
    do
        status = query_step(query);
    while (status == STATUS_OK);
    if (status != STATUS_NOT_FOUND || query->status != STATUS_OK)
        return status;
    if (ret_changes)
        *ret_changes = sqlite3_changes64(query->db);
    return STATUS_OK;
}

enum status query_run_one(struct query *query)
{
    int64_t changes = 0;
    enum status status = query_run(query, &changes);
    if (status != STATUS_OK)
        return status;
    return changes ? STATUS_OK : STATUS_NOT_FOUND;
}

/* ---- reading ---- */

int64_t query_column_int(struct query *query, int64_t min, int64_t max)
{
    int column = query->column++;
    if (sqlite3_column_type(query->stmt, column) == SQLITE_INTEGER) {
        int64_t value = sqlite3_column_int64(query->stmt, column);
        if (value >= min && value <= max)
            return value;
    }
    query->bad = true;
    return min;
}

uint64_t query_column_uint(struct query *query)
{
    return (uint64_t)query_column_int(query, INT64_MIN, INT64_MAX);
}

int64_t query_column_id(struct query *query)
{
    if (sqlite3_column_type(query->stmt, query->column) != SQLITE_NULL)
        return query_column_int(query, 1, INT64_MAX);
    query->column++;
    return 0;
}

bool query_column_bool(struct query *query)
{
    return query_column_int(query, 0, 1) == 1;
}

const void *query_column_blob(struct query *query, size_t len_max, size_t *ret_len)
{
    int column = query->column++;
    int type = sqlite3_column_type(query->stmt, column);
    *ret_len = 0;
    if (type == SQLITE_NULL)
        return NULL;
    const void *bytes = sqlite3_column_blob(query->stmt, column);
    size_t len = (size_t)sqlite3_column_bytes(query->stmt, column);
    if (type != SQLITE_BLOB || len > len_max || (len && !bytes)) {
        query->bad = true;
        return NULL;
    }
    *ret_len = len;
    return len ? bytes : "";
}

void query_column_text(struct query *query, char *ret_text, size_t size)
{
    int column = query->column++;
    bool good = sqlite3_column_type(query->stmt, column) == SQLITE_TEXT;
    const unsigned char *text = good ? sqlite3_column_text(query->stmt, column) : NULL;
    size_t len = text ? (size_t)sqlite3_column_bytes(query->stmt, column) : 0;
    good = text && len < size && !memchr(text, '\0', len);
    if (good)
        memcpy(ret_text, text, len);
    else
        query->bad = true;
    ret_text[good ? len : 0] = '\0';
}

void query_column_name(struct query *query, struct name *ret_name)
{
    size_t len;
    const char *bytes = query_column_blob(query, LIMIT_NAME_BYTES, &len);
    ret_name->len = 0;
    ret_name->bytes[0] = '\0';
    if (bytes && name_set(ret_name, bytes, len) != STATUS_OK)
        query->bad = true;
}

enum status query_read(struct query *query, const char *what)
{
    if (query->status == STATUS_OK && query->bad) {
        query->status = err_set(query->err, STATUS_CORRUPT, "catalogue: a row of '%s' is malformed", what);
        add_hint(STATUS_CORRUPT, SQLITE_CORRUPT, query->err);
    }
    return query->status;
}
