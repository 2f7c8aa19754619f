/* sweep_version.c - one version on its way to Gone: guarded delete, last look, tag flip. */
#include "base/cleanup.h"
#include "document/settle.h"
#include "document/sweep_internal.h"
#include "document/volume.h"

#include <string.h>

/* The tag guards what was never published, the ETag what was (P7); the ETag also where there is no tag. */
static bool guarded_by_tag(const struct sweeping *sweeping)
{
    return !sweeping->row.published && session_has_tags(sweeping->session) && !sweeping->untagged;
}

struct judgement sweep_judge(const struct sweeping *sweeping, enum sighting sighting)
{
    const struct version_row *row = &sweeping->row;
    struct session *session = sweeping->session;
    const struct version_facts facts = {
        .state = row->state,
        .owner_fenced = !ids_have(&sweeping->owners->alive, row->session),
        .owner_is_me = row->session == session->id,
        /* The row was read before: what is in the list now was in it then, or is settled (P11). */
        .in_working_list = row->session == session->id && intent_working(session, row->blob),
        .published = row->published,
        .guarded_by_tag = guarded_by_tag(sweeping),
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
    return (struct call){.deadline_ms = sweeping->session->settings.deadline_ms, .cancelled = sweeping->cancelled};
}

/* A new mark goes before the first delete of a sweep, so that a copy of the catalogue made earlier is known as old
 * (P15). */
static enum status mark(struct sweeping *sweeping, struct err *err)
{
    if (sweeping->marked)
        return STATUS_OK;
    enum status status = volume_mark(&sweeping->session->world, &sweeping->session->settings, err);
    sweeping->marked = status == STATUS_OK;
    sweeping->unmarked = status != STATUS_OK;
    return status;
}

/* Looks at the blob and takes its ETag for the next guard. NOT_TAKEN: ours, go on. */
static enum sighting look_for_etag(struct sweeping *sweeping, struct err *err)
{
    struct version_row *row = &sweeping->row;
    struct call call = patience(sweeping);
    struct blob_facts facts;
    enum sighting sighting = settle_look(sweeping->session, &call, row->blob, row->token, &facts, err);
    if (sighting != SIGHT_OURS)
        return sighting;
    memcpy(row->etag, facts.etag, sizeof row->etag);
    return SIGHT_NOT_TAKEN;
}

/* The guard did not hold. With our token the ETag is taken anew, and the delete goes on (P7); a blob that was never
 * published and yet is tagged committed proves a restored catalogue (P15) and is left: SIGHT_OURS. */
static enum sighting look_after_refusal(struct sweeping *sweeping, struct err *err)
{
    bool by_tag = guarded_by_tag(sweeping);
    enum sighting sighting = look_for_etag(sweeping, err);
    if (sighting != SIGHT_NOT_TAKEN || !by_tag)
        return sighting;
    struct blob_store *blobs = sweeping->session->world.blobs;
    struct call call = patience(sweeping);
    enum blob_tag tag = TAG_UNKNOWN;
    enum status status = blobs->ops->tag_get(blobs, &call, sweeping->row.blob, &tag, err);
    if (status == STATUS_NOT_FOUND)
        return SIGHT_ABSENT;
    if (status != STATUS_OK)
        return SIGHT_UNKNOWN;
    sweeping->untagged = tag == TAG_UNKNOWN;
    return tag == TAG_COMMITTED ? SIGHT_OURS : SIGHT_NOT_TAKEN;
}

/* Throws staged blocks away. A store may have to make an empty blob for that and take it away again; such a request may
 * be late like any other, so the row says before it is sent that something was (P8). ABSENT: nothing is left. */
static enum sighting unstage(struct sweeping *sweeping, struct err *err)
{
    struct session *session = sweeping->session;
    struct blob_store *blobs = session->world.blobs;
    const struct version_row *row = &sweeping->row;
    if (row->published)
        return SIGHT_ABSENT;
    if (session_late_after_ms(session) > 0 && settle_sent(session, row->id, &sweeping->sent_utc_ns, err) != STATUS_OK)
        return SIGHT_UNKNOWN;
    struct call call = patience(sweeping);
    const struct blob_about about = {.catalogue = session->catalogue_id,
                                     .document = row->document,
                                     .version = row->id,
                                     .token = row->token,
                                     .pending = session_has_tags(session)};
    switch (blobs->ops->unstage(blobs, &call, row->blob, &about, err)) {
    case STATUS_OK:
    case STATUS_NOT_FOUND:
    case STATUS_UNSUPPORTED: return SIGHT_ABSENT; /* blocks that stay age out by themselves */
    case STATUS_EXISTS: return SIGHT_NOT_TAKEN;   /* it has arrived just now: delete it again */
    default: return SIGHT_UNKNOWN;
    }
}

/* One guarded delete. ABSENT: it is gone; NOT_TAKEN: it is there, and may be deleted with what is known now; UNKNOWN:
 * it could not be sent, or its outcome is not known. */
static enum sighting delete_once(struct sweeping *sweeping, struct err *err)
{
    struct version_row *row = &sweeping->row;
    struct blob_store *blobs = sweeping->session->world.blobs;
    enum status status = session_check(sweeping->session, err); /* P6: nothing while the catalogue is in doubt */
    if (status == STATUS_OK)
        status = mark(sweeping, err);
    if (status != STATUS_OK)
        return SIGHT_UNKNOWN;
    enum sighting sighting = SIGHT_NOT_TAKEN;
    if (!guarded_by_tag(sweeping) && !row->etag[0])
        sighting = look_for_etag(sweeping, err);
    if (sighting == SIGHT_ABSENT)
        return unstage(sweeping, err);
    if (sighting != SIGHT_NOT_TAKEN)
        return sighting;
    struct call call = patience(sweeping);
    enum blob_guard guard = guarded_by_tag(sweeping) ? GUARD_TAG_PENDING : GUARD_ETAG;
    status = blobs->ops->remove(blobs, &call, row->blob, guard, row->etag, err);
    if (status == STATUS_OK || status == STATUS_NOT_FOUND)
        return unstage(sweeping, err);
    if (status != STATUS_CONDITION)
        return SIGHT_UNKNOWN;
    sighting = look_after_refusal(sweeping, err);
    return sighting == SIGHT_ABSENT ? unstage(sweeping, err) : sighting;
}

static struct judgement finish_delete(struct sweeping *sweeping, struct judgement judgement, struct err *err)
{
    enum sighting sighting = SIGHT_NOT_TAKEN;
    for (int attempt = 0; attempt < 3 && judgement.verdict == VERDICT_DELETE; attempt++) {
        err_clear(err); /* a refusal on the way was an answer */
        sighting = delete_once(sweeping, err);
        judgement = sweep_judge(sweeping, sighting);
    }
    if (sighting == SIGHT_UNKNOWN && err->status == STATUS_LEASED)
        judgement.reason = "the blob is leased, immutable or has snapshots";
    if (sighting != SIGHT_UNKNOWN)
        err_clear(err);
    if (judgement.verdict == VERDICT_DELETE)
        judgement = (struct judgement){VERDICT_WAIT, "its ETag keeps changing"};
    return judgement;
}

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

static struct judgement flip(struct sweeping *sweeping, struct judgement judgement, struct err *err)
{
    struct blob_store *blobs = sweeping->session->world.blobs;
    struct call call = patience(sweeping);
    const struct version_row *row = &sweeping->row;
    enum status status = blobs->ops->tag_committed(blobs, &call, row->blob, row->number, err);
    if (status == STATUS_OK)
        return judgement;
    if (status != STATUS_NOT_FOUND)
        return (struct judgement){VERDICT_WAIT, "its tag could not be flipped"};
    struct version_row now;
    if (read_row(sweeping->session, row->id, &now) == STATUS_OK && now.state == VERSION_READY)
        return (struct judgement){VERDICT_REPORT, "its blob is missing"};
    err_clear(err);
    return (struct judgement){VERDICT_KEEP, "it was replaced meanwhile"};
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

static enum status apply_drop(struct apply *apply, void *context, struct err *err)
{
    const struct sweeping *sweeping = context;
    const struct gone gone = {sweeping->row.id, sweeping->sent_utc_ns};
    return settle_drop(apply, &gone, err);
}

static void clear_one(void *argument)
{
    struct later *later = argument;
    struct session *session = later->session;
    /* A version that was never published has no readers and needs no horizon; its owner is this session. It needs no
     * mark either: for an older copy of the catalogue it is Pending at most, and nothing is lost with it (P15). */
    int64_t me = session->id;
    const struct owners owners = {.alive = {.items = &me, .count = 1}};
    struct sweeping sweeping = {.session = session, .owners = &owners, .marked = true};
    struct err err = {0};
    if (read_row(session, later->version, &sweeping.row) == STATUS_OK && !sweeping.row.published &&
        session_sync(session, &err) == STATUS_OK) {
        sweeping.synced = true;
        sweeping.sent_utc_ns = sweeping.row.sent_utc_ns;
        if (sweep_version(&sweeping, &err).verdict == VERDICT_DROP)
            IGNORE(commit_run(session, apply_drop, &sweeping, ORDERED, NULL, NULL)); /* else the next sweep drops it */
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
