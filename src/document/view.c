/* view.c - reading through, and committing at once. */
#include "document/view.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "document/session_internal.h"
#include "document/txn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct view {
    struct session *session;
};

enum status view_open(struct session *session, struct view **ret_view, struct err *err)
{
    struct view *view = calloc(1, sizeof *view);
    if (!view)
        return err_set(err, STATUS_NO_MEMORY, "open a view: out of memory");
    view->session = session;
    *ret_view = view;
    return STATUS_OK;
}

void view_close(struct view *view)
{
    free(view);
}

struct session *view_session(struct view *view)
{
    return view->session;
}

static struct catalogue *catalogue_of(struct view *view)
{
    return view->session->world.catalogue;
}

static enum status begin(struct view *view, struct catalogue_txn **ret_txn, struct err *err)
{
    err_clear(err);
    return catalogue_of(view)->ops->read_begin(catalogue_of(view), ret_txn, err);
}

static void end(struct view *view, struct catalogue_txn *txn)
{
    catalogue_of(view)->ops->abort(txn);
}

static enum status check_held(struct view *view, struct catalogue_txn *txn, int64_t cookie, struct err *err)
{
    int64_t sessions[64];
    size_t count = 0;
    enum status status = catalogue_of(view)->ops->holder_list(txn, cookie, sessions, 64, &count, err);
    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; i < count; i++)
        if (sessions[i] == view->session->id)
            return STATUS_OK;
    return STATUS_NOT_FOUND;
}

enum status view_lookup(struct view *view, int64_t dir, const struct name *name, struct document_row *ret_document,
                        bool *ret_reserved, struct err *err)
{
    struct catalogue_txn *txn = NULL;
    enum status status = begin(view, &txn, err);
    if (status != STATUS_OK)
        return status;
    const struct catalogue_ops *rows = catalogue_of(view)->ops;
    struct entry_row entry;
    status = rows->entry_get(txn, dir, name, &entry, err);
    if (status == STATUS_OK && entry.reserved)
        status = check_held(view, txn, entry.cookie, err);
    if (status == STATUS_OK)
        status = rows->document_get(txn, entry.document, ret_document, err);
    end(view, txn);
    if (status == STATUS_OK && ret_reserved)
        *ret_reserved = entry.reserved;
    return status;
}

enum status view_document(struct view *view, int64_t id, struct document_row *ret_document, struct err *err)
{
    struct catalogue_txn *txn = NULL;
    enum status status = begin(view, &txn, err);
    if (status != STATUS_OK)
        return status;
    status = catalogue_of(view)->ops->document_get(txn, id, ret_document, err);
    end(view, txn);
    return status;
}

enum status view_target(struct view *view, int64_t id, char *ret_target, struct err *err)
{
    struct catalogue_txn *txn = NULL;
    enum status status = begin(view, &txn, err);
    if (status != STATUS_OK)
        return status;
    status = catalogue_of(view)->ops->document_target(txn, id, ret_target, err);
    end(view, txn);
    return status;
}

#define LIST_BATCH 64

/* Copies the listed ones of a batch; moves *after over all of it. */
static size_t keep_listed(const struct entry_row *entries, const struct document_row *documents, size_t count,
                          struct view_item *ret_items, size_t capacity, int64_t *after)
{
    size_t kept = 0;
    for (size_t i = 0; i < count && kept < capacity; i++) {
        *after = entries[i].cookie;
        if (entries[i].reserved)
            continue;
        ret_items[kept].entry = entries[i];
        ret_items[kept].document = documents[i];
        kept++;
    }
    return kept;
}

enum status view_list(struct view *view, int64_t dir, int64_t after, struct view_item *ret_items, size_t capacity,
                      size_t *ret_count, struct err *err)
{
    struct catalogue_txn *txn = NULL;
    *ret_count = 0;
    enum status status = begin(view, &txn, err);
    if (status != STATUS_OK)
        return status;
    struct entry_row *entries = calloc(LIST_BATCH, sizeof *entries);
    struct document_row *documents = calloc(LIST_BATCH, sizeof *documents);
    if (!entries || !documents)
        status = err_set(err, STATUS_NO_MEMORY, "list a directory: out of memory");
    bool more = status == STATUS_OK;
    while (more && *ret_count < capacity) {
        size_t count = 0;
        status = catalogue_of(view)->ops->entry_list(txn, dir, after, entries, documents, LIST_BATCH, &count, err);
        if (status != STATUS_OK)
            break;
        *ret_count += keep_listed(entries, documents, count, ret_items + *ret_count, capacity - *ret_count, &after);
        more = count == LIST_BATCH;
    }
    free(entries);
    free(documents);
    end(view, txn);
    return status;
}

void view_describe(struct view *view, int64_t document, char *ret_text, size_t capacity)
{
    (void)snprintf(ret_text, capacity, "document %lld", (long long)document);
    struct catalogue_txn *txn = NULL;
    if (begin(view, &txn, NULL) != STATUS_OK)
        return;
    struct buf path; /* from the name upwards: each step is put in front */
    buf_init(&path, 4096);
    int64_t at = document;
    for (int depth = 0; depth < 64 && at != CATALOGUE_ROOT; depth++) {
        struct entry_row entry;
        size_t count = 0;
        if (catalogue_of(view)->ops->entry_of(txn, at, 0, &entry, 1, &count, NULL) != STATUS_OK || !count)
            break;
        struct buf longer;
        buf_init(&longer, 4096);
        enum status status = buf_append(&longer, entry.name.bytes, entry.name.len);
        if (status == STATUS_OK && path.len)
            status = buf_append_text(&longer, "/");
        if (status == STATUS_OK)
            status = buf_append(&longer, path.bytes, path.len);
        buf_done(&path);
        path = longer;
        at = entry.dir;
        if (status != STATUS_OK)
            break;
    }
    end(view, txn);
    struct buf quoted;
    buf_init(&quoted, capacity - 1);
    if (path.len && quote_text(&quoted, path.bytes, path.len) == STATUS_OK)
        (void)snprintf(ret_text, capacity, "%s", quoted.bytes);
    buf_done(&quoted);
    buf_done(&path);
}

enum status view_xattr_get(struct view *view, int64_t document, const char *name, void *ret_value, size_t capacity,
                           size_t *ret_len, struct err *err)
{
    struct catalogue_txn *txn = NULL;
    enum status status = begin(view, &txn, err);
    if (status != STATUS_OK)
        return status;
    status = catalogue_of(view)->ops->xattr_get(txn, document, name, ret_value, capacity, ret_len, err);
    end(view, txn);
    return status;
}

enum status view_xattr_list(struct view *view, int64_t document, char *ret_names, size_t capacity, size_t *ret_len,
                            struct err *err)
{
    struct catalogue_txn *txn = NULL;
    enum status status = begin(view, &txn, err);
    if (status != STATUS_OK)
        return status;
    status = catalogue_of(view)->ops->xattr_list(txn, document, ret_names, capacity, ret_len, err);
    end(view, txn);
    return status;
}

enum status view_apply(struct view *view, struct op *ops, size_t count, enum durability durability, int64_t *ret_seq,
                       struct err *err)
{
    return txn_run(view->session, ops, count, durability, ret_seq, err);
}

/* The rows after `*seq`, whole commits. Where there are none, *seq moves to the present: what has no lines is used too.
 */
static enum status read_changes(struct view *view, int64_t *seq, struct change_row *rows, size_t capacity,
                                size_t *ret_count, bool *ret_all, struct err *err)
{
    struct catalogue_txn *txn = NULL;
    enum status status = begin(view, &txn, err);
    if (status != STATUS_OK)
        return status;
    const struct catalogue_ops *ops = catalogue_of(view)->ops;
    status = ops->change_list(txn, *seq, rows, capacity, ret_count, err);
    *ret_all = status == STATUS_RANGE;
    if (*ret_all) {
        *ret_count = 0;
        err_clear(err);
    }
    if (*ret_all || (status == STATUS_OK && !*ret_count))
        status = ops->seq_now(txn, seq, err);
    end(view, txn);
    return status;
}

enum status view_changes(struct view *view, int64_t *seq, struct view_change *ret_changes, size_t capacity,
                         size_t *ret_count, bool *ret_all, struct err *err)
{
    *ret_count = 0;
    *ret_all = false;
    session_note_seen(view->session, *seq);
    AUTO_FREE struct change_row *rows = calloc(capacity, sizeof *rows);
    if (!rows)
        return err_set(err, STATUS_NO_MEMORY, "read the change log: out of memory");
    size_t count = 0;
    enum status status = read_changes(view, seq, rows, capacity, &count, ret_all, err);
    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; i < count; i++)
        ret_changes[i] = (struct view_change){.seq = rows[i].seq,
                                              .dir = rows[i].dir,
                                              .name = rows[i].name,
                                              .document = rows[i].document};
    if (count)
        *seq = rows[count - 1].seq;
    else if (!*ret_all)
        session_note_seen(view->session, *seq);
    *ret_count = count;
    return STATUS_OK;
}

enum status view_usage(struct view *view, struct view_usage *ret_usage, struct err *err)
{
    struct catalogue_txn *txn = NULL;
    enum status status = begin(view, &txn, err);
    if (status != STATUS_OK)
        return status;
    struct version_counts counts;
    status = catalogue_of(view)->ops->count(txn, &counts, err);
    end(view, txn);
    if (status == STATUS_OK)
        *ret_usage =
            (struct view_usage){.ready_bytes = counts.ready_bytes,
                                .documents = (uint64_t)(counts.documents + counts.directories + counts.others)};
    return status;
}
