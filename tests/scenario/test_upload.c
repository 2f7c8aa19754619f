/* test_upload.c - goal: whatever a program does to a file while it goes up, the published bytes are those that it left,
 * each block was sent under an id of its own (P2), checked (P4), and a store that stands still ends the close within
 * its deadline (S23).
 * links: catalogue blob host core document
 *
 * Method: a source that the test changes at will, hooks that change it in the middle of an exchange, real workers as
 * well as none, and a table of all block ids with the digest of what each carried.
 */
#include "unit.h"

#include "base/digest.h"
#include "document/pin.h"
#include "document/single.h"
#include "document/txn.h"
#include "document/upload_internal.h"
#include "host/worker.h"
#include "support/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 4096
#define ROOM  (40 * BLOCK)

/* A file that a program writes. */
struct file {
    pthread_mutex_t mutex;
    char bytes[ROOM];
    unsigned reads;
};

struct fixture {
    struct lab lab;
    struct client client;
    struct file file;
    struct upload *upload;
    int64_t document, version; /* as last published */
};

static enum status read_file(void *context, uint64_t offset, void *ret_bytes, size_t len, struct err *err)
{
    struct file *file = context;
    if (offset + len > ROOM)
        return err_set(err, STATUS_IO, "read beyond the file");
    (void)pthread_mutex_lock(&file->mutex);
    file->reads++;
    memcpy(ret_bytes, file->bytes + offset, len);
    (void)pthread_mutex_unlock(&file->mutex);
    return STATUS_OK;
}

static void write_file(struct file *file, size_t offset, size_t len, char with)
{
    (void)pthread_mutex_lock(&file->mutex);
    memset(file->bytes + offset, with, len);
    (void)pthread_mutex_unlock(&file->mutex);
}

static void begin_with(struct fixture *f, const char *kind, unsigned workers)
{
    struct err err = {0};
    struct settings settings = lab_settings();
    lab_open(&f->lab, kind);
    if (workers && workers_open(workers, &f->lab.workers, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    client_open(&f->client, &f->lab, &settings, SESSION_MOUNT);
    (void)pthread_mutex_init(&f->file.mutex, NULL);
    for (size_t i = 0; i < ROOM; i++)
        f->file.bytes[i] = (char)('A' + i / BLOCK + i % 53 % 7);
    f->file.reads = 0;
    struct op op;
    assert_int_equal(client_reserve(&f->client, CATALOGUE_ROOT, "f", 0, &op), STATUS_OK);
    f->document = op.ret_document.id;
    f->version = 0;
}

static void begin(struct fixture *f)
{
    begin_with(f, "memory", 0);
}

static void start(struct fixture *f)
{
    struct err err = {0};
    const struct upload_source source = {read_file, &f->file};
    const struct upload_target target = {.document = f->document};
    if (upload_begin(f->client.session, &target, &source, &f->upload, &err) != STATUS_OK)
        fail_msg("%s", err.message);
}

static void publish(struct fixture *f)
{
    struct err err = {0};
    struct op op = {.kind = OP_PUT, .document = f->document};
    op.put.upload = f->upload;
    op.put.base = f->version;
    f->upload = NULL;
    if (single_publish(f->client.session, &op, NULL, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    f->version = op.ret_document.version;
}

static void finish(struct fixture *f, size_t size)
{
    struct err err = {0};
    if (upload_finish(f->upload, size, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    publish(f);
}

/* The document is the first `size` bytes of the file. */
static void expect(struct fixture *f, size_t size)
{
    struct err err = {0};
    struct pin *pin = NULL;
    assert_int_equal(pin_open(f->client.session, f->document, &pin, &err), STATUS_OK);
    assert_int_equal(pin_version(pin)->size_bytes, size);
    char *bytes = malloc(size + 1);
    size_t len = 0;
    if (pin_read(pin, 0, bytes, size, &len, NULL, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_int_equal(len, size);
    if (size)
        assert_memory_equal(bytes, f->file.bytes, size);
    free(bytes);
    pin_close(pin);
}

static bool ids_differ; /* P2: some id was seen with two contents; protected by ids_mutex */

static void end(struct fixture *f)
{
    assert_false(ids_differ);
    client_hook(&f->client, NULL, NULL);
    client_no_faults(&f->client);
    lab_sweep(f->client.session);
    client_expect_converged(&f->client, client_pool(&f->client));
    client_close(&f->client);
    if (f->lab.workers != workers_inline())
        workers_close(f->lab.workers);
    (void)pthread_mutex_destroy(&f->file.mutex);
    lab_done(&f->lab);
}

/* ---- sizes ---- */

/* Blocks handed over while the file grew, then the file cut to any size around the borders of the plan. */
static void test_a_file_that_shrank(void **state)
{
    (void)state;
    static const size_t sizes[] = {0,         1,         BLOCK - 1,     BLOCK,         BLOCK + 1,
                                   2 * BLOCK, 3 * BLOCK, 3 * BLOCK + 1, 4 * BLOCK - 1, 4 * BLOCK};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct fixture f;
        begin_with(&f, i % 2 ? "directory" : "memory", (unsigned)(i % 3));
        start(&f);
        for (uint32_t block = 0; block < 4; block++)
            upload_block(f.upload, block);
        finish(&f, sizes[i]);
        expect(&f, sizes[i]);
        end(&f);
    }
}

/* ---- changes on the way ---- */

/* P2: an id never carries different bytes. */
static struct {
    char id[BLOCK_ID_TEXT_SIZE];
    uint64_t crc;
} ids[4096];
static size_t ids_count;
static enum status (*stage_below)(struct blob_store *store, const struct call *call, const char *name,
                                  const struct blob_block *block, const void *bytes, uint64_t crc64, struct err *err);
static pthread_mutex_t ids_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct blob_ops watched;

static enum status watch_stage(struct blob_store *store, const struct call *call, const char *name,
                               const struct blob_block *block, const void *bytes, uint64_t crc64, struct err *err)
{
    (void)pthread_mutex_lock(&ids_mutex);
    size_t i = 0;
    while (i < ids_count && strcmp(ids[i].id, block->id) != 0)
        i++;
    if (i < ids_count && ids[i].crc != crc64)
        ids_differ = true;
    memcpy(ids[i].id, block->id, sizeof ids[i].id);
    ids[i].crc = crc64;
    ids_count += i == ids_count;
    (void)pthread_mutex_unlock(&ids_mutex);
    return stage_below(store, call, name, block, bytes, crc64, err);
}

static void watch_ids(struct fixture *f)
{
    ids_count = 0;
    ids_differ = false;
    watched = *f->client.blobs.ops;
    stage_below = watched.stage;
    watched.stage = watch_stage;
    f->client.blobs.ops = &watched;
}

/* A program that writes to blocks which were sent already, which wait, and which are just on their way. */
static void test_touched_on_the_way(void **state)
{
    (void)state;
    for (unsigned workers = 0; workers < 4; workers += 3) {
        struct fixture f;
        begin_with(&f, "memory", workers);
        watch_ids(&f);
        start(&f);
        for (int round = 0; round < 6; round++) {
            for (uint32_t block = 0; block < 8; block++)
                upload_block(f.upload, block);
            size_t offset = (size_t)round * BLOCK + 100;
            write_file(&f.file, offset, BLOCK, (char)('a' + round));
            upload_touch(f.upload, offset, BLOCK); /* two blocks */
            write_file(&f.file, 0, 1, (char)('0' + round));
            upload_touch(f.upload, 0, 1);
        }
        finish(&f, 8 * BLOCK + 17);
        expect(&f, 8 * BLOCK + 17);
        end(&f);
    }
}

/* The same in the very middle of the exchange that carries the block. */
static void touch_meanwhile(void *context, enum port_call call, const char *name)
{
    struct fixture *f = context;
    (void)name;
    if (call != PORT_STAGE)
        return;
    client_hook(&f->client, NULL, NULL);
    write_file(&f->file, 10, 10, 'z');
    upload_touch(f->upload, 10, 10);
}

static void test_touched_in_flight(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    watch_ids(&f);
    start(&f);
    client_hook(&f.client, touch_meanwhile, &f);
    upload_block(f.upload, 0);
    assert_int_equal(upload_settled_blocks(f.upload), 0); /* what was staged is not what is there now */
    upload_block(f.upload, 0);
    assert_int_equal(upload_settled_blocks(f.upload), 1);
    finish(&f, 2 * BLOCK);
    expect(&f, 2 * BLOCK);
    end(&f);
}

/* ---- unchanged ranges ---- */

static void first_version(struct fixture *f, size_t size)
{
    start(f);
    finish(f, size);
    lab_sweep(f->client.session);
    client_reset_counts(&f->client);
}

/* Unchanged ranges that begin and end anywhere, of a base that is shorter, longer or as long: what is copied is whole
 * blocks of it, and the bytes are right. */
static void test_unchanged_ranges(void **state)
{
    (void)state;
    static const size_t sizes[] = {3 * BLOCK, 4 * BLOCK - 100, 4 * BLOCK, 4 * BLOCK + 1, 6 * BLOCK + 5};
    static const struct {
        size_t from, to;
    } ranges[] = {{0, 4 * BLOCK - 100},        {1, 4 * BLOCK - 100}, {BLOCK, 3 * BLOCK}, {BLOCK, 3 * BLOCK - 1}, {0, 0},
                  {3 * BLOCK, 4 * BLOCK - 100}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t j = 0; j < sizeof ranges / sizeof *ranges; j++) {
            struct fixture f;
            begin(&f);
            first_version(&f, 4 * BLOCK - 100);
            struct pin *base = NULL;
            assert_int_equal(pin_open(f.client.session, f.document, &base, NULL), STATUS_OK);
            write_file(&f.file, 0, ranges[j].from, 'n');
            write_file(&f.file, ranges[j].to, ROOM - ranges[j].to, 'n');
            start(&f);
            assert_int_equal(upload_unchanged(f.upload, base, ranges[j].from, ranges[j].to - ranges[j].from, NULL),
                             STATUS_OK);
            finish(&f, sizes[i]);
            expect(&f, sizes[i]);
            pin_close(base);
            end(&f);
        }
}

/* Told unchanged, then written to after all; and a copy that is refused, lost, or not what was expected. */
static void test_unchanged_no_more(void **state)
{
    (void)state;
    static const enum port_fate fates[] = {FATE_DONE, FATE_REFUSED, FATE_LOST};
    for (size_t i = 0; i < 3; i++) {
        struct fixture f;
        begin(&f);
        watch_ids(&f);
        first_version(&f, 4 * BLOCK);
        struct pin *base = NULL;
        assert_int_equal(pin_open(f.client.session, f.document, &base, NULL), STATUS_OK);
        start(&f);
        assert_int_equal(upload_unchanged(f.upload, base, 0, 4 * BLOCK, NULL), STATUS_OK);
        write_file(&f.file, BLOCK + 1, 1, 'n');
        upload_touch(f.upload, BLOCK + 1, 1);
        if (fates[i] != FATE_DONE)
            client_fault(&f.client, (struct port_fault){.call = PORT_COPY, .fate = fates[i], .times = 2});
        finish(&f, 4 * BLOCK);
        /* Where one copy fails the others are not tried: each might take a deadline. */
        assert_int_equal(atomic_load(&f.client.counts[PORT_COPY]), fates[i] == FATE_DONE ? 3 : 1);
        assert_int_equal(atomic_load(&f.client.counts[PORT_STAGE]), fates[i] == FATE_DONE ? 1 : 4);
        expect(&f, 4 * BLOCK);
        pin_close(base);
        end(&f);
    }
}

/* P2: touched while its copy is under way, which then fails: it is not sent under the copy's id, which may still bring
 * the old bytes, but once, anew. */
static void touch_while_copied(void *context, enum port_call call, const char *name)
{
    struct fixture *f = context;
    (void)name;
    if (call != PORT_COPY)
        return;
    client_hook(&f->client, NULL, NULL);
    write_file(&f->file, 10, 10, 'z');
    upload_touch(f->upload, 10, 10);
}

static void test_touched_while_copied(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    first_version(&f, 4 * BLOCK);
    struct pin *base = NULL;
    assert_int_equal(pin_open(f.client.session, f.document, &base, NULL), STATUS_OK);
    start(&f);
    assert_int_equal(upload_unchanged(f.upload, base, 0, 4 * BLOCK, NULL), STATUS_OK);
    client_hook(&f.client, touch_while_copied, &f);
    client_fault(&f.client, (struct port_fault){.call = PORT_COPY, .fate = FATE_LOST});
    finish(&f, 4 * BLOCK);
    assert_int_equal(atomic_load(&f.client.counts[PORT_COPY]), 1);
    assert_int_equal(atomic_load(&f.client.counts[PORT_STAGE]), 4);
    expect(&f, 4 * BLOCK);
    pin_close(base);
    end(&f);
}

/* P4: the server copied something else than the base's block: that is seen by its digest, and the bytes are sent. */
static enum status (*copy_below)(struct blob_store *store, const struct call *call, const char *name,
                                 const struct blob_block *block, const char *source, const char *source_etag,
                                 uint64_t source_offset, uint64_t *ret_crc64, struct err *err);

static enum status wrong_copy(struct blob_store *store, const struct call *call, const char *name,
                              const struct blob_block *block, const char *source, const char *source_etag,
                              uint64_t source_offset, uint64_t *ret_crc64, struct err *err)
{
    return copy_below(store, call, name, block, source, source_etag, source_offset ? 0 : BLOCK, ret_crc64, err);
}

static void test_wrong_copies(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    first_version(&f, 4 * BLOCK);
    struct pin *base = NULL;
    assert_int_equal(pin_open(f.client.session, f.document, &base, NULL), STATUS_OK);
    watched = *f.client.blobs.ops;
    copy_below = watched.stage_from;
    watched.stage_from = wrong_copy;
    f.client.blobs.ops = &watched;
    start(&f);
    assert_int_equal(upload_unchanged(f.upload, base, 0, 4 * BLOCK, NULL), STATUS_OK);
    finish(&f, 4 * BLOCK);
    assert_int_equal(atomic_load(&f.client.counts[PORT_STAGE]), 4);
    expect(&f, 4 * BLOCK);
    pin_close(base);
    end(&f);
}

/* The base's ETag was recorded anew since it was pinned (P7): what cannot be copied is sent. */
static void test_unchanged_of_a_touched_base(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    first_version(&f, 4 * BLOCK);
    struct pin *base = NULL;
    assert_int_equal(pin_open(f.client.session, f.document, &base, NULL), STATUS_OK);
    struct blob_facts facts;
    const struct version_row *row = pin_version(base);
    const struct blob_about about = {.catalogue = "x", .token = row->token, .pending = false};
    struct blob_store *below = f.lab.blobs.below;
    const struct call call = {0};
    uint64_t crc = crc64(0, f.file.bytes, 4 * BLOCK);
    assert_int_equal(below->ops->remove(below, &call, row->blob, GUARD_NONE, NULL, NULL), STATUS_OK);
    assert_int_equal(below->ops->put(below, &call, row->blob, f.file.bytes, 4 * BLOCK, crc, &about, &facts, NULL),
                     STATUS_OK);
    start(&f);
    assert_int_equal(upload_unchanged(f.upload, base, 0, 4 * BLOCK, NULL), STATUS_OK);
    finish(&f, 4 * BLOCK);
    expect(&f, 4 * BLOCK);
    pin_close(base);
    end(&f);
}

/* ---- failures ---- */

/* P4: the server checks each block; one that arrived wrong is refused and sent again, or the close fails. */
static enum status corrupt_stage(struct blob_store *store, const struct call *call, const char *name,
                                 const struct blob_block *block, const void *bytes, uint64_t crc64, struct err *err)
{
    return stage_below(store, call, name, block, bytes, crc64 ^ 1, err);
}

static void test_a_block_that_arrives_wrong(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    watched = *f.client.blobs.ops;
    stage_below = watched.stage;
    watched.stage = corrupt_stage;
    f.client.blobs.ops = &watched;
    start(&f);
    struct err err = {0};
    assert_int_equal(upload_finish(f.upload, 2 * BLOCK, &err), STATUS_CORRUPT);
    assert_int_equal(err.status, STATUS_CORRUPT);
    assert_non_null(strstr(err.message, "block"));
    watched.stage = stage_below;
    assert_int_equal(upload_finish(f.upload, 2 * BLOCK, &err), STATUS_OK); /* the same upload, tried again */
    publish(&f);
    expect(&f, 2 * BLOCK);
    end(&f);
}

/* Refused once or twice: sent again under a new id, and the close succeeds. */
static void test_refused_blocks_are_sent_again(void **state)
{
    (void)state;
    for (unsigned times = 1; times <= 2; times++) {
        struct fixture f;
        begin_with(&f, "directory", times == 2 ? 3 : 0);
        watch_ids(&f);
        start(&f);
        client_fault(&f.client, (struct port_fault){.call = PORT_STAGE, .fate = FATE_REFUSED, .times = times});
        upload_block(f.upload, 0);
        finish(&f, 5 * BLOCK);
        expect(&f, 5 * BLOCK);
        end(&f);
    }
}

/* The store stands still for a whole deadline: the blocks that are left are not each given one of their own. */
static void stand_still(void *context, enum port_call call, const char *name)
{
    struct fixture *f = context;
    (void)name;
    if (call == PORT_STAGE)
        f->lab.clock.boot_ms += f->client.session->settings.deadline_ms;
}

static void test_a_store_that_stands_still(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    start(&f);
    client_hook(&f.client, stand_still, &f);
    client_fault(&f.client, (struct port_fault){
                                .call = PORT_STAGE, .fate = FATE_REFUSED, .refusal = STATUS_TIMEOUT, .times = 1000});
    int64_t before_ms = f.lab.clock.boot_ms;
    struct err err = {0};
    assert_int_equal(upload_finish(f.upload, 30 * BLOCK, &err), STATUS_TIMEOUT);
    assert_int_equal(atomic_load(&f.client.counts[PORT_STAGE]), 1);
    assert_true(f.lab.clock.boot_ms - before_ms <= 2 * f.client.session->settings.deadline_ms);
    client_hook(&f.client, NULL, NULL);
    client_no_faults(&f.client);
    assert_int_equal(upload_finish(f.upload, 30 * BLOCK, NULL), STATUS_OK);
    publish(&f);
    expect(&f, 30 * BLOCK);
    end(&f);
}

/* P9, S23: every answer to the create is lost: UNKNOWN within the deadline, never a guess. */
static void test_create_without_an_answer(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    start(&f);
    client_fault(&f.client, (struct port_fault){.call = PORT_PUT, .fate = FATE_LOST, .times = 1000});
    client_fault(&f.client, (struct port_fault){
                                .call = PORT_STAT, .fate = FATE_REFUSED, .refusal = STATUS_UNREACHABLE, .times = 1000});
    int64_t before_ms = f.lab.clock.boot_ms;
    struct err err = {0};
    assert_int_equal(upload_finish(f.upload, 100, &err), STATUS_UNKNOWN);
    assert_int_equal(err.status, STATUS_UNKNOWN);
    assert_true(f.lab.clock.boot_ms - before_ms <= 2 * f.client.session->settings.deadline_ms);
    client_no_faults(&f.client);
    upload_abandon(f.upload, "a test");
    end(&f);
}

/* ---- cancelling ---- */

static void cancel_meanwhile(void *context, enum port_call call, const char *name)
{
    struct fixture *f = context;
    (void)name;
    if (call == PORT_STAGE || call == PORT_PUT)
        upload_cancel(f->upload);
}

static void test_cancelled(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct fixture f;
        begin_with(&f, "memory", i % 2 ? 3 : 0);
        start(&f);
        client_hook(&f.client, cancel_meanwhile, &f);
        assert_int_equal(upload_finish(f.upload, i < 2 ? 100 : 30 * BLOCK, NULL), STATUS_INTERRUPTED);
        upload_abandon(f.upload, "its program was killed");
        end(&f);
    }
}

/* S29, P10: given up in the middle, with blocks on their way on several threads: nothing is left. */
static void test_abandoned_with_blocks_on_their_way(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        struct fixture f;
        begin_with(&f, "memory", 4);
        start(&f);
        for (uint32_t block = 0; block < 30; block++)
            upload_block(f.upload, block);
        upload_abandon(f.upload, "its program was killed");
        end(&f);
    }
}

/* P5: a confirmation that has grown old is renewed before the commit, and a blob that vanished is not published. */
static void test_confirmed_again(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    start(&f);
    assert_int_equal(upload_finish(f.upload, 100, NULL), STATUS_OK);
    client_reset_counts(&f.client);
    f.lab.clock.boot_ms += 30001;
    publish(&f);
    assert_int_equal(atomic_load(&f.client.counts[PORT_STAT]), 1);
    expect(&f, 100);
    start(&f);
    assert_int_equal(upload_finish(f.upload, 200, NULL), STATUS_OK);
    struct blob_store *below = f.lab.blobs.below;
    const struct call call = {0};
    assert_int_equal(below->ops->remove(below, &call, upload_blob(f.upload), GUARD_NONE, NULL, NULL), STATUS_OK);
    f.lab.clock.boot_ms += 30001;
    struct op op = {.kind = OP_PUT, .document = f.document};
    op.put.upload = f.upload;
    assert_int_equal(single_publish(f.client.session, &op, NULL, NULL), STATUS_IO);
    expect(&f, 100);
    end(&f);
}

/* The wait for the gate counts too: the age is looked at in the commit itself. */
static void wait_long(void *context, enum port_call call, const char *name)
{
    struct fixture *f = context;
    (void)name;
    if (call == PORT_STAT) /* the confirmation is under way; then a long wait for its turn */
        f->lab.clock.boot_ms += 30001;
}

static void test_waited_too_long_for_the_commit(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    start(&f);
    assert_int_equal(upload_finish(f.upload, 100, NULL), STATUS_OK);
    f.lab.clock.boot_ms += 30001;
    client_hook(&f.client, wait_long, &f);
    struct op op = {.kind = OP_PUT, .document = f.document};
    op.put.upload = f.upload;
    assert_int_equal(single_publish(f.client.session, &op, NULL, NULL), STATUS_TIMEOUT);
    op = (struct op){.kind = OP_ABANDON, .document = f.document};
    assert_int_equal(txn_run(f.client.session, &op, 1, ORDERED, NULL, NULL), STATUS_OK);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_that_shrank),
        cmocka_unit_test(test_touched_on_the_way),
        cmocka_unit_test(test_touched_in_flight),
        cmocka_unit_test(test_unchanged_ranges),
        cmocka_unit_test(test_unchanged_no_more),
        cmocka_unit_test(test_touched_while_copied),
        cmocka_unit_test(test_wrong_copies),
        cmocka_unit_test(test_unchanged_of_a_touched_base),
        cmocka_unit_test(test_a_block_that_arrives_wrong),
        cmocka_unit_test(test_refused_blocks_are_sent_again),
        cmocka_unit_test(test_a_store_that_stands_still),
        cmocka_unit_test(test_create_without_an_answer),
        cmocka_unit_test(test_cancelled),
        cmocka_unit_test(test_abandoned_with_blocks_on_their_way),
        cmocka_unit_test(test_confirmed_again),
        cmocka_unit_test(test_waited_too_long_for_the_commit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
