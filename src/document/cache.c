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
    bool filling, filled;
    bool forgotten; /* not in the table any more: it goes with its last holder */
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

static void forget(struct cache *cache, struct slot *slot)
{
    HASH_DEL(cache->slots, slot);
    DL_DELETE(cache->recent, slot);
    cache->bytes -= slot->block.len;
    slot->forgotten = true;
}

static void drop(struct cache *cache, struct slot *slot)
{
    if (!slot->forgotten)
        forget(cache, slot);
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
    if (slot) {
        DL_DELETE(session->cache->recent, slot);
        DL_PREPEND(session->cache->recent, slot);
    } else {
        slot = add(session->cache, version, index, len);
    }
    *ret_fill = slot && !slot->filled && !slot->filling;
    if (slot) {
        slot->holders++;
        slot->filling = slot->filling || *ret_fill;
    }
    pthread_mutex_unlock(&session->lock);
    return slot ? &slot->block : NULL;
}

struct cache_block *cache_promise(struct session *session, int64_t version, uint32_t index, size_t len)
{
    pthread_mutex_lock(&session->lock);
    struct slot *slot = find(session->cache, version, index) ? NULL : add(session->cache, version, index, len);
    if (slot)
        slot->holders++;
    pthread_mutex_unlock(&session->lock);
    return slot ? &slot->block : NULL;
}

bool cache_claim(struct session *session, struct cache_block *block)
{
    struct slot *slot = (struct slot *)block;
    pthread_mutex_lock(&session->lock);
    bool ours = !slot->filled && !slot->filling;
    slot->filling = true;
    pthread_mutex_unlock(&session->lock);
    return ours;
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
    if (status != STATUS_OK) {
        if (err)
            slot->err = *err;
        forget(session->cache, slot);
    }
    pthread_cond_broadcast(&session->changed);
    pthread_mutex_unlock(&session->lock);
}

enum status cache_wait(struct session *session, struct cache_block *block, const atomic_bool *cancelled,
                       struct err *err)
{
    struct slot *slot = (struct slot *)block;
    pthread_mutex_lock(&session->lock);
    while (!slot->filled && !(cancelled && atomic_load(cancelled)))
        session_wait(session, cancelled != NULL);
    bool filled = slot->filled;
    pthread_mutex_unlock(&session->lock);
    if (!filled)
        return err_set(err, STATUS_INTERRUPTED, "the read was cancelled");
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
    if (!slot->holders && (slot->forgotten || !slot->filled))
        drop(session->cache, slot);
    pthread_mutex_unlock(&session->lock);
}
