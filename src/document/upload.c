/* upload.c - one new content on its way into a blob of its own: blocks side by side, then the blob, then certainty. */
#include "document/upload.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/text.h"
#include "document/sweep_internal.h"
#include "document/upload_internal.h"

#include <string.h>

#define SMALL_BYTES 65536 /* a content up to this size takes no block buffer: small files never wait for large ones */
#define ROUNDS      3     /* in which upload_finish() sends what is missing */

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
    enum status status = session_check_fenced(session, err);
    if (status != STATUS_OK)
        return status;
    struct upload *upload = calloc(1, sizeof *upload);
    if (!upload)
        return err_set(err, STATUS_NO_MEMORY, "begin an upload: out of memory");
    upload->session = session;
    upload->source = *source;
    upload->plan.block_bytes = session->settings.block_bytes;
    upload->clean = true;
    upload->progress_boot_ms = clock_boot_ms(session->world.clock);
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

static void upload_free(struct upload *upload)
{
    struct session *session = upload->session;
    pin_close(upload->base);
    free(upload->blocks);
    free(upload->digests);
    free(upload);
    session_busy_end(session);
}

void upload_done(struct upload *upload)
{
    upload_wait_for_tasks(upload);
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
    upload_wait_for_tasks(upload);
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

const char *upload_blob(const struct upload *upload)
{
    return upload->intent->blob;
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

/* ---- blocks ---- */

void upload_block(struct upload *upload, uint32_t index)
{
    pthread_mutex_lock(&upload->session->lock);
    bool wanted = !(index < upload->block_capacity &&
                    (upload->blocks[index].state == BLOCK_QUEUED || upload->blocks[index].state == BLOCK_STAGED));
    pthread_mutex_unlock(&upload->session->lock);
    if (wanted && !atomic_load(&upload->cancelled))
        IGNORE(
            upload_start_block(upload, index, plan_length(&upload->plan, index), false, NULL)); /* finish tries again */
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
        if (!upload_have_block(upload, i)) {
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

/* Whether block `index` is still to be sent; *ret_copy: the server can copy it. The file may be shorter than when a
 * block was handed over: what is queued is always a full block, what is staged has the length that it was staged with.
 */
static bool missing(struct upload *upload, uint32_t index, bool *ret_copy)
{
    uint64_t len = needed_len(upload, index);
    bool full = len == plan_length(&upload->plan, index);
    pthread_mutex_lock(&upload->session->lock);
    const struct block *block = index < upload->block_capacity ? &upload->blocks[index] : NULL;
    bool there =
        block && ((block->state == BLOCK_QUEUED && full) || (block->state == BLOCK_STAGED && block->len == len));
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
            status = upload_start_block(upload, i, needed_len(upload, i), copy, err);
    }
    upload_wait_for_tasks(upload);
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

static enum status tell_failure(struct upload *upload, uint32_t index, struct err *err)
{
    pthread_mutex_lock(&upload->session->lock);
    struct err failure = upload->failure;
    pthread_mutex_unlock(&upload->session->lock);
    if (failure.status == STATUS_OK)
        (void)err_set(&failure, STATUS_IO, "it was not staged");
    (void)err_context(&failure, "block %u", index);
    if (err)
        *err = failure;
    return failure.status;
}

static enum status stage_all(struct upload *upload, struct err *err)
{
    uint32_t index = 0;
    bool stuck = false;
    for (int round = 0; round < ROUNDS && !stuck; round++) {
        enum status status = stage_missing(upload, err);
        if (status != STATUS_OK || !find_missing(upload, &index))
            return status;
        if (atomic_load(&upload->cancelled))
            return err_set(err, STATUS_INTERRUPTED, "the upload was cancelled");
        pthread_mutex_lock(&upload->session->lock);
        stuck = upload->stuck;
        pthread_mutex_unlock(&upload->session->lock);
    }
    return tell_failure(upload, index, err);
}

static enum status collect(struct upload *upload, struct blob_block **ret_blocks, struct err *err)
{
    struct blob_block *blocks = calloc(upload->count ? upload->count : 1, sizeof *blocks);
    if (!blocks)
        return err_set(err, STATUS_NO_MEMORY, "commit an upload: out of memory");
    upload->crc = 0;
    for (uint32_t i = 0; i < upload->count; i++) {
        const struct block *block = &upload->blocks[i];
        blocks[i] = upload_block_of(upload, i, block->generation, block->len);
        upload->digests[i] = block->crc;
        upload->crc = crc64_combine(upload->crc, block->crc, block->len);
    }
    *ret_blocks = blocks;
    return STATUS_OK;
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
        status = upload_create(upload, &creation, err);
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
    return upload_create(upload, &creation, err);
}

/* A name with staged blocks is committed by its list, even where one put would do: an emulator refuses the put. */
static bool by_blocks(struct upload *upload)
{
    pthread_mutex_lock(&upload->session->lock);
    bool blocks = upload->staged_any || upload->size > upload->plan.block_bytes;
    upload->stuck = false;
    upload->progress_boot_ms = clock_boot_ms(upload->session->world.clock);
    pthread_mutex_unlock(&upload->session->lock);
    return blocks;
}

enum status upload_finish(struct upload *upload, uint64_t size, struct err *err)
{
    if (size > plan_size_max(&upload->plan))
        return err_set(err, STATUS_TOO_LARGE, "a document has at most %llu bytes",
                       (unsigned long long)plan_size_max(&upload->plan));
    uint32_t count = plan_count(&upload->plan, size);
    uint64_t *digests = calloc(count + 1, sizeof *digests);
    if (!digests)
        return err_set(err, STATUS_NO_MEMORY, "finish an upload: out of memory");
    free(upload->digests);
    upload->digests = digests;
    upload->size = size;
    upload->count = count;
    enum status status = by_blocks(upload) ? finish_blocks(upload, err) : finish_single(upload, err);
    if (status != STATUS_OK && atomic_load(&upload->cancelled))
        return err_set(err, STATUS_INTERRUPTED, "the upload was cancelled");
    return status;
}
