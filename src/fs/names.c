/* names.c - looking names up, making, moving and removing them. */
#include "base/cleanup.h"
#include "fs/attr.h"
#include "fs/handle.h"
#include "fs/publish.h"
#include "fs/wish.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>

/* A name in a directory, as a request says it. */
struct place {
    struct node_key dir;
    struct name name;
};

static enum status find_place(struct fs *fs, uint64_t parent, const char *name, struct place *ret_place,
                              struct err *err)
{
    enum status status = fs_key(fs, parent, &ret_place->dir, err);
    if (status == STATUS_OK && !S_ISDIR(ret_place->dir.mode))
        status = err_set(err, STATUS_NOT_DIRECTORY, "'%s': its parent is not a directory", name);
    return status == STATUS_OK ? name_set(&ret_place->name, name, strlen(name)) : status;
}

/* "what 'name' in DIRECTORY: ..." */
static enum status fail_at(struct fs *fs, enum status status, const char *what, const struct place *place,
                           struct err *err)
{
    char text[LIMIT_NAME_BYTES + 64];
    (void)snprintf(text, sizeof text, "%s '%s' in", what, place->name.bytes);
    return fs_fail(fs, status, text, place->dir.document, err);
}

/* ---- lookup ---- */

static struct fs_entry negative(double timeout)
{
    return (struct fs_entry){.entry_timeout = timeout};
}

/* Where the thread was sent round again for a workspace. Lock held. */
static struct node *wished_workspace(struct fs *fs, struct wish *wish, const struct place *place)
{
    struct workspace *workspace = wish->workspace;
    wish_looked(fs, wish, workspace->node);
    if (!workspace->dir) { /* now it is known where it lies */
        workspace->dir = place->dir.document;
        pthread_mutex_lock(&workspace->lock);
        workspace->name = place->name;
        pthread_mutex_unlock(&workspace->lock);
    }
    return workspace->node;
}

/* What the name leads this thread to: its wish, an unpublished file's workspace, the Ready version. Lock held. */
static struct node *choose(struct fs *fs, const struct fs_caller *caller, const struct place *place,
                           struct document_row *row)
{
    struct wish *wish = S_ISREG(row->mode) ? wish_find(fs, caller->tid) : NULL;
    if (wish && wish->document == row->id && wish->workspace)
        return wished_workspace(fs, wish, place);
    if (wish && wish->document == row->id && wish->pin) {
        *row = *pin_document(wish->pin);
        struct node *node = fs_node_of(fs, row);
        if (node)
            wish_looked(fs, wish, node);
        return node;
    }
    if (!S_ISREG(row->mode) || row->version)
        return fs_node_of(fs, row);
    struct workspace *workspace = workspace_any(fs, row->id);
    return workspace ? workspace->node : NULL;
}

static enum status answer(struct fs *fs, const struct fs_caller *caller, const struct place *place,
                          struct document_row *row, uint64_t changes, struct fs_entry *ret_entry)
{
    fs_lock(fs);
    struct node *node = choose(fs, caller, place, row);
    if (node)
        fs_fill_entry(fs, node, row, changes, ret_entry);
    fs_unlock(fs);
    if (!node)
        *ret_entry = negative(0); /* it is just being given up */
    return STATUS_OK;
}

/* "." and "..", which the kernel asks for on behalf of file handles. */
static enum status lookup_dot(struct fs *fs, const struct node_key *dir, bool parent, struct fs_entry *ret_entry,
                              struct err *err)
{
    struct document_row row;
    uint64_t changes = atomic_load(&fs->changes);
    enum status status = view_document(fs->view, dir->document, &row, err);
    if (status == STATUS_OK && parent)
        status = view_document(fs->view, row.parent, &row, err);
    if (status != STATUS_OK)
        return fs_fail(fs, status, "look up the parent of", dir->document, err);
    fs_lock(fs);
    struct node *node = fs_node_of(fs, &row);
    if (node)
        fs_fill_entry(fs, node, &row, changes, ret_entry);
    fs_unlock(fs);
    return node ? STATUS_OK : err_set(err, STATUS_NO_MEMORY, "look up a directory: out of memory");
}

/* What the name leads to. The second try of an open needs what lies there to be openable, so a document that is removed
 * between the two looks is looked for again: another has its name, or none. */
static enum status find_named(struct fs *fs, const struct fs_caller *caller, const struct place *place,
                              uint64_t *ret_changes, struct document_row *ret_row, struct err *err)
{
    enum status status = STATUS_OK;
    for (int attempt = 0; attempt < LOOKS_MAX; attempt++) {
        *ret_changes = atomic_load(&fs->changes);
        status = view_lookup(fs->view, place->dir.document, &place->name, ret_row, NULL, err);
        bool file = status == STATUS_OK && S_ISREG(ret_row->mode);
        if (file || status == STATUS_NOT_FOUND)
            wish_pass(fs, caller->tid, place->dir.document, &place->name, file);
        if (!file || wish_lead(fs, caller->tid, ret_row))
            break;
    }
    return status;
}

enum status fs_lookup(struct fs *fs, const struct fs_caller *caller, uint64_t parent, const char *name,
                      struct fs_entry *ret_entry, struct err *err)
{
    struct place place;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
        enum status status = fs_key(fs, parent, &place.dir, err);
        return status == STATUS_OK ? lookup_dot(fs, &place.dir, name[1] == '.', ret_entry, err) : status;
    }
    enum status status = find_place(fs, parent, name, &place, err);
    if (status != STATUS_OK)
        return status;
    fs_wait_released(fs, place.dir.document);
    uint64_t changes = 0;
    struct document_row row;
    status = find_named(fs, caller, &place, &changes, &row, err);
    if (status == STATUS_NOT_FOUND) {
        *ret_entry = negative(atomic_load(&fs->changes) == changes ? TIMEOUT_NEGATIVE_S : 0);
        return STATUS_OK;
    }
    if (status != STATUS_OK)
        return fail_at(fs, status, "look up", &place, err);
    return answer(fs, caller, &place, &row, changes, ret_entry);
}

/* ---- making ---- */

static enum status enter(struct fs *fs, const struct document_row *row, uint64_t changes, struct fs_entry *ret_entry,
                         struct err *err)
{
    fs_lock(fs);
    struct node *node = fs_node_of(fs, row);
    if (node)
        fs_fill_entry(fs, node, row, changes, ret_entry);
    fs_unlock(fs);
    return node ? STATUS_OK : err_set(err, STATUS_NO_MEMORY, "make a name: out of memory");
}

static enum status make(struct fs *fs, const struct fs_caller *caller, uint64_t parent, const char *name, struct op *op,
                        struct fs_entry *ret_entry, struct err *err)
{
    struct place place;
    enum status status = fs_writable(fs, err);
    if (status == STATUS_OK)
        status = find_place(fs, parent, name, &place, err);
    if (status != STATUS_OK)
        return status;
    op->dir = place.dir.document;
    op->name = place.name;
    op->attr.mask = ATTR_MODE | ATTR_UID | ATTR_GID;
    op->attr.uid = caller->uid;
    op->attr.gid = caller->gid;
    status = fs_apply(fs, op, 1, err);
    if (status != STATUS_OK)
        return fail_at(fs, status, "make", &place, err);
    if (op->target)
        op->ret_document.size_bytes = strlen(op->target);
    return enter(fs, &op->ret_document, atomic_load(&fs->changes), ret_entry, err);
}

enum status fs_mkdir(struct fs *fs, const struct fs_caller *caller, uint64_t parent, const char *name, uint32_t mode,
                     struct fs_entry *ret_entry, struct err *err)
{
    struct op op = {.kind = OP_MKDIR, .attr.mode = S_IFDIR | (mode & 07777u & ~caller->umask)};
    return make(fs, caller, parent, name, &op, ret_entry, err);
}

enum status fs_symlink(struct fs *fs, const struct fs_caller *caller, const char *target, uint64_t parent,
                       const char *name, struct fs_entry *ret_entry, struct err *err)
{
    struct op op = {.kind = OP_SYMLINK, .target = target};
    return make(fs, caller, parent, name, &op, ret_entry, err);
}

/* mknod(2) of a regular file makes an empty one, Ready at once. */
static enum status make_empty(struct fs *fs, const struct fs_caller *caller, uint64_t parent, const char *name,
                              uint32_t mode, struct fs_entry *ret_entry, struct err *err)
{
    struct fs_opened opened;
    struct fs_entry entry;
    enum status status = fs_create(fs, caller, parent, name, mode, O_RDONLY | O_CREAT | O_EXCL, &entry, &opened, err);
    if (status != STATUS_OK)
        return status;
    struct document_row row;
    status = publish(opened.handle->workspace, PUBLISH_NAME, NULL, err);
    fs_release(fs, caller, opened.handle);
    fs_forget(fs, entry.node, 1);
    if (status != STATUS_OK)
        return status;
    uint64_t changes = atomic_load(&fs->changes);
    status = view_document(fs->view, (int64_t)entry.stat.st_ino, &row, err);
    return status == STATUS_OK ? enter(fs, &row, changes, ret_entry, err)
                               : fs_fail(fs, status, "make", (int64_t)entry.stat.st_ino, err);
}

enum status fs_mknod(struct fs *fs, const struct fs_caller *caller, uint64_t parent, const char *name, uint32_t mode,
                     uint64_t rdev, struct fs_entry *ret_entry, struct err *err)
{
    if (S_ISREG(mode))
        return make_empty(fs, caller, parent, name, mode, ret_entry, err);
    struct op op = {.kind = OP_MKNOD, .attr.mode = (mode & S_IFMT) | (mode & 07777u & ~caller->umask), .rdev = rdev};
    return make(fs, caller, parent, name, &op, ret_entry, err);
}

enum status fs_link(struct fs *fs, const struct fs_caller *caller, uint64_t number, uint64_t parent, const char *name,
                    struct fs_entry *ret_entry, struct err *err)
{
    (void)caller; /* the kernel has checked what it may */
    struct place place;
    struct node_key key;
    enum status status = fs_writable(fs, err);
    if (status == STATUS_OK)
        status = find_place(fs, parent, name, &place, err);
    if (status == STATUS_OK)
        status = fs_key(fs, number, &key, err);
    if (status != STATUS_OK)
        return status;
    struct op op = {.kind = OP_LINK, .document = key.document, .dir2 = place.dir.document, .name2 = place.name};
    status = fs_apply(fs, &op, 1, err);
    if (status != STATUS_OK)
        return fail_at(fs, status, "link", &place, err);
    fs_note_row(fs, &op.ret_document);
    fs_lock(fs);
    struct node *node = nodes_find(&fs->nodes, number);
    if (node)
        fs_fill_entry(fs, node, &node->row, atomic_load(&fs->changes), ret_entry);
    fs_unlock(fs);
    fs_tell_others(fs, key.document, number);
    return node ? STATUS_OK : err_set(err, STATUS_STALE, "link: the node was forgotten");
}

enum status fs_readlink(struct fs *fs, uint64_t number, char *ret_target, struct err *err)
{
    struct node_key key;
    enum status status = fs_key(fs, number, &key, err);
    if (status != STATUS_OK)
        return status;
    return fs_fail(fs, view_target(fs->view, key.document, ret_target, err), "read the symlink", key.document, err);
}

/* ---- removing ---- */

/* After a commit that took a name away: what is open of the document knows it. */
static void after_removal(struct fs *fs, const struct document_row *row)
{
    if (!row->id)
        return;
    fs_note_row(fs, row);
    if (row->nlink == 0) {
        atomic_fetch_add(&fs->removals, 1);
        fs_lock(fs);
        workspaces_unlinked(fs, row->id);
        fs_unlock(fs);
    }
    fs_tell_others(fs, row->id, 0);
}

/* Applies it and tells whom it concerns. All of that is one commit of ours for whoever waits for those (own_settle): a
 * publish that finds its document removed must learn whether it was here. */
static enum status apply_and_tell(struct fs *fs, struct op *op, void (*after)(struct fs *fs, const struct op *op),
                                  struct err *err)
{
    const struct own_commit nothing = {.seq = 0};
    unsigned epoch = own_begin(&fs->own);
    enum status status = fs_apply(fs, op, 1, err);
    if (status == STATUS_OK)
        after(fs, op);
    own_end(&fs->own, epoch, &nothing);
    return status;
}

static void after_take_away(struct fs *fs, const struct op *op)
{
    after_removal(fs, &op->ret_document);
}

static enum status take_away(struct fs *fs, enum op_kind kind, uint64_t parent, const char *name, struct err *err)
{
    struct place place;
    enum status status = fs_writable(fs, err);
    if (status == STATUS_OK)
        status = find_place(fs, parent, name, &place, err);
    if (status != STATUS_OK)
        return status;
    struct op op = {.kind = kind, .dir = place.dir.document, .name = place.name};
    status = apply_and_tell(fs, &op, after_take_away, err);
    return status == STATUS_OK ? status : fail_at(fs, status, "remove", &place, err);
}

enum status fs_unlink(struct fs *fs, const struct fs_caller *caller, uint64_t parent, const char *name, struct err *err)
{
    (void)caller; /* the kernel has checked what it may */
    return take_away(fs, OP_REMOVE, parent, name, err);
}

enum status fs_rmdir(struct fs *fs, const struct fs_caller *caller, uint64_t parent, const char *name, struct err *err)
{
    (void)caller; /* the kernel has checked what it may */
    struct node_key key;
    enum status status = fs_key(fs, parent, &key, err);
    if (status != STATUS_OK)
        return status;
    fs_wait_released(fs, key.document); /* an unfinished file that is just being given up does not count */
    return take_away(fs, OP_RMDIR, parent, name, err);
}

/* ---- moving ---- */

/* Publishes the document at the place if it never was. */
static enum status publish_first(struct fs *fs, const struct place *place, struct err *err)
{
    struct document_row row;
    enum status status = view_lookup(fs->view, place->dir.document, &place->name, &row, NULL, err);
    if (status == STATUS_NOT_FOUND)
        return STATUS_OK; /* the rename will say so */
    if (status != STATUS_OK || !S_ISREG(row.mode) || row.version)
        return status;
    fs_lock(fs);
    struct workspace *workspace = workspace_any(fs, row.id);
    if (workspace)
        workspace_hold(workspace);
    fs_unlock(fs);
    if (!workspace)
        return STATUS_OK;
    status = publish(workspace, PUBLISH_NAME, NULL, err);
    workspace_let_go(workspace);
    return status;
}

/* S14: an unpublished file replaces an existing name only as a Ready version. */
static enum status prepare(struct fs *fs, const struct place *from, const struct place *to, unsigned flags,
                           struct err *err)
{
    struct document_row row;
    if (flags & RENAME_NOREPLACE)
        return STATUS_OK;
    enum status status = view_lookup(fs->view, to->dir.document, &to->name, &row, NULL, err);
    if (status == STATUS_NOT_FOUND)
        return STATUS_OK;
    if (status == STATUS_OK)
        status = publish_first(fs, from, err);
    if (status == STATUS_OK && flags & RENAME_EXCHANGE)
        status = publish_first(fs, to, err);
    return status;
}

static void after_rename(struct fs *fs, const struct op *op)
{
    bool exchange = op->kind == OP_EXCHANGE;
    fs_lock(fs);
    workspaces_renamed(fs, op->ret_document.id, op->dir2, &op->name2);
    if (exchange)
        workspaces_renamed(fs, op->ret_other.id, op->dir, &op->name);
    fs_unlock(fs);
    fs_note_row(fs, &op->ret_document);
    fs_tell_others(fs, op->ret_document.id, 0);
    if (exchange)
        fs_note_row(fs, &op->ret_other);
    else
        after_removal(fs, &op->ret_other);
}

enum status fs_rename(struct fs *fs, const struct fs_caller *caller, uint64_t parent, const char *name,
                      uint64_t new_parent, const char *new_name, unsigned flags, struct err *err)
{
    (void)caller; /* the kernel has checked what it may */
    struct place from, to;
    if (flags & ~(unsigned)(RENAME_NOREPLACE | RENAME_EXCHANGE))
        return err_set(err, STATUS_INVALID, "rename: unknown flags %u", flags);
    enum status status = fs_writable(fs, err);
    if (status == STATUS_OK)
        status = find_place(fs, parent, name, &from, err);
    if (status == STATUS_OK)
        status = find_place(fs, new_parent, new_name, &to, err);
    if (status == STATUS_OK)
        status = prepare(fs, &from, &to, flags, err);
    if (status != STATUS_OK)
        return status;
    struct op op = {
        .kind = flags & RENAME_EXCHANGE ? OP_EXCHANGE : OP_RENAME,
        .flags = flags & RENAME_NOREPLACE ? OP_NOREPLACE : 0,
        .dir = from.dir.document,
        .name = from.name,
        .dir2 = to.dir.document,
        .name2 = to.name,
    };
    status = apply_and_tell(fs, &op, after_rename, err);
    return status == STATUS_OK ? status : fail_at(fs, status, "rename", &from, err);
}
