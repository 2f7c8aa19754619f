/* apply.c - what the operations share: condemning, unlinking, the change log, foreign claims. */
#include "document/apply.h"

#include "base/cleanup.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum status apply_op(struct apply *apply, struct op *op, struct err *err)
{
    switch (op->kind) {
    case OP_RESERVE: return apply_reserve(apply, op, err);
    case OP_ABANDON: return fence_let_go(apply, apply->session->id, op->document, err);
    case OP_PUT: return apply_put(apply, op, err);
    case OP_REMOVE: return apply_remove(apply, op, err);
    case OP_LINK: return apply_link(apply, op, err);
    case OP_RENAME: return apply_rename(apply, op, err);
    case OP_EXCHANGE: return apply_exchange(apply, op, err);
    case OP_MKDIR:
    case OP_SYMLINK:
    case OP_MKNOD: return apply_make(apply, op, err);
    case OP_RMDIR: return apply_rmdir(apply, op, err);
    case OP_SETATTR: return apply_setattr(apply, op, err);
    case OP_SETXATTR:
    case OP_REMOVEXATTR: return apply_xattr(apply, op, err);
    }
    return err_set(err, STATUS_INVALID, "unknown operation %d", (int)op->kind);
}

enum status apply_condemn(struct apply *apply, struct version_row *row, const char *reason, struct err *err)
{
    INVARIANT(version_move_legal(row->state, VERSION_CONDEMNED));
    enum version_state before = row->state;
    row->state = VERSION_CONDEMNED;
    row->tag_due = false;
    (void)snprintf(row->reason, sizeof row->reason, "%s", reason); /* may be cut */
    enum status status = apply_seq(apply, &row->condemned_seq, err);
    if (status != STATUS_OK)
        return status;
    return ROWS(apply)->version_update(apply->txn, row, before, err);
}

enum status apply_claim(struct apply *apply, char kind, int64_t id, const struct name *name, struct err *err)
{
    if (!apply->claims)
        return STATUS_OK;
    char object[2 + 20 + 1 + LIMIT_NAME_BYTES + 1];
    (void)snprintf(object, sizeof object, "%c%lld%s%s", kind, (long long)id, name ? "/" : "", name ? name->bytes : "");
    return ROWS(apply)->claim_check(apply->txn, object, err);
}

enum status apply_change(struct apply *apply, int64_t dir, const struct name *name, int64_t document, struct err *err)
{
    struct change_row row = {.dir = dir, .document = document};
    if (name)
        row.name = *name;
    enum status status = apply_seq(apply, &row.seq, err);
    if (status != STATUS_OK)
        return status;
    return ROWS(apply)->change_add(apply->txn, &row, err);
}

enum status apply_directory(struct apply *apply, int64_t dir, struct document_row *ret_row, struct err *err)
{
    enum status status = ROWS(apply)->document_get(apply->txn, dir, ret_row, err);
    if (status == STATUS_NOT_FOUND)
        return err_set(err, STATUS_NOT_FOUND, "the directory was removed");
    if (status != STATUS_OK)
        return status;
    if (!S_ISDIR(ret_row->mode))
        return err_set(err, STATUS_NOT_DIRECTORY, "document %lld is not a directory", (long long)dir);
    return STATUS_OK;
}

enum status apply_touch_directory(struct apply *apply, int64_t dir, struct err *err)
{
    struct document_row row;
    enum status status = apply_claim(apply, 'm', dir, NULL, err);
    if (status == STATUS_OK)
        status = apply_directory(apply, dir, &row, err);
    if (status != STATUS_OK)
        return status;
    row.mtime_ns = row.ctime_ns = apply->now_ns;
    row.members++;
    return ROWS(apply)->document_update(apply->txn, &row, err);
}

enum status apply_subdirectories(struct apply *apply, int64_t dir, int by, struct err *err)
{
    struct document_row row;
    enum status status = apply_directory(apply, dir, &row, err);
    if (status != STATUS_OK)
        return status;
    row.nlink = (uint32_t)((int64_t)row.nlink + by);
    return ROWS(apply)->document_update(apply->txn, &row, err);
}

/* Whether this session holds a reserved entry. */
static enum status holds_entry(struct apply *apply, int64_t cookie, bool *ret_holds, struct err *err)
{
    int64_t found[1] = {0};
    size_t count = 0;
    int64_t me = apply->session->id;
    enum status status = ROWS(apply)->holder_of(apply->txn, me, cookie - 1, found, 1, &count, err);
    *ret_holds = status == STATUS_OK && count && found[0] == cookie;
    return status;
}

enum status apply_entry(struct apply *apply, int64_t dir, const struct name *name, struct entry_row *ret_row,
                        struct err *err)
{
    enum status status = ROWS(apply)->entry_get(apply->txn, dir, name, ret_row, err);
    if (status != STATUS_OK || !ret_row->reserved)
        return status;
    bool holds = false;
    status = holds_entry(apply, ret_row->cookie, &holds, err);
    if (status == STATUS_OK && !holds)
        return STATUS_NOT_FOUND;
    return status;
}

/* Takes a reservation away whose holders are all dead. *ret_held: somebody living has it, this session included. */
static enum status clear_reservation(struct apply *apply, const struct entry_row *entry, bool *ret_held,
                                     struct err *err)
{
    unsigned left = 0;
    bool mine = false;
    enum status status = holds_entry(apply, entry->cookie, &mine, err);
    if (status == STATUS_OK)
        status = fence_holders(apply, entry->cookie, &left, err);
    *ret_held = mine || left;
    if (status != STATUS_OK || *ret_held)
        return status;
    struct entry_row now;
    status = ROWS(apply)->entry_at(apply->txn, entry->cookie, &now, err);
    if (status == STATUS_NOT_FOUND)
        return STATUS_OK; /* the last dead holder took it along */
    struct document_row document;
    return status == STATUS_OK ? apply_unlink(apply, &now, &document, err) : status; /* nobody held it at all */
}

enum status apply_free_name(struct apply *apply, int64_t dir, const struct name *name, struct err *err)
{
    enum status status = apply_claim(apply, 'e', dir, name, err);
    if (status != STATUS_OK)
        return status;
    struct entry_row entry;
    status = ROWS(apply)->entry_get(apply->txn, dir, name, &entry, err);
    if (status == STATUS_NOT_FOUND)
        return STATUS_OK;
    bool held = true;
    if (status == STATUS_OK && entry.reserved)
        status = clear_reservation(apply, &entry, &held, err);
    if (status == STATUS_OK && held)
        return err_set(err, STATUS_EXISTS, entry.reserved ? "the name is being created" : "the name exists");
    return status;
}

enum status apply_empty(struct apply *apply, int64_t dir, struct err *err)
{
    struct entry_row entries[16];
    int64_t after = 0;
    for (;;) {
        size_t count = 0;
        enum status status = ROWS(apply)->entry_list(apply->txn, dir, after, entries, NULL, 16, &count, err);
        for (size_t i = 0; i < count && status == STATUS_OK; i++) {
            bool held = true;
            after = entries[i].cookie;
            if (entries[i].reserved)
                status = clear_reservation(apply, &entries[i], &held, err);
            if (status == STATUS_OK && held)
                return err_set(err, STATUS_NOT_EMPTY, "the directory is not empty");
        }
        if (status != STATUS_OK || count < 16)
            return status;
    }
}

/* The last link is gone: nothing but Ready bytes and descriptors are left of the document. */
static enum status last_link(struct apply *apply, struct document_row *document, struct err *err)
{
    if (document->version) {
        struct version_row version;
        enum status status = ROWS(apply)->version_get(apply->txn, document->version, false, &version, err);
        if (status == STATUS_OK)
            status = apply_condemn(apply, &version, "its document was removed", err);
        if (status != STATUS_OK && status != STATUS_NOT_FOUND)
            return status;
    }
    return ROWS(apply)->document_delete(apply->txn, document->id, err);
}

enum status apply_unlink(struct apply *apply, const struct entry_row *entry, struct document_row *ret_document,
                         struct err *err)
{
    enum status status = ROWS(apply)->document_get(apply->txn, entry->document, ret_document, err);
    if (status != STATUS_OK)
        return status;
    status = ROWS(apply)->entry_delete(apply->txn, entry->cookie, err);
    if (status != STATUS_OK)
        return status;
    bool directory = S_ISDIR(ret_document->mode);
    ret_document->nlink = directory || !ret_document->nlink ? 0 : ret_document->nlink - 1;
    ret_document->ctime_ns = apply->now_ns;
    status = ret_document->nlink ? ROWS(apply)->document_update(apply->txn, ret_document, err)
                                 : last_link(apply, ret_document, err);
    if (status == STATUS_OK && directory)
        status = apply_subdirectories(apply, entry->dir, -1, err);
    if (status == STATUS_OK)
        status = apply_touch_directory(apply, entry->dir, err);
    if (status == STATUS_OK)
        status = apply_change(apply, entry->dir, &entry->name, entry->document, err);
    return status;
}
