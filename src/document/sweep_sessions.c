/* sweep_sessions.c - who lives, who is dead, who may be forgotten. */
#include "document/sweep_internal.h"

#include "base/cleanup.h"

#define BATCH         32
#define ENDED_KEPT_NS (3600LL * 1000000000) /* an ended mount's row stays this long for `umount` to read */

static enum status ids_add(struct ids *ids, int64_t id, struct err *err)
{
    if (ids->count == ids->capacity) {
        size_t capacity = ids->capacity ? ids->capacity * 2 : 32;
        int64_t *items = realloc(ids->items, capacity * sizeof *items);
        if (!items)
            return err_set(err, STATUS_NO_MEMORY, "sweep: out of memory");
        ids->items = items;
        ids->capacity = capacity;
    }
    ids->items[ids->count++] = id;
    return STATUS_OK;
}

bool ids_have(const struct ids *ids, int64_t id)
{
    for (size_t i = 0; i < ids->count; i++)
        if (ids->items[i] == id)
            return true;
    return false;
}

void ids_done(struct ids *ids)
{
    free(ids->items);
    *ids = (struct ids){0};
}

/* ---- fencing and forgetting ---- */

static enum status apply_fence(struct apply *apply, void *context, struct err *err)
{
    const int64_t *id = context;
    struct session_row row;
    enum status status = ROWS(apply)->session_get(apply->txn, *id, &row, err);
    if (status == STATUS_OK && !row.fenced_utc_ns)
        status = fence_session(apply, &row, "its session died", err);
    if (status == STATUS_OK)
        ROWS(apply)->lock_bury(apply->txn, *id);
    return status;
}

/* Its versions need no row of their owner: one that is gone counts as fenced, and ids are never reused. */
static enum status apply_forget(struct apply *apply, void *context, struct err *err)
{
    const int64_t *id = context;
    enum status status = ROWS(apply)->session_delete(apply->txn, *id, err);
    if (status == STATUS_OK || status == STATUS_NOT_FOUND)
        ROWS(apply)->lock_bury(apply->txn, *id);
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

/* Runs fn for a session whose kernel lock is free, which is held meanwhile. *ret_dead false: it lives. */
static enum status with_lock(struct session *session, int64_t id, apply_fn *fn, enum durability durability,
                             bool *ret_dead, struct err *err)
{
    struct catalogue *catalogue = session->world.catalogue;
    *ret_dead = catalogue->ops->lock_probe(catalogue, id, NULL) == STATUS_OK;
    if (!*ret_dead)
        return STATUS_OK;
    enum status status = fn ? commit_run(session, fn, &id, durability, NULL, err) : STATUS_OK;
    catalogue->ops->lock_release(catalogue, id); /* a buried lock is gone already */
    return status;
}

static enum status forget_one(struct session *session, const struct session_row *row, struct err *err)
{
    bool dead = false;
    int64_t age_ns = clock_utc_ns(session->world.clock) - row->fenced_utc_ns;
    if (row->kind != SESSION_VERB && age_ns <= ENDED_KEPT_NS)
        return STATUS_OK;
    return with_lock(session, row->id, apply_forget, ORDERED, &dead, err);
}

struct burial {
    struct session *session;
    bool dry_run;
    unsigned fenced;
    struct ids *dead;
};

static enum status treat(struct burial *burial, const struct session_row *row, struct err *err)
{
    if (row->id == burial->session->id)
        return STATUS_OK;
    if (row->fenced_utc_ns)
        return burial->dry_run ? STATUS_OK : forget_one(burial->session, row, err);
    bool dead = false;
    enum status status = with_lock(burial->session, row->id, burial->dry_run ? NULL : apply_fence, DURABLE, &dead, err);
    if (status != STATUS_OK || !dead)
        return status;
    burial->fenced++;
    return burial->dry_run ? ids_add(burial->dead, row->id, err) : STATUS_OK;
}

static enum status list(struct session *session, int64_t after, struct session_row *ret_rows, size_t *ret_count,
                        struct err *err)
{
    struct catalogue *catalogue = session->world.catalogue;
    struct catalogue_txn *txn = NULL;
    enum status status = catalogue->ops->read_begin(catalogue, &txn, err);
    if (status != STATUS_OK)
        return status;
    status = catalogue->ops->session_list(txn, after, ret_rows, BATCH, ret_count, err);
    catalogue->ops->abort(txn);
    return status;
}

enum status sweep_sessions(struct session *session, bool dry_run, unsigned *ret_fenced, struct ids *ret_dead,
                           struct err *err)
{
    struct burial burial = {.session = session, .dry_run = dry_run, .dead = ret_dead};
    AUTO_FREE struct session_row *rows = calloc(BATCH, sizeof *rows);
    enum status status = rows ? STATUS_OK : err_set(err, STATUS_NO_MEMORY, "sweep: out of memory");
    size_t count = BATCH;
    int64_t after = 0;
    while (status == STATUS_OK && count == BATCH) {
        status = list(session, after, rows, &count, err);
        for (size_t i = 0; i < count && status == STATUS_OK; i++) {
            after = rows[i].id;
            status = treat(&burial, &rows[i], err);
        }
    }
    *ret_fenced = burial.fenced;
    return status;
}

/* ---- the living ---- */

/* One snapshot, so that no session is missed between two batches. */
static enum status fill_owners(struct catalogue *catalogue, struct catalogue_txn *txn, const struct ids *dead,
                               struct owners *owners, struct err *err)
{
    AUTO_FREE struct session_row *rows = calloc(BATCH, sizeof *rows);
    enum status status = rows ? STATUS_OK : err_set(err, STATUS_NO_MEMORY, "sweep: out of memory");
    size_t count = BATCH;
    int64_t after = 0;
    while (status == STATUS_OK && count == BATCH) {
        status = catalogue->ops->session_list(txn, after, rows, BATCH, &count, err);
        for (size_t i = 0; i < count && status == STATUS_OK; i++) {
            after = rows[i].id;
            if (rows[i].fenced_utc_ns || ids_have(dead, rows[i].id))
                continue;
            status = ids_add(&owners->alive, rows[i].id, err);
            if (rows[i].horizon < owners->horizon)
                owners->horizon = rows[i].horizon;
        }
    }
    return status;
}

enum status sweep_owners(struct session *session, const struct ids *dead, struct owners *ret_owners, struct err *err)
{
    struct catalogue *catalogue = session->world.catalogue;
    struct catalogue_txn *txn = NULL;
    struct owners owners = {.horizon = INT64_MAX};
    enum status status = catalogue->ops->read_begin(catalogue, &txn, err);
    if (status != STATUS_OK)
        return status;
    status = fill_owners(catalogue, txn, dead, &owners, err);
    catalogue->ops->abort(txn);
    if (status != STATUS_OK) {
        ids_done(&owners.alive);
        return status;
    }
    ids_done(&ret_owners->alive);
    *ret_owners = owners;
    return STATUS_OK;
}

enum status sweep_least_seen(struct apply *apply, int64_t *ret_seq, struct err *err)
{
    struct session_row row;
    size_t count = 1;
    int64_t after = 0;
    enum status status = ROWS(apply)->seq_now(apply->txn, ret_seq, err);
    while (status == STATUS_OK && count) {
        status = ROWS(apply)->session_list(apply->txn, after, &row, 1, &count, err);
        if (status != STATUS_OK || !count)
            break;
        after = row.id;
        if (!row.fenced_utc_ns && row.seen_seq < *ret_seq)
            *ret_seq = row.seen_seq;
    }
    return status;
}
