/* listing.c - open directories. */
#include "base/cleanup.h"
#include "fs/attr.h"
#include "fs/cursor.h"
#include "fs/handle.h"

#define PLAIN_AFTER 8192 /* items of one listing that may bring a node each, where large_listing_plain says so */

enum status fs_opendir(struct fs *fs, const struct fs_caller *caller, uint64_t number, struct fs_handle **ret_handle,
                       struct err *err)
{
    (void)caller; /* the kernel has checked what it may */
    struct node_key key;
    enum status status = fs_key(fs, number, &key, err);
    if (status == STATUS_OK && !S_ISDIR(key.mode))
        status = err_set(err, STATUS_NOT_DIRECTORY, "it is not a directory");
    if (status != STATUS_OK)
        return status;
    struct cursor *cursor = cursor_new(key.document);
    fs_lock(fs);
    struct node *node = nodes_find(&fs->nodes, number);
    struct fs_handle *handle = cursor && node ? handle_new(fs, node) : NULL;
    if (handle)
        handle->cursor = cursor;
    fs_unlock(fs);
    if (!handle) {
        cursor_free(cursor);
        return err_set(err, STATUS_NO_MEMORY, "open a directory: out of memory");
    }
    *ret_handle = handle;
    return STATUS_OK;
}

void fs_releasedir(struct fs *fs, struct fs_handle *handle)
{
    handle_free(fs, handle);
}

enum status fs_fsyncdir(struct fs *fs, struct fs_handle *handle, struct err *err)
{
    return fs_fail(fs, session_sync(fs->session, err), "fsync", handle->node->document, err);
}

/* "." and ".." bring no node: the kernel has them. */
static bool give_dot(const char *name, int64_t document, int64_t offset, fs_item_fn *fn, void *context)
{
    struct fs_item item = {.name = name, .offset = offset};
    item.entry.stat.st_ino = (ino_t)document;
    item.entry.stat.st_mode = S_IFDIR | 0755;
    return fn(context, &item);
}

static enum status give_dots(struct fs *fs, struct fs_handle *handle, int64_t *offset, fs_item_fn *fn, void *context,
                             bool *ret_full, struct err *err)
{
    int64_t dir = cursor_dir(handle->cursor);
    *ret_full = false;
    if (*offset < CURSOR_DOT) {
        *ret_full = !give_dot(".", dir, CURSOR_DOT, fn, context);
        if (*ret_full)
            return STATUS_OK;
        *offset = CURSOR_DOT;
    }
    if (*offset >= CURSOR_DOTDOT)
        return STATUS_OK;
    struct document_row row;
    enum status status = view_document(fs->view, dir, &row, err);
    if (status == STATUS_NOT_FOUND) /* removed while it is open: it lists as empty */
        row.parent = dir;
    else if (status != STATUS_OK)
        return fs_fail(fs, status, "list", dir, err);
    *ret_full = !give_dot("..", row.parent, CURSOR_DOTDOT, fn, context);
    *offset = CURSOR_DOTDOT;
    return STATUS_OK;
}

static void take_back(struct fs *fs, uint64_t number)
{
    fs_lock(fs);
    struct node *node = nodes_find(&fs->nodes, number);
    if (node) {
        node->lookups--;
        nodes_drop(&fs->nodes, node);
    }
    fs_unlock(fs);
}

/* One item; true where it fitted. */
static bool give(struct fs *fs, const struct view_item *found, bool attributes, uint64_t changes, fs_item_fn *fn,
                 void *context)
{
    const struct document_row *row = &found->document;
    struct fs_item item = {.name = found->entry.name.bytes, .offset = found->entry.cookie + CURSOR_DOTDOT};
    bool has_node = attributes && (!S_ISREG(row->mode) || row->version);
    if (has_node) {
        fs_lock(fs);
        struct node *node = fs_node_of(fs, row);
        has_node = node != NULL; /* without memory the kernel looks the name up itself */
        if (node)
            fs_fill_entry(fs, node, row, changes, &item.entry);
        fs_unlock(fs);
    }
    if (!has_node)
        attr_stat(row, &fs->options, &item.entry.stat);
    if (fn(context, &item))
        return true;
    if (has_node)
        take_back(fs, item.entry.node);
    return false;
}

enum status fs_readdir(struct fs *fs, const struct fs_caller *caller, struct fs_handle *handle, int64_t offset,
                       bool attributes, fs_item_fn *fn, void *context, struct err *err)
{
    (void)caller;
    if (!handle->cursor)
        return err_set(err, STATUS_NOT_DIRECTORY, "list: it is not a directory");
    int64_t dir = cursor_dir(handle->cursor);
    bool full = false;
    fs_wait_released(fs, dir);
    if (offset < CURSOR_DOTDOT)
        cursor_rewind(handle->cursor);
    enum status status = give_dots(fs, handle, &offset, fn, context, &full, err);
    while (status == STATUS_OK && !full) {
        const struct view_item *item = NULL;
        uint64_t changes = 0;
        status = cursor_at(handle->cursor, fs->view, offset, &fs->changes, &item, &changes, err);
        if (status != STATUS_OK)
            return fs_fail(fs, status, "list", dir, err);
        if (!item)
            break;
        bool plain = fs->options.large_listing_plain && cursor_listed(handle->cursor) > PLAIN_AFTER;
        full = !give(fs, item, attributes && !plain, changes, fn, context);
        offset = item->entry.cookie + CURSOR_DOTDOT;
    }
    return status;
}
