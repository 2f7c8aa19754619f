/* test_process.c - goal: mounts are processes, and the kernel alone tells which of them are dead: after SIGKILL at any
 * moment everything that was acknowledged is there, nothing else is, and the survivor's sweeps converge (P5, P11, P12).
 * links: catalogue blob host core document
 *
 * Method: this program runs itself as two writing mounts of one catalogue and one folder, which say on a pipe what they
 * have published; they are killed after a number of lines that a seed chooses, again and again. The seed is printed.
 */
#include "unit.h"

#include "blob/directory.h"
#include "catalogue/sqlite.h"
#include "document/pin.h"
#include "document/single.h"
#include "document/sweep.h"
#include "document/txn.h"
#include "document/view.h"
#include "document/volume.h"
#include "host/entropy.h"
#include "host/worker.h"
#include "support/lab.h"
#include "support/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define NAMES  6
#define ROUNDS 12

/* ---- what a document says ---- */

/* Writer and number, then a body whose length and letters follow from them; more than one block for every third. */
static char *content(int writer, int number)
{
    size_t len = number % 3 == 0 ? 9000 : 50;
    char *text = malloc(len + 32);
    int head = snprintf(text, 32, "%d %d ", writer, number);
    memset(text + head, 'a' + number % 26, len);
    text[(size_t)head + len] = '\0';
    return text;
}

static bool is_whole(const char *text, int *ret_writer, int *ret_number)
{
    if (sscanf(text, "%d %d ", ret_writer, ret_number) != 2)
        return false;
    char *expected = content(*ret_writer, *ret_number);
    bool same = strcmp(expected, text) == 0;
    free(expected);
    return same;
}

/* ---- the world, from a folder ---- */

static struct world open_world(const char *folder, struct settings *ret_settings)
{
    struct err err = {0};
    char path[320];
    struct world world = {.clock = clock_system(), .entropy = entropy_system()};
    *ret_settings = lab_settings();
    ret_settings->deadline_ms = 30000;
    (void)snprintf(path, sizeof path, "%s/catalogue", folder);
    const struct sqlite_options options = {.path = path,
                                           .create = true,
                                           .clock = world.clock,
                                           .entropy = world.entropy};
    enum status status = sqlite_open(&options, NULL, &world.catalogue, &err);
    (void)snprintf(path, sizeof path, "%s/blobs", folder);
    if (status == STATUS_OK)
        status = directory_open(path, true, &world.blobs, &err);
    if (status == STATUS_OK)
        status = workers_open(2, &world.workers, &err);
    const struct volume_options volume = {.settings = ret_settings};
    if (status == STATUS_OK)
        status = volume_join(&world, &volume, NULL, &err);
    if (status != STATUS_OK) {
        (void)fprintf(stderr, "open the world: %s\n", err.message);
        exit(99);
    }
    return world;
}

static void close_world(struct world *world)
{
    workers_close(world->workers);
    world->blobs = blob_close(world->blobs);
    world->catalogue = catalogue_close(world->catalogue);
}

/* ---- a mount that writes until it is killed ---- */

static int run_mount(const char *folder, int writer)
{
    struct settings settings;
    struct world world = open_world(folder, &settings);
    struct session *session = NULL;
    const struct session_options options = {.kind = SESSION_MOUNT, .place = "child", .settings = settings};
    if (session_open(&world, &options, &session, NULL) != STATUS_OK)
        return 98;
    for (int number = 1;; number++) {
        char name[16];
        (void)snprintf(name, sizeof name, "n%d", number % NAMES);
        char *text = content(writer, number);
        enum status status = lab_put(session, CATALOGUE_ROOT, name, text, NULL);
        free(text);
        /* A line is one write, so it is whole or absent on the pipe. */
        char line[32];
        int len = snprintf(line, sizeof line, "%d %d %d\n", number % NAMES, number, status == STATUS_OK);
        if (write(STDOUT_FILENO, line, (size_t)len) != len)
            return 0; /* nobody reads any more */
        if (number % 5 == 0) {
            const struct sweep_options sweep = {.versions_max = 20};
            struct sweep_report report;
            if (session_heartbeat(session, NULL) == STATUS_OK)
                IGNORE(sweep_pass(session, &sweep, &report, NULL)); /* the other mount may be in its way */
        }
    }
}

struct child {
    pid_t pid;
    int pipe;
    int acknowledged[NAMES]; /* the last number acknowledged for each name, 0 for none */
    int lines;
};

static void spawn(struct child *child, const char *folder, int writer)
{
    int ends[2];
    char number[16];
    *child = (struct child){0};
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    (void)snprintf(number, sizeof number, "%d", writer);
    child->pid = fork();
    assert_true(child->pid >= 0);
    if (child->pid == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)execl("/proc/self/exe", "test_process", "mount", folder, number, (char *)NULL);
        _exit(97);
    }
    (void)close(ends[1]);
    child->pipe = ends[0];
}

/* Reads one line; false at the end. */
static bool listen_to(struct child *child)
{
    char line[32];
    size_t len = 0;
    for (;;) {
        ssize_t got = read(child->pipe, line + len, 1);
        if (got != 1 || len + 1 == sizeof line)
            return false;
        if (line[len] == '\n')
            break;
        len++;
    }
    line[len] = '\0';
    int name = 0, number = 0, done = 0;
    assert_int_equal(sscanf(line, "%d %d %d", &name, &number, &done), 3);
    if (done)
        child->acknowledged[name] = number;
    child->lines++;
    return true;
}

static void kill_child(struct child *child)
{
    int status;
    assert_int_equal(kill(child->pid, SIGKILL), 0);
    while (listen_to(child)) /* what it said before it died counts */
        ;
    assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
    (void)close(child->pipe);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* ---- the survivor ---- */

/* Each document is whole and is the last one acknowledged by either writer, or a later one of the same. */
static void check(struct session *session, const struct child children[2])
{
    for (int name = 0; name < NAMES; name++) {
        char text[16];
        (void)snprintf(text, sizeof text, "n%d", name);
        char *found = lab_get(session, CATALOGUE_ROOT, text);
        int writer = 0, number = 0;
        bool any = children[0].acknowledged[name] || children[1].acknowledged[name];
        if (found) {
            assert_true(is_whole(found, &writer, &number));
            assert_true(number >= children[writer].acknowledged[name]);
        }
        assert_true(found || !any);
        free(found);
    }
}

static void converge(const char *folder, const struct child children[2])
{
    struct err err = {0};
    struct settings settings;
    struct world world = open_world(folder, &settings);
    struct session *session = NULL;
    const struct session_options options = {.kind = SESSION_MOUNT, .place = "survivor", .settings = settings};
    assert_int_equal(session_open(&world, &options, &session, &err), STATUS_OK);
    check(session, children);
    lab_sweep(session);
    struct version_counts counts = lab_counts(session);
    assert_int_equal(counts.pending, 0);
    assert_int_equal(counts.condemned, 0);
    check(session, children);
    lab_audit(session);
    session_close(session, "done");
    close_world(&world);
}

static void test_kill_two_mounts(void **state)
{
    (void)state;
    struct scratch scratch;
    scratch_init(&scratch);
    const char *given = getenv("READYFS_TEST_SEED");
    unsigned seed = given ? (unsigned)strtoul(given, NULL, 10) : (unsigned)getpid();
    print_message("seed %u (READYFS_TEST_SEED)\n", seed);
    for (int round = 0; round < ROUNDS; round++) {
        struct child children[2];
        for (int i = 0; i < 2; i++)
            spawn(&children[i], scratch.path, i);
        seed = seed * 1103515245 + 12345;
        int lines = 1 + (int)(seed >> 16) % 25;
        for (int i = 0; i < lines; i++)
            assert_true(listen_to(&children[i % 2]));
        kill_child(&children[round % 2]);
        seed = seed * 1103515245 + 12345;
        lines = (int)(seed >> 16) % 10; /* the other goes on, and fences and sweeps for the dead one */
        for (int i = 0; i < lines; i++)
            assert_true(listen_to(&children[1 - round % 2]));
        kill_child(&children[1 - round % 2]);
        converge(scratch.path, children);
    }
    scratch_done(&scratch);
}

/* A reader in another process has a version open while this one replaces, sweeps and sweeps: its horizon counts (P14).
 */
static int run_reader(const char *folder)
{
    struct settings settings;
    struct world world = open_world(folder, &settings);
    struct session *session = NULL;
    struct pin *pin = NULL;
    struct view *view = NULL;
    struct document_row document;
    struct name name = lab_name("a");
    const struct session_options options = {.kind = SESSION_MOUNT_RO, .place = "reader", .settings = settings};
    char byte, text[16] = "";
    size_t len = 0;
    bool opened = session_open(&world, &options, &session, NULL) == STATUS_OK &&
                  view_open(session, &view, NULL) == STATUS_OK &&
                  view_lookup(view, CATALOGUE_ROOT, &name, &document, NULL, NULL) == STATUS_OK &&
                  pin_open(session, document.id, &pin, NULL) == STATUS_OK;
    if (!opened || write(STDOUT_FILENO, "o", 1) != 1)
        return 98;
    while (read(STDIN_FILENO, &byte, 1) == 1) {
        bool good = session_heartbeat(session, NULL) == STATUS_OK;
        if (byte == 'r')
            good = good && pin_read(pin, 0, text, 3, &len, NULL, NULL) == STATUS_OK && strcmp(text, "one") == 0;
        if (write(STDOUT_FILENO, good ? "y" : "n", 1) != 1)
            return 98;
    }
    pin_close(pin);
    view_close(view);
    session_close(session, "done");
    close_world(&world);
    return 0;
}

struct reader {
    pid_t pid;
    int ask, answer;
};

static char ask(struct reader *reader, char question)
{
    char answer = 0;
    assert_int_equal(write(reader->ask, &question, 1), 1);
    assert_int_equal(read(reader->answer, &answer, 1), 1);
    return answer;
}

static void spawn_reader(struct reader *reader, const char *folder)
{
    int in[2], out[2];
    char opened = 0;
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    reader->pid = fork();
    assert_true(reader->pid >= 0);
    if (reader->pid == 0) {
        (void)dup2(in[0], STDIN_FILENO);
        (void)dup2(out[1], STDOUT_FILENO);
        (void)execl("/proc/self/exe", "test_process", "reader", folder, (char *)NULL);
        _exit(97);
    }
    (void)close(in[0]);
    (void)close(out[1]);
    reader->ask = in[1];
    reader->answer = out[0];
    assert_int_equal(read(reader->answer, &opened, 1), 1);
    assert_int_equal(opened, 'o');
}

static bool count_blob(void *context, const struct blob_listing *item)
{
    *(size_t *)context += !item->uncommitted;
    return true;
}

static size_t blobs_in(const struct world *world)
{
    const struct call call = {0};
    size_t count = 0;
    assert_int_equal(world->blobs->ops->list(world->blobs, &call, "d/", count_blob, &count, NULL), STATUS_OK);
    return count;
}

static void test_reader_in_another_process(void **state)
{
    (void)state;
    struct scratch scratch;
    struct err err = {0};
    struct settings settings;
    scratch_init(&scratch);
    struct world world = open_world(scratch.path, &settings);
    struct session *session = NULL;
    const struct session_options options = {.kind = SESSION_MOUNT, .place = "writer", .settings = settings};
    assert_int_equal(session_open(&world, &options, &session, &err), STATUS_OK);
    assert_int_equal(lab_put(session, CATALOGUE_ROOT, "a", "one", NULL), STATUS_OK);
    struct reader reader;
    spawn_reader(&reader, scratch.path);
    assert_int_equal(lab_put(session, CATALOGUE_ROOT, "a", "two", NULL), STATUS_OK);
    assert_int_equal(ask(&reader, 'h'), 'y'); /* it beats, with its pin open */
    lab_sweep(session);
    assert_int_equal(blobs_in(&world), 2);
    assert_int_equal(ask(&reader, 'r'), 'y');
    assert_int_equal(kill(reader.pid, SIGKILL), 0);
    assert_int_equal(waitpid(reader.pid, NULL, 0), reader.pid);
    lab_sweep(session); /* the kernel says that it is dead */
    assert_int_equal(blobs_in(&world), 1);
    (void)close(reader.ask);
    (void)close(reader.answer);
    session_close(session, "done");
    close_world(&world);
    scratch_done(&scratch);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "mount") == 0)
        return run_mount(argv[2], (int)strtol(argv[3], NULL, 10));
    if (argc == 3 && strcmp(argv[1], "reader") == 0)
        return run_reader(argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kill_two_mounts),
        cmocka_unit_test(test_reader_in_another_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
