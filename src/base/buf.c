/* buf.c - a growing byte buffer with a maximum. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char empty[1]; /* never written: every writer reserves first */

void buf_init(struct buf *buf, size_t len_max)
{
    *buf = (struct buf){.bytes = empty, .len_max = len_max};
}

void buf_done(struct buf *buf)
{
    if (buf->capacity)
        free(buf->bytes);
    buf_init(buf, buf->len_max);
}

void buf_cut(struct buf *buf, size_t len)
{
    INVARIANT(len <= buf->len);
    buf->len = len;
    if (buf->capacity)
        buf->bytes[len] = '\0';
}

void buf_clear(struct buf *buf)
{
    buf_cut(buf, 0);
}

static enum status reserve(struct buf *buf, size_t more)
{
    if (more > buf->len_max || buf->len > buf->len_max - more)
        return STATUS_NO_SPACE;
    size_t need = buf->len + more + 1;
    if (need <= buf->capacity)
        return STATUS_OK;
    size_t capacity = buf->capacity ? buf->capacity : 64;
    while (capacity < need)
        capacity *= 2;
    if (capacity > buf->len_max + 1)
        capacity = buf->len_max + 1;
    char *bytes = realloc(buf->capacity ? buf->bytes : NULL, capacity);
    if (!bytes)
        return STATUS_NO_MEMORY;
    buf->bytes = bytes;
    buf->capacity = capacity;
    return STATUS_OK;
}

enum status buf_append(struct buf *buf, const void *bytes, size_t len)
{
    enum status status = reserve(buf, len);
    if (status != STATUS_OK)
        return status;
    if (len)
        memcpy(buf->bytes + buf->len, bytes, len);
    buf->len += len;
    buf->bytes[buf->len] = '\0';
    return STATUS_OK;
}

enum status buf_append_text(struct buf *buf, const char *text)
{
    return buf_append(buf, text, strlen(text));
}

enum status buf_printf(struct buf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int need = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (need < 0)
        return STATUS_INVALID;
    enum status status = reserve(buf, (size_t)need);
    if (status != STATUS_OK)
        return status;
    va_start(args, format);
    (void)vsnprintf(buf->bytes + buf->len, (size_t)need + 1, format, args); /* the length is known to fit */
    va_end(args);
    buf->len += (size_t)need;
    return STATUS_OK;
}

char *buf_take(struct buf *buf)
{
    if (reserve(buf, 0) != STATUS_OK)
        return NULL;
    if (!buf->len)
        buf->bytes[0] = '\0';
    char *bytes = buf->bytes;
    buf_init(buf, buf->len_max);
    return bytes;
}
