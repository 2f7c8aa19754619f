/* cursor.h - a directory being listed: a bounded batch of items, wherever the listing stands (S21).
 *
 * The place of an item in the listing is its entry's cookie, which never changes, so a listing survives whatever is
 * created, renamed or removed meanwhile: what exists throughout appears exactly once. "." and ".." come first.
 */
#ifndef READYFS_FS_CURSOR_H
#define READYFS_FS_CURSOR_H

#include "document/view.h"

#include <stdatomic.h>

#define CURSOR_BATCH  256
#define CURSOR_DOT    1 /* offsets behind "." and ".."; an item's is its cookie plus CURSOR_DOTDOT */
#define CURSOR_DOTDOT 2

struct cursor;

struct cursor *cursor_new(int64_t dir); /* NULL when out of memory */
void cursor_free(struct cursor *cursor);

/* The item behind `offset` (at least CURSOR_DOTDOT); NULL at the end. It is valid until the next call. *ret_changes is
 * what `changes` was before the item was read. */
MUST_CHECK enum status cursor_at(struct cursor *cursor, struct view *view, int64_t offset,
                                 atomic_uint_fast64_t *changes, const struct view_item **ret_item,
                                 uint64_t *ret_changes, struct err *err);

/* Forgets the batch: what is listed next is read anew. */
void cursor_rewind(struct cursor *cursor);

/* How many items were listed so far. */
uint64_t cursor_listed(const struct cursor *cursor);
int64_t cursor_dir(const struct cursor *cursor);

#endif
