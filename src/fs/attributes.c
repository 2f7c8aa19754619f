/* attributes.c - getattr, setattr, statfs and extended attributes. */
#include "base/cleanup.h"
#include "fs/attr.h"
#include "fs/handle.h"
#include "fs/publish.h"
#include "fs/wish.h"

#include <string.h>
#include <sys/xattr.h>

#define STATFS_BLOCK   4096u
#define CAPACITY_LARGE (1ull << 50) /* S20: never the size of a local disk */
#define STATFS_FILES   (1ull << 40)

/* ---- getattr ---- */

/* The document as this node shows it: an older version keeps its content's size and time, what was removed its last
 * row.
 */
static enum status row_for(struct fs *fs, uint64_t number, struct document_row *ret_row, double *ret_timeout,
                           struct err *err)
{
    struct node_key key;
    uint64_t changes = atomic_load(&fs->changes);
    enum status status = fs_key(fs, number, &key, err);
    if (status != STATUS_OK)
        return status;
    status = view_document(fs->view, key.document, ret_row, err);
    if (status != STATUS_OK && status != STATUS_NOT_FOUND)
        return fs_fail(fs, status, "stat", key.document, err);
    if (status == STATUS_OK)
        fs_note_row(fs, ret_row);
    fs_lock(fs);
    struct node *node = nodes_find(&fs->nodes, number);
    if (node) {
        bool ended = S_ISREG(node->row.mode) && !node->version && !node->workspace;
        if (status == STATUS_NOT_FOUND)
            node->row.nlink = 0;
        if (status == STATUS_NOT_FOUND || !ended)
            *ret_row = node->row;
        if (node->workspace)
            workspace_show(node->workspace, ret_row);
        bool ask = ended || fs_has_workspace(fs, key.document) || atomic_load(&fs->changes) != changes;
        *ret_timeout = ask ? 0 : TIMEOUT_LONG_S;
    }
    fs_unlock(fs);
    return node ? STATUS_OK : err_set(err, STATUS_STALE, "stat: the node was forgotten");
}

enum status fs_getattr(struct fs *fs, uint64_t number, struct fs_handle *handle, struct stat *ret_stat,
                       double *ret_timeout, struct err *err)
{
    struct document_row row;
    enum status status = row_for(fs, number, &row, ret_timeout, err);
    if (status != STATUS_OK)
        return status;
    if (handle && handle->direct) { /* what the descriptor reads and writes, not what its node is */
        if (handle->workspace)
            workspace_show(handle->workspace, &row);
        else if (handle->pin)
            row.size_bytes = pin_version(handle->pin)->size_bytes;
        *ret_timeout = 0;
    }
    attr_stat(&row, &fs->options, ret_stat);
    return STATUS_OK;
}

/* ---- setattr: the size ---- */

struct resizing {
    struct fs *fs;
    const struct fs_caller *caller;
    struct node_key key;
    uint64_t size;
};

/* The workspace that the path leads this thread to, held. STALE: the kernel is to look the name up again. */
static enum status find_for_path(const struct resizing *resizing, struct workspace **ret_workspace, bool *ret_direct,
                                 struct err *err)
{
    struct fs *fs = resizing->fs;
    pid_t tid = resizing->caller->tid;
    struct workspace *workspace = NULL;
    fs_lock(fs);
    struct wish *wish = wish_take(fs, tid);
    if (wish && !wish->missed && wish->document == resizing->key.document && wish->writes && !wish->truncates)
        workspace = TAKE(wish->workspace);
    fs_unlock(fs);
    bool tried = !tid || (wish && !wish->missed);
    wish_free(fs, wish);
    enum status status = workspace ? STATUS_OK : workspace_for(fs, resizing->key.document, false, &workspace, err);
    bool gone = status == STATUS_NOT_FOUND;
    if (status != STATUS_OK && !gone)
        return status;
    fs_lock(fs);
    const struct node *node = nodes_find(&fs->nodes, resizing->key.number);
    *ret_direct = !node || node->workspace != workspace;
    if (workspace && *ret_direct && tried)
        workspace->unwalked = true;
    fs_unlock(fs);
    *ret_workspace = workspace;
    if (!gone && (tried || !*ret_direct))
        return STATUS_OK;
    if (tried)
        return err_set(err, STATUS_STALE, "it was removed meanwhile");
    struct wish note = {.tid = tid,
                        .document = gone ? 0 : resizing->key.document,
                        .writes = true,
                        .workspace = workspace};
    status = wish_note(fs, &note, err);
    if (status == STATUS_OK)
        return STATUS_STALE; /* without a message: it is an answer */
    if (workspace)
        workspace_let_go(workspace);
    return status;
}

/* truncate(2): the new length is a version at once. */
static enum status resize_by_path(const struct resizing *resizing, struct err *err)
{
    struct fs *fs = resizing->fs;
    struct workspace *workspace = NULL;
    bool direct = false;
    enum status status = find_for_path(resizing, &workspace, &direct, err);
    if (status != STATUS_OK)
        return status;
    status = workspace_resize(workspace, resizing->size, resizing->caller->uid, err);
    if (status == STATUS_OK)
        status = publish(workspace, PUBLISH_TRUNCATE, resizing->caller->cancelled, err);
    workspace_let_go(workspace);
    if (status == STATUS_OK && direct)
        fs->options.notify.inval_node(fs->options.notify.context, resizing->key.number, -1, 0);
    return status;
}

static enum status set_size(const struct resizing *resizing, struct fs_handle *handle, struct err *err)
{
    struct fs *fs = resizing->fs;
    if (!S_ISREG(resizing->key.mode))
        return err_set(err, S_ISDIR(resizing->key.mode) ? STATUS_IS_DIRECTORY : STATUS_INVALID, "truncate: no file");
    if (!handle)
        return resize_by_path(resizing, err);
    if (!handle->workspace || !handle->writes)
        return err_set(err, STATUS_INVALID, "ftruncate: the descriptor is not open for writing");
    enum status status = workspace_resize(handle->workspace, resizing->size, resizing->caller->uid, err);
    if (status == STATUS_OK && handle->direct) {
        const struct fs_notify *notify = &fs->options.notify;
        notify->inval_node(notify->context, handle->node->number, -1, 0);
        notify->inval_node(notify->context, handle->workspace->node->number, 0, 0);
    }
    return status;
}

/* ---- setattr: the rest ---- */

/* What belongs to a document that has no name any more changes for its descriptors alone. */
static void change_removed(struct fs *fs, int64_t document, const struct attr_change *change)
{
    struct node *node = NULL;
    fs_lock(fs);
    while ((node = nodes_next(&fs->nodes, document, node))) {
        struct document_row *row = &node->row;
        if (change->mask & ATTR_MODE)
            row->mode = (row->mode & ~07777u) | (change->mode & 07777u);
        if (change->mask & ATTR_UID)
            row->uid = change->uid;
        if (change->mask & ATTR_GID)
            row->gid = change->gid;
        if (change->mask & ATTR_ATIME)
            row->atime_ns = change->atime_ns;
        if (change->mask & ATTR_MTIME)
            row->mtime_ns = change->mtime_ns;
    }
    fs_unlock(fs);
}

static enum status current_row(struct fs *fs, const struct node_key *key, struct document_row *ret_row)
{
    fs_lock(fs);
    const struct node *node = nodes_find(&fs->nodes, key->number);
    if (node)
        *ret_row = node->row;
    fs_unlock(fs);
    return node ? STATUS_OK : STATUS_STALE;
}

static enum status set_rest(struct fs *fs, const struct node_key *key, const struct stat *stat, unsigned set,
                            struct err *err)
{
    struct document_row row;
    int64_t now_ns = fs_now_ns(fs);
    enum status status = current_row(fs, key, &row);
    if (status != STATUS_OK)
        return err_set(err, status, "change attributes: the node was forgotten");
    struct attr_change change = attr_change_of(&row, stat, set, now_ns);
    if (!change.mask)
        return STATUS_OK;
    struct op op = {.kind = OP_SETATTR, .document = key->document, .attr = change};
    status = fs_apply(fs, &op, 1, err);
    if (status == STATUS_NOT_FOUND)
        change_removed(fs, key->document, &change);
    else if (status != STATUS_OK)
        return fs_fail(fs, status, "change attributes of", key->document, err);
    else
        fs_note_row(fs, &op.ret_document);
    fs_lock(fs);
    workspaces_set_times(fs, key->document, &change, now_ns);
    fs_unlock(fs);
    fs_tell_others(fs, key->document, key->number);
    return STATUS_OK;
}

enum status fs_setattr(struct fs *fs, const struct fs_caller *caller, uint64_t number, struct fs_handle *handle,
                       const struct stat *stat, unsigned set, struct stat *ret_stat, double *ret_timeout,
                       struct err *err)
{
    struct resizing resizing = {.fs = fs, .caller = caller};
    enum status status = fs_writable(fs, err);
    if (status == STATUS_OK)
        status = attr_allowed(&fs->options, set, err);
    if (status == STATUS_OK)
        status = fs_key(fs, number, &resizing.key, err);
    if (status == STATUS_OK && set & FS_SET_SIZE && stat->st_size < 0)
        status = err_set(err, STATUS_INVALID, "truncate: a negative size");
    if (status == STATUS_OK && set & FS_SET_SIZE) {
        resizing.size = (uint64_t)stat->st_size;
        status = set_size(&resizing, handle, err);
        if (status != STATUS_OK && status != STATUS_STALE)
            (void)fs_fail(fs, status, "truncate", resizing.key.document, err);
    }
    if (status == STATUS_OK)
        status = set_rest(fs, &resizing.key, stat, set, err);
    return status == STATUS_OK ? fs_getattr(fs, number, handle, ret_stat, ret_timeout, err) : status;
}

/* ---- statfs ---- */

enum status fs_statfs(struct fs *fs, struct statvfs *ret_statvfs, struct err *err)
{
    struct view_usage usage;
    enum status status = view_usage(fs->view, &usage, err);
    if (status != STATUS_OK)
        return status;
    uint64_t capacity = fs->options.capacity ? fs->options.capacity : CAPACITY_LARGE;
    uint64_t used = usage.ready_bytes < capacity ? usage.ready_bytes : capacity;
    memset(ret_statvfs, 0, sizeof *ret_statvfs);
    ret_statvfs->f_bsize = ret_statvfs->f_frsize = STATFS_BLOCK;
    ret_statvfs->f_blocks = capacity / STATFS_BLOCK;
    ret_statvfs->f_bfree = ret_statvfs->f_bavail = (capacity - used) / STATFS_BLOCK;
    ret_statvfs->f_files = STATFS_FILES + usage.documents;
    ret_statvfs->f_ffree = ret_statvfs->f_favail = STATFS_FILES;
    ret_statvfs->f_namemax = LIMIT_NAME_BYTES;
    return STATUS_OK;
}

/* ---- extended attributes: the user's own alone ---- */

static bool is_user(const char *name)
{
    return strncmp(name, "user.", 5) == 0 && name[5];
}

/* The kernel asks for security.capability before each write: that costs nothing. */
static enum status check_name(const char *name, bool reads, struct err *err)
{
    if (reads && strncmp(name, "security.", 9) == 0)
        return STATUS_NO_DATA;
    if (!is_user(name))
        return err_set(err, STATUS_UNSUPPORTED, "extended attribute '%s': only those of users are kept", name);
    if (strlen(name) > LIMIT_XATTR_NAME_BYTES)
        return err_set(err, STATUS_RANGE, "the name of an extended attribute is too long");
    return STATUS_OK;
}

enum status fs_getxattr(struct fs *fs, uint64_t number, const char *name, void *ret_value, size_t capacity,
                        size_t *ret_len, struct err *err)
{
    struct node_key key;
    enum status status = check_name(name, true, err);
    if (status == STATUS_OK)
        status = fs_key(fs, number, &key, err);
    if (status != STATUS_OK)
        return status;
    status = view_xattr_get(fs->view, key.document, name, ret_value, capacity, ret_len, err);
    return status == STATUS_NOT_FOUND ? STATUS_NO_DATA : status; /* asked for in vain all the time: not an error */
}

static enum status change_xattr(struct fs *fs, uint64_t number, struct op *op, struct err *err)
{
    struct node_key key;
    enum status status = fs_writable(fs, err);
    if (status == STATUS_OK)
        status = check_name(op->xattr_name, false, err);
    if (status == STATUS_OK)
        status = fs_key(fs, number, &key, err);
    if (status != STATUS_OK)
        return status;
    op->document = key.document;
    status = fs_apply(fs, op, 1, err);
    if (status == STATUS_NO_DATA)
        return status;
    if (status != STATUS_OK)
        return fs_fail(fs, status, "change an extended attribute of", key.document, err);
    fs_note_row(fs, &op->ret_document);
    fs_tell_others(fs, key.document, number);
    return STATUS_OK;
}

enum status fs_setxattr(struct fs *fs, uint64_t number, const char *name, const void *value, size_t len, int flags,
                        struct err *err)
{
    if (len > LIMIT_XATTR_VALUE_BYTES)
        return err_set(err, STATUS_NO_SPACE, "the value of an extended attribute is too long");
    struct op op = {
        .kind = OP_SETXATTR,
        .flags = (flags & XATTR_CREATE ? OP_EXCLUSIVE : 0u) | (flags & XATTR_REPLACE ? OP_REPLACE : 0u),
        .xattr_name = name,
        .xattr_value = value,
        .xattr_len = len,
    };
    return change_xattr(fs, number, &op, err);
}

enum status fs_removexattr(struct fs *fs, uint64_t number, const char *name, struct err *err)
{
    struct op op = {.kind = OP_REMOVEXATTR, .xattr_name = name};
    return change_xattr(fs, number, &op, err);
}

enum status fs_listxattr(struct fs *fs, uint64_t number, char *ret_names, size_t capacity, size_t *ret_len,
                         struct err *err)
{
    struct node_key key;
    enum status status = fs_key(fs, number, &key, err);
    if (status != STATUS_OK)
        return status;
    return fs_fail(fs, view_xattr_list(fs->view, key.document, ret_names, capacity, ret_len, err),
                   "list extended attributes of", key.document, err);
}
