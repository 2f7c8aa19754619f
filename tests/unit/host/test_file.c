/* test_file.c - goal: small files are replaced whole, directories are private, limits and errors are told.
 * Method: a scratch folder; a reader beside a writer that must never see a mixture. */
#include "host/file.h"

#include "support/scratch.h"
#include "unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct scratch scratch;

static int set_up(void **state)
{
    (void)state;
    scratch_init(&scratch);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    scratch_done(&scratch);
    return 0;
}

static void assert_content(const char *name, const char *expected)
{
    AUTO_BUF struct buf buf;
    buf_init(&buf, 100000);
    assert_int_equal(file_read(scratch.fd, name, &buf, NULL), STATUS_OK);
    assert_string_equal(buf.bytes, expected);
}

static void writes_and_replaces(void **state)
{
    (void)state;
    struct stat facts;
    mode_t before = umask(0077);
    assert_int_equal(file_write(scratch.fd, "a", "one", 3, 0644, NULL), STATUS_OK);
    (void)umask(before);
    assert_int_equal(fstatat(scratch.fd, "a", &facts, 0), 0);
    assert_int_equal(facts.st_mode & 07777, 0644);
    assert_content("a", "one");
    assert_int_equal(file_write(scratch.fd, "a", "", 0, 0600, NULL), STATUS_OK);
    assert_content("a", "");
    assert_int_equal(scratch_count(scratch.path, 0), 1); /* no temporary file is left */
}

static void absolute_and_nested_paths(void **state)
{
    (void)state;
    char path[512];
    assert_int_equal(mkdirat(scratch.fd, "sub", 0700), 0);
    assert_int_equal(file_write(scratch.fd, "sub/x", "1", 1, 0600, NULL), STATUS_OK);
    assert_content("sub/x", "1");
    assert_int_equal(file_write(AT_FDCWD, scratch_path(&scratch, "sub/y", path, sizeof path), "2", 1, 0600, NULL),
                     STATUS_OK);
    assert_content("sub/y", "2");
    assert_int_equal(scratch_count(scratch.path, 1), 3);
}

static void a_failure_leaves_the_old_content(void **state)
{
    (void)state;
    struct err err = {0};
    assert_int_equal(file_write(scratch.fd, "none/x", "1", 1, 0600, &err), STATUS_NOT_FOUND);
    assert_non_null(strstr(err.message, "none/x"));
    assert_int_equal(mkdirat(scratch.fd, "full", 0700), 0);
    assert_int_equal(file_write(scratch.fd, "full", "1", 1, 0600, &err), STATUS_IS_DIRECTORY);
    assert_int_equal(scratch_count(scratch.path, 1), 1);
}

static void reads_within_a_limit(void **state)
{
    (void)state;
    static char text[9001];
    memset(text, 'x', sizeof text - 1);
    AUTO_BUF struct buf buf;
    buf_init(&buf, 9000);
    assert_int_equal(file_write(scratch.fd, "a", text, 9000, 0600, NULL), STATUS_OK);
    assert_int_equal(file_read(scratch.fd, "a", &buf, NULL), STATUS_OK);
    assert_int_equal(buf.len, 9000);
    buf_clear(&buf);
    assert_int_equal(buf_append_text(&buf, "kept"), STATUS_OK);
    struct err err = {0};
    assert_int_equal(file_read(scratch.fd, "a", &buf, &err), STATUS_TOO_LARGE);
    assert_string_equal(buf.bytes, "kept");
    assert_int_equal(file_read(scratch.fd, "b", &buf, &err), STATUS_NOT_FOUND);
    assert_int_equal(symlinkat("a", scratch.fd, "link"), 0);
    assert_int_not_equal(file_read(scratch.fd, "link", &buf, &err), STATUS_OK);
}

static void makes_private_directories(void **state)
{
    (void)state;
    char path[512];
    struct stat facts;
    assert_int_equal(file_make_directory(AT_FDCWD, scratch_path(&scratch, "a//b/c/", path, sizeof path), NULL),
                     STATUS_OK);
    assert_int_equal(fstatat(scratch.fd, "a/b/c", &facts, 0), 0);
    assert_int_equal(facts.st_mode & 07777, 0700);
    assert_int_equal(file_make_directory(scratch.fd, "a/b/c", NULL), STATUS_OK);
    assert_int_equal(file_make_directory(scratch.fd, "d/e", NULL), STATUS_OK);
    assert_int_equal(file_make_directory(AT_FDCWD, "/", NULL), STATUS_OK);
    assert_int_equal(file_write(scratch.fd, "f", "", 0, 0600, NULL), STATUS_OK);
    assert_int_equal(file_make_directory(scratch.fd, "f", NULL), STATUS_NOT_DIRECTORY);
    assert_int_equal(file_make_directory(scratch.fd, "f/g", NULL), STATUS_NOT_DIRECTORY);
    assert_int_equal(file_sync_directory(scratch.fd, scratch.path, NULL), STATUS_OK);
    assert_int_equal(file_sync_parent(scratch.fd, "a/b", NULL), STATUS_OK);
    assert_int_equal(file_sync_parent(scratch.fd, "nowhere/b", NULL), STATUS_NOT_FOUND);
}

static void long_paths_are_refused(void **state)
{
    (void)state;
    static char path[6000];
    memset(path, 'x', sizeof path - 1);
    AUTO_BUF struct buf buf;
    buf_init(&buf, 10);
    assert_int_equal(file_make_directory(scratch.fd, path, NULL), STATUS_NAME_TOO_LONG);
    assert_int_equal(file_write(scratch.fd, path, "", 0, 0600, NULL), STATUS_NAME_TOO_LONG);
    assert_int_equal(file_read(scratch.fd, path, &buf, NULL), STATUS_NAME_TOO_LONG);
}

static void *replace_often(void *argument)
{
    atomic_bool *done = argument;
    static char text[3][5001];
    for (int i = 0; i < 3; i++)
        memset(text[i], 'a' + i, 5000);
    for (int i = 0; i < 60; i++)
        if (file_write(scratch.fd, "a", text[i % 3], 5000, 0600, NULL) != STATUS_OK)
            break;
    atomic_store(done, true);
    return NULL;
}

static void readers_never_see_a_mixture(void **state)
{
    (void)state;
    pthread_t writer;
    atomic_bool done = false;
    AUTO_BUF struct buf buf;
    buf_init(&buf, 10000);
    assert_int_equal(pthread_create(&writer, NULL, replace_often, &done), 0);
    while (!atomic_load(&done)) {
        buf_clear(&buf);
        if (file_read(scratch.fd, "a", &buf, NULL) == STATUS_NOT_FOUND)
            continue; /* the first one is still on its way */
        assert_int_equal(buf.len, 5000);
        for (size_t i = 1; i < buf.len; i++)
            assert_int_equal(buf.bytes[i], buf.bytes[0]);
    }
    (void)pthread_join(writer, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(writes_and_replaces, set_up, tear_down),
        cmocka_unit_test_setup_teardown(absolute_and_nested_paths, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_failure_leaves_the_old_content, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reads_within_a_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(makes_private_directories, set_up, tear_down),
        cmocka_unit_test_setup_teardown(long_paths_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(readers_never_see_a_mixture, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
