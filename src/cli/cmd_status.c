/* cmd_status.c - readyfs status SOURCE|DIR. */
#include "cli/args.h"
#include "cli/say.h"
#include "cli/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FAILURES_SHOWN 10

enum { FLAG_JSON };
const struct flag status_flags[] = {{.name = "json", .help = "print JSON"}, {.name = NULL}};

/* Everything is gathered as JSON first, and shown from there: the two outputs cannot tell different stories. */
struct gathering {
    json_t *sessions, *warnings, *failures;
};

static void add_session(void *context, const struct readyfs_session *session)
{
    struct gathering *gathering = context;
    json_t *row = json_pack("{s:I, s:s, s:s, s:I, s:I, s:I}", "id", (json_int_t)session->id, "kind", session->kind,
                            "state", session->state, "started_ns", (json_int_t)session->started, "heartbeat_ns",
                            (json_int_t)session->heartbeat, "pid", (json_int_t)session->pid);
    say_json_bytes(row, "place", session->place, strlen(session->place));
    say_json_bytes(row, "result", session->result, strlen(session->result));
    (void)json_array_append_new(gathering->sessions, row);
}

static void add_warning(void *context, const char *text)
{
    struct gathering *gathering = context;
    (void)json_array_append_new(gathering->warnings, json_string(text));
}

static void add_failure(void *context, const struct readyfs_kept *kept)
{
    struct gathering *gathering = context;
    json_t *row = json_pack("{s:I, s:I}", "kept_at_ns", (json_int_t)kept->kept_at, "size", (json_int_t)kept->size);
    say_json_bytes(row, "id", kept->id, strlen(kept->id));
    say_json_bytes(row, "name", kept->name, strlen(kept->name));
    say_json_bytes(row, "reason", kept->reason, strlen(kept->reason));
    (void)json_array_append_new(gathering->failures, row);
}

static json_t *whole(const struct readyfs_status *status, const struct gathering *gathering)
{
    json_t *object =
        json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "catalogue_id",
                  status->catalogue_id, "documents", (json_int_t)status->documents, "directories",
                  (json_int_t)status->directories, "others", (json_int_t)status->others, "ready_bytes",
                  (json_int_t)status->ready_bytes, "ready", (json_int_t)status->ready, "pending",
                  (json_int_t)(status->pending - status->pooled), "pooled", (json_int_t)status->pooled, "condemned",
                  (json_int_t)status->condemned, "tags_due", (json_int_t)status->tags_due, "oldest_pending_ns",
                  (json_int_t)status->oldest_pending, "oldest_condemned_ns", (json_int_t)status->oldest_condemned,
                  "last_sweep_ns", (json_int_t)status->last_sweep, "kept_files", (json_int_t)status->kept_files,
                  "kept_bytes", (json_int_t)status->kept_bytes);
    say_json_bytes(object, "source", status->source, strlen(status->source));
    say_json_bytes(object, "catalogue", status->catalogue, strlen(status->catalogue));
    (void)json_object_set(object, "sessions", gathering->sessions);
    (void)json_object_set(object, "failures", gathering->failures);
    (void)json_object_set(object, "warnings", gathering->warnings);
    return object;
}

static void show_versions(const struct readyfs_status *status)
{
    char age[SAY_TEXT_SIZE];
    int64_t pending = status->pending - status->pooled;
    (void)printf("versions    %" PRId64 " Ready, %" PRId64 " Pending", status->ready, pending);
    if (pending && status->oldest_pending)
        (void)printf(" (oldest: %s)", say_age(status->oldest_pending, age));
    (void)printf(", %" PRId64 " Condemned", status->condemned);
    if (status->condemned && status->oldest_condemned)
        (void)printf(" (oldest: %s)", say_age(status->oldest_condemned, age));
    (void)printf("\n            %" PRId64 " names set aside for the next files, %" PRId64 " tags to be flipped\n",
                 status->pooled, status->tags_due);
}

static void show_counts(const struct readyfs_status *status)
{
    char size[SAY_TEXT_SIZE], when[SAY_TEXT_SIZE], shown[SAY_NAME_SIZE];
    (void)printf("source      %s\n", say_name(status->source, strlen(status->source), shown));
    (void)printf("catalogue   %s\n", say_name(status->catalogue, strlen(status->catalogue), shown));
    (void)printf("documents   %" PRId64 " files, %" PRId64 " directories, %" PRId64 " others; %s\n", status->documents,
                 status->directories, status->others, say_size(status->ready_bytes, size));
    show_versions(status);
    (void)printf("last sweep  %s\n", say_time(status->last_sweep, when));
    (void)printf("kept        %" PRId64 " files, %s\n", status->kept_files, say_size(status->kept_bytes, size));
}

static void show_sessions(const json_t *sessions)
{
    size_t i = 0;
    const json_t *row = NULL;
    char when[SAY_TEXT_SIZE], number[SAY_TEXT_SIZE], place[SAY_NAME_SIZE], result[SAY_NAME_SIZE];
    struct table *table = NULL;
    if (!json_array_size(sessions))
        return;
    table = table_new((const char *const[]){"SESSION", "KIND", "STATE", "STARTED", "PLACE", "RESULT", NULL});
    json_array_foreach(sessions, i, row)
    {
        (void)snprintf(number, sizeof number, "%lld", (long long)json_integer_value(json_object_get(row, "id")));
        table_row(table,
                  (const char *const[]){number, json_string_value(json_object_get(row, "kind")),
                                        json_string_value(json_object_get(row, "state")),
                                        say_time(json_integer_value(json_object_get(row, "started_ns")), when),
                                        say_json_text(row, "place", place), say_json_text(row, "result", result)});
    }
    table_print(table);
}

static void show_rest(const struct gathering *gathering)
{
    size_t i = 0;
    const json_t *row = NULL;
    char when[SAY_TEXT_SIZE], name[SAY_NAME_SIZE], reason[SAY_NAME_SIZE];
    json_array_foreach(gathering->failures, i, row)
    {
        if (i == FAILURES_SHOWN) {
            (void)printf("failure: %zu more; readyfs recover --list names them\n",
                         json_array_size(gathering->failures) - i);
            break;
        }
        (void)printf("failure: %s: %s, %s\n", say_json_quoted(row, "name", name), say_json_text(row, "reason", reason),
                     say_time(json_integer_value(json_object_get(row, "kept_at_ns")), when));
    }
    json_array_foreach(gathering->warnings, i, row)(void) printf("warning: %s\n", json_string_value(row));
}

static int show(const struct args *args, const struct readyfs_status *status, const struct gathering *gathering)
{
    if (args_flag(args, FLAG_JSON))
        return say_json(whole(status, gathering), 0);
    show_counts(status);
    show_sessions(gathering->sessions);
    show_rest(gathering);
    return say_flush(0);
}

int cmd_status(struct args *args)
{
    struct readyfs_volume *volume = NULL;
    struct readyfs_error error;
    struct readyfs_status status;
    struct gathering gathering = {json_array(), json_array(), json_array()};
    struct readyfs_status_calls calls = {add_session, add_warning, &gathering};
    bool failed = readyfs_open(args->operands[0], args->options, READYFS_CATALOGUE, &volume, &error) ||
                  readyfs_status(volume, &calls, &status, &error) ||
                  readyfs_recover_list(volume, add_failure, &gathering, &error);
    readyfs_close(volume);
    int code = failed ? say_error("status", &error) : show(args, &status, &gathering);
    json_decref(gathering.sessions);
    json_decref(gathering.warnings);
    json_decref(gathering.failures);
    return code;
}
