/* upload.c - one new content on its way into a blob of its own: blocks side by side, then the blob, then certainty. */
#include "document/upload.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/text.h"
#include "core/backoff.h"
#include "core/plan.h"
#include "document/settle.h"
#include "document/sweep_internal.h"
#include "document/upload_internal.h"

#include <stdio.h>
#include <string.h>

#define SMALL_BYTES 65536 /* a content up to this size takes no block buffer: small files never wait for large ones */

enum block_state { BLOCK_NONE, BLOCK_QUEUED, BLOCK_STAGED, BLOCK_FAILED };

struct block {
    enum block_state state;
    bool unchanged;      /* equals the base's block at the same place */
    uint32_t generation; /* how often it was handed over: each has an id of its own (P2) */
    uint64_t len;        /* that was staged */
    uint64_t crc;
};

struct upload {
    struct session *session;
    struct upload_source source;
    struct intent *intent;
    struct plan plan;
    int64_t document;
    char name_hex[LIMIT_NAME_BYTES * 2 + 1];
    const char *content_type;
    struct pin *base; /* of the unchanged blocks; NULL for none */
    atomic_bool cancelled;

    /* protected by the session's lock */
    struct block *blocks;
    uint32_t block_capacity;
    unsigned running;   /* tasks in flight */
    bool staged_any;    /* something was sent to the name's staging area */
    bool sent;          /* anything was sent at all */
    bool clean;         /* every request was answered (P8) */
    struct err failure; /* of the last block that failed */

    /* after finish */
    uint64_t size, crc;
    uint32_t count;
    uint64_t *digests;
    struct blob_facts facts;
    int64_t confirmed_boot_ms;
    int64_t sent_utc_ns;
};

struct task {
    struct upload *upload;
    uint32_t index, generation;
    uint64_t len;
    bool copy; /* from the base, on the server */
};

/* ---- beginning and ending ---- */

static void describe(struct upload *upload, const struct upload_target *target)
{
    upload->document = target->document;
    upload->content_type = "application/octet-stream";
    if (!target->name)
        return;
    hex_encode(target->name->bytes, target->name->len, upload->name_hex);
    upload->content_type = name_content_type(target->name);
}

enum status upload_begin(struct session *session, const struct upload_target *target,
                         const struct upload_source *source, struct upload **ret_upload, struct err *err)
{
    enum status status = session_check(session, err);
    if (status != STATUS_OK)
        return status;
    struct upload *upload = calloc(1, sizeof *upload);
    if (!upload)
        return err_set(err, STATUS_NO_MEMORY, "begin an upload: out of memory");
    upload->session = session;
    upload->source = *source;
    upload->plan.block_bytes = session->settings.block_bytes;
    upload->clean = true;
    describe(upload, target);
    status = intent_take(session, &upload->intent, err);
    if (status != STATUS_OK) {
        free(upload);
        return status;
    }
    session_busy_begin(session);
    *ret_upload = upload;
    return STATUS_OK;
}

static void wait_for_tasks(struct upload *upload)
{
    pthread_mutex_lock(&upload->session->lock);
    while (upload->running)
        pthread_cond_wait(&upload->session->changed, &upload->session->lock);
    pthread_mutex_unlock(&upload->session->lock);
}

static void upload_free(struct upload *upload)
{
    session_busy_end(upload->session);
    pin_close(upload->base);
    free(upload->blocks);
    free(upload->digests);
    free(upload);
}

void upload_done(struct upload *upload)
{
    wait_for_tasks(upload);
    intent_forget(upload->session, upload->intent);
    upload_free(upload);
}

void upload_condemned(struct upload *upload)
{
    struct session *session = upload->session;
    int64_t version = upload->intent->version;
    upload_done(upload);
    sweep_later(session, version);
}

void upload_unsettled(struct upload *upload)
{
    upload_done(upload);
}

struct give_up {
    struct upload *upload;
    const char *reason;
};

static enum status apply_give_up(struct apply *apply, void *context, struct err *err)
{
    const struct give_up *give_up = context;
    struct version_row row;
    enum status status = ROWS(apply)->version_get(apply->txn, give_up->upload->intent->version, false, &row, err);
    if (status == STATUS_NOT_FOUND || (status == STATUS_OK && row.state != VERSION_PENDING))
        return STATUS_OK; /* another session was faster */
    if (status != STATUS_OK)
        return status;
    upload_fill_row(give_up->upload, &row);
    return apply_condemn(apply, &row, give_up->reason, err);
}

void upload_abandon(struct upload *upload, const char *reason)
{
    if (!upload)
        return;
    struct session *session = upload->session;
    upload_cancel(upload);
    wait_for_tasks(upload);
    if (!upload->sent) { /* P1: an intent for which nothing was sent is as good as new */
        intent_return(session, upload->intent);
        upload_free(upload);
        return;
    }
    struct give_up give_up = {upload, reason};
    int64_t version = upload->intent->version;
    enum status status = commit_run(session, apply_give_up, &give_up, DURABLE, NULL, NULL);
    upload_done(upload); /* out of the working list: where the commit failed, the sweeper condemns it (P11) */
    if (status == STATUS_OK)
        sweep_later(session, version);
}

void upload_cancel(struct upload *upload)
{
    atomic_store(&upload->cancelled, true);
}

int64_t upload_version(const struct upload *upload)
{
    return upload->intent->version;
}

uint64_t upload_size(const struct upload *upload)
{
    return upload->size;
}

const char *upload_blob(const struct upload *upload)
{
    return upload->intent->blob;
}

struct session *upload_session(const struct upload *upload)
{
    return upload->session;
}

void upload_fill_row(const struct upload *upload, struct version_row *row)
{
    row->document = upload->document;
    row->clean = upload->clean;
    row->size_bytes = upload->size;
    row->crc64 = upload->crc;
    row->block_bytes = upload->plan.block_bytes;
    row->sent_utc_ns = upload->sent_utc_ns;
    memcpy(row->etag, upload->facts.etag, sizeof row->etag);
    row->digests = upload->digests; /* borrowed: the row is written and forgotten before the upload ends */
    row->digest_count = upload->count;
}

/* ---- exchanges ---- */

static struct call call_of(struct upload *upload)
{
    return (struct call){.deadline_ms = upload->session->settings.deadline_ms, .cancelled = &upload->cancelled};
}

static struct blob_about about_of(const struct upload *upload)
{
    return (struct blob_about){.catalogue = upload->session->catalogue_id,
                               .document = upload->document,
                               .version = upload->intent->version,
                               .token = upload->intent->token,
                               .name_hex = upload->name_hex[0] ? upload->name_hex : NULL,
                               .content_type = upload->content_type,
                               .pending = session_has_tags(upload->session)};
}

/* Before each request: an owner that was fenced must not send any more. */
static enum status before_sending(struct upload *upload, struct err *err)
{
    enum status status = session_check(upload->session, err);
    if (status != STATUS_OK)
        return status;
    pthread_mutex_lock(&upload->session->lock);
    upload->sent = true;
    upload->sent_utc_ns = clock_utc_ns(upload->session->world.clock);
    pthread_mutex_unlock(&upload->session->lock);
    return STATUS_OK;
}

/* A request without an answer may be carried out later: the name is not clean any more (P8). */
static void after_sending(struct upload *upload, enum status status)
{
    bool answered = status_outcome(status) != OUTCOME_UNKNOWN && status != STATUS_TIMEOUT &&
                    status != STATUS_INTERRUPTED && status != STATUS_UNREACHABLE;
    pthread_mutex_lock(&upload->session->lock);
    if (!answered)
        upload->clean = false;
    upload->sent_utc_ns = clock_utc_ns(upload->session->world.clock);
    pthread_mutex_unlock(&upload->session->lock);
}

static struct blob_block block_of(const struct upload *upload, uint32_t index, uint32_t generation, uint64_t len)
{
    struct blob_block block = {.offset = plan_offset(&upload->plan, index), .len = len};
    id_block(upload->intent->block_seed, index, generation, block.id);
    return block;
}

static enum status stage_bytes(struct upload *upload, const struct task *task, uint64_t *ret_crc, struct err *err)
{
    struct blob_block block = block_of(upload, task->index, task->generation, task->len);
    AUTO_FREE char *bytes = malloc(task->len ? task->len : 1);
    if (!bytes)
        return err_set(err, STATUS_NO_MEMORY, "stage a block: out of memory");
    enum status status = upload->source.read(upload->source.context, block.offset, bytes, task->len, err);
    if (status != STATUS_OK)
        return status;
    *ret_crc = crc64(0, bytes, task->len);
    status = before_sending(upload, err);
    if (status != STATUS_OK)
        return status;
    struct blob_store *blobs = upload->session->world.blobs;
    struct call call = call_of(upload);
    status = blobs->ops->stage(blobs, &call, upload->intent->blob, &block, bytes, *ret_crc, err);
    after_sending(upload, status);
    return status;
}

/* Put Block From URL, where the store can (unchanged ranges of a rewritten document); verified against the base's
 * digest. */
static enum status stage_copy(struct upload *upload, const struct task *task, uint64_t *ret_crc, struct err *err)
{
    struct blob_store *blobs = upload->session->world.blobs;
    const struct version_row *base = pin_version(upload->base);
    struct blob_block block = block_of(upload, task->index, task->generation, task->len);
    enum status status = before_sending(upload, err);
    if (status != STATUS_OK)
        return status;
    struct call call = call_of(upload);
    status = blobs->ops->stage_from(blobs, &call, upload->intent->blob, &block, base->blob, base->etag, block.offset,
                                    ret_crc, err);
    after_sending(upload, status);
    if (status == STATUS_OK && *ret_crc != base->digests[task->index])
        return err_set(err, STATUS_CORRUPT, "a block copied on the server has other bytes than were written");
    return status;
}

static enum status stage(struct upload *upload, struct task *task, uint64_t *ret_crc, struct err *err)
{
    if (task->copy) {
        enum status status = stage_copy(upload, task, ret_crc, err);
        if (status == STATUS_OK)
            return status;
        /* Whatever the server could not copy is sent; under an id of its own, since the copy may still arrive. */
        pthread_mutex_lock(&upload->session->lock);
        struct block *block = &upload->blocks[task->index];
        if (block->generation == task->generation)
            task->generation = ++block->generation;
        pthread_mutex_unlock(&upload->session->lock);
    }
    return stage_bytes(upload, task, ret_crc, err);
}

static void run_task(void *argument)
{
    struct task *task = argument;
    struct upload *upload = task->upload;
    struct session *session = upload->session;
    struct err err = {0};
    uint64_t crc = 0;
    session_buffer_take(session);
    enum status status = atomic_load(&upload->cancelled) ? err_set(&err, STATUS_INTERRUPTED, "the upload was cancelled")
                                                         : stage(upload, task, &crc, &err);
    session_buffer_give(session);
    pthread_mutex_lock(&session->lock);
    struct block *block = &upload->blocks[task->index];
    if (block->generation == task->generation && block->state == BLOCK_QUEUED) {
        block->state = status == STATUS_OK ? BLOCK_STAGED : BLOCK_FAILED;
        block->crc = crc;
        block->len = task->len;
    }
    if (status != STATUS_OK)
        upload->failure = err;
    upload->running--;
    pthread_cond_broadcast(&session->changed);
    pthread_mutex_unlock(&session->lock);
    free(task);
}

/* ---- blocks ---- */

/* The lock is held. */
static bool have_block(struct upload *upload, uint32_t index)
{
    if (index < upload->block_capacity)
        return true;
    uint32_t capacity = upload->block_capacity ? upload->block_capacity : 16;
    while (capacity <= index)
        capacity *= 2;
    struct block *blocks = realloc(upload->blocks, capacity * sizeof *blocks);
    if (!blocks)
        return false;
    memset(blocks + upload->block_capacity, 0, (capacity - upload->block_capacity) * sizeof *blocks);
    upload->blocks = blocks;
    upload->block_capacity = capacity;
    return true;
}

/* Hands one block to the workers, or stages it here when they have no time or `here` says so. */
static enum status start_block(struct upload *upload, uint32_t index, uint64_t len, bool copy, struct err *err)
{
    struct task *task = calloc(1, sizeof *task);
    if (!task)
        return err_set(err, STATUS_NO_MEMORY, "stage a block: out of memory");
    pthread_mutex_lock(&upload->session->lock);
    bool room = have_block(upload, index);
    if (room) {
        struct block *block = &upload->blocks[index];
        block->state = BLOCK_QUEUED;
        block->generation++;
        *task = (struct task){upload, index, block->generation, len, copy};
        upload->running++;
        upload->staged_any = true;
    }
    pthread_mutex_unlock(&upload->session->lock);
    if (!room) {
        free(task);
        return err_set(err, STATUS_NO_MEMORY, "stage a block: out of memory");
    }
    if (!workers_submit(upload->session->world.workers, run_task, task))
        run_task(task);
    return STATUS_OK;
}

void upload_block(struct upload *upload, uint32_t index)
{
    pthread_mutex_lock(&upload->session->lock);
    bool wanted = !(index < upload->block_capacity &&
                    (upload->blocks[index].state == BLOCK_QUEUED || upload->blocks[index].state == BLOCK_STAGED));
    pthread_mutex_unlock(&upload->session->lock);
    if (wanted && !atomic_load(&upload->cancelled))
        (void)start_block(upload, index, plan_length(&upload->plan, index), false, NULL); /* finish tries again */
}

void upload_touch(struct upload *upload, uint64_t offset, uint64_t len)
{
    if (!len)
        return;
    uint32_t last = plan_index(&upload->plan, offset + len - 1);
    pthread_mutex_lock(&upload->session->lock);
    for (uint32_t i = plan_index(&upload->plan, offset); i <= last && i < upload->block_capacity; i++) {
        upload->blocks[i].state = BLOCK_NONE; /* a task in flight finds its result not wanted */
        upload->blocks[i].unchanged = false;
    }
    pthread_mutex_unlock(&upload->session->lock);
}

uint32_t upload_settled_blocks(struct upload *upload)
{
    pthread_mutex_lock(&upload->session->lock);
    uint32_t settled = 0;
    while (settled < upload->block_capacity && upload->blocks[settled].state == BLOCK_STAGED)
        settled++;
    pthread_mutex_unlock(&upload->session->lock);
    return settled;
}

enum status upload_unchanged(struct upload *upload, struct pin *base, uint64_t offset, uint64_t len, struct err *err)
{
    const struct version_row *version = pin_version(base);
    struct blob_store *blobs = upload->session->world.blobs;
    if (!upload->session->capabilities.stage_from || !blobs->ops->stage_from ||
        version->block_bytes != upload->plan.block_bytes || !version->digests || !len)
        return STATUS_OK; /* the bytes are sent like any others */
    if (!upload->base)
        upload->base = pin_ref(base);
    INVARIANT(upload->base == base);
    uint32_t first = plan_index(&upload->plan, offset);
    if (plan_offset(&upload->plan, first) < offset)
        first++;
    enum status status = STATUS_OK;
    pthread_mutex_lock(&upload->session->lock);
    for (uint32_t i = first; i < version->digest_count; i++) {
        uint64_t begin = plan_offset(&upload->plan, i);
        uint64_t end = begin + plan_length(&upload->plan, i);
        if (end > version->size_bytes)
            end = version->size_bytes;
        if (end > offset + len)
            break;
        if (!have_block(upload, i)) {
            status = err_set(err, STATUS_NO_MEMORY, "plan an upload: out of memory");
            break;
        }
        if (upload->blocks[i].state == BLOCK_NONE) {
            upload->blocks[i].unchanged = true;
            upload->blocks[i].len = end - begin;
        }
    }
    pthread_mutex_unlock(&upload->session->lock);
    return status;
}

/* ---- finishing ---- */

static uint64_t needed_len(const struct upload *upload, uint32_t index)
{
    uint64_t left = upload->size - plan_offset(&upload->plan, index);
    uint64_t full = plan_length(&upload->plan, index);
    return left < full ? left : full;
}

/* Whether block `index` is still to be sent; *ret_copy: the server can copy it. */
static bool missing(struct upload *upload, uint32_t index, bool *ret_copy)
{
    uint64_t len = needed_len(upload, index);
    pthread_mutex_lock(&upload->session->lock);
    const struct block *block = index < upload->block_capacity ? &upload->blocks[index] : NULL;
    bool there = block && (block->state == BLOCK_QUEUED || block->state == BLOCK_STAGED) &&
                 (block->state == BLOCK_QUEUED || block->len == len);
    /* A queued block is always a full one; the last block of a file that was cut is sent anew. */
    if (there && block->state == BLOCK_QUEUED && len != plan_length(&upload->plan, index))
        there = false;
    *ret_copy = block && block->unchanged && block->state == BLOCK_NONE && block->len == len;
    pthread_mutex_unlock(&upload->session->lock);
    return !there;
}

/* One round over all blocks; then waits. */
static enum status stage_missing(struct upload *upload, struct err *err)
{
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < upload->count && status == STATUS_OK; i++) {
        bool copy = false;
        if (missing(upload, i, &copy))
            status = start_block(upload, i, needed_len(upload, i), copy, err);
    }
    wait_for_tasks(upload);
    return status;
}

static bool find_missing(struct upload *upload, uint32_t *ret_index)
{
    bool copy = false;
    for (uint32_t i = 0; i < upload->count; i++) {
        *ret_index = i;
        if (missing(upload, i, &copy))
            return true;
    }
    return false;
}

static enum status stage_all(struct upload *upload, struct err *err)
{
    uint32_t index = 0;
    for (int round = 0; round < 3; round++) {
        enum status status = stage_missing(upload, err);
        if (status != STATUS_OK || !find_missing(upload, &index))
            return status;
        if (atomic_load(&upload->cancelled))
            return err_set(err, STATUS_INTERRUPTED, "the upload was cancelled");
    }
    if (err)
        *err = upload->failure;
    (void)err_context(err, "block %u", index);
    return upload->failure.status == STATUS_OK ? STATUS_IO : upload->failure.status;
}

static enum status collect(struct upload *upload, struct blob_block **ret_blocks, struct err *err)
{
    AUTO_FREE struct blob_block *blocks = calloc(upload->count ? upload->count : 1, sizeof *blocks);
    if (!blocks)
        return err_set(err, STATUS_NO_MEMORY, "commit an upload: out of memory");
    upload->crc = 0;
    for (uint32_t i = 0; i < upload->count; i++) {
        const struct block *block = &upload->blocks[i];
        blocks[i] = block_of(upload, i, block->generation, block->len);
        upload->digests[i] = block->crc;
        upload->crc = i ? crc64_combine(upload->crc, block->crc, block->len) : block->crc;
    }
    *ret_blocks = TAKE(blocks);
    return STATUS_OK;
}

/* What makes the blob: one put, or the block list. */
struct creation {
    const void *bytes;               /* of a single put */
    const struct blob_block *blocks; /* NULL for a single put */
};

static enum status create_once(struct upload *upload, const struct creation *creation, struct err *err)
{
    enum status status = before_sending(upload, err);
    if (status != STATUS_OK)
        return status;
    struct blob_store *blobs = upload->session->world.blobs;
    struct call call = call_of(upload);
    struct blob_about about = about_of(upload);
    status = creation->blocks ? blobs->ops->commit(blobs, &call, upload->intent->blob, creation->blocks, upload->count,
                                                   &about, &upload->facts, err)
                              : blobs->ops->put(blobs, &call, upload->intent->blob, creation->bytes, upload->size,
                                                upload->crc, &about, &upload->facts, err);
    after_sending(upload, status);
    return status;
}

/* P9: a blob is there, or may be. Ours is success, another's a refusal; absent is still unknown. */
static enum status look_for_ours(struct upload *upload, struct err *err)
{
    struct call call = call_of(upload);
    struct blob_facts facts;
    switch (settle_look(upload->session, &call, upload->intent->blob, upload->intent->token, &facts, err)) {
    case SIGHT_OURS: break;
    case SIGHT_FOREIGN: return err_set(err, STATUS_CORRUPT, "another's blob lies under %s", upload->intent->blob);
    default: return STATUS_UNKNOWN;
    }
    if (facts.size_bytes != upload->size || (facts.has_crc64 && facts.crc64 != upload->crc))
        return err_set(err, STATUS_CORRUPT, "blob %s is not what was sent", upload->intent->blob);
    upload->facts = facts;
    return STATUS_OK;
}

/* The same create again is harmless: the name takes one content, once (P2, P3). */
static enum status create(struct upload *upload, const struct creation *creation, struct err *err)
{
    static const struct backoff pace = {.first_ms = 200, .max_ms = 5000};
    struct clock *clock = upload->session->world.clock;
    int64_t give_up_ms = clock_boot_ms(clock) + upload->session->settings.deadline_ms;
    for (unsigned attempt = 1;; attempt++) {
        enum status status = create_once(upload, creation, err);
        if (status == STATUS_EXISTS || status_outcome(status) == OUTCOME_UNKNOWN) {
            enum status seen = look_for_ours(upload, status == STATUS_EXISTS ? err : NULL);
            if (seen != STATUS_UNKNOWN)
                return seen;
        } else {
            return status;
        }
        if (atomic_load(&upload->cancelled) || clock_boot_ms(clock) >= give_up_ms)
            return STATUS_UNKNOWN;
        uint64_t random = 0;
        entropy_fill(upload->session->world.entropy, &random, sizeof random);
        clock_wait_ms(clock, backoff_wait_ms(&pace, attempt, 0, random));
    }
}

static enum status finish_single(struct upload *upload, struct err *err)
{
    bool large = upload->size > SMALL_BYTES;
    if (large)
        session_buffer_take(upload->session);
    AUTO_FREE char *bytes = malloc(upload->size ? upload->size : 1);
    enum status status = bytes ? STATUS_OK : err_set(err, STATUS_NO_MEMORY, "send a file: out of memory");
    if (status == STATUS_OK && upload->size)
        status = upload->source.read(upload->source.context, 0, bytes, upload->size, err);
    if (status == STATUS_OK) {
        upload->crc = crc64(0, bytes, upload->size);
        upload->digests[0] = upload->crc;
        struct creation creation = {.bytes = bytes};
        status = create(upload, &creation, err);
    }
    if (large)
        session_buffer_give(upload->session);
    return status;
}

static enum status finish_blocks(struct upload *upload, struct err *err)
{
    enum status status = stage_all(upload, err);
    AUTO_FREE struct blob_block *blocks = NULL;
    if (status == STATUS_OK)
        status = collect(upload, &blocks, err);
    if (status != STATUS_OK)
        return status;
    struct creation creation = {.blocks = blocks};
    return create(upload, &creation, err);
}

enum status upload_finish(struct upload *upload, uint64_t size, struct err *err)
{
    if (size > plan_size_max(&upload->plan))
        return err_set(err, STATUS_TOO_LARGE, "a document has at most %llu bytes",
                       (unsigned long long)plan_size_max(&upload->plan));
    upload->size = size;
    upload->count = plan_count(&upload->plan, size);
    free(upload->digests);
    upload->digests = calloc(upload->count + 1, sizeof *upload->digests);
    if (!upload->digests)
        return err_set(err, STATUS_NO_MEMORY, "finish an upload: out of memory");
    pthread_mutex_lock(&upload->session->lock);
    bool blocks = upload->staged_any || size > upload->plan.block_bytes;
    pthread_mutex_unlock(&upload->session->lock);
    /* A name with staged blocks is committed by its list, even where one put would do: an emulator refuses the put. */
    enum status status = blocks ? finish_blocks(upload, err) : finish_single(upload, err);
    if (status != STATUS_OK && atomic_load(&upload->cancelled))
        return err_set(err, STATUS_INTERRUPTED, "the upload was cancelled");
    if (status == STATUS_OK)
        upload->confirmed_boot_ms = clock_boot_ms(upload->session->world.clock);
    return status;
}

enum status upload_confirm(struct upload *upload, struct err *err)
{
    struct session *session = upload->session;
    int64_t age_ms = clock_boot_ms(session->world.clock) - upload->confirmed_boot_ms;
    if (age_ms <= session->settings.confirm_max_age_ms)
        return STATUS_OK;
    enum status status = look_for_ours(upload, err);
    if (status == STATUS_UNKNOWN)
        return err_set(err, STATUS_IO, "blob %s could not be confirmed before it was published", upload->intent->blob);
    upload->confirmed_boot_ms = clock_boot_ms(session->world.clock);
    return status;
}
