/* apply_attr.c - attributes and extended attributes. Never the content: that is a new version. */
#include "document/apply.h"

#include <string.h>

static void change(struct document_row *row, const struct op *op, int64_t now_ns)
{
    const struct attr_change *attr = &op->attr;
    if (attr->mask & ATTR_MODE)
        row->mode = (row->mode & ~07777u) | (attr->mode & 07777u);
    if (attr->mask & ATTR_UID)
        row->uid = attr->uid;
    if (attr->mask & ATTR_GID)
        row->gid = attr->gid;
    if (attr->mask & ATTR_ATIME)
        row->atime_ns = attr->atime_ns;
    if (attr->mask & ATTR_MTIME)
        row->mtime_ns = attr->mtime_ns;
    if (attr->mask & ATTR_CTIME)
        row->ctime_ns = attr->ctime_ns;
    else if (!(op->flags & OP_INVISIBLE))
        row->ctime_ns = now_ns;
}

/* Watchers learn it once, whatever names the document has. */
static enum status tell(struct apply *apply, const struct op *op, struct err *err)
{
    if (op->flags & OP_INVISIBLE)
        return STATUS_OK;
    return apply_change(apply, 0, NULL, op->document, err);
}

enum status apply_setattr(struct apply *apply, struct op *op, struct err *err)
{
    enum status status = apply_claim(apply, 'd', op->document, NULL, err);
    if (status == STATUS_OK)
        status = ROWS(apply)->document_get(apply->txn, op->document, &op->ret_document, err);
    if (status != STATUS_OK)
        return status;
    change(&op->ret_document, op, apply->now_ns);
    status = ROWS(apply)->document_update(apply->txn, &op->ret_document, err);
    return status == STATUS_OK ? tell(apply, op, err) : status;
}

static enum status set_or_remove(struct apply *apply, struct op *op, struct err *err)
{
    size_t len = 0;
    enum status present = ROWS(apply)->xattr_get(apply->txn, op->document, op->xattr_name, NULL, 0, &len, err);
    if (present != STATUS_OK && present != STATUS_NO_DATA && present != STATUS_NOT_FOUND)
        return present;
    bool there = present == STATUS_OK;
    if (op->kind == OP_REMOVEXATTR)
        return there ? ROWS(apply)->xattr_remove(apply->txn, op->document, op->xattr_name, err) : STATUS_NO_DATA;
    if (op->flags & OP_EXCLUSIVE && there)
        return err_set(err, STATUS_EXISTS, "the attribute exists");
    if (op->flags & OP_REPLACE && !there)
        return STATUS_NO_DATA;
    return ROWS(apply)->xattr_set(apply->txn, op->document, op->xattr_name, op->xattr_value, op->xattr_len, err);
}

enum status apply_xattr(struct apply *apply, struct op *op, struct err *err)
{
    enum status status = apply_claim(apply, 'd', op->document, NULL, err);
    if (status == STATUS_OK)
        status = ROWS(apply)->document_get(apply->txn, op->document, &op->ret_document, err);
    if (status == STATUS_OK)
        status = set_or_remove(apply, op, err);
    if (status != STATUS_OK)
        return status;
    op->ret_document.ctime_ns = apply->now_ns;
    status = ROWS(apply)->document_update(apply->txn, &op->ret_document, err);
    return status == STATUS_OK ? tell(apply, op, err) : status;
}
