/* verbs.c - what needs the store: sweep and audit. */
#include "lib/volume.h"

#include "document/audit.h"
#include "document/sweep.h"

#include <string.h>

/* Both verbs make exchanges; a volume that was opened without the store never checked that it is the right one. */
static int need_store(const struct readyfs_volume *volume, struct readyfs_error *error)
{
    return volume->access == READYFS_STORE
               ? 0
               : readyfs_refuse(error, STATUS_INVALID, "the volume was opened without its store");
}

static const char *action_text(enum verdict verdict)
{
    switch (verdict) {
    case VERDICT_KEEP: return "keep";
    case VERDICT_WAIT: return "wait";
    case VERDICT_CONDEMN: return "condemn";
    case VERDICT_LOOK: return "look";
    case VERDICT_DELETE: return "delete";
    case VERDICT_DROP: return "drop";
    case VERDICT_FLIP_TAG: return "flip tag";
    default: return "report";
    }
}

static void pass_note(void *context, const struct sweep_note *note)
{
    const struct readyfs_sweep_options *options = context;
    struct readyfs_sweep_note out = {
        .version = note->version,
        .document = note->document,
        .blob = note->blob,
        .state = version_state_name(note->state),
        .action = action_text(note->verdict),
        .reason = note->reason,
        .error = note->err ? note->err->message : NULL,
    };
    options->note(options->context, &out);
}

int readyfs_sweep(struct readyfs_volume *volume, const struct readyfs_sweep_options *options,
                  struct readyfs_sweep_report *ret_report, struct readyfs_error *error)
{
    struct err err = {0};
    struct sweep_report report = {0};
    struct readyfs_sweep_options mine = *options; /* a callback's context is not const */
    struct sweep_options pass = {
        .dry_run = options->dry_run,
        .versions_max = options->versions_max,
        .note = options->note ? pass_note : NULL,
        .context = &mine,
    };
    int refused = need_store(volume, error);
    if (refused)
        return refused;
    enum status status = sweep_pass(volume->app->session, &pass, &report, &err);
    if (status == STATUS_OK)
        *ret_report = (struct readyfs_sweep_report){
            .sessions_fenced = report.sessions_fenced,
            .condemned = report.condemned,
            .deleted = report.deleted,
            .dropped = report.dropped,
            .flipped = report.flipped,
            .waiting = report.waiting,
            .reported = report.reported,
            .failed = report.failed,
            .more = report.more,
        };
    return readyfs_result(status, &err, error);
}

static void pass_finding(void *context, const struct finding *finding)
{
    const struct readyfs_fsck_options *options = context;
    char kind[64];
    size_t i = 0;
    const char *name = finding_name(finding->kind);
    for (; name[i] && i < sizeof kind - 1; i++)
        kind[i] = name[i] == ' ' ? '_' : name[i];
    kind[i] = '\0';
    struct readyfs_finding out = {
        .kind = kind,
        .invariant = finding->invariant,
        .fault = finding->fault,
        .repaired = finding->repaired,
        .version = finding->version,
        .document = finding->document,
        .blob = finding->blob ? finding->blob : "",
        .text = finding->text,
    };
    if (options->finding)
        options->finding(options->context, &out);
}

static void pass_progress(void *context, uint64_t done, uint64_t total)
{
    const struct readyfs_fsck_options *options = context;
    options->progress(options->context, done, total);
}

int readyfs_fsck(struct readyfs_volume *volume, const struct readyfs_fsck_options *options,
                 struct readyfs_fsck_report *ret_report, struct readyfs_error *error)
{
    struct err err = {0};
    struct audit_report report = {0};
    struct readyfs_fsck_options mine = *options;
    struct audit_options audit = {
        .data = options->data,
        .repair = options->repair,
        .dry_run = options->dry_run,
        .grace_ms = options->grace_s * 1000,
        .finding = pass_finding,
        .progress = options->progress ? pass_progress : NULL,
        .context = &mine,
    };
    int refused = need_store(volume, error);
    if (refused)
        return refused;
    if (options->grace_s < 0 || options->grace_s > INT64_MAX / 1000)
        return readyfs_refuse(error, STATUS_INVALID, "the grace is out of range");
    enum status status = audit_run(volume->app->session, &audit, &report, &err);
    if (status == STATUS_OK)
        *ret_report = (struct readyfs_fsck_report){
            .documents = report.documents,
            .versions = report.versions,
            .blobs = report.blobs,
            .foreign_blobs = report.foreign_blobs,
            .faults = report.faults,
            .repaired = report.repaired,
            .bytes_verified = report.bytes_verified,
        };
    return readyfs_result(status, &err, error);
}
