/* sqlite_entry.c - rows of directory entries, and of the sessions that hold reserved ones. */
#include "catalogue/sqlite_rows.h"

#include "base/text.h"

#define ENTRY_COLUMNS "e.cookie, e.dir, e.name, e.document, e.reserved"

static void entry_read(struct query *query, struct entry_row *ret_row)
{
    ret_row->cookie = query_column_id(query);
    ret_row->dir = query_column_id(query);
    query_column_name(query, &ret_row->name);
    ret_row->document = query_column_id(query);
    ret_row->reserved = query_column_bool(query);
    if (!ret_row->name.len)
        query->bad = true;
}

/* The one row of a statement that is bound. */
static enum status entry_one(struct query *query, struct entry_row *ret_row)
{
    enum status status = query_step(query);
    if (status != STATUS_OK)
        return status;
    struct entry_row row;
    entry_read(query, &row);
    status = query_read(query, "entry");
    if (status == STATUS_OK)
        *ret_row = row;
    return status;
}

enum status sqlite_entry_get(struct catalogue_txn *txn, int64_t dir, const struct name *name, struct entry_row *ret_row,
                             struct err *err)
{
    static const char sql[] = "SELECT " ENTRY_COLUMNS " FROM entry e WHERE e.dir = ?1 AND e.name = ?2";
    AUTO_QUERY struct query query;
    txn_query(&query, txn, sql, err);
    query_int(&query, dir);
    query_name(&query, name);
    return entry_one(&query, ret_row);
}

enum status sqlite_entry_at(struct catalogue_txn *txn, int64_t cookie, struct entry_row *ret_row, struct err *err)
{
    static const char sql[] = "SELECT " ENTRY_COLUMNS " FROM entry e WHERE e.cookie = ?1";
    AUTO_QUERY struct query query;
    txn_query(&query, txn, sql, err);
    query_int(&query, cookie);
    return entry_one(&query, ret_row);
}

static void bind_entry(struct query *query, const struct entry_row *row)
{
    query_int(query, row->dir);
    query_name(query, &row->name);
    query_int(query, utf8_valid(row->name.bytes, row->name.len));
    query_int(query, row->document);
    query_int(query, row->reserved);
}

enum status sqlite_entry_insert(struct catalogue_txn *txn, const struct entry_row *row, int64_t *ret_cookie,
                                struct err *err)
{
    static const char sql[] = "INSERT INTO entry (dir, name, utf8, document, reserved) VALUES (?1, ?2, ?3, ?4, ?5)";
    AUTO_QUERY struct query query;
    txn_change(&query, txn, sql, err);
    bind_entry(&query, row);
    enum status status = query_run(&query, NULL);
    if (status == STATUS_OK)
        *ret_cookie = sqlite3_last_insert_rowid(txn->connection->db);
    return status;
}

/* A publish shows a name and moves nothing: naming no other column leaves the three indexes alone. NOT_FOUND: it is not
 * that, or there is no such entry. */
static enum status update_reserved(struct catalogue_txn *txn, const struct entry_row *row, struct err *err)
{
    static const char sql[] =
        "UPDATE entry SET reserved = ?1 WHERE cookie = ?2 AND dir = ?3 AND name = ?4 AND document = ?5";
    AUTO_QUERY struct query query;
    txn_change(&query, txn, sql, err);
    query_int(&query, row->reserved);
    query_int(&query, row->cookie);
    query_int(&query, row->dir);
    query_name(&query, &row->name);
    query_int(&query, row->document);
    return query_run_one(&query);
}

enum status sqlite_entry_update(struct catalogue_txn *txn, const struct entry_row *row, struct err *err)
{
    enum status status = update_reserved(txn, row, err);
    if (status != STATUS_NOT_FOUND)
        return status;
    static const char sql[] = "UPDATE entry SET dir = ?1, name = ?2, utf8 = ?3, document = ?4, reserved = ?5"
                              " WHERE cookie = ?6";
    AUTO_QUERY struct query query;
    txn_change(&query, txn, sql, err);
    bind_entry(&query, row);
    query_int(&query, row->cookie);
    return query_run_one(&query);
}

enum status sqlite_entry_delete(struct catalogue_txn *txn, int64_t cookie, struct err *err)
{
    static const char sql[] = "DELETE FROM entry WHERE cookie = ?1"; /* the holders follow by foreign key */
    AUTO_QUERY struct query query;
    txn_change(&query, txn, sql, err);
    query_int(&query, cookie);
    return query_run_one(&query);
}

/* ---- lists ---- */

static enum status entries(struct query *query, struct entry_row *ret_rows, struct document_row *ret_documents,
                           size_t *ret_count)
{
    size_t count = 0;
    enum status status;
    while ((status = query_step(query)) == STATUS_OK) {
        entry_read(query, &ret_rows[count]);
        if (ret_documents)
            document_read(query, &ret_documents[count]);
        status = query_read(query, "entry");
        if (status != STATUS_OK)
            return status;
        count++;
    }
    if (status != STATUS_NOT_FOUND)
        return status;
    *ret_count = count;
    return STATUS_OK;
}

enum status sqlite_entry_list(struct catalogue_txn *txn, int64_t dir, int64_t after, struct entry_row *ret_rows,
                              struct document_row *ret_documents, size_t capacity, size_t *ret_count, struct err *err)
{
    static const char names[] = "SELECT " ENTRY_COLUMNS " FROM entry e"
                                " WHERE e.dir = ?1 AND e.cookie > ?2 ORDER BY e.cookie LIMIT ?3";
    static const char both[] = "SELECT " ENTRY_COLUMNS ", " DOCUMENT_COLUMNS " FROM entry e"
                               " LEFT JOIN document d ON d.id = e.document " DOCUMENT_JOIN
                               " WHERE e.dir = ?1 AND e.cookie > ?2 ORDER BY e.cookie LIMIT ?3";
    AUTO_QUERY struct query query;
    txn_query(&query, txn, ret_documents ? both : names, err);
    query_int(&query, dir);
    query_int(&query, after);
    query_int(&query, (int64_t)capacity);
    return entries(&query, ret_rows, ret_documents, ret_count);
}

enum status sqlite_entry_of(struct catalogue_txn *txn, int64_t document, int64_t after, struct entry_row *ret_rows,
                            size_t capacity, size_t *ret_count, struct err *err)
{
    static const char sql[] = "SELECT " ENTRY_COLUMNS " FROM entry e"
                              " WHERE e.document = ?1 AND e.cookie > ?2 ORDER BY e.cookie LIMIT ?3";
    AUTO_QUERY struct query query;
    txn_query(&query, txn, sql, err);
    query_int(&query, document);
    query_int(&query, after);
    query_int(&query, (int64_t)capacity);
    return entries(&query, ret_rows, NULL, ret_count);
}

/* ---- holders ---- */

enum status sqlite_holder_add(struct catalogue_txn *txn, int64_t cookie, int64_t session, struct err *err)
{
    static const char sql[] = "INSERT INTO holder (entry, session) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
    AUTO_QUERY struct query query;
    txn_change(&query, txn, sql, err);
    query_int(&query, cookie);
    query_int(&query, session);
    return query_run(&query, NULL);
}

enum status sqlite_holder_remove(struct catalogue_txn *txn, int64_t cookie, int64_t session, struct err *err)
{
    static const char sql[] = "DELETE FROM holder WHERE entry = ?1 AND session = ?2";
    AUTO_QUERY struct query query;
    txn_change(&query, txn, sql, err);
    query_int(&query, cookie);
    query_int(&query, session);
    return query_run_one(&query);
}

static enum status ids(struct query *query, int64_t *ret_ids, size_t *ret_count)
{
    size_t count = 0;
    enum status status;
    while ((status = query_step(query)) == STATUS_OK)
        ret_ids[count++] = query_column_id(query);
    if (status == STATUS_NOT_FOUND)
        status = query_read(query, "holder");
    if (status == STATUS_OK)
        *ret_count = count;
    return status;
}

enum status sqlite_holder_list(struct catalogue_txn *txn, int64_t cookie, int64_t *ret_sessions, size_t capacity,
                               size_t *ret_count, struct err *err)
{
    static const char sql[] = "SELECT session FROM holder WHERE entry = ?1 ORDER BY session LIMIT ?2";
    AUTO_QUERY struct query query;
    txn_query(&query, txn, sql, err);
    query_int(&query, cookie);
    query_int(&query, (int64_t)capacity);
    return ids(&query, ret_sessions, ret_count);
}

enum status sqlite_holder_of(struct catalogue_txn *txn, int64_t session, int64_t after, int64_t *ret_cookies,
                             size_t capacity, size_t *ret_count, struct err *err)
{
    static const char sql[] = "SELECT entry FROM holder WHERE session = ?1 AND entry > ?2 ORDER BY entry LIMIT ?3";
    AUTO_QUERY struct query query;
    txn_query(&query, txn, sql, err);
    query_int(&query, session);
    query_int(&query, after);
    query_int(&query, (int64_t)capacity);
    return ids(&query, ret_cookies, ret_count);
}
