/* apply_rename.c - names move: rename over nothing, over a document, over a reservation; exchange (S14). */
#include "document/apply.h"

#include <sys/stat.h>

#define DEPTH_MAX 100000 /* a longer chain of parents is a loop, which no operation makes */

/* EINVAL of rename(2): a directory cannot move below itself. */
static enum status check_not_below(struct apply *apply, int64_t moving, int64_t dir, struct err *err)
{
    for (int depth = 0; depth < DEPTH_MAX; depth++) {
        if (dir == moving)
            return err_set(err, STATUS_INVALID, "a directory cannot be moved below itself");
        if (dir == CATALOGUE_ROOT)
            return STATUS_OK;
        struct document_row row;
        enum status status = apply_directory(apply, dir, &row, err);
        if (status != STATUS_OK)
            return status;
        dir = row.parent;
    }
    return err_set(err, STATUS_CORRUPT, "the directories above document %lld form a loop", (long long)dir);
}

static enum status check_types(struct apply *apply, const struct document_row *moving,
                               const struct document_row *target, struct err *err)
{
    if (S_ISDIR(moving->mode) && !S_ISDIR(target->mode))
        return err_set(err, STATUS_NOT_DIRECTORY, "a directory cannot replace what is none");
    if (!S_ISDIR(moving->mode) && S_ISDIR(target->mode))
        return err_set(err, STATUS_IS_DIRECTORY, "only a directory can replace a directory");
    return S_ISDIR(target->mode) ? apply_empty(apply, target->id, err) : STATUS_OK;
}

/* Takes away what stands at the new name. A reservation of others is replaced too: its holders will get ESTALE. */
static enum status replace_target(struct apply *apply, struct op *op, const struct document_row *moving, bool *ret_same,
                                  struct err *err)
{
    struct entry_row target;
    *ret_same = false;
    op->ret_other = (struct document_row){0};
    if (op->flags & OP_NOREPLACE)
        return apply_free_name(apply, op->dir2, &op->name2, err);
    enum status status = ROWS(apply)->entry_get(apply->txn, op->dir2, &op->name2, &target, err);
    if (status == STATUS_NOT_FOUND)
        return STATUS_OK;
    if (status != STATUS_OK)
        return status;
    *ret_same = target.document == moving->id;
    if (*ret_same)
        return STATUS_OK;
    struct document_row document;
    status = ROWS(apply)->document_get(apply->txn, target.document, &document, err);
    if (status == STATUS_OK)
        status = check_types(apply, moving, &document, err);
    if (status == STATUS_OK)
        status = apply_claim(apply, 'd', target.document, NULL, err);
    if (status != STATUS_OK)
        return status;
    return apply_unlink(apply, &target, &op->ret_other, err);
}

/* Puts a document that changes its directory right: its parent, the counts of both directories. */
static enum status change_parent(struct apply *apply, struct document_row *moving, int64_t from, int64_t dir,
                                 struct err *err)
{
    moving->ctime_ns = apply->now_ns;
    if (S_ISDIR(moving->mode))
        moving->parent = dir;
    enum status status = ROWS(apply)->document_update(apply->txn, moving, err);
    if (status != STATUS_OK || !S_ISDIR(moving->mode) || from == dir)
        return status;
    status = apply_subdirectories(apply, from, -1, err);
    return status == STATUS_OK ? apply_subdirectories(apply, dir, 1, err) : status;
}

static enum status touch_both(struct apply *apply, int64_t dir, int64_t dir2, struct err *err)
{
    enum status status = apply_touch_directory(apply, dir, err);
    if (status == STATUS_OK && dir2 != dir)
        status = apply_touch_directory(apply, dir2, err);
    return status;
}

static enum status log_both(struct apply *apply, const struct op *op, int64_t document, int64_t other, struct err *err)
{
    enum status status = apply_change(apply, op->dir, &op->name, other, err);
    return status == STATUS_OK ? apply_change(apply, op->dir2, &op->name2, document, err) : status;
}

static enum status move_entry(struct apply *apply, struct op *op, struct entry_row *entry, struct err *err)
{
    entry->dir = op->dir2;
    entry->name = op->name2;
    enum status status = ROWS(apply)->entry_update(apply->txn, entry, err);
    if (status == STATUS_OK)
        status = change_parent(apply, &op->ret_document, op->dir, op->dir2, err);
    if (status == STATUS_OK)
        status = touch_both(apply, op->dir, op->dir2, err);
    if (status == STATUS_OK)
        status = log_both(apply, op, entry->document, entry->document, err);
    return status;
}

static enum status find_ends(struct apply *apply, struct op *op, struct entry_row *ret_entry, struct err *err)
{
    struct document_row dir;
    enum status status = apply_directory(apply, op->dir2, &dir, err);
    if (status == STATUS_OK)
        status = apply_entry(apply, op->dir, &op->name, ret_entry, err);
    if (status == STATUS_OK)
        status = ROWS(apply)->document_get(apply->txn, ret_entry->document, &op->ret_document, err);
    if (status == STATUS_OK && S_ISDIR(op->ret_document.mode))
        status = check_not_below(apply, op->ret_document.id, op->dir2, err);
    if (status == STATUS_OK)
        status = apply_claim(apply, 'd', ret_entry->document, NULL, err);
    if (status == STATUS_OK)
        status = apply_claim(apply, 'e', op->dir, &op->name, err);
    if (status == STATUS_OK)
        status = apply_claim(apply, 'e', op->dir2, &op->name2, err);
    return status;
}

enum status apply_rename(struct apply *apply, struct op *op, struct err *err)
{
    struct entry_row entry;
    enum status status = find_ends(apply, op, &entry, err);
    if (status != STATUS_OK)
        return status;
    bool same = false;
    status = replace_target(apply, op, &op->ret_document, &same, err);
    if (status != STATUS_OK || same) /* two names of one document: rename(2) does nothing */
        return status;
    /* Taking the target away may have changed it: a dead session's reservation in it went, for one. */
    status = ROWS(apply)->document_get(apply->txn, entry.document, &op->ret_document, err);
    if (status != STATUS_OK)
        return status;
    return move_entry(apply, op, &entry, err);
}

enum status apply_exchange(struct apply *apply, struct op *op, struct err *err)
{
    struct entry_row first, second;
    enum status status = find_ends(apply, op, &first, err);
    if (status == STATUS_OK)
        status = apply_entry(apply, op->dir2, &op->name2, &second, err);
    if (status == STATUS_OK)
        status = ROWS(apply)->document_get(apply->txn, second.document, &op->ret_other, err);
    if (status == STATUS_OK && S_ISDIR(op->ret_other.mode))
        status = check_not_below(apply, op->ret_other.id, op->dir, err);
    if (status == STATUS_OK)
        status = apply_claim(apply, 'd', second.document, NULL, err);
    if (status != STATUS_OK || first.document == second.document)
        return status;
    /* The names stay where they are and change their documents; a reservation goes with its document. */
    int64_t document = first.document;
    if (first.reserved || second.reserved)
        return err_set(err, STATUS_BUSY, "a document that was never published cannot be exchanged");
    first.document = second.document;
    second.document = document;
    status = ROWS(apply)->entry_update(apply->txn, &first, err);
    if (status == STATUS_OK)
        status = ROWS(apply)->entry_update(apply->txn, &second, err);
    if (status == STATUS_OK)
        status = change_parent(apply, &op->ret_document, op->dir, op->dir2, err);
    if (status == STATUS_OK)
        status = change_parent(apply, &op->ret_other, op->dir2, op->dir, err);
    if (status == STATUS_OK)
        status = touch_both(apply, op->dir, op->dir2, err);
    if (status == STATUS_OK)
        status = log_both(apply, op, op->ret_document.id, op->ret_other.id, err);
    return status;
}
