/* test_fs_content.c - what stands in a file after any sequence of writes, and how it goes up.
 * links: catalogue blob host core document fs
 *
 * Goal: S7 (writes during an upload begin the next version), S9, S10, P10, and the streaming of large files within
 * spool_max. Method: random operations on a file beside a plain array, on both stores, closed and read back; hooks that
 * write while the store works; a spool smaller than the file. The seed is printed.
 */
#include "scenario/fs_kernel.h"

#include <linux/falloc.h>

#define SPAN 60000u /* 15 blocks of lab_settings() */

struct bench {
    struct lab lab;
    struct kernel kernel;
    struct program self;
    struct opened opened; /* for the hooks */
    bool struck;
};

static const char *const kinds[] = {"memory", "directory"};

static void tight(struct fs_options *options)
{
    options->spool_max = 32768;
}

static struct bench *open_bench(const char *kind, void (*change)(struct fs_options *options))
{
    struct bench *bench = calloc(1, sizeof *bench);
    struct settings settings = lab_settings();
    lab_open(&bench->lab, kind);
    kernel_mount_with(&bench->kernel, &bench->lab, &settings, change);
    bench->self = program_self();
    return bench;
}

static void close_bench(struct bench *bench)
{
    kernel_unmount(&bench->kernel);
    lab_done(&bench->lab);
    free(bench);
}

static uint64_t seed = 4711;

static size_t random_below(size_t limit)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(seed >> 33) % limit;
}

/* The file beside which the real one is written. */
struct model {
    unsigned char bytes[SPAN];
    size_t size;
};

static void compare(struct bench *b, const struct opened *opened, const struct model *model)
{
    static unsigned char found[SPAN + 10];
    struct err err = {0};
    size_t done = 0, len = 1;
    while (len) {
        len = 0;
        enum status status = fs_read(b->kernel.fs, &b->self.caller, opened->file.handle, done, found + done,
                                     sizeof found - done < 7000 ? sizeof found - done : 7000, &len, &err);
        if (status != STATUS_OK)
            fail_msg("read at %zu: %s", done, err.message);
        done += len;
    }
    assert_int_equal(done, model->size);
    assert_memory_equal(found, model->bytes, model->size);
}

static void compare_closed(struct bench *b, const char *name, const struct model *model)
{
    struct opened opened;
    OK(kernel_open(&b->kernel, &b->self, name, O_RDONLY, &opened));
    compare(b, &opened, model);
    OK(kernel_close(&b->kernel, &b->self, &opened));
}

static void put_bytes(struct bench *b, const struct opened *opened, struct model *model, size_t offset, size_t len)
{
    static unsigned char bytes[SPAN];
    for (size_t i = 0; i < len; i++)
        bytes[i] = (unsigned char)random_below(251);
    if (offset > model->size)
        memset(model->bytes + model->size, 0, offset - model->size);
    memcpy(model->bytes + offset, bytes, len);
    if (offset + len > model->size)
        model->size = offset + len;
    OK(kernel_write(&b->kernel, &b->self, opened, offset, bytes, len));
}

static void set_size(struct bench *b, const struct opened *opened, struct model *model, size_t size)
{
    struct stat stat = {.st_size = (off_t)size};
    double timeout = 0;
    struct err err = {0};
    if (size > model->size)
        memset(model->bytes + model->size, 0, size - model->size);
    model->size = size;
    OK(fs_setattr(b->kernel.fs, &b->self.caller, opened->node, opened->file.handle, &stat, FS_SET_SIZE, &stat, &timeout,
                  &err));
    assert_int_equal(stat.st_size, size);
}

static void punch(struct bench *b, const struct opened *opened, struct model *model, size_t offset, size_t len)
{
    struct err err = {0};
    if (offset < model->size)
        memset(model->bytes + offset, 0, offset + len < model->size ? len : model->size - offset);
    OK(fs_fallocate(b->kernel.fs, &b->self.caller, opened->file.handle, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    offset, len, &err));
}

static void one_change(struct bench *b, const struct opened *opened, struct model *model)
{
    size_t offset = random_below(SPAN - 10000), len = 1 + random_below(random_below(3) ? 300 : 9000);
    switch (random_below(10)) {
    case 0: set_size(b, opened, model, random_below(SPAN)); break;
    case 1: punch(b, opened, model, offset, len); break;
    case 2: put_bytes(b, opened, model, model->size < SPAN - 10000 ? model->size : 0, len); break;
    case 3: OK(kernel_flush(&b->kernel, &b->self, opened)); break;
    case 4: compare(b, opened, model); break;
    default: put_bytes(b, opened, model, offset, len);
    }
}

/* S10: random changes, flushes in between, over a new and over an existing document. */
static void any_sequence_of_changes_is_kept(void **state)
{
    (void)state;
    print_message("seed %llu\n", (unsigned long long)seed);
    static struct model model;
    for (size_t kind = 0; kind < 2; kind++) {
        struct bench *b = open_bench(kinds[kind], NULL);
        memset(&model, 0, sizeof model);
        for (int round = 0; round < 25; round++) {
            struct opened opened;
            OK(kernel_open(&b->kernel, &b->self, "f", O_RDWR | O_CREAT, &opened));
            for (size_t i = random_below(12); i > 0; i--)
                one_change(b, &opened, &model);
            compare(b, &opened, &model);
            OK(kernel_close(&b->kernel, &b->self, &opened));
            compare_closed(b, "f", &model);
        }
        lab_sweep(b->kernel.session);
        lab_audit(b->kernel.session);
        close_bench(b);
    }
}

/* The blocks of a file that is written through go up while it is written; the close has the tail to send. */
static void a_large_file_goes_up_while_it_is_written(void **state)
{
    (void)state;
    static struct model model;
    struct bench *b = open_bench("memory", NULL);
    struct opened opened;
    memset(&model, 0, sizeof model);
    OK(kernel_open(&b->kernel, &b->self, "f", O_WRONLY | O_CREAT, &opened));
    put_bytes(b, &opened, &model, 0, 4096);
    assert_int_equal(b->lab.blobs.counts[CALL_STAGE], 0); /* it may stay a file of one block */
    for (size_t at = 4096; at < 5 * 4096 + 10; at += 1000)
        put_bytes(b, &opened, &model, at, 1000);
    unsigned staged = b->lab.blobs.counts[CALL_STAGE];
    assert_int_equal(staged, 5);
    put_bytes(b, &opened, &model, 100, 10); /* a block that was sent already */
    OK(kernel_close(&b->kernel, &b->self, &opened));
    assert_int_equal(b->lab.blobs.counts[CALL_STAGE], staged + 2);
    assert_int_equal(b->lab.blobs.counts[CALL_COMMIT], 1);
    compare_closed(b, "f", &model);
    close_bench(b);
}

/* A file of one block is one put, whatever it took to write it. */
static void a_small_file_is_one_put(void **state)
{
    (void)state;
    static struct model model;
    struct bench *b = open_bench("memory", NULL);
    struct opened opened;
    memset(&model, 0, sizeof model);
    unsigned puts = b->lab.blobs.counts[CALL_PUT];
    OK(kernel_open(&b->kernel, &b->self, "f", O_WRONLY | O_CREAT, &opened));
    for (size_t at = 0; at < 4096; at += 512)
        put_bytes(b, &opened, &model, at, 512);
    OK(kernel_close(&b->kernel, &b->self, &opened));
    assert_int_equal(b->lab.blobs.counts[CALL_STAGE], 0);
    assert_int_equal(b->lab.blobs.counts[CALL_PUT], puts + 1);
    compare_closed(b, "f", &model);
    close_bench(b);
}

/* A file larger than spool_max, written through: what is settled leaves the spool. */
static void a_file_larger_than_the_spool_goes_up(void **state)
{
    (void)state;
    static struct model model;
    struct bench *b = open_bench("memory", tight);
    struct opened opened;
    memset(&model, 0, sizeof model);
    OK(kernel_open(&b->kernel, &b->self, "f", O_WRONLY | O_CREAT, &opened));
    for (size_t at = 0; at + 3000 <= SPAN; at += 3000)
        put_bytes(b, &opened, &model, at, 3000);
    OK(kernel_close(&b->kernel, &b->self, &opened));
    compare_closed(b, "f", &model);
    OK(kernel_open(&b->kernel, &b->self, "g", O_WRONLY | O_CREAT, &opened)); /* the limit is free again */
    put_bytes(b, &opened, &(struct model){.size = 0}, 0, 30000);
    OK(kernel_close(&b->kernel, &b->self, &opened));
    close_bench(b);
}

/* S9: bytes that cannot leave the spool fill it: ENOSPC, and close fails too. */
static void a_full_spool_is_no_space(void **state)
{
    (void)state;
    static struct model model;
    struct bench *b = open_bench("memory", tight);
    struct opened opened;
    char *bytes = calloc(1, 30000);
    memset(&model, 0, sizeof model);
    OK(kernel_open(&b->kernel, &b->self, "f", O_RDWR | O_CREAT, &opened));
    put_bytes(b, &opened, &model, 0, 1000);
    compare(b, &opened, &model); /* read back: everything must stay readable */
    put_bytes(b, &opened, &model, 1000, 29000);
    compare(b, &opened, &model);
    assert_int_equal(kernel_write(&b->kernel, &b->self, &opened, 30000, bytes, 30000), STATUS_NO_SPACE);
    assert_int_equal(kernel_write(&b->kernel, &b->self, &opened, 0, bytes, 1), STATUS_NO_SPACE); /* and at once */
    assert_int_equal(kernel_close(&b->kernel, &b->self, &opened), STATUS_NO_SPACE);
    expect_file(&b->kernel, &b->self, "f", NULL);
    assert_int_equal(kernel_kept(&b->kernel).size, 30000);
    free(bytes);
    close_bench(b);
}

static void write_meanwhile(void *context, enum lab_call call, const char *name)
{
    struct bench *b = context;
    (void)name;
    if (call != CALL_PUT || b->struck)
        return;
    b->struck = true;
    OK(kernel_text(&b->kernel, &b->self, &b->opened, 2, "XY"));
}

/* S7: what is written while an upload runs is not in it, but in the next version. */
static void writes_during_an_upload_begin_the_next_version(void **state)
{
    (void)state;
    for (int fails = 0; fails < 2; fails++) {
        struct bench *b = open_bench("memory", NULL);
        struct program other = program_other();
        OK(kernel_open(&b->kernel, &b->self, "f", O_RDWR | O_CREAT, &b->opened));
        OK(kernel_text(&b->kernel, &b->self, &b->opened, 0, "abcdef"));
        b->lab.blobs.hook = write_meanwhile;
        b->lab.blobs.hook_context = b;
        if (fails) { /* then the next version has both */
            b->lab.blobs.fault_call = CALL_PUT;
            b->lab.blobs.fault = FAULT_REFUSE;
            b->lab.blobs.fault_times = 1;
        }
        assert_int_equal(kernel_flush(&b->kernel, &b->self, &b->opened), fails ? STATUS_IO : STATUS_OK);
        assert_true(b->struck);
        expect_file(&b->kernel, &other, "f", fails ? "abXYef" : "abcdef"); /* never Ready: the workspace */
        expect_read(&b->kernel, &b->self, &b->opened, "abXYef");
        OK(kernel_close(&b->kernel, &b->self, &b->opened));
        expect_file(&b->kernel, &other, "f", "abXYef");
        program_end(&other);
        close_bench(b);
    }
}

/* A small change of a large document sends its block; the rest is copied where the store can. */
static void a_small_change_sends_little(void **state)
{
    (void)state;
    static struct model model;
    struct bench *b = open_bench("memory", NULL);
    struct opened opened;
    memset(&model, 0, sizeof model);
    OK(kernel_open(&b->kernel, &b->self, "f", O_WRONLY | O_CREAT, &opened));
    put_bytes(b, &opened, &model, 0, 10 * 4096 + 5);
    OK(kernel_close(&b->kernel, &b->self, &opened));
    unsigned staged = b->lab.blobs.counts[CALL_STAGE];
    OK(kernel_open(&b->kernel, &b->self, "f", O_WRONLY, &opened));
    put_bytes(b, &opened, &model, 3 * 4096 + 17, 100);
    OK(kernel_close(&b->kernel, &b->self, &opened));
    assert_int_equal(b->lab.blobs.counts[CALL_STAGE], staged + 1);
    compare_closed(b, "f", &model);
    OK(kernel_open(&b->kernel, &b->self, "f", O_WRONLY | O_APPEND, &opened));
    put_bytes(b, &opened, &model, model.size, 100);
    OK(kernel_close(&b->kernel, &b->self, &opened));
    assert_int_equal(b->lab.blobs.counts[CALL_STAGE], staged + 2);
    compare_closed(b, "f", &model);
    close_bench(b);
}

/* Holes are told: SEEK_DATA, SEEK_HOLE, and the end of everything. */
static void holes_are_told(void **state)
{
    (void)state;
    struct bench *b = open_bench("memory", NULL);
    struct opened opened;
    struct err err = {0};
    uint64_t at = 0;
    struct fs *fs = b->kernel.fs;
    OK(kernel_open(&b->kernel, &b->self, "f", O_RDWR | O_CREAT, &opened));
    OK(kernel_text(&b->kernel, &b->self, &opened, 1000, "data"));
    OK(fs_lseek(fs, opened.file.handle, 0, SEEK_DATA, &at, &err));
    assert_int_equal(at, 1000);
    OK(fs_lseek(fs, opened.file.handle, 0, SEEK_HOLE, &at, &err));
    assert_int_equal(at, 0);
    OK(fs_lseek(fs, opened.file.handle, 1002, SEEK_HOLE, &at, &err));
    assert_int_equal(at, 1004);
    assert_int_equal(fs_lseek(fs, opened.file.handle, 1004, SEEK_DATA, &at, &err), STATUS_BEYOND_END);
    assert_int_equal(fs_fallocate(fs, &b->self.caller, opened.file.handle, FALLOC_FL_COLLAPSE_RANGE, 0, 1, &err),
                     STATUS_UNSUPPORTED);
    OK(fs_fallocate(fs, &b->self.caller, opened.file.handle, 0, 0, 2000, &err));
    assert_int_equal(fs_lseek(fs, opened.file.handle, 1004, SEEK_DATA, &at, &err), STATUS_BEYOND_END);
    OK(kernel_close(&b->kernel, &b->self, &opened));
    OK(kernel_open(&b->kernel, &b->self, "f", O_RDONLY, &opened));
    OK(fs_lseek(fs, opened.file.handle, 5, SEEK_HOLE, &at, &err));
    assert_int_equal(at, 2000);
    assert_int_equal(fs_lseek(fs, opened.file.handle, 2000, SEEK_DATA, &at, &err), STATUS_BEYOND_END);
    OK(kernel_close(&b->kernel, &b->self, &opened));
    close_bench(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_sequence_of_changes_is_kept),
        cmocka_unit_test(a_large_file_goes_up_while_it_is_written),
        cmocka_unit_test(a_small_file_is_one_put),
        cmocka_unit_test(a_file_larger_than_the_spool_goes_up),
        cmocka_unit_test(a_full_spool_is_no_space),
        cmocka_unit_test(writes_during_an_upload_begin_the_next_version),
        cmocka_unit_test(a_small_change_sends_little),
        cmocka_unit_test(holes_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
