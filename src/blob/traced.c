/* traced.c - counts every call on its way down. */
#include "blob/traced.h"

#include <stdlib.h>

struct traced {
    struct blob_store store;
    struct blob_ops ops; /* its own, since a call that the store below lacks must be lacking here */
    struct blob_store *below;
    _Atomic uint64_t puts, stages, copies, commits, unstages, stats, reads, removes, tags, lists, controls;
    _Atomic uint64_t bytes_sent, bytes_received, failures;
};

static struct traced *traced_of(struct blob_store *store)
{
    return (struct traced *)store;
}

/* Counts how a call ended, and passes its status on. */
static enum status ended(struct traced *traced, enum status status, uint64_t sent, uint64_t received)
{
    traced->bytes_sent += sent;
    if (status == STATUS_OK)
        traced->bytes_received += received;
    else
        traced->failures++;
    return status;
}

static struct blob_capabilities traced_capabilities(struct blob_store *store)
{
    struct blob_store *below = traced_of(store)->below;
    return below->ops->capabilities(below);
}

static enum status traced_put(struct blob_store *store, const struct call *call, const char *name, const void *bytes,
                              size_t len, uint64_t crc64, const struct blob_about *about, struct blob_facts *ret_facts,
                              struct err *err)
{
    struct traced *traced = traced_of(store);
    struct blob_store *below = traced->below;
    traced->puts++;
    return ended(traced, below->ops->put(below, call, name, bytes, len, crc64, about, ret_facts, err), len, 0);
}

static enum status traced_stage(struct blob_store *store, const struct call *call, const char *name,
                                const struct blob_block *block, const void *bytes, uint64_t crc64, struct err *err)
{
    struct traced *traced = traced_of(store);
    struct blob_store *below = traced->below;
    traced->stages++;
    return ended(traced, below->ops->stage(below, call, name, block, bytes, crc64, err), block->len, 0);
}

static enum status traced_stage_from(struct blob_store *store, const struct call *call, const char *name,
                                     const struct blob_block *block, const char *source, const char *source_etag,
                                     uint64_t source_offset, uint64_t *ret_crc64, struct err *err)
{
    struct traced *traced = traced_of(store);
    struct blob_store *below = traced->below;
    traced->copies++;
    return ended(traced,
                 below->ops->stage_from(below, call, name, block, source, source_etag, source_offset, ret_crc64, err),
                 0, 0);
}

static enum status traced_commit(struct blob_store *store, const struct call *call, const char *name,
                                 const struct blob_block *blocks, size_t count, const struct blob_about *about,
                                 struct blob_facts *ret_facts, struct err *err)
{
    struct traced *traced = traced_of(store);
    struct blob_store *below = traced->below;
    traced->commits++;
    return ended(traced, below->ops->commit(below, call, name, blocks, count, about, ret_facts, err), 0, 0);
}

static enum status traced_unstage(struct blob_store *store, const struct call *call, const char *name,
                                  const struct blob_about *about, struct err *err)
{
    struct traced *traced = traced_of(store);
    struct blob_store *below = traced->below;
    traced->unstages++;
    return ended(traced, below->ops->unstage(below, call, name, about, err), 0, 0);
}

static enum status traced_stat(struct blob_store *store, const struct call *call, const char *name,
                               struct blob_facts *ret_facts, struct err *err)
{
    struct traced *traced = traced_of(store);
    struct blob_store *below = traced->below;
    traced->stats++;
    return ended(traced, below->ops->stat(below, call, name, ret_facts, err), 0, 0);
}

static enum status traced_read(struct blob_store *store, const struct call *call, const char *name, const char *etag,
                               uint64_t offset, void *ret_bytes, size_t len, struct err *err)
{
    struct traced *traced = traced_of(store);
    struct blob_store *below = traced->below;
    traced->reads++;
    return ended(traced, below->ops->read(below, call, name, etag, offset, ret_bytes, len, err), 0, len);
}

static enum status traced_remove(struct blob_store *store, const struct call *call, const char *name,
                                 enum blob_guard guard, const char *etag, struct err *err)
{
    struct traced *traced = traced_of(store);
    struct blob_store *below = traced->below;
    traced->removes++;
    return ended(traced, below->ops->remove(below, call, name, guard, etag, err), 0, 0);
}

static enum status traced_tag_committed(struct blob_store *store, const struct call *call, const char *name,
                                        int64_t number, struct err *err)
{
    struct traced *traced = traced_of(store);
    struct blob_store *below = traced->below;
    traced->tags++;
    return ended(traced, below->ops->tag_committed(below, call, name, number, err), 0, 0);
}

static enum status traced_tag_get(struct blob_store *store, const struct call *call, const char *name,
                                  enum blob_tag *ret_tag, struct err *err)
{
    struct traced *traced = traced_of(store);
    struct blob_store *below = traced->below;
    traced->tags++;
    return ended(traced, below->ops->tag_get(below, call, name, ret_tag, err), 0, 0);
}

static enum status traced_list(struct blob_store *store, const struct call *call, const char *prefix, blob_list_fn *fn,
                               void *context, struct err *err)
{
    struct traced *traced = traced_of(store);
    struct blob_store *below = traced->below;
    traced->lists++;
    return ended(traced, below->ops->list(below, call, prefix, fn, context, err), 0, 0);
}

static enum status traced_control_read(struct blob_store *store, const struct call *call, const char *name,
                                       char *ret_text, size_t capacity, char ret_etag[LIMIT_ETAG_BYTES],
                                       struct err *err)
{
    struct traced *traced = traced_of(store);
    struct blob_store *below = traced->below;
    traced->controls++;
    return ended(traced, below->ops->control_read(below, call, name, ret_text, capacity, ret_etag, err), 0, 0);
}

static enum status traced_control_write(struct blob_store *store, const struct call *call, const char *name,
                                        const char *text, const char *etag, char ret_etag[LIMIT_ETAG_BYTES],
                                        struct err *err)
{
    struct traced *traced = traced_of(store);
    struct blob_store *below = traced->below;
    traced->controls++;
    return ended(traced, below->ops->control_write(below, call, name, text, etag, ret_etag, err), 0, 0);
}

static void traced_close(struct blob_store *store)
{
    struct traced *traced = traced_of(store);
    traced->below = blob_close(traced->below);
    free(traced);
}

static const struct blob_ops all = {
    .capabilities = traced_capabilities,
    .put = traced_put,
    .stage = traced_stage,
    .stage_from = traced_stage_from,
    .commit = traced_commit,
    .unstage = traced_unstage,
    .stat = traced_stat,
    .read = traced_read,
    .remove = traced_remove,
    .tag_committed = traced_tag_committed,
    .tag_get = traced_tag_get,
    .list = traced_list,
    .control_read = traced_control_read,
    .control_write = traced_control_write,
    .close = traced_close,
};

enum status traced_open(struct blob_store *below, struct blob_store **ret_store, struct err *err)
{
    struct traced *traced = calloc(1, sizeof *traced);
    if (!traced)
        return err_set(err, STATUS_NO_MEMORY, "counters of the store: out of memory");
    traced->ops = all;
    if (!below->ops->stage_from)
        traced->ops.stage_from = NULL;
    traced->store.ops = &traced->ops;
    traced->below = below;
    *ret_store = &traced->store;
    return STATUS_OK;
}

struct blob_counts traced_counts(struct blob_store *store)
{
    struct traced *traced = traced_of(store);
    return (struct blob_counts){
        .puts = traced->puts,
        .stages = traced->stages,
        .copies = traced->copies,
        .commits = traced->commits,
        .unstages = traced->unstages,
        .stats = traced->stats,
        .reads = traced->reads,
        .removes = traced->removes,
        .tags = traced->tags,
        .lists = traced->lists,
        .controls = traced->controls,
        .bytes_sent = traced->bytes_sent,
        .bytes_received = traced->bytes_received,
        .failures = traced->failures,
    };
}
