/* fs.c - opening and closing the filesystem, and what its files share. */
#include "base/cleanup.h"
#include "fs/attr.h"
#include "fs/handle.h"
#include "fs/publish.h"
#include "fs/wish.h"

#include <string.h>

/* ---- opening and closing ---- */

static void tell_dropped(void *context, const struct recover_item *item)
{
    struct fs *fs = context;
    struct err err = {0};
    (void)err_set(&err, STATUS_NO_SPACE, "kept bytes %s were dropped to make room (recovery_max)", item->id);
    fs->options.notify.report(fs->options.notify.context, "recovery_dropped", item->name, &err);
}

static void ignore_entry(void *context, uint64_t parent, const struct name *name)
{
    (void)context, (void)parent, (void)name;
}

static void ignore_node(void *context, uint64_t node, int64_t offset, int64_t len)
{
    (void)context, (void)node, (void)offset, (void)len;
}

static void ignore_report(void *context, const char *event, const char *document, const struct err *err)
{
    (void)context, (void)event, (void)document, (void)err;
}

static enum status copy_options(struct fs *fs, const struct fs_options *options, struct err *err)
{
    fs->options = *options;
    struct fs_notify *notify = &fs->options.notify;
    notify->inval_entry = notify->inval_entry ? notify->inval_entry : ignore_entry;
    notify->inval_node = notify->inval_node ? notify->inval_node : ignore_node;
    notify->report = notify->report ? notify->report : ignore_report;
    fs->options.spool = strdup(options->spool);
    fs->options.recovery = strdup(options->recovery);
    if (!fs->options.spool || !fs->options.recovery)
        return err_set(err, STATUS_NO_MEMORY, "open the filesystem: out of memory");
    fs->recovery = (struct recovery){
        .folder = fs->options.recovery,
        .bytes_max = options->recovery_max,
        .dropped = tell_dropped,
        .context = fs,
    };
    return STATUS_OK;
}

static enum status add_root(struct fs *fs, struct err *err)
{
    struct document_row row;
    enum status status = view_document(fs->view, CATALOGUE_ROOT, &row, err);
    if (status != STATUS_OK)
        return fs_fail(fs, status, "open the root directory of", CATALOGUE_ROOT, err);
    struct node *root = nodes_add(&fs->nodes, &row, 0);
    if (!root)
        return err_set(err, STATUS_NO_MEMORY, "open the filesystem: out of memory");
    INVARIANT(root->number == FS_ROOT);
    root->lookups = 1; /* the kernel never forgets it */
    return STATUS_OK;
}

/* Where the change log stands now: what was before it nobody here has seen. */
static enum status start_watching(struct fs *fs, struct err *err)
{
    struct view_change changes[64];
    size_t count = 0;
    bool all = false;
    (void)session_moved(fs->session, &fs->epoch_seen); /* whatever it says, the next one compares with now */
    (void)session_moved(fs->session, &fs->watch_seen);
    fs->watch_seq = session_known_seq(fs->session);
    enum status status = STATUS_OK;
    do
        status = view_changes(fs->view, &fs->watch_seq, changes, sizeof changes / sizeof *changes, &count, &all, err);
    while (status == STATUS_OK && (count || all));
    return status;
}

enum status fs_open(struct view *view, const struct fs_options *options, struct fs **ret_fs, struct err *err)
{
    struct fs *fs = calloc(1, sizeof *fs);
    if (!fs)
        return err_set(err, STATUS_NO_MEMORY, "open the filesystem: out of memory");
    fs->view = view;
    fs->session = view_session(view);
    fs->spools.fd = -1;
    (void)pthread_mutex_init(&fs->lock, NULL); /* cannot fail with default attributes on Linux */
    (void)pthread_cond_init(&fs->released, NULL);
    enum status status = copy_options(fs, options, err);
    if (status == STATUS_OK)
        status = own_init(&fs->own, err);
    if (status == STATUS_OK)
        status = nodes_init(&fs->nodes, err);
    if (status == STATUS_OK && !options->read_only)
        status = spools_init(&fs->spools, options->spool, options->spool_max, err);
    if (status == STATUS_OK)
        status = add_root(fs, err);
    if (status == STATUS_OK)
        status = start_watching(fs, err);
    if (status != STATUS_OK) {
        fs_close(fs, NULL);
        return status;
    }
    *ret_fs = fs;
    return STATUS_OK;
}

/* Unpublished bytes of a workspace that is still open go to the recovery folder. Whether there were any. */
static bool give_up(struct workspace *workspace)
{
    bool owes = workspace_owes(workspace);
    if (!owes)
        return false;
    struct err err = {0};
    (void)err_set(&err, STATUS_UNFINISHED, "the filesystem was unmounted while it was open");
    publish_keep(workspace, "unmounted", &err, false);
    return true;
}

void fs_close(struct fs *fs, unsigned *ret_kept)
{
    unsigned kept = 0;
    if (!fs)
        return;
    while (fs->open) {
        struct fs_handle *handle = fs->open;
        bool last = false;
        fs_lock(fs);
        if (handle->workspace)
            last = handle_leave(handle);
        fs_unlock(fs);
        if (last)
            kept += give_up(handle->workspace);
        handle_free(fs, handle);
    }
    wish_free(fs, wish_take_old(fs, INT64_MAX));
    nodes_done(&fs->nodes);
    own_done(&fs->own);
    spools_done(&fs->spools);
    (void)pthread_mutex_destroy(&fs->lock);
    (void)pthread_cond_destroy(&fs->released);
    free((void *)(uintptr_t)fs->options.spool); /* owned copies */
    free((void *)(uintptr_t)fs->options.recovery);
    free(fs);
    if (ret_kept)
        *ret_kept = kept;
}

static void count_workspace(const struct workspace *workspace, struct fs_activity *activity)
{
    const struct draft *draft = workspace->frozen ? workspace->frozen : workspace->top;
    if (workspace->unlinked || !(workspace->dirty || workspace->frozen || workspace->owes_new))
        return;
    activity->dirty_workspaces++;
    activity->bytes_unsent += draft->size;
}

struct fs_activity fs_activity(struct fs *fs)
{
    struct fs_activity activity = {0};
    fs_lock(fs);
    activity.open_handles = fs->handles;
    activity.nodes = fs->nodes.count;
    activity.workspaces = fs->workspaces;
    for (const struct publishing *each = fs->publishing; each; each = each->next)
        activity.uploads += each->upload != NULL;
    for (size_t i = 0; fs->workspaces && i < fs->nodes.buckets; i++) {
        for (struct node *node = fs->nodes.numbers[i]; node; node = node->by_number) {
            if (!node->workspace)
                continue;
            pthread_mutex_lock(&node->workspace->lock);
            count_workspace(node->workspace, &activity);
            pthread_mutex_unlock(&node->workspace->lock);
        }
    }
    fs_unlock(fs);
    return activity;
}

/* ---- helpers ---- */

enum status fs_key(struct fs *fs, uint64_t number, struct node_key *ret_key, struct err *err)
{
    fs_lock(fs);
    const struct node *node = nodes_find(&fs->nodes, number);
    if (node)
        *ret_key = (struct node_key){number, node->document, node->version, node->row.mode};
    fs_unlock(fs);
    return node ? STATUS_OK : err_set(err, STATUS_STALE, "node %llu is not known", (unsigned long long)number);
}

enum status fs_writable(const struct fs *fs, struct err *err)
{
    return fs->options.read_only ? err_set(err, STATUS_READ_ONLY, "the filesystem is mounted read-only") : STATUS_OK;
}

enum status fs_apply(struct fs *fs, struct op *ops, size_t count, struct err *err)
{
    struct own_commit commit = {0};
    unsigned epoch = own_begin(&fs->own);
    enum status status = view_apply(fs->view, ops, count, ORDERED, &commit.seq, err);
    if (status != STATUS_OK)
        commit.seq = 0;
    own_end(&fs->own, epoch, &commit);
    atomic_fetch_add(&fs->changes, 1);
    return status;
}

enum status fs_fail(struct fs *fs, enum status status, const char *what, int64_t document, struct err *err)
{
    if (status == STATUS_OK || !err)
        return status;
    if (!err->message[0])
        (void)err_set(err, status, "%s", status_text(status));
    char name[512];
    view_describe(fs->view, document, name, sizeof name);
    (void)err_context(err, "%s %s", what, name);
    return status;
}

static size_t collect(struct fs *fs, int64_t document, uint64_t except, uint64_t *ret_numbers, size_t capacity)
{
    size_t count = 0, seen = 0;
    struct node *node = NULL;
    fs_lock(fs);
    while ((node = nodes_next(&fs->nodes, document, node))) {
        seen++;
        if (node->number != except && count < capacity)
            ret_numbers[count++] = node->number;
    }
    fs_unlock(fs);
    return !except && seen == 1 ? 0 : count; /* the kernel has changed the only one itself */
}

void fs_tell_others(struct fs *fs, int64_t document, uint64_t except)
{
    uint64_t numbers[64]; /* a document with more versions open shows old attributes in some for TIMEOUT_LONG_S */
    size_t count = collect(fs, document, except, numbers, sizeof numbers / sizeof *numbers);
    for (size_t i = 0; i < count; i++)
        fs->options.notify.inval_node(fs->options.notify.context, numbers[i], -1, 0);
}

bool fs_has_workspace(const struct fs *fs, int64_t document)
{
    if (!fs->workspaces)
        return false;
    const struct node *node = NULL;
    while ((node = nodes_next(&fs->nodes, document, node)))
        if (node->workspace)
            return true;
    return false;
}

struct node *fs_node_of(struct fs *fs, const struct document_row *row)
{
    int64_t version = S_ISREG(row->mode) ? row->version : 0;
    INVARIANT(version || !S_ISREG(row->mode));
    struct node *node = nodes_of(&fs->nodes, row->id, version);
    if (!node)
        return nodes_add(&fs->nodes, row, version);
    node->row = *row;
    return node;
}

void fs_fill_entry(struct fs *fs, struct node *node, const struct document_row *row, uint64_t changes,
                   struct fs_entry *ret_entry)
{
    struct document_row shown = *row;
    if (node->workspace)
        workspace_show(node->workspace, &shown);
    node->lookups++;
    bool ask = node->workspace || fs_has_workspace(fs, node->document) || atomic_load(&fs->changes) != changes;
    double timeout = ask ? 0 : TIMEOUT_LONG_S;
    *ret_entry = (struct fs_entry){
        .node = node->number,
        .generation = (uint64_t)session_id(fs->session), /* numbers begin anew with each mount */
        .attr_timeout = timeout,
        .entry_timeout = timeout,
    };
    attr_stat(&shown, &fs->options, &ret_entry->stat);
}

void fs_note_row(struct fs *fs, const struct document_row *row)
{
    struct node *node = NULL;
    fs_lock(fs);
    while ((node = nodes_next(&fs->nodes, row->id, node))) {
        struct document_row kept = node->row;
        node->row = *row;
        if (node->version && node->version != row->version) { /* an older content, with the names and rights of today */
            node->row.version = kept.version;
            node->row.version_number = kept.version_number;
            node->row.size_bytes = kept.size_bytes;
            node->row.mtime_ns = kept.mtime_ns;
        }
    }
    fs_unlock(fs);
}

void fs_forget(struct fs *fs, uint64_t number, uint64_t count)
{
    fs_lock(fs);
    struct node *node = nodes_find(&fs->nodes, number);
    if (node && number != FS_ROOT) {
        node->lookups -= count < node->lookups ? count : node->lookups;
        nodes_drop(&fs->nodes, node);
    }
    fs_unlock(fs);
}
