/* test_fs_close.c - when what programs wrote becomes a document, and what happens when it does not.
 * links: catalogue blob host core document fs
 *
 * Goal: S1, S2, S4, S6, S7, S8, S9, S17, S18, S29 above a real catalogue, without a kernel. Method: the test sends what
 * the kernel sends, to a mount over the memory store, whose calls fail at command.
 */
#include "scenario/fs_bench.h"

#include <pthread.h>

/* S2: written, closed, there; one exchange. */
static void a_closed_file_is_ready(void **state)
{
    struct bench *b = *state;
    struct opened opened;
    unsigned puts = b->lab.blobs.counts[CALL_PUT];
    OK(kernel_open(&b->kernel, &b->self, "a", O_WRONLY | O_CREAT | O_EXCL, &opened));
    assert_int_equal(lab_blobs(&b->lab), 0);
    OK(kernel_text(&b->kernel, &b->self, &opened, 0, "hello"));
    assert_int_equal(fs_activity(b->kernel.fs).dirty_workspaces, 1);
    assert_int_equal(fs_activity(b->kernel.fs).bytes_unsent, 5);
    OK(kernel_flush(&b->kernel, &b->self, &opened));
    assert_int_equal(b->lab.blobs.counts[CALL_PUT], puts + 1);
    assert_true(listed(&b->kernel, &b->other, "a"));
    expect_file(&b->kernel, &b->other, "a", "hello");
    kernel_release(&b->kernel, &b->self, &opened);
    assert_int_equal(b->lab.blobs.counts[CALL_PUT], puts + 1);
    assert_int_equal(fs_activity(b->kernel.fs).dirty_workspaces, 0);
}

/* S2, P10: the store refuses; close says so, nothing is listed, the bytes are kept and told. */
static void a_failed_close_says_so_and_keeps_the_bytes(void **state)
{
    struct bench *b = *state;
    struct opened opened;
    OK(kernel_open(&b->kernel, &b->self, "a", O_WRONLY | O_CREAT, &opened));
    OK(kernel_text(&b->kernel, &b->self, &opened, 0, "precious"));
    b->lab.blobs.fault_call = CALL_PUT;
    b->lab.blobs.fault = FAULT_REFUSE;
    b->lab.blobs.fault_times = 1;
    assert_int_equal(kernel_flush(&b->kernel, &b->self, &opened), STATUS_IO);
    assert_false(listed(&b->kernel, &b->self, "a"));
    kernel_release(&b->kernel, &b->self, &opened);
    expect_file(&b->kernel, &b->self, "a", NULL);
    expect_kept(&b->kernel, "precious");
    assert_int_equal(b->kernel.told.reports, 1);
    assert_non_null(strstr(b->kernel.told.document, "a"));
}

/* A program that tries again may succeed. */
static void a_failed_fsync_can_be_repeated(void **state)
{
    struct bench *b = *state;
    struct opened opened;
    struct err err = {0};
    OK(kernel_open(&b->kernel, &b->self, "a", O_WRONLY | O_CREAT, &opened));
    OK(kernel_text(&b->kernel, &b->self, &opened, 0, "once"));
    b->lab.blobs.fault_call = CALL_PUT;
    b->lab.blobs.fault = FAULT_REFUSE;
    b->lab.blobs.fault_times = 1;
    assert_int_equal(fs_fsync(b->kernel.fs, &b->self.caller, opened.file.handle, false, &err), STATUS_IO);
    OK(fs_fsync(b->kernel.fs, &b->self.caller, opened.file.handle, false, &err));
    OK(kernel_close(&b->kernel, &b->self, &opened));
    expect_file(&b->kernel, &b->self, "a", "once");
    assert_int_equal(kernel_kept(&b->kernel).count, 0);
}

/* S1, S4: an unfinished file is reached by its name here, by everybody, and listed nowhere. */
static void an_unfinished_file_is_reached_but_not_listed(void **state)
{
    struct bench *b = *state;
    struct opened opened, reader;
    struct kernel second;
    OK(kernel_open(&b->kernel, &b->self, "a", O_WRONLY | O_CREAT, &opened));
    OK(kernel_text(&b->kernel, &b->self, &opened, 0, "half"));
    struct fs_entry entry;
    OK(kernel_look(&b->kernel, &b->other, "a", &entry));
    assert_int_equal(entry.node, opened.node);
    assert_int_equal(entry.stat.st_size, 4);
    assert_true(entry.entry_timeout <= 0 && entry.attr_timeout <= 0);
    assert_false(listed(&b->kernel, &b->other, "a"));
    OK(kernel_open(&b->kernel, &b->other, "a", O_RDONLY, &reader));
    assert_int_equal(reader.tries, 1);
    expect_read(&b->kernel, &b->other, &reader, "half");
    OK(kernel_close(&b->kernel, &b->other, &reader)); /* a reader's close publishes nothing */
    assert_false(listed(&b->kernel, &b->other, "a"));
    kernel_mount(&second, &b->lab);
    expect_file(&second, &b->other, "a", NULL);
    struct err err = {0};
    OK(fs_rename(b->kernel.fs, &b->self.caller, FS_ROOT, "a", FS_ROOT, "b", 0, &err));
    assert_false(listed(&b->kernel, &b->self, "b"));
    OK(kernel_close(&b->kernel, &b->self, &opened));
    expect_file(&b->kernel, &b->self, "b", "half");
    expect_file(&b->kernel, &b->self, "a", NULL);
    kernel_unmount(&second);
}

/* S6: the shell closes a duplicate before it writes; `touch` is listed once it is done. */
static void echo_is_never_empty_and_touch_is_listed(void **state)
{
    struct bench *b = *state;
    struct opened opened;
    OK(kernel_open(&b->kernel, &b->self, "a", O_WRONLY | O_CREAT | O_TRUNC, &opened));
    OK(kernel_flush(&b->kernel, &b->self, &opened));
    assert_false(listed(&b->kernel, &b->other, "a"));
    OK(kernel_text(&b->kernel, &b->self, &opened, 0, "text\n"));
    OK(kernel_close(&b->kernel, &b->self, &opened));
    expect_file(&b->kernel, &b->other, "a", "text\n");
    OK(kernel_open(&b->kernel, &b->self, "t", O_WRONLY | O_CREAT, &opened));
    OK(kernel_flush(&b->kernel, &b->self, &opened));
    assert_false(listed(&b->kernel, &b->other, "t"));
    kernel_release(&b->kernel, &b->self, &opened);
    assert_true(listed(&b->kernel, &b->other, "t"));
    expect_file(&b->kernel, &b->other, "t", "");
    OK(kernel_open(&b->kernel, &b->self, "a", O_WRONLY | O_TRUNC, &opened)); /* : > a */
    OK(kernel_flush(&b->kernel, &b->self, &opened));
    expect_file(&b->kernel, &b->other, "a", "text\n");
    kernel_release(&b->kernel, &b->self, &opened);
    expect_file(&b->kernel, &b->other, "a", "");
}

struct late {
    struct bench *bench;
    struct opened opened;
};

static void *list_late(void *argument)
{
    struct late *late = argument;
    return listed(&late->bench->kernel, &late->bench->other, "t") ? argument : NULL;
}

/* S6: a listing that follows an announced release waits for it. */
static void a_listing_waits_for_announced_releases(void **state)
{
    struct bench *b = *state;
    struct late late = {.bench = b};
    pthread_t thread;
    void *found = NULL;
    OK(kernel_open(&b->kernel, &b->self, "t", O_WRONLY | O_CREAT, &late.opened));
    OK(kernel_flush(&b->kernel, &b->self, &late.opened));
    fs_release_announce(b->kernel.fs, late.opened.file.handle);
    assert_int_equal(pthread_create(&thread, NULL, list_late, &late), 0);
    fs_release(b->kernel.fs, &b->self.caller, late.opened.file.handle);
    assert_int_equal(pthread_join(thread, &found), 0);
    assert_ptr_equal(found, &late);
}

/* S7, S8: each fsync or close that finds changes makes a version; a mapping's late pages go with the release. */
static void each_flush_with_changes_makes_a_version(void **state)
{
    struct bench *b = *state;
    struct opened opened;
    struct err err = {0};
    OK(kernel_open(&b->kernel, &b->self, "a", O_RDWR | O_CREAT, &opened));
    OK(kernel_text(&b->kernel, &b->self, &opened, 0, "one"));
    OK(fs_fsync(b->kernel.fs, &b->self.caller, opened.file.handle, true, &err));
    expect_file(&b->kernel, &b->other, "a", "one");
    OK(kernel_text(&b->kernel, &b->self, &opened, 0, "two"));
    expect_file(&b->kernel, &b->other, "a", "one");
    expect_read(&b->kernel, &b->self, &opened, "two");
    OK(kernel_flush(&b->kernel, &b->self, &opened));
    expect_file(&b->kernel, &b->other, "a", "two");
    unsigned puts = b->lab.blobs.counts[CALL_PUT];
    OK(kernel_flush(&b->kernel, &b->self, &opened));
    assert_int_equal(b->lab.blobs.counts[CALL_PUT], puts);
    OK(kernel_text(&b->kernel, &b->self, &opened, 3, " late"));
    kernel_release(&b->kernel, &b->self, &opened);
    expect_file(&b->kernel, &b->other, "a", "two late");
}

/* S7: a log that is only appended to is published by the timer, and not before. */
static void an_appended_log_is_published_by_the_timer(void **state)
{
    struct bench *b = *state;
    struct opened opened;
    kernel_put(&b->kernel, &b->self, "log", "1\n");
    OK(kernel_open(&b->kernel, &b->self, "log", O_WRONLY | O_APPEND, &opened));
    OK(kernel_text(&b->kernel, &b->self, &opened, 2, "2\n"));
    fs_tick(b->kernel.fs);
    expect_file(&b->kernel, &b->other, "log", "1\n");
    b->lab.clock.boot_ms += 5001;
    fs_tick(b->kernel.fs);
    expect_file(&b->kernel, &b->other, "log", "1\n2\n");
    OK(kernel_text(&b->kernel, &b->self, &opened, 4, "3\n"));
    OK(kernel_close(&b->kernel, &b->self, &opened));
    expect_file(&b->kernel, &b->other, "log", "1\n2\n3\n");
    OK(kernel_open(&b->kernel, &b->self, "log", O_WRONLY, &opened)); /* one that writes anywhere is not */
    OK(kernel_text(&b->kernel, &b->self, &opened, 0, "X"));
    b->lab.clock.boot_ms += 5001;
    fs_tick(b->kernel.fs);
    expect_file(&b->kernel, &b->other, "log", "1\n2\n3\n");
    OK(kernel_close(&b->kernel, &b->self, &opened));
}

/* S9: after a write that failed, close fails and the document stays as it was. */
static void a_failed_write_poisons(void **state)
{
    struct bench *b = *state;
    struct opened opened;
    kernel_put(&b->kernel, &b->self, "a", "before");
    OK(kernel_open(&b->kernel, &b->self, "a", O_WRONLY, &opened));
    OK(kernel_text(&b->kernel, &b->self, &opened, 0, "AFTER"));
    assert_int_equal(kernel_text(&b->kernel, &b->self, &opened, 1ull << 60, "far"), STATUS_TOO_LARGE);
    assert_int_equal(kernel_text(&b->kernel, &b->self, &opened, 0, "again"), STATUS_TOO_LARGE);
    assert_int_equal(kernel_flush(&b->kernel, &b->self, &opened), STATUS_TOO_LARGE);
    kernel_release(&b->kernel, &b->self, &opened);
    expect_file(&b->kernel, &b->other, "a", "before");
    expect_kept(&b->kernel, "AFTERe");
    kernel_put(&b->kernel, &b->self, "a", "next"); /* and the next writer has nothing to do with it */
    expect_file(&b->kernel, &b->other, "a", "next");
}

/* S17: the name goes, descriptors live on, nothing is published, close returns 0. */
static void an_unlinked_file_lives_on_for_its_descriptors(void **state)
{
    struct bench *b = *state;
    struct opened writer, reader;
    struct err err = {0};
    struct stat stat;
    double timeout = 0;
    kernel_put(&b->kernel, &b->self, "a", "old");
    OK(kernel_open(&b->kernel, &b->other, "a", O_RDONLY, &reader));
    OK(kernel_open(&b->kernel, &b->self, "a", O_RDWR, &writer));
    OK(kernel_text(&b->kernel, &b->self, &writer, 0, "new"));
    OK(fs_unlink(b->kernel.fs, &b->self.caller, FS_ROOT, "a", &err));
    expect_file(&b->kernel, &b->self, "a", NULL);
    OK(kernel_text(&b->kernel, &b->self, &writer, 3, "er"));
    expect_read(&b->kernel, &b->self, &writer, "newer");
    expect_read(&b->kernel, &b->other, &reader, "old");
    OK(fs_getattr(b->kernel.fs, writer.node, writer.file.handle, &stat, &timeout, &err));
    assert_int_equal(stat.st_nlink, 0);
    assert_int_equal(stat.st_size, 5);
    OK(fs_getattr(b->kernel.fs, reader.node, NULL, &stat, &timeout, &err));
    assert_int_equal(stat.st_nlink, 0);
    assert_int_equal(stat.st_size, 3);
    stat.st_mode = 0600;
    OK(fs_setattr(b->kernel.fs, &b->self.caller, writer.node, writer.file.handle, &stat, FS_SET_MODE, &stat, &timeout,
                  &err));
    assert_int_equal(stat.st_mode, S_IFREG | 0600);
    OK(kernel_close(&b->kernel, &b->self, &writer));
    OK(kernel_close(&b->kernel, &b->other, &reader));
    expect_file(&b->kernel, &b->self, "a", NULL);
    assert_int_equal(kernel_kept(&b->kernel).count, 0);
    assert_int_equal(b->kernel.told.reports, 0);
}

static void an_unfinished_file_can_be_unlinked(void **state)
{
    struct bench *b = *state;
    struct opened writer;
    struct err err = {0};
    OK(kernel_open(&b->kernel, &b->self, "a", O_RDWR | O_CREAT, &writer));
    OK(kernel_text(&b->kernel, &b->self, &writer, 0, "tmp"));
    OK(fs_unlink(b->kernel.fs, &b->self.caller, FS_ROOT, "a", &err));
    kernel_put(&b->kernel, &b->other, "a", "another");
    expect_read(&b->kernel, &b->self, &writer, "tmp");
    OK(kernel_close(&b->kernel, &b->self, &writer));
    expect_file(&b->kernel, &b->self, "a", "another");
    assert_int_equal(kernel_kept(&b->kernel).count, 0);
}

/* S18: a directory with an unfinished file is not empty. */
static void a_directory_with_an_unfinished_file_is_not_empty(void **state)
{
    struct bench *b = *state;
    struct err err = {0};
    struct fs_entry dir, entry;
    struct fs_opened opened;
    OK(fs_mkdir(b->kernel.fs, &b->self.caller, FS_ROOT, "d", 0755, &dir, &err));
    b->kernel.known[b->kernel.known_count++] = dir.node;
    OK(fs_create(b->kernel.fs, &b->self.caller, dir.node, "f", 0644, O_WRONLY | O_CREAT, &entry, &opened, &err));
    b->kernel.known[b->kernel.known_count++] = entry.node;
    assert_int_equal(fs_rmdir(b->kernel.fs, &b->self.caller, FS_ROOT, "d", &err), STATUS_NOT_EMPTY);
    OK(fs_unlink(b->kernel.fs, &b->self.caller, dir.node, "f", &err));
    OK(fs_rmdir(b->kernel.fs, &b->self.caller, FS_ROOT, "d", &err));
    fs_release(b->kernel.fs, &b->self.caller, opened.handle);
}

/* S29: a killed program publishes nothing; a new file does not appear, an old one stays, the bytes are kept. */
static void a_killed_program_publishes_nothing(void **state)
{
    struct bench *b = *state;
    struct opened fresh, old, empty;
    struct program victim = program_other();
    kernel_put(&b->kernel, &b->self, "old", "as it was");
    OK(kernel_open(&b->kernel, &victim, "new", O_WRONLY | O_CREAT, &fresh));
    OK(kernel_open(&b->kernel, &victim, "empty", O_WRONLY | O_CREAT, &empty));
    OK(kernel_open(&b->kernel, &victim, "old", O_WRONLY, &old));
    OK(kernel_text(&b->kernel, &victim, &fresh, 0, "half"));
    OK(kernel_text(&b->kernel, &victim, &old, 0, "HALF"));
    program_kill(&victim);
    OK(kernel_close(&b->kernel, &victim, &fresh));
    expect_kept(&b->kernel, "half");
    OK(kernel_close(&b->kernel, &victim, &empty));
    assert_int_equal(kernel_kept(&b->kernel).count, 1);
    OK(kernel_close(&b->kernel, &victim, &old));
    assert_int_equal(kernel_kept(&b->kernel).count, 2);
    expect_file(&b->kernel, &b->self, "new", NULL);
    expect_file(&b->kernel, &b->self, "empty", NULL);
    expect_file(&b->kernel, &b->self, "old", "as it was");
    OK(kernel_open(&b->kernel, &b->self, "new", O_WRONLY | O_CREAT | O_EXCL, &fresh)); /* the name is free */
    OK(kernel_close(&b->kernel, &b->self, &fresh));
    program_end(&victim);
}

/* S29: what was appended alone is published all the same. */
static void a_killed_appender_publishes(void **state)
{
    struct bench *b = *state;
    struct opened opened;
    struct program victim = program_other();
    kernel_put(&b->kernel, &b->self, "log", "1\n");
    OK(kernel_open(&b->kernel, &victim, "log", O_WRONLY | O_APPEND, &opened));
    OK(kernel_text(&b->kernel, &victim, &opened, 2, "2\n"));
    program_kill(&victim);
    OK(kernel_close(&b->kernel, &victim, &opened));
    expect_file(&b->kernel, &b->self, "log", "1\n2\n");
    program_end(&victim);
}

/* S29: a program that goes on after its helper was killed has the last word. */
static void a_living_holder_publishes_after_a_kill(void **state)
{
    struct bench *b = *state;
    struct opened opened;
    struct program victim = program_other();
    OK(kernel_open(&b->kernel, &b->self, "a", O_WRONLY | O_CREAT, &opened));
    OK(kernel_text(&b->kernel, &victim, &opened, 0, "half"));
    program_kill(&victim);
    OK(kernel_flush(&b->kernel, &victim, &opened));
    assert_false(listed(&b->kernel, &b->other, "a"));
    OK(kernel_text(&b->kernel, &b->self, &opened, 4, " and rest"));
    OK(kernel_close(&b->kernel, &b->self, &opened));
    expect_file(&b->kernel, &b->other, "a", "half and rest");
    program_end(&victim);
}

/* What is open at unmount goes to the recovery folder. */
static void an_unmount_keeps_what_is_open(void **state)
{
    struct bench *b = *state;
    struct kernel second;
    struct opened opened;
    unsigned kept = 0;
    kernel_mount(&second, &b->lab);
    OK(kernel_open(&second, &b->self, "a", O_WRONLY | O_CREAT, &opened));
    OK(kernel_text(&second, &b->self, &opened, 0, "open"));
    fs_close(second.fs, &kept);
    assert_int_equal(kept, 1);
    assert_string_equal(second.told.event, "unmounted");
    expect_kept(&second, "open");
    view_close(second.view);
    session_close(second.session, "done");
    lab_client_close(&second.world);
    expect_file(&b->kernel, &b->self, "a", NULL);
}

static void never_publish(struct fs_options *options)
{
    options->read_only = true;
}

static void a_read_only_mount_refuses(void **state)
{
    struct bench *b = *state;
    struct kernel second;
    struct settings settings = lab_settings();
    struct fs_entry entry;
    struct opened opened;
    struct err err = {0};
    kernel_put(&b->kernel, &b->self, "a", "x");
    kernel_mount_with(&second, &b->lab, &settings, never_publish);
    expect_file(&second, &b->self, "a", "x");
    assert_int_equal(kernel_open(&second, &b->self, "a", O_WRONLY, &opened), STATUS_READ_ONLY);
    assert_int_equal(kernel_open(&second, &b->self, "n", O_WRONLY | O_CREAT, &opened), STATUS_READ_ONLY);
    assert_int_equal(fs_mkdir(second.fs, &b->self.caller, FS_ROOT, "d", 0755, &entry, &err), STATUS_READ_ONLY);
    assert_int_equal(fs_unlink(second.fs, &b->self.caller, FS_ROOT, "a", &err), STATUS_READ_ONLY);
    assert_int_equal(fs_rename(second.fs, &b->self.caller, FS_ROOT, "a", FS_ROOT, "b", 0, &err), STATUS_READ_ONLY);
    kernel_unmount(&second);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_closed_file_is_ready),
        TEST(a_failed_close_says_so_and_keeps_the_bytes),
        TEST(a_failed_fsync_can_be_repeated),
        TEST(an_unfinished_file_is_reached_but_not_listed),
        TEST(echo_is_never_empty_and_touch_is_listed),
        TEST(a_listing_waits_for_announced_releases),
        TEST(each_flush_with_changes_makes_a_version),
        TEST(an_appended_log_is_published_by_the_timer),
        TEST(a_failed_write_poisons),
        TEST(an_unlinked_file_lives_on_for_its_descriptors),
        TEST(an_unfinished_file_can_be_unlinked),
        TEST(a_directory_with_an_unfinished_file_is_not_empty),
        TEST(a_killed_program_publishes_nothing),
        TEST(a_killed_appender_publishes),
        TEST(a_living_holder_publishes_after_a_kill),
        TEST(an_unmount_keeps_what_is_open),
        TEST(a_read_only_mount_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
