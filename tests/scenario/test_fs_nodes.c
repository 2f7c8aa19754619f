/* test_fs_nodes.c - how readers and writers of one document are led to different nodes of the kernel.
 * links: catalogue blob host core document fs
 *
 * Goal: S3, S5, S16 and the rules of docs/internals/nodes.md: exact open, one second try, wishes that nobody comes for,
 * opens without a walk, callers from elsewhere, a truncating open's workspace, growth by append, timeouts, what is told
 * to other nodes. Method: the test sends what the kernel sends, above a real catalogue.
 */
#include "scenario/fs_bench.h"

/* S3, S5: while it is rewritten the name leads to the Ready version; an open reader keeps its own to the end. */
static void readers_and_writers_have_nodes_of_their_own(void **state)
{
    struct bench *b = *state;
    struct opened writer, reader, late;
    kernel_put(&b->kernel, &b->self, "a", "first");
    OK(kernel_open(&b->kernel, &b->other, "a", O_RDONLY, &reader));
    assert_int_equal(reader.tries, 1);
    assert_true(reader.file.keep_cache && !reader.file.direct_io);
    OK(kernel_open(&b->kernel, &b->self, "a", O_RDWR | O_TRUNC, &writer));
    assert_int_equal(writer.tries, 2);
    assert_false(writer.file.direct_io);
    assert_int_not_equal(writer.node, reader.node);
    OK(kernel_text(&b->kernel, &b->self, &writer, 0, "second"));
    expect_read(&b->kernel, &b->other, &reader, "first");
    OK(kernel_open(&b->kernel, &b->other, "a", O_RDONLY, &late));
    assert_int_equal(late.node, reader.node);
    expect_read(&b->kernel, &b->other, &late, "first");
    OK(kernel_close(&b->kernel, &b->other, &late));
    OK(kernel_close(&b->kernel, &b->self, &writer));
    expect_read(&b->kernel, &b->other, &reader, "first");
    expect_file(&b->kernel, &b->other, "a", "second");
    OK(kernel_close(&b->kernel, &b->other, &reader));
}

/* S5: the writer's process reads what it wrote, another does not. */
static void a_process_reads_its_own_workspace(void **state)
{
    struct bench *b = *state;
    struct opened writer, mine, theirs;
    kernel_put(&b->kernel, &b->self, "a", "old");
    OK(kernel_open(&b->kernel, &b->self, "a", O_WRONLY, &writer));
    OK(kernel_text(&b->kernel, &b->self, &writer, 0, "new"));
    OK(kernel_open(&b->kernel, &b->self, "a", O_RDONLY, &mine));
    assert_int_equal(mine.node, writer.node);
    expect_read(&b->kernel, &b->self, &mine, "new");
    OK(kernel_open(&b->kernel, &b->other, "a", O_RDONLY, &theirs));
    expect_read(&b->kernel, &b->other, &theirs, "old");
    OK(kernel_close(&b->kernel, &b->other, &theirs));
    OK(kernel_close(&b->kernel, &b->self, &mine));
    OK(kernel_close(&b->kernel, &b->self, &writer));
}

/* S5: writers share the newest workspace, whole closes publish what all have written. */
static void writers_share_a_workspace(void **state)
{
    struct bench *b = *state;
    struct opened one, two;
    kernel_put(&b->kernel, &b->self, "a", "........");
    OK(kernel_open(&b->kernel, &b->self, "a", O_WRONLY, &one));
    OK(kernel_open(&b->kernel, &b->other, "a", O_WRONLY, &two));
    assert_int_equal(one.node, two.node);
    assert_int_equal(fs_activity(b->kernel.fs).workspaces, 1);
    OK(kernel_text(&b->kernel, &b->self, &one, 0, "11"));
    OK(kernel_text(&b->kernel, &b->other, &two, 4, "22"));
    OK(kernel_close(&b->kernel, &b->other, &two));
    expect_file(&b->kernel, &b->other, "a", "11..22..");
    OK(kernel_close(&b->kernel, &b->self, &one));
    expect_file(&b->kernel, &b->other, "a", "11..22..");
}

/* O_TRUNC on a document that has a workspace begins one of its own: the last close wins, whole. */
static void a_truncating_open_has_a_workspace_of_its_own(void **state)
{
    struct bench *b = *state;
    struct opened one, two;
    kernel_put(&b->kernel, &b->self, "a", "old");
    OK(kernel_open(&b->kernel, &b->self, "a", O_WRONLY | O_TRUNC, &one));
    OK(kernel_text(&b->kernel, &b->self, &one, 0, "from the first"));
    OK(kernel_open(&b->kernel, &b->other, "a", O_WRONLY | O_TRUNC, &two));
    assert_int_not_equal(one.node, two.node);
    OK(kernel_text(&b->kernel, &b->other, &two, 0, "second"));
    OK(kernel_close(&b->kernel, &b->self, &one));
    expect_file(&b->kernel, &b->self, "a", "from the first");
    expect_file(&b->kernel, &b->other, "a", "second"); /* its own, still unpublished */
    OK(kernel_close(&b->kernel, &b->other, &two));
    expect_file(&b->kernel, &b->self, "a", "second");
    expect_file(&b->kernel, &b->other, "a", "second");
}

/* The workspace of a truncating open that has not come back yet is nobody else's: else an appender would lose the file.
 */
static void nobody_joins_a_truncation_that_has_not_happened(void **state)
{
    struct bench *b = *state;
    struct opened first = {0}, appender;
    kernel_put(&b->kernel, &b->self, "a", "kept ");
    uint64_t node = kernel_node_of(&b->kernel, &b->self, "a");
    assert_int_equal(kernel_open_node(&b->kernel, &b->self, node, O_WRONLY | O_TRUNC, &first), STATUS_STALE);
    OK(kernel_open(&b->kernel, &b->other, "a", O_WRONLY | O_APPEND, &appender));
    OK(kernel_text(&b->kernel, &b->other, &appender, 5, "and more"));
    OK(kernel_close(&b->kernel, &b->other, &appender));
    expect_file(&b->kernel, &b->other, "a", "kept and more");
}

/* A thread that was sent round and never came back: its wish ends, and nothing is left of it. */
static void a_wish_that_nobody_comes_for_ends(void **state)
{
    struct bench *b = *state;
    struct opened opened = {0};
    kernel_put(&b->kernel, &b->self, "a", "x");
    uint64_t node = kernel_node_of(&b->kernel, &b->self, "a");
    assert_int_equal(kernel_open_node(&b->kernel, &b->self, node, O_RDWR, &opened), STATUS_STALE);
    assert_int_equal(fs_activity(b->kernel.fs).workspaces, 1);
    fs_tick(b->kernel.fs);
    assert_int_equal(fs_activity(b->kernel.fs).workspaces, 1);
    b->lab.clock.boot_ms += 2001;
    fs_tick(b->kernel.fs);
    assert_int_equal(fs_activity(b->kernel.fs).workspaces, 0);
    expect_file(&b->kernel, &b->self, "a", "x");
}

/* Without a walk (/proc/self/fd/N): the second OPEN is let past its node. */
static void an_open_without_a_walk_is_direct(void **state)
{
    struct bench *b = *state;
    struct opened reader, writer = {0};
    kernel_put(&b->kernel, &b->self, "a", "old");
    OK(kernel_open(&b->kernel, &b->self, "a", O_RDONLY, &reader));
    assert_int_equal(kernel_open_node(&b->kernel, &b->self, reader.node, O_RDWR, &writer), STATUS_STALE);
    OK(kernel_open_node(&b->kernel, &b->self, reader.node, O_RDWR, &writer));
    assert_true(writer.file.direct_io && !writer.file.keep_cache);
    unsigned told = b->kernel.told.nodes;
    OK(kernel_text(&b->kernel, &b->self, &writer, 0, "NEW"));
    assert_true(b->kernel.told.nodes > told);
    expect_read(&b->kernel, &b->self, &writer, "NEW");
    expect_read(&b->kernel, &b->self, &reader, "old");
    OK(kernel_close(&b->kernel, &b->self, &writer));
    expect_file(&b->kernel, &b->other, "a", "NEW");
    OK(kernel_close(&b->kernel, &b->self, &reader));
}

/* Callers outside our pid namespace all look alike: they are never sent round. */
static void a_caller_from_elsewhere_is_never_sent_round(void **state)
{
    struct bench *b = *state;
    struct program elsewhere = {{.tid = 0, .uid = 5}};
    struct opened opened;
    kernel_put(&b->kernel, &b->self, "a", "old");
    OK(kernel_open(&b->kernel, &elsewhere, "a", O_WRONLY, &opened));
    assert_int_equal(opened.tries, 1);
    assert_true(opened.file.direct_io);
    OK(kernel_text(&b->kernel, &elsewhere, &opened, 0, "new"));
    OK(kernel_close(&b->kernel, &elsewhere, &opened));
    expect_file(&b->kernel, &elsewhere, "a", "new");
    unsigned told = b->kernel.told.entries;
    fs_watch(b->kernel.fs); /* no second walk has replaced what the kernel knows of the name */
    assert_int_equal(b->kernel.told.entries, told + 1);
    kernel_put(&b->kernel, &b->self, "a", "walked");
    fs_watch(b->kernel.fs);
    assert_int_equal(b->kernel.told.entries, told + 1);
}

/* The kernel tries again only once: a second open must never be sent round, whatever happened in between. */
static void the_second_try_is_always_accepted(void **state)
{
    struct bench *b = *state;
    struct opened reader = {0};
    struct fs_entry entry;
    kernel_put(&b->kernel, &b->self, "a", "1");
    uint64_t old = kernel_node_of(&b->kernel, &b->other, "a");
    kernel_put(&b->kernel, &b->self, "a", "2");
    assert_int_equal(kernel_open_node(&b->kernel, &b->other, old, O_RDONLY, &reader), STATUS_STALE);
    OK(kernel_look(&b->kernel, &b->other, "a", &entry));
    kernel_put(&b->kernel, &b->self, "a", "3"); /* replaced between the second LOOKUP and its OPEN */
    OK(kernel_open_node(&b->kernel, &b->other, entry.node, O_RDONLY, &reader));
    assert_false(reader.file.direct_io);
    expect_read(&b->kernel, &b->other, &reader, "2");
    OK(kernel_close(&b->kernel, &b->other, &reader));
    expect_file(&b->kernel, &b->other, "a", "3");
    /* and without a LOOKUP at all */
    kernel_put(&b->kernel, &b->self, "a", "4");
    assert_int_equal(kernel_open_node(&b->kernel, &b->other, entry.node, O_RDONLY, &reader), STATUS_STALE);
    OK(kernel_open_node(&b->kernel, &b->other, entry.node, O_RDONLY, &reader));
    assert_true(reader.file.direct_io);
    expect_read(&b->kernel, &b->other, &reader, "4");
    OK(kernel_close(&b->kernel, &b->other, &reader));
}

/* A rename between the two tries leads to another document: accepted, past its node. */
static void a_second_try_at_another_document_is_accepted(void **state)
{
    struct bench *b = *state;
    struct opened writer = {0};
    struct err err = {0};
    kernel_put(&b->kernel, &b->self, "a", "one");
    kernel_put(&b->kernel, &b->self, "b", "two");
    uint64_t node = kernel_node_of(&b->kernel, &b->other, "a");
    assert_int_equal(kernel_open_node(&b->kernel, &b->other, node, O_WRONLY, &writer), STATUS_STALE);
    OK(fs_rename(b->kernel.fs, &b->self.caller, FS_ROOT, "b", FS_ROOT, "a", 0, &err));
    node = kernel_node_of(&b->kernel, &b->other, "a");
    OK(kernel_open_node(&b->kernel, &b->other, node, O_WRONLY, &writer));
    OK(kernel_text(&b->kernel, &b->other, &writer, 0, "TWO"));
    OK(kernel_close(&b->kernel, &b->other, &writer));
    expect_file(&b->kernel, &b->other, "a", "TWO");
}

static void replace(struct bench *b, const char *name, const char *text)
{
    struct err err = {0};
    kernel_put(&b->kernel, &b->self, "next", text);
    OK(fs_rename(b->kernel.fs, &b->self.caller, FS_ROOT, "next", FS_ROOT, name, 0, &err));
}

/* Replaced by rename before each of the two tries: what the second LOOKUP found is what is opened. */
static void a_second_try_survives_removal(void **state)
{
    struct bench *b = *state;
    struct opened opened = {0};
    int flags[] = {O_RDONLY, O_RDWR};
    for (int i = 0; i < 2; i++) {
        replace(b, "a", "1");
        uint64_t node = kernel_node_of(&b->kernel, &b->other, "a");
        replace(b, "a", "2");
        assert_int_equal(kernel_open_node(&b->kernel, &b->other, node, flags[i], &opened), STATUS_STALE);
        node = kernel_node_of(&b->kernel, &b->other, "a");
        replace(b, "a", "3");
        OK(kernel_open_node(&b->kernel, &b->other, node, flags[i], &opened));
        assert_false(opened.file.direct_io);
        expect_read(&b->kernel, &b->other, &opened, "2");
        OK(kernel_close(&b->kernel, &b->other, &opened));
        expect_file(&b->kernel, &b->other, "a", "3");
    }
}

/* The first try at a file that is removed then, so that the second walk finds nothing. */
static void try_in_vain(struct bench *b, const char *name, int flags)
{
    struct opened opened = {0};
    struct err err = {0};
    kernel_put(&b->kernel, &b->self, name, "gone");
    uint64_t node = kernel_node_of(&b->kernel, &b->other, name);
    assert_int_equal(kernel_open_node(&b->kernel, &b->other, node, flags, &opened), STATUS_STALE);
    OK(fs_unlink(b->kernel.fs, &b->self.caller, FS_ROOT, name, &err));
    assert_int_equal(kernel_node_of(&b->kernel, &b->other, name), 0);
}

/* What a thread does after a walk that ended without an open is not the second try of that: another file is shown as it
 * is, and opened by a walk of its own. */
static void a_second_try_may_not_come(void **state)
{
    struct bench *b = *state;
    struct opened opened = {0};
    struct fs_entry entry;
    kernel_put(&b->kernel, &b->self, "b", "there");
    uint64_t known = kernel_node_of(&b->kernel, &b->other, "b");
    try_in_vain(b, "a", O_WRONLY | O_TRUNC);
    OK(kernel_look(&b->kernel, &b->other, "b", &entry));
    assert_int_equal(entry.node, known);
    assert_int_equal(entry.stat.st_size, 5);
    try_in_vain(b, "a", O_WRONLY);
    assert_int_equal(kernel_open_node(&b->kernel, &b->other, known, O_WRONLY, &opened), STATUS_STALE);
    OK(kernel_open(&b->kernel, &b->other, "b", O_WRONLY, &opened));
    assert_false(opened.file.direct_io);
    OK(kernel_close(&b->kernel, &b->other, &opened));
}

/* Nor is it after CREATE, which ends the second try. */
static void a_creation_ends_the_second_try(void **state)
{
    struct bench *b = *state;
    struct opened made = {0}, opened = {0};
    struct fs_entry entry;
    struct err err = {0};
    kernel_put(&b->kernel, &b->self, "b", "there");
    try_in_vain(b, "a", O_WRONLY | O_CREAT);
    OK(fs_create(b->kernel.fs, &b->other.caller, FS_ROOT, "a", 0644, O_WRONLY | O_CREAT, &entry, &made.file, &err));
    OK(kernel_open(&b->kernel, &b->other, "b", O_RDWR, &opened));
    assert_int_equal(opened.tries, 2);
    assert_false(opened.file.direct_io);
    OK(kernel_close(&b->kernel, &b->other, &opened));
    OK(kernel_close(&b->kernel, &b->other, &made));
    fs_forget(b->kernel.fs, entry.node, 1);
}

/* A version that only appends takes the node over: readers that are open see it grow. */
static void an_append_takes_the_node_over(void **state)
{
    struct bench *b = *state;
    struct opened reader, writer;
    struct stat stat;
    double timeout = 0;
    struct err err = {0};
    kernel_put(&b->kernel, &b->self, "log", "1\n");
    OK(kernel_open(&b->kernel, &b->other, "log", O_RDONLY, &reader));
    OK(kernel_open(&b->kernel, &b->self, "log", O_WRONLY | O_APPEND, &writer));
    OK(kernel_text(&b->kernel, &b->self, &writer, 2, "2\n"));
    expect_read(&b->kernel, &b->other, &reader, "1\n");
    OK(kernel_flush(&b->kernel, &b->self, &writer));
    assert_int_equal(b->kernel.told.last_node, reader.node);
    assert_int_equal(b->kernel.told.last_offset, 0); /* the page that the first version ended in */
    expect_read(&b->kernel, &b->other, &reader, "1\n2\n");
    OK(fs_getattr(b->kernel.fs, reader.node, NULL, &stat, &timeout, &err));
    assert_int_equal(stat.st_size, 4);
    OK(kernel_text(&b->kernel, &b->self, &writer, 4, "3\n"));
    OK(kernel_close(&b->kernel, &b->self, &writer));
    expect_read(&b->kernel, &b->other, &reader, "1\n2\n3\n");
    assert_int_equal(kernel_node_of(&b->kernel, &b->other, "log"), reader.node);
    kernel_put(&b->kernel, &b->self, "log", "rewritten"); /* a rewrite does not */
    expect_read(&b->kernel, &b->other, &reader, "1\n2\n3\n");
    assert_int_not_equal(kernel_node_of(&b->kernel, &b->other, "log"), reader.node);
    OK(kernel_close(&b->kernel, &b->other, &reader));
}

/* S16: one inode number from create to remove, for workspace and versions alike. */
static void the_inode_number_stays(void **state)
{
    struct bench *b = *state;
    struct opened opened;
    struct fs_entry first, second, third;
    OK(kernel_open(&b->kernel, &b->self, "a", O_WRONLY | O_CREAT, &opened));
    OK(kernel_look(&b->kernel, &b->other, "a", &first));
    OK(kernel_text(&b->kernel, &b->self, &opened, 0, "x"));
    OK(kernel_close(&b->kernel, &b->self, &opened));
    OK(kernel_look(&b->kernel, &b->other, "a", &second));
    kernel_put(&b->kernel, &b->self, "a", "y");
    OK(kernel_look(&b->kernel, &b->other, "a", &third));
    assert_int_equal(first.stat.st_ino, second.stat.st_ino);
    assert_int_equal(first.stat.st_ino, third.stat.st_ino);
    assert_true(first.node != second.node && second.node != third.node);
}

/* The kernel may keep what it knows only while nobody here has a workspace on the document. */
static void the_kernel_must_ask_while_there_is_a_workspace(void **state)
{
    struct bench *b = *state;
    struct opened opened;
    struct fs_entry entry;
    kernel_put(&b->kernel, &b->self, "a", "x");
    OK(kernel_look(&b->kernel, &b->other, "a", &entry));
    assert_true(entry.entry_timeout > 1 && entry.attr_timeout > 1);
    OK(kernel_open(&b->kernel, &b->self, "a", O_WRONLY, &opened));
    OK(kernel_look(&b->kernel, &b->other, "a", &entry));
    assert_true(entry.entry_timeout <= 0 && entry.attr_timeout <= 0);
    OK(kernel_close(&b->kernel, &b->self, &opened));
    OK(kernel_look(&b->kernel, &b->other, "a", &entry));
    assert_true(entry.entry_timeout > 1);
}

/* A change of metadata is told to the document's other nodes: a pinned reader's fstat shows it. */
static void metadata_is_told_to_other_nodes(void **state)
{
    struct bench *b = *state;
    struct opened reader, again;
    struct stat stat = {.st_mode = 0600};
    double timeout = 0;
    struct err err = {0};
    kernel_put(&b->kernel, &b->self, "a", "1");
    OK(kernel_open(&b->kernel, &b->other, "a", O_RDONLY, &reader));
    kernel_put(&b->kernel, &b->self, "a", "22");
    OK(kernel_open(&b->kernel, &b->self, "a", O_RDONLY, &again));
    unsigned told = b->kernel.told.nodes;
    OK(fs_setattr(b->kernel.fs, &b->self.caller, again.node, NULL, &stat, FS_SET_MODE, &stat, &timeout, &err));
    assert_true(b->kernel.told.nodes > told);
    OK(fs_getattr(b->kernel.fs, reader.node, NULL, &stat, &timeout, &err));
    assert_int_equal(stat.st_mode, S_IFREG | 0600);
    assert_int_equal(stat.st_size, 1);
    OK(kernel_close(&b->kernel, &b->other, &reader));
    OK(kernel_close(&b->kernel, &b->self, &again));
}

static enum status truncate_path(struct bench *b, const struct program *program, const char *name, off_t size)
{
    enum status status = STATUS_STALE;
    for (int attempt = 0; attempt < 2 && status == STATUS_STALE; attempt++) {
        struct stat stat = {.st_size = size};
        double timeout = 0;
        struct err err = {0};
        uint64_t node = kernel_node_of(&b->kernel, program, name);
        status = fs_setattr(b->kernel.fs, &program->caller, node, NULL, &stat, FS_SET_SIZE, &stat, &timeout, &err);
        if (status == STATUS_OK && program->caller.tid)
            assert_int_equal(stat.st_size, size);
    }
    return status;
}

/* truncate(2) publishes at once; ftruncate with the next close. */
static void truncation_publishes(void **state)
{
    struct bench *b = *state;
    struct opened reader, writer;
    struct stat stat = {.st_size = 2};
    double timeout = 0;
    struct err err = {0};
    kernel_put(&b->kernel, &b->self, "a", "0123456789");
    OK(kernel_open(&b->kernel, &b->other, "a", O_RDONLY, &reader));
    OK(truncate_path(b, &b->self, "a", 4));
    expect_file(&b->kernel, &b->other, "a", "0123");
    expect_read(&b->kernel, &b->other, &reader, "0123456789");
    OK(kernel_close(&b->kernel, &b->other, &reader));
    struct program elsewhere = {{.tid = 0}};
    OK(truncate_path(b, &elsewhere, "a", 3));
    expect_file(&b->kernel, &b->other, "a", "012");
    OK(kernel_open(&b->kernel, &b->self, "a", O_WRONLY, &writer));
    OK(fs_setattr(b->kernel.fs, &b->self.caller, writer.node, writer.file.handle, &stat, FS_SET_SIZE, &stat, &timeout,
                  &err));
    expect_file(&b->kernel, &b->other, "a", "012");
    OK(kernel_close(&b->kernel, &b->self, &writer));
    expect_file(&b->kernel, &b->other, "a", "01");
}

/* Publishing changes no mtime; utimens sets workspace and Ready version alike. */
static void times_are_the_writers(void **state)
{
    struct bench *b = *state;
    struct opened opened;
    struct fs_entry entry;
    struct stat stat = {.st_mtim = {1000, 7}};
    double timeout = 0;
    struct err err = {0};
    OK(kernel_open(&b->kernel, &b->self, "a", O_WRONLY | O_CREAT, &opened));
    OK(kernel_text(&b->kernel, &b->self, &opened, 0, "x"));
    OK(fs_setattr(b->kernel.fs, &b->self.caller, opened.node, opened.file.handle, &stat, FS_SET_MTIME, &stat, &timeout,
                  &err));
    assert_int_equal(stat.st_mtim.tv_sec, 1000);
    OK(kernel_close(&b->kernel, &b->self, &opened));
    OK(kernel_look(&b->kernel, &b->other, "a", &entry));
    assert_int_equal(entry.stat.st_mtim.tv_sec, 1000);
    assert_int_equal(entry.stat.st_mtim.tv_nsec, 7);
    int64_t before_ns = b->lab.clock.utc_ns;
    OK(kernel_open(&b->kernel, &b->self, "a", O_WRONLY, &opened));
    OK(kernel_text(&b->kernel, &b->self, &opened, 0, "y"));
    int64_t after_ns = b->lab.clock.utc_ns;
    b->lab.clock.utc_ns += 1000000000ll * 3600;
    OK(kernel_close(&b->kernel, &b->self, &opened));
    OK(kernel_look(&b->kernel, &b->other, "a", &entry));
    int64_t mtime_ns = entry.stat.st_mtim.tv_sec * 1000000000ll + entry.stat.st_mtim.tv_nsec;
    assert_true(mtime_ns >= before_ns && mtime_ns <= after_ns);
}

/* Set-user-id ends with a write by another than root. */
static void a_write_ends_set_ids(void **state)
{
    struct bench *b = *state;
    struct opened opened;
    struct fs_entry entry;
    struct stat stat = {.st_mode = 04755};
    double timeout = 0;
    struct err err = {0};
    kernel_put(&b->kernel, &b->self, "a", "x");
    uint64_t node = kernel_node_of(&b->kernel, &b->self, "a");
    OK(fs_setattr(b->kernel.fs, &b->self.caller, node, NULL, &stat, FS_SET_MODE, &stat, &timeout, &err));
    OK(kernel_open(&b->kernel, &b->other, "a", O_WRONLY, &opened));
    OK(kernel_text(&b->kernel, &b->other, &opened, 0, "y"));
    OK(kernel_close(&b->kernel, &b->other, &opened));
    OK(kernel_look(&b->kernel, &b->other, "a", &entry));
    assert_int_equal(entry.stat.st_mode, S_IFREG | 0755);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(readers_and_writers_have_nodes_of_their_own),
        TEST(a_process_reads_its_own_workspace),
        TEST(writers_share_a_workspace),
        TEST(a_truncating_open_has_a_workspace_of_its_own),
        TEST(nobody_joins_a_truncation_that_has_not_happened),
        TEST(a_wish_that_nobody_comes_for_ends),
        TEST(an_open_without_a_walk_is_direct),
        TEST(a_caller_from_elsewhere_is_never_sent_round),
        TEST(the_second_try_is_always_accepted),
        TEST(a_second_try_at_another_document_is_accepted),
        TEST(a_second_try_survives_removal),
        TEST(a_second_try_may_not_come),
        TEST(a_creation_ends_the_second_try),
        TEST(an_append_takes_the_node_over),
        TEST(the_inode_number_stays),
        TEST(the_kernel_must_ask_while_there_is_a_workspace),
        TEST(metadata_is_told_to_other_nodes),
        TEST(truncation_publishes),
        TEST(times_are_the_writers),
        TEST(a_write_ends_set_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
