/* cmd_sweep.c - readyfs sweep SOURCE|DIR. */
#include "cli/args.h"
#include "cli/say.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define EXIT_UNFINISHED 7

enum { FLAG_DRY_RUN, FLAG_MAX, FLAG_JSON };
const struct flag sweep_flags[] = {
    {.letter = 'n', .name = "dry-run", .help = "say what would be done, and do nothing"},
    {.name = "max", .argument = "NUMBER", .help = "look at no more versions than this"},
    {.name = "json", .help = "print JSON"},
    {.name = NULL},
};

struct notes {
    const struct args *args;
    json_t *rows; /* NULL unless JSON was asked for */
};

static void add_note(struct notes *notes, const struct readyfs_sweep_note *note)
{
    json_t *row = json_pack("{s:I, s:I, s:s, s:s, s:s, s:s}", "version", (json_int_t)note->version, "document",
                            (json_int_t)note->document, "blob", note->blob, "state", note->state, "action",
                            note->action, "reason", note->reason);
    if (note->error)
        (void)json_object_set_new(row, "error", json_string(note->error));
    (void)json_array_append_new(notes->rows, row);
}

/* Versions that are merely as they should be are not worth a line. */
static void take_note(void *context, const struct readyfs_sweep_note *note)
{
    struct notes *notes = context;
    if (strcmp(note->action, "keep") == 0 && !note->error)
        return;
    if (notes->rows) {
        add_note(notes, note);
        return;
    }
    (void)printf("%s%s version %" PRId64 " (%s, %s): %s%s%s\n", args_flag(notes->args, FLAG_DRY_RUN) ? "would " : "",
                 note->action, note->version, note->state, note->blob, note->reason, note->error ? "; failed: " : "",
                 note->error ? note->error : "");
}

static void show(const struct readyfs_sweep_report *report)
{
    (void)printf("%u sessions fenced, %u condemned, %u blobs deleted, %u rows dropped, %u tags flipped, %u waiting, "
                 "%u reported, %u failed%s\n",
                 report->sessions_fenced, report->condemned, report->deleted, report->dropped, report->flipped,
                 report->waiting, report->reported, report->failed, report->more ? "; more is left" : "");
}

static json_t *whole(const struct args *args, const struct readyfs_sweep_report *report, json_t *rows)
{
    return json_pack("{s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:O}", "dry_run",
                     args_flag(args, FLAG_DRY_RUN), "sessions_fenced", (json_int_t)report->sessions_fenced, "condemned",
                     (json_int_t)report->condemned, "deleted", (json_int_t)report->deleted, "dropped",
                     (json_int_t)report->dropped, "flipped", (json_int_t)report->flipped, "waiting",
                     (json_int_t)report->waiting, "reported", (json_int_t)report->reported, "failed",
                     (json_int_t)report->failed, "more", report->more, "notes", rows);
}

int cmd_sweep(struct args *args)
{
    struct readyfs_volume *volume = NULL;
    struct readyfs_error error;
    struct readyfs_sweep_report report = {0};
    struct notes notes = {args, args_flag(args, FLAG_JSON) ? json_array() : NULL};
    uint64_t versions_max = 0;
    if (!args_number(args, FLAG_MAX, 1, UINT32_MAX, 0, &versions_max))
        return EXIT_USAGE;
    struct readyfs_sweep_options options = {.dry_run = args_flag(args, FLAG_DRY_RUN),
                                            .versions_max = (unsigned)versions_max,
                                            .note = take_note,
                                            .context = &notes};
    bool failed = readyfs_open(args->operands[0], args->options, READYFS_STORE, &volume, &error) ||
                  readyfs_sweep(volume, &options, &report, &error);
    readyfs_close(volume);
    int code = failed ? say_error("sweep", &error) : report.failed ? EXIT_UNFINISHED : 0;
    if (!failed && notes.rows)
        code = say_json(whole(args, &report, notes.rows), code);
    else if (!failed)
        show(&report);
    json_decref(notes.rows);
    return say_flush(code);
}
