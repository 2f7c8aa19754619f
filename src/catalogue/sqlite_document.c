/* sqlite_document.c - rows of documents and of their extended attributes. */
#include "catalogue/sqlite_rows.h"

#include <string.h>

#define FIND "SELECT " DOCUMENT_COLUMNS " FROM document d " DOCUMENT_JOIN " WHERE d.id = ?1"

void document_read(struct query *query, struct document_row *ret_row)
{
    ret_row->id = query_column_id(query);
    ret_row->mode = (uint32_t)query_column_int(query, 0, UINT32_MAX);
    ret_row->uid = (uint32_t)query_column_int(query, 0, UINT32_MAX);
    ret_row->gid = (uint32_t)query_column_int(query, 0, UINT32_MAX);
    ret_row->nlink = (uint32_t)query_column_int(query, 0, UINT32_MAX);
    ret_row->rdev = query_column_uint(query);
    ret_row->atime_ns = query_column_int(query, INT64_MIN, INT64_MAX);
    ret_row->mtime_ns = query_column_int(query, INT64_MIN, INT64_MAX);
    ret_row->ctime_ns = query_column_int(query, INT64_MIN, INT64_MAX);
    ret_row->btime_ns = query_column_int(query, INT64_MIN, INT64_MAX);
    ret_row->version = query_column_id(query);
    ret_row->parent = query_column_id(query);
    ret_row->members = query_column_int(query, 0, INT64_MAX);
    ret_row->size_bytes = (uint64_t)query_column_int(query, 0, INT64_MAX);
    ret_row->version_number = query_column_int(query, 0, INT64_MAX);
    if (!ret_row->id)
        query->bad = true; /* an entry whose document is not there */
}

enum status sqlite_document_get(struct catalogue_txn *txn, int64_t id, struct document_row *ret_row, struct err *err)
{
    static const char sql[] = FIND;
    AUTO_QUERY struct query query;
    txn_query(&query, txn, sql, err);
    query_int(&query, id);
    enum status status = query_step(&query);
    if (status != STATUS_OK)
        return status;
    struct document_row row;
    document_read(&query, &row);
    status = query_read(&query, "document");
    if (status == STATUS_OK)
        *ret_row = row;
    return status;
}

static void bind_document(struct query *query, const struct document_row *row)
{
    query_int(query, row->mode);
    query_int(query, row->uid);
    query_int(query, row->gid);
    query_int(query, row->nlink);
    query_uint(query, row->rdev);
    query_int(query, row->atime_ns);
    query_int(query, row->mtime_ns);
    query_int(query, row->ctime_ns);
    query_int(query, row->btime_ns);
    query_id(query, row->version);
    query_id(query, row->parent);
    query_int(query, row->members);
}

enum status sqlite_document_insert(struct catalogue_txn *txn, const struct document_row *row, const char *target,
                                   int64_t *ret_id, struct err *err)
{
    static const char sql[] = "INSERT INTO document (mode, uid, gid, nlink, rdev, atime_ns, mtime_ns, ctime_ns,"
                              " btime_ns, version, parent, members, target)"
                              " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";
    AUTO_QUERY struct query query;
    txn_change(&query, txn, sql, err);
    bind_document(&query, row);
    query_blob(&query, target, target ? strlen(target) : 0);
    enum status status = query_run(&query, NULL);
    if (status == STATUS_OK)
        *ret_id = sqlite3_last_insert_rowid(txn->connection->db);
    return status;
}

enum status sqlite_document_update(struct catalogue_txn *txn, const struct document_row *row, struct err *err)
{
    static const char sql[] = "UPDATE document SET mode = ?1, uid = ?2, gid = ?3, nlink = ?4, rdev = ?5,"
                              " atime_ns = ?6, mtime_ns = ?7, ctime_ns = ?8, btime_ns = ?9, version = ?10,"
                              " parent = ?11, members = ?12 WHERE id = ?13";
    AUTO_QUERY struct query query;
    txn_change(&query, txn, sql, err);
    bind_document(&query, row);
    query_int(&query, row->id);
    return query_run_one(&query);
}

enum status sqlite_document_delete(struct catalogue_txn *txn, int64_t id, struct err *err)
{
    static const char sql[] = "DELETE FROM document WHERE id = ?1"; /* the attributes follow by foreign key */
    AUTO_QUERY struct query query;
    txn_change(&query, txn, sql, err);
    query_int(&query, id);
    return query_run_one(&query);
}

enum status sqlite_document_target(struct catalogue_txn *txn, int64_t id, char *ret_target, struct err *err)
{
    static const char sql[] = "SELECT target FROM document WHERE id = ?1 AND target IS NOT NULL";
    AUTO_QUERY struct query query;
    txn_query(&query, txn, sql, err);
    query_int(&query, id);
    enum status status = query_step(&query);
    if (status != STATUS_OK)
        return status;
    size_t len;
    const char *target = query_column_blob(&query, LIMIT_TARGET_BYTES, &len);
    if (!len || memchr(target, '\0', len))
        query.bad = true;
    status = query_read(&query, "document");
    if (status != STATUS_OK)
        return status;
    memcpy(ret_target, target, len);
    ret_target[len] = '\0';
    return STATUS_OK;
}

/* ---- extended attributes ---- */

enum status sqlite_xattr_get(struct catalogue_txn *txn, int64_t document, const char *name, void *ret_value,
                             size_t capacity, size_t *ret_len, struct err *err)
{
    static const char sql[] = "SELECT value FROM xattr WHERE document = ?1 AND name = ?2";
    AUTO_QUERY struct query query;
    txn_query(&query, txn, sql, err);
    query_int(&query, document);
    query_blob(&query, name, strlen(name));
    enum status status = query_step(&query);
    if (status != STATUS_OK)
        return status;
    size_t len;
    const void *value = query_column_blob(&query, LIMIT_XATTR_VALUE_BYTES, &len);
    status = query_read(&query, "xattr");
    if (status != STATUS_OK)
        return status;
    if (capacity && len > capacity)
        return err_set(err, STATUS_RANGE, "the attribute has %zu bytes", len);
    if (capacity && len)
        memcpy(ret_value, value, len);
    *ret_len = len;
    return STATUS_OK;
}

enum status sqlite_xattr_set(struct catalogue_txn *txn, int64_t document, const char *name, const void *value,
                             size_t len, struct err *err)
{
    static const char sql[] = "INSERT INTO xattr (document, name, value) VALUES (?1, ?2, ?3)"
                              " ON CONFLICT (document, name) DO UPDATE SET value = excluded.value";
    AUTO_QUERY struct query query;
    txn_change(&query, txn, sql, err);
    query_int(&query, document);
    query_blob(&query, name, strlen(name));
    query_blob(&query, len ? value : "", len);
    return query_run(&query, NULL);
}

enum status sqlite_xattr_remove(struct catalogue_txn *txn, int64_t document, const char *name, struct err *err)
{
    static const char sql[] = "DELETE FROM xattr WHERE document = ?1 AND name = ?2";
    AUTO_QUERY struct query query;
    txn_change(&query, txn, sql, err);
    query_int(&query, document);
    query_blob(&query, name, strlen(name));
    return query_run_one(&query);
}

/* Appends one name with its NUL where there is room; the length counts in any case. */
static void append_name(struct query *query, char *ret_names, size_t capacity, size_t *len)
{
    size_t name_len;
    const char *name = query_column_blob(query, LIMIT_XATTR_NAME_BYTES, &name_len);
    if (!name_len || memchr(name, '\0', name_len)) {
        query->bad = true;
        return;
    }
    if (*len + name_len + 1 <= capacity) {
        memcpy(ret_names + *len, name, name_len);
        ret_names[*len + name_len] = '\0';
    }
    *len += name_len + 1;
}

enum status sqlite_xattr_list(struct catalogue_txn *txn, int64_t document, char *ret_names, size_t capacity,
                              size_t *ret_len, struct err *err)
{
    static const char sql[] = "SELECT name FROM xattr WHERE document = ?1 ORDER BY name";
    AUTO_QUERY struct query query;
    txn_query(&query, txn, sql, err);
    query_int(&query, document);
    size_t len = 0;
    enum status status;
    while ((status = query_step(&query)) == STATUS_OK)
        append_name(&query, ret_names, capacity, &len);
    if (status != STATUS_NOT_FOUND)
        return status;
    status = query_read(&query, "xattr");
    if (status != STATUS_OK)
        return status;
    if (capacity && len > capacity)
        return err_set(err, STATUS_RANGE, "the names of the attributes have %zu bytes", len);
    *ret_len = len;
    return STATUS_OK;
}
