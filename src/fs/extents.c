/* extents.c - a sorted array of ranges. */
#include "fs/extents.h"

#include "base/cleanup.h"

#include <string.h>

void extents_done(struct extents *extents)
{
    free(extents->items);
    *extents = (struct extents){0};
}

void extents_clear(struct extents *extents)
{
    extents->count = 0;
}

static uint64_t end_of(const struct extent *item)
{
    return item->offset + item->len;
}

/* The first item that ends behind `offset`. */
static size_t first_behind(const struct extents *extents, uint64_t offset)
{
    size_t low = 0, high = extents->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (end_of(&extents->items[middle]) > offset)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static enum status make_room(struct extents *extents, size_t more)
{
    size_t wanted = extents->count + more;
    if (wanted <= extents->capacity)
        return STATUS_OK;
    if (wanted > EXTENTS_MAX)
        return STATUS_NO_SPACE;
    size_t capacity = extents->capacity ? 2 * extents->capacity : 8;
    struct extent *items = realloc(extents->items, capacity * sizeof *items);
    if (!items)
        return STATUS_NO_MEMORY;
    extents->items = items;
    extents->capacity = capacity;
    return STATUS_OK;
}

/* Replaces items [from, to) by `count` others; the room is there. */
static void splice(struct extents *extents, size_t from, size_t to, const struct extent *others, size_t count)
{
    memmove(extents->items + from + count, extents->items + to, (extents->count - to) * sizeof *extents->items);
    if (count)
        memcpy(extents->items + from, others, count * sizeof *others);
    extents->count = extents->count - (to - from) + count;
}

/* Joins item `at` with the one behind it where they touch and are of one kind. */
static void join_next(struct extents *extents, size_t at)
{
    if (at + 1 >= extents->count)
        return;
    struct extent *item = &extents->items[at];
    const struct extent *next = item + 1;
    if (item->kind != next->kind || end_of(item) != next->offset)
        return;
    item->len += next->len;
    splice(extents, at + 1, at + 2, NULL, 0);
}

enum status extents_set(struct extents *extents, uint64_t offset, uint64_t len, enum extent_kind kind)
{
    INVARIANT(len <= UINT64_MAX - offset);
    if (!len)
        return STATUS_OK;
    enum status status = make_room(extents, 2);
    if (status != STATUS_OK)
        return status;
    uint64_t end = offset + len;
    size_t from = first_behind(extents, offset);
    size_t to = from;
    while (to < extents->count && extents->items[to].offset < end)
        to++;
    struct extent pieces[3];
    size_t count = 0;
    if (from < to && extents->items[from].offset < offset) {
        const struct extent *cut = &extents->items[from];
        pieces[count++] = (struct extent){cut->offset, offset - cut->offset, cut->kind};
    }
    if (kind != EXTENT_BASE)
        pieces[count++] = (struct extent){offset, len, kind};
    if (from < to && end_of(&extents->items[to - 1]) > end) {
        const struct extent *cut = &extents->items[to - 1];
        pieces[count++] = (struct extent){end, end_of(cut) - end, cut->kind};
    }
    splice(extents, from, to, pieces, count);
    for (size_t i = from + count; i-- > from;)
        join_next(extents, i);
    if (from)
        join_next(extents, from - 1);
    return STATUS_OK;
}

void extents_cut(struct extents *extents, uint64_t size)
{
    size_t at = first_behind(extents, size);
    if (at < extents->count && extents->items[at].offset < size) {
        extents->items[at].len = size - extents->items[at].offset;
        at++;
    }
    extents->count = at;
}

struct extent extents_at(const struct extents *extents, uint64_t offset)
{
    size_t at = first_behind(extents, offset);
    if (at == extents->count)
        return (struct extent){offset, UINT64_MAX - offset, EXTENT_BASE};
    const struct extent *item = &extents->items[at];
    if (item->offset > offset)
        return (struct extent){offset, item->offset - offset, EXTENT_BASE};
    return (struct extent){offset, end_of(item) - offset, item->kind};
}

uint64_t extents_bytes(const struct extents *extents, uint64_t offset, uint64_t len, enum extent_kind kind)
{
    uint64_t end = offset + len, bytes = 0;
    while (offset < end) {
        struct extent run = extents_at(extents, offset);
        uint64_t part = run.len < end - offset ? run.len : end - offset;
        if (run.kind == kind)
            bytes += part;
        offset += part;
    }
    return bytes;
}
