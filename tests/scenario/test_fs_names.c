/* test_fs_names.c - names, moves, links, listings, space.
 * links: catalogue blob host core document fs
 *
 * Goal: S1, S13, S14, S20, S21 and attributes of what is no file, above a real catalogue. Method: the test sends what
 * the kernel sends; the store refuses at command.
 */
#include "scenario/fs_bench.h"

#include <linux/fs.h>
#include <sys/xattr.h>

static enum status move(struct bench *b, const char *from, const char *to, unsigned flags)
{
    struct err err = {0};
    return fs_rename(b->kernel.fs, &b->self.caller, FS_ROOT, from, FS_ROOT, to, flags, &err);
}

/* S13: any bytes but '/' and NUL, 255 of them at most. */
static void any_name_works(void **state)
{
    struct bench *b = *state;
    char longest[257];
    struct fs_entry entry;
    memset(longest, 'n', 256);
    longest[256] = '\0';
    assert_int_equal(kernel_look(&b->kernel, &b->self, longest, &entry), STATUS_NAME_TOO_LONG);
    longest[255] = '\0';
    const char *names[] = {"a b", "new\nline", "%2e#?&", "\xff\xfe", "\x01", longest, "..."};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        kernel_put(&b->kernel, &b->self, names[i], names[i]);
        assert_true(listed(&b->kernel, &b->self, names[i]));
        expect_file(&b->kernel, &b->self, names[i], names[i]);
    }
    assert_int_equal(kernel_look(&b->kernel, &b->self, "", &entry), STATUS_INVALID);
}

/* S14: an unpublished file replaces an existing one only as a Ready version; if that fails, nothing moved. */
static void an_unpublished_file_is_published_before_it_replaces(void **state)
{
    struct bench *b = *state;
    struct opened opened;
    kernel_put(&b->kernel, &b->self, "target", "old");
    OK(kernel_open(&b->kernel, &b->self, "tmp", O_WRONLY | O_CREAT, &opened));
    OK(kernel_text(&b->kernel, &b->self, &opened, 0, "new"));
    b->lab.blobs.fault_call = CALL_PUT;
    b->lab.blobs.fault = FAULT_REFUSE;
    b->lab.blobs.fault_times = 1;
    assert_int_equal(move(b, "tmp", "target", 0), STATUS_IO);
    expect_file(&b->kernel, &b->other, "target", "old");
    assert_int_not_equal(kernel_node_of(&b->kernel, &b->self, "tmp"), 0);
    OK(move(b, "tmp", "target", 0));
    expect_file(&b->kernel, &b->other, "target", "new");
    OK(kernel_text(&b->kernel, &b->self, &opened, 3, "er"));
    OK(kernel_close(&b->kernel, &b->self, &opened));
    expect_file(&b->kernel, &b->other, "target", "newer");
    expect_file(&b->kernel, &b->other, "tmp", NULL);
}

static void an_empty_unpublished_file_replaces_too(void **state)
{
    struct bench *b = *state;
    struct opened opened;
    kernel_put(&b->kernel, &b->self, "target", "old");
    OK(kernel_open(&b->kernel, &b->self, "tmp", O_WRONLY | O_CREAT, &opened));
    OK(move(b, "tmp", "target", 0));
    expect_file(&b->kernel, &b->other, "target", "");
    OK(kernel_close(&b->kernel, &b->self, &opened));
    expect_file(&b->kernel, &b->other, "target", "");
}

/* S14: what is replaced lives on for its descriptors. */
static void a_replaced_document_lives_on_for_its_readers(void **state)
{
    struct bench *b = *state;
    struct opened reader, writer;
    struct stat stat;
    double timeout = 0;
    struct err err = {0};
    kernel_put(&b->kernel, &b->self, "a", "replaced");
    kernel_put(&b->kernel, &b->self, "b", "mover");
    OK(kernel_open(&b->kernel, &b->other, "a", O_RDONLY, &reader));
    OK(kernel_open(&b->kernel, &b->self, "a", O_WRONLY, &writer));
    OK(kernel_text(&b->kernel, &b->self, &writer, 0, "X"));
    OK(move(b, "b", "a", 0));
    expect_file(&b->kernel, &b->self, "a", "mover");
    expect_read(&b->kernel, &b->other, &reader, "replaced");
    OK(fs_getattr(b->kernel.fs, reader.node, NULL, &stat, &timeout, &err));
    assert_int_equal(stat.st_nlink, 0);
    OK(kernel_close(&b->kernel, &b->self, &writer)); /* removed here: nothing to publish */
    OK(kernel_close(&b->kernel, &b->other, &reader));
    expect_file(&b->kernel, &b->self, "a", "mover");
    assert_int_equal(kernel_kept(&b->kernel).count, 0);
}

static void exchange_and_noreplace(void **state)
{
    struct bench *b = *state;
    struct opened opened;
    kernel_put(&b->kernel, &b->self, "a", "A");
    kernel_put(&b->kernel, &b->self, "b", "B");
    assert_int_equal(move(b, "a", "b", RENAME_NOREPLACE), STATUS_EXISTS);
    OK(move(b, "a", "b", RENAME_EXCHANGE));
    expect_file(&b->kernel, &b->self, "a", "B");
    expect_file(&b->kernel, &b->self, "b", "A");
    OK(kernel_open(&b->kernel, &b->self, "n", O_WRONLY | O_CREAT, &opened));
    OK(kernel_text(&b->kernel, &b->self, &opened, 0, "N"));
    OK(move(b, "n", "a", RENAME_EXCHANGE));
    expect_file(&b->kernel, &b->other, "a", "N");
    expect_file(&b->kernel, &b->other, "n", "B");
    OK(kernel_close(&b->kernel, &b->self, &opened));
    OK(move(b, "n", "m", RENAME_NOREPLACE));
    assert_int_equal(move(b, "gone", "m", 0), STATUS_NOT_FOUND);
    assert_int_equal(move(b, "m", "m2", 1u << 7), STATUS_INVALID);
}

/* A tree moves in one commit, open files and all. */
static void a_tree_moves_with_its_open_files(void **state)
{
    struct bench *b = *state;
    struct err err = {0};
    struct fs_entry dir, entry;
    struct fs_opened opened;
    size_t len = 0;
    OK(fs_mkdir(b->kernel.fs, &b->self.caller, FS_ROOT, "d", 0755, &dir, &err));
    b->kernel.known[b->kernel.known_count++] = dir.node;
    OK(fs_create(b->kernel.fs, &b->self.caller, dir.node, "f", 0644, O_WRONLY | O_CREAT, &entry, &opened, &err));
    b->kernel.known[b->kernel.known_count++] = entry.node;
    OK(fs_write(b->kernel.fs, &b->self.caller, opened.handle, 0, "text", 4, &len, &err));
    OK(move(b, "d", "e", 0));
    OK(fs_flush(b->kernel.fs, &b->self.caller, opened.handle, &err));
    fs_release(b->kernel.fs, &b->self.caller, opened.handle);
    assert_int_equal(kernel_node_of(&b->kernel, &b->self, "e"), dir.node);
    OK(kernel_look_at(&b->kernel, &b->self, dir.node, "f", &entry));
    assert_int_equal(entry.stat.st_size, 4);
    OK(kernel_look_at(&b->kernel, &b->self, dir.node, "..", &entry));
    assert_int_equal(entry.node, FS_ROOT);
    assert_int_equal(kernel_look_at(&b->kernel, &b->self, entry.node, "d", &entry), STATUS_OK);
    assert_int_equal(entry.node, 0);
    assert_int_equal(fs_rmdir(b->kernel.fs, &b->self.caller, FS_ROOT, "e", &err), STATUS_NOT_EMPTY);
}

/* S21: what exists throughout a listing appears exactly once, whatever happens meanwhile. */
static void a_listing_survives_changes(void **state)
{
    struct bench *b = *state;
    struct err err = {0};
    struct fs_handle *handle = NULL;
    struct listing listing = {.kernel = &b->kernel, .attributes = true};
    char name[16];
    for (int i = 0; i < 20; i++) {
        (void)snprintf(name, sizeof name, "f%d", i);
        kernel_put(&b->kernel, &b->self, name, name);
    }
    OK(fs_opendir(b->kernel.fs, &b->self.caller, FS_ROOT, &handle, &err));
    for (int round = 0;; round++) {
        listing.fits = 4;
        OK(fs_readdir(b->kernel.fs, &b->self.caller, handle, listing.offset, true, kernel_item, &listing, &err));
        if (listing.fits == 4)
            break;
        (void)snprintf(name, sizeof name, "f%d", 2 * round);                   /* even ones go, others come */
        IGNORE(fs_unlink(b->kernel.fs, &b->self.caller, FS_ROOT, name, &err)); /* there are not that many */
        (void)snprintf(name, sizeof name, "g%d", round);
        kernel_put(&b->kernel, &b->self, name, name);
    }
    for (int i = 1; i < 20; i += 2) {
        unsigned seen = 0;
        (void)snprintf(name, sizeof name, "f%d", i);
        for (size_t j = 0; j < listing.count; j++)
            seen += strcmp(listing.names[j], name) == 0;
        assert_int_equal(seen, 1);
    }
    fs_releasedir(b->kernel.fs, handle);
}

static void symlinks_and_special_files(void **state)
{
    struct bench *b = *state;
    struct err err = {0};
    struct fs_entry entry;
    char target[LIMIT_TARGET_BYTES + 1];
    OK(fs_symlink(b->kernel.fs, &b->self.caller, "some/where", FS_ROOT, "l", &entry, &err));
    b->kernel.known[b->kernel.known_count++] = entry.node;
    assert_true(S_ISLNK(entry.stat.st_mode));
    assert_int_equal(entry.stat.st_size, 10);
    OK(fs_readlink(b->kernel.fs, entry.node, target, &err));
    assert_string_equal(target, "some/where");
    OK(kernel_look(&b->kernel, &b->self, "l", &entry));
    assert_int_equal(entry.stat.st_size, 10);
    OK(fs_mknod(b->kernel.fs, &b->self.caller, FS_ROOT, "p", S_IFIFO | 0600, 0, &entry, &err));
    b->kernel.known[b->kernel.known_count++] = entry.node;
    assert_true(S_ISFIFO(entry.stat.st_mode));
    OK(fs_mknod(b->kernel.fs, &b->self.caller, FS_ROOT, "r", S_IFREG | 0640, 0, &entry, &err));
    b->kernel.known[b->kernel.known_count++] = entry.node;
    assert_int_equal(entry.stat.st_mode, S_IFREG | 0640);
    assert_true(listed(&b->kernel, &b->self, "r"));
    assert_int_equal(fs_mknod(b->kernel.fs, &b->self.caller, FS_ROOT, "r", S_IFREG | 0640, 0, &entry, &err),
                     STATUS_EXISTS);
}

static void user_attributes_are_kept(void **state)
{
    struct bench *b = *state;
    struct err err = {0};
    char value[64];
    size_t len = 0;
    kernel_put(&b->kernel, &b->self, "a", "x");
    uint64_t node = kernel_node_of(&b->kernel, &b->self, "a");
    OK(fs_setxattr(b->kernel.fs, node, "user.k", "value", 5, XATTR_CREATE, &err));
    assert_int_equal(fs_setxattr(b->kernel.fs, node, "user.k", "v", 1, XATTR_CREATE, &err), STATUS_EXISTS);
    assert_int_equal(fs_setxattr(b->kernel.fs, node, "user.none", "v", 1, XATTR_REPLACE, &err), STATUS_NO_DATA);
    OK(fs_getxattr(b->kernel.fs, node, "user.k", NULL, 0, &len, &err));
    assert_int_equal(len, 5);
    assert_int_equal(fs_getxattr(b->kernel.fs, node, "user.k", value, 2, &len, &err), STATUS_RANGE);
    OK(fs_getxattr(b->kernel.fs, node, "user.k", value, sizeof value, &len, &err));
    assert_memory_equal(value, "value", 5);
    OK(fs_listxattr(b->kernel.fs, node, value, sizeof value, &len, &err));
    assert_int_equal(len, 7);
    assert_string_equal(value, "user.k");
    assert_int_equal(fs_getxattr(b->kernel.fs, node, "security.capability", value, 9, &len, &err), STATUS_NO_DATA);
    assert_int_equal(fs_setxattr(b->kernel.fs, node, "trusted.x", "v", 1, 0, &err), STATUS_UNSUPPORTED);
    assert_int_equal(fs_getxattr(b->kernel.fs, node, "user.none", value, 9, &len, &err), STATUS_NO_DATA);
    OK(fs_removexattr(b->kernel.fs, node, "user.k", &err));
    assert_int_equal(fs_removexattr(b->kernel.fs, node, "user.k", &err), STATUS_NO_DATA);
}

static void small(struct fs_options *options)
{
    options->capacity = 1 << 20;
    options->show_uid = options->show_modes = true;
    options->uid = 77;
    options->umask = 077;
}

/* S20, and modes that are shown instead of stored. */
static void the_mount_says_how_much_fits_and_whose_it_is(void **state)
{
    struct bench *b = *state;
    struct kernel second;
    struct settings settings = lab_settings();
    struct statvfs space;
    struct err err = {0};
    struct stat stat = {.st_mode = 0777, .st_uid = 1};
    double timeout = 0;
    OK(fs_statfs(b->kernel.fs, &space, &err));
    assert_true(space.f_bavail > (1ull << 40) / space.f_bsize);
    kernel_mount_with(&second, &b->lab, &settings, small);
    char *text = calloc(1, 256 * 1024 + 1);
    memset(text, 'x', 256 * 1024);
    kernel_put(&second, &b->self, "a", text);
    free(text);
    OK(fs_statfs(second.fs, &space, &err));
    assert_int_equal(space.f_blocks * space.f_frsize, 1 << 20);
    assert_int_equal(space.f_bavail * space.f_frsize, (1 << 20) - 256 * 1024);
    struct fs_entry entry;
    OK(kernel_look(&second, &b->self, "a", &entry));
    assert_int_equal(entry.stat.st_uid, 77);
    assert_int_equal(entry.stat.st_mode, S_IFREG | 0600);
    assert_int_equal(fs_setattr(second.fs, &b->self.caller, entry.node, NULL, &stat, FS_SET_MODE, &stat, &timeout,
                                &err),
                     STATUS_PERMISSION);
    assert_int_equal(fs_setattr(second.fs, &b->self.caller, entry.node, NULL, &stat, FS_SET_UID, &stat, &timeout, &err),
                     STATUS_PERMISSION);
    kernel_unmount(&second);
}

/* relatime: written by the tick, once for many reads. */
static void access_times_are_written_later(void **state)
{
    struct bench *b = *state;
    struct fs_entry before, after;
    kernel_put(&b->kernel, &b->self, "a", "x");
    OK(kernel_look(&b->kernel, &b->self, "a", &before));
    b->lab.clock.utc_ns += 5000000000ll;
    expect_file(&b->kernel, &b->self, "a", "x");
    fs_tick(b->kernel.fs);
    OK(kernel_look(&b->kernel, &b->self, "a", &after));
    assert_true(after.stat.st_atim.tv_sec > before.stat.st_atim.tv_sec);
    assert_int_equal(after.stat.st_ctim.tv_nsec, before.stat.st_ctim.tv_nsec);
    b->lab.clock.utc_ns += 5000000000ll;
    expect_file(&b->kernel, &b->self, "a", "x");
    fs_tick(b->kernel.fs);
    OK(kernel_look(&b->kernel, &b->self, "a", &before));
    assert_int_equal(after.stat.st_atim.tv_sec, before.stat.st_atim.tv_sec);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(any_name_works),
        TEST(an_unpublished_file_is_published_before_it_replaces),
        TEST(an_empty_unpublished_file_replaces_too),
        TEST(a_replaced_document_lives_on_for_its_readers),
        TEST(exchange_and_noreplace),
        TEST(a_tree_moves_with_its_open_files),
        TEST(a_listing_survives_changes),
        TEST(symlinks_and_special_files),
        TEST(user_attributes_are_kept),
        TEST(the_mount_says_how_much_fits_and_whose_it_is),
        TEST(access_times_are_written_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
