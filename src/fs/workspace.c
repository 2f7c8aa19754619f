/* workspace.c - beginning, changing and letting go of a workspace. Publishing stands in publish.c. */
#include "fs/workspace.h"

#include "base/cleanup.h"
#include "fs/attr.h"
#include "fs/stream.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <string.h>

/* ---- beginning ---- */

struct beginning {
    struct document_row row;
    struct pin *base;
};

/* What the workspace begins from. A pin says for certain which version it is. */
static enum status find_base(struct fs *fs, const struct workspace_start *start, struct beginning *ret, struct err *err)
{
    struct document_row *row = &ret->row;
    enum status status = STATUS_OK;
    if (start->row)
        *row = *start->row;
    else
        status = view_document(fs->view, start->document, row, err);
    if (status != STATUS_OK || start->truncate || !row->version)
        return status;
    status = pin_open(fs->session, start->document, &ret->base, err);
    if (status == STATUS_OK)
        *row = *pin_document(ret->base);
    return status;
}

static enum status new_draft(struct workspace *workspace, struct pin *base, struct err *err)
{
    struct fs *fs = workspace->fs;
    struct draft_origin origin = {
        .lock = &workspace->lock,
        .changed = &workspace->changed,
        .spools = &fs->spools,
        .document = workspace->document,
        .name = &workspace->name,
        .block_bytes = session_settings(fs->session)->block_bytes,
    };
    return draft_new(&origin, base, &workspace->top, err);
}

static void workspace_free(struct workspace *workspace)
{
    draft_free(workspace->top);
    (void)pthread_mutex_destroy(&workspace->lock);
    (void)pthread_cond_destroy(&workspace->changed);
    free(workspace);
}

static void set_start(struct workspace *workspace, const struct workspace_start *start, const struct document_row *row)
{
    int64_t now_ns = fs_now_ns(workspace->fs);
    workspace->dir = start->dir;
    workspace->fresh = start->fresh;
    if (start->name)
        workspace->name = *start->name;
    workspace->base = row->version;
    workspace->owes_new = row->version == 0;
    workspace->owes_truncated = start->truncate && row->version;
    workspace->written = workspace->owes_truncated;
    workspace->mtime_ns = start->truncate ? now_ns : row->mtime_ns;
    workspace->ctime_ns = start->truncate ? now_ns : row->ctime_ns;
}

/* Others may know it from here on. */
static bool enter(struct workspace *workspace, const struct document_row *row)
{
    struct fs *fs = workspace->fs;
    fs_lock(fs);
    workspace->node = nodes_add(&fs->nodes, row, 0);
    bool entered = workspace->node != NULL;
    if (entered) {
        workspace->node->workspace = workspace;
        workspace->node->users++;
        workspace->holders = 1;
        workspace->number = fs->next_workspace++;
        fs->workspaces++;
    }
    fs_unlock(fs);
    atomic_fetch_add(&fs->changes, 1);
    return entered;
}

/* Whoever removes a document marks its workspaces; this one may not have been among them yet (S17). */
static void look_for_removal(struct workspace *workspace, uint64_t removals)
{
    struct fs *fs = workspace->fs;
    struct document_row row;
    if (atomic_load(&fs->removals) == removals ||
        view_document(fs->view, workspace->document, &row, NULL) != STATUS_NOT_FOUND)
        return;
    pthread_mutex_lock(&workspace->lock);
    workspace->unlinked = true;
    pthread_mutex_unlock(&workspace->lock);
}

enum status workspace_begin(struct fs *fs, const struct workspace_start *start, struct workspace **ret_workspace,
                            struct err *err)
{
    struct beginning beginning = {.base = NULL};
    uint64_t removals = start->row ? start->removals : atomic_load(&fs->removals);
    enum status status = find_base(fs, start, &beginning, err);
    if (status != STATUS_OK)
        return status;
    struct workspace *workspace = calloc(1, sizeof *workspace);
    if (!workspace) {
        pin_close(beginning.base);
        return err_set(err, STATUS_NO_MEMORY, "open a document: out of memory");
    }
    workspace->fs = fs;
    workspace->document = start->document;
    (void)pthread_mutex_init(&workspace->lock, NULL); /* cannot fail with default attributes on Linux */
    (void)pthread_cond_init(&workspace->changed, NULL);
    set_start(workspace, start, &beginning.row);
    status = new_draft(workspace, beginning.base, err);
    if (status == STATUS_OK && !enter(workspace, &beginning.row))
        status = err_set(err, STATUS_NO_MEMORY, "open a document: out of memory");
    if (status != STATUS_OK) {
        workspace_free(workspace);
        return status;
    }
    look_for_removal(workspace, removals);
    *ret_workspace = workspace;
    return STATUS_OK;
}

/* ---- finding, holding, letting go ---- */

static bool joinable(const struct workspace *workspace)
{
    return !workspace->fresh && !workspace->ending && !atomic_load(&workspace->poisoned);
}

/* The newest that may be joined, or of any state. Table lock held. */
static struct workspace *newest_of(struct fs *fs, int64_t document, bool any)
{
    struct workspace *newest = NULL;
    struct node *node = NULL;
    while ((node = nodes_next(&fs->nodes, document, node))) {
        struct workspace *each = node->workspace;
        if (each && (any || joinable(each)) && (!newest || each->number > newest->number))
            newest = each;
    }
    return newest;
}

struct workspace *workspace_any(struct fs *fs, int64_t document)
{
    return newest_of(fs, document, true);
}

/* Two writers that found no workspace have each begun one: the later joins the earlier. Table lock held. */
static struct workspace *earlier_than(struct fs *fs, const struct workspace *workspace)
{
    struct workspace *earlier = NULL;
    struct node *node = NULL;
    if (workspace->handles || workspace->holders > 1)
        return NULL; /* others have joined it already */
    while ((node = nodes_next(&fs->nodes, workspace->document, node)))
        if (node->workspace && joinable(node->workspace) && node->workspace->number < workspace->number)
            earlier = node->workspace;
    return earlier;
}

enum status workspace_for(struct fs *fs, int64_t document, bool truncates, struct workspace **ret_workspace,
                          struct err *err)
{
    struct workspace *found = NULL, *begun = NULL;
    fs_lock(fs);
    found = truncates ? NULL : newest_of(fs, document, false);
    if (found)
        workspace_hold(found);
    fs_unlock(fs);
    *ret_workspace = found;
    if (found)
        return STATUS_OK;
    struct workspace_start start = {.document = document, .truncate = truncates, .fresh = truncates};
    enum status status = workspace_begin(fs, &start, &begun, err);
    if (status != STATUS_OK)
        return status;
    fs_lock(fs);
    found = truncates ? NULL : earlier_than(fs, begun);
    if (found)
        workspace_hold(found);
    fs_unlock(fs);
    *ret_workspace = found ? found : begun;
    if (found)
        workspace_let_go(begun);
    return STATUS_OK;
}

void workspace_hold(struct workspace *workspace)
{
    workspace->holders++;
}

/* Takes it out of the table. Whether it was the last of a document that was never Ready. Table lock held. */
static bool leave(struct workspace *workspace)
{
    struct fs *fs = workspace->fs;
    struct node *node = workspace->node;
    node->workspace = NULL;
    node->users--;
    nodes_drop(&fs->nodes, node);
    fs->workspaces--;
    return workspace->owes_new && !workspace->unlinked && !fs_has_workspace(fs, workspace->document);
}

void workspace_let_go(struct workspace *workspace)
{
    struct fs *fs = workspace->fs;
    int64_t document = workspace->document;
    fs_lock(fs);
    bool last = --workspace->holders == 0;
    bool abandon = last && leave(workspace);
    fs_unlock(fs);
    if (!last)
        return;
    atomic_fetch_add(&fs->changes, 1);
    workspace_free(workspace);
    if (!abandon)
        return;
    struct op op = {.kind = OP_ABANDON, .document = document};
    IGNORE(fs_apply(fs, &op, 1, NULL)); /* where it fails the name stays taken until this session ends */
}

/* ---- changing; the lock is held ---- */

static enum status poisoned(struct workspace *workspace, struct err *err)
{
    if (!atomic_load(&workspace->poisoned))
        return STATUS_OK;
    if (err)
        *err = workspace->poison;
    return err_context(err, "an earlier write failed");
}

/* S9: from now on its close fails. */
static enum status poison(struct workspace *workspace, enum status status, struct err *err)
{
    if (status == STATUS_OK)
        return status;
    workspace->poison = *err;
    atomic_store(&workspace->poisoned, true);
    return status;
}

static void note_written(struct workspace *workspace, bool append, uid_t uid)
{
    workspace->append_only = append && (!workspace->dirty || workspace->append_only);
    workspace->dirty = true;
    workspace->written = true;
    workspace->timer_failed = false;
    workspace->mtime_ns = workspace->ctime_ns = fs_now_ns(workspace->fs);
    workspace->written_boot_ms = fs_boot_ms(workspace->fs);
    if (uid)
        workspace->writer = uid;
}

/* One try. *ret_again: the spool is full, and settled blocks may leave it. */
static enum status write_once(struct workspace *workspace, struct workspace_write *write, bool *ret_again,
                              struct err *err)
{
    pthread_mutex_lock(&workspace->lock);
    struct draft *draft = workspace->top;
    enum status status = poisoned(workspace, err);
    if (status != STATUS_OK) {
        *ret_again = false; /* no room helps it any more */
        pthread_mutex_unlock(&workspace->lock);
        return status;
    }
    if (write->at_end)
        write->offset = draft->size;
    bool append = write->append && write->offset == draft->size;
    status = draft_write(draft, write->offset, write->bytes, write->len, err);
    *ret_again = *ret_again && status == STATUS_NO_SPACE && draft->stream.upload && !draft->read_back;
    if (!*ret_again)
        status = poison(workspace, status, err);
    bool streams = false;
    if (status == STATUS_OK) {
        note_written(workspace, append, write->uid);
        streams = stream_enter(draft, write->offset, write->len);
    } else if (*ret_again) {
        draft->stream.users++; /* stream_make_room uses the upload without the lock */
    }
    pthread_mutex_unlock(&workspace->lock);
    if (streams)
        stream_wrote(draft, workspace->fs->session, write->offset, write->len);
    if (*ret_again)
        *ret_again = stream_make_room(draft, workspace->fs->session);
    return status;
}

enum status workspace_write(struct workspace *workspace, const struct workspace_write *write, struct err *err)
{
    struct workspace_write mine = *write;
    struct err own = {0};
    bool again = true;
    enum status status = write_once(workspace, &mine, &again, &own);
    while (status == STATUS_NO_SPACE && again)
        status = write_once(workspace, &mine, &again, &own);
    if (status == STATUS_NO_SPACE && !atomic_load(&workspace->poisoned)) {
        again = false; /* no room could be made: this time it counts */
        status = write_once(workspace, &mine, &again, &own);
    }
    if (status != STATUS_OK && err)
        *err = own;
    return status;
}

enum status workspace_read(struct workspace *workspace, uint64_t offset, void *ret_bytes, size_t len, size_t *ret_len,
                           const atomic_bool *cancelled, struct err *err)
{
    pthread_mutex_lock(&workspace->lock);
    struct draft *draft = workspace->top;
    draft->read_back = true;
    draft->stream.users++; /* a publish waits with taking the draft away */
    pthread_mutex_unlock(&workspace->lock);
    enum status status = draft_read(draft, offset, ret_bytes, len, ret_len, cancelled, err);
    pthread_mutex_lock(&workspace->lock);
    if (--draft->stream.users == 0)
        pthread_cond_broadcast(&workspace->changed);
    pthread_mutex_unlock(&workspace->lock);
    return status;
}

/* What was changed after it was handed to the upload is told to it (P2), without the lock. */
static void touch(struct workspace *workspace, struct draft *draft, uint64_t from, uint64_t to)
{
    if (to > from)
        stream_wrote(draft, workspace->fs->session, from, to - from);
    else
        stream_wrote(draft, workspace->fs->session, from, 0);
}

enum status workspace_resize(struct workspace *workspace, uint64_t size, uid_t uid, struct err *err)
{
    struct err own = {0};
    pthread_mutex_lock(&workspace->lock);
    struct draft *draft = workspace->top;
    uint64_t before = draft->size;
    enum status status = poisoned(workspace, &own);
    if (status == STATUS_OK) {
        status = poison(workspace, draft_resize(draft, size, &own), &own);
        if (status == STATUS_OK)
            note_written(workspace, false, uid);
    }
    draft->stream.users++;
    pthread_mutex_unlock(&workspace->lock);
    touch(workspace, draft, size < before ? size : before, size < before ? before : size);
    if (status != STATUS_OK && err)
        *err = own;
    return status;
}

static enum status allocate(struct draft *draft, int mode, uint64_t offset, uint64_t len, struct err *err)
{
    uint64_t end = offset + len;
    bool keep = mode & FALLOC_FL_KEEP_SIZE;
    enum status status = !keep && end > draft->size ? draft_resize(draft, end, err) : STATUS_OK;
    if (status != STATUS_OK || !(mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) || offset >= draft->size)
        return status;
    return draft_zero(draft, offset, end < draft->size ? len : draft->size - offset, err);
}

enum status workspace_allocate(struct workspace *workspace, int mode, uint64_t offset, uint64_t len, uid_t uid,
                               struct err *err)
{
    if (mode & ~(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE))
        return err_set(err, STATUS_UNSUPPORTED, "this mode of fallocate");
    if (!len || offset > INT64_MAX || len > INT64_MAX - offset)
        return err_set(err, len ? STATUS_TOO_LARGE : STATUS_INVALID, "fallocate");
    if (mode == FALLOC_FL_KEEP_SIZE)
        return STATUS_OK; /* space is never reserved */
    struct err own = {0};
    pthread_mutex_lock(&workspace->lock);
    struct draft *draft = workspace->top;
    enum status status = poisoned(workspace, &own);
    if (status == STATUS_OK) {
        status = poison(workspace, allocate(draft, mode, offset, len, &own), &own);
        if (status == STATUS_OK)
            note_written(workspace, false, uid);
    }
    draft->stream.users++;
    pthread_mutex_unlock(&workspace->lock);
    touch(workspace, draft, offset, status == STATUS_OK ? offset + len : offset);
    if (status != STATUS_OK && err)
        *err = own;
    return status;
}

enum status workspace_seek(struct workspace *workspace, uint64_t offset, bool hole, uint64_t *ret_offset,
                           struct err *err)
{
    pthread_mutex_lock(&workspace->lock);
    enum status status = draft_seek(workspace->top, offset, hole, ret_offset);
    pthread_mutex_unlock(&workspace->lock);
    return status == STATUS_OK ? status : err_set(err, status, "lseek beyond the end");
}

/* ---- what it shows and owes ---- */

void workspace_show(struct workspace *workspace, struct document_row *row)
{
    pthread_mutex_lock(&workspace->lock);
    row->size_bytes = workspace->top->size;
    if (workspace->written) {
        row->mtime_ns = workspace->mtime_ns;
        if (workspace->ctime_ns > row->ctime_ns)
            row->ctime_ns = workspace->ctime_ns;
        if (workspace->dirty)
            row->mode = attr_mode_written(row->mode, workspace->writer);
    }
    if (workspace->unlinked)
        row->nlink = 0;
    pthread_mutex_unlock(&workspace->lock);
}

bool workspace_owes(struct workspace *workspace)
{
    pthread_mutex_lock(&workspace->lock);
    bool owes = !workspace->unlinked && (workspace->dirty || workspace->owes_new || workspace->owes_truncated);
    pthread_mutex_unlock(&workspace->lock);
    return owes;
}

/* ---- what happens to the document happens to all its workspaces ---- */

void workspaces_set_times(struct fs *fs, int64_t document, const struct attr_change *change, int64_t now_ns)
{
    struct node *node = NULL;
    while ((node = nodes_next(&fs->nodes, document, node))) {
        struct workspace *each = node->workspace;
        if (!each)
            continue;
        pthread_mutex_lock(&each->lock);
        if (change->mask & ATTR_MTIME) {
            each->mtime_ns = change->mtime_ns;
            each->written = true;
        }
        if (change->mask & ATTR_MODE)
            each->writer = 0; /* chmod after a write says the last word */
        each->ctime_ns = now_ns;
        pthread_mutex_unlock(&each->lock);
    }
}

void workspaces_unlinked(struct fs *fs, int64_t document)
{
    struct node *node = NULL;
    while ((node = nodes_next(&fs->nodes, document, node))) {
        struct workspace *each = node->workspace;
        if (!each)
            continue;
        pthread_mutex_lock(&each->lock);
        each->unlinked = true;
        if (each->top->stream.upload)
            upload_cancel(each->top->stream.upload);
        if (each->frozen && each->frozen->stream.upload)
            upload_cancel(each->frozen->stream.upload);
        pthread_mutex_unlock(&each->lock);
    }
}

void workspaces_renamed(struct fs *fs, int64_t document, int64_t dir, const struct name *name)
{
    struct node *node = NULL;
    while ((node = nodes_next(&fs->nodes, document, node))) {
        struct workspace *each = node->workspace;
        if (!each)
            continue;
        each->dir = dir;
        pthread_mutex_lock(&each->lock);
        each->name = *name;
        pthread_mutex_unlock(&each->lock);
    }
}
