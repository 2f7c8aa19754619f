/* test_log.c - goal: a line carries time, level and text on one line, levels filter and can be changed, lines of
 * several threads do not mix. Method: stderr is a file while a test runs; the clock is a stopped one. */
#include "host/log.h"

#include "host/file.h"
#include "support/scratch.h"
#include "unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static struct scratch scratch;
static int stderr_before;

static int64_t stopped_utc_ns(struct clock *clock)
{
    (void)clock;
    return 1796047023045678901ll; /* 2026-11-30T13:57:03.045Z */
}

static struct clock stopped = {.ops = &(const struct clock_ops){.utc_ns = stopped_utc_ns}};

static int set_up(void **state)
{
    (void)state;
    scratch_init(&scratch);
    stderr_before = dup(STDERR_FILENO);
    int fd = openat(scratch.fd, "err", O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
    (void)dup2(fd, STDERR_FILENO);
    (void)close(fd);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    (void)dup2(stderr_before, STDERR_FILENO);
    (void)close(stderr_before);
    scratch_done(&scratch);
    return 0;
}

static struct buf written(void)
{
    struct buf buf;
    buf_init(&buf, 1 << 20);
    assert_int_equal(file_read(scratch.fd, "err", &buf, NULL), STATUS_OK);
    return buf;
}

static void a_line_has_time_and_level(void **state)
{
    (void)state;
    struct log *log = NULL;
    assert_int_equal(log_open(SINK_STDERR, "readyfs", LEVEL_INFO, &stopped, &log, NULL), STATUS_OK);
    log_line(log, LEVEL_INFO, "mounted dir=\"%s\" n=%d", "a\nb", 3);
    log_line(log, LEVEL_DEBUG, "unseen");
    AUTO_BUF struct buf buf = written();
    assert_string_equal(buf.bytes, "2026-11-30T13:57:03.045Z info mounted dir=\"a b\" n=3\n");
    assert_null(log_close(log));
}

static void levels_filter_and_change(void **state)
{
    (void)state;
    struct log *log = NULL;
    assert_int_equal(log_open(SINK_STDERR, "readyfs", LEVEL_ERROR, &stopped, &log, NULL), STATUS_OK);
    for (int set = LEVEL_ERROR; set <= LEVEL_DEBUG; set++) {
        log_set_level(log, (enum log_level)set);
        for (int level = LEVEL_ERROR; level <= LEVEL_DEBUG; level++) {
            assert_int_equal(log_wants(log, (enum log_level)level), level <= set);
            log_line(log, (enum log_level)level, "set=%d level=%d", set, level);
        }
    }
    AUTO_BUF struct buf buf = written();
    size_t lines = 0;
    for (size_t i = 0; i < buf.len; i++)
        lines += buf.bytes[i] == '\n';
    assert_int_equal(lines, 1 + 2 + 3 + 4);
    assert_non_null(strstr(buf.bytes, "debug set=3 level=3\n"));
    assert_null(strstr(buf.bytes, "set=2 level=3"));
    (void)log_close(log);
}

static void level_names(void **state)
{
    (void)state;
    for (int i = LEVEL_ERROR; i <= LEVEL_DEBUG; i++) {
        enum log_level level = LEVEL_ERROR;
        assert_true(log_level_parse(log_level_name((enum log_level)i), &level));
        assert_int_equal(level, i);
    }
    enum log_level level = LEVEL_WARN;
    assert_false(log_level_parse("Warn", &level));
    assert_false(log_level_parse("", &level));
    assert_int_equal(level, LEVEL_WARN);
}

static void *write_lines(void *argument)
{
    for (int i = 0; i < 200; i++)
        log_line(argument, LEVEL_INFO, "line %s", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
    return NULL;
}

static void lines_do_not_mix(void **state)
{
    (void)state;
    struct log *log = NULL;
    pthread_t threads[4];
    assert_int_equal(log_open(SINK_STDERR, "readyfs", LEVEL_INFO, &stopped, &log, NULL), STATUS_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_lines, log), 0);
    for (int i = 0; i < 4; i++)
        (void)pthread_join(threads[i], NULL);
    AUTO_BUF struct buf buf = written();
    size_t each = strcspn(buf.bytes, "\n") + 1;
    assert_int_equal(buf.len, each * 800);
    for (size_t i = 0; i < 800; i++)
        assert_memory_equal(buf.bytes + i * each, buf.bytes, each);
    (void)log_close(log);
}

static void long_lines_are_cut(void **state)
{
    (void)state;
    char text[5000];
    struct log *log = NULL;
    memset(text, 'y', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_int_equal(log_open(SINK_STDERR, "readyfs", LEVEL_INFO, &stopped, &log, NULL), STATUS_OK);
    log_line(log, LEVEL_INFO, "%s", text);
    AUTO_BUF struct buf buf = written();
    assert_int_equal(buf.len, strlen("2026-11-30T13:57:03.045Z info \n") + 2000);
    assert_int_equal(buf.bytes[buf.len - 1], '\n');
    (void)log_close(log);
}

static void syslog_does_not_write_here(void **state)
{
    (void)state;
    struct log *log = NULL;
    assert_int_equal(log_open(SINK_SYSLOG, "readyfs-test", LEVEL_ERROR, &stopped, &log, NULL), STATUS_OK);
    log_line(log, LEVEL_DEBUG, "unseen");
    AUTO_BUF struct buf buf = written();
    assert_int_equal(buf.len, 0);
    (void)log_close(log);
    log_line(NULL, LEVEL_ERROR, "no log, no line");
    assert_false(log_wants(NULL, LEVEL_ERROR));
    assert_null(log_close(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_line_has_time_and_level, set_up, tear_down),
        cmocka_unit_test_setup_teardown(levels_filter_and_change, set_up, tear_down),
        cmocka_unit_test(level_names),
        cmocka_unit_test_setup_teardown(lines_do_not_mix, set_up, tear_down),
        cmocka_unit_test_setup_teardown(long_lines_are_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(syslog_does_not_write_here, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
