/* test_fs_races.c - what programs meet while others replace and remove the very file that they open.
 * links: catalogue blob host core document fs
 *
 * Goal: the kernel walks a path again only once, so a second try must be accepted whatever happens between its LOOKUP
 * and its OPEN (S3); a file that is removed on the mount that writes it closes with 0 (S17), however close the two
 * come. Method: one thread replaces or removes without pause, others open, write and close as the kernel would let
 * them; the number of rounds is fixed.
 */
#include "scenario/fs_kernel.h"

#include <pthread.h>

#define ROUNDS 400

static void be_quiet(struct fs_options *options)
{
    options->notify = (struct fs_notify){.context = NULL}; /* the told-of would be counted by many threads */
}

struct side {
    struct kernel *kernel; /* its filesystem is shared, its list of look-ups is not used here */
    struct program program;
    atomic_bool *stop;
    int flags; /* of the opens */
    unsigned opened, stale, failed;
};

static enum status look(struct side *side, const char *name, struct fs_entry *ret_entry)
{
    struct err err = {0};
    return fs_lookup(side->kernel->fs, &side->program.caller, FS_ROOT, name, ret_entry, &err);
}

/* open(2) of "a": at most two walks. NOT_FOUND where it is not there just now. */
static enum status open_twice(struct side *side, struct fs_opened *ret_opened, struct fs_entry *ret_entry)
{
    struct fs *fs = side->kernel->fs;
    struct err err = {0};
    enum status status = STATUS_STALE;
    for (int attempt = 0; attempt < 2 && status == STATUS_STALE; attempt++) {
        status = look(side, "a", ret_entry);
        if (status != STATUS_OK || !(ret_entry->node || side->flags & O_CREAT))
            return status == STATUS_OK ? STATUS_NOT_FOUND : status;
        if (!ret_entry->node) {
            status = fs_create(fs, &side->program.caller, FS_ROOT, "a", 0644, side->flags, ret_entry, ret_opened, &err);
            continue;
        }
        status = fs_open_file(fs, &side->program.caller, ret_entry->node, side->flags, ret_opened, &err);
        if (status != STATUS_OK)
            fs_forget(fs, ret_entry->node, 1);
    }
    return status;
}

static enum status write_and_close(struct side *side, const struct fs_opened *opened)
{
    struct fs *fs = side->kernel->fs;
    struct err err = {0};
    size_t written = 0;
    enum status status = STATUS_OK;
    if (side->flags & O_WRONLY) {
        status = fs_write(fs, &side->program.caller, opened->handle, 0, "text", 4, &written, &err);
        if (status == STATUS_OK)
            status = fs_flush(fs, &side->program.caller, opened->handle, &err);
    }
    fs_release_announce(fs, opened->handle);
    fs_release(fs, &side->program.caller, opened->handle);
    return status;
}

static void *open_again_and_again(void *context)
{
    struct side *side = context;
    while (!atomic_load(side->stop)) {
        struct fs_opened opened;
        struct fs_entry entry;
        enum status status = open_twice(side, &opened, &entry);
        side->stale += status == STATUS_STALE;
        side->failed += status != STATUS_OK && status != STATUS_STALE && status != STATUS_NOT_FOUND;
        if (status != STATUS_OK)
            continue;
        side->opened++;
        side->failed += write_and_close(side, &opened) != STATUS_OK;
        fs_forget(side->kernel->fs, entry.node, 1);
    }
    return NULL;
}

/* `printf > b; mv b a`, or `rm a` every other time where that is wanted. */
static void replace_again_and_again(struct side *side, bool remove_too)
{
    struct err err = {0};
    for (int round = 0; round < ROUNDS; round++) {
        kernel_put(side->kernel, &side->program, "b", "replaced");
        OK(fs_rename(side->kernel->fs, &side->program.caller, FS_ROOT, "b", FS_ROOT, "a", 0, &err));
        if (remove_too && round & 1)
            OK(fs_unlink(side->kernel->fs, &side->program.caller, FS_ROOT, "a", &err));
        kernel_forget(side->kernel);
    }
}

struct bench {
    struct lab lab;
    struct kernel kernels[2]; /* two mounts of one catalogue */
    struct program programs[4];
};

static int begin(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);
    lab_open(&bench->lab, "memory");
    struct settings settings = lab_settings();
    for (size_t i = 0; i < 2; i++)
        kernel_mount_with(&bench->kernels[i], &bench->lab, &settings, be_quiet);
    for (size_t i = 0; i < 4; i++)
        bench->programs[i] = program_other();
    kernel_put(&bench->kernels[0], &bench->programs[0], "a", "first");
    *state = bench;
    return 0;
}

static int end(void **state)
{
    struct bench *bench = *state;
    for (size_t i = 0; i < 2; i++)
        kernel_unmount(&bench->kernels[i]);
    for (size_t i = 0; i < 4; i++)
        program_end(&bench->programs[i]);
    lab_done(&bench->lab);
    free(bench);
    return 0;
}

/* Three sides on one mount, with these flags, while it is replaced on another or the same. */
static void race(struct bench *b, size_t replacing, bool remove_too, const int flags[3], bool may_fail)
{
    atomic_bool stop = false;
    struct side sides[3], replacer = {.kernel = &b->kernels[replacing], .program = b->programs[3]};
    pthread_t threads[3];
    for (size_t i = 0; i < 3; i++) {
        sides[i] = (struct side){.kernel = &b->kernels[0], .program = b->programs[i], .stop = &stop, .flags = flags[i]};
        assert_int_equal(pthread_create(&threads[i], NULL, open_again_and_again, &sides[i]), 0);
    }
    replace_again_and_again(&replacer, remove_too);
    atomic_store(&stop, true);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(sides[i].stale, 0);
        assert_true(sides[i].opened > 0);
        if (!may_fail)
            assert_int_equal(sides[i].failed, 0);
    }
}

/* S11 lets a close fail whose document was removed by another session; no open may. */
static void opens_survive_replacement_elsewhere(void **state)
{
    static const int flags[3] = {O_RDONLY, O_RDONLY, O_WRONLY | O_TRUNC};
    race(*state, 1, false, flags, true);
}

static void creations_survive_removal_elsewhere(void **state)
{
    static const int flags[3] = {O_RDONLY, O_WRONLY | O_CREAT | O_TRUNC, O_WRONLY | O_CREAT};
    race(*state, 1, true, flags, true);
}

/* S17 */
static void a_close_after_removal_here_is_fine(void **state)
{
    static const int flags[3] = {O_RDONLY, O_WRONLY | O_CREAT | O_TRUNC, O_WRONLY | O_CREAT};
    race(*state, 0, true, flags, false);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(opens_survive_replacement_elsewhere),
        TEST(creations_survive_removal_elsewhere),
        TEST(a_close_after_removal_here_is_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
