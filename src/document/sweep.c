/* sweep.c - one bounded pass: fence, condemn, delete, drop, flip, prune. */
#include "document/sweep.h"

#include "base/cleanup.h"
#include "document/settle.h"
#include "document/sweep_internal.h"

#include <stdio.h>

#define BATCH        64
#define PATIENCE_MS  10000  /* how long uploads may put a patient sweep off */
#define FAILURES_MAX 2      /* in a row, of those that say nothing about the next version */
#define CHANGES_KEPT 100000 /* commits whose changes are kept for a follower that lags behind */

struct pass {
    struct session *session;
    const struct sweep_options *options;
    struct sweep_report *report;
    struct ids dead; /* in a dry run: who would be fenced */
    struct owners owners;
    int64_t synced_seq; /* what was condemned up to here is durable (P6) */
    unsigned worked;    /* versions that cost something, of the kind under way */
    unsigned failures;  /* in a row */
    bool impatient, marked;
    bool hopeless; /* the store does not answer: another version would not fare better */
};

/* ---- telling ---- */

static void note(const struct pass *pass, const struct version_row *row, struct judgement judgement,
                 const struct err *err)
{
    if (!pass->options->note)
        return;
    const struct sweep_note line = {.version = row->id,
                                    .document = row->document,
                                    .blob = row->blob,
                                    .state = row->state,
                                    .verdict = judgement.verdict,
                                    .reason = judgement.reason,
                                    .err = err->status != STATUS_OK ? err : NULL};
    pass->options->note(pass->options->context, &line);
}

static void count(struct pass *pass, struct judgement judgement, const struct err *err)
{
    struct sweep_report *report = pass->report;
    if (err->status != STATUS_OK)
        report->failed++;
    switch (judgement.verdict) {
    case VERDICT_CONDEMN: report->condemned++; break;
    case VERDICT_DELETE: report->deleted++; break;
    case VERDICT_DROP: report->deleted++, report->dropped++; break;
    case VERDICT_FLIP_TAG: report->flipped++; break;
    case VERDICT_WAIT: report->waiting++; break;
    case VERDICT_REPORT: report->reported++; break;
    case VERDICT_KEEP:
    case VERDICT_LOOK: break;
    }
}

/* ---- when to stop ---- */

/* A store that cannot be reached now will not be reached for the next version either. */
static void look_for_hope(struct pass *pass, enum status status)
{
    bool sure = status == STATUS_UNREACHABLE || status == STATUS_TIMEOUT || status == STATUS_AUTHENTICATION ||
                status == STATUS_CLOCK_SKEW || status == STATUS_THROTTLED || status == STATUS_INTERRUPTED;
    pass->failures = status == STATUS_OK ? 0 : pass->failures + 1;
    bool perhaps = status_outcome(status) == OUTCOME_UNKNOWN && pass->failures >= FAILURES_MAX;
    pass->hopeless = pass->hopeless || sure || perhaps;
}

/* Uploads go first, but not for ever: a file that is written for a day must not stop the sweeper for a day. */
static void begin_patience(struct pass *pass)
{
    struct session *session = pass->session;
    int64_t now_ms = clock_boot_ms(session->world.clock);
    pthread_mutex_lock(&session->lock);
    pass->impatient = !pass->options->patient || (session->put_off_ms && now_ms - session->put_off_ms >= PATIENCE_MS);
    pthread_mutex_unlock(&session->lock);
}

static void end_patience(struct pass *pass, bool polite)
{
    struct session *session = pass->session;
    int64_t now_ms = clock_boot_ms(session->world.clock);
    pthread_mutex_lock(&session->lock);
    if (!polite)
        session->put_off_ms = 0;
    else if (!session->put_off_ms)
        session->put_off_ms = now_ms ? now_ms : 1;
    pthread_mutex_unlock(&session->lock);
}

static bool tired(struct pass *pass)
{
    bool bound = pass->options->versions_max && pass->worked >= pass->options->versions_max;
    bool polite = !pass->impatient && session_busy(pass->session);
    bool cancelled = pass->options->cancelled && atomic_load(pass->options->cancelled);
    if (polite)
        end_patience(pass, true);
    if (polite || cancelled)
        pass->hopeless = true; /* for this pass */
    if (bound || pass->hopeless)
        pass->report->more = true;
    return bound || pass->hopeless;
}

/* ---- batches of versions ---- */

static enum status read_batch(struct session *session, const struct version_filter *filter,
                              struct version_row *ret_rows, size_t *ret_count, struct err *err)
{
    struct catalogue *catalogue = session->world.catalogue;
    struct catalogue_txn *txn = NULL;
    enum status status = catalogue->ops->read_begin(catalogue, &txn, err);
    if (status != STATUS_OK)
        return status;
    status = catalogue->ops->version_list(txn, filter, ret_rows, BATCH, ret_count, err);
    catalogue->ops->abort(txn);
    return status;
}

/* P6: the number first, the sync afterwards: what was condemned up to it is durable then. Once in a pass. */
static enum status sync_past(struct pass *pass, struct err *err)
{
    struct catalogue *catalogue = pass->session->world.catalogue;
    struct catalogue_txn *txn = NULL;
    int64_t now = 0;
    if (pass->synced_seq)
        return STATUS_OK;
    enum status status = catalogue->ops->read_begin(catalogue, &txn, err);
    if (status != STATUS_OK)
        return status;
    status = catalogue->ops->seq_now(txn, &now, err);
    catalogue->ops->abort(txn);
    if (status == STATUS_OK && !pass->options->dry_run)
        status = session_sync(pass->session, err);
    if (status == STATUS_OK)
        pass->synced_seq = now;
    return status;
}

/* What a batch has come to, written in one commit. */
struct outcome_rows {
    struct gone dropped[BATCH];
    int64_t flipped[BATCH], condemned[BATCH];
    size_t dropped_count, flipped_count, condemned_count;
};

static enum status write_condemned(struct apply *apply, int64_t version, struct err *err)
{
    struct version_row row;
    enum status status = ROWS(apply)->version_get(apply->txn, version, false, &row, err);
    if (status == STATUS_NOT_FOUND || (status == STATUS_OK && row.state != VERSION_PENDING))
        return STATUS_OK; /* another sweeper was faster */
    if (status != STATUS_OK)
        return status;
    row.sent_utc_ns = apply->now_ns; /* it may have sent until just now (P8) */
    return apply_condemn(apply, &row, "its upload was given up", err);
}

static enum status write_flipped(struct apply *apply, int64_t version, struct err *err)
{
    struct version_row row;
    enum status status = ROWS(apply)->version_get(apply->txn, version, false, &row, err);
    if (status != STATUS_OK)
        return status == STATUS_NOT_FOUND ? STATUS_OK : status;
    row.tag_due = false;
    return ROWS(apply)->version_update(apply->txn, &row, row.state, err);
}

static enum status write_outcome(struct apply *apply, void *context, struct err *err)
{
    const struct outcome_rows *outcome = context;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < outcome->condemned_count && status == STATUS_OK; i++)
        status = write_condemned(apply, outcome->condemned[i], err);
    for (size_t i = 0; i < outcome->dropped_count && status == STATUS_OK; i++)
        status = settle_drop(apply, &outcome->dropped[i], err);
    for (size_t i = 0; i < outcome->flipped_count && status == STATUS_OK; i++)
        status = write_flipped(apply, outcome->flipped[i], err);
    return status;
}

static void treat_version(struct pass *pass, const struct version_row *row, struct outcome_rows *outcome)
{
    struct sweeping sweeping = {.session = pass->session,
                                .owners = &pass->owners,
                                .cancelled = pass->options->cancelled,
                                .row = *row,
                                .sent_utc_ns = row->sent_utc_ns,
                                .synced = row->condemned_seq <= pass->synced_seq,
                                .marked = pass->marked};
    struct err err = {0};
    struct judgement judgement = sweep_judge(&sweeping, SIGHT_NOT_TAKEN);
    bool costs = judgement.verdict != VERDICT_KEEP && judgement.verdict != VERDICT_WAIT;
    if (costs && !pass->options->dry_run) {
        judgement = sweep_version(&sweeping, &err);
        pass->marked = sweeping.marked;
        look_for_hope(pass, err.status);
        pass->hopeless = pass->hopeless || sweeping.unmarked;
    }
    pass->worked += costs;
    switch (judgement.verdict) {
    case VERDICT_DROP: outcome->dropped[outcome->dropped_count++] = (struct gone){row->id, sweeping.sent_utc_ns}; break;
    case VERDICT_FLIP_TAG: outcome->flipped[outcome->flipped_count++] = row->id; break;
    case VERDICT_CONDEMN: outcome->condemned[outcome->condemned_count++] = row->id; break;
    default: break;
    }
    count(pass, judgement, &err);
    note(pass, row, judgement, &err);
}

static enum status treat_batch(struct pass *pass, struct version_filter *filter, bool *ret_end, struct err *err)
{
    AUTO_FREE struct version_row *rows = calloc(BATCH, sizeof *rows);
    if (!rows)
        return err_set(err, STATUS_NO_MEMORY, "sweep: out of memory");
    size_t found = 0;
    enum status status = read_batch(pass->session, filter, rows, &found, err);
    *ret_end = found < BATCH;
    if (status == STATUS_OK && found && filter->state == VERSION_CONDEMNED)
        status = sync_past(pass, err);
    if (status == STATUS_OK && found)
        status = sweep_owners(pass->session, &pass->dead, &pass->owners, err);
    struct outcome_rows outcome = {0};
    for (size_t i = 0; i < found && status == STATUS_OK; i++) {
        if (tired(pass)) {
            *ret_end = true;
            break;
        }
        filter->after = rows[i].id;
        treat_version(pass, &rows[i], &outcome);
    }
    bool nothing = !(outcome.dropped_count + outcome.flipped_count + outcome.condemned_count);
    if (status != STATUS_OK || pass->options->dry_run || nothing)
        return status;
    return commit_run(pass->session, write_outcome, &outcome, outcome.condemned_count ? DURABLE : ORDERED, NULL, err);
}

static enum status treat_all(struct pass *pass, struct version_filter filter, struct err *err)
{
    bool end = false;
    enum status status = STATUS_OK;
    pass->worked = 0;
    while (!end && status == STATUS_OK)
        status = treat_batch(pass, &filter, &end, err);
    return status;
}

/* ---- the pass ---- */

static enum status prune(struct apply *apply, struct err *err)
{
    int64_t seen = 0, now = 0;
    enum status status = sweep_least_seen(apply, &seen, err);
    if (status == STATUS_OK)
        status = ROWS(apply)->seq_now(apply->txn, &now, err);
    if (status != STATUS_OK)
        return status;
    if (seen < now - CHANGES_KEPT)
        seen = now - CHANGES_KEPT; /* who lags behind that far forgets everything */
    return seen > 0 ? ROWS(apply)->change_prune(apply->txn, seen, err) : STATUS_OK;
}

static enum status apply_last_sweep(struct apply *apply, void *context, struct err *err)
{
    (void)context;
    char text[32];
    (void)snprintf(text, sizeof text, "%lld", (long long)apply->now_ns); /* 20 digits at most */
    enum status status = ROWS(apply)->meta_set(apply->txn, "last_sweep", text, err);
    return status == STATUS_OK ? prune(apply, err) : status;
}

static enum status treat_versions(struct pass *pass, struct err *err)
{
    enum status status = treat_all(pass, (struct version_filter){.state = VERSION_PENDING}, err);
    if (status == STATUS_OK)
        status = treat_all(pass, (struct version_filter){.state = VERSION_CONDEMNED}, err);
    if (status == STATUS_OK && session_has_tags(pass->session))
        status = treat_all(pass, (struct version_filter){.tag_due = true}, err);
    return status;
}

enum status sweep_pass(struct session *session, const struct sweep_options *options, struct sweep_report *ret_report,
                       struct err *err)
{
    struct sweep_report report = {0};
    struct pass pass = {.session = session, .options = options, .report = &report};
    *ret_report = report;
    if (session->kind == SESSION_MOUNT_RO)
        return err_set(err, STATUS_READ_ONLY, "a read-only mount does not sweep");
    enum status status = session_check(session, err);
    if (status != STATUS_OK)
        return status;
    begin_patience(&pass);
    status = sweep_sessions(session, options->dry_run, &report.sessions_fenced, &pass.dead, err);
    /* A session that is alone lets go of the past at once when a deletion waits for it (P14). */
    if (status == STATUS_OK)
        status = session_heartbeat(session, err);
    if (status == STATUS_OK)
        status = treat_versions(&pass, err);
    if (status == STATUS_OK && !pass.hopeless)
        end_patience(&pass, false);
    report.more = report.more || pass.hopeless;
    if (status == STATUS_OK && !options->dry_run)
        status = commit_run(session, apply_last_sweep, NULL, ORDERED, NULL, err);
    ids_done(&pass.dead);
    ids_done(&pass.owners.alive);
    *ret_report = report;
    return status;
}
