/* cache.h - blocks of Ready versions in memory, shared by the readers of a session. Versions are immutable, so a block
 * never goes stale; the least recently used ones make room. All calls but new and free take the session's lock
 * themselves. Private to document/. */
#ifndef READYFS_DOCUMENT_CACHE_H
#define READYFS_DOCUMENT_CACHE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cache;
struct session;

struct cache_block {
    int64_t version;
    uint32_t index;
    size_t len;
    char *bytes; /* valid once filled */
};

/* A cache of about `bytes_max` bytes; NULL when out of memory. */
struct cache *cache_new(uint64_t bytes_max);
void cache_free(struct cache *cache); /* nobody holds a block; NULL is fine */

/* A block, held until cache_release. *ret_fill: it is empty, and the caller is the one to fill it and then call
 * cache_filled; otherwise call cache_wait before reading. NULL when out of memory. */
struct cache_block *cache_hold(struct session *session, int64_t version, uint32_t index, size_t len, bool *ret_fill);

/* Whether the block is there or on its way. Holds nothing. */
bool cache_has(struct session *session, int64_t version, uint32_t index);

/* The filler is done; a failed block is forgotten as soon as nobody holds it, so that the next reader tries anew. */
void cache_filled(struct session *session, struct cache_block *block, enum status status, const struct err *err);

/* Waits for the filler; its status and report. */
MUST_CHECK enum status cache_wait(struct session *session, struct cache_block *block, struct err *err);

void cache_release(struct session *session, struct cache_block *block);

#endif
