/* test_attr.c - goal: stat shows the document's id (S16), what is stored or what the mount says instead, and set-id
 * bits end where POSIX ends them. Method: rows and masks with known answers. */
#include "fs/attr.h"

#include "unit.h"

static const struct document_row row = {
    .id = 42,
    .mode = S_IFREG | 04755,
    .uid = 1000,
    .gid = 100,
    .nlink = 2,
    .atime_ns = 1500000000,
    .mtime_ns = -1,
    .ctime_ns = 3000000001,
    .version = 7,
    .size_bytes = 1025,
};

static void shows_what_is_stored(void **state)
{
    (void)state;
    struct fs_options options = {0};
    struct stat stat;
    attr_stat(&row, &options, &stat);
    assert_int_equal(stat.st_ino, 42);
    assert_int_equal(stat.st_mode, S_IFREG | 04755);
    assert_int_equal(stat.st_uid, 1000);
    assert_int_equal(stat.st_gid, 100);
    assert_int_equal(stat.st_nlink, 2);
    assert_int_equal(stat.st_size, 1025);
    assert_int_equal(stat.st_blocks, 3);
    assert_int_equal(stat.st_atim.tv_sec, 1);
    assert_int_equal(stat.st_atim.tv_nsec, 500000000);
    assert_int_equal(stat.st_mtim.tv_sec, -1);
    assert_int_equal(stat.st_mtim.tv_nsec, 999999999);
    assert_int_equal(attr_ns(stat.st_mtim), -1);
    assert_int_equal(attr_ns(stat.st_ctim), 3000000001);
}

static void shows_what_the_mount_says(void **state)
{
    (void)state;
    struct fs_options options = {
        .show_uid = true, .uid = 5, .show_gid = true, .gid = 6, .show_modes = true, .file_mode = 0666, .umask = 027};
    struct stat stat;
    attr_stat(&row, &options, &stat);
    assert_int_equal(stat.st_uid, 5);
    assert_int_equal(stat.st_gid, 6);
    assert_int_equal(stat.st_mode, S_IFREG | 0640);
    struct document_row other = row;
    other.mode = S_IFDIR | 0777;
    attr_stat(&other, &options, &stat);
    assert_int_equal(stat.st_mode, S_IFDIR | 0750); /* dir_mode was not given */
    other.mode = S_IFLNK | 0777;
    attr_stat(&other, &options, &stat);
    assert_int_equal(stat.st_mode, S_IFLNK | 0777);
    assert_int_equal(attr_allowed(&options, FS_SET_MODE, NULL), STATUS_PERMISSION);
    assert_int_equal(attr_allowed(&options, FS_SET_UID, NULL), STATUS_PERMISSION);
    assert_int_equal(attr_allowed(&options, FS_SET_MTIME | FS_SET_SIZE | FS_SET_KILL_SUID, NULL), STATUS_OK);
    struct fs_options plain = {0};
    assert_int_equal(attr_allowed(&plain, FS_SET_MODE | FS_SET_UID | FS_SET_GID, NULL), STATUS_OK);
}

static void chown_ends_set_ids(void **state)
{
    (void)state;
    struct stat stat = {.st_uid = 3, .st_gid = 4, .st_mode = 06755};
    struct attr_change change = attr_change_of(&row, &stat, FS_SET_UID | FS_SET_GID, 9);
    assert_int_equal(change.mask, ATTR_MODE | ATTR_UID | ATTR_GID);
    assert_int_equal(change.mode, S_IFREG | 0755);
    assert_int_equal(change.uid, 3);
    assert_int_equal(change.gid, 4);
    change = attr_change_of(&row, &stat, FS_SET_UID | FS_SET_MODE, 9);
    assert_int_equal(change.mode, S_IFREG | 06755);
    struct document_row other = row;
    other.mode = S_IFREG | 0644;
    change = attr_change_of(&other, &stat, FS_SET_UID, 9);
    assert_int_equal(change.mask, ATTR_UID);
    other.mode = S_IFDIR | 02755;
    change = attr_change_of(&other, &stat, FS_SET_UID, 9);
    assert_int_equal(change.mask, ATTR_UID);
}

static void writing_ends_set_ids_but_for_root(void **state)
{
    (void)state;
    assert_int_equal(attr_mode_written(S_IFREG | 06755, 1), S_IFREG | 0755);
    assert_int_equal(attr_mode_written(S_IFREG | 06755, 0), S_IFREG | 06755);
    assert_int_equal(attr_mode_written(S_IFREG | 02745, 1), S_IFREG | 02745); /* not executable by the group */
}

static void times_are_now_or_as_said(void **state)
{
    (void)state;
    struct stat stat = {.st_atim = {1, 5}, .st_mtim = {2, 6}};
    struct attr_change change = attr_change_of(&row, &stat, FS_SET_ATIME | FS_SET_MTIME, 9);
    assert_int_equal(change.mask, ATTR_ATIME | ATTR_MTIME);
    assert_int_equal(change.atime_ns, 1000000005);
    assert_int_equal(change.mtime_ns, 2000000006);
    change = attr_change_of(&row, &stat, FS_SET_ATIME | FS_SET_ATIME_NOW | FS_SET_MTIME_NOW, 9);
    assert_int_equal(change.atime_ns, 9);
    assert_int_equal(change.mtime_ns, 9);
    change = attr_change_of(&row, &stat, FS_SET_SIZE | FS_SET_MTIME, 9);
    assert_int_equal(change.mask, 0);
}

static void relatime(void **state)
{
    (void)state;
    const int64_t hour = 3600ll * 1000000000;
    struct document_row read = {.atime_ns = 10, .mtime_ns = 5, .ctime_ns = 5};
    assert_false(attr_wants_atime(&read, 20));
    assert_false(attr_wants_atime(&read, 23 * hour));
    assert_true(attr_wants_atime(&read, 10 + 24 * hour));
    read.mtime_ns = 10;
    assert_true(attr_wants_atime(&read, 20));
    read.mtime_ns = 5;
    read.ctime_ns = 11;
    assert_true(attr_wants_atime(&read, 20));
    read = (struct document_row){.atime_ns = INT64_MIN, .mtime_ns = INT64_MIN, .ctime_ns = INT64_MIN};
    assert_true(attr_wants_atime(&read, INT64_MAX / 2));
}

static void times_beyond_the_range_are_its_ends(void **state)
{
    (void)state;
    assert_int_equal(attr_ns((struct timespec){.tv_sec = 10413792000, .tv_nsec = 5}), INT64_MAX); /* the year 2300 */
    assert_int_equal(attr_ns((struct timespec){.tv_sec = INT64_MAX / 1000000000, .tv_nsec = 999999999}), INT64_MAX);
    assert_int_equal(attr_ns((struct timespec){.tv_sec = -10413792000}), INT64_MIN);
    assert_int_equal(attr_ns((struct timespec){.tv_sec = INT64_MIN}), INT64_MIN);
    struct timespec end = attr_time(INT64_MAX);
    assert_int_equal(attr_ns(end), INT64_MAX);
    assert_true(attr_time(INT64_MIN).tv_nsec >= 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shows_what_is_stored),
        cmocka_unit_test(shows_what_the_mount_says),
        cmocka_unit_test(chown_ends_set_ids),
        cmocka_unit_test(writing_ends_set_ids_but_for_root),
        cmocka_unit_test(times_are_now_or_as_said),
        cmocka_unit_test(relatime),
        cmocka_unit_test(times_beyond_the_range_are_its_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
