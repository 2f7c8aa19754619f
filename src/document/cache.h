/* cache.h - blocks of Ready versions in memory, shared by the readers of a session. Versions are immutable, so a block
 * never goes stale; those that a sequential reader has gone past make room first, then the least recently used ones.
 * All calls but new and free take the session's lock themselves. Private to document/. */
#ifndef READYFS_DOCUMENT_CACHE_H
#define READYFS_DOCUMENT_CACHE_H

#include "base/err.h"

#include <stdatomic.h>
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

/* A block, held until cache_release. *ret_fill: it is empty, nobody is filling it, and the caller is the one to do so
 * and then to call cache_filled; otherwise call cache_wait before reading. NULL when out of memory. */
struct cache_block *cache_hold(struct session *session, int64_t version, uint32_t index, size_t len, bool *ret_fill);

/* A block that somebody means to fill later (read-ahead), held; NULL when it is there or promised already, when half of
 * the cache is promised and not read yet (so that readers do not push each other out), or when out of memory. Until it
 * is claimed a reader may claim it with cache_hold and fill it himself, so that nobody ever waits for work that has not
 * begun. */
struct cache_block *cache_promise(struct session *session, int64_t version, uint32_t index, size_t len);

/* Whether the one who promised is still the one to fill it. */
bool cache_claim(struct session *session, struct cache_block *block);

/* A sequential reader has gone past the block: it is the first to make room. */
void cache_spent(struct session *session, int64_t version, uint32_t index);

/* Whether the block is there or on its way. Holds nothing. */
bool cache_has(struct session *session, int64_t version, uint32_t index);

/* The filler is done. A block that failed is forgotten at once: the next reader tries anew. */
void cache_filled(struct session *session, struct cache_block *block, enum status status, const struct err *err);

/* Waits for the filler; its status and report. INTERRUPTED once `cancelled` (may be NULL) is true. */
MUST_CHECK enum status cache_wait(struct session *session, struct cache_block *block, const atomic_bool *cancelled,
                                  struct err *err);

void cache_release(struct session *session, struct cache_block *block);

#endif
