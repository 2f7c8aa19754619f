/* cmd_fsck.c - readyfs fsck SOURCE|DIR. */
#include "cli/args.h"
#include "cli/say.h"

#include <inttypes.h>
#include <stdio.h>

#define EXIT_FAULTS 6
#define GRACE_S     (24 * 60 * 60) /* an orphan that is younger may be somebody's who has just begun */
#define GRACE_S_MAX (100u * 365 * 24 * 60 * 60)

enum { FLAG_DATA, FLAG_REPAIR, FLAG_DRY_RUN, FLAG_GRACE, FLAG_JSON };
const struct flag fsck_flags[] = {
    {.name = "data", .help = "read every byte and compare it with its digest"},
    {.name = "repair", .help = "remove blobs of this catalogue that no row names"},
    {.letter = 'n', .name = "dry-run", .help = "with --repair: say what would be removed"},
    {.name = "grace", .argument = "SECONDS", .help = "with --repair: leave younger ones alone [86400]"},
    {.name = "json", .help = "print JSON"},
    {.name = NULL},
};

struct findings {
    json_t *rows; /* NULL unless JSON was asked for */
    struct progress progress;
};

static void take_finding(void *context, const struct readyfs_finding *finding)
{
    struct findings *findings = context;
    if (findings->rows) {
        json_t *row = json_pack("{s:s, s:s, s:b, s:b, s:I, s:I, s:s, s:s}", "kind", finding->kind, "invariant",
                                finding->invariant, "fault", finding->fault, "repaired", finding->repaired, "version",
                                (json_int_t)finding->version, "document", (json_int_t)finding->document, "blob",
                                finding->blob, "text", finding->text);
        (void)json_array_append_new(findings->rows, row);
        return;
    }
    progress_end(&findings->progress);
    (void)printf("%s: %s (%s)%s%s: %s\n",
                 finding->repaired ? "repaired"
                 : finding->fault  ? "fault"
                                   : "note",
                 finding->kind, finding->invariant, finding->blob[0] ? " " : "", finding->blob, finding->text);
}

static void take_progress(void *context, uint64_t done, uint64_t total)
{
    struct findings *findings = context;
    progress_show(&findings->progress, done, total);
}

static void show(const struct readyfs_fsck_report *report)
{
    char size[SAY_TEXT_SIZE];
    (void)printf("%" PRIu64 " documents, %" PRIu64 " versions, %" PRIu64 " blobs (%" PRIu64
                 " of others), %s verified: %" PRIu64 " faults, %" PRIu64 " repaired\n",
                 report->documents, report->versions, report->blobs, report->foreign_blobs,
                 say_size(report->bytes_verified, size), report->faults, report->repaired);
}

static json_t *whole(const struct readyfs_fsck_report *report, json_t *rows)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:O}", "documents", (json_int_t)report->documents, "versions",
                     (json_int_t)report->versions, "blobs", (json_int_t)report->blobs, "foreign_blobs",
                     (json_int_t)report->foreign_blobs, "faults", (json_int_t)report->faults, "repaired",
                     (json_int_t)report->repaired, "bytes_verified", (json_int_t)report->bytes_verified, "findings",
                     rows);
}

static int run(struct args *args, struct findings *findings, uint64_t grace_s)
{
    struct readyfs_volume *volume = NULL;
    struct readyfs_error error;
    struct readyfs_fsck_report report = {0};
    struct readyfs_fsck_options options = {.data = args_flag(args, FLAG_DATA),
                                           .repair = args_flag(args, FLAG_REPAIR),
                                           .dry_run = args_flag(args, FLAG_DRY_RUN),
                                           .grace_s = (int64_t)grace_s,
                                           .finding = take_finding,
                                           .progress = take_progress,
                                           .context = findings};
    bool failed = readyfs_open(args->operands[0], args->options, READYFS_STORE, &volume, &error) ||
                  readyfs_fsck(volume, &options, &report, &error);
    readyfs_close(volume);
    progress_end(&findings->progress);
    if (failed)
        return say_error("fsck", &error);
    int code = report.faults ? EXIT_FAULTS : 0;
    if (findings->rows)
        return say_json(whole(&report, findings->rows), code);
    show(&report);
    return say_flush(code);
}

int cmd_fsck(struct args *args)
{
    struct findings findings = {.rows = args_flag(args, FLAG_JSON) ? json_array() : NULL,
                                .progress = {.what = "checked"}};
    uint64_t grace_s = GRACE_S;
    if (!args_number(args, FLAG_GRACE, 0, GRACE_S_MAX, GRACE_S, &grace_s))
        return EXIT_USAGE;
    if (args_flag(args, FLAG_DRY_RUN) && !args_flag(args, FLAG_REPAIR)) {
        say_usage(args->verb, "--dry-run goes with --repair");
        return EXIT_USAGE;
    }
    int code = run(args, &findings, grace_s);
    json_decref(findings.rows);
    return code;
}
