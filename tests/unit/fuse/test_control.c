/* test_control.c - goal: the socket of a mount answers what it knows, refuses the rest, keeps clients apart, and tells
 * those who asked to drain how the mount ended, at a path longer than a socket's address.
 * Method: a server with canned answers, clients in the same process. */
#include "fuse/control.h"

#include "support/scratch.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define LONG_MS 60000

static struct scratch scratch;
static char path[1024];

static void progress(void *context, char ret_line[CONTROL_LINE_SIZE])
{
    (void)snprintf(ret_line, CONTROL_LINE_SIZE, "%s", (const char *)context);
}

static bool set_level(void *context, const char *level)
{
    (void)context;
    return strcmp(level, "debug") == 0;
}

static char answer_text[] = "handles=1 uploads=2";
static const struct control_handler handler = {.progress = progress,
                                               .set_log_level = set_level,
                                               .context = answer_text};

static int set_up(void **state)
{
    (void)state;
    char folder[512], name[256];
    scratch_init(&scratch);
    memset(name, 'x', 200);
    name[200] = '\0';
    (void)scratch_path(&scratch, name, folder, sizeof folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/socket", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    scratch_done(&scratch);
    return 0;
}

static void ask(int fd, const char *line, const char *wanted)
{
    char answer[CONTROL_LINE_SIZE];
    assert_int_equal(control_ask(fd, line, answer, LONG_MS, NULL), STATUS_OK);
    assert_string_equal(answer, wanted);
}

static void answers(void **state)
{
    (void)state;
    struct control *control;
    int one, two;
    assert_int_equal(control_connect(path, &one, NULL), STATUS_NOT_FOUND);
    assert_int_equal(control_open(path, &handler, &control, NULL), STATUS_OK);
    assert_int_equal(control_connect(path, &one, NULL), STATUS_OK);
    assert_int_equal(control_connect(path, &two, NULL), STATUS_OK);
    ask(one, "progress", answer_text);
    ask(two, "progress", answer_text);
    ask(one, "loglevel debug", "ok");
    ask(one, "loglevel loud", "error log levels are error, warn, info and debug");
    ask(two, "frobnicate", "error unknown command");
    (void)close(one);
    (void)close(two);
    control_close(control, "ended");
    assert_int_equal(control_connect(path, &one, NULL), STATUS_UNREACHABLE);   /* the file is there, nobody listens */
    assert_int_equal(control_open(path, &handler, &control, NULL), STATUS_OK); /* and does not stand in the way */
    control_close(control, "ended");
}

static void tells_the_end(void **state)
{
    (void)state;
    struct control *control;
    char line[CONTROL_LINE_SIZE];
    int drains, looks;
    assert_int_equal(control_open(path, &handler, &control, NULL), STATUS_OK);
    assert_int_equal(control_connect(path, &drains, NULL), STATUS_OK);
    assert_int_equal(control_connect(path, &looks, NULL), STATUS_OK);
    ask(drains, "drain", "draining");
    ask(looks, "progress", answer_text);
    assert_int_equal(control_await(drains, line, 0, NULL), STATUS_TIMEOUT);
    control_close(control, "ended kept=3");
    assert_int_equal(control_await(drains, line, LONG_MS, NULL), STATUS_OK);
    assert_string_equal(line, "ended kept=3");
    assert_int_equal(control_await(drains, line, LONG_MS, NULL), STATUS_UNFINISHED);
    assert_int_equal(control_await(looks, line, LONG_MS, NULL), STATUS_UNFINISHED);
    (void)close(drains);
    (void)close(looks);
}

static void bears_bad_clients(void **state)
{
    (void)state;
    struct control *control;
    char line[CONTROL_LINE_SIZE], endless[CONTROL_LINE_SIZE * 2];
    int fd;
    memset(endless, 'x', sizeof endless);
    assert_int_equal(control_open(path, &handler, &control, NULL), STATUS_OK);
    assert_int_equal(control_connect(path, &fd, NULL), STATUS_OK);
    assert_true(send(fd, endless, sizeof endless, MSG_NOSIGNAL) > 0);
    assert_int_equal(control_await(fd, line, LONG_MS, NULL), STATUS_UNFINISHED); /* thrown out */
    (void)close(fd);
    assert_int_equal(control_connect(path, &fd, NULL), STATUS_OK);
    assert_int_equal(send(fd, "prog", 4, MSG_NOSIGNAL), 4); /* a line in two pieces */
    ask(fd, "ress", answer_text);
    (void)close(fd);
    control_close(control, "ended");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(answers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tells_the_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bears_bad_clients, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
