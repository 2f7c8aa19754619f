/* open.c - which content an open leads to, and how the kernel is led there (docs/internals/nodes.md).
 *
 * A writer wants the document's newest workspace, or one of its own; a reader wants the Ready version, or a workspace
 * that it may see. Where the kernel's node is another one, the thread gets a wish and ESTALE, and the kernel comes
 * again with the right node. Where that cannot work (no path walk, no thread id), the open is let past its node:
 * direct_io.
 */
#include "base/cleanup.h"
#include "fs/attr.h"
#include "fs/handle.h"
#include "fs/procfs.h"
#include "fs/publish.h"
#include "fs/wish.h"

#include <fcntl.h>
#include <string.h>

struct opening {
    struct fs *fs;
    const struct fs_caller *caller;
    struct node_key key;
    int flags;
    bool writes, truncates;
    pid_t tgid; /* 0 where not asked for */
    bool tried; /* the thread was sent round once: it must not be again */
};

static bool writes(int flags)
{
    return (flags & O_ACCMODE) != O_RDONLY || flags & O_TRUNC;
}

static enum status no_memory(struct err *err)
{
    return err_set(err, STATUS_NO_MEMORY, "open a file: out of memory");
}

/* The kernel is to look the name up again: without a message, for it is an answer. */
static enum status stale(struct err *err)
{
    err_clear(err);
    return STATUS_STALE;
}

static struct fs_handle *new_handle(const struct opening *opening, struct node *node)
{
    struct fs_handle *handle = handle_new(opening->fs, node);
    if (!handle)
        return NULL;
    handle->writes = (opening->flags & O_ACCMODE) != O_RDONLY;
    handle->append = opening->flags & O_APPEND;
    handle->tgid = handle->writes ? opening->tgid : 0;
    return handle;
}

/* ---- onto a workspace ---- */

/* Opens `node` on the workspace, whose hold it takes over. Lock held; on failure the hold stays. */
static enum status accept(const struct opening *opening, struct node *node, struct workspace *workspace,
                          struct fs_opened *ret_opened, struct err *err)
{
    struct fs_handle *handle = new_handle(opening, node);
    if (!handle)
        return no_memory(err);
    handle->direct = node->workspace != workspace;
    workspace->unwalked = workspace->unwalked || handle->direct;
    handle_join(handle, workspace);
    *ret_opened = (struct fs_opened){handle, handle->direct, !handle->direct};
    return STATUS_OK;
}

/* Sends the thread round, with a wish that takes over the hold of the workspace. `document` 0: what it asked for is
 * gone.
 */
static enum status send_round(struct opening *opening, int64_t document, struct workspace *workspace, struct err *err)
{
    struct wish wish = {
        .tid = opening->caller->tid,
        .writes = opening->writes,
        .truncates = opening->truncates,
        .document = document,
        .workspace = workspace,
    };
    enum status status = wish.tid ? wish_note(opening->fs, &wish, err) : STATUS_STALE;
    if (status != STATUS_OK && workspace)
        workspace_let_go(workspace);
    return status == STATUS_OK || status == STATUS_STALE ? stale(err) : status;
}

/* Leads the open to the workspace, whose hold it takes over. */
static enum status lead(struct opening *opening, struct workspace *workspace, struct fs_opened *ret_opened,
                        struct err *err)
{
    struct fs *fs = opening->fs;
    enum status status = STATUS_STALE;
    fs_lock(fs);
    struct node *node = nodes_find(&fs->nodes, opening->key.number);
    bool there = node && node->workspace == workspace;
    if (node && (there || opening->tried || !opening->caller->tid))
        status = accept(opening, node, workspace, ret_opened, err);
    fs_unlock(fs);
    if (status == STATUS_STALE)
        return send_round(opening, opening->key.document, workspace, err);
    if (status != STATUS_OK)
        workspace_let_go(workspace);
    return status;
}

static enum status open_writer(struct opening *opening, struct workspace *workspace, struct fs_opened *ret_opened,
                               struct err *err)
{
    enum status status = STATUS_OK;
    if (!workspace)
        status = workspace_for(opening->fs, opening->key.document, opening->truncates, &workspace, err);
    if (status == STATUS_NOT_FOUND)
        return send_round(opening, 0, NULL, err); /* removed meanwhile */
    if (status != STATUS_OK)
        return fs_fail(opening->fs, status, "open", opening->key.document, err);
    return lead(opening, workspace, ret_opened, err);
}

/* ---- onto a Ready version ---- */

/* Access times are written in batches. The lock is held. */
static void note_atime(struct fs *fs, const struct opening *opening, const struct document_row *row)
{
    int64_t now_ns = fs_now_ns(fs);
    if (fs->options.read_only || opening->flags & O_NOATIME || !attr_wants_atime(row, now_ns))
        return;
    for (size_t i = 0; i < fs->atime_count; i++)
        if (fs->atimes[i].document == row->id)
            return;
    if (fs->atime_count < ATIMES_MAX)
        fs->atimes[fs->atime_count++] = (struct atime){row->id, now_ns};
}

/* Opens the node on the pinned version; takes the pin over. Lock held; on failure the pin is the caller's. */
static enum status accept_ready(const struct opening *opening, struct node *node, struct pin **pin,
                                struct fs_opened *ret_opened, struct err *err)
{
    struct fs *fs = opening->fs;
    struct fs_handle *handle = new_handle(opening, node);
    if (!handle)
        return no_memory(err);
    note_atime(fs, opening, pin_document(*pin));
    if (node->version == pin_version(*pin)->id) {
        handle->reads_node = true;
        node->readers++;
        if (!node->pin)
            node->pin = TAKE(*pin);
    } else {
        handle->direct = true;
        handle->pin = TAKE(*pin);
    }
    *ret_opened = (struct fs_opened){handle, handle->direct, !handle->direct};
    return STATUS_OK;
}

/* The node is open already and nobody has moved the catalogue since it was found to be the newest. A pin that is
 * registered needs no new registration (P14). */
static bool still_newest(struct fs *fs, const struct node *node)
{
    if (session_moved(fs->session, &fs->epoch_seen))
        fs->epoch++;
    return node->version && node->pin && node->epoch == fs->epoch;
}

/* Accepts the version if the node is its node, or if the kernel cannot be sent round; else ESTALE. */
static enum status lead_ready(struct opening *opening, struct pin *pin, uint64_t epoch, struct fs_opened *ret_opened,
                              struct err *err)
{
    struct fs *fs = opening->fs;
    enum status status = STATUS_STALE;
    fs_lock(fs);
    struct node *node = nodes_find(&fs->nodes, opening->key.number);
    bool same = node && node->version == pin_version(pin)->id;
    if (same)
        node->epoch = epoch;
    if (node && (same || opening->tried || !opening->caller->tid))
        status = accept_ready(opening, node, &pin, ret_opened, err);
    fs_unlock(fs);
    pin_close(pin);
    return status == STATUS_STALE ? send_round(opening, opening->key.document, NULL, err) : status;
}

/* The document was removed, and the node is opened once more through a descriptor that is still open on it. */
static enum status open_removed(struct opening *opening, struct fs_opened *ret_opened, struct err *err)
{
    struct fs *fs = opening->fs;
    enum status status = STATUS_STALE;
    fs_lock(fs);
    struct node *node = nodes_find(&fs->nodes, opening->key.number);
    struct pin *pin = node && node->pin ? pin_ref(node->pin) : NULL;
    if (pin)
        status = accept_ready(opening, node, &pin, ret_opened, err);
    fs_unlock(fs);
    pin_close(pin);
    return status == STATUS_STALE ? send_round(opening, 0, NULL, err) : status;
}

static enum status open_ready(struct opening *opening, struct pin *pin, struct fs_opened *ret_opened, struct err *err)
{
    struct fs *fs = opening->fs;
    enum status status = STATUS_OK;
    fs_lock(fs);
    struct node *node = nodes_find(&fs->nodes, opening->key.number);
    bool newest = !pin && node && still_newest(fs, node);
    uint64_t epoch = fs->epoch; /* before the row is read */
    struct pin *again = newest ? pin_ref(node->pin) : NULL;
    if (again)
        status = accept_ready(opening, node, &again, ret_opened, err);
    fs_unlock(fs);
    pin_close(again);
    if (newest)
        return status;
    if (!pin)
        status = pin_open(fs->session, opening->key.document, &pin, err);
    if (status == STATUS_NOT_FOUND)
        return open_removed(opening, ret_opened, err);
    if (status == STATUS_NO_DATA)
        return send_round(opening, 0, NULL, err); /* an unpublished file that is just being given up */
    if (status != STATUS_OK)
        return fs_fail(fs, status, "open", opening->key.document, err);
    return lead_ready(opening, pin, epoch, ret_opened, err);
}

/* ---- which of the two a reader sees ---- */

/* Exact open: (a) the document was never Ready, (b) the caller's process has the workspace open for writing. Lock held.
 */
static struct workspace *entitled(struct opening *opening, bool never_ready)
{
    struct fs *fs = opening->fs;
    struct workspace *found = NULL;
    struct node *node = NULL;
    while ((node = nodes_next(&fs->nodes, opening->key.document, node))) {
        struct workspace *each = node->workspace;
        bool may = each && !each->fresh && (never_ready || handle_writer(each, opening->tgid));
        if (may && (!found || each->number > found->number))
            found = each;
    }
    return found;
}

static enum status find_entitled(struct opening *opening, struct workspace **ret_workspace, struct err *err)
{
    struct fs *fs = opening->fs;
    *ret_workspace = NULL;
    fs_lock(fs);
    bool any = fs_has_workspace(fs, opening->key.document);
    const struct node *node = nodes_find(&fs->nodes, opening->key.number);
    bool unlinked = node && node->workspace && node->row.nlink == 0;
    fs_unlock(fs);
    if (!any)
        return STATUS_OK;
    struct document_row row = {0};
    enum status status = view_document(fs->view, opening->key.document, &row, err);
    if (status != STATUS_OK && status != STATUS_NOT_FOUND)
        return fs_fail(fs, status, "open", opening->key.document, err);
    opening->tgid = procfs_tgid(opening->caller->tid);
    fs_lock(fs);
    *ret_workspace = entitled(opening, (status == STATUS_OK && !row.version) || unlinked);
    if (*ret_workspace)
        workspace_hold(*ret_workspace);
    fs_unlock(fs);
    return STATUS_OK;
}

static enum status open_reader(struct opening *opening, struct fs_opened *ret_opened, struct err *err)
{
    struct workspace *workspace = NULL;
    enum status status = find_entitled(opening, &workspace, err);
    if (status != STATUS_OK)
        return status;
    return workspace ? lead(opening, workspace, ret_opened, err) : open_ready(opening, NULL, ret_opened, err);
}

/* ---- the second try ---- */

/* Takes the thread's wish, if it has one: this is its second try, whatever it opens. Out of a wish for just this open
 * come the workspace's hold and the pin. */
static void take_wish(struct opening *opening, struct workspace **ret_workspace, struct pin **ret_pin)
{
    struct fs *fs = opening->fs;
    fs_lock(fs);
    struct wish *wish = wish_take(fs, opening->caller->tid);
    opening->tried = wish && !wish->missed;
    if (opening->tried && wish->document == opening->key.document && wish->writes == opening->writes &&
        wish->truncates == opening->truncates) {
        bool looked = opening->writes || (wish->node && wish->node->number == opening->key.number);
        if (looked || !wish->workspace) /* a reader that came without a LOOKUP is judged anew */
            *ret_workspace = TAKE(wish->workspace);
        *ret_pin = TAKE(wish->pin);
    }
    fs_unlock(fs);
    wish_free(fs, wish);
}

static enum status open_file(struct opening *opening, struct fs_opened *ret_opened, struct err *err)
{
    struct workspace *workspace = NULL;
    struct pin *pin = NULL;
    take_wish(opening, &workspace, &pin);
    if (opening->writes) {
        opening->tgid = procfs_tgid(opening->caller->tid);
        return open_writer(opening, workspace, ret_opened, err);
    }
    if (workspace)
        return lead(opening, workspace, ret_opened, err);
    return pin ? open_ready(opening, pin, ret_opened, err) : open_reader(opening, ret_opened, err);
}

enum status fs_open_file(struct fs *fs, const struct fs_caller *caller, uint64_t number, int flags,
                         struct fs_opened *ret_opened, struct err *err)
{
    struct opening opening = {.fs = fs, .caller = caller, .flags = flags};
    opening.writes = writes(flags);
    opening.truncates = flags & O_TRUNC;
    enum status status = fs_key(fs, number, &opening.key, err);
    if (status == STATUS_OK && S_ISDIR(opening.key.mode))
        status = err_set(err, STATUS_IS_DIRECTORY, "open: it is a directory");
    if (status == STATUS_OK && !S_ISREG(opening.key.mode))
        status = err_set(err, STATUS_UNSUPPORTED, "open: it is no file");
    if (status == STATUS_OK && opening.writes)
        status = fs_writable(fs, err);
    return status == STATUS_OK ? open_file(&opening, ret_opened, err) : status;
}

/* ---- O_CREAT ---- */

/* What the name was reserved for, or leads to already. */
struct creation {
    struct opening opening;
    struct op op;
    int64_t dir;
    struct name name;
    uint64_t removals; /* before the name was reserved */
};

static enum status reserve(struct creation *creation, uint64_t parent, const char *name, uint32_t mode, struct err *err)
{
    struct fs *fs = creation->opening.fs;
    const struct fs_caller *caller = creation->opening.caller;
    struct node_key dir;
    enum status status = fs_writable(fs, err);
    if (status == STATUS_OK)
        status = fs_key(fs, parent, &dir, err);
    if (status == STATUS_OK)
        status = name_set(&creation->name, name, strlen(name));
    if (status != STATUS_OK)
        return status;
    creation->dir = dir.document;
    fs_wait_released(fs, dir.document);
    creation->op = (struct op){
        .kind = OP_RESERVE,
        .flags = creation->opening.flags & O_EXCL ? OP_EXCLUSIVE : 0,
        .dir = dir.document,
        .name = creation->name,
        .attr = {.mask = ATTR_MODE | ATTR_UID | ATTR_GID,
                 .mode = S_IFREG | (mode & 07777u & ~caller->umask),
                 .uid = caller->uid,
                 .gid = caller->gid},
    };
    creation->removals = atomic_load(&fs->removals);
    status = fs_apply(fs, &creation->op, 1, err);
    if (status == STATUS_OK)
        return STATUS_OK;
    (void)fs_fail(fs, status, "create a file in", dir.document, err);
    return status;
}

/* Answers with the workspace's node, whose hold passes on to the handle. The name is asked for again at each look-up,
 * as of every workspace. Not so the attributes of a node that nobody else knows yet: programs stat what they have just
 * created. */
static enum status hand_out(struct creation *creation, struct workspace *workspace, struct fs_entry *ret_entry,
                            struct fs_opened *ret_opened, struct err *err)
{
    struct fs *fs = creation->opening.fs;
    fs_lock(fs);
    enum status status = accept(&creation->opening, workspace->node, workspace, ret_opened, err);
    if (status == STATUS_OK)
        fs_fill_entry(fs, workspace->node, &creation->op.ret_document, 0, ret_entry);
    fs_unlock(fs);
    if (status != STATUS_OK)
        workspace_let_go(workspace);
    else if (creation->op.ret_created)
        ret_entry->attr_timeout = TIMEOUT_CREATED_S;
    return status;
}

/* O_CREAT|O_RDONLY of a document that turned out to be Ready. */
static enum status hand_out_ready(struct creation *creation, struct fs_entry *ret_entry, struct fs_opened *ret_opened,
                                  struct err *err)
{
    struct fs *fs = creation->opening.fs;
    struct pin *pin = NULL;
    enum status status = pin_open(fs->session, creation->op.ret_document.id, &pin, err);
    if (status != STATUS_OK)
        return status == STATUS_NO_DATA ? STATUS_NOT_FOUND : status;
    fs_lock(fs);
    struct node *node = fs_node_of(fs, pin_document(pin));
    if (node) {
        fs_fill_entry(fs, node, pin_document(pin), 0, ret_entry);
        status = accept_ready(&creation->opening, node, &pin, ret_opened, err);
        if (status != STATUS_OK)
            node->lookups--;
        nodes_drop(&fs->nodes, node);
    } else {
        status = no_memory(err);
    }
    fs_unlock(fs);
    pin_close(pin);
    return status;
}

/* The kernel believed the name absent, but there is something: answered as its open would be. NOT_FOUND: it has just
 * been removed. */
static enum status create_existing(struct creation *creation, struct fs_entry *ret_entry, struct fs_opened *ret_opened,
                                   struct err *err)
{
    struct opening *opening = &creation->opening;
    const struct document_row *row = &creation->op.ret_document;
    if (S_ISDIR(row->mode))
        return err_set(err, STATUS_IS_DIRECTORY, "create '%s': it is a directory", creation->name.bytes);
    if (!S_ISREG(row->mode))
        return send_round(opening, 0, NULL, err); /* a symlink is to be followed */
    if (row->version && !opening->writes)
        return hand_out_ready(creation, ret_entry, ret_opened, err);
    struct workspace *workspace = NULL;
    enum status status = workspace_for(opening->fs, row->id, opening->truncates, &workspace, err);
    if (status == STATUS_NOT_FOUND)
        return status;
    if (status != STATUS_OK)
        return fs_fail(opening->fs, status, "create", row->id, err);
    return hand_out(creation, workspace, ret_entry, ret_opened, err);
}

static enum status create_new(struct creation *creation, struct fs_entry *ret_entry, struct fs_opened *ret_opened,
                              struct err *err)
{
    struct fs *fs = creation->opening.fs;
    struct workspace_start start = {
        .document = creation->op.ret_document.id,
        .dir = creation->dir,
        .name = &creation->name,
        .row = &creation->op.ret_document,
        .removals = creation->removals,
    };
    struct workspace *workspace = NULL;
    enum status status = workspace_begin(fs, &start, &workspace, err);
    if (status == STATUS_OK)
        return hand_out(creation, workspace, ret_entry, ret_opened, err);
    struct op op = {.kind = OP_ABANDON, .document = creation->op.ret_document.id};
    IGNORE(fs_apply(fs, &op, 1, NULL)); /* where it fails the name stays taken until this session ends */
    return status;
}

enum status fs_create(struct fs *fs, const struct fs_caller *caller, uint64_t parent, const char *name, uint32_t mode,
                      int flags, struct fs_entry *ret_entry, struct fs_opened *ret_opened, struct err *err)
{
    wish_end(fs, caller->tid);
    struct creation creation = {.opening = {.fs = fs, .caller = caller, .flags = flags}};
    struct opening *opening = &creation.opening;
    opening->writes = writes(flags);
    opening->tgid = (flags & O_ACCMODE) != O_RDONLY ? procfs_tgid(caller->tid) : 0;
    for (int attempt = 0; attempt < LOOKS_MAX; attempt++) {
        enum status status = reserve(&creation, parent, name, mode, err);
        if (status != STATUS_OK)
            return status;
        opening->truncates = flags & O_TRUNC && !creation.op.ret_created;
        opening->key.document = creation.op.ret_document.id;
        if (creation.op.ret_created)
            return create_new(&creation, ret_entry, ret_opened, err);
        status = create_existing(&creation, ret_entry, ret_opened, err);
        if (status != STATUS_NOT_FOUND)
            return status;
    }
    return send_round(opening, 0, NULL, err); /* somebody removes it faster than it can be opened */
}
