/* cache.c - blocks of Ready versions in memory. */
#include "document/cache.h"

#include "base/cleanup.h"
#include "document/session_internal.h"

#include <string.h>
#include <uthash.h>
#include <utlist.h>

struct key {
    int64_t version;
    int64_t index;
};

struct slot {
    struct cache_block block; /* first: a block's address is its slot's */
    struct key key;
    unsigned holders;
    bool filled;
    enum status status;
    struct err err;
    struct slot *prev, *next; /* the most recently used first */
    UT_hash_handle hh;
};

struct cache {
    uint64_t bytes_max, bytes;
    struct slot *slots;  /* by key */
    struct slot *recent; /* by use */
};

struct cache *cache_new(uint64_t bytes_max)
{
    struct cache *cache = calloc(1, sizeof *cache);
    if (cache)
        cache->bytes_max = bytes_max;
    return cache;
}

static void drop(struct cache *cache, struct slot *slot)
{
    HASH_DEL(cache->slots, slot);
    DL_DELETE(cache->recent, slot);
    cache->bytes -= slot->block.len;
    free(slot->block.bytes);
    free(slot);
}

void cache_free(struct cache *cache)
{
    if (!cache)
        return;
    struct slot *slot, *next;
    DL_FOREACH_SAFE(cache->recent, slot, next)
    {
        drop(cache, slot);
    }
    free(cache);
}

static void make_room(struct cache *cache, size_t len)
{
    struct slot *slot = cache->recent ? cache->recent->prev : NULL; /* utlist: the head's prev is the tail */
    while (slot && cache->bytes + len > cache->bytes_max) {
        struct slot *before = slot == cache->recent ? NULL : slot->prev;
        if (!slot->holders)
            drop(cache, slot);
        slot = before;
    }
}

static struct slot *find(struct cache *cache, int64_t version, uint32_t index)
{
    struct key key = {.version = version, .index = index};
    struct slot *slot = NULL;
    HASH_FIND(hh, cache->slots, &key, sizeof key, slot);
    return slot;
}

static struct slot *add(struct cache *cache, int64_t version, uint32_t index, size_t len)
{
    make_room(cache, len);
    struct slot *slot = calloc(1, sizeof *slot);
    if (!slot)
        return NULL;
    slot->block = (struct cache_block){.version = version, .index = index, .len = len, .bytes = malloc(len)};
    if (!slot->block.bytes) {
        free(slot);
        return NULL;
    }
    slot->key = (struct key){.version = version, .index = index};
    HASH_ADD(hh, cache->slots, key, sizeof slot->key, slot);
    DL_PREPEND(cache->recent, slot);
    cache->bytes += len;
    return slot;
}

struct cache_block *cache_hold(struct session *session, int64_t version, uint32_t index, size_t len, bool *ret_fill)
{
    pthread_mutex_lock(&session->lock);
    struct slot *slot = find(session->cache, version, index);
    *ret_fill = !slot;
    if (slot) {
        DL_DELETE(session->cache->recent, slot);
        DL_PREPEND(session->cache->recent, slot);
    } else {
        slot = add(session->cache, version, index, len);
    }
    if (slot)
        slot->holders++;
    pthread_mutex_unlock(&session->lock);
    return slot ? &slot->block : NULL;
}

bool cache_has(struct session *session, int64_t version, uint32_t index)
{
    pthread_mutex_lock(&session->lock);
    bool has = find(session->cache, version, index) != NULL;
    pthread_mutex_unlock(&session->lock);
    return has;
}

void cache_filled(struct session *session, struct cache_block *block, enum status status, const struct err *err)
{
    struct slot *slot = (struct slot *)block;
    pthread_mutex_lock(&session->lock);
    slot->filled = true;
    slot->status = status;
    if (status != STATUS_OK && err)
        slot->err = *err;
    pthread_cond_broadcast(&session->changed);
    pthread_mutex_unlock(&session->lock);
}

enum status cache_wait(struct session *session, struct cache_block *block, struct err *err)
{
    struct slot *slot = (struct slot *)block;
    pthread_mutex_lock(&session->lock);
    while (!slot->filled)
        pthread_cond_wait(&session->changed, &session->lock);
    pthread_mutex_unlock(&session->lock);
    if (slot->status != STATUS_OK && err)
        *err = slot->err;
    return slot->status;
}

void cache_release(struct session *session, struct cache_block *block)
{
    struct slot *slot = (struct slot *)block;
    pthread_mutex_lock(&session->lock);
    INVARIANT(slot->holders > 0);
    slot->holders--;
    if (!slot->holders && slot->status != STATUS_OK)
        drop(session->cache, slot);
    pthread_mutex_unlock(&session->lock);
}
