/* io.c - reading, writing and closing of open files: which flush publishes, and what the last release does. */
#include "base/cleanup.h"
#include "fs/handle.h"
#include "fs/procfs.h"
#include "fs/publish.h"

#include <string.h>
#include <unistd.h>

static enum status not_open(const char *what, struct err *err)
{
    return err_set(err, STATUS_INVALID, "%s: the descriptor is not open for that", what);
}

/* The pin that a reader of a Ready version reads through just now, held once more. */
static struct pin *hold_pin(struct fs *fs, struct fs_handle *handle)
{
    if (handle->pin)
        return pin_ref(handle->pin);
    fs_lock(fs);
    struct pin *pin = handle->node->pin ? pin_ref(handle->node->pin) : NULL;
    fs_unlock(fs);
    return pin;
}

enum status fs_read(struct fs *fs, const struct fs_caller *caller, struct fs_handle *handle, uint64_t offset,
                    void *ret_bytes, size_t len, size_t *ret_len, struct err *err)
{
    enum status status = STATUS_OK;
    if (handle->cursor)
        return err_set(err, STATUS_IS_DIRECTORY, "read: it is a directory");
    if (handle->workspace) {
        status = workspace_read(handle->workspace, offset, ret_bytes, len, ret_len, caller->cancelled, err);
    } else {
        struct pin *pin = hold_pin(fs, handle);
        if (!pin)
            return not_open("read", err);
        status = pin_read(pin, offset, ret_bytes, len, ret_len, caller->cancelled, err);
        pin_close(pin);
    }
    return fs_fail(fs, status, "read", handle->node->document, err);
}

/* The kernel's pages of other nodes do not know what was written past them. */
static void tell_direct(struct fs *fs, const struct fs_handle *handle, uint64_t offset, size_t len)
{
    const struct fs_notify *notify = &fs->options.notify;
    notify->inval_node(notify->context, handle->node->number, -1, 0);
    uint64_t from = offset / PAGE_BYTES * PAGE_BYTES;
    notify->inval_node(notify->context, handle->workspace->node->number, (int64_t)from, (int64_t)(offset + len - from));
}

enum status fs_write(struct fs *fs, const struct fs_caller *caller, struct fs_handle *handle, uint64_t offset,
                     const void *bytes, size_t len, size_t *ret_len, struct err *err)
{
    if (!handle->workspace || !handle->writes)
        return not_open("write", err);
    struct workspace_write write = {
        .offset = offset,
        .bytes = bytes,
        .len = len,
        .append = handle->append,
        .at_end = handle->append && handle->direct,
        .uid = caller->uid,
    };
    enum status status = workspace_write(handle->workspace, &write, err);
    if (status != STATUS_OK)
        return fs_fail(fs, status, "write", handle->node->document, err);
    *ret_len = len;
    if (handle->direct)
        tell_direct(fs, handle, offset, len);
    return STATUS_OK;
}

enum status fs_fallocate(struct fs *fs, const struct fs_caller *caller, struct fs_handle *handle, int mode,
                         uint64_t offset, uint64_t len, struct err *err)
{
    if (!handle->workspace || !handle->writes)
        return not_open("fallocate", err);
    enum status status = workspace_allocate(handle->workspace, mode, offset, len, caller->uid, err);
    if (status == STATUS_OK && handle->direct)
        tell_direct(fs, handle, offset, len);
    return fs_fail(fs, status, "fallocate", handle->node->document, err);
}

enum status fs_lseek(struct fs *fs, struct fs_handle *handle, uint64_t offset, int whence, uint64_t *ret_offset,
                     struct err *err)
{
    if (whence != SEEK_DATA && whence != SEEK_HOLE)
        return err_set(err, STATUS_INVALID, "lseek: unknown whence %d", whence);
    if (handle->workspace)
        return workspace_seek(handle->workspace, offset, whence == SEEK_HOLE, ret_offset, err);
    struct pin *pin = hold_pin(fs, handle);
    if (!pin)
        return not_open("lseek", err);
    uint64_t size = pin_version(pin)->size_bytes; /* a Ready version is all data */
    pin_close(pin);
    if (offset >= size)
        return err_set(err, STATUS_BEYOND_END, "lseek beyond the end");
    *ret_offset = whence == SEEK_HOLE ? size : offset;
    return STATUS_OK;
}

/* ---- flush, fsync ---- */

/* S29: a program that is being killed publishes nothing, unless it only appended. */
static bool is_killed(struct fs *fs, const struct fs_caller *caller, struct workspace *workspace)
{
    if (fs->options.on_kill == ON_KILL_PUBLISH || !workspace_owes(workspace) || !procfs_killed(caller->tid))
        return false;
    pthread_mutex_lock(&workspace->lock);
    bool keeps = !(workspace->dirty && workspace->append_only);
    workspace->killed = workspace->killed || keeps;
    pthread_mutex_unlock(&workspace->lock);
    return keeps;
}

enum status fs_flush(struct fs *fs, const struct fs_caller *caller, struct fs_handle *handle, struct err *err)
{
    struct workspace *workspace = handle->workspace;
    if (!workspace || !handle->writes || is_killed(fs, caller, workspace))
        return STATUS_OK;
    return publish(workspace, PUBLISH_FLUSH, caller->cancelled, err);
}

static bool is_dirty(struct workspace *workspace)
{
    pthread_mutex_lock(&workspace->lock);
    bool dirty = workspace->dirty || workspace->frozen || atomic_load(&workspace->poisoned);
    pthread_mutex_unlock(&workspace->lock);
    return dirty;
}

enum status fs_fsync(struct fs *fs, const struct fs_caller *caller, struct fs_handle *handle, bool data_only,
                     struct err *err)
{
    (void)data_only; /* S8: either makes a version */
    struct workspace *workspace = handle->workspace;
    if (workspace && handle->writes && is_dirty(workspace))
        return publish(workspace, PUBLISH_FLUSH, caller->cancelled, err); /* durable with everything before it */
    return fs_fail(fs, session_sync(fs->session, err), "fsync", handle->node->document, err);
}

/* ---- release ---- */

static void keep(struct workspace *workspace, const char *event, const struct err *reason, bool told_already)
{
    struct fs *fs = workspace->fs;
    fs_lock(fs);
    bool joined = workspace->handles != NULL;
    workspace->ending = !joined;
    fs_unlock(fs);
    if (!joined) /* else the newcomer's close decides */
        publish_keep(workspace, event, reason, told_already);
}

/* The last descriptor is gone: what is unpublished is published, or kept where it must not or could not be. */
static void end_last(struct fs *fs, struct workspace *workspace)
{
    struct err err = {0};
    pthread_mutex_lock(&workspace->lock);
    bool over = workspace->unlinked;
    bool poisoned = atomic_load(&workspace->poisoned);
    bool failed = workspace->failed && workspace->dirty;
    bool killed = workspace->killed && fs->options.on_kill == ON_KILL_KEEP;
    if (poisoned || failed)
        err = workspace->poison;
    pthread_mutex_unlock(&workspace->lock);
    if (over || !(poisoned || workspace_owes(workspace)))
        return;
    if (poisoned || failed) {
        keep(workspace, "not_published", &err, true); /* its program was told by write, fsync or close */
    } else if (killed) {
        (void)err_set(&err, STATUS_INTERRUPTED, "a program was killed while it wrote");
        keep(workspace, "killed", &err, true);
    } else if (publish(workspace, PUBLISH_RELEASE, NULL, &err) != STATUS_OK) {
        keep(workspace, "release_failed", &err, false);
    }
}

void fs_release(struct fs *fs, const struct fs_caller *caller, struct fs_handle *handle)
{
    (void)caller; /* the kernel's own thread, mostly */
    struct workspace *workspace = handle->workspace;
    if (workspace) {
        fs_lock(fs);
        bool last = handle_leave(handle);
        handle->workspace = NULL;
        fs_unlock(fs);
        if (last)
            end_last(fs, workspace);
        workspace_let_go(workspace); /* a name that is given up is gone before the waiting look for it */
    }
    handle_released(fs, handle);
    handle_free(fs, handle);
}
