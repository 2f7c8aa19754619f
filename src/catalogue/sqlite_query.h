/* sqlite_query.h - one SQL statement from binding to the row that it gives.
 *
 * A connection keeps each statement that it has prepared; the text's address is the key, so a text is a static array.
 * A struct query lives in one scope (AUTO_QUERY resets the statement at its end). Parameters are bound and columns read
 * in their order. The first failure sticks: later calls do nothing, and the step that follows returns it. So a whole
 * statement reads as begin, bind, bind, step.
 *
 * The file is input. A column of another type than its table says, too long a text or a number out of range is never
 * an overflow: it makes query_read() return CORRUPT.
 */
#ifndef READYFS_CATALOGUE_SQLITE_QUERY_H
#define READYFS_CATALOGUE_SQLITE_QUERY_H

#include "base/cleanup.h"
#include "base/err.h"
#include "core/name.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STATEMENT_SLOTS 256 /* a power of two, far above the number of texts */

struct statement_cache {
    struct {
        const char *sql;
        sqlite3_stmt *stmt;
    } slots[STATEMENT_SLOTS];
    unsigned used;
};

/* Finalizes all. */
void statement_cache_done(struct statement_cache *cache);

struct query {
    sqlite3 *db;
    sqlite3_stmt *stmt; /* borrowed from the cache */
    int bound;          /* parameters bound so far */
    int column;         /* columns read of the current row */
    bool bad;           /* the row held what its table forbids */
    enum status status; /* the first failure */
    struct err *err;
};

/* The status and the message for an SQLite result code; `what` says what was tried. */
enum status query_failure(sqlite3 *db, int code, const char *what, struct err *err);

void query_begin(struct query *query, sqlite3 *db, struct statement_cache *cache, const char *sql, struct err *err);
void query_done(struct query *query);
#define AUTO_QUERY CLEANUP(query_done)

/* Bound values must live until the query is done. */
void query_int(struct query *query, int64_t value);
void query_uint(struct query *query, uint64_t value); /* all 64 bits; SQL sees it signed */
void query_id(struct query *query, int64_t id);       /* 0 becomes NULL */
void query_text(struct query *query, const char *text);
void query_blob(struct query *query, const void *bytes, size_t len); /* NULL bytes become NULL */
void query_name(struct query *query, const struct name *name);       /* an empty name becomes NULL */

/* The next row: OK; NOT_FOUND, without a message, when there is none (any more). */
MUST_CHECK enum status query_step(struct query *query);

/* To the end, for a statement that changes rows; how many in ret_changes (may be NULL). */
MUST_CHECK enum status query_run(struct query *query, int64_t *ret_changes);

/* The same where exactly one row must be there: NOT_FOUND when none was. */
MUST_CHECK enum status query_run_one(struct query *query);

int64_t query_column_int(struct query *query, int64_t min, int64_t max);
uint64_t query_column_uint(struct query *query);
int64_t query_column_id(struct query *query); /* NULL is 0, else positive */
bool query_column_bool(struct query *query);
/* With NUL, at most `size` bytes; a text with a NUL in it is bad, one that does not fit too. */
void query_column_text(struct query *query, char *ret_text, size_t size);
void query_column_name(struct query *query, struct name *ret_name); /* NULL is the empty one */
/* Borrowed until the next step; NULL for NULL. */
const void *query_column_blob(struct query *query, size_t len_max, size_t *ret_len);

/* OK when everything read of the row was well-formed, else CORRUPT; `what` names the row. */
MUST_CHECK enum status query_read(struct query *query, const char *what);

#endif
