/* sqlite_meta.c - the sequence, the change log, the settings that belong to the catalogue, and the tables of
 * transactions over many documents. */
#include "catalogue/sqlite_internal.h"

#include <string.h>

/* ---- the sequence ---- */

struct sequence {
    int64_t now;
    int64_t pruned; /* changes up to here were removed from the log */
};

static enum status sequence_read(struct catalogue_txn *txn, struct sequence *ret_sequence, struct err *err)
{
    static const char sql[] = "SELECT now, pruned FROM sequence";
    AUTO_QUERY struct query query;
    txn_query(&query, txn, sql, err);
    enum status status = query_step(&query);
    if (status == STATUS_NOT_FOUND)
        return err_set(err, STATUS_CORRUPT, "catalogue: the table 'sequence' is empty");
    if (status != STATUS_OK)
        return status;
    ret_sequence->now = query_column_int(&query, 0, INT64_MAX - 1);
    ret_sequence->pruned = query_column_int(&query, 0, INT64_MAX);
    return query_read(&query, "sequence");
}

enum status sqlite_seq_now(struct catalogue_txn *txn, int64_t *ret_seq, struct err *err)
{
    struct sequence sequence;
    enum status status = sequence_read(txn, &sequence, err);
    if (status == STATUS_OK)
        *ret_seq = sequence.now;
    return status;
}

enum status sqlite_seq_next(struct catalogue_txn *txn, int64_t *ret_seq, struct err *err)
{
    static const char sql[] = "UPDATE sequence SET now = ?1";
    struct sequence sequence;
    enum status status = sequence_read(txn, &sequence, err);
    if (status != STATUS_OK)
        return status;
    AUTO_QUERY struct query query;
    txn_change(&query, txn, sql, err);
    query_int(&query, sequence.now + 1);
    status = query_run(&query, NULL);
    if (status == STATUS_OK)
        *ret_seq = sequence.now + 1;
    return status;
}

/* ---- the change log ---- */

enum status sqlite_change_add(struct catalogue_txn *txn, const struct change_row *row, struct err *err)
{
    static const char sql[] = "INSERT INTO change (seq, dir, name, document) VALUES (?1, ?2, ?3, ?4)";
    AUTO_QUERY struct query query;
    txn_change(&query, txn, sql, err);
    query_int(&query, row->seq);
    query_id(&query, row->dir);
    query_name(&query, &row->name);
    query_int(&query, row->document);
    return query_run(&query, NULL);
}

static enum status change_read(struct query *query, struct change_row *ret_row)
{
    ret_row->seq = query_column_int(query, 1, INT64_MAX);
    ret_row->dir = query_column_id(query);
    query_column_name(query, &ret_row->name);
    ret_row->document = query_column_id(query);
    if ((ret_row->dir != 0) != (ret_row->name.len != 0))
        query->bad = true;
    return query_read(query, "change");
}

/* The rows of one commit stay together, since the caller goes on after the last number that it has seen. The statement
 * gives one row more than there is room for, which tells whether the last commit is whole. */
static enum status changes(struct query *query, struct change_row *ret_rows, size_t capacity, size_t *ret_count)
{
    struct change_row row;
    size_t count = 0;
    enum status status;
    while ((status = query_step(query)) == STATUS_OK) {
        status = change_read(query, &row);
        if (status != STATUS_OK)
            return status;
        if (count == capacity)
            break;
        ret_rows[count++] = row;
    }
    if (status != STATUS_OK && status != STATUS_NOT_FOUND)
        return status;
    if (status == STATUS_OK)
        while (count && ret_rows[count - 1].seq == row.seq)
            count--;
    if (status == STATUS_OK && !count)
        return err_set(query->err, STATUS_RANGE, "commit %lld has more than %zu changes", (long long)row.seq, capacity);
    *ret_count = count;
    return STATUS_OK;
}

enum status sqlite_change_list(struct catalogue_txn *txn, int64_t seq, struct change_row *ret_rows, size_t capacity,
                               size_t *ret_count, struct err *err)
{
    static const char sql[] = "SELECT seq, dir, name, document FROM change WHERE seq > ?1 ORDER BY seq, id LIMIT ?2";
    struct sequence sequence;
    enum status status = sequence_read(txn, &sequence, err);
    if (status != STATUS_OK)
        return status;
    /* A number from the future belongs to a newer copy of this file. */
    if (seq < sequence.pruned || seq > sequence.now)
        return err_set(err, STATUS_RANGE, "the change log holds %lld to %lld, not what follows %lld",
                       (long long)sequence.pruned + 1, (long long)sequence.now, (long long)seq);
    AUTO_QUERY struct query query;
    txn_query(&query, txn, sql, err);
    query_int(&query, seq);
    query_int(&query, (int64_t)capacity + 1);
    return changes(&query, ret_rows, capacity, ret_count);
}

enum status sqlite_change_prune(struct catalogue_txn *txn, int64_t up_to_seq, struct err *err)
{
    static const char remove[] = "DELETE FROM change WHERE seq <= ?1";
    static const char mark[] = "UPDATE sequence SET pruned = min(now, ?1) WHERE pruned < ?1";
    AUTO_QUERY struct query removing;
    txn_change(&removing, txn, remove, err);
    query_int(&removing, up_to_seq);
    enum status status = query_run(&removing, NULL);
    if (status != STATUS_OK)
        return status;
    AUTO_QUERY struct query marking;
    txn_change(&marking, txn, mark, err);
    query_int(&marking, up_to_seq);
    return query_run(&marking, NULL);
}

/* ---- values by key ---- */

/* The one text that a bound statement gives, with RANGE where it does not fit. */
static enum status one_text(struct query *query, char *ret_value, size_t capacity, const char *what)
{
    enum status status = query_step(query);
    if (status != STATUS_OK)
        return status;
    size_t len = (size_t)sqlite3_column_bytes(query->stmt, 0);
    if (sqlite3_column_type(query->stmt, 0) == SQLITE_TEXT && len >= capacity)
        return err_set(query->err, STATUS_RANGE, "a value in '%s' has %zu bytes", what, len);
    query_column_text(query, ret_value, capacity);
    return query_read(query, what);
}

enum status sqlite_meta_get(struct catalogue_txn *txn, const char *key, char *ret_value, size_t capacity,
                            struct err *err)
{
    static const char sql[] = "SELECT value FROM meta WHERE key = ?1";
    INVARIANT(capacity > 0);
    AUTO_QUERY struct query query;
    txn_query(&query, txn, sql, err);
    query_text(&query, key);
    enum status status = one_text(&query, ret_value, capacity, "meta");
    if (status != STATUS_NOT_FOUND)
        return status;
    ret_value[0] = '\0';
    return STATUS_OK;
}

enum status sqlite_meta_set(struct catalogue_txn *txn, const char *key, const char *value, struct err *err)
{
    static const char sql[] = "INSERT INTO meta (key, value) VALUES (?1, ?2)"
                              " ON CONFLICT (key) DO UPDATE SET value = excluded.value";
    AUTO_QUERY struct query query;
    txn_change(&query, txn, sql, err);
    query_text(&query, key);
    query_text(&query, value);
    return query_run(&query, NULL);
}

/* ---- claims and outcomes ---- */

enum status sqlite_claim_check(struct catalogue_txn *txn, const char *object, struct err *err)
{
    static const char any[] = "SELECT txn FROM claim WHERE ?1 = '*' LIMIT 1";
    static const char one[] = "SELECT txn FROM claim WHERE object = ?1 LIMIT 1"; /* by index */
    AUTO_QUERY struct query query;
    txn_query(&query, txn, strcmp(object, "*") ? one : any, err);
    query_text(&query, object);
    enum status status = query_step(&query);
    if (status == STATUS_NOT_FOUND)
        return STATUS_OK;
    if (status == STATUS_OK)
        return err_set(err, STATUS_BUSY, "a transaction has a claim on '%s'", object);
    return status;
}

enum status sqlite_outcome_put(struct catalogue_txn *txn, const char *id, const char *outcome, int64_t utc_ns,
                               struct err *err)
{
    static const char sql[] = "INSERT INTO outcome (id, outcome, utc_ns) VALUES (?1, ?2, ?3)";
    AUTO_QUERY struct query query;
    txn_change(&query, txn, sql, err);
    query_text(&query, id);
    query_text(&query, outcome);
    query_int(&query, utc_ns);
    return query_run(&query, NULL);
}

enum status sqlite_outcome_get(struct catalogue_txn *txn, const char *id, char *ret_outcome, size_t capacity,
                               struct err *err)
{
    static const char sql[] = "SELECT outcome FROM outcome WHERE id = ?1";
    INVARIANT(capacity > 0);
    AUTO_QUERY struct query query;
    txn_query(&query, txn, sql, err);
    query_text(&query, id);
    return one_text(&query, ret_outcome, capacity, "outcome");
}
