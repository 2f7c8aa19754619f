/* apply_put.c - publishing: Pending -> Ready, the old version -> Condemned, in one commit (P5). */
#include "base/cleanup.h"
#include "document/apply.h"
#include "document/upload_internal.h"

#include <string.h>

/* P5: only what is still Pending and still ours. */
static enum status check_ours(struct apply *apply, int64_t version, struct version_row *ret_row, struct err *err)
{
    enum status status = ROWS(apply)->version_get(apply->txn, version, false, ret_row, err);
    if (status == STATUS_NOT_FOUND)
        return err_set(err, STATUS_FENCED, "version %lld was cleared away by another session", (long long)version);
    if (status != STATUS_OK)
        return status;
    if (ret_row->state != VERSION_PENDING || ret_row->session != apply->session->id)
        return err_set(err, STATUS_FENCED, "version %lld is %s by now: another session gave it up", (long long)version,
                       version_state_name(ret_row->state));
    return STATUS_OK;
}

/* The document no longer takes this version: its own commit condemns it, and the program is told. */
static enum status turn_away(struct apply *apply, struct op_put *put, struct version_row *row, enum status why,
                             const char *reason, struct err *err)
{
    put->ret_status = why;
    upload_fill_row(put->upload, row);
    return apply_condemn(apply, row, reason, err);
}

static enum status condemn_replaced(struct apply *apply, int64_t version, int64_t *ret_number, struct err *err)
{
    *ret_number = 0;
    if (!version)
        return STATUS_OK;
    struct version_row old;
    enum status status = ROWS(apply)->version_get(apply->txn, version, false, &old, err);
    if (status != STATUS_OK)
        return status == STATUS_NOT_FOUND
                   ? err_set(err, STATUS_CORRUPT, "the catalogue has lost the row of version %lld", (long long)version)
                   : status;
    *ret_number = old.number;
    return apply_condemn(apply, &old, "replaced", err);
}

static enum status make_ready(struct apply *apply, struct op *op, struct version_row *row, int64_t number,
                              struct err *err)
{
    upload_fill_row(op->put.upload, row);
    row->document = op->document;
    row->number = number;
    row->state = VERSION_READY;
    row->published = true;
    row->tag_due = session_has_tags(apply->session);
    row->append_of = op->put.ret_takes_node ? op->put.base : 0;
    op->put.ret_number = number;
    enum status status = ROWS(apply)->version_update(apply->txn, row, VERSION_PENDING, err);
    return status == STATUS_CONDITION ? err_set(err, STATUS_FENCED, "the version was given up by another session")
                                      : status;
}

static enum status free_holders(struct apply *apply, int64_t cookie, struct err *err)
{
    int64_t sessions[16];
    size_t count = 16;
    enum status status = STATUS_OK;
    while (count == 16 && status == STATUS_OK) {
        status = ROWS(apply)->holder_list(apply->txn, cookie, sessions, 16, &count, err);
        for (size_t i = 0; i < count && status == STATUS_OK; i++)
            status = ROWS(apply)->holder_remove(apply->txn, cookie, sessions[i], err);
    }
    return status;
}

/* Every name of the document has changed for watchers; those that were reserved are listed from now on. */
static enum status show_names(struct apply *apply, int64_t document, struct err *err)
{
    struct entry_row entries[16];
    int64_t after = 0;
    for (;;) {
        size_t count = 0;
        enum status status = ROWS(apply)->entry_of(apply->txn, document, after, entries, 16, &count, err);
        for (size_t i = 0; i < count && status == STATUS_OK; i++) {
            struct entry_row *entry = &entries[i];
            after = entry->cookie;
            if (entry->reserved) {
                entry->reserved = false;
                status = ROWS(apply)->entry_update(apply->txn, entry, err);
                if (status == STATUS_OK)
                    status = free_holders(apply, entry->cookie, err);
                if (status == STATUS_OK)
                    status = apply_touch_directory(apply, entry->dir, err);
            }
            if (status == STATUS_OK)
                status = apply_change(apply, entry->dir, &entry->name, document, err);
        }
        if (status != STATUS_OK || count < 16)
            return status;
    }
}

static void take_attributes(struct document_row *document, const struct attr_change *attr)
{
    if (attr->mask & ATTR_MODE)
        document->mode = (document->mode & ~07777u) | (attr->mode & 07777u);
    if (attr->mask & ATTR_MTIME)
        document->mtime_ns = attr->mtime_ns;
    if (attr->mask & ATTR_CTIME && attr->ctime_ns > document->ctime_ns)
        document->ctime_ns = attr->ctime_ns;
}

static enum status publish(struct apply *apply, struct op *op, struct version_row *row, struct document_row *document,
                           struct err *err)
{
    struct op_put *put = &op->put;
    int64_t number = 0;
    enum status status = condemn_replaced(apply, document->version, &number, err);
    if (status != STATUS_OK)
        return status;
    put->ret_takes_node = put->appends && put->base && document->version == put->base;
    status = make_ready(apply, op, row, number + 1, err);
    if (status != STATUS_OK)
        return status;
    document->version = row->id;
    take_attributes(document, &put->attr);
    status = ROWS(apply)->document_update(apply->txn, document, err);
    if (status == STATUS_OK)
        status = show_names(apply, document->id, err);
    document->size_bytes = row->size_bytes;
    document->version_number = row->number;
    op->ret_document = *document;
    return status;
}

enum status apply_put(struct apply *apply, struct op *op, struct err *err)
{
    struct op_put *put = &op->put;
    put->ret_status = STATUS_OK;
    put->ret_takes_node = false;
    if (!upload_is_fresh(put->upload)) /* it has waited too long for its turn: single_publish() looks again (P5) */
        return err_set(err, STATUS_TIMEOUT, "the blob was confirmed too long ago");
    struct version_row row;
    enum status status = check_ours(apply, upload_version(put->upload), &row, err);
    if (status == STATUS_OK)
        status = apply_claim(apply, 'd', op->document, NULL, err);
    if (status != STATUS_OK)
        return status;
    struct document_row document;
    status = ROWS(apply)->document_get(apply->txn, op->document, &document, err);
    if (status == STATUS_NOT_FOUND || (status == STATUS_OK && document.nlink == 0))
        return turn_away(apply, put, &row, STATUS_STALE, "its document was removed before it was published", err);
    if (status != STATUS_OK)
        return status;
    if (put->compare_base && document.version != put->base)
        return turn_away(apply, put, &row, STATUS_CONFLICT, "another version was published first", err);
    return publish(apply, op, &row, &document, err);
}
