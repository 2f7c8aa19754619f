/* sqlite_session.c - rows of sessions. Their locks are in sqlite_lock.c. */
#include "catalogue/sqlite_internal.h"

#define COLUMNS                                                                                                        \
    "id, kind, started_utc_ns, heartbeat_utc_ns, horizon, seen_seq, fenced_utc_ns, pid, group_number, group_failed,"   \
    " place, result"

static enum status session_read(struct query *query, struct session_row *ret_row)
{
    ret_row->id = query_column_id(query);
    ret_row->kind = (enum session_kind)query_column_int(query, SESSION_MOUNT, SESSION_VERB);
    ret_row->started_utc_ns = query_column_int(query, INT64_MIN, INT64_MAX);
    ret_row->heartbeat_utc_ns = query_column_int(query, INT64_MIN, INT64_MAX);
    ret_row->horizon = query_column_int(query, INT64_MIN, INT64_MAX);
    ret_row->seen_seq = query_column_int(query, INT64_MIN, INT64_MAX);
    ret_row->fenced_utc_ns = query_column_int(query, INT64_MIN, INT64_MAX);
    ret_row->pid = query_column_int(query, INT64_MIN, INT64_MAX);
    ret_row->group_number = query_column_int(query, INT64_MIN, INT64_MAX);
    ret_row->group_failed = query_column_bool(query);
    query_column_text(query, ret_row->place, sizeof ret_row->place);
    query_column_text(query, ret_row->result, sizeof ret_row->result);
    return query_read(query, "session");
}

enum status sqlite_session_get(struct catalogue_txn *txn, int64_t id, struct session_row *ret_row, struct err *err)
{
    static const char sql[] = "SELECT " COLUMNS " FROM session WHERE id = ?1";
    AUTO_QUERY struct query query;
    txn_query(&query, txn, sql, err);
    query_int(&query, id);
    enum status status = query_step(&query);
    if (status != STATUS_OK)
        return status;
    struct session_row row;
    status = session_read(&query, &row);
    if (status == STATUS_OK)
        *ret_row = row;
    return status;
}

enum status sqlite_session_list(struct catalogue_txn *txn, int64_t after, struct session_row *ret_rows, size_t capacity,
                                size_t *ret_count, struct err *err)
{
    static const char sql[] = "SELECT " COLUMNS " FROM session WHERE id > ?1 ORDER BY id LIMIT ?2";
    AUTO_QUERY struct query query;
    txn_query(&query, txn, sql, err);
    query_int(&query, after);
    query_int(&query, (int64_t)capacity);
    size_t count = 0;
    enum status status;
    while ((status = query_step(&query)) == STATUS_OK) {
        status = session_read(&query, &ret_rows[count]);
        if (status != STATUS_OK)
            return status;
        count++;
    }
    if (status != STATUS_NOT_FOUND)
        return status;
    *ret_count = count;
    return STATUS_OK;
}

static void bind_session(struct query *query, const struct session_row *row)
{
    query_int(query, row->kind);
    query_int(query, row->started_utc_ns);
    query_int(query, row->heartbeat_utc_ns);
    query_int(query, row->horizon);
    query_int(query, row->seen_seq);
    query_int(query, row->fenced_utc_ns);
    query_int(query, row->pid);
    query_int(query, row->group_number);
    query_int(query, row->group_failed);
    query_text(query, row->place);
    query_text(query, row->result);
}

enum status sqlite_session_insert(struct catalogue_txn *txn, const struct session_row *row, int64_t *ret_id,
                                  struct err *err)
{
    static const char sql[] = "INSERT INTO session (kind, started_utc_ns, heartbeat_utc_ns, horizon, seen_seq,"
                              " fenced_utc_ns, pid, group_number, group_failed, place, result)"
                              " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
    AUTO_QUERY struct query query;
    txn_change(&query, txn, sql, err);
    bind_session(&query, row);
    enum status status = query_run(&query, NULL);
    if (status == STATUS_OK)
        *ret_id = sqlite3_last_insert_rowid(txn->connection->db);
    return status;
}

enum status sqlite_session_update(struct catalogue_txn *txn, const struct session_row *row, struct err *err)
{
    static const char sql[] = "UPDATE session SET kind = ?1, started_utc_ns = ?2, heartbeat_utc_ns = ?3, horizon = ?4,"
                              " seen_seq = ?5, fenced_utc_ns = ?6, pid = ?7, group_number = ?8, group_failed = ?9,"
                              " place = ?10, result = ?11 WHERE id = ?12";
    AUTO_QUERY struct query query;
    txn_change(&query, txn, sql, err);
    bind_session(&query, row);
    query_int(&query, row->id);
    return query_run_one(&query);
}

enum status sqlite_session_delete(struct catalogue_txn *txn, int64_t id, struct err *err)
{
    static const char sql[] = "DELETE FROM session WHERE id = ?1";
    AUTO_QUERY struct query query;
    txn_change(&query, txn, sql, err);
    query_int(&query, id);
    return query_run_one(&query);
}
