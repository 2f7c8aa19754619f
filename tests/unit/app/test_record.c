/* test_record.c - goal: the record of a mount says what was written into it, whatever bytes the paths hold; a damaged
 * one is told from a missing one; the lock tells a living mount from a dead one.
 * Method: records in a scratch folder, damaged by hand; the lock taken twice. */
/* links: host */
#include "app/record.h"

#include "host/lock.h"
#include "support/scratch.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>
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

static const struct record sample = {.point = "/mnt/a b%\n=x",
                                     .catalogue = "/var/\xff\xfe/c.db",
                                     .source = "dir:/srv/blobs",
                                     .session = 42,
                                     .pid = 4711,
                                     .read_only = true};

static void says_what_was_written(void **state)
{
    (void)state;
    char runtime[512];
    struct record got;
    (void)scratch_path(&scratch, "run", runtime, sizeof runtime); /* made by the first record */
    assert_int_equal(record_read(runtime, sample.point, &got, NULL), STATUS_NOT_FOUND);
    assert_int_equal(record_write(runtime, &sample, NULL), STATUS_OK);
    assert_int_equal(record_read(runtime, sample.point, &got, NULL), STATUS_OK);
    assert_string_equal(got.point, sample.point);
    assert_string_equal(got.catalogue, sample.catalogue);
    assert_string_equal(got.source, sample.source);
    assert_int_equal(got.session, sample.session);
    assert_int_equal(got.pid, sample.pid);
    assert_true(got.read_only);
    assert_int_equal(record_read(runtime, "/mnt/other", &got, NULL), STATUS_NOT_FOUND);
    record_remove(runtime, sample.point);
    assert_int_equal(record_read(runtime, sample.point, &got, NULL), STATUS_NOT_FOUND);
}

static void tells_damage(void **state)
{
    (void)state;
    static const char *const damaged[] = {"", "point", "point=/mnt/other\ncatalogue=/c\npid=1\n", "point=%2\n",
                                          "point=/x\ncatalogue=/c\npid=none\n"};
    char path[PLACE_SIZE];
    struct record got;
    struct err err;
    assert_int_equal(record_path(scratch.path, "/x", "mount", path, NULL), STATUS_OK);
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        FILE *file = fopen(path, "we");
        assert_non_null(file);
        assert_true(fputs(damaged[i], file) >= 0);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(record_read(scratch.path, "/x", &got, &err), STATUS_CORRUPT);
        assert_non_null(strstr(err.message, "damaged"));
    }
}

static void tells_the_living_from_the_dead(void **state)
{
    (void)state;
    struct lock lock = LOCK_CLOSED, second = LOCK_CLOSED;
    assert_int_equal(record_lock(scratch.path, "/x", &lock, NULL), STATUS_OK);
    assert_int_equal(record_lock(scratch.path, "/x", &second, NULL), STATUS_BUSY);
    lock_close(&lock);
    assert_int_equal(lock_try(&second, NULL), STATUS_OK);
    lock_close(&second);
}

static void finds_only_our_mounts(void **state)
{
    (void)state;
    struct record got;
    struct err err;
    assert_int_equal(record_find(scratch.path, "/proc", &got, &err), STATUS_INVALID);
    assert_non_null(strstr(err.message, "proc"));
    assert_int_equal(record_find(scratch.path, scratch.path, &got, &err), STATUS_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(says_what_was_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tells_damage, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tells_the_living_from_the_dead, set_up, tear_down),
        cmocka_unit_test_setup_teardown(finds_only_our_mounts, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
