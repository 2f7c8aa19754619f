/* sweep.c - one bounded pass: fence, condemn, delete, drop, flip. */
#include "document/sweep.h"

#include "base/cleanup.h"
#include "document/sweep_internal.h"
#include "document/volume.h"

#include <stdio.h>
#include <string.h>

#define BATCH           64
#define SESSIONS_MAX    1024
#define SESSION_KEPT_NS (3600LL * 1000000000) /* an ended session's row stays this long for `umount` to read */

struct pass {
    struct session *session;
    const struct sweep_options *options;
    struct sweep_report *report;
    struct owners owners;
    unsigned looked_at;
    bool marked;
};

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
                                    .err = err && err->status != STATUS_OK ? err : NULL};
    pass->options->note(pass->options->context, &line);
}

/* ---- sessions ---- */

static enum status list_sessions(struct session *session, struct session_row **ret_rows, size_t *ret_count,
                                 struct err *err)
{
    struct catalogue *catalogue = session->world.catalogue;
    struct session_row *rows = calloc(SESSIONS_MAX, sizeof *rows);
    if (!rows)
        return err_set(err, STATUS_NO_MEMORY, "list sessions: out of memory");
    struct catalogue_txn *txn = NULL;
    enum status status = catalogue->ops->read_begin(catalogue, &txn, err);
    if (status == STATUS_OK) {
        status = catalogue->ops->session_list(txn, 0, rows, SESSIONS_MAX, ret_count, err);
        catalogue->ops->abort(txn);
    }
    if (status == STATUS_OK && *ret_count == SESSIONS_MAX)
        status = err_set(err, STATUS_BUSY, "more than %d sessions are recorded", SESSIONS_MAX - 1);
    if (status != STATUS_OK) {
        free(rows);
        return status;
    }
    *ret_rows = rows;
    return STATUS_OK;
}

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

static enum status apply_forget(struct apply *apply, void *context, struct err *err)
{
    const int64_t *id = context;
    static const enum version_state states[] = {VERSION_PENDING, VERSION_READY, VERSION_CONDEMNED};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        struct version_filter filter = {.session = *id, .state = states[i]};
        struct version_row row;
        size_t count = 0;
        enum status status = ROWS(apply)->version_list(apply->txn, &filter, &row, 1, &count, err);
        if (status != STATUS_OK || count)
            return status; /* the row stays while a version names it */
    }
    return ROWS(apply)->session_delete(apply->txn, *id, err);
}

static enum status treat_session(struct pass *pass, const struct session_row *row, struct err *err)
{
    struct session *session = pass->session;
    struct catalogue *catalogue = session->world.catalogue;
    int64_t id = row->id;
    if (id == session->id)
        return STATUS_OK;
    if (row->fenced_utc_ns) {
        bool old = clock_utc_ns(session->world.clock) - row->fenced_utc_ns > SESSION_KEPT_NS;
        return old && !pass->options->dry_run ? commit_run(session, apply_forget, &id, ORDERED, NULL, err) : STATUS_OK;
    }
    if (catalogue->ops->lock_probe(catalogue, id, NULL) != STATUS_OK)
        return STATUS_OK; /* it lives */
    pass->report->sessions_fenced++;
    enum status status = STATUS_OK;
    if (!pass->options->dry_run)
        status = commit_run(session, apply_fence, &id, DURABLE, NULL, err);
    catalogue->ops->lock_release(catalogue, id); /* a buried lock is gone already */
    return status;
}

static enum status treat_sessions(struct pass *pass, struct err *err)
{
    AUTO_FREE struct session_row *rows = NULL;
    size_t count = 0;
    enum status status = list_sessions(pass->session, &rows, &count, err);
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        status = treat_session(pass, &rows[i], err);
    return status;
}

/* P14: the sessions are read after the commits that condemned were made durable. */
static enum status read_owners(struct session *session, struct owners *ret_owners, struct err *err)
{
    AUTO_FREE struct session_row *rows = NULL;
    size_t count = 0;
    enum status status = list_sessions(session, &rows, &count, err);
    if (status != STATUS_OK)
        return status;
    struct owners owners = {.me = session->id, .horizon = INT64_MAX, .alive = calloc(count + 1, sizeof(int64_t))};
    if (!owners.alive)
        return err_set(err, STATUS_NO_MEMORY, "sweep: out of memory");
    for (size_t i = 0; i < count; i++) {
        if (rows[i].fenced_utc_ns)
            continue;
        owners.alive[owners.count++] = rows[i].id;
        if (rows[i].horizon < owners.horizon)
            owners.horizon = rows[i].horizon;
    }
    free(ret_owners->alive);
    *ret_owners = owners;
    return STATUS_OK;
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

/* What a batch has come to, written in one commit. */
struct outcome_rows {
    int64_t dropped[BATCH], flipped[BATCH], condemned[BATCH];
    size_t dropped_count, flipped_count, condemned_count;
};

static enum status write_condemned(struct apply *apply, const struct outcome_rows *outcome, struct err *err)
{
    for (size_t i = 0; i < outcome->condemned_count; i++) {
        struct version_row row;
        enum status status = ROWS(apply)->version_get(apply->txn, outcome->condemned[i], false, &row, err);
        if (status == STATUS_NOT_FOUND || (status == STATUS_OK && row.state != VERSION_PENDING))
            continue;
        if (status != STATUS_OK)
            return status;
        row.sent_utc_ns = apply->now_ns;
        status = apply_condemn(apply, &row, "its upload was given up", err);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static enum status write_outcome(struct apply *apply, void *context, struct err *err)
{
    const struct outcome_rows *outcome = context;
    enum status status = write_condemned(apply, outcome, err);
    for (size_t i = 0; i < outcome->dropped_count && status == STATUS_OK; i++)
        status = ROWS(apply)->version_delete(apply->txn, outcome->dropped[i], err);
    for (size_t i = 0; i < outcome->flipped_count && status == STATUS_OK; i++) {
        struct version_row row;
        status = ROWS(apply)->version_get(apply->txn, outcome->flipped[i], false, &row, err);
        if (status == STATUS_NOT_FOUND) {
            status = STATUS_OK;
            continue;
        }
        row.tag_due = false;
        if (status == STATUS_OK)
            status = ROWS(apply)->version_update(apply->txn, &row, row.state, err);
    }
    return status;
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

static enum status treat_version(struct pass *pass, const struct version_row *row, struct outcome_rows *outcome)
{
    struct sweeping sweeping = {.session = pass->session,
                                .owners = &pass->owners,
                                .row = *row,
                                .synced = true,
                                .marked = pass->marked || pass->options->dry_run};
    struct err err = {0};
    struct judgement judgement;
    if (pass->options->dry_run)
        judgement = sweep_judge(&sweeping, SIGHT_NOT_TAKEN);
    else
        judgement = sweep_version(&sweeping, &err);
    pass->marked = pass->marked || (sweeping.marked && !pass->options->dry_run);
    if (judgement.verdict == VERDICT_DROP)
        outcome->dropped[outcome->dropped_count++] = row->id;
    if (judgement.verdict == VERDICT_FLIP_TAG)
        outcome->flipped[outcome->flipped_count++] = row->id;
    if (judgement.verdict == VERDICT_CONDEMN)
        outcome->condemned[outcome->condemned_count++] = row->id;
    count(pass, judgement, &err);
    note(pass, row, judgement, &err);
    return err.status;
}

static bool tired(struct pass *pass)
{
    bool bound = pass->options->versions_max && pass->looked_at >= pass->options->versions_max;
    bool polite = pass->options->patient && session_busy(pass->session);
    if (bound || polite)
        pass->report->more = true;
    return bound || polite;
}

/* A store that cannot be reached now will not be reached for the next version either. */
static bool hopeless(enum status status)
{
    return status == STATUS_UNREACHABLE || status == STATUS_TIMEOUT || status == STATUS_AUTHENTICATION ||
           status == STATUS_CLOCK_SKEW || status == STATUS_THROTTLED;
}

static enum status treat_batch(struct pass *pass, struct version_filter *filter, bool *ret_end, struct err *err)
{
    AUTO_FREE struct version_row *rows = calloc(BATCH, sizeof *rows);
    if (!rows)
        return err_set(err, STATUS_NO_MEMORY, "sweep: out of memory");
    size_t found = 0;
    enum status status = read_batch(pass->session, filter, rows, &found, err);
    *ret_end = found < BATCH;
    if (status == STATUS_OK && found && filter->state == VERSION_CONDEMNED && !pass->options->dry_run)
        status = session_sync(pass->session, err); /* P6: what was read is durable now */
    if (status == STATUS_OK && found)
        status = read_owners(pass->session, &pass->owners, err);
    if (status != STATUS_OK)
        return status;
    struct outcome_rows outcome = {0};
    for (size_t i = 0; i < found; i++) {
        if (tired(pass)) {
            *ret_end = true;
            break;
        }
        filter->after = rows[i].id;
        pass->looked_at++;
        if (hopeless(treat_version(pass, &rows[i], &outcome))) {
            pass->report->more = *ret_end = true;
            break;
        }
    }
    if (pass->options->dry_run || !(outcome.dropped_count + outcome.flipped_count + outcome.condemned_count))
        return STATUS_OK;
    return commit_run(pass->session, write_outcome, &outcome, outcome.condemned_count ? DURABLE : ORDERED, NULL, err);
}

static enum status treat_all(struct pass *pass, struct version_filter filter, struct err *err)
{
    bool end = false;
    enum status status = STATUS_OK;
    while (!end && status == STATUS_OK)
        status = treat_batch(pass, &filter, &end, err);
    return status;
}

static enum status apply_last_sweep(struct apply *apply, void *context, struct err *err)
{
    (void)context;
    char text[32];
    (void)snprintf(text, sizeof text, "%lld", (long long)apply->now_ns); /* 20 digits at most */
    return ROWS(apply)->meta_set(apply->txn, "last_sweep", text, err);
}

enum status sweep_pass(struct session *session, const struct sweep_options *options, struct sweep_report *ret_report,
                       struct err *err)
{
    struct sweep_report report = {0};
    struct pass pass = {.session = session, .options = options, .report = &report};
    enum status status = session_check(session, err);
    if (status == STATUS_OK)
        status = treat_sessions(&pass, err);
    /* A session that is alone lets go of the past at once when a deletion waits for it (P14). */
    if (status == STATUS_OK)
        status = session_heartbeat(session, err);
    if (status == STATUS_OK)
        status = treat_all(&pass, (struct version_filter){.state = VERSION_PENDING}, err);
    if (status == STATUS_OK)
        status = treat_all(&pass, (struct version_filter){.state = VERSION_CONDEMNED}, err);
    if (status == STATUS_OK && session_has_tags(session))
        status = treat_all(&pass, (struct version_filter){.tag_due = true}, err);
    if (status == STATUS_OK && !options->dry_run)
        status = commit_run(session, apply_last_sweep, NULL, ORDERED, NULL, err);
    free(pass.owners.alive);
    *ret_report = report;
    return status;
}
