/* commit.c - the one commit function: groups of members, one COMMIT each, unknown outcomes settled by writing (P9).
 *
 * Whoever finds nobody leading leads: takes what waits (of one durability), one turn at the gate, a savepoint for each
 * member (one alone needs none: its refusal takes the whole transaction back), the pool's refill, the group's number in
 * this session's row, one COMMIT. Nobody is answered before its outcome is known. An unknown one is settled by writing
 * the group's number again, as failed: if it stands there already, the group had committed. Members of a failed group
 * are judged anew, each alone; those that the group had refused too, since what refused them may never have happened.
 */
#include "document/session_internal.h"

#include "base/cleanup.h"

#include <string.h>

#define SETTLE_PAUSE_MS 200
#define REOPEN_PAUSE_MS 50
#define ATTEMPTS_MAX    3

struct group {
    struct member *members; /* linked by next */
    enum durability durability;
    int64_t number;
    struct intent *added;
    bool begun;  /* the gate was passed: a failure may lie in one of the members */
    int64_t seq; /* of the commit, 0 where nothing was committed or changed */
};

enum status apply_seq(struct apply *apply, int64_t *ret_seq, struct err *err)
{
    if (!apply->seq) {
        enum status status = ROWS(apply)->seq_next(apply->txn, &apply->seq, err);
        if (status != STATUS_OK)
            return status;
    }
    *ret_seq = apply->seq;
    return STATUS_OK;
}

static void note_fenced(struct session *session)
{
    pthread_mutex_lock(&session->lock);
    session->fenced = true;
    pthread_mutex_unlock(&session->lock);
}

/* P11: a fenced session that wakes finds out before it changes anything. */
static enum status check_alive(struct apply *apply, struct session_row *ret_row, struct err *err)
{
    enum status status = ROWS(apply)->session_get(apply->txn, apply->session->id, ret_row, err);
    if (status == STATUS_OK && !ret_row->fenced_utc_ns)
        return STATUS_OK;
    if (status != STATUS_OK && status != STATUS_NOT_FOUND)
        return status;
    note_fenced(apply->session);
    return session_check(apply->session, err);
}

static enum status apply_member(struct apply *apply, struct member *member, bool alone)
{
    if (alone)
        return member->status = member->fn(apply, member->context, &member->err);
    enum status status = ROWS(apply)->savepoint(apply->txn, &member->err);
    if (status != STATUS_OK)
        return status;
    member->status = member->fn(apply, member->context, &member->err);
    if (member->status == STATUS_OK)
        return ROWS(apply)->savepoint_release(apply->txn, &member->err);
    struct err kept = member->err;
    status = ROWS(apply)->savepoint_rollback(apply->txn, &member->err);
    /* A full disk takes the whole transaction back: then that is why the group fails, and not the lost savepoint. */
    bool full = member->status == STATUS_NO_SPACE || member->status == STATUS_QUOTA;
    if (status == STATUS_OK || full)
        member->err = kept;
    return status != STATUS_OK && full ? member->status : status;
}

/* The number is taken by the first change; one that was rolled back with its savepoint is taken anew by the next. */
static enum status apply_members(struct apply *apply, struct group *group, struct err *err)
{
    bool alone = !group->members->next;
    for (struct member *member = group->members; member; member = member->next) {
        int64_t seq = apply->seq;
        enum status status = apply_member(apply, member, alone);
        if (status != STATUS_OK) {
            *err = member->err;
            err->status = status;
            return status;
        }
        if (member->status != STATUS_OK)
            apply->seq = seq;
        else
            member->seq = apply->seq ? apply->seq : apply->seq_before;
    }
    return STATUS_OK;
}

static enum status write_number(struct apply *apply, struct session_row *row, int64_t number, bool failed,
                                struct err *err)
{
    /* The row may have been changed by a member (heartbeat, end). */
    enum status status = ROWS(apply)->session_get(apply->txn, row->id, row, err);
    if (status != STATUS_OK)
        return status;
    row->group_number = number;
    row->group_failed = failed;
    return ROWS(apply)->session_update(apply->txn, row, err);
}

static enum status fill_group(struct apply *apply, struct group *group, struct err *err)
{
    struct session_row row;
    enum status status = check_alive(apply, &row, err);
    if (status != STATUS_OK)
        return status;
    status = ROWS(apply)->seq_now(apply->txn, &apply->seq_before, err);
    if (status != STATUS_OK)
        return status;
    apply->claims = ROWS(apply)->claim_check(apply->txn, "*", NULL) != STATUS_OK;
    status = apply_members(apply, group, err);
    if (status == STATUS_OK && group->durability == DURABLE)
        status = intent_refill(apply, &group->added, err);
    if (status == STATUS_OK && !apply->ended)
        status = write_number(apply, &row, group->number, false, err);
    group->seq = apply->seq;
    return status;
}

enum status commit_reopen(struct session *session, struct err *err)
{
    struct catalogue *catalogue = session->world.catalogue;
    struct clock *clock = session->world.clock;
    int64_t give_up_ms = clock_boot_ms(clock) + session->settings.deadline_ms;
    for (;;) {
        enum status status = catalogue->ops->reopen(catalogue, err);
        if (status == STATUS_OK)
            session_set_doubtful(session, false);
        if (status != STATUS_BUSY || clock_boot_ms(clock) >= give_up_ms)
            return status;
        clock_wait_ms(clock, REOPEN_PAUSE_MS); /* readers of this process are under way; they are short */
    }
}

/* A catalogue that is in doubt (a COMMIT or sync of somebody else here failed) refuses writers until it was opened anew
 * and its log rewritten (P6). */
static enum status begin_write(struct session *session, enum durability durability, struct catalogue_txn **ret_txn,
                               struct err *err)
{
    struct catalogue *catalogue = session->world.catalogue;
    int64_t deadline_ms = session->settings.deadline_ms;
    enum status status = catalogue->ops->write_begin(catalogue, durability, deadline_ms, ret_txn, err);
    if (status != STATUS_IO)
        return status;
    status = commit_reopen(session, err);
    return status == STATUS_OK ? catalogue->ops->write_begin(catalogue, durability, deadline_ms, ret_txn, err) : status;
}

static enum status try_group(struct session *session, struct group *group, struct err *err)
{
    struct catalogue *catalogue = session->world.catalogue;
    struct apply apply = {.session = session, .catalogue = catalogue, .now_ns = clock_utc_ns(session->world.clock)};
    enum status status = begin_write(session, group->durability, &apply.txn, err);
    if (status != STATUS_OK)
        return status;
    group->begun = true;
    status = fill_group(&apply, group, err);
    if (status != STATUS_OK) {
        catalogue->ops->abort(apply.txn);
        return status == STATUS_UNKNOWN ? STATUS_IO : status; /* nothing was committed: this is a refusal */
    }
    return catalogue->ops->commit(apply.txn, err);
}

/* ---- an unknown COMMIT ---- */

/* One attempt: OK with *ret_committed, or it is still unknown. FENCED: the row that would tell is gone. */
static enum status settle_once(struct session *session, int64_t number, bool *ret_committed, struct err *err)
{
    struct catalogue *catalogue = session->world.catalogue;
    enum status status = commit_reopen(session, err);
    if (status != STATUS_OK)
        return status;
    struct apply apply = {.session = session, .catalogue = catalogue};
    status = catalogue->ops->write_begin(catalogue, DURABLE, session->settings.deadline_ms, &apply.txn, err);
    if (status != STATUS_OK)
        return status;
    struct session_row row;
    status = ROWS(&apply)->session_get(apply.txn, session->id, &row, err);
    bool told = status == STATUS_OK && row.group_number == number;
    *ret_committed = told && !row.group_failed;
    if (status == STATUS_OK && !told)
        status = write_number(&apply, &row, number, true, err);
    if (told || status != STATUS_OK) {
        catalogue->ops->abort(apply.txn); /* told: reopen has made durable what is visible */
        if (status == STATUS_NOT_FOUND)
            note_fenced(session);
        return status == STATUS_NOT_FOUND ? err_set(err, STATUS_FENCED, "this session's row is gone") : status;
    }
    return catalogue->ops->commit(apply.txn, err);
}

static enum status settle_group(struct session *session, int64_t number, bool *ret_committed, struct err *err)
{
    struct clock *clock = session->world.clock;
    int64_t give_up_ms = clock_boot_ms(clock) + session->settings.deadline_ms;
    enum status status;
    session_set_doubtful(session, true);
    while ((status = settle_once(session, number, ret_committed, err)) != STATUS_OK) {
        if (status == STATUS_FENCED || clock_boot_ms(clock) >= give_up_ms)
            break;
        session_set_doubtful(session, true);
        clock_wait_ms(clock, SETTLE_PAUSE_MS);
    }
    if (status == STATUS_OK)
        return status;
    session_set_doubtful(session, true);
    (void)err_context(err, "the catalogue's commit could not be settled");
    err->status = status == STATUS_FENCED ? STATUS_FENCED : STATUS_UNKNOWN;
    return err->status;
}

/* ---- leading ---- */

static void answer(struct member *members, enum status status, const struct err *err)
{
    for (struct member *member = members; member; member = member->next) {
        member->status = status;
        member->err = *err;
    }
}

/* Returns whether the members are to be judged anew: the group is known to have failed, and each may do better alone.
 */
static bool run_group(struct session *session, struct group *group)
{
    struct err err = {0};
    INVARIANT(group->members); /* the leader's own at least */
    bool several = group->members->next != NULL;
    group->number = ++session->group_number;
    enum status status = try_group(session, group, &err);
    bool committed = status == STATUS_OK;
    bool settled = false;
    if (status_outcome(status) == OUTCOME_UNKNOWN) {
        status = settle_group(session, group->number, &committed, &err);
        settled = status == STATUS_OK;
        intent_discard(session, group->added); /* an unknown COMMIT of the pool discards the pool's part (P1) */
        group->added = NULL;
    }
    if (committed) {
        intent_adopt(session, group->added);
        return false;
    }
    intent_discard(session, group->added);
    if (settled)
        status = err_set(&err, STATUS_IO, "the catalogue's commit failed");
    group->seq = 0;
    answer(group->members, status, &err);
    /* One deadline at the gate is enough: who could not pass it does not try once more alone. */
    bool one_of_them = group->begun && several && status != STATUS_BUSY;
    return settled || (one_of_them && status != STATUS_FENCED && status != STATUS_UNKNOWN);
}

/* Takes what waits and may share one COMMIT with the first. The lock is held. */
static struct member *take_batch(struct session *session)
{
    struct member *first = session->queue;
    struct member **link = &session->queue;
    struct member *batch = NULL;
    struct member **batch_end = &batch;
    for (unsigned count = 0; *link && count < LIMIT_GROUP_MEMBERS;) {
        struct member *each = *link;
        bool fits = each->durability == first->durability && (each == first || (!first->alone && !each->alone));
        if (!fits) {
            link = &each->next;
            continue;
        }
        *link = each->next;
        each->next = NULL;
        *batch_end = each;
        batch_end = &each->next;
        count++;
    }
    session->queue_end = &session->queue;
    while (*session->queue_end)
        session->queue_end = &(*session->queue_end)->next;
    return batch;
}

/* Queues the members again, each alone; false where one has been tried often enough. The lock is held. */
static bool put_back_alone(struct session *session, struct member *members)
{
    if (++members->attempts >= ATTEMPTS_MAX)
        return false;
    while (members) {
        struct member *next = members->next;
        members->alone = true;
        members->next = NULL;
        *session->queue_end = members;
        session->queue_end = &members->next;
        members = next;
    }
    return true;
}

/* Called and returning with the lock held. */
static void lead(struct session *session)
{
    struct group group = {.members = take_batch(session)};
    group.durability = group.members->durability;
    pthread_mutex_unlock(&session->lock);
    bool anew = run_group(session, &group);
    pthread_mutex_lock(&session->lock);
    if (anew && put_back_alone(session, group.members))
        return;
    if (group.seq > session->known_seq)
        session->known_seq = group.seq;
    for (struct member *member = group.members; member;) {
        struct member *next = member->next; /* the member belongs to its thread as soon as it is done */
        member->done = true;
        member = next;
    }
}

enum status commit_run(struct session *session, apply_fn *fn, void *context, enum durability durability,
                       int64_t *ret_seq, struct err *err)
{
    struct member member = {.fn = fn, .context = context, .durability = durability};
    pthread_mutex_lock(&session->lock);
    *session->queue_end = &member;
    session->queue_end = &member.next;
    while (!member.done) {
        if (session->leading) {
            pthread_cond_wait(&session->changed, &session->lock);
            continue;
        }
        session->leading = true;
        lead(session);
        session->leading = false;
        pthread_cond_broadcast(&session->changed);
    }
    pthread_mutex_unlock(&session->lock);
    if (member.status == STATUS_OK && ret_seq)
        *ret_seq = member.seq;
    if (member.status != STATUS_OK && err)
        *err = member.err;
    return member.status;
}
