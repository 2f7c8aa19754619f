/* sweep_version.c - one version on its way to Gone: guarded delete, last look, tag flip. */
#include "base/cleanup.h"
#include "document/settle.h"
#include "document/sweep_internal.h"
#include "document/volume.h"

#include <string.h>

static bool fenced(const struct owners *owners, int64_t session)
{
    for (size_t i = 0; i < owners->count; i++)
        if (owners->alive[i] == session)
            return false;
    return true;
}

struct judgement sweep_judge(const struct sweeping *sweeping, enum sighting sighting)
{
    const struct version_row *row = &sweeping->row;
    struct session *session = sweeping->session;
    const struct version_facts facts = {
        .state = row->state,
        .owner_fenced = fenced(sweeping->owners, row->session),
        .owner_is_me = row->session == session->id,
        /* The row was read before: what is in the list now was in it then, or is settled (P11). */
        .in_working_list = row->session == session->id && intent_working(session, row->blob),
        .published = row->published,
        .clean = row->clean,
        .condemned_synced = sweeping->synced,
        .horizon_passed = row->condemned_seq <= sweeping->owners->horizon,
        .tag_due = row->tag_due,
        .settled_utc_ns = row->sent_utc_ns,
    };
    const struct verdict_policy policy = {.now_utc_ns = clock_utc_ns(session->world.clock),
                                          .late_after_ms = session_late_after_ms(session)};
    return verdict(&facts, sighting, &policy);
}

static struct call patience(const struct sweeping *sweeping)
{
    return (struct call){.deadline_ms = sweeping->session->settings.deadline_ms};
}

/* A new mark goes before the first delete of a sweep, so that a copy of the catalogue made earlier is known as old
 * (P15). */
static enum status mark(struct sweeping *sweeping, struct err *err)
{
    if (sweeping->marked)
        return STATUS_OK;
    enum status status = volume_mark(&sweeping->session->world, &sweeping->session->settings, err);
    sweeping->marked = status == STATUS_OK;
    return status;
}

/* The net under the delete (P7): the tag where the version was never published, else the ETag. Where neither is known,
 * a look comes first and its ETag guards. */
static enum status choose_guard(struct sweeping *sweeping, enum blob_guard *ret_guard, enum sighting *ret_sighting,
                                struct err *err)
{
    struct version_row *row = &sweeping->row;
    *ret_sighting = SIGHT_NOT_TAKEN;
    *ret_guard = !row->published && session_has_tags(sweeping->session) ? GUARD_TAG_PENDING : GUARD_ETAG;
    if (*ret_guard == GUARD_TAG_PENDING || row->etag[0])
        return STATUS_OK;
    struct call call = patience(sweeping);
    struct blob_facts facts;
    *ret_sighting = settle_look(sweeping->session, &call, row->blob, row->token, &facts, err);
    if (*ret_sighting == SIGHT_OURS) {
        memcpy(row->etag, facts.etag, sizeof row->etag);
        *ret_sighting = SIGHT_NOT_TAKEN;
    }
    return *ret_sighting == SIGHT_UNKNOWN ? (err->status == STATUS_OK ? STATUS_IO : err->status) : STATUS_OK;
}

static enum status unstage(struct sweeping *sweeping, struct err *err)
{
    struct blob_store *blobs = sweeping->session->world.blobs;
    const struct version_row *row = &sweeping->row;
    if (row->published)
        return STATUS_OK;
    struct call call = patience(sweeping);
    const struct blob_about about = {.catalogue = sweeping->session->catalogue_id,
                                     .document = row->document,
                                     .version = row->id,
                                     .token = row->token,
                                     .pending = session_has_tags(sweeping->session)};
    enum status status = blobs->ops->unstage(blobs, &call, row->blob, &about, err);
    /* Blocks that could not be thrown away age out by themselves. */
    return status == STATUS_EXISTS || status == STATUS_NOT_FOUND || status == STATUS_UNSUPPORTED ? STATUS_OK : status;
}

/* One guarded delete. SIGHT_ABSENT: it is gone; SIGHT_NOT_TAKEN: it could not be sent or its outcome is not known. */
static enum sighting delete_once(struct sweeping *sweeping, struct err *err)
{
    struct version_row *row = &sweeping->row;
    struct blob_store *blobs = sweeping->session->world.blobs;
    enum blob_guard guard;
    enum sighting sighting;
    enum status status = mark(sweeping, err);
    if (status == STATUS_OK)
        status = choose_guard(sweeping, &guard, &sighting, err);
    if (status != STATUS_OK)
        return SIGHT_UNKNOWN;
    struct call call = patience(sweeping);
    if (sighting == SIGHT_NOT_TAKEN) {
        status = blobs->ops->remove(blobs, &call, row->blob, guard, row->etag, err);
        if (status == STATUS_OK || status == STATUS_NOT_FOUND)
            sighting = SIGHT_ABSENT;
        else if (status != STATUS_CONDITION)
            return SIGHT_UNKNOWN;
    }
    if (sighting == SIGHT_ABSENT)
        return unstage(sweeping, err) == STATUS_OK ? SIGHT_ABSENT : SIGHT_UNKNOWN;
    if (sighting == SIGHT_FOREIGN)
        return sighting;
    struct blob_facts facts;
    sighting = settle_look(sweeping->session, &call, row->blob, row->token, &facts, err);
    if (sighting == SIGHT_OURS && row->published && strcmp(row->etag, facts.etag) != 0) {
        memcpy(row->etag, facts.etag, sizeof row->etag);
        return SIGHT_OURS; /* the ETag is recorded anew, and the delete goes on (P7) */
    }
    return sighting;
}

static struct judgement finish_delete(struct sweeping *sweeping, struct judgement judgement, struct err *err)
{
    enum sighting sighting = SIGHT_NOT_TAKEN;
    for (int attempt = 0; attempt < 3 && judgement.verdict == VERDICT_DELETE; attempt++) {
        sighting = delete_once(sweeping, err);
        judgement = sweep_judge(sweeping, sighting);
    }
    if (sighting == SIGHT_UNKNOWN && err->status == STATUS_LEASED)
        judgement.reason = "the blob is leased, immutable or has snapshots";
    if (judgement.verdict != VERDICT_WAIT)
        err_clear(err); /* a refusal on the way was an answer */
    if (judgement.verdict == VERDICT_DELETE)
        judgement = (struct judgement){VERDICT_WAIT, "its ETag keeps changing"};
    return judgement;
}

static struct judgement flip(struct sweeping *sweeping, struct judgement judgement, struct err *err)
{
    struct blob_store *blobs = sweeping->session->world.blobs;
    struct call call = patience(sweeping);
    const struct version_row *row = &sweeping->row;
    enum status status = blobs->ops->tag_committed(blobs, &call, row->blob, row->number, err);
    if (status == STATUS_OK)
        return judgement;
    if (status == STATUS_NOT_FOUND)
        return (struct judgement){VERDICT_REPORT, "its blob is missing"};
    return (struct judgement){VERDICT_WAIT, "its tag could not be flipped"};
}

struct judgement sweep_version(struct sweeping *sweeping, struct err *err)
{
    struct judgement judgement = sweep_judge(sweeping, SIGHT_NOT_TAKEN);
    if (judgement.verdict == VERDICT_DELETE)
        return finish_delete(sweeping, judgement, err);
    if (judgement.verdict == VERDICT_FLIP_TAG)
        return flip(sweeping, judgement, err);
    return judgement;
}

/* ---- soon, beside the caller ---- */

struct later {
    struct session *session;
    int64_t version;
};

static enum status read_row(struct session *session, int64_t version, struct version_row *ret_row)
{
    struct catalogue *catalogue = session->world.catalogue;
    struct catalogue_txn *txn = NULL;
    enum status status = catalogue->ops->read_begin(catalogue, &txn, NULL);
    if (status != STATUS_OK)
        return status;
    status = catalogue->ops->version_get(txn, version, false, ret_row, NULL);
    catalogue->ops->abort(txn);
    return status;
}

static enum status apply_drop(struct apply *apply, void *context, struct err *err)
{
    const struct later *later = context;
    return ROWS(apply)->version_delete(apply->txn, later->version, err);
}

static void clear_one(void *argument)
{
    struct later *later = argument;
    struct session *session = later->session;
    /* A version that was never published has no readers and needs no horizon; its owner is this session. */
    int64_t me = session->id;
    struct owners owners = {.me = me, .alive = &me, .count = 1};
    struct sweeping sweeping = {.session = session, .owners = &owners, .marked = true};
    struct err err = {0};
    if (read_row(session, later->version, &sweeping.row) == STATUS_OK && !sweeping.row.published &&
        session_sync(session, &err) == STATUS_OK) {
        sweeping.synced = true;
        if (sweep_version(&sweeping, &err).verdict == VERDICT_DROP)
            IGNORE(commit_run(session, apply_drop, later, ORDERED, NULL, NULL)); /* else the next sweep drops it */
    }
    free(later);
    session_background_end(session);
}

void sweep_later(struct session *session, int64_t version)
{
    struct later *later = calloc(1, sizeof *later);
    if (!later)
        return; /* the sweeper will see to it */
    *later = (struct later){session, version};
    session_background_begin(session);
    if (!workers_submit(session->world.workers, clear_one, later)) {
        free(later);
        session_background_end(session);
    }
}
