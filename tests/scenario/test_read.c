/* test_read.c - goal: a reader gets exactly the bytes that were published, or an error (P4, S22, S24); reading ahead
 * never makes anybody wait for work that has not begun, and one reader's cancellation is nobody else's.
 * links: catalogue blob host core document
 *
 * Method: blobs that are changed behind the catalogue's back, workers that are all busy, hooks in the middle of reads.
 */
#include "unit.h"

#include "base/digest.h"
#include "document/pin.h"
#include "document/session_internal.h"
#include "document/single.h"
#include "document/sweep.h"
#include "document/txn.h"
#include "host/worker.h"
#include "support/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BLOCK 4096
#define SIZE  (600 * BLOCK + 1234)

struct fixture {
    struct lab lab;
    struct client client;
    char *bytes;
    int64_t document;
    struct pin *pin;
};

static enum status read_bytes(void *context, uint64_t offset, void *ret_bytes, size_t len, struct err *err)
{
    (void)err;
    memcpy(ret_bytes, (const char *)context + offset, len);
    return STATUS_OK;
}

static void begin(struct fixture *f, const struct settings *settings, unsigned workers)
{
    struct err err = {0};
    lab_open(&f->lab, "memory");
    if (workers && workers_open(workers, &f->lab.workers, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    client_open(&f->client, &f->lab, settings, SESSION_MOUNT);
    f->bytes = malloc(SIZE);
    for (size_t i = 0; i < SIZE; i++)
        f->bytes[i] = (char)(i * 31 + i / 4096);
    struct op reserve;
    assert_int_equal(client_reserve(&f->client, CATALOGUE_ROOT, "f", 0, &reserve), STATUS_OK);
    f->document = reserve.ret_document.id;
    struct op op = {.kind = OP_PUT, .document = f->document};
    const struct upload_source source = {read_bytes, f->bytes};
    const struct upload_target target = {.document = f->document};
    assert_int_equal(upload_begin(f->client.session, &target, &source, &op.put.upload, &err), STATUS_OK);
    assert_int_equal(upload_finish(op.put.upload, SIZE, &err), STATUS_OK);
    assert_int_equal(single_publish(f->client.session, &op, NULL, &err), STATUS_OK);
    assert_int_equal(pin_open(f->client.session, f->document, &f->pin, &err), STATUS_OK);
    client_reset_counts(&f->client);
}

static void end(struct fixture *f)
{
    client_hook(&f->client, NULL, NULL);
    pin_close(f->pin);
    client_close(&f->client);
    if (f->lab.workers != workers_inline())
        workers_close(f->lab.workers);
    free(f->bytes);
    lab_done(&f->lab);
}

static bool reads_right(struct fixture *f, struct pin *pin, size_t offset, size_t len)
{
    char *bytes = malloc(len ? len : 1);
    size_t got = 0;
    size_t wanted = offset >= SIZE ? 0 : len < SIZE - offset ? len : SIZE - offset;
    enum status status = pin_read(pin, offset, bytes, len, &got, NULL, NULL);
    bool right = status == STATUS_OK && got == wanted && (!got || memcmp(bytes, f->bytes + offset, got) == 0);
    free(bytes);
    return right;
}

/* Any offset and length, in any order, with a cache too small for two blocks: always exactly those bytes. */
static void test_any_range(void **state)
{
    (void)state;
    for (unsigned workers = 0; workers < 3; workers++) {
        struct fixture f;
        struct settings settings = lab_settings();
        settings.read_cache_bytes = workers == 1 ? BLOCK : 1u << 20;
        begin(&f, &settings, workers);
        uint64_t random = 88172645463325252ull; /* xorshift, always the same */
        for (int i = 0; i < 400; i++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            size_t offset = random % (SIZE + 100), len = (random >> 32) % (i % 10 ? 3 * BLOCK : 200 * BLOCK);
            assert_true(reads_right(&f, f.pin, offset, len));
        }
        assert_true(reads_right(&f, f.pin, SIZE, 1));
        assert_true(reads_right(&f, f.pin, SIZE - 1, 100));
        end(&f);
    }
}

/* A random reader gets the bytes that it asked for, and no whole blocks. */

static void test_random_reads_fetch_little(void **state)
{
    (void)state;
    struct fixture f;
    struct settings settings = lab_settings();
    begin(&f, &settings, 0);
    for (int i = 0; i < 10; i++)
        assert_true(reads_right(&f, f.pin, (size_t)(i * 7919) * 211 % SIZE, 100));
    assert_true(atomic_load(&f.client.counts[PORT_READ]) <= 20); /* at most two for each: none was fetched ahead */
    end(&f);
}

/* ---- bytes that changed behind our back ---- */

static void replace_blob(struct fixture *f, const char *bytes, size_t len, const char *token)
{
    struct blob_store *below = f->lab.blobs.below;
    const struct version_row *row = pin_version(f->pin);
    const struct blob_about about = {.catalogue = "x", .token = token};
    const struct call call = {0};
    struct blob_facts facts;
    assert_int_equal(below->ops->remove(below, &call, row->blob, GUARD_NONE, NULL, NULL), STATUS_OK);
    if (bytes)
        assert_int_equal(below->ops->put(below, &call, row->blob, bytes, len, crc64(0, bytes, len), &about, &facts,
                                         NULL),
                         STATUS_OK);
}

static void expect_corrupt(struct fixture *f)
{
    char *bytes = malloc(SIZE);
    size_t got = 0;
    struct err err = {0};
    assert_int_equal(pin_read(f->pin, 0, bytes, SIZE, &got, NULL, &err), STATUS_CORRUPT);
    assert_int_equal(got, 0);
    assert_non_null(strstr(err.message, pin_version(f->pin)->blob)); /* S22: names what and which */
    assert_string_not_equal(err.hint, "");
    assert_int_equal(pin_read(f->pin, 0, bytes, SIZE, &got, NULL, NULL), STATUS_CORRUPT); /* for whoever asks */
    free(bytes);
    assert_int_equal(lab_put(f->client.session, CATALOGUE_ROOT, "other", "unharmed", NULL), STATUS_OK);
    client_expect(&f->client, "other", "unharmed"); /* others are none the worse */
}

/* S24, P4: gone, shorter, somebody else's, or one byte changed under our own token: EIO for the reader, never bytes. */
static void test_changed_behind_our_back(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        struct fixture f;
        struct settings settings = lab_settings();
        begin(&f, &settings, way % 2 ? 2 : 0);
        char token[LIMIT_TOKEN_BYTES];
        memcpy(token, pin_version(f.pin)->token, sizeof token);
        char *changed = malloc(SIZE);
        memcpy(changed, f.bytes, SIZE);
        changed[300 * BLOCK + 7] ^= 1;
        switch (way) {
        case 0: replace_blob(&f, NULL, 0, NULL); break;
        case 1: replace_blob(&f, f.bytes, SIZE - 1, token); break;
        case 2: replace_blob(&f, f.bytes, SIZE, "another"); break;
        case 3: replace_blob(&f, changed, SIZE, token); break;
        }
        expect_corrupt(&f);
        free(changed);
        end(&f);
    }
}

/* P7: touched by a tool, the bytes are the same: the reader takes the new ETag and the row learns of it. */
static void test_touched_blob_is_read(void **state)
{
    (void)state;
    struct fixture f;
    struct settings settings = lab_settings();
    begin(&f, &settings, 0);
    char token[LIMIT_TOKEN_BYTES], old[LIMIT_ETAG_BYTES], new[LIMIT_ETAG_BYTES];
    memcpy(token, pin_version(f.pin)->token, sizeof token);
    pin_etag(f.pin, old);
    replace_blob(&f, f.bytes, SIZE, token);
    assert_true(reads_right(&f, f.pin, 0, SIZE));
    pin_etag(f.pin, new);
    assert_string_not_equal(old, new);
    assert_string_equal(client_version(&f.client, pin_version(f.pin)->id).etag, new);
    end(&f);
}

/* ---- ahead ---- */

/* Jobs that occupy every worker until they are let go. */
struct plug {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    unsigned running;
    bool go;
};

static void occupy(void *argument)
{
    struct plug *plug = argument;
    pthread_mutex_lock(&plug->mutex);
    plug->running++;
    pthread_cond_broadcast(&plug->changed);
    while (!plug->go)
        pthread_cond_wait(&plug->changed, &plug->mutex);
    plug->running--;
    pthread_cond_broadcast(&plug->changed);
    pthread_mutex_unlock(&plug->mutex);
}

/* All workers are busy for good, and the read-ahead of earlier reads lies in their queue: the reader fetches itself.
 * (Were it to wait, uploads that read their base from worker threads could wait for each other for ever.) */
static void test_nobody_waits_for_queued_read_ahead(void **state)
{
    (void)state;
    struct fixture f;
    struct settings settings = lab_settings();
    begin(&f, &settings, 2);
    struct plug plug = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, false};
    assert_true(workers_submit(f.lab.workers, occupy, &plug));
    assert_true(workers_submit(f.lab.workers, occupy, &plug));
    pthread_mutex_lock(&plug.mutex);
    while (plug.running < 2)
        pthread_cond_wait(&plug.changed, &plug.mutex);
    pthread_mutex_unlock(&plug.mutex);
    for (size_t at = 0; at < SIZE; at += 32 * BLOCK)
        assert_true(reads_right(&f, f.pin, at, 32 * BLOCK));
    assert_int_equal(atomic_load(&f.client.counts[PORT_READ]), 601); /* each block once */
    pthread_mutex_lock(&plug.mutex);
    plug.go = true;
    pthread_cond_broadcast(&plug.changed);
    while (plug.running)
        pthread_cond_wait(&plug.changed, &plug.mutex);
    pthread_mutex_unlock(&plug.mutex);
    struct session *session = f.client.session;
    pthread_mutex_lock(&session->lock);
    while (session->background) /* the queued jobs find their blocks filled */
        pthread_cond_wait(&session->changed, &session->lock);
    pthread_mutex_unlock(&session->lock);
    assert_int_equal(atomic_load(&f.client.counts[PORT_READ]), 601);
    end(&f);
}

/* The pin is closed, and the session ends, while blocks are fetched ahead. */
static void test_closed_while_reading_ahead(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        struct fixture f;
        struct settings settings = lab_settings();
        settings.read_ahead_blocks = 32;
        begin(&f, &settings, 3);
        assert_true(reads_right(&f, f.pin, 0, 300 * BLOCK));
        end(&f);
    }
}

/* ---- cancelling ---- */

struct reader {
    pthread_t thread;
    struct fixture *f;
    atomic_bool cancelled;
    enum status status;
    bool right;
};

static void *run_reader(void *argument)
{
    struct reader *reader = argument;
    char *bytes = malloc(SIZE);
    size_t got = 0;
    reader->status = pin_read(reader->f->pin, 0, bytes, SIZE, &got, &reader->cancelled, NULL);
    reader->right = got == SIZE && memcmp(bytes, reader->f->bytes, SIZE) == 0;
    free(bytes);
    return NULL;
}

static void cancel_first(void *context, enum port_call call, const char *name)
{
    struct reader *reader = context;
    (void)name;
    if (call == PORT_READ)
        atomic_store(&reader->cancelled, true);
}

/* S23: a cancelled read ends with INTERRUPTED; others that wait for the same block get it all the same. */
static void test_cancelled_read(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        struct fixture f;
        struct settings settings = lab_settings();
        begin(&f, &settings, 0);
        struct reader readers[4] = {0};
        client_hook(&f.client, cancel_first, &readers[0]);
        for (int j = 0; j < 4; j++) {
            readers[j].f = &f;
            assert_int_equal(pthread_create(&readers[j].thread, NULL, run_reader, &readers[j]), 0);
        }
        for (int j = 0; j < 4; j++)
            assert_int_equal(pthread_join(readers[j].thread, NULL), 0);
        for (int j = 1; j < 4; j++) {
            assert_int_equal(readers[j].status, STATUS_OK);
            assert_true(readers[j].right);
        }
        assert_true(readers[0].status == STATUS_INTERRUPTED || readers[0].right);
        end(&f);
    }
}

/* It is cancelled while another thread fetches what it waits for: it does not wait for that one. */
struct standstill {
    struct plug plug;
    struct reader *second;
};

static void stand_still(void *context, enum port_call call, const char *name)
{
    struct standstill *standstill = context;
    (void)name;
    if (call != PORT_READ)
        return;
    occupy(&standstill->plug);
}

static void test_cancelled_while_another_fetches(void **state)
{
    (void)state;
    struct fixture f;
    struct settings settings = lab_settings();
    settings.read_ahead_blocks = 0; /* without workers it would be the reader's own work */
    begin(&f, &settings, 0);
    struct standstill standstill = {.plug = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, false}};
    struct reader readers[2] = {{.f = &f}, {.f = &f}};
    client_hook(&f.client, stand_still, &standstill);
    assert_int_equal(pthread_create(&readers[0].thread, NULL, run_reader, &readers[0]), 0);
    pthread_mutex_lock(&standstill.plug.mutex);
    while (!standstill.plug.running)
        pthread_cond_wait(&standstill.plug.changed, &standstill.plug.mutex);
    pthread_mutex_unlock(&standstill.plug.mutex);
    assert_int_equal(pthread_create(&readers[1].thread, NULL, run_reader, &readers[1]), 0);
    atomic_store(&readers[1].cancelled, true);
    assert_int_equal(pthread_join(readers[1].thread, NULL), 0);
    assert_int_equal(readers[1].status, STATUS_INTERRUPTED);
    pthread_mutex_lock(&standstill.plug.mutex);
    standstill.plug.go = true;
    pthread_cond_broadcast(&standstill.plug.changed);
    pthread_mutex_unlock(&standstill.plug.mutex);
    assert_int_equal(pthread_join(readers[0].thread, NULL), 0);
    assert_int_equal(readers[0].status, STATUS_OK);
    assert_true(readers[0].right);
    end(&f);
}

/* A transient refusal is that one's alone: the next read tries anew. */
static void test_a_failed_fetch_is_forgotten(void **state)
{
    (void)state;
    struct fixture f;
    struct settings settings = lab_settings();
    begin(&f, &settings, 0);
    client_fault(&f.client, (struct port_fault){.call = PORT_READ, .fate = FATE_REFUSED, .refusal = STATUS_TIMEOUT});
    char bytes[16];
    size_t got = 0;
    struct err err = {0};
    assert_int_equal(pin_read(f.pin, 0, bytes, sizeof bytes, &got, NULL, &err), STATUS_TIMEOUT);
    assert_int_equal(err.status, STATUS_TIMEOUT);
    assert_true(reads_right(&f, f.pin, 0, SIZE));
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_range),
        cmocka_unit_test(test_random_reads_fetch_little),
        cmocka_unit_test(test_changed_behind_our_back),
        cmocka_unit_test(test_touched_blob_is_read),
        cmocka_unit_test(test_nobody_waits_for_queued_read_ahead),
        cmocka_unit_test(test_closed_while_reading_ahead),
        cmocka_unit_test(test_cancelled_read),
        cmocka_unit_test(test_cancelled_while_another_fetches),
        cmocka_unit_test(test_a_failed_fetch_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
