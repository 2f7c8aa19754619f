/* publish.c - freeze, send, put, switch; or take back. */
#include "fs/publish.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "document/single.h"
#include "fs/attr.h"
#include "fs/stream.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* One publish, from the freeze to its end. */
struct attempt {
    struct workspace *workspace;
    struct draft *draft; /* the frozen one */
    struct publishing entry;
    uint32_t mode;                      /* of the document, as last seen */
    bool dirty, append_only, truncated; /* what the workspace was before the freeze */
    struct op op;
    int64_t version, seq;
    char blob[LIMIT_BLOB_NAME_BYTES];
};

/* ---- who is at it, so that a fatal signal can end it ---- */

static void enlist(struct fs *fs, struct attempt *attempt)
{
    fs_lock(fs);
    attempt->entry.next = fs->publishing;
    fs->publishing = &attempt->entry;
    attempt->mode = attempt->workspace->node->row.mode;
    fs_unlock(fs);
}

static void delist(struct fs *fs, struct publishing *entry)
{
    fs_lock(fs);
    struct publishing **link = &fs->publishing;
    while (*link != entry)
        link = &(*link)->next;
    *link = entry->next;
    fs_unlock(fs);
}

static void set_upload(struct fs *fs, struct publishing *entry, struct upload *upload)
{
    fs_lock(fs);
    entry->upload = upload;
    fs_unlock(fs);
}

static bool is_cancelled(const struct publishing *entry)
{
    return entry->cancelled && atomic_load(entry->cancelled);
}

void publish_look_for_cancelled(struct fs *fs)
{
    fs_lock(fs);
    for (struct publishing *each = fs->publishing; each; each = each->next) {
        if (!is_cancelled(each))
            continue;
        if (each->upload)
            upload_cancel(each->upload);
        pthread_mutex_lock(&each->workspace->lock);
        pthread_cond_broadcast(&each->workspace->changed);
        pthread_mutex_unlock(&each->workspace->lock);
    }
    fs_unlock(fs);
}

/* ---- freezing; the workspace's lock is held ---- */

static bool wanted(const struct workspace *workspace, enum publish_why why)
{
    bool owes = workspace->owes_new || workspace->owes_truncated;
    if (workspace->unlinked)
        return false;
    switch (why) {
    case PUBLISH_FLUSH: return workspace->dirty;
    case PUBLISH_RELEASE: return workspace->dirty || owes;
    case PUBLISH_NAME: return workspace->dirty || workspace->owes_new;
    case PUBLISH_TRUNCATE: return workspace->dirty;
    case PUBLISH_TIMER: return workspace->dirty && workspace->append_only && !workspace->killed;
    }
    return false;
}

/* The times and the mode as the writer left them: publishing changes neither mtime nor ctime. */
static struct attr_change attributes(const struct workspace *workspace, uint32_t mode)
{
    struct attr_change attr = {.mtime_ns = workspace->mtime_ns, .ctime_ns = workspace->ctime_ns};
    if (workspace->written)
        attr.mask = ATTR_MTIME | ATTR_CTIME;
    attr.mode = workspace->dirty ? attr_mode_written(mode, workspace->writer) : mode;
    if (attr.mode != mode)
        attr.mask |= ATTR_MODE;
    return attr;
}

static enum status freeze(struct attempt *attempt, struct err *err)
{
    struct workspace *workspace = attempt->workspace;
    struct draft *above = NULL;
    enum status status = draft_above(workspace->top, &above, err);
    if (status != STATUS_OK)
        return status;
    struct draft *draft = workspace->top;
    attempt->draft = draft;
    attempt->dirty = workspace->dirty;
    attempt->append_only = workspace->append_only;
    attempt->truncated = workspace->owes_truncated;
    attempt->op = (struct op){.kind = OP_PUT, .document = workspace->document};
    attempt->op.put.base = workspace->base;
    attempt->op.put.compare_base = session_settings(workspace->fs->session)->conflict_fail;
    attempt->op.put.appends = draft_appends(draft) && pin_version(draft->base)->id == workspace->base;
    attempt->op.put.attr = attributes(workspace, attempt->mode);
    workspace->frozen = draft;
    workspace->top = above;
    workspace->dirty = workspace->append_only = workspace->owes_truncated = false;
    return STATUS_OK;
}

/* Waits for its turn. *ret_go: there is something to publish, and the draft is frozen. */
static enum status begin(struct attempt *attempt, enum publish_why why, bool *ret_go, struct err *err)
{
    struct workspace *workspace = attempt->workspace;
    enum status status = STATUS_OK;
    *ret_go = false;
    pthread_mutex_lock(&workspace->lock);
    while (workspace->frozen && !is_cancelled(&attempt->entry))
        pthread_cond_wait(&workspace->changed, &workspace->lock);
    if (workspace->frozen) {
        status = err_set(err, STATUS_INTERRUPTED, "the program was killed while it waited");
    } else if (atomic_load(&workspace->poisoned) && !workspace->unlinked) {
        *err = workspace->poison;
        status = err_context(err, "an earlier write failed");
    } else if (wanted(workspace, why)) {
        status = freeze(attempt, err);
        *ret_go = status == STATUS_OK;
    }
    pthread_mutex_unlock(&workspace->lock);
    return status;
}

/* ---- sending ---- */

static enum status tell_unchanged(struct draft *draft, struct err *err)
{
    enum status status = STATUS_OK;
    for (uint64_t at = 0; draft->base && at < draft->size && status == STATUS_OK;) {
        struct extent extent = extents_at(&draft->extents, at);
        uint64_t len = extent.len < draft->size - at ? extent.len : draft->size - at;
        if (extent.kind == EXTENT_BASE)
            status = upload_unchanged(draft->stream.upload, draft->base, at, len, err);
        at += len;
    }
    return status;
}

/* The draft is frozen: nobody changes it any more, so its fields are read without the lock. */
static enum status send(struct attempt *attempt, struct err *err)
{
    struct workspace *workspace = attempt->workspace;
    struct draft *draft = attempt->draft;
    pthread_mutex_lock(&workspace->lock);
    stream_wait(draft);
    pthread_mutex_unlock(&workspace->lock);
    enum status status = stream_begin(draft, workspace->fs->session, err);
    if (status != STATUS_OK)
        return status;
    (void)snprintf(attempt->blob, sizeof attempt->blob, "%s", upload_blob(draft->stream.upload));
    set_upload(workspace->fs, &attempt->entry, draft->stream.upload);
    if (is_cancelled(&attempt->entry))
        upload_cancel(draft->stream.upload);
    status = tell_unchanged(draft, err);
    if (status == STATUS_OK)
        status = upload_finish(draft->stream.upload, draft->size, err);
    set_upload(workspace->fs, &attempt->entry, NULL);
    return status;
}

static struct upload *take_upload(struct attempt *attempt)
{
    pthread_mutex_lock(&attempt->workspace->lock);
    struct upload *upload = stream_take(attempt->draft);
    pthread_mutex_unlock(&attempt->workspace->lock);
    return upload;
}

/* Of a document with several names only the one that it was opened by is known to the kernel as it is now, and not even
 * that one where no second walk led to the workspace. */
static struct own_commit own_publish(struct workspace *workspace, int64_t seq, const struct document_row *row)
{
    struct own_commit commit = {.seq = seq};
    fs_lock(workspace->fs);
    if (workspace->unwalked)
        commit.seq = 0;
    else if (row->nlink > 1)
        commit.dir = workspace->dir ? workspace->dir : -1;
    fs_unlock(workspace->fs);
    pthread_mutex_lock(&workspace->lock);
    commit.name_key = own_name_key(&workspace->name);
    pthread_mutex_unlock(&workspace->lock);
    return commit;
}

static enum status put(struct attempt *attempt, struct err *err)
{
    struct fs *fs = attempt->workspace->fs;
    struct upload *upload = take_upload(attempt);
    attempt->version = upload_version(upload);
    attempt->op.put.upload = upload;
    unsigned epoch = own_begin(&fs->own);
    enum status status = single_publish(fs->session, &attempt->op, &attempt->seq, err);
    struct own_commit commit = {0};
    if (status == STATUS_OK)
        commit = own_publish(attempt->workspace, attempt->seq, &attempt->op.ret_document);
    own_end(&fs->own, epoch, &commit);
    return status;
}

/* ---- the end ---- */

/* The frozen draft is the content again, with what was written on top of it since. The workspace's lock is held and may
 * be let go meanwhile; returns the draft to free. */
static struct draft *take_back(struct workspace *workspace)
{
    struct draft *above = workspace->top;
    struct err err = {0};
    stream_wait(above);
    enum status status = draft_merge(workspace->frozen, above, &err);
    if (workspace->frozen->gone && status == STATUS_OK)
        status = err_set(&err, STATUS_NO_SPACE, "bytes that had left the spool before this failed are lost");
    if (status != STATUS_OK) {
        workspace->poison = err;
        atomic_store(&workspace->poisoned, true);
    }
    workspace->top = workspace->frozen;
    workspace->frozen = NULL;
    workspace->top->read_back = workspace->top->read_back || above->read_back;
    return above;
}

static void fail(struct attempt *attempt, const struct err *err)
{
    struct workspace *workspace = attempt->workspace;
    struct upload *upload = take_upload(attempt);
    upload_abandon(upload, err->message);
    pthread_mutex_lock(&workspace->lock);
    struct draft *above = take_back(workspace);
    workspace->append_only = attempt->append_only && (!workspace->dirty || workspace->append_only);
    workspace->dirty = workspace->dirty || attempt->dirty;
    workspace->owes_truncated = attempt->truncated;
    workspace->failed = true;
    if (!atomic_load(&workspace->poisoned))
        workspace->poison = *err;
    pthread_cond_broadcast(&workspace->changed);
    pthread_mutex_unlock(&workspace->lock);
    draft_free(above);
}

/* The published version is the base now. Where it was replaced before it could be pinned, the bytes in the spool stay
 * the content. Returns the draft to free. */
static struct draft *switch_base(struct attempt *attempt, struct pin *pin)
{
    struct workspace *workspace = attempt->workspace;
    struct draft *old = NULL;
    pthread_mutex_lock(&workspace->lock);
    workspace->base = attempt->version;
    workspace->failed = workspace->killed = false;
    if (pin) {
        old = workspace->frozen;
        workspace->top->below = NULL;
        workspace->top->base = pin_ref(pin);
        workspace->frozen = NULL;
    } else {
        old = take_back(workspace);
    }
    pthread_cond_broadcast(&workspace->changed);
    pthread_mutex_unlock(&workspace->lock);
    return old;
}

/* A node whose version was only appended to goes on with the new one, its readers too. Returns the pin to close after
 * the kernel was told. Table lock held. */
static struct pin *take_node(struct attempt *attempt, struct pin *pin, uint64_t *ret_node)
{
    struct fs *fs = attempt->workspace->fs;
    *ret_node = 0;
    if (!pin || !attempt->op.put.ret_takes_node)
        return NULL;
    struct node *node = nodes_of(&fs->nodes, attempt->workspace->document, attempt->op.put.base);
    if (!node || !attempt->op.put.base)
        return NULL;
    struct pin *old = node->pin;
    node->pin = node->readers ? pin_ref(pin) : NULL;
    node_grow(node, pin_document(pin));
    *ret_node = node->number;
    return old;
}

static void note_ready(struct fs *fs, int64_t document)
{
    struct node *node = NULL;
    fs->epoch++;
    while ((node = nodes_next(&fs->nodes, document, node))) {
        if (!node->workspace)
            continue;
        pthread_mutex_lock(&node->workspace->lock);
        node->workspace->owes_new = false;
        pthread_mutex_unlock(&node->workspace->lock);
    }
}

static struct pin *pin_own_version(struct attempt *attempt)
{
    struct workspace *workspace = attempt->workspace;
    struct pin *pin = NULL;
    enum status status = pin_published(attempt->draft->base, workspace->fs->session, &attempt->op.ret_document,
                                       attempt->seq, &pin, NULL);
    if (status == STATUS_OK && pin_version(pin)->id == attempt->version)
        return pin;
    pin_close(status == STATUS_OK ? pin : NULL);
    return NULL; /* replaced by another mount already */
}

static void succeed(struct attempt *attempt)
{
    struct workspace *workspace = attempt->workspace;
    struct fs *fs = workspace->fs;
    struct pin *pin = pin_own_version(attempt);
    uint64_t base_size = attempt->draft->base ? pin_version(attempt->draft->base)->size_bytes : 0;
    uint64_t number = 0;
    fs_lock(fs);
    note_ready(fs, workspace->document);
    struct pin *old = take_node(attempt, pin, &number);
    fs_unlock(fs);
    fs_note_row(fs, &attempt->op.ret_document);
    atomic_fetch_add(&fs->changes, 1);
    if (number)
        fs->options.notify.inval_node(fs->options.notify.context, number,
                                      (int64_t)(base_size / PAGE_BYTES * PAGE_BYTES), 0);
    pin_close(old);
    draft_free(switch_base(attempt, pin));
    pin_close(pin);
}

/* S17: the last name was removed here, so nobody misses the version. The removal's commit may be seen before its mark.
 */
static enum status unlinked_here(struct attempt *attempt, enum status status, struct err *err)
{
    if (status == STATUS_STALE)
        own_settle(&attempt->workspace->fs->own);
    pthread_mutex_lock(&attempt->workspace->lock);
    bool unlinked = attempt->workspace->unlinked;
    pthread_mutex_unlock(&attempt->workspace->lock);
    if (!unlinked)
        return status;
    err_clear(err);
    return STATUS_OK; /* S17 */
}

enum status publish(struct workspace *workspace, enum publish_why why, const atomic_bool *cancelled, struct err *err)
{
    struct fs *fs = workspace->fs;
    struct err own = {0};
    struct attempt attempt = {.workspace = workspace};
    attempt.entry = (struct publishing){.workspace = workspace, .cancelled = cancelled};
    enlist(fs, &attempt);
    bool go = false;
    enum status status = begin(&attempt, why, &go, &own);
    if (go) {
        status = send(&attempt, &own);
        if (status == STATUS_OK)
            status = put(&attempt, &own);
        if (status == STATUS_OK)
            succeed(&attempt);
        else
            fail(&attempt, &own);
    }
    delist(fs, &attempt.entry);
    if (status == STATUS_OK)
        return STATUS_OK;
    status = unlinked_here(&attempt, status, &own);
    if (status == STATUS_OK)
        return status;
    if (attempt.blob[0])
        (void)err_context(&own, "blob %s", attempt.blob);
    if (err)
        *err = own;
    return fs_fail(fs, status, "publish", workspace->document, err);
}

/* ---- keeping ---- */

static void describe(struct workspace *workspace, const struct err *reason, struct recover_item *item)
{
    struct fs *fs = workspace->fs;
    *item = (struct recover_item){.document = workspace->document, .utc_ns = fs_now_ns(fs)};
    view_describe(fs->view, workspace->document, item->name, sizeof item->name);
    (void)snprintf(item->reason, sizeof item->reason, "%.500s", reason->message);
    if (strncmp(item->name, "document ", 9) != 0 || !workspace->name.len)
        return;
    AUTO_BUF struct buf name; /* its row is gone: the last name that was known */
    buf_init(&name, sizeof item->name - 1);
    if (quote_text(&name, workspace->name.bytes, workspace->name.len) == STATUS_OK)
        (void)snprintf(item->name, sizeof item->name, "%s", name.bytes);
}

void publish_keep(struct workspace *workspace, const char *event, const struct err *reason, bool told_already)
{
    struct fs *fs = workspace->fs;
    pthread_mutex_lock(&workspace->lock);
    while (workspace->frozen)
        pthread_cond_wait(&workspace->changed, &workspace->lock);
    stream_wait(workspace->top);
    struct upload *upload = stream_take(workspace->top);
    workspace->dirty = workspace->owes_truncated = false;
    pthread_mutex_unlock(&workspace->lock);
    upload_abandon(upload, reason->message);
    struct recover_item item;
    describe(workspace, reason, &item);
    bool kept = false;
    struct err lost = {0};
    enum status status = draft_keep(workspace->top, &fs->recovery, &item, &kept, &lost);
    struct err told = *reason;
    if (status != STATUS_OK)
        (void)err_context(&told, "its bytes are LOST, keeping them failed (%s)", lost.message);
    else if (kept && item.missing_bytes)
        (void)err_context(&told, "kept as %s but for %" PRIu64 " of %" PRIu64 " bytes", item.id, item.missing_bytes,
                          item.size_bytes);
    else if (kept)
        (void)err_context(&told, "its %" PRIu64 " bytes are kept as %s", item.size_bytes, item.id);
    else if (told_already)
        return;
    else
        (void)err_context(&told, "there were no bytes to keep");
    fs->options.notify.report(fs->options.notify.context, event, item.name, &told);
}
