/* sqlite_version.c - rows of versions, and counts over them. */
#include "catalogue/sqlite_internal.h"

#include <stdlib.h>

/* A block's digest is 8 bytes in the file, the least significant first. */
#define DIGEST_BYTES 8u

#define COLUMNS                                                                                                        \
    "id, document, number, session, state, published, clean, tag_due, blob, token, etag, size_bytes, crc64,"           \
    " block_bytes, condemned_seq, append_of, sent_utc_ns, created_utc_ns, reason"

/* ---- digests ---- */

static uint8_t *digests_pack(const struct version_row *row)
{
    uint8_t *bytes = malloc(row->digest_count * DIGEST_BYTES + 1);
    if (!bytes)
        return NULL;
    for (uint32_t i = 0; i < row->digest_count; i++)
        for (unsigned byte = 0; byte < DIGEST_BYTES; byte++)
            bytes[i * DIGEST_BYTES + byte] = (uint8_t)(row->digests[i] >> (8 * byte));
    return bytes;
}

static uint64_t digest_unpack(const uint8_t *bytes)
{
    uint64_t digest = 0;
    for (unsigned byte = DIGEST_BYTES; byte-- > 0;)
        digest = digest << 8 | bytes[byte];
    return digest;
}

static void digests_read(struct query *query, struct version_row *row)
{
    size_t len;
    const uint8_t *bytes = query_column_blob(query, (size_t)LIMIT_BLOCKS * DIGEST_BYTES, &len);
    if (len % DIGEST_BYTES)
        query->bad = true;
    if (!bytes || query->bad)
        return;
    row->digests = malloc(len + 1);
    if (!row->digests) {
        query->status = err_set(query->err, STATUS_NO_MEMORY, "catalogue: out of memory");
        return;
    }
    row->digest_count = (uint32_t)(len / DIGEST_BYTES);
    for (uint32_t i = 0; i < row->digest_count; i++)
        row->digests[i] = digest_unpack(bytes + i * DIGEST_BYTES);
}

/* ---- reading ---- */

static void version_read(struct query *query, struct version_row *ret_row)
{
    *ret_row = (struct version_row){.id = query_column_id(query)};
    ret_row->document = query_column_id(query);
    ret_row->number = query_column_int(query, 0, INT64_MAX);
    ret_row->session = query_column_int(query, 0, INT64_MAX);
    ret_row->state = (enum version_state)query_column_int(query, VERSION_PENDING, VERSION_CONDEMNED);
    ret_row->published = query_column_bool(query);
    ret_row->clean = query_column_bool(query);
    ret_row->tag_due = query_column_bool(query);
    query_column_text(query, ret_row->blob, sizeof ret_row->blob);
    query_column_text(query, ret_row->token, sizeof ret_row->token);
    query_column_text(query, ret_row->etag, sizeof ret_row->etag);
    ret_row->size_bytes = (uint64_t)query_column_int(query, 0, INT64_MAX);
    ret_row->crc64 = query_column_uint(query);
    ret_row->block_bytes = (uint32_t)query_column_int(query, 0, UINT32_MAX);
    ret_row->condemned_seq = query_column_int(query, 0, INT64_MAX);
    ret_row->append_of = query_column_id(query);
    ret_row->sent_utc_ns = query_column_int(query, INT64_MIN, INT64_MAX);
    ret_row->created_utc_ns = query_column_int(query, INT64_MIN, INT64_MAX);
    query_column_text(query, ret_row->reason, sizeof ret_row->reason);
}

/* The current row; on failure it owns nothing. */
static enum status version_current(struct query *query, struct version_row *ret_row)
{
    version_read(query, ret_row);
    digests_read(query, ret_row);
    enum status status = query_read(query, "version");
    if (status != STATUS_OK)
        version_row_done(ret_row);
    return status;
}

static enum status version_one(struct query *query, struct version_row *ret_row)
{
    enum status status = query_step(query);
    if (status != STATUS_OK)
        return status;
    struct version_row row;
    status = version_current(query, &row);
    if (status == STATUS_OK)
        *ret_row = row;
    return status;
}

enum status sqlite_version_get(struct catalogue_txn *txn, int64_t id, bool with_digests, struct version_row *ret_row,
                               struct err *err)
{
    static const char sql[] = "SELECT " COLUMNS ", CASE ?2 WHEN 1 THEN digests END FROM version WHERE id = ?1";
    AUTO_QUERY struct query query;
    txn_query(&query, txn, sql, err);
    query_int(&query, id);
    query_int(&query, with_digests);
    return version_one(&query, ret_row);
}

enum status sqlite_version_of_blob(struct catalogue_txn *txn, const char *blob, struct version_row *ret_row,
                                   struct err *err)
{
    static const char sql[] = "SELECT " COLUMNS ", NULL FROM version WHERE blob = ?1";
    AUTO_QUERY struct query query;
    txn_query(&query, txn, sql, err);
    query_text(&query, blob);
    return version_one(&query, ret_row);
}

/* ---- changing ---- */

static void bind_version(struct query *query, const struct version_row *row, const uint8_t *packed)
{
    query_id(query, row->document);
    query_int(query, row->number);
    query_int(query, row->session);
    query_int(query, row->state);
    query_int(query, row->published);
    query_int(query, row->clean);
    query_int(query, row->tag_due);
    query_text(query, row->blob);
    query_text(query, row->token);
    query_text(query, row->etag);
    query_uint(query, row->size_bytes);
    query_uint(query, row->crc64);
    query_int(query, row->block_bytes);
    query_int(query, row->condemned_seq);
    query_id(query, row->append_of);
    query_int(query, row->sent_utc_ns);
    query_int(query, row->created_utc_ns);
    query_text(query, row->reason);
    query_blob(query, packed, packed ? row->digest_count * DIGEST_BYTES : 0);
}

static enum status pack(const struct version_row *row, uint8_t **ret_packed, struct err *err)
{
    INVARIANT(row->digest_count <= LIMIT_BLOCKS);
    *ret_packed = row->digests ? digests_pack(row) : NULL;
    if (row->digests && !*ret_packed)
        return err_set(err, STATUS_NO_MEMORY, "catalogue: out of memory");
    return STATUS_OK;
}

enum status sqlite_version_insert(struct catalogue_txn *txn, const struct version_row *row, int64_t *ret_id,
                                  struct err *err)
{
    static const char sql[] =
        "INSERT INTO version (document, number, session, state, published, clean, tag_due, blob, token, etag,"
        " size_bytes, crc64, block_bytes, condemned_seq, append_of, sent_utc_ns, created_utc_ns, reason, digests)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)";
    AUTO_FREE uint8_t *packed = NULL;
    enum status status = pack(row, &packed, err);
    if (status != STATUS_OK)
        return status;
    AUTO_QUERY struct query query;
    txn_change(&query, txn, sql, err);
    bind_version(&query, row, packed);
    status = query_run(&query, NULL);
    if (status == STATUS_OK)
        *ret_id = sqlite3_last_insert_rowid(txn->connection->db);
    return status;
}

/* Why an update found no row: it is gone, or in another state. */
static enum status why_none(struct catalogue_txn *txn, int64_t id, enum version_state expected, struct err *err)
{
    struct version_row row;
    enum status status = sqlite_version_get(txn, id, false, &row, err);
    if (status != STATUS_OK)
        return status;
    return err_set(err, STATUS_CONDITION, "version %lld is %s, not %s", (long long)id, version_state_name(row.state),
                   version_state_name(expected));
}

enum status sqlite_version_update(struct catalogue_txn *txn, const struct version_row *row, enum version_state expected,
                                  struct err *err)
{
    /* A column that is not named leaves its index alone: blob and token (?8, ?9) never change (P2). */
    static const char sql[] =
        "UPDATE version SET document = ?1, number = ?2, session = ?3, state = ?4, published = ?5, clean = ?6,"
        " tag_due = ?7, etag = ?10, size_bytes = ?11, crc64 = ?12, block_bytes = ?13, condemned_seq = ?14,"
        " append_of = ?15, sent_utc_ns = ?16, created_utc_ns = ?17, reason = ?18, digests = coalesce(?19, digests)"
        " WHERE id = ?20 AND state = ?21";
    AUTO_FREE uint8_t *packed = NULL;
    enum status status = pack(row, &packed, err);
    if (status != STATUS_OK)
        return status;
    AUTO_QUERY struct query query;
    txn_change(&query, txn, sql, err);
    bind_version(&query, row, packed);
    query_int(&query, row->id);
    query_int(&query, expected);
    status = query_run_one(&query);
    return status == STATUS_NOT_FOUND ? why_none(txn, row->id, expected, err) : status;
}

enum status sqlite_version_delete(struct catalogue_txn *txn, int64_t id, struct err *err)
{
    static const char sql[] = "DELETE FROM version WHERE id = ?1";
    AUTO_QUERY struct query query;
    txn_change(&query, txn, sql, err);
    query_int(&query, id);
    return query_run_one(&query);
}

/* ---- lists ---- */

/* Each combination of restrictions is a statement of its own, since an index over part of the rows serves only a
 * statement whose text names that part. */
#define LIST(from, where)                                                                                              \
    "SELECT " COLUMNS ", CASE ?3 WHEN 1 THEN digests END FROM version " from " WHERE id > ?1" where                    \
    " AND ?2 IN (0, session) ORDER BY id LIMIT ?4"
#define LIST_OF_SESSION(from, where)                                                                                   \
    "SELECT " COLUMNS ", CASE ?3 WHEN 1 THEN digests END FROM version " from " WHERE id > ?1" where                    \
    " AND session = ?2 ORDER BY id LIMIT ?4"

static const char list_all[] = LIST("", "");
static const char list_pending[] = LIST("INDEXED BY version_pending", " AND state = 1");
static const char list_pending_of[] = LIST_OF_SESSION("INDEXED BY version_pending", " AND state = 1");
static const char list_ready[] = LIST("", " AND state = 2");
static const char list_condemned[] = LIST("INDEXED BY version_condemned", " AND state = 3");
static const char list_due[] = LIST("INDEXED BY version_tag_due", " AND tag_due = 1");
static const char list_due_pending[] = LIST("INDEXED BY version_tag_due", " AND tag_due = 1 AND state = 1");
static const char list_due_ready[] = LIST("INDEXED BY version_tag_due", " AND tag_due = 1 AND state = 2");
static const char list_due_condemned[] = LIST("INDEXED BY version_tag_due", " AND tag_due = 1 AND state = 3");

static const char *list_text(const struct version_filter *filter)
{
    if (filter->tag_due)
        switch (filter->state) {
        case VERSION_PENDING: return list_due_pending;
        case VERSION_READY: return list_due_ready;
        case VERSION_CONDEMNED: return list_due_condemned;
        default: return list_due;
        }
    switch (filter->state) {
    case VERSION_PENDING: return filter->session ? list_pending_of : list_pending;
    case VERSION_READY: return list_ready;
    case VERSION_CONDEMNED: return list_condemned;
    default: return list_all;
    }
}

enum status sqlite_version_list(struct catalogue_txn *txn, const struct version_filter *filter,
                                struct version_row *ret_rows, size_t capacity, size_t *ret_count, struct err *err)
{
    AUTO_QUERY struct query query;
    txn_query(&query, txn, list_text(filter), err);
    query_int(&query, filter->after);
    query_int(&query, filter->session);
    query_int(&query, filter->with_digests);
    query_int(&query, (int64_t)capacity);
    size_t count = 0;
    enum status status;
    while ((status = query_step(&query)) == STATUS_OK) {
        status = version_current(&query, &ret_rows[count]);
        if (status != STATUS_OK)
            break;
        count++;
    }
    if (status == STATUS_NOT_FOUND) {
        *ret_count = count;
        return STATUS_OK;
    }
    while (count)
        version_row_done(&ret_rows[--count]);
    return status;
}

/* ---- counts ---- */

static enum status count_versions(struct catalogue_txn *txn, struct version_counts *counts, struct err *err)
{
    static const char sql[] =
        "SELECT (SELECT count(*) FROM version INDEXED BY version_pending WHERE state = 1),"
        " (SELECT count(*) FROM version INDEXED BY version_condemned WHERE state = 3),"
        " (SELECT count(*) FROM version INDEXED BY version_tag_due WHERE tag_due = 1),"
        " (SELECT coalesce(min(created_utc_ns), 0) FROM version INDEXED BY version_pending WHERE state = 1),"
        " (SELECT coalesce(min(created_utc_ns), 0) FROM version INDEXED BY version_condemned WHERE state = 3),"
        " count(*), coalesce(sum(size_bytes), 0) FROM version WHERE state = 2";
    AUTO_QUERY struct query query;
    txn_query(&query, txn, sql, err);
    enum status status = query_step(&query);
    if (status != STATUS_OK)
        return status;
    counts->pending = query_column_int(&query, 0, INT64_MAX);
    counts->condemned = query_column_int(&query, 0, INT64_MAX);
    counts->tags_due = query_column_int(&query, 0, INT64_MAX);
    counts->oldest_pending_utc_ns = query_column_int(&query, INT64_MIN, INT64_MAX);
    counts->oldest_condemned_utc_ns = query_column_int(&query, INT64_MIN, INT64_MAX);
    counts->ready = query_column_int(&query, 0, INT64_MAX);
    counts->ready_bytes = (uint64_t)query_column_int(&query, 0, INT64_MAX);
    return query_read(&query, "version");
}

static enum status count_documents(struct catalogue_txn *txn, struct version_counts *counts, struct err *err)
{
    static const char sql[] = "SELECT coalesce(sum(mode & 61440 = 32768 AND version IS NOT NULL), 0),"
                              " coalesce(sum(mode & 61440 = 16384), 0),"
                              " coalesce(sum(mode & 61440 NOT IN (32768, 16384)), 0) FROM document";
    AUTO_QUERY struct query query;
    txn_query(&query, txn, sql, err);
    enum status status = query_step(&query);
    if (status != STATUS_OK)
        return status;
    counts->documents = query_column_int(&query, 0, INT64_MAX);
    counts->directories = query_column_int(&query, 0, INT64_MAX);
    counts->others = query_column_int(&query, 0, INT64_MAX);
    return query_read(&query, "document");
}

enum status sqlite_count(struct catalogue_txn *txn, struct version_counts *ret_counts, struct err *err)
{
    struct version_counts counts = {0};
    enum status status = count_versions(txn, &counts, err);
    if (status == STATUS_OK)
        status = count_documents(txn, &counts, err);
    if (status == STATUS_OK)
        *ret_counts = counts;
    return status;
}
