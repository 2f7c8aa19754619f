/* session.c - the life of a session: birth under the gate, heartbeat, the horizon of its readers, end. */
#include "document/session.h"

#include "base/cleanup.h"
#include "document/cache.h"
#include "document/session_internal.h"

#include <stdio.h>
#include <string.h>

static struct session *session_free(struct session *session)
{
    if (!session)
        return NULL;
    cache_free(session->cache);
    while (session->working)
        intent_forget(session, session->working);
    pthread_cond_destroy(&session->changed);
    pthread_mutex_destroy(&session->lock);
    free(session);
    return NULL;
}

static struct session *session_new(const struct world *world, const struct session_options *options)
{
    struct session *session = calloc(1, sizeof *session);
    if (!session)
        return NULL;
    session->world = *world;
    session->kind = options->kind;
    session->settings = options->settings;
    session->capabilities = world->blobs->ops->capabilities(world->blobs);
    (void)snprintf(session->place, sizeof session->place, "%s", options->place ? options->place : ""); /* may be cut */
    session->queue_end = &session->queue;
    (void)pthread_mutex_init(&session->lock, NULL); /* cannot fail with default attributes */
    (void)pthread_cond_init(&session->changed, NULL);
    session->cache = cache_new(session->settings.read_cache_bytes);
    if (!session->cache)
        return session_free(session);
    return session;
}

/* Inserting the row and taking the kernel lock are one hold of the gate, so that no sweeper sees one without the other
 * (P11). */
static enum status insert_row(struct session *session, struct catalogue_txn *txn, struct err *err)
{
    const struct catalogue_ops *rows = session->world.catalogue->ops;
    struct session_row row = {.kind = session->kind, .pid = getpid()};
    row.started_utc_ns = row.heartbeat_utc_ns = clock_utc_ns(session->world.clock);
    (void)snprintf(row.place, sizeof row.place, "%s", session->place); /* same size */
    enum status status = rows->seq_now(txn, &row.horizon, err);
    if (status != STATUS_OK)
        return status;
    row.seen_seq = row.horizon;
    status = rows->session_insert(txn, &row, &session->id, err);
    if (status != STATUS_OK)
        return status;
    session->known_seq = row.horizon;
    status = rows->meta_get(txn, "catalogue", session->catalogue_id, sizeof session->catalogue_id, err);
    if (status != STATUS_OK)
        return status;
    return rows->lock_take(txn, session->id, err);
}

enum status session_open(const struct world *world, const struct session_options *options, struct session **ret_session,
                         struct err *err)
{
    struct session *session = session_new(world, options);
    if (!session)
        return err_set(err, STATUS_NO_MEMORY, "open a session: out of memory");
    const struct catalogue_ops *rows = world->catalogue->ops;
    struct catalogue_txn *txn = NULL;
    enum status status = rows->write_begin(world->catalogue, DURABLE, session->settings.deadline_ms, &txn, err);
    if (status == STATUS_OK) {
        status = insert_row(session, txn, err);
        if (status == STATUS_OK)
            status = rows->commit(txn, err);
        else
            rows->abort(txn);
    }
    if (status != STATUS_OK) {
        if (session->id) /* a row that was committed after all is fenced by whoever finds its lock free */
            rows->lock_release(world->catalogue, session->id);
        (void)session_free(session);
        return status;
    }
    *ret_session = session;
    return STATUS_OK;
}

struct ending {
    struct session *session;
    const char *result;
};

static enum status apply_end(struct apply *apply, void *context, struct err *err)
{
    const struct ending *ending = context;
    struct session_row row;
    enum status status = ROWS(apply)->session_get(apply->txn, ending->session->id, &row, err);
    if (status == STATUS_OK)
        status = intent_drop_pool(apply, err);
    if (status != STATUS_OK)
        return status;
    (void)snprintf(row.result, sizeof row.result, "%s", ending->result ? ending->result : "ended"); /* may be cut */
    status = fence_session(apply, &row, "its session has ended", err);
    /* Nobody waits to read how a verb ended. */
    apply->ended = row.kind == SESSION_VERB;
    if (status == STATUS_OK && apply->ended)
        status = ROWS(apply)->session_delete(apply->txn, row.id, err);
    if (status == STATUS_OK)
        ROWS(apply)->lock_bury(apply->txn, row.id);
    return status;
}

void session_close(struct session *session, const char *result)
{
    if (!session)
        return;
    struct ending ending = {session, result};
    pthread_mutex_lock(&session->lock);
    session->closing = true;
    while (session->background)
        pthread_cond_wait(&session->changed, &session->lock);
    INVARIANT(!session->readers);
    pthread_mutex_unlock(&session->lock);
    /* What cannot be written now is done by whoever fences this session. */
    IGNORE(commit_run(session, apply_end, &ending, DURABLE, NULL, NULL));
    session->world.catalogue->ops->lock_release(session->world.catalogue, session->id);
    (void)session_free(session);
}

int64_t session_id(const struct session *session)
{
    return session->id;
}

const struct world *session_world(const struct session *session)
{
    return &session->world;
}

const struct settings *session_settings(const struct session *session)
{
    return &session->settings;
}

enum status session_check_fenced(struct session *session, struct err *err)
{
    pthread_mutex_lock(&session->lock);
    bool fenced = session->fenced;
    pthread_mutex_unlock(&session->lock);
    if (!fenced)
        return STATUS_OK;
    (void)err_set(err, STATUS_FENCED, "session %lld was declared dead by another", (long long)session->id);
    (void)err_hint(err, "unmount and mount again");
    return STATUS_FENCED;
}

void session_set_doubtful(struct session *session, bool doubtful)
{
    pthread_mutex_lock(&session->lock);
    session->doubtful = doubtful;
    pthread_mutex_unlock(&session->lock);
}

enum status session_check(struct session *session, struct err *err)
{
    pthread_mutex_lock(&session->lock);
    bool doubtful = session->doubtful;
    pthread_mutex_unlock(&session->lock);
    enum status status = session_check_fenced(session, err);
    if (status == STATUS_OK && doubtful)
        return err_set(err, STATUS_IO, "the catalogue could not be written and not be opened again");
    return status;
}

int64_t session_known_seq(struct session *session)
{
    pthread_mutex_lock(&session->lock);
    int64_t seq = session->known_seq;
    pthread_mutex_unlock(&session->lock);
    return seq;
}

bool session_moved(struct session *session, uint64_t *seen)
{
    uint64_t version = 0;
    struct catalogue *catalogue = session->world.catalogue;
    if (catalogue->ops->data_version(catalogue, &version, NULL) != STATUS_OK)
        return true;
    bool moved = version != *seen;
    *seen = version;
    return moved;
}

enum status session_sync(struct session *session, struct err *err)
{
    enum status status = session_check(session, err);
    if (status != STATUS_OK)
        return status;
    struct catalogue *catalogue = session->world.catalogue;
    status = catalogue->ops->sync(catalogue, err);
    if (status == STATUS_IO)
        session_set_doubtful(session, true);
    return status;
}

/* ---- heartbeat ---- */

static enum status read_present(struct session *session, int64_t *ret_seq, struct err *err)
{
    struct catalogue *catalogue = session->world.catalogue;
    struct catalogue_txn *txn = NULL;
    enum status status = catalogue->ops->read_begin(catalogue, &txn, err);
    if (status != STATUS_OK)
        return status;
    status = catalogue->ops->seq_now(txn, ret_seq, err);
    catalogue->ops->abort(txn);
    return status;
}

/* Who follows the change log still needs what comes after the number that it has used; others need nothing. */
static int64_t seen_by(struct session *session, int64_t present)
{
    pthread_mutex_lock(&session->lock);
    int64_t seen = session->watches ? session->seen_seq : present;
    pthread_mutex_unlock(&session->lock);
    return seen;
}

void session_note_seen(struct session *session, int64_t seq)
{
    pthread_mutex_lock(&session->lock);
    if (!session->watches || seq > session->seen_seq)
        session->seen_seq = seq;
    session->watches = true;
    pthread_mutex_unlock(&session->lock);
}

/* The least number among the registered readers, or `present` (P14). */
static int64_t horizon_of(struct session *session, int64_t present)
{
    pthread_mutex_lock(&session->lock);
    int64_t least = present;
    for (const struct registration *each = session->readers; each; each = each->next)
        if (each->seq < least)
            least = each->seq;
    pthread_mutex_unlock(&session->lock);
    return least;
}

static enum status apply_heartbeat(struct apply *apply, void *context, struct err *err)
{
    const int64_t *present = context;
    struct session *session = apply->session;
    struct session_row row;
    enum status status = ROWS(apply)->session_get(apply->txn, session->id, &row, err);
    if (status != STATUS_OK)
        return status;
    int64_t horizon = horizon_of(session, *present);
    if (horizon > row.horizon)
        row.horizon = horizon;
    int64_t seen = seen_by(session, *present);
    if (seen > row.seen_seq)
        row.seen_seq = seen;
    row.heartbeat_utc_ns = apply->now_ns;
    return ROWS(apply)->session_update(apply->txn, &row, err);
}

/* After an unknown COMMIT that could not be settled nothing is published or deleted until this succeeds (P6). */
static enum status leave_doubt(struct session *session, struct err *err)
{
    pthread_mutex_lock(&session->lock);
    bool doubtful = session->doubtful && !session->leading; /* a leader is settling it just now */
    pthread_mutex_unlock(&session->lock);
    return doubtful ? commit_reopen(session, err) : STATUS_OK;
}

enum status session_heartbeat(struct session *session, struct err *err)
{
    struct catalogue *catalogue = session->world.catalogue;
    enum status status = catalogue->ops->check_place(catalogue, err);
    if (status == STATUS_OK)
        status = leave_doubt(session, err);
    if (status != STATUS_OK)
        return status;
    /* The present number first, the readers afterwards: a reader that registers in between reads a snapshot that is
     * newer than this number (P14). */
    int64_t present = 0;
    status = read_present(session, &present, err);
    if (status != STATUS_OK)
        return status;
    status = commit_run(session, apply_heartbeat, &present, ORDERED, NULL, err);
    if (status != STATUS_OK)
        return status;
    pthread_mutex_lock(&session->lock);
    if (present > session->known_seq)
        session->known_seq = present;
    pthread_mutex_unlock(&session->lock);
    return STATUS_OK;
}

/* ---- registrations ---- */

static void unlink_registration(struct session *session, struct registration *registration)
{
    if (registration->prev)
        registration->prev->next = registration->next;
    else
        session->readers = registration->next;
    if (registration->next)
        registration->next->prev = registration->prev;
    registration->prev = registration->next = NULL;
}

void session_register(struct session *session, struct registration *registration)
{
    INVARIANT(!registration->active);
    pthread_mutex_lock(&session->lock);
    registration->seq = session->known_seq;
    registration->active = true;
    registration->prev = NULL;
    registration->next = session->readers;
    if (session->readers)
        session->readers->prev = registration;
    session->readers = registration;
    pthread_mutex_unlock(&session->lock);
}

void session_set_back(struct session *session, struct registration *registration, const struct registration *held,
                      int64_t seq)
{
    pthread_mutex_lock(&session->lock);
    INVARIANT(registration->active && held->active && held->seq <= seq);
    if (seq < registration->seq)
        registration->seq = seq;
    pthread_mutex_unlock(&session->lock);
}

void session_release(struct session *session, struct registration *registration)
{
    pthread_mutex_lock(&session->lock);
    if (registration->active)
        unlink_registration(session, registration);
    registration->active = false;
    pthread_mutex_unlock(&session->lock);
}

/* ---- what threads share ---- */

#define MOMENT_NS 50000000L

void session_wait(struct session *session, bool briefly)
{
    if (!briefly) {
        pthread_cond_wait(&session->changed, &session->lock);
        return;
    }
    struct timespec until;
    INVARIANT(clock_gettime(CLOCK_MONOTONIC, &until) == 0);
    until.tv_nsec += MOMENT_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)pthread_cond_clockwait(&session->changed, &session->lock, CLOCK_MONOTONIC, &until); /* the caller looks */
}

void session_buffer_take(struct session *session)
{
    pthread_mutex_lock(&session->lock);
    while (session->buffers_used >= session->settings.parallel)
        pthread_cond_wait(&session->changed, &session->lock);
    session->buffers_used++;
    pthread_mutex_unlock(&session->lock);
}

void session_buffer_give(struct session *session)
{
    pthread_mutex_lock(&session->lock);
    INVARIANT(session->buffers_used > 0);
    session->buffers_used--;
    pthread_cond_broadcast(&session->changed);
    pthread_mutex_unlock(&session->lock);
}

void session_busy_begin(struct session *session)
{
    pthread_mutex_lock(&session->lock);
    session->busy++;
    pthread_mutex_unlock(&session->lock);
}

void session_busy_end(struct session *session)
{
    pthread_mutex_lock(&session->lock);
    INVARIANT(session->busy > 0);
    session->busy--;
    pthread_cond_broadcast(&session->changed);
    pthread_mutex_unlock(&session->lock);
}

void session_background_begin(struct session *session)
{
    pthread_mutex_lock(&session->lock);
    session->background++;
    pthread_mutex_unlock(&session->lock);
}

void session_background_end(struct session *session)
{
    pthread_mutex_lock(&session->lock);
    INVARIANT(session->background > 0);
    session->background--;
    pthread_cond_broadcast(&session->changed);
    pthread_mutex_unlock(&session->lock);
}

unsigned session_busy(struct session *session)
{
    pthread_mutex_lock(&session->lock);
    unsigned busy = session->busy;
    pthread_mutex_unlock(&session->lock);
    return busy;
}

int64_t session_late_after_ms(const struct session *session)
{
    return session->settings.late_after_ms >= 0 ? session->settings.late_after_ms : session->capabilities.late_after_ms;
}

bool session_has_tags(const struct session *session)
{
    return session->capabilities.tags && session->settings.tags;
}
