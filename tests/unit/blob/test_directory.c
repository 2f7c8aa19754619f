/* links: host */
/* test_directory.c - goal: what the directory store promises beyond the suite: modes and labels, crashes, several
 * stores on one folder, full and read-only disks, and blobs that somebody damages behind its back. Method: a scratch
 * folder for each test, looked at from outside; children that die; small private file systems. */
#include "blob/directory.h"

#include "base/digest.h"
#include "host/file.h"
#include "support/private_mount.h"
#include "support/scratch.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static struct scratch scratch;
static char root[512];
static struct blob_store *store;

static const struct call no_limits;
static const struct blob_about about = {.catalogue = "cat",
                                        .document = 3,
                                        .version = 4,
                                        .token = "tok",
                                        .name_hex = "61",
                                        .content_type = "text/plain",
                                        .pending = true};

static struct blob_store *open_store(void)
{
    struct blob_store *opened = NULL;
    struct err err = {0};
    if (directory_open(root, true, &opened, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    return opened;
}

static int set_up(void **state)
{
    (void)state;
    scratch_init(&scratch);
    (void)scratch_path(&scratch, "blobs", root, sizeof root);
    store = open_store();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    store = blob_close(store);
    private_unmount(root);
    scratch_done(&scratch);
    return 0;
}

static enum status put_in(struct blob_store *into, const char *name, const void *bytes, size_t len, struct err *err)
{
    struct blob_facts facts;
    return into->ops->put(into, &no_limits, name, bytes, len, crc64(0, bytes, len), &about, &facts, err);
}

static enum status put(const char *name, const char *text)
{
    return put_in(store, name, text, strlen(text), NULL);
}

static enum status stat_blob(const char *name, struct blob_facts *ret_facts)
{
    return store->ops->stat(store, &no_limits, name, ret_facts, NULL);
}

static enum status read_blob(const char *name, const char *etag, uint64_t offset, char *ret_bytes, size_t len)
{
    return store->ops->read(store, &no_limits, name, etag, offset, ret_bytes, len, NULL);
}

static struct blob_block block_of(uint32_t index, uint32_t generation, uint64_t offset, uint64_t len)
{
    static const uint8_t upload[ID_BYTES] = {1, 2, 3};
    struct blob_block block = {.offset = offset, .len = len};
    id_block(upload, index, generation, block.id);
    return block;
}

static enum status stage_in(struct blob_store *into, const char *name, const struct blob_block *block, const char *text)
{
    return into->ops->stage(into, &no_limits, name, block, text, crc64(0, text, block->len), NULL);
}

static enum status commit(const char *name, const struct blob_block *blocks, size_t count)
{
    struct blob_facts facts;
    return store->ops->commit(store, &no_limits, name, blocks, count, &about, &facts, NULL);
}

static char *path_of(const char *name)
{
    static char path[1024];
    (void)snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

/* How many files and folders lie in the staging folders: two for each living store (its folder and its lock), and the
 * gate. */
static size_t staged(void)
{
    char path[600];
    (void)snprintf(path, sizeof path, "%s/.staging", root);
    return scratch_count(path, 1);
}

#define STAGED_BY_ONE 3

/* ---- opening ---- */

static void open_tells_errors(void **state)
{
    (void)state;
    struct blob_store *other = NULL;
    struct err err = {0};
    char path[600];
    assert_int_equal(directory_open(scratch_path(&scratch, "absent", path, sizeof path), false, &other, &err),
                     STATUS_NOT_FOUND);
    assert_non_null(strstr(err.message, "absent"));
    assert_int_equal(file_write(scratch.fd, "file", "", 0, 0600, NULL), STATUS_OK);
    assert_int_equal(directory_open(scratch_path(&scratch, "file", path, sizeof path), false, &other, &err),
                     STATUS_NOT_DIRECTORY);
    assert_int_equal(directory_open(scratch_path(&scratch, "file", path, sizeof path), true, &other, &err),
                     STATUS_NOT_DIRECTORY);
    assert_int_equal(directory_open(scratch_path(&scratch, "new/deep", path, sizeof path), true, &other, &err),
                     STATUS_OK);
    assert_null(blob_close(other));
    assert_null(blob_close(NULL));
}

static void names_of_its_own_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",           "/a",         "a/",      "a//b",          ".",      "..", "a/../b", "./a", ".staging",
        ".staging/x", "a/.staging", "a.about", ".control.lock", "d/x/..", "d/."};
    struct err err = {0};
    struct blob_block block = block_of(0, 0, 0, 1);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(put_in(store, bad[i], "x", 1, &err), STATUS_INVALID);
        assert_int_equal(stage_in(store, bad[i], &block, "x"), STATUS_INVALID);
        assert_int_equal(store->ops->remove(store, &no_limits, bad[i], GUARD_NONE, NULL, &err), STATUS_INVALID);
    }
    static const char *const good[] = {"a", ".s", "...", "..a", "a.b/c", ".staging2", "x/.readyfs/volume", "about"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_int_equal(put(good[i], "x"), STATUS_OK);
}

/* ---- what lies in the folder ---- */

static void files_are_private_and_labelled(void **state)
{
    (void)state;
    struct stat facts;
    char value[64] = {0};
    assert_int_equal(put("p/d/ab/abcd", "hello"), STATUS_OK);
    assert_int_equal(stat(path_of("p/d/ab/abcd"), &facts), 0);
    assert_int_equal(facts.st_mode & 07777, 0600);
    assert_int_equal(facts.st_nlink, 1);
    assert_int_equal(facts.st_size, 5);
    assert_int_equal(stat(path_of("p/d/ab"), &facts), 0);
    assert_int_equal(facts.st_mode & 07777, 0700);
    static const char *const labels[][2] = {{"user.readyfs.token", "tok"},  {"user.readyfs.catalogue", "cat"},
                                            {"user.readyfs.document", "3"}, {"user.readyfs.version", "4"},
                                            {"user.readyfs.name", "61"},    {"user.readyfs.type", "text/plain"}};
    if (getxattr(path_of("p/d/ab/abcd"), labels[0][0], value, sizeof value) < 0) {
        print_message("SKIPPED: no extended attributes here\n");
        skip();
    }
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        memset(value, 0, sizeof value);
        assert_true(getxattr(path_of("p/d/ab/abcd"), labels[i][0], value, sizeof value) > 0);
        assert_string_equal(value, labels[i][1]);
    }
    assert_int_equal(staged(), STAGED_BY_ONE);
}

static void labels_lie_beside_where_there_are_no_attributes(void **state)
{
    (void)state;
    struct blob_facts facts;
    struct stat there;
    store = blob_close(store);
    if (!private_mount("ramfs", root, NULL)) {
        print_message("SKIPPED: this machine does not let us mount\n");
        store = open_store();
        skip();
    }
    store = open_store();
    assert_int_equal(put("d/one", "hello"), STATUS_OK);
    AUTO_BUF struct buf text;
    buf_init(&text, 1000);
    assert_int_equal(file_read(AT_FDCWD, path_of("d/one.about"), &text, NULL), STATUS_OK);
    assert_non_null(strstr(text.bytes, "token=tok\n"));
    assert_non_null(strstr(text.bytes, "name=61\n"));
    assert_int_equal(stat_blob("d/one", &facts), STATUS_OK);
    assert_string_equal(facts.token, "tok");
    assert_true(facts.has_crc64 && facts.crc64 == crc64(0, "hello", 5));
    assert_int_equal(put("d/one", "other"), STATUS_EXISTS);
    assert_int_equal(store->ops->remove(store, &no_limits, "d/one", GUARD_ETAG, facts.etag, NULL), STATUS_OK);
    assert_int_equal(stat(path_of("d/one.about"), &there), -1);
    assert_int_equal(staged(), STAGED_BY_ONE);
}

static void a_copy_without_labels_is_nobodys(void **state)
{
    (void)state;
    struct blob_facts facts;
    assert_int_equal(put("d/one", "hello"), STATUS_OK);
    assert_int_equal(file_write(AT_FDCWD, path_of("d/two"), "hello", 5, 0600, NULL), STATUS_OK);
    assert_int_equal(stat_blob("d/two", &facts), STATUS_OK);
    assert_string_equal(facts.token, "");
    assert_false(facts.has_crc64);
    assert_int_equal(put("d/two", "mine!"), STATUS_EXISTS);
}

struct order {
    char last[LIMIT_BLOB_NAME_BYTES];
    unsigned committed, uncommitted;
    bool wrong;
};

static bool check_order(void *context, const struct blob_listing *item)
{
    struct order *order = context;
    order->wrong |= strcmp(order->last, item->name) >= 0;
    (void)snprintf(order->last, sizeof order->last, "%s", item->name);
    order->committed += !item->uncommitted;
    order->uncommitted += item->uncommitted;
    return true;
}

static void listings_are_in_byte_order(void **state)
{
    (void)state;
    static const char *const names[] = {"a/b",   "a.b", "a-b", "a",      "a0", "b/c/d",
                                        "b/c.d", "b/c", "z",   "a/b0/c", "A",  "\xc3\xbc"};
    static const char *const uploads[] = {"a/a", "a.a", "zz", "b/c/e", "0"};
    struct blob_block block = block_of(0, 0, 0, 1);
    struct order order = {0};
    unsigned made = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        made += put(names[i], "x") == STATUS_OK; /* "a" cannot be a file beside "a/b" */
    for (size_t i = 0; i < sizeof uploads / sizeof *uploads; i++)
        assert_int_equal(stage_in(store, uploads[i], &block, "x"), STATUS_OK);
    assert_int_equal(store->ops->list(store, &no_limits, "", check_order, &order, NULL), STATUS_OK);
    assert_false(order.wrong);
    assert_int_equal(order.committed, made);
    assert_int_equal(order.uncommitted, 5);
    order = (struct order){0};
    assert_int_equal(store->ops->list(store, &no_limits, "b/c", check_order, &order, NULL), STATUS_OK);
    assert_int_equal(order.committed + order.uncommitted, 3); /* b/c.d, b/c/d, b/c/e */
    order = (struct order){0};
    assert_int_equal(store->ops->list(store, &no_limits, "nothing/here", check_order, &order, NULL), STATUS_OK);
    assert_int_equal(order.committed + order.uncommitted, 0);
}

/* ---- blobs that somebody damages ---- */

static void a_changed_blob_is_not_read(void **state)
{
    (void)state;
    struct blob_facts before, after;
    char bytes[8];
    assert_int_equal(put("d/one", "hello"), STATUS_OK);
    assert_int_equal(stat_blob("d/one", &before), STATUS_OK);
    int fd = open(path_of("d/one"), O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "J", 1, 0), 1);
    const struct timespec later[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 2000000000}};
    assert_int_equal(futimens(fd, later), 0);
    assert_int_equal(read_blob("d/one", before.etag, 0, bytes, 5), STATUS_CONDITION);
    assert_int_equal(ftruncate(fd, 3), 0);
    assert_int_equal(read_blob("d/one", before.etag, 0, bytes, 5), STATUS_CONDITION);
    assert_int_equal(close(fd), 0);
    assert_int_equal(stat_blob("d/one", &after), STATUS_OK);
    assert_string_not_equal(before.etag, after.etag);
    assert_int_equal(read_blob("d/one", after.etag, 0, bytes, 5), STATUS_CORRUPT);
    assert_int_equal(store->ops->remove(store, &no_limits, "d/one", GUARD_ETAG, before.etag, NULL), STATUS_CONDITION);
    assert_int_equal(read_blob("d/one", after.etag, 0, bytes, 3), STATUS_OK);
    assert_memory_equal(bytes, "Jel", 3);
}

static void a_vanished_blob_is_not_found(void **state)
{
    (void)state;
    struct blob_facts facts;
    char bytes[8];
    assert_int_equal(put("d/x/one", "hello"), STATUS_OK);
    assert_int_equal(stat_blob("d/x/one", &facts), STATUS_OK);
    assert_int_equal(unlink(path_of("d/x/one")), 0);
    assert_int_equal(read_blob("d/x/one", facts.etag, 0, bytes, 5), STATUS_NOT_FOUND);
    assert_int_equal(rmdir(path_of("d/x")), 0); /* with its folder */
    assert_int_equal(read_blob("d/x/one", facts.etag, 0, bytes, 5), STATUS_NOT_FOUND);
    assert_int_equal(store->ops->remove(store, &no_limits, "d/x/one", GUARD_NONE, NULL, NULL), STATUS_NOT_FOUND);
    assert_int_equal(put("d/x/two", "again"), STATUS_OK); /* the folder is made anew */
    assert_int_equal(mkdir(path_of("d/folder"), 0700), 0);
    assert_int_equal(stat_blob("d/folder", &facts), STATUS_NOT_FOUND);
    assert_int_equal(symlink("two", path_of("d/x/link")), 0);
    assert_int_equal(stat_blob("d/x/link", &facts), STATUS_NOT_FOUND);
}

static void an_immutable_blob_is_leased(void **state)
{
    (void)state;
    assert_int_equal(put("d/one", "hello"), STATUS_OK);
    int fd = open(path_of("d/one"), O_RDONLY | O_CLOEXEC), flags = 0;
    bool able = ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0;
    flags |= FS_IMMUTABLE_FL;
    able = able && ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0;
    if (able)
        assert_int_equal(store->ops->remove(store, &no_limits, "d/one", GUARD_NONE, NULL, NULL), STATUS_LEASED);
    flags &= ~FS_IMMUTABLE_FL;
    if (able)
        assert_int_equal(ioctl(fd, FS_IOC_SETFLAGS, &flags), 0);
    (void)close(fd);
    if (!able) {
        print_message("SKIPPED: files cannot be made immutable here\n");
        skip();
    }
    assert_int_equal(store->ops->remove(store, &no_limits, "d/one", GUARD_NONE, NULL, NULL), STATUS_OK);
}

/* ---- blocks ---- */

static void blocks_must_tile(void **state)
{
    (void)state;
    struct blob_block a = block_of(0, 0, 0, 4), b = block_of(1, 0, 4, 4), gap = block_of(2, 0, 9, 4);
    assert_int_equal(stage_in(store, "d/one", &a, "aaaa"), STATUS_OK);
    assert_int_equal(stage_in(store, "d/one", &b, "bbbb"), STATUS_OK);
    assert_int_equal(stage_in(store, "d/one", &gap, "cccc"), STATUS_OK);
    struct blob_block twice[] = {a, a}, swapped[] = {b, a}, hole[] = {a, b, gap}, right[] = {a, b};
    struct blob_block longer = a;
    longer.len = 5;
    assert_int_equal(commit("d/one", twice, 2), STATUS_INVALID);
    assert_int_equal(commit("d/one", swapped, 2), STATUS_INVALID);
    assert_int_equal(commit("d/one", hole, 3), STATUS_INVALID);
    assert_int_equal(commit("d/one", &longer, 1), STATUS_INVALID);
    assert_int_equal(commit("d/one", &b, 1), STATUS_INVALID);
    assert_int_equal(commit("d/one", right, 2), STATUS_OK);
    struct blob_facts facts;
    char bytes[8];
    assert_int_equal(stat_blob("d/one", &facts), STATUS_OK);
    assert_int_equal(facts.size_bytes, 8);
    assert_true(facts.crc64 == crc64(0, "aaaabbbb", 8));
    assert_int_equal(read_blob("d/one", facts.etag, 0, bytes, 8), STATUS_OK);
    assert_memory_equal(bytes, "aaaabbbb", 8);
    assert_int_equal(staged(), STAGED_BY_ONE + 2); /* the folders "b" and "b/d" stay */
}

static void an_id_never_carries_other_bytes(void **state)
{
    (void)state;
    struct blob_block a = block_of(0, 0, 0, 4), moved = a, empty = block_of(1, 0, 0, 0);
    assert_int_equal(stage_in(store, "d/one", &a, "aaaa"), STATUS_OK);
    assert_int_equal(stage_in(store, "d/one", &a, "bbbb"), STATUS_INVALID); /* P2 */
    moved.offset = 8;
    assert_int_equal(stage_in(store, "d/one", &moved, "aaaa"), STATUS_INVALID);
    assert_int_equal(stage_in(store, "d/one", &empty, ""), STATUS_INVALID);
    assert_int_equal(commit("d/one", &a, 1), STATUS_OK);
}

/* Blocks of every overlap with each other: whichever are named come out as they were staged. */
static void overlapping_blocks_stay_apart(void **state)
{
    (void)state;
    struct blob_block a = block_of(0, 0, 0, 4), b = block_of(1, 0, 4, 4), tail = block_of(1, 1, 4, 2),
                      whole = block_of(0, 2, 0, 8), middle = block_of(0, 3, 2, 4);
    struct blob_block list[] = {a, tail};
    struct blob_facts facts;
    char bytes[8];
    assert_int_equal(stage_in(store, "d/one", &whole, "wwwwwwww"), STATUS_OK);
    assert_int_equal(stage_in(store, "d/one", &a, "aaaa"), STATUS_OK);
    assert_int_equal(stage_in(store, "d/one", &b, "bbbb"), STATUS_OK);
    assert_int_equal(stage_in(store, "d/one", &tail, "tt"), STATUS_OK);
    assert_int_equal(stage_in(store, "d/one", &middle, "mmmm"), STATUS_OK);
    assert_int_equal(commit("d/one", list, 2), STATUS_OK);
    assert_int_equal(stat_blob("d/one", &facts), STATUS_OK);
    assert_int_equal(facts.size_bytes, 6);
    assert_int_equal(read_blob("d/one", facts.etag, 0, bytes, 6), STATUS_OK);
    assert_memory_equal(bytes, "aaaatt", 6);
}

/* A commit that fails at the very end has already put the named blocks into their places. They are still staged then;
 * the older ones that had lain there are not, and are never taken for staged. */
static void a_late_failure_keeps_what_was_named(void **state)
{
    (void)state;
    struct blob_block old = block_of(0, 0, 0, 4), new = block_of(0, 1, 0, 4), beyond = block_of(1, 0, 4, 4);
    struct blob_block both[] = {new, beyond};
    struct blob_facts facts;
    char bytes[8];
    assert_int_equal(put("d", "a file where a folder should be"), STATUS_OK);
    assert_int_equal(stage_in(store, "d/one", &old, "old!"), STATUS_OK);
    assert_int_equal(stage_in(store, "d/one", &new, "new!"), STATUS_OK);
    assert_int_equal(stage_in(store, "d/one", &beyond, "more"), STATUS_OK);
    assert_int_equal(commit("d/one", &new, 1), STATUS_NOT_DIRECTORY);
    assert_int_equal(store->ops->remove(store, &no_limits, "d", GUARD_NONE, NULL, NULL), STATUS_OK);
    assert_int_equal(commit("d/one", &old, 1), STATUS_INVALID);
    assert_int_equal(commit("d/one", both, 2), STATUS_INVALID);
    assert_int_equal(stage_in(store, "d/one", &beyond, "more"), STATUS_OK);
    assert_int_equal(commit("d/one", both, 2), STATUS_OK);
    assert_int_equal(stat_blob("d/one", &facts), STATUS_OK);
    assert_int_equal(read_blob("d/one", facts.etag, 0, bytes, 8), STATUS_OK);
    assert_memory_equal(bytes, "new!more", 8);
}

struct stager {
    uint32_t generation;
    char bytes[64 * 1024];
};

static void *stage_generation(void *argument)
{
    struct stager *stager = argument;
    for (uint32_t i = 0; i < 4; i++) {
        struct blob_block block = block_of(i, stager->generation, i * sizeof stager->bytes, sizeof stager->bytes);
        if (stage_in(store, "d/one", &block, stager->bytes) != STATUS_OK)
            abort();
    }
    return NULL;
}

/* Late writers of older generations, side by side with newer ones, spoil nothing. */
static void generations_side_by_side(void **state)
{
    (void)state;
    enum { GENERATIONS = 6 };
    static struct stager stagers[GENERATIONS];
    static char got[4 * sizeof stagers->bytes];
    pthread_t threads[GENERATIONS];
    struct blob_block list[4];
    struct blob_facts facts;
    for (uint32_t i = 0; i < GENERATIONS; i++) {
        stagers[i].generation = i;
        memset(stagers[i].bytes, 'a' + (int)i, sizeof stagers[i].bytes);
        assert_int_equal(pthread_create(&threads[i], NULL, stage_generation, &stagers[i]), 0);
    }
    for (uint32_t i = 0; i < GENERATIONS; i++)
        (void)pthread_join(threads[i], NULL);
    for (uint32_t i = 0; i < 4; i++)
        list[i] = block_of(i, (i + 3) % GENERATIONS, i * sizeof stagers->bytes, sizeof stagers->bytes);
    assert_int_equal(commit("d/one", list, 4), STATUS_OK);
    assert_int_equal(stat_blob("d/one", &facts), STATUS_OK);
    assert_int_equal(facts.size_bytes, sizeof got);
    assert_int_equal(read_blob("d/one", facts.etag, 0, got, sizeof got), STATUS_OK);
    assert_true(facts.crc64 == crc64(0, got, sizeof got));
    for (size_t i = 0; i < sizeof got; i++)
        assert_int_equal(got[i], 'a' + (int)((i / sizeof stagers->bytes + 3) % GENERATIONS));
}

/* ---- several stores, and the dead ---- */

static void two_stores_have_one_winner(void **state)
{
    (void)state;
    struct blob_store *other = open_store();
    assert_int_equal(put("d/one", "mine"), STATUS_OK);
    assert_int_equal(put_in(other, "d/one", "other", 5, NULL), STATUS_EXISTS);
    struct blob_block block = block_of(0, 0, 0, 4);
    struct blob_facts facts;
    assert_int_equal(stage_in(store, "d/two", &block, "mine"), STATUS_OK);
    assert_int_equal(stage_in(other, "d/two", &block, "mine"), STATUS_OK);
    assert_int_equal(other->ops->commit(other, &no_limits, "d/two", &block, 1, &about, &facts, NULL), STATUS_OK);
    assert_int_equal(commit("d/two", &block, 1), STATUS_EXISTS);
    struct order order = {0};
    assert_int_equal(stage_in(store, "d/three", &block, "mine"), STATUS_OK);
    assert_int_equal(other->ops->list(other, &no_limits, "", check_order, &order, NULL), STATUS_OK);
    assert_int_equal(order.uncommitted, 1); /* seen from another store too */
    (void)blob_close(other);
    assert_int_equal(commit("d/three", &block, 1), STATUS_OK); /* the other's end has taken nothing from this one */
}

/* A child that stages something, tells so, and dies without a word when it is told to. */
static pid_t dying_child(int *ret_say)
{
    int told[2], say[2];
    char byte = 0;
    assert_int_equal(pipe2(told, O_CLOEXEC), 0);
    assert_int_equal(pipe2(say, O_CLOEXEC), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct blob_store *own = NULL;
        struct blob_block block = block_of(0, 0, 0, 4);
        (void)close(say[1]);
        bool ready = directory_open(root, false, &own, NULL) == STATUS_OK &&
                     stage_in(own, "d/orphan", &block, "left") == STATUS_OK && write(told[1], "x", 1) == 1;
        (void)!read(say[0], &byte, 1);
        _exit(ready ? 0 : 1);
    }
    (void)close(told[1]);
    (void)close(say[0]);
    assert_int_equal(read(told[0], &byte, 1), 1);
    (void)close(told[0]);
    *ret_say = say[1];
    return child;
}

static void the_dead_are_buried_and_the_living_are_not(void **state)
{
    (void)state;
    int say = -1, result = 0;
    struct blob_block block = block_of(0, 0, 0, 4);
    store = blob_close(store);
    assert_int_equal(staged(), 1); /* the gate: an orderly end leaves nothing */
    pid_t child = dying_child(&say);
    store = open_store();
    assert_int_equal(stage_in(store, "d/mine", &block, "mine"), STATUS_OK);
    struct order order = {0};
    assert_int_equal(store->ops->list(store, &no_limits, "", check_order, &order, NULL), STATUS_OK);
    assert_int_equal(order.uncommitted, 2); /* the child lives: its draft is there */
    (void)close(say);
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
    struct blob_store *next = open_store();
    order = (struct order){0};
    assert_int_equal(next->ops->list(next, &no_limits, "", check_order, &order, NULL), STATUS_OK);
    assert_int_equal(order.uncommitted, 1);
    assert_string_equal(order.last, "d/mine");
    (void)blob_close(next);
    assert_int_equal(commit("d/mine", &block, 1), STATUS_OK);
}

/* ---- disks that do not take everything ---- */

static void a_full_disk_keeps_no_part(void **state)
{
    (void)state;
    static char bytes[4 << 20];
    store = blob_close(store);
    if (!private_mount("tmpfs", root, "size=2m")) {
        print_message("SKIPPED: this machine does not let us mount\n");
        store = open_store();
        skip();
    }
    store = open_store();
    struct err err = {0};
    struct blob_facts facts;
    assert_int_equal(put_in(store, "d/one", bytes, sizeof bytes, &err), STATUS_NO_SPACE);
    assert_non_null(strstr(err.message, "d/one"));
    assert_int_equal(stat_blob("d/one", &facts), STATUS_NOT_FOUND);
    assert_int_equal(staged(), STAGED_BY_ONE);
    assert_int_equal(put_in(store, "d/one", bytes, 1 << 20, &err), STATUS_OK); /* the room is free again */
    struct blob_block small = block_of(0, 0, 0, 1 << 19), large = block_of(1, 0, 1 << 19, 1 << 20);
    assert_int_equal(stage_in(store, "d/two", &small, bytes), STATUS_OK);
    assert_int_equal(stage_in(store, "d/two", &large, bytes), STATUS_NO_SPACE);
    struct blob_block list[] = {small, large};
    assert_int_equal(commit("d/two", list, 2), STATUS_INVALID); /* half a block is none */
    assert_int_equal(store->ops->remove(store, &no_limits, "d/one", GUARD_NONE, NULL, &err), STATUS_OK);
    assert_int_equal(stage_in(store, "d/two", &large, bytes), STATUS_OK);
    assert_int_equal(commit("d/two", list, 2), STATUS_OK);
    assert_int_equal(stat_blob("d/two", &facts), STATUS_OK);
    assert_int_equal(facts.size_bytes, 3 << 19);
}

static void a_read_only_disk_can_be_read(void **state)
{
    (void)state;
    char bytes[8], etag[LIMIT_ETAG_BYTES];
    struct blob_facts facts;
    struct err err = {0};
    store = blob_close(store);
    if (!private_mount("tmpfs", root, NULL)) {
        print_message("SKIPPED: this machine does not let us mount\n");
        store = open_store();
        skip();
    }
    store = open_store();
    assert_int_equal(put("d/one", "hello"), STATUS_OK);
    store = blob_close(store);
    assert_true(private_remount_read_only(root));
    assert_int_equal(directory_open(root, false, &store, &err), STATUS_OK);
    assert_int_equal(stat_blob("d/one", &facts), STATUS_OK);
    assert_int_equal(read_blob("d/one", facts.etag, 0, bytes, 5), STATUS_OK);
    struct blob_block block = block_of(0, 0, 0, 1);
    assert_int_equal(put_in(store, "d/two", "x", 1, &err), STATUS_READ_ONLY);
    assert_int_equal(stage_in(store, "d/two", &block, "x"), STATUS_READ_ONLY);
    assert_int_equal(store->ops->remove(store, &no_limits, "d/one", GUARD_NONE, NULL, &err), STATUS_READ_ONLY);
    assert_int_equal(store->ops->control_write(store, &no_limits, ".readyfs/volume", "x", NULL, etag, &err),
                     STATUS_READ_ONLY);
    assert_int_equal(store->ops->unstage(store, &no_limits, "d/two", &about, &err), STATUS_OK);
}

/* As another user, since root may do everything. */
static void without_rights_it_is_refused(void **state)
{
    (void)state;
    struct blob_facts facts;
    struct err err = {0};
    store = blob_close(store);
    assert_int_equal(chmod(scratch.path, 0755), 0);
    assert_int_equal(chmod(root, 0555), 0);
    if (geteuid() == 0 && seteuid(65534)) {
        print_message("SKIPPED: root cannot become another user here\n");
        store = open_store();
        skip();
    }
    enum status opened = directory_open(root, false, &store, &err), refused = STATUS_OK;
    if (opened == STATUS_OK)
        refused = put_in(store, "d/two", "x", 1, &err);
    enum status absent = opened == STATUS_OK ? stat_blob("d/two", &facts) : STATUS_OK;
    store = blob_close(store);
    enum status closed = chmod(root, 0) == 0 || errno == EPERM ? STATUS_OK : STATUS_IO;
    if (getuid() == 0)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(opened, STATUS_OK);
    assert_int_equal(refused, STATUS_ACCESS);
    assert_int_equal(absent, STATUS_NOT_FOUND);
    assert_int_equal(closed, STATUS_OK);
    assert_int_equal(chmod(root, 0700), 0);
    store = open_store();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(open_tells_errors),
        TEST(names_of_its_own_are_refused),
        TEST(files_are_private_and_labelled),
        TEST(labels_lie_beside_where_there_are_no_attributes),
        TEST(a_copy_without_labels_is_nobodys),
        TEST(listings_are_in_byte_order),
        TEST(a_changed_blob_is_not_read),
        TEST(a_vanished_blob_is_not_found),
        TEST(an_immutable_blob_is_leased),
        TEST(blocks_must_tile),
        TEST(an_id_never_carries_other_bytes),
        TEST(overlapping_blocks_stay_apart),
        TEST(a_late_failure_keeps_what_was_named),
        TEST(generations_side_by_side),
        TEST(two_stores_have_one_winner),
        TEST(the_dead_are_buried_and_the_living_are_not),
        TEST(a_full_disk_keeps_no_part),
        TEST(a_read_only_disk_can_be_read),
        TEST(without_rights_it_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
