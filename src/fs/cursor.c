/* cursor.c - batches of a listing. */
#include "fs/cursor.h"

#include "base/cleanup.h"

struct cursor {
    int64_t dir;
    int64_t after;    /* the cookie behind which the batch begins */
    size_t count, at; /* items in the batch; the next one */
    bool filled;
    uint64_t changes, listed;
    struct view_item *items; /* owned, CURSOR_BATCH of them; NULL before the first batch */
};

struct cursor *cursor_new(int64_t dir)
{
    struct cursor *cursor = calloc(1, sizeof *cursor);
    if (cursor)
        cursor->dir = dir;
    return cursor;
}

void cursor_free(struct cursor *cursor)
{
    if (!cursor)
        return;
    free(cursor->items);
    free(cursor);
}

void cursor_rewind(struct cursor *cursor)
{
    cursor->filled = false;
    cursor->listed = 0;
}

static enum status fill(struct cursor *cursor, struct view *view, int64_t after, atomic_uint_fast64_t *changes,
                        struct err *err)
{
    if (!cursor->items)
        cursor->items = calloc(CURSOR_BATCH, sizeof *cursor->items);
    if (!cursor->items)
        return err_set(err, STATUS_NO_MEMORY, "list a directory: out of memory");
    cursor->filled = false;
    cursor->changes = atomic_load(changes);
    enum status status = view_list(view, cursor->dir, after, cursor->items, CURSOR_BATCH, &cursor->count, err);
    if (status != STATUS_OK)
        return status;
    cursor->after = after;
    cursor->at = 0;
    cursor->filled = true;
    return STATUS_OK;
}

/* Whether the item behind `cookie` is the batch's next, or one that the kernel asks for again. */
static bool seek(struct cursor *cursor, int64_t cookie)
{
    if (!cursor->filled)
        return false;
    if (cookie == cursor->after) {
        cursor->at = 0;
        return true;
    }
    if (cursor->at > 0 && cursor->items[cursor->at - 1].entry.cookie == cookie)
        return true;
    for (size_t i = 0; i < cursor->count; i++) {
        if (cursor->items[i].entry.cookie != cookie)
            continue;
        cursor->at = i + 1;
        return true;
    }
    return false;
}

enum status cursor_at(struct cursor *cursor, struct view *view, int64_t offset, atomic_uint_fast64_t *changes,
                      const struct view_item **ret_item, uint64_t *ret_changes, struct err *err)
{
    int64_t cookie = offset - CURSOR_DOTDOT;
    bool in_batch = seek(cursor, cookie) && (cursor->at < cursor->count || cursor->count < CURSOR_BATCH);
    if (!in_batch) {
        enum status status = fill(cursor, view, cookie, changes, err);
        if (status != STATUS_OK)
            return status;
    }
    *ret_changes = cursor->changes;
    *ret_item = cursor->at < cursor->count ? &cursor->items[cursor->at++] : NULL;
    cursor->listed += *ret_item != NULL;
    return STATUS_OK;
}

uint64_t cursor_listed(const struct cursor *cursor)
{
    return cursor->listed;
}

int64_t cursor_dir(const struct cursor *cursor)
{
    return cursor->dir;
}
