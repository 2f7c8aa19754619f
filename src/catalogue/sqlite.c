/* sqlite.c - the SQLite backend as a whole: its operations, its life, its own check. */
#include "catalogue/sqlite_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct catalogue_ops operations = {
    .read_begin = sqlite_read_begin,
    .write_begin = sqlite_write_begin,
    .savepoint = sqlite_savepoint,
    .savepoint_release = sqlite_savepoint_release,
    .savepoint_rollback = sqlite_savepoint_rollback,
    .commit = sqlite_commit,
    .abort = sqlite_abort,
    .sync = sqlite_sync,
    .reopen = sqlite_reopen,
    .data_version = sqlite_data_version,
    .check_place = sqlite_check_place,
    .document_get = sqlite_document_get,
    .document_insert = sqlite_document_insert,
    .document_update = sqlite_document_update,
    .document_delete = sqlite_document_delete,
    .document_target = sqlite_document_target,
    .entry_get = sqlite_entry_get,
    .entry_insert = sqlite_entry_insert,
    .entry_update = sqlite_entry_update,
    .entry_delete = sqlite_entry_delete,
    .entry_list = sqlite_entry_list,
    .entry_of = sqlite_entry_of,
    .holder_add = sqlite_holder_add,
    .holder_remove = sqlite_holder_remove,
    .holder_list = sqlite_holder_list,
    .holder_of = sqlite_holder_of,
    .entry_at = sqlite_entry_at,
    .version_get = sqlite_version_get,
    .version_of_blob = sqlite_version_of_blob,
    .version_insert = sqlite_version_insert,
    .version_update = sqlite_version_update,
    .version_delete = sqlite_version_delete,
    .version_list = sqlite_version_list,
    .count = sqlite_count,
    .session_insert = sqlite_session_insert,
    .session_get = sqlite_session_get,
    .session_update = sqlite_session_update,
    .session_delete = sqlite_session_delete,
    .session_list = sqlite_session_list,
    .lock_take = sqlite_lock_take,
    .lock_probe = sqlite_lock_probe,
    .lock_release = sqlite_lock_release,
    .lock_bury = sqlite_lock_bury,
    .seq_now = sqlite_seq_now,
    .seq_next = sqlite_seq_next,
    .change_add = sqlite_change_add,
    .change_list = sqlite_change_list,
    .change_prune = sqlite_change_prune,
    .meta_get = sqlite_meta_get,
    .meta_set = sqlite_meta_set,
    .xattr_get = sqlite_xattr_get,
    .xattr_set = sqlite_xattr_set,
    .xattr_remove = sqlite_xattr_remove,
    .xattr_list = sqlite_xattr_list,
    .claim_check = sqlite_claim_check,
    .outcome_put = sqlite_outcome_put,
    .outcome_get = sqlite_outcome_get,
    .integrity = sqlite_integrity,
    .close = sqlite_close,
};

/* ---- life ---- */

static struct sqlite_catalogue *catalogue_new(const struct sqlite_options *options)
{
    struct sqlite_catalogue *catalogue = calloc(1, sizeof *catalogue);
    if (!catalogue)
        return NULL;
    catalogue->port.ops = &operations;
    catalogue->clock = options->clock;
    catalogue->entropy = options->entropy;
    catalogue->read_only = options->read_only;
    catalogue->place.sessions_fd = -1;
    INVARIANT(pthread_mutex_init(&catalogue->pool_mutex, NULL) == 0);
    INVARIANT(pthread_mutex_init(&catalogue->watch_mutex, NULL) == 0);
    INVARIANT(pthread_mutex_init(&catalogue->sync_mutex, NULL) == 0);
    INVARIANT(pthread_mutex_init(&catalogue->lock_mutex, NULL) == 0);
    return catalogue;
}

void sqlite_close(struct catalogue *port)
{
    struct sqlite_catalogue *catalogue = sqlite_of(port);
    INVARIANT(!catalogue->open_txns);
    sqlite_close_connections(catalogue, atomic_load(&catalogue->doubtful));
    sqlite_locks_done(catalogue);
    catalogue->gate = gate_close(catalogue->gate);
    place_done(&catalogue->place);
    INVARIANT(pthread_mutex_destroy(&catalogue->pool_mutex) == 0);
    INVARIANT(pthread_mutex_destroy(&catalogue->watch_mutex) == 0);
    INVARIANT(pthread_mutex_destroy(&catalogue->sync_mutex) == 0);
    INVARIANT(pthread_mutex_destroy(&catalogue->lock_mutex) == 0);
    free(catalogue);
}

enum status sqlite_open_schema(const struct sqlite_options *options, const struct schema *schema, bool *ret_created,
                               struct catalogue **ret_catalogue, struct err *err)
{
    struct sqlite_catalogue *catalogue = catalogue_new(options);
    if (!catalogue)
        return err_set(err, STATUS_NO_MEMORY, "catalogue: out of memory");
    bool created = false;
    enum status status = place_init(&catalogue->place, options->path, err);
    if (status == STATUS_OK)
        status = opening_run(catalogue, schema, options->create && !options->read_only, &created, err);
    if (status != STATUS_OK) {
        sqlite_close(&catalogue->port);
        return status;
    }
    if (ret_created)
        *ret_created = created;
    *ret_catalogue = &catalogue->port;
    return STATUS_OK;
}

enum status sqlite_open(const struct sqlite_options *options, bool *ret_created, struct catalogue **ret_catalogue,
                        struct err *err)
{
    return sqlite_open_schema(options, &schema_current, ret_created, ret_catalogue, err);
}

/* ---- the check of the file itself ---- */

struct findings {
    void (*fn)(void *context, const char *finding);
    void *context;
};

static enum status check_pages(struct catalogue_txn *txn, const struct findings *findings, struct err *err)
{
    static const char sql[] = "PRAGMA main.integrity_check(100)";
    AUTO_QUERY struct query query;
    txn_query(&query, txn, sql, err);
    enum status status;
    while ((status = query_step(&query)) == STATUS_OK) {
        const char *text = (const char *)sqlite3_column_text(query.stmt, 0);
        if (text && strcmp(text, "ok"))
            findings->fn(findings->context, text);
    }
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

static enum status check_references(struct catalogue_txn *txn, const struct findings *findings, struct err *err)
{
    static const char sql[] = "PRAGMA main.foreign_key_check";
    AUTO_QUERY struct query query;
    txn_query(&query, txn, sql, err);
    enum status status;
    while ((status = query_step(&query)) == STATUS_OK) {
        char finding[160];
        (void)snprintf(finding, sizeof finding, "row %lld of '%.40s' names a row of '%.40s' that is not there",
                       (long long)sqlite3_column_int64(query.stmt, 1), (const char *)sqlite3_column_text(query.stmt, 0),
                       (const char *)sqlite3_column_text(query.stmt, 2));
        findings->fn(findings->context, finding);
    }
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

enum status sqlite_integrity(struct catalogue *port, void (*fn)(void *context, const char *finding), void *context,
                             struct err *err)
{
    const struct findings findings = {.fn = fn, .context = context};
    struct catalogue_txn *txn;
    enum status status = sqlite_read_begin(port, &txn, err);
    if (status != STATUS_OK)
        return status;
    status = check_pages(txn, &findings, err);
    if (status == STATUS_OK)
        status = check_references(txn, &findings, err);
    sqlite_abort(txn);
    return status;
}
