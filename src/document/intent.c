/* intent.c - blob names whose Pending rows are durable before anybody needs them (P1), and the working list (P11).
 *
 * A row for each file would cost each close a second durable commit. So rows are written ahead: a durable group that
 * finds the pool half empty fills it, and adds what threads are waiting for; an upload takes one. An intent enters the
 * working list before the transaction that writes its row begins, so that this session's own sweeper, which reads the
 * rows first and the list afterwards, never mistakes it for a leftover.
 */
#include "base/cleanup.h"
#include "document/session_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum status intent_new(struct session *session, struct intent **ret_intent, struct err *err)
{
    struct intent *intent = calloc(1, sizeof *intent);
    if (!intent)
        return err_set(err, STATUS_NO_MEMORY, "reserve a blob name: out of memory");
    uint8_t random[ID_BYTES];
    uint8_t token[ID_BYTES];
    entropy_fill(session->world.entropy, random, sizeof random);
    entropy_fill(session->world.entropy, token, sizeof token);
    entropy_fill(session->world.entropy, intent->block_seed, sizeof intent->block_seed);
    id_text(token, intent->token);
    enum status status = id_blob_name(session->settings.prefix, random, intent->blob);
    if (status != STATUS_OK) {
        free(intent);
        return err_set(err, status, "the prefix '%s' is too long for blob names", session->settings.prefix);
    }
    pthread_mutex_lock(&session->lock);
    intent->next = session->working;
    if (session->working)
        session->working->prev = intent;
    session->working = intent;
    pthread_mutex_unlock(&session->lock);
    *ret_intent = intent;
    return STATUS_OK;
}

void intent_forget(struct session *session, struct intent *intent)
{
    pthread_mutex_lock(&session->lock);
    if (intent->prev)
        intent->prev->next = intent->next;
    else
        session->working = intent->next;
    if (intent->next)
        intent->next->prev = intent->prev;
    pthread_mutex_unlock(&session->lock);
    free(intent);
}

static enum status write_row(struct apply *apply, struct intent *intent, struct err *err)
{
    struct version_row row = {.session = apply->session->id, .state = VERSION_PENDING, .created_utc_ns = apply->now_ns};
    memcpy(row.blob, intent->blob, sizeof row.blob);
    memcpy(row.token, intent->token, sizeof row.token);
    return ROWS(apply)->version_insert(apply->txn, &row, &intent->version, err);
}

enum status intent_refill(struct apply *apply, struct intent **ret_added, struct err *err)
{
    struct session *session = apply->session;
    pthread_mutex_lock(&session->lock);
    unsigned pool = session->uploads ? session->settings.intent_pool : 0;
    unsigned wanted = session->takers + pool, low = session->takers + (pool + 1) / 2;
    unsigned missing = session->pool_count < low && !session->closing ? wanted - session->pool_count : 0;
    pthread_mutex_unlock(&session->lock);
    struct intent *added = NULL;
    for (unsigned i = 0; i < missing; i++) {
        struct intent *intent = NULL;
        enum status status = intent_new(session, &intent, err);
        if (intent) {
            intent->pool_next = added;
            added = intent;
            status = write_row(apply, intent, err);
        }
        if (status != STATUS_OK) {
            intent_discard(session, added);
            return status;
        }
    }
    *ret_added = added;
    return STATUS_OK;
}

void intent_adopt(struct session *session, struct intent *added)
{
    pthread_mutex_lock(&session->lock);
    while (added) {
        struct intent *next = added->pool_next;
        added->pool_next = session->pool;
        session->pool = added;
        session->pool_count++;
        added = next;
    }
    pthread_cond_broadcast(&session->changed);
    pthread_mutex_unlock(&session->lock);
}

void intent_discard(struct session *session, struct intent *added)
{
    while (added) {
        struct intent *next = added->pool_next;
        intent_forget(session, added);
        added = next;
    }
}

void intent_return(struct session *session, struct intent *intent)
{
    intent->pool_next = NULL;
    intent_adopt(session, intent);
}

static struct intent *pool_pop(struct session *session)
{
    pthread_mutex_lock(&session->lock);
    struct intent *intent = session->pool;
    if (intent) {
        session->pool = intent->pool_next;
        session->pool_count--;
        intent->pool_next = NULL;
    }
    pthread_mutex_unlock(&session->lock);
    return intent;
}

/* A durable commit without a change of its own: its group fills the pool. */
static enum status apply_nothing(struct apply *apply, void *context, struct err *err)
{
    (void)apply;
    (void)context;
    (void)err;
    return STATUS_OK;
}

static void count_taker(struct session *session, bool comes)
{
    pthread_mutex_lock(&session->lock);
    session->takers = comes ? session->takers + 1 : session->takers - 1;
    session->uploads = true;
    pthread_mutex_unlock(&session->lock);
}

enum status intent_take(struct session *session, struct intent **ret_intent, struct err *err)
{
    struct clock *clock = session->world.clock;
    int64_t give_up_ms = clock_boot_ms(clock) + session->settings.deadline_ms;
    enum status status = STATUS_OK;
    count_taker(session, true);
    /* Each round writes a row for all who wait, so it is rare that one who came later was faster. */
    while (!(*ret_intent = pool_pop(session)) && status == STATUS_OK) {
        status = commit_run(session, apply_nothing, NULL, DURABLE, NULL, err);
        if (status == STATUS_OK && clock_boot_ms(clock) > give_up_ms)
            status = err_set(err, STATUS_BUSY, "no blob name could be reserved: too many uploads begin at once");
    }
    count_taker(session, false);
    return *ret_intent ? STATUS_OK : status;
}

static enum status drop_unused(struct apply *apply, const struct intent *intent, struct err *err)
{
    struct version_row row;
    enum status status = ROWS(apply)->version_get(apply->txn, intent->version, false, &row, err);
    if (status == STATUS_NOT_FOUND)
        return STATUS_OK;
    if (status != STATUS_OK || row.state != VERSION_PENDING)
        return status;
    status = apply_condemn(apply, &row, "it was never used", err);
    return status == STATUS_OK ? ROWS(apply)->version_delete(apply->txn, row.id, err) : status;
}

enum status intent_drop_pool(struct apply *apply, struct err *err)
{
    INVARIANT(apply->session->closing); /* so nobody else touches the pool */
    enum status status = STATUS_OK;
    for (const struct intent *each = apply->session->pool; each && status == STATUS_OK; each = each->pool_next)
        status = drop_unused(apply, each, err);
    return status;
}

bool intent_working(struct session *session, const char *blob)
{
    pthread_mutex_lock(&session->lock);
    bool found = false;
    for (const struct intent *each = session->working; each && !found; each = each->next)
        found = strcmp(each->blob, blob) == 0;
    pthread_mutex_unlock(&session->lock);
    return found;
}
