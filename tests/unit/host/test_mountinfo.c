/* test_mountinfo.c - goal: the kernel's list of mounts is read right, blanks and backslashes in it too, and a path is
 * made canonical without its last component being asked.
 * Method: lines as proc(5) describes them, malformed ones, the mounts of the machine that runs the test, and links in a
 * scratch folder. */
#include "host/mountinfo.h"

#include "support/scratch.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool parse(const char *text, struct mountinfo *ret_mount, char *ret_point)
{
    char line[1024];
    (void)snprintf(line, sizeof line, "%s", text);
    return mountinfo_parse(line, ret_mount, ret_point);
}

static void reads_a_line(void **state)
{
    (void)state;
    struct mountinfo mount;
    char point[MOUNTINFO_PATH_SIZE];
    assert_true(parse("36 35 98:7 / /mnt/a\\040b\\134c rw,noatime master:1 shared:2 - fuse.readyfs dir:/x\\040y rw\n",
                      &mount, point));
    assert_string_equal(point, "/mnt/a b\\c");
    assert_string_equal(mount.type, "fuse.readyfs");
    assert_string_equal(mount.source, "dir:/x y");
    assert_int_equal(mount.device_major, 98);
    assert_int_equal(mount.device_minor, 7);
    assert_true(parse("1 1 0:1 / / rw - ext4 /dev/root rw", &mount, point));
    assert_string_equal(point, "/");
    assert_string_equal(mount.source, "/dev/root");
}

static void refuses_what_is_no_line(void **state)
{
    (void)state;
    struct mountinfo mount;
    char point[MOUNTINFO_PATH_SIZE];
    static const char *const wrong[] = {"",
                                        "36",
                                        "36 35 98 / /mnt rw - ext4 x rw",
                                        "36 35 98:x / /mnt rw - ext4 x rw",
                                        "36 35 98:1 / /mnt rw shared:1",
                                        "36 35 98:1 / /mnt"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(parse(wrong[i], &mount, point));
}

static void finds_mounts(void **state)
{
    (void)state;
    struct mountinfo mount;
    assert_int_equal(mountinfo_find("/proc", &mount, NULL), STATUS_OK);
    assert_string_equal(mount.type, "proc");
    assert_int_equal(mountinfo_find("/proc/no such thing", &mount, NULL), STATUS_NOT_FOUND);
}

static void canonical(const char *path, const char *wanted)
{
    char got[MOUNTINFO_PATH_SIZE];
    assert_int_equal(mountinfo_path(path, got, NULL), STATUS_OK);
    assert_string_equal(got, wanted);
}

static void makes_paths_canonical(void **state)
{
    (void)state;
    struct scratch scratch;
    char target[512], link[512], path[1024], got[MOUNTINFO_PATH_SIZE];
    scratch_init(&scratch);
    (void)scratch_path(&scratch, "target", target, sizeof target);
    (void)scratch_path(&scratch, "link", link, sizeof link);
    assert_int_equal(symlink("target", link), 0);
    canonical("/", "/");
    canonical("/proc/", "/proc");
    canonical("/proc/.", "/proc");
    canonical("/usr/../proc//", "/proc");
    canonical(target, target); /* which is not there */
    canonical(link, target);
    (void)snprintf(path, sizeof path, "%s/./../%s///", scratch.path, strrchr(scratch.path, '/') + 1);
    canonical(path, scratch.path);
    assert_int_equal(chdir(scratch.path), 0);
    canonical("target", target);
    canonical("./link", target);
    canonical(".", scratch.path);
    (void)snprintf(path, sizeof path, "%s/missing/too", scratch.path);
    assert_int_equal(mountinfo_path(path, got, NULL), STATUS_NOT_FOUND);
    assert_int_equal(mountinfo_path("", got, NULL), STATUS_NOT_FOUND);
    assert_int_equal(chdir("/"), 0);
    scratch_done(&scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_line),
        cmocka_unit_test(refuses_what_is_no_line),
        cmocka_unit_test(finds_mounts),
        cmocka_unit_test(makes_paths_canonical),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
