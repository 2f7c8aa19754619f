/* upload_stage.c - blocks on their way: each one a task that some thread runs, its result kept where it is still
 * wanted.
 *
 * A block that is touched while its task runs is handed over again under a new generation, hence a new id (P2); what
 * the old task brings is then not wanted. Nothing here waits for another task, so tasks may run in any order on any
 * thread.
 */
#include "document/upload_internal.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "document/pin.h"

#include <string.h>

struct task {
    struct upload *upload;
    uint32_t index, generation;
    uint64_t len;
    bool copy;
};

/* ---- requests ---- */

/* An owner that was fenced must not send any more. */
enum status upload_before_sending(struct upload *upload, struct err *err)
{
    enum status status = session_check_fenced(upload->session, err);
    if (status != STATUS_OK)
        return status;
    pthread_mutex_lock(&upload->session->lock);
    upload->sent = true;
    upload->sent_utc_ns = clock_utc_ns(upload->session->world.clock);
    pthread_mutex_unlock(&upload->session->lock);
    return STATUS_OK;
}

static bool unanswered(enum status status)
{
    return status_outcome(status) == OUTCOME_UNKNOWN || status == STATUS_TIMEOUT || status == STATUS_INTERRUPTED ||
           status == STATUS_UNREACHABLE;
}

/* A request without an answer may be carried out later: the name is not clean any more (P8). */
void upload_after_sending(struct upload *upload, enum status status)
{
    pthread_mutex_lock(&upload->session->lock);
    if (unanswered(status))
        upload->clean = false;
    upload->sent_utc_ns = clock_utc_ns(upload->session->world.clock);
    pthread_mutex_unlock(&upload->session->lock);
}

struct blob_block upload_block_of(const struct upload *upload, uint32_t index, uint32_t generation, uint64_t len)
{
    struct blob_block block = {.offset = plan_offset(&upload->plan, index), .len = len};
    id_block(upload->intent->block_seed, index, generation, block.id);
    return block;
}

static struct call call_of(struct upload *upload)
{
    return (struct call){.deadline_ms = upload->session->settings.deadline_ms, .cancelled = &upload->cancelled};
}

static enum status stage_bytes(struct upload *upload, const struct task *task, uint64_t *ret_crc, struct err *err)
{
    struct blob_block block = upload_block_of(upload, task->index, task->generation, task->len);
    AUTO_FREE char *bytes = malloc(task->len ? task->len : 1);
    if (!bytes)
        return err_set(err, STATUS_NO_MEMORY, "stage a block: out of memory");
    enum status status = upload->source.read(upload->source.context, block.offset, bytes, task->len, err);
    if (status != STATUS_OK)
        return status;
    *ret_crc = crc64(0, bytes, task->len);
    status = upload_before_sending(upload, err);
    if (status != STATUS_OK)
        return status;
    struct blob_store *blobs = upload->session->world.blobs;
    struct call call = call_of(upload);
    status = blobs->ops->stage(blobs, &call, upload->intent->blob, &block, bytes, *ret_crc, err);
    upload_after_sending(upload, status);
    return status;
}

/* Put Block From URL, where the store can (unchanged ranges of a rewritten document); verified against the base's
 * digest. */
static enum status stage_copy(struct upload *upload, const struct task *task, uint64_t *ret_crc, struct err *err)
{
    struct blob_store *blobs = upload->session->world.blobs;
    const struct version_row *base = pin_version(upload->base);
    struct blob_block block = upload_block_of(upload, task->index, task->generation, task->len);
    char etag[LIMIT_ETAG_BYTES];
    pin_etag(upload->base, etag);
    enum status status = upload_before_sending(upload, err);
    if (status != STATUS_OK)
        return status;
    struct call call = call_of(upload);
    status = blobs->ops->stage_from(blobs, &call, upload->intent->blob, &block, base->blob, etag, block.offset, ret_crc,
                                    err);
    upload_after_sending(upload, status);
    if (status == STATUS_OK && *ret_crc != base->digests[task->index])
        return err_set(err, STATUS_CORRUPT, "a block copied on the server has other bytes than were written");
    return status;
}

/* ---- tasks ---- */

/* The lock is held. */
static struct block *wanted_block(struct upload *upload, const struct task *task)
{
    struct block *block = &upload->blocks[task->index];
    return block->generation == task->generation && block->state == BLOCK_QUEUED ? block : NULL;
}

static bool still_wanted(struct upload *upload, const struct task *task)
{
    pthread_mutex_lock(&upload->session->lock);
    bool wanted = wanted_block(upload, task) != NULL;
    pthread_mutex_unlock(&upload->session->lock);
    return wanted;
}

/* Whatever the server could not copy is sent, under an id of its own, since the copy may still arrive. False: the block
 * was touched meanwhile, and another task will bring it. */
static bool send_instead(struct upload *upload, struct task *task)
{
    pthread_mutex_lock(&upload->session->lock);
    struct block *block = wanted_block(upload, task);
    if (block)
        task->generation = ++block->generation;
    upload->copy_failed = true;
    pthread_mutex_unlock(&upload->session->lock);
    return block != NULL;
}

/* Whether nothing stands against sending; takes copying off a task that would not succeed. */
static enum status may_stage(struct upload *upload, struct task *task, struct err *err)
{
    pthread_mutex_lock(&upload->session->lock);
    bool stuck = upload->stuck;
    task->copy = task->copy && !upload->copy_failed;
    if (stuck)
        *err = upload->failure;
    pthread_mutex_unlock(&upload->session->lock);
    if (atomic_load(&upload->cancelled))
        return err_set(err, STATUS_INTERRUPTED, "the upload was cancelled");
    return stuck ? err->status : STATUS_OK;
}

static enum status stage(struct upload *upload, struct task *task, uint64_t *ret_crc, struct err *err)
{
    enum status status = may_stage(upload, task, err);
    if (status != STATUS_OK)
        return status;
    if (task->copy) {
        status = stage_copy(upload, task, ret_crc, err);
        if (status == STATUS_OK || !send_instead(upload, task))
            return status;
    }
    return stage_bytes(upload, task, ret_crc, err);
}

static void keep_result(struct upload *upload, const struct task *task, uint64_t crc)
{
    struct block *block = wanted_block(upload, task);
    if (!block)
        return;
    block->state = BLOCK_STAGED;
    block->crc = crc;
    block->len = task->len;
}

/* The store has tried each request for its whole deadline; when in that time no other block has moved either, the
 * remaining ones would only add their deadlines to it (S23). */
static void keep_failure(struct upload *upload, const struct task *task, enum status status, const struct err *err,
                         int64_t now_ms)
{
    struct block *block = wanted_block(upload, task);
    if (block)
        block->state = BLOCK_FAILED;
    upload->failure = *err;
    upload->failure.status = status;
    if (unanswered(status) && now_ms - upload->progress_boot_ms >= upload->session->settings.deadline_ms)
        upload->stuck = true;
}

static void run_task(void *argument)
{
    struct task *task = argument;
    struct upload *upload = task->upload;
    struct session *session = upload->session;
    struct err err = {0};
    uint64_t crc = 0;
    session_buffer_take(session);
    enum status status = STATUS_OK;
    bool wanted = still_wanted(upload, task);
    if (wanted)
        status = stage(upload, task, &crc, &err);
    session_buffer_give(session);
    int64_t now_ms = clock_boot_ms(session->world.clock);
    pthread_mutex_lock(&session->lock);
    if (wanted && status == STATUS_OK) {
        keep_result(upload, task, crc);
        upload->progress_boot_ms = now_ms;
    } else if (wanted) {
        keep_failure(upload, task, status, &err, now_ms);
    }
    upload->running--;
    pthread_cond_broadcast(&session->changed);
    pthread_mutex_unlock(&session->lock);
    free(task);
}

bool upload_have_block(struct upload *upload, uint32_t index)
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

enum status upload_start_block(struct upload *upload, uint32_t index, uint64_t len, bool copy, struct err *err)
{
    struct task *task = calloc(1, sizeof *task);
    if (!task)
        return err_set(err, STATUS_NO_MEMORY, "stage a block: out of memory");
    pthread_mutex_lock(&upload->session->lock);
    bool room = upload_have_block(upload, index);
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

void upload_wait_for_tasks(struct upload *upload)
{
    pthread_mutex_lock(&upload->session->lock);
    while (upload->running)
        pthread_cond_wait(&upload->session->changed, &upload->session->lock);
    pthread_mutex_unlock(&upload->session->lock);
}
