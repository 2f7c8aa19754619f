/* links: lib app fs document catalogue blob azure wire config host core base */
/* test_readyfs.c - goal: the public interface tells the truth about a volume, and its errors are lines with a name.
 * Method: a volume on the directory store, filled through the protocol by a session that stays alive as a mount would,
 * looked at from outside. */
#include "app/open.h"
#include "config/config.h"
#include "document/txn.h"
#include "support/lab.h"
#include "support/scratch.h"
#include "unit.h"

#include <readyfs/readyfs.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

struct bench {
    struct scratch scratch;
    char source[400], catalogue[400];
    struct app *app; /* stands for a mount */
    struct readyfs_options *options;
};

static int set_up(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);
    struct config config;
    struct err err = {0};
    char path[300];
    assert_non_null(bench);
    scratch_init(&bench->scratch);
    (void)snprintf(bench->source, sizeof bench->source, "dir:%s",
                   scratch_path(&bench->scratch, "blobs", path, sizeof path));
    (void)scratch_path(&bench->scratch, "c.sqlite", bench->catalogue, sizeof bench->catalogue);
    config_init(&config);
    struct config_origin origin = {.rank = RANK_CALL, .name = "test"};
    assert_int_equal(config_set(&config, &origin, "catalogue", bench->catalogue, &err), STATUS_OK);
    assert_int_equal(config_source(&config, bench->source, &err), STATUS_OK);
    struct app_options options = {.kind = SESSION_MOUNT, .place = "/the/mount", .create = true};
    if (app_open(&config, &options, &bench->app, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_true(bench->app->created);
    config_done(&config);
    assert_int_equal(readyfs_options_new(&bench->options, NULL), 0);
    assert_int_equal(readyfs_options_set(bench->options, "catalogue", bench->catalogue, NULL), 0);
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    readyfs_options_free(bench->options);
    app_close(bench->app, "ended");
    scratch_done(&bench->scratch);
    free(bench);
    return 0;
}

static struct readyfs_volume *open_volume(struct bench *bench, enum readyfs_access access)
{
    struct readyfs_volume *volume = NULL;
    struct readyfs_error error;
    if (readyfs_open(bench->source, bench->options, access, &volume, &error))
        fail_msg("%s", error.message);
    return volume;
}

static void put(struct bench *bench, int64_t dir, const char *name, const char *text)
{
    struct op op;
    assert_int_equal(lab_put(bench->app->session, dir, name, text, &op), STATUS_OK);
}

static int64_t make_directory(struct bench *bench, int64_t dir, const char *name)
{
    struct op op = {.kind = OP_MKDIR, .dir = dir, .name = lab_name(name), .attr = {.mode = 0755}};
    struct err err = {0};
    if (txn_run(bench->app->session, &op, 1, ORDERED, NULL, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    return op.ret_document.id;
}

static void lists_what_is_published_with_a_cursor(void **state)
{
    struct bench *bench = *state;
    struct readyfs_entry entries[2];
    int64_t cursor = 0, below = make_directory(bench, 1, "sub");
    size_t count = 0, seen = 0;
    char path[64];
    put(bench, below, "one", "1");
    put(bench, below, "two", "22");
    put(bench, below, "three", "333");
    struct readyfs_volume *volume = open_volume(bench, READYFS_CATALOGUE);
    do {
        assert_int_equal(readyfs_ls(volume, "/sub//", &cursor, entries, 2, &count, NULL), 0);
        for (size_t i = 0; i < count; i++) {
            assert_true(S_ISREG(entries[i].mode));
            assert_int_equal(entries[i].number, 1);
            assert_true(strlen(entries[i].blob) > 30);
            assert_int_equal(readyfs_path(volume, entries[i].document, path, sizeof path, NULL), 0);
            assert_int_equal(strncmp(path, "sub/", 4), 0);
            assert_string_equal(path + 4, entries[i].name);
            seen += entries[i].size;
        }
    } while (count == 2);
    assert_int_equal(seen, 1 + 2 + 3);
    readyfs_close(volume);
}

static void refuses_paths_that_lead_nowhere(void **state)
{
    struct bench *bench = *state;
    struct readyfs_entry entry;
    struct readyfs_error error;
    int64_t cursor = 0;
    size_t count = 0;
    char long_name[300], target[4096];
    put(bench, 1, "file", "x");
    struct readyfs_volume *volume = open_volume(bench, READYFS_CATALOGUE);
    assert_int_equal(readyfs_ls(volume, "nothing", &cursor, &entry, 1, &count, &error), ENOENT);
    assert_string_equal(error.name, "NOT_FOUND");
    assert_int_equal(error.exit_code, 1);
    assert_int_equal(readyfs_ls(volume, "file", &cursor, &entry, 1, &count, &error), ENOTDIR);
    assert_int_equal(readyfs_ls(volume, "file/x", &cursor, &entry, 1, &count, &error), ENOTDIR);
    memset(long_name, 'a', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    assert_int_equal(readyfs_ls(volume, long_name, &cursor, &entry, 1, &count, &error), ENAMETOOLONG);
    assert_int_equal(readyfs_readlink(volume, 1, target, &error), EINVAL);
    assert_int_equal(readyfs_readlink(volume, 999999, target, &error), ENOENT);
    assert_int_equal(cursor, 0);
    readyfs_close(volume);
}

/* S1, S4: a name that is only reserved is not published, so no listing shows it and no path leads over it. */
static void reserved_names_are_not_there(void **state)
{
    struct bench *bench = *state;
    struct readyfs_entry entries[4];
    struct err err = {0};
    int64_t cursor = 0;
    size_t count = 9;
    struct op op = {.kind = OP_RESERVE, .dir = 1, .name = lab_name("half"), .attr = {.mode = S_IFREG | 0644}};
    if (txn_run(bench->app->session, &op, 1, ORDERED, NULL, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    struct readyfs_volume *volume = open_volume(bench, READYFS_CATALOGUE);
    assert_int_equal(readyfs_ls(volume, "", &cursor, entries, 4, &count, NULL), 0);
    assert_int_equal(count, 0);
    assert_int_equal(readyfs_ls(volume, "half", &cursor, entries, 4, &count, NULL), ENOENT);
    readyfs_close(volume);
}

struct told {
    char mount_state[16];
    unsigned sessions, warnings;
};

static void take_session(void *context, const struct readyfs_session *session)
{
    struct told *told = context;
    told->sessions++;
    assert_string_equal(session->place, "/the/mount");
    (void)snprintf(told->mount_state, sizeof told->mount_state, "%s", session->state);
}

static void take_warning(void *context, const char *text)
{
    struct told *told = context;
    assert_non_null(text);
    told->warnings++;
}

static void status_counts_and_knows_who_lives(void **state)
{
    struct bench *bench = *state;
    struct readyfs_status status;
    struct told told = {0};
    struct readyfs_status_calls calls = {take_session, take_warning, &told};
    put(bench, 1, "a", "four");
    put(bench, 1, "b", "six666");
    struct readyfs_volume *volume = open_volume(bench, READYFS_CATALOGUE);
    assert_int_equal(readyfs_status(volume, &calls, &status, NULL), 0);
    assert_int_equal(status.documents, 2);
    assert_int_equal(status.ready, 2);
    assert_int_equal(status.ready_bytes, 10);
    assert_int_equal(status.pending, status.pooled);
    assert_true(status.pooled > 0);
    assert_int_equal(status.oldest_pending, 0); /* a name that is set aside waits for nothing */
    assert_int_equal(status.kept_files, 0);
    assert_string_equal(status.source, bench->source);
    assert_string_equal(status.catalogue, bench->catalogue);
    assert_int_equal(told.sessions, 1);
    assert_string_equal(told.mount_state, "alive");
    assert_int_equal(told.warnings, 0);
    readyfs_close(volume);
}

/* S24, P12: what fsck says of a blob that is gone. */
static void take_finding(void *context, const struct readyfs_finding *finding)
{
    char *kinds = context;
    if (finding->fault)
        (void)snprintf(kinds + strlen(kinds), 100 - strlen(kinds), "%s;", finding->kind);
}

static void fsck_names_a_missing_blob(void **state)
{
    struct bench *bench = *state;
    char kinds[100] = "", path[800];
    struct readyfs_entry entry;
    struct readyfs_fsck_report report;
    struct readyfs_fsck_options options = {.data = true, .finding = take_finding, .context = kinds};
    int64_t cursor = 0;
    size_t count = 0;
    put(bench, 1, "gone", "bytes");
    struct readyfs_volume *volume = open_volume(bench, READYFS_STORE);
    assert_int_equal(readyfs_fsck(volume, &options, &report, NULL), 0);
    assert_int_equal(report.faults, 0);
    assert_int_equal(report.bytes_verified, 5);
    assert_int_equal(readyfs_ls(volume, "", &cursor, &entry, 1, &count, NULL), 0);
    (void)snprintf(path, sizeof path, "%s/%s", bench->source + 4, entry.blob);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(readyfs_fsck(volume, &options, &report, NULL), 0);
    assert_int_equal(report.faults, 1);
    assert_string_equal(kinds, "missing_blob;");
    readyfs_close(volume);
}

static void take_note(void *context, const struct readyfs_sweep_note *note)
{
    unsigned *deleted = context;
    if (strcmp(note->action, "delete") == 0)
        ++*deleted;
}

static void sweep_deletes_what_was_replaced(void **state)
{
    struct bench *bench = *state;
    unsigned would = 0, did = 0;
    struct readyfs_sweep_report report;
    put(bench, 1, "doc", "old");
    put(bench, 1, "doc", "new");
    assert_int_equal(session_heartbeat(bench->app->session, NULL),
                     STATUS_OK); /* P14: no reader of the old one is left */
    struct readyfs_volume *volume = open_volume(bench, READYFS_STORE);
    assert_int_equal(
        readyfs_sweep(volume, &(struct readyfs_sweep_options){.dry_run = true, .note = take_note, .context = &would},
                      &report, NULL),
        0);
    assert_int_equal(readyfs_sweep(volume, &(struct readyfs_sweep_options){.note = take_note, .context = &did}, &report,
                                   NULL),
                     0);
    assert_int_equal(would, did);
    assert_int_equal(report.failed, 0);
    char *text = lab_get(bench->app->session, 1, "doc");
    assert_string_equal(text, "new");
    free(text);
    readyfs_close(volume);
    volume = open_volume(bench, READYFS_CATALOGUE);
    struct readyfs_error error;
    assert_int_equal(readyfs_sweep(volume, &(struct readyfs_sweep_options){0}, &report, &error), EINVAL);
    readyfs_close(volume);
}

static void open_refuses_with_one_line(void **state)
{
    struct bench *bench = *state;
    struct readyfs_volume *volume = NULL;
    struct readyfs_error error;
    struct readyfs_options *options = NULL;
    char path[300];
    assert_int_equal(readyfs_open("nonsense://x", bench->options, READYFS_CATALOGUE, &volume, &error), EINVAL);
    assert_string_equal(error.name, "USAGE");
    assert_int_equal(error.exit_code, 2);
    assert_int_equal(readyfs_open(bench->scratch.path, bench->options, READYFS_CATALOGUE, &volume, &error), ENOENT);
    assert_int_equal(readyfs_options_new(&options, &error), 0);
    (void)scratch_path(&bench->scratch, "other.sqlite", path, sizeof path);
    assert_int_equal(readyfs_options_set(options, "catalogue", path, &error), 0);
    assert_int_equal(readyfs_open(bench->source, options, READYFS_STORE, &volume, &error), ENOENT);
    assert_non_null(strstr(error.message, "there is no catalogue"));
    assert_int_equal(readyfs_options_set(options, "parallel", "0", &error), EINVAL);
    assert_int_equal(readyfs_options_argument(options, "--sas-token", "s3cret", &error), EINVAL);
    assert_null(strstr(error.message, "s3cret"));
    assert_null(volume);
    readyfs_options_free(options);
}

/* A catalogue of another container is refused, whoever asks (P15). */
static void the_wrong_container_is_refused(void **state)
{
    struct bench *bench = *state;
    struct readyfs_volume *volume = NULL;
    struct readyfs_error error;
    char other[400], path[300];
    (void)snprintf(other, sizeof other, "dir:%s", scratch_path(&bench->scratch, "other", path, sizeof path));
    assert_int_equal(mkdir(path, 0700), 0);
    assert_true(readyfs_open(other, bench->options, READYFS_STORE, &volume, &error) != 0);
    assert_int_equal(readyfs_open(other, bench->options, READYFS_CATALOGUE, &volume, &error), 0);
    readyfs_close(volume);
}

static void lifecycle_policy_is_narrowed(void **state)
{
    char *json = NULL;
    struct readyfs_error error;
    (void)state;
    assert_int_equal(readyfs_lifecycle_policy(NULL, 30, &json, &error), 0);
    assert_null(strstr(json, "prefixMatch"));
    free(json);
    assert_int_equal(readyfs_lifecycle_policy("az://box/pre", 7, &json, &error), 0);
    assert_non_null(strstr(json, "\"box/pre/\""));
    assert_non_null(strstr(json, "\"daysAfterCreationGreaterThan\": 7"));
    free(json);
    assert_int_equal(readyfs_lifecycle_policy("dir:/x", 7, &json, &error), EINVAL);
    assert_int_equal(readyfs_lifecycle_policy(NULL, 0, &json, &error), EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lists_what_is_published_with_a_cursor, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses_paths_that_lead_nowhere, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reserved_names_are_not_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(status_counts_and_knows_who_lives, set_up, tear_down),
        cmocka_unit_test_setup_teardown(fsck_names_a_missing_blob, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sweep_deletes_what_was_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(open_refuses_with_one_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_wrong_container_is_refused, set_up, tear_down),
        cmocka_unit_test(lifecycle_policy_is_narrowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
