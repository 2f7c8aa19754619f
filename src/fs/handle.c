/* handle.c - the life of a handle. */
#include "fs/handle.h"

#include "base/cleanup.h"
#include "fs/cursor.h"
#include "fs/workspace.h"

struct fs_handle *handle_new(struct fs *fs, struct node *node)
{
    struct fs_handle *handle = calloc(1, sizeof *handle);
    if (!handle)
        return NULL;
    handle->node = node;
    node->users++;
    handle->next_open = fs->open;
    if (fs->open)
        fs->open->prev_open = handle;
    fs->open = handle;
    fs->handles++;
    return handle;
}

void handle_join(struct fs_handle *handle, struct workspace *workspace)
{
    handle->workspace = workspace;
    handle->next = workspace->handles;
    if (handle->next)
        handle->next->prev = handle;
    workspace->handles = handle;
    workspace->fresh = false;
}

bool handle_leave(struct fs_handle *handle)
{
    struct workspace *workspace = handle->workspace;
    if (handle->prev)
        handle->prev->next = handle->next;
    else if (workspace->handles == handle)
        workspace->handles = handle->next;
    if (handle->next)
        handle->next->prev = handle->prev;
    handle->prev = handle->next = NULL;
    return workspace->handles == NULL;
}

void handle_free(struct fs *fs, struct fs_handle *handle)
{
    struct pin *pin = NULL;
    fs_lock(fs);
    struct node *node = handle->node;
    if (handle->reads_node && --node->readers == 0)
        pin = TAKE(node->pin);
    node->users--;
    nodes_drop(&fs->nodes, node);
    if (handle->prev_open)
        handle->prev_open->next_open = handle->next_open;
    else
        fs->open = handle->next_open;
    if (handle->next_open)
        handle->next_open->prev_open = handle->prev_open;
    fs->handles--;
    fs_unlock(fs);
    pin_close(pin);
    pin_close(handle->pin);
    cursor_free(handle->cursor);
    if (handle->workspace)
        workspace_let_go(handle->workspace);
    free(handle);
}

bool handle_writer(const struct workspace *workspace, pid_t tgid)
{
    for (const struct fs_handle *handle = workspace->handles; handle; handle = handle->next)
        if (tgid && handle->writes && handle->tgid == tgid)
            return true;
    return false;
}

/* ---- announced releases ---- */

void fs_release_announce(struct fs *fs, struct fs_handle *handle)
{
    fs_lock(fs);
    struct workspace *workspace = handle->workspace;
    if (workspace && workspace_owes(workspace)) {
        handle->announced = true;
        handle->ticket = ++fs->tickets;
        handle->dir = workspace->dir;
        handle->next_announced = fs->announced;
        fs->announced = handle;
    }
    fs_unlock(fs);
}

void handle_released(struct fs *fs, struct fs_handle *handle)
{
    fs_lock(fs);
    for (struct fs_handle **link = &fs->announced; *link; link = &(*link)->next_announced) {
        if (*link != handle)
            continue;
        *link = handle->next_announced;
        pthread_cond_broadcast(&fs->released);
        break;
    }
    fs_unlock(fs);
}

void fs_wait_released(struct fs *fs, int64_t dir)
{
    fs_lock(fs);
    uint64_t ticket = fs->tickets;
    const struct fs_handle *each = fs->announced;
    while (each) {
        if (each->ticket <= ticket && (!each->dir || each->dir == dir)) {
            pthread_cond_wait(&fs->released, &fs->lock);
            each = fs->announced;
            continue;
        }
        each = each->next_announced;
    }
    fs_unlock(fs);
}
