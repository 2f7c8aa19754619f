/* buf.h - a growing byte buffer with a maximum.
 *
 * `bytes` is always NUL-terminated (the NUL does not count in `len`), so that a buffer of text is a string. Every
 * buffer has a limit, set at construction: growing past it is NO_SPACE, out of memory is NO_MEMORY, and after either
 * the buffer is unchanged. One thread at a time.
 */
#ifndef READYFS_BASE_BUF_H
#define READYFS_BASE_BUF_H

#include "base/cleanup.h"
#include "base/err.h"

#include <stddef.h>

struct buf {
    char *bytes;     /* owned */
    size_t len;      /* bytes in use */
    size_t capacity; /* bytes allocated, or 0 while `bytes` is the static empty string */
    size_t len_max;  /* the limit */
};

void buf_init(struct buf *buf, size_t len_max);
void buf_done(struct buf *buf);            /* frees; the buffer may be initialised again */
void buf_clear(struct buf *buf);           /* len = 0, the memory stays */
void buf_cut(struct buf *buf, size_t len); /* drops what lies behind the first `len` bytes; the memory stays */
MUST_CHECK enum status buf_append(struct buf *buf, const void *bytes, size_t len);
MUST_CHECK enum status buf_append_text(struct buf *buf, const char *text);
MUST_CHECK enum status buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Moves the bytes out (free() them); the buffer is empty afterwards. NULL when out of memory. */
char *buf_take(struct buf *buf);

#define AUTO_BUF CLEANUP(buf_done)

#endif
