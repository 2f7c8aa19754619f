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
    bool unread;    /* promised ahead, and no reader has come to it yet */
    bool spent;     /* its reader has gone past it */
    uint64_t born;  /* `turned` when it was added */
    enum status status;
    struct err err;
    struct slot *prev, *next; /* the most recently used first */
    UT_hash_handle hh;
};

struct cache {
    uint64_t bytes_max, bytes;
    uint64_t unread;     /* bytes of the slots that are */
    uint64_t turned;     /* bytes ever added */
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

static void set_unread(struct cache *cache, struct slot *slot, bool unread)
{
    if (slot->unread && !unread)
        cache->unread -= slot->block.len;
    if (!slot->unread && unread)
        cache->unread += slot->block.len;
    slot->unread = unread;
}

static void forget(struct cache *cache, struct slot *slot)
{
    set_unread(cache, slot, false);
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

/* Drops the least recently used blocks until `len` bytes have room; for one that is promised ahead, none of its kind.
 * *ret_bytes: memory of that length to use again, or NULL. Whether there is room now. */
static bool make_room(struct cache *cache, size_t len, bool ahead, char **ret_bytes)
{
    *ret_bytes = NULL;
    struct slot *slot = cache->recent ? cache->recent->prev : NULL; /* utlist: the head's prev is the tail */
    while (slot && cache->bytes + len > cache->bytes_max) {
        struct slot *before = slot == cache->recent ? NULL : slot->prev;
        if (!slot->holders && !(ahead && slot->unread)) {
            if (!*ret_bytes && slot->block.len == len)
                *ret_bytes = TAKE(slot->block.bytes);
            drop(cache, slot);
        }
        slot = before;
    }
    return cache->bytes + len <= cache->bytes_max;
}

/* Half of the cache is for what is promised ahead. What nobody came to read while the cache turned over twice was
 * fetched for a reader that rests or has gone: it counts no more. */
static bool may_promise(struct cache *cache, size_t len)
{
    struct slot *slot;
    if (cache->unread + len <= cache->bytes_max / 2)
        return true;
    DL_FOREACH (cache->recent, slot)
        if (slot->unread && cache->turned - slot->born > 2 * cache->bytes_max)
            set_unread(cache, slot, false);
    return cache->unread + len <= cache->bytes_max / 2;
}

static struct slot *find(struct cache *cache, int64_t version, uint32_t index)
{
    struct key key = {.version = version, .index = index};
    struct slot *slot = NULL;
    HASH_FIND(hh, cache->slots, &key, sizeof key, slot);
    return slot;
}

/* Takes `bytes` over, or makes its own where that is NULL. */
static struct slot *add(struct cache *cache, struct key key, size_t len, char *bytes)
{
    struct slot *slot = calloc(1, sizeof *slot);
    if (!bytes)
        bytes = malloc(len);
    if (!slot || !bytes) {
        free(bytes);
        free(slot);
        return NULL;
    }
    slot->block =
        (struct cache_block){.version = key.version, .index = (uint32_t)key.index, .len = len, .bytes = bytes};
    slot->key = key;
    HASH_ADD(hh, cache->slots, key, sizeof slot->key, slot);
    DL_PREPEND(cache->recent, slot);
    cache->bytes += len;
    cache->turned += len;
    slot->born = cache->turned;
    return slot;
}

/* A reader has come to it. */
static void use(struct cache *cache, struct slot *slot)
{
    set_unread(cache, slot, false);
    if (slot->spent)
        return;
    DL_DELETE(cache->recent, slot);
    DL_PREPEND(cache->recent, slot);
}

struct cache_block *cache_hold(struct session *session, int64_t version, uint32_t index, size_t len, bool *ret_fill)
{
    pthread_mutex_lock(&session->lock);
    struct cache *cache = session->cache;
    struct slot *slot = find(cache, version, index);
    char *bytes = NULL;
    if (slot) {
        use(cache, slot);
    } else {
        (void)make_room(cache, len, false, &bytes); /* a reader does not wait for room */
        slot = add(cache, (struct key){.version = version, .index = index}, len, bytes);
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
    struct cache *cache = session->cache;
    struct slot *slot = NULL;
    char *bytes = NULL;
    if (!find(cache, version, index) && may_promise(cache, len)) {
        if (make_room(cache, len, true, &bytes))
            slot = add(cache, (struct key){.version = version, .index = index}, len, bytes);
        else
            free(bytes);
    }
    if (slot) {
        slot->holders++;
        set_unread(cache, slot, true);
    }
    pthread_mutex_unlock(&session->lock);
    return slot ? &slot->block : NULL;
}

void cache_spent(struct session *session, int64_t version, uint32_t index)
{
    pthread_mutex_lock(&session->lock);
    struct cache *cache = session->cache;
    struct slot *slot = find(cache, version, index);
    if (slot && !slot->spent) {
        slot->spent = true;
        DL_DELETE(cache->recent, slot);
        DL_APPEND(cache->recent, slot);
    }
    pthread_mutex_unlock(&session->lock);
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
