/* stream.c - handing blocks over while they are written. */
#include "fs/stream.h"

#include "base/cleanup.h"
#include "document/world.h"
#include "host/clock.h"

#define WAIT_MS 10

static enum status read_source(void *context, uint64_t offset, void *ret_bytes, size_t len, struct err *err)
{
    struct draft *draft = context;
    size_t got = 0;
    enum status status = draft_read(draft, offset, ret_bytes, len, &got, NULL, err);
    if (status != STATUS_OK || got == len)
        return status;
    return err_set(err, STATUS_STALE, "the file became shorter while it was sent"); /* the publish sends it anew */
}

enum status stream_begin(struct draft *draft, struct session *session, struct err *err)
{
    if (draft->stream.upload)
        return STATUS_OK;
    pthread_mutex_lock(draft->lock);
    struct name name = *draft->name; /* a rename may change it */
    pthread_mutex_unlock(draft->lock);
    struct upload_source source = {.read = read_source, .context = draft};
    struct upload_target target = {.document = draft->document, .name = name.len ? &name : NULL};
    struct upload *upload = NULL;
    enum status status = upload_begin(session, &target, &source, &upload, err);
    if (status != STATUS_OK)
        return status;
    pthread_mutex_lock(draft->lock);
    draft->stream.upload = upload;
    pthread_mutex_unlock(draft->lock);
    return STATUS_OK;
}

/* ---- with the lock held ---- */

static void note_run(struct draft *draft, uint64_t offset, uint64_t len)
{
    struct stream *stream = &draft->stream;
    if (offset != stream->run_to) {
        stream->run_from = offset;
        stream->next = plan_index(&draft->plan, offset);
    }
    stream->run_to = offset + len;
}

/* The next block that the run has filled and nobody has handed over. A file of one block goes up at its close. */
static bool next_block(struct draft *draft, uint32_t *ret_index)
{
    struct stream *stream = &draft->stream;
    if (stream->refused || draft->size <= draft->plan.block_bytes)
        return false;
    while (plan_offset(&draft->plan, stream->next) + plan_length(&draft->plan, stream->next) <= stream->run_to) {
        uint32_t index = stream->next++;
        if (extents_at(&stream->handed, index).kind == EXTENT_WRITTEN)
            continue;
        if (extents_set(&stream->handed, index, 1, EXTENT_WRITTEN) != STATUS_OK)
            return false; /* the publish sends it */
        *ret_index = index;
        return true;
    }
    return false;
}

static bool would_hand(const struct draft *draft)
{
    const struct stream *stream = &draft->stream;
    return !stream->refused && draft->size > draft->plan.block_bytes &&
           plan_offset(&draft->plan, stream->next) + plan_length(&draft->plan, stream->next) <= stream->run_to;
}

bool stream_enter(struct draft *draft, uint64_t offset, uint64_t len)
{
    note_run(draft, offset, len);
    if (!draft->stream.handed.count && !would_hand(draft))
        return false;
    draft->stream.users++;
    return true;
}

static void leave(struct draft *draft)
{
    if (--draft->stream.users == 0)
        pthread_cond_broadcast(draft->changed);
}

void stream_wait(struct draft *draft)
{
    while (draft->stream.users)
        pthread_cond_wait(draft->changed, draft->lock);
}

struct upload *stream_take(struct draft *draft)
{
    struct upload *upload = draft->stream.upload;
    draft->stream.upload = NULL;
    extents_clear(&draft->stream.handed);
    draft->stream.next = 0;
    draft->stream.refused = false;
    draft->stream.run_from = draft->stream.run_to = 0;
    return upload;
}

/* ---- without ---- */

/* Whether there is an upload to hand blocks to; one thread begins it. Called and returns with the lock held. */
static bool have_upload(struct draft *draft, struct session *session)
{
    struct stream *stream = &draft->stream;
    while (!stream->upload && stream->beginning)
        pthread_cond_wait(draft->changed, draft->lock);
    if (stream->upload || stream->refused)
        return stream->upload != NULL;
    stream->beginning = true;
    pthread_mutex_unlock(draft->lock);
    enum status status = stream_begin(draft, session, NULL); /* the publish tries again and tells */
    pthread_mutex_lock(draft->lock);
    stream->beginning = false;
    stream->refused = status != STATUS_OK;
    pthread_cond_broadcast(draft->changed);
    return status == STATUS_OK;
}

static bool nearly_full(const struct draft *draft)
{
    uint64_t max = draft->spools->bytes_max;
    return max && draft->spools->bytes_used > max / 2;
}

/* Lock held. */
static uint64_t let_settled_go(struct draft *draft, uint64_t settled)
{
    return draft->read_back || draft->below ? 0 : draft_let_go(draft, settled);
}

static uint64_t settled_bytes(struct draft *draft, struct upload *upload)
{
    return plan_offset(&draft->plan, upload_settled_blocks(upload));
}

void stream_wrote(struct draft *draft, struct session *session, uint64_t offset, uint64_t len)
{
    pthread_mutex_lock(draft->lock);
    struct upload *before = draft->stream.upload;
    if (before) {
        pthread_mutex_unlock(draft->lock);
        upload_touch(before, offset, len); /* the bytes are readable by now */
        pthread_mutex_lock(draft->lock);
        for (uint32_t i = plan_index(&draft->plan, offset); len && i <= plan_index(&draft->plan, offset + len - 1); i++)
            IGNORE(extents_set(&draft->stream.handed, i, 1, EXTENT_BASE)); /* handed again when it is full again */
    }
    uint32_t index = 0;
    while (would_hand(draft) && have_upload(draft, session) && next_block(draft, &index)) {
        struct upload *upload = draft->stream.upload;
        pthread_mutex_unlock(draft->lock);
        upload_block(upload, index);
        uint64_t settled = nearly_full(draft) ? settled_bytes(draft, upload) : 0;
        pthread_mutex_lock(draft->lock);
        (void)let_settled_go(draft, settled);
    }
    leave(draft);
    pthread_mutex_unlock(draft->lock);
}

/* Whether blocks that were handed over are not settled yet. Lock held. */
static bool under_way(const struct draft *draft, uint64_t settled)
{
    uint32_t first = plan_index(&draft->plan, settled);
    return extents_at(&draft->stream.handed, first).kind == EXTENT_WRITTEN;
}

bool stream_make_room(struct draft *draft, struct session *session)
{
    struct clock *clock = session_world(session)->clock;
    int64_t give_up_ms = clock_boot_ms(clock) + session_settings(session)->deadline_ms;
    bool made = false;
    pthread_mutex_lock(draft->lock);
    struct upload *upload = draft->stream.upload;
    while (upload && !draft->read_back) {
        pthread_mutex_unlock(draft->lock);
        uint64_t settled = settled_bytes(draft, upload);
        pthread_mutex_lock(draft->lock);
        made = let_settled_go(draft, settled) > 0;
        if (made || !under_way(draft, settled) || clock_boot_ms(clock) > give_up_ms)
            break;
        pthread_mutex_unlock(draft->lock);
        clock_wait_ms(clock, WAIT_MS);
        pthread_mutex_lock(draft->lock);
    }
    leave(draft);
    pthread_mutex_unlock(draft->lock);
    return made;
}
