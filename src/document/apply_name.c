/* apply_name.c - names come and go: reserve, remove, link, mkdir, symlink, mknod, rmdir. */
#include "base/cleanup.h"
#include "document/apply.h"

#include <string.h>
#include <sys/stat.h>

/* A new document's row from the operation, with what it inherits from a set-group-id directory. */
static struct document_row new_document(const struct apply *apply, const struct op *op, uint32_t type,
                                        const struct document_row *dir)
{
    struct document_row row = {
        .mode = type | (op->attr.mode & 07777u),
        .uid = op->attr.uid,
        .gid = op->attr.gid,
        .nlink = S_ISDIR(type) ? 2 : 1,
        .rdev = op->rdev,
        .parent = S_ISDIR(type) ? op->dir : 0,
    };
    row.atime_ns = row.mtime_ns = row.ctime_ns = row.btime_ns = apply->now_ns;
    if (dir->mode & S_ISGID) {
        row.gid = dir->gid;
        if (S_ISDIR(type))
            row.mode |= S_ISGID;
    }
    return row;
}

static enum status insert(struct apply *apply, struct op *op, uint32_t type, bool reserved, int64_t *ret_cookie,
                          struct err *err)
{
    struct document_row dir;
    enum status status = apply_directory(apply, op->dir, &dir, err);
    if (status != STATUS_OK)
        return status;
    if (S_ISDIR(type) && dir.nlink >= LIMIT_LINKS * 1000u)
        return err_set(err, STATUS_TOO_MANY_LINKS, "the directory has too many subdirectories");
    op->ret_document = new_document(apply, op, type, &dir);
    status = ROWS(apply)->document_insert(apply->txn, &op->ret_document, S_ISLNK(type) ? op->target : NULL,
                                          &op->ret_document.id, err);
    if (status != STATUS_OK)
        return status;
    struct entry_row entry = {.dir = op->dir, .name = op->name, .document = op->ret_document.id, .reserved = reserved};
    status = ROWS(apply)->entry_insert(apply->txn, &entry, ret_cookie, err);
    if (status == STATUS_OK && S_ISDIR(type))
        status = apply_subdirectories(apply, op->dir, 1, err);
    if (status == STATUS_OK)
        status = apply_touch_directory(apply, op->dir, err);
    if (status == STATUS_OK && !reserved)
        status = apply_change(apply, op->dir, &op->name, entry.document, err);
    return status;
}

static enum status reserve_new(struct apply *apply, struct op *op, struct err *err)
{
    int64_t cookie = 0;
    enum status status = insert(apply, op, S_IFREG, true, &cookie, err);
    if (status == STATUS_OK)
        status = ROWS(apply)->holder_add(apply->txn, cookie, apply->session->id, err);
    op->ret_created = true;
    return status;
}

/* The name is taken: join an unpublished document as one more holder, or hand out the published one. */
static enum status reserve_existing(struct apply *apply, struct op *op, const struct entry_row *entry, struct err *err)
{
    op->ret_created = false;
    if (entry->reserved) {
        enum status status = ROWS(apply)->holder_add(apply->txn, entry->cookie, apply->session->id, err);
        if (status != STATUS_OK)
            return status;
    }
    return ROWS(apply)->document_get(apply->txn, entry->document, &op->ret_document, err);
}

enum status apply_reserve(struct apply *apply, struct op *op, struct err *err)
{
    struct document_row dir;
    enum status status = apply_directory(apply, op->dir, &dir, err);
    if (status != STATUS_OK)
        return status;
    if (op->flags & OP_EXCLUSIVE) {
        status = apply_free_name(apply, op->dir, &op->name, err);
        return status == STATUS_OK ? reserve_new(apply, op, err) : status;
    }
    struct entry_row entry;
    status = ROWS(apply)->entry_get(apply->txn, op->dir, &op->name, &entry, err);
    if (status == STATUS_OK)
        return reserve_existing(apply, op, &entry, err);
    if (status != STATUS_NOT_FOUND)
        return status;
    status = apply_claim(apply, 'e', op->dir, &op->name, err);
    return status == STATUS_OK ? reserve_new(apply, op, err) : status;
}

enum status apply_make(struct apply *apply, struct op *op, struct err *err)
{
    uint32_t type = op->kind == OP_MKDIR ? S_IFDIR : op->kind == OP_SYMLINK ? S_IFLNK : op->attr.mode & S_IFMT;
    if (op->kind == OP_SYMLINK && strlen(op->target) > LIMIT_TARGET_BYTES)
        return err_set(err, STATUS_NAME_TOO_LONG, "the symlink's target is longer than %d bytes", LIMIT_TARGET_BYTES);
    if (op->kind == OP_SYMLINK)
        op->attr.mode = 0777;
    /* A regular file comes into being by OP_RESERVE and OP_PUT, else it would be listed without ever being Ready. */
    if (op->kind == OP_MKNOD && !S_ISFIFO(type) && !S_ISSOCK(type) && !S_ISCHR(type) && !S_ISBLK(type))
        return err_set(err, STATUS_INVALID, "only a FIFO, a socket or a device can be made so");
    enum status status = apply_free_name(apply, op->dir, &op->name, err);
    if (status != STATUS_OK)
        return status;
    int64_t cookie = 0;
    op->ret_created = true;
    return insert(apply, op, type, false, &cookie, err);
}

enum status apply_remove(struct apply *apply, struct op *op, struct err *err)
{
    struct entry_row entry;
    enum status status = apply_entry(apply, op->dir, &op->name, &entry, err);
    if (status != STATUS_OK)
        return status;
    struct document_row document;
    status = ROWS(apply)->document_get(apply->txn, entry.document, &document, err);
    if (status != STATUS_OK)
        return status;
    if (S_ISDIR(document.mode))
        return err_set(err, STATUS_IS_DIRECTORY, "it is a directory");
    status = apply_claim(apply, 'd', entry.document, NULL, err);
    if (status == STATUS_OK)
        status = apply_claim(apply, 'e', op->dir, &op->name, err);
    if (status != STATUS_OK)
        return status;
    return apply_unlink(apply, &entry, &op->ret_document, err);
}

enum status apply_rmdir(struct apply *apply, struct op *op, struct err *err)
{
    struct entry_row entry;
    enum status status = apply_entry(apply, op->dir, &op->name, &entry, err);
    if (status != STATUS_OK)
        return status;
    struct document_row document;
    status = apply_directory(apply, entry.document, &document, err);
    if (status == STATUS_OK)
        status = apply_empty(apply, entry.document, err);
    if (status == STATUS_OK)
        status = apply_claim(apply, 'm', entry.document, NULL, err);
    if (status != STATUS_OK)
        return status;
    return apply_unlink(apply, &entry, &op->ret_document, err);
}

/* A reserved document's new name is reserved as well, by the same holders: it becomes visible when the document is. */
static enum status copy_holders(struct apply *apply, int64_t document, int64_t cookie, struct err *err)
{
    struct entry_row first;
    size_t count = 0;
    enum status status = ROWS(apply)->entry_of(apply->txn, document, 0, &first, 1, &count, err);
    if (status != STATUS_OK || !count)
        return status;
    int64_t sessions[HOLDERS_MAX];
    status = ROWS(apply)->holder_list(apply->txn, first.cookie, sessions, HOLDERS_MAX, &count, err);
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        status = ROWS(apply)->holder_add(apply->txn, cookie, sessions[i], err);
    return status;
}

enum status apply_link(struct apply *apply, struct op *op, struct err *err)
{
    struct document_row *document = &op->ret_document;
    struct document_row dir;
    enum status status = apply_directory(apply, op->dir2, &dir, err);
    if (status == STATUS_OK)
        status = apply_claim(apply, 'd', op->document, NULL, err);
    if (status == STATUS_OK)
        status = ROWS(apply)->document_get(apply->txn, op->document, document, err);
    if (status == STATUS_OK && !document->nlink)
        status = STATUS_NOT_FOUND;
    if (status != STATUS_OK)
        return status;
    if (S_ISDIR(document->mode))
        return err_set(err, STATUS_PERMISSION, "a directory cannot have a second name");
    if (document->nlink >= LIMIT_LINKS)
        return err_set(err, STATUS_TOO_MANY_LINKS, "the document has %d names already", LIMIT_LINKS);
    status = apply_free_name(apply, op->dir2, &op->name2, err);
    if (status != STATUS_OK)
        return status;
    bool reserved = S_ISREG(document->mode) && !document->version;
    struct entry_row entry = {.dir = op->dir2, .name = op->name2, .document = document->id, .reserved = reserved};
    status = ROWS(apply)->entry_insert(apply->txn, &entry, &entry.cookie, err);
    if (status == STATUS_OK && reserved)
        status = copy_holders(apply, document->id, entry.cookie, err);
    document->nlink++;
    document->ctime_ns = apply->now_ns;
    if (status == STATUS_OK)
        status = ROWS(apply)->document_update(apply->txn, document, err);
    if (status == STATUS_OK)
        status = apply_touch_directory(apply, op->dir2, err);
    if (status == STATUS_OK && !reserved)
        status = apply_change(apply, op->dir2, &op->name2, document->id, err);
    return status;
}
