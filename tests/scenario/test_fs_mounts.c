/* test_fs_mounts.c - two mounts of one catalogue.
 * links: catalogue blob host core document fs
 *
 * Goal: S3, S11, S12 and the exact open across mounts; what the watcher tells the kernel, and what it does not. Method:
 * two filesystems with sessions of their own over one catalogue, and the test as the kernel of both.
 */
#include "scenario/fs_kernel.h"

struct bench {
    struct lab lab;
    struct kernel here, there;
    struct program self, other;
};

static void mount_both(struct bench *bench, bool conflict_fail)
{
    struct settings settings = lab_settings();
    settings.conflict_fail = conflict_fail;
    lab_open(&bench->lab, "memory");
    kernel_mount_with(&bench->here, &bench->lab, &settings, NULL);
    kernel_mount_with(&bench->there, &bench->lab, &settings, NULL);
    bench->self = program_self();
    bench->other = program_other();
}

static int begin(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);
    mount_both(bench, false);
    *state = bench;
    return 0;
}

static int begin_strict(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);
    mount_both(bench, true);
    *state = bench;
    return 0;
}

static int end(void **state)
{
    struct bench *bench = *state;
    kernel_unmount(&bench->there);
    kernel_unmount(&bench->here);
    program_end(&bench->other);
    lab_done(&bench->lab);
    free(bench);
    return 0;
}

/* S3: each new open gets the newest version, whatever the kernel has cached; open readers keep theirs. */
static void a_new_open_gets_the_newest_version(void **state)
{
    struct bench *b = *state;
    struct opened reader, again = {0};
    kernel_put(&b->here, &b->self, "a", "one");
    OK(kernel_open(&b->there, &b->self, "a", O_RDONLY, &reader));
    kernel_put(&b->here, &b->self, "a", "two");
    expect_read(&b->there, &b->self, &reader, "one");
    assert_int_equal(kernel_open_node(&b->there, &b->self, reader.node, O_RDONLY, &again), STATUS_STALE);
    uint64_t node = kernel_node_of(&b->there, &b->self, "a");
    OK(kernel_open_node(&b->there, &b->self, node, O_RDONLY, &again));
    expect_read(&b->there, &b->self, &again, "two");
    OK(kernel_close(&b->there, &b->self, &again));
    OK(kernel_close(&b->there, &b->self, &reader));
}

/* A node that is open and current is opened again without asking; not so once anybody has moved the catalogue. */
static void an_open_of_a_current_node_is_accepted_at_once(void **state)
{
    struct bench *b = *state;
    struct opened first, second = {0}, third = {0};
    kernel_put(&b->here, &b->self, "a", "one");
    OK(kernel_open(&b->there, &b->self, "a", O_RDONLY, &first));
    OK(kernel_open_node(&b->there, &b->other, first.node, O_RDONLY, &second));
    kernel_put(&b->here, &b->self, "b", "elsewhere");
    OK(kernel_open_node(&b->there, &b->other, first.node, O_RDONLY, &third));
    OK(kernel_close(&b->there, &b->other, &third));
    OK(kernel_close(&b->there, &b->other, &second));
    OK(kernel_close(&b->there, &b->self, &first));
}

/* The watcher tells exactly the entries that another mount has changed, and nothing of its own. */
static void the_watcher_tells_what_others_changed(void **state)
{
    struct bench *b = *state;
    struct err err = {0};
    struct fs_entry entry;
    kernel_put(&b->here, &b->self, "a", "one");
    fs_watch(b->here.fs);
    fs_watch(b->there.fs);
    assert_int_equal(b->here.told.entries, 0);
    assert_int_equal(b->there.told.entries, 1);
    assert_string_equal(b->there.told.last_entry, "a");
    fs_watch(b->there.fs);
    assert_int_equal(b->there.told.entries, 1);
    OK(kernel_look(&b->there, &b->self, "a", &entry));
    unsigned nodes = b->there.told.nodes;
    struct stat stat = {.st_mode = 0600};
    double timeout = 0;
    uint64_t node = kernel_node_of(&b->here, &b->self, "a");
    OK(fs_setattr(b->here.fs, &b->self.caller, node, NULL, &stat, FS_SET_MODE, &stat, &timeout, &err));
    fs_watch(b->there.fs);
    assert_true(b->there.told.nodes > nodes);
    assert_int_equal(b->there.told.last_node, entry.node);
    OK(fs_rename(b->here.fs, &b->self.caller, FS_ROOT, "a", FS_ROOT, "b", 0, &err));
    OK(fs_unlink(b->here.fs, &b->self.caller, FS_ROOT, "b", &err));
    fs_watch(b->there.fs);
    assert_int_equal(b->there.told.entries, 4); /* a and b by the rename, b by the unlink */
    fs_watch(b->here.fs);
    assert_int_equal(b->here.told.entries, 0);
}

/* An answer that was read before a change may not be kept by the kernel. */
static void other_names_of_an_own_publish_are_told(void **state)
{
    struct bench *b = *state;
    struct err err = {0};
    struct fs_entry entry;
    kernel_put(&b->here, &b->self, "a", "one");
    uint64_t node = kernel_node_of(&b->here, &b->self, "a");
    OK(fs_link(b->here.fs, &b->self.caller, node, FS_ROOT, "z", &entry, &err));
    b->here.known[b->here.known_count++] = entry.node;
    assert_int_equal(entry.stat.st_nlink, 2);
    fs_watch(b->here.fs);
    assert_int_equal(b->here.told.entries, 0);
    kernel_put(&b->here, &b->self, "a", "two");
    fs_watch(b->here.fs);
    assert_int_equal(b->here.told.entries, 1);
    assert_string_equal(b->here.told.last_entry, "z");
    expect_file(&b->here, &b->self, "z", "two");
}

/* An append by another mount is growth for readers here. */
static void an_append_elsewhere_is_growth_here(void **state)
{
    struct bench *b = *state;
    struct opened reader, writer;
    kernel_put(&b->here, &b->self, "log", "1\n");
    OK(kernel_open(&b->there, &b->self, "log", O_RDONLY, &reader));
    OK(kernel_open(&b->here, &b->self, "log", O_WRONLY | O_APPEND, &writer));
    OK(kernel_text(&b->here, &b->self, &writer, 2, "2\n"));
    OK(kernel_close(&b->here, &b->self, &writer));
    expect_read(&b->there, &b->self, &reader, "1\n");
    fs_watch(b->there.fs);
    assert_int_equal(b->there.told.grown, reader.node);
    expect_read(&b->there, &b->self, &reader, "1\n2\n");
    assert_int_equal(kernel_node_of(&b->there, &b->self, "log"), reader.node);
    OK(kernel_close(&b->there, &b->self, &reader));
}

/* S11: the last close wins, whole. */
static void the_last_close_wins(void **state)
{
    struct bench *b = *state;
    struct opened one, two;
    kernel_put(&b->here, &b->self, "a", "........");
    OK(kernel_open(&b->here, &b->self, "a", O_WRONLY, &one));
    OK(kernel_open(&b->there, &b->self, "a", O_WRONLY, &two));
    OK(kernel_text(&b->here, &b->self, &one, 0, "11"));
    OK(kernel_text(&b->there, &b->self, &two, 4, "22"));
    OK(kernel_close(&b->here, &b->self, &one));
    OK(kernel_close(&b->there, &b->self, &two));
    expect_file(&b->here, &b->self, "a", "....22..");
    expect_file(&b->there, &b->self, "a", "....22..");
}

/* S11, conflict = fail: the later close gets ESTALE and its bytes are kept. */
static void a_conflict_fails_where_it_is_to(void **state)
{
    struct bench *b = *state;
    struct opened one, two;
    kernel_put(&b->here, &b->self, "a", "base");
    OK(kernel_open(&b->here, &b->self, "a", O_WRONLY, &one));
    OK(kernel_open(&b->there, &b->self, "a", O_WRONLY, &two));
    OK(kernel_text(&b->here, &b->self, &one, 0, "ONE"));
    OK(kernel_text(&b->there, &b->self, &two, 0, "T"));
    OK(kernel_close(&b->here, &b->self, &one));
    assert_int_equal(kernel_flush(&b->there, &b->self, &two), STATUS_CONFLICT);
    kernel_release(&b->there, &b->self, &two);
    expect_file(&b->there, &b->self, "a", "ONEe");
    expect_kept(&b->there, "Tase"); /* the whole content, not only what was written */
}

/* S11: a publish follows the document, not its name. */
static void a_publish_follows_the_document(void **state)
{
    struct bench *b = *state;
    struct opened writer;
    struct err err = {0};
    kernel_put(&b->here, &b->self, "a", "base");
    OK(kernel_open(&b->here, &b->self, "a", O_WRONLY, &writer));
    OK(kernel_text(&b->here, &b->self, &writer, 0, "NEW!"));
    OK(fs_rename(b->there.fs, &b->self.caller, FS_ROOT, "a", FS_ROOT, "b", 0, &err));
    kernel_put(&b->there, &b->self, "a", "another");
    OK(kernel_close(&b->here, &b->self, &writer));
    expect_file(&b->here, &b->self, "a", "another");
    expect_file(&b->here, &b->self, "b", "NEW!");
}

/* S11: removed elsewhere, ESTALE and the bytes are kept; a document of the same name is not touched. */
static void a_document_removed_elsewhere_keeps_its_bytes(void **state)
{
    struct bench *b = *state;
    struct opened writer, reader;
    struct stat stat;
    double timeout = 0;
    struct err err = {0};
    kernel_put(&b->here, &b->self, "a", "base");
    OK(kernel_open(&b->here, &b->other, "a", O_RDONLY, &reader));
    OK(kernel_open(&b->here, &b->self, "a", O_WRONLY, &writer));
    OK(kernel_text(&b->here, &b->self, &writer, 0, "GONE"));
    OK(fs_unlink(b->there.fs, &b->self.caller, FS_ROOT, "a", &err));
    OK(fs_getattr(b->here.fs, reader.node, NULL, &stat, &timeout, &err));
    assert_int_equal(stat.st_nlink, 0);
    expect_read(&b->here, &b->other, &reader, "base");
    OK(kernel_close(&b->here, &b->other, &reader));
    kernel_put(&b->there, &b->self, "a", "created again");
    assert_int_equal(kernel_flush(&b->here, &b->self, &writer), STATUS_STALE);
    kernel_release(&b->here, &b->self, &writer);
    expect_file(&b->here, &b->self, "a", "created again");
    expect_kept(&b->here, "GONE");
    assert_string_equal(b->here.told.document, "\"a\"");
}

/* S12: exactly one O_EXCL wins, and a plain O_CREAT joins. */
static void exclusive_creation_holds_across_mounts(void **state)
{
    struct bench *b = *state;
    struct opened one, two;
    struct kernel *kernels[] = {&b->here, &b->there};
    OK(kernel_open(&b->here, &b->self, "lock", O_WRONLY | O_CREAT | O_EXCL, &one));
    assert_int_equal(kernel_open(&b->there, &b->self, "lock", O_WRONLY | O_CREAT | O_EXCL, &two), STATUS_EXISTS);
    OK(kernel_open(&b->there, &b->self, "lock", O_WRONLY | O_CREAT, &two));
    OK(kernel_text(&b->here, &b->self, &one, 0, "one"));
    OK(kernel_text(&b->there, &b->self, &two, 0, "three"));
    OK(kernel_close(&b->here, &b->self, &one));
    OK(kernel_close(&b->there, &b->self, &two));
    for (int i = 0; i < 2; i++)
        expect_file(kernels[i], &b->self, "lock", "three");
}

/* S12: a reservation ends with its holder; the name is free. */
static void a_reservation_ends_with_its_file(void **state)
{
    struct bench *b = *state;
    struct opened one;
    struct program victim = program_other();
    OK(kernel_open(&b->here, &victim, "lock", O_WRONLY | O_CREAT | O_EXCL, &one));
    OK(kernel_text(&b->here, &victim, &one, 0, "half"));
    program_kill(&victim);
    OK(kernel_close(&b->here, &victim, &one));
    OK(kernel_open(&b->there, &b->self, "lock", O_WRONLY | O_CREAT | O_EXCL, &one));
    OK(kernel_close(&b->there, &b->self, &one));
    program_end(&victim);
}

struct sought {
    const char *name;
    char id[64];
};

static void seek_item(void *context, const struct recover_item *item)
{
    struct sought *sought = context;
    if (strcmp(item->name, sought->name) == 0)
        (void)snprintf(sought->id, sizeof sought->id, "%s", item->id);
}

static void expect_item(struct kernel *kernel, const char *name, const char *bytes, size_t len)
{
    struct sought sought = {.name = name};
    struct err err = {0};
    char found[64];
    int fd = -1;
    OK(recover_list(kernel->recovery, seek_item, &sought, &err));
    OK(recover_open(kernel->recovery, sought.id, &fd, &err));
    assert_int_equal(read(fd, found, sizeof found), len);
    (void)close(fd);
    assert_memory_equal(found, bytes, len);
}

/* What a session that died left in its spool is put together and kept by the next mount. */
static void what_a_dead_session_left_is_adopted(void **state)
{
    struct bench *b = *state;
    struct err err = {0};
    char from[160], folder[160], path[200];
    struct opened writer, fresh;
    unsigned kept = 0;
    kernel_put(&b->here, &b->self, "a", "0123456789");
    OK(kernel_open(&b->here, &b->self, "a", O_WRONLY, &writer));
    OK(kernel_text(&b->here, &b->self, &writer, 4, "XY"));
    OK(kernel_open(&b->here, &b->self, "n", O_WRONLY | O_CREAT, &fresh));
    OK(kernel_text(&b->here, &b->self, &fresh, 2, "new"));
    (void)snprintf(from, sizeof from, "%s", b->here.spool);
    (void)snprintf(folder, sizeof folder, "%s/spool", b->lab.folder);
    pid_t child = fork();
    if (!child) {
        (void)snprintf(path, sizeof path, "%s/999999", folder);
        (void)execlp("cp", "cp", "-r", "--sparse=always", from, path, (char *)NULL);
        _exit(127);
    }
    int how = 0;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
    OK(fs_adopt(b->there.fs, folder, &kept, &err));
    assert_int_equal(kept, 2);
    assert_int_equal(b->there.told.reports, 2);
    struct kept all = kernel_kept(&b->there);
    assert_int_equal(all.count, 2);
    assert_int_equal(all.missing, 0);
    expect_item(&b->there, "\"a\"", "0123XY6789", 10);
    expect_item(&b->there, "\"n\"", "\0\0new", 5);
    OK(fs_adopt(b->there.fs, folder, &kept, &err)); /* living sessions' folders are left alone */
    assert_int_equal(kept, 0);
    OK(kernel_close(&b->here, &b->self, &writer));
    OK(kernel_close(&b->here, &b->self, &fresh));
    expect_file(&b->here, &b->self, "a", "0123XY6789");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_new_open_gets_the_newest_version),
        TEST(an_open_of_a_current_node_is_accepted_at_once),
        TEST(the_watcher_tells_what_others_changed),
        TEST(other_names_of_an_own_publish_are_told),
        TEST(an_append_elsewhere_is_growth_here),
        TEST(the_last_close_wins),
        cmocka_unit_test_setup_teardown(a_conflict_fails_where_it_is_to, begin_strict, end),
        TEST(a_publish_follows_the_document),
        TEST(a_document_removed_elsewhere_keeps_its_bytes),
        TEST(exclusive_creation_holds_across_mounts),
        TEST(a_reservation_ends_with_its_file),
        TEST(what_a_dead_session_left_is_adopted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
