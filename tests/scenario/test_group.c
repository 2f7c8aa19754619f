/* test_group.c - goal: the I/O budget of docs/PROTOCOL.md, by counting exchanges and syncs, never by time; closes that
 * wait together share one durable commit; every waiter gets an intent (P1).
 * links: catalogue blob host core document
 *
 * Method: ports and an SQLite VFS count; a leader is held in its COMMIT until all others have queued behind it.
 */
#include "unit.h"

#include "document/pin.h"
#include "document/single.h"
#include "document/sweep.h"
#include "document/txn.h"
#include "document/upload_internal.h"
#include "document/view.h"
#include "host/worker.h"
#include "support/client.h"
#include "support/fault_vfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define THREADS 32

struct fixture {
    struct lab lab;
    struct client client;
};

static void begin(struct fixture *f, unsigned pool)
{
    struct settings settings = lab_settings();
    settings.intent_pool = pool;
    lab_open(&f->lab, "memory");
    client_open(&f->client, &f->lab, &settings, SESSION_MOUNT);
}

static void end(struct fixture *f)
{
    lab_sweep(f->client.session);
    client_expect_converged(&f->client, client_pool(&f->client));
    client_close(&f->client);
    lab_done(&f->lab);
}

static unsigned durable(struct fixture *f)
{
    return atomic_load(&f->client.counts[PORT_DURABLE]);
}

/* ---- threads that wait together ---- */

struct gathering {
    struct client *client;
    unsigned expected; /* how many are to wait behind the leader */
    atomic_bool done;
};

static unsigned queued(struct session *session)
{
    unsigned count = 0;
    pthread_mutex_lock(&session->lock);
    for (struct member *each = session->queue; each; each = each->next)
        count++;
    pthread_mutex_unlock(&session->lock);
    return count;
}

static void pause_briefly(void)
{
    const struct timespec moment = {.tv_nsec = 200000};
    (void)nanosleep(&moment, NULL);
}

/* In the leader's thread, before its COMMIT. */
static void hold_the_leader(void *context, enum port_call call, const char *name)
{
    struct gathering *gathering = context;
    (void)name;
    if (call != PORT_DURABLE || atomic_exchange(&gathering->done, true))
        return;
    while (queued(gathering->client->session) < gathering->expected)
        pause_briefly();
}

struct publisher {
    pthread_t thread;
    struct client *client;
    struct op op;
    enum status status;
};

static void *publish(void *argument)
{
    struct publisher *publisher = argument;
    publisher->status = single_publish(publisher->client->session, &publisher->op, NULL, NULL);
    return NULL;
}

/* The budget: the same, n programs at once: one durable commit for all that wait together. */
static void test_closes_that_wait_share_a_commit(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 64);
    struct publisher publishers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        char name[16];
        struct op reserve;
        (void)snprintf(name, sizeof name, "f%d", i);
        assert_int_equal(client_reserve(&f.client, CATALOGUE_ROOT, name, 0, &reserve), STATUS_OK);
        publishers[i] =
            (struct publisher){.client = &f.client, .op = {.kind = OP_PUT, .document = reserve.ret_document.id}};
        publishers[i].op.put.upload = lab_upload(f.client.session, reserve.ret_document.id, "text");
    }
    client_reset_counts(&f.client);
    int syncs = fault_vfs_syncs();
    struct gathering gathering = {.client = &f.client, .expected = THREADS - 1};
    client_hook(&f.client, hold_the_leader, &gathering);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&publishers[i].thread, NULL, publish, &publishers[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(publishers[i].thread, NULL), 0);
        assert_int_equal(publishers[i].status, STATUS_OK);
    }
    client_hook(&f.client, NULL, NULL);
    assert_int_equal(durable(&f), 2); /* the leader's, and one for all the others */
    assert_int_equal(fault_vfs_syncs(), syncs + 2);
    assert_int_equal(client_exchanges(&f.client), 0);
    assert_int_equal(lab_counts(f.client.session).ready, THREADS);
    end(&f);
}

/* One of a group is refused: the others are none the worse. */
static void test_a_refusal_in_a_group(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 8);
    struct publisher publishers[4];
    for (int i = 0; i < 4; i++) {
        char name[16];
        struct op reserve;
        (void)snprintf(name, sizeof name, "f%d", i);
        assert_int_equal(client_reserve(&f.client, CATALOGUE_ROOT, name, 0, &reserve), STATUS_OK);
        publishers[i] =
            (struct publisher){.client = &f.client, .op = {.kind = OP_PUT, .document = reserve.ret_document.id}};
        publishers[i].op.put.upload = lab_upload(f.client.session, reserve.ret_document.id, "text");
    }
    assert_int_equal(client_remove(&f.client, CATALOGUE_ROOT, "f2"), STATUS_OK);
    struct gathering gathering = {.client = &f.client, .expected = 3};
    client_hook(&f.client, hold_the_leader, &gathering);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&publishers[i].thread, NULL, publish, &publishers[i]), 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(publishers[i].thread, NULL), 0);
        assert_int_equal(publishers[i].status, i == 2 ? STATUS_STALE : STATUS_OK);
    }
    client_hook(&f.client, NULL, NULL);
    end(&f);
}

struct taker {
    pthread_t thread;
    struct client *client;
    struct upload *upload;
    enum status status;
};

static void *take(void *argument)
{
    struct taker *taker = argument;
    const struct upload_source source = {lab_read_text, NULL};
    const struct upload_target target = {0};
    taker->status = upload_begin(taker->client->session, &target, &source, &taker->upload, NULL);
    return NULL;
}

/* P1: many uploads begin at once with a pool of 0, 1 or some intents: each gets a row of its own, in few commits. */
static void begin_together(unsigned pool)
{
    struct fixture f;
    begin(&f, pool);
    struct taker takers[THREADS] = {0};
    struct gathering gathering = {.client = &f.client, .expected = THREADS - 1};
    client_hook(&f.client, hold_the_leader, &gathering);
    for (int i = 0; i < THREADS; i++) {
        takers[i].client = &f.client;
        assert_int_equal(pthread_create(&takers[i].thread, NULL, take, &takers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(takers[i].thread, NULL), 0);
        assert_int_equal(takers[i].status, STATUS_OK);
    }
    client_hook(&f.client, NULL, NULL);
    assert_true(durable(&f) <= 3);
    for (int i = 0; i < THREADS; i++)
        for (int j = 0; j < i; j++)
            assert_string_not_equal(upload_blob(takers[i].upload), upload_blob(takers[j].upload));
    for (int i = 0; i < THREADS; i++)
        upload_abandon(takers[i].upload, "a test"); /* nothing was sent: the intents go back (P1) */
    assert_true(client_pool(&f.client) >= THREADS);
    assert_int_equal(client_exchanges(&f.client), 0);
    end(&f);
}

static void test_many_uploads_begin_at_once(void **state)
{
    (void)state;
    begin_together(0);
    begin_together(1);
    begin_together(256);
}

/* ---- the budget, row by row ---- */

static void test_names_cost_nothing_durable(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 4);
    assert_int_equal(lab_put(f.client.session, CATALOGUE_ROOT, "a", "text", NULL), STATUS_OK);
    client_reset_counts(&f.client);
    int syncs = fault_vfs_syncs();
    struct op op;
    assert_int_equal(client_reserve(&f.client, CATALOGUE_ROOT, "new", 0, &op), STATUS_OK); /* O_CREAT */
    (void)client_mkdir(&f.client, CATALOGUE_ROOT, "dir");
    assert_int_equal(client_rename(&f.client, "a", "b", 0), STATUS_OK);
    assert_int_equal(client_rename(&f.client, "dir", "tree", 0), STATUS_OK);
    op = (struct op){.kind = OP_SETATTR, .document = op.ret_document.id, .attr = {.mask = ATTR_MODE | ATTR_MTIME}};
    assert_int_equal(txn_run(f.client.session, &op, 1, ORDERED, NULL, NULL), STATUS_OK);
    assert_int_equal(client_remove(&f.client, CATALOGUE_ROOT, "b"), STATUS_OK);
    assert_int_equal(durable(&f), 0);
    assert_int_equal(atomic_load(&f.client.counts[PORT_ORDERED]), 6);
    assert_int_equal(fault_vfs_syncs(), syncs);
    assert_int_equal(client_exchanges(&f.client), 0);
    op = (struct op){.kind = OP_ABANDON, .document = op.document};
    assert_int_equal(txn_run(f.client.session, &op, 1, ORDERED, NULL, NULL), STATUS_OK);
    end(&f);
}

static void test_looking_costs_nothing(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 4);
    struct op op;
    assert_int_equal(lab_put(f.client.session, CATALOGUE_ROOT, "a", "text", &op), STATUS_OK);
    client_reset_counts(&f.client);
    struct view *view = NULL;
    struct document_row document;
    struct name name = lab_name("a");
    struct view_item items[4];
    size_t count = 0;
    struct pin *pin = NULL;
    assert_int_equal(view_open(f.client.session, &view, NULL), STATUS_OK);
    assert_int_equal(view_lookup(view, CATALOGUE_ROOT, &name, &document, NULL, NULL), STATUS_OK);
    assert_int_equal(view_list(view, CATALOGUE_ROOT, 0, items, 4, &count, NULL), STATUS_OK);
    assert_int_equal(count, 1);
    assert_int_equal(pin_open(f.client.session, document.id, &pin, NULL), STATUS_OK);
    assert_int_equal(atomic_load(&f.client.calls), 0);
    pin_close(pin);
    view_close(view);
    end(&f);
}

/* Create, write up to one block, close: one durable commit and one exchange each; the pool rides along. */
static void test_small_files(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 4);
    for (int i = 0; i < 20; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "f%d", i);
        assert_int_equal(lab_put(f.client.session, CATALOGUE_ROOT, name, "text", NULL), STATUS_OK);
    }
    assert_int_equal(durable(&f), 20 + 1); /* one more filled the pool for the first */
    assert_int_equal(atomic_load(&f.client.counts[PORT_ORDERED]), 20);
    assert_int_equal(client_exchanges(&f.client), 20);
    assert_int_equal(atomic_load(&f.client.counts[PORT_PUT]), 20);
    /* Replacing costs the caller as much. */
    client_reset_counts(&f.client);
    assert_int_equal(lab_put(f.client.session, CATALOGUE_ROOT, "f7", "other", NULL), STATUS_OK);
    assert_int_equal(durable(&f), 1);
    assert_int_equal(client_exchanges(&f.client), 1);
    /* Behind the caller: one flip a document, one deletion for what was replaced, one mark a sweep. */
    client_reset_counts(&f.client);
    lab_sweep(f.client.session);
    assert_int_equal(atomic_load(&f.client.counts[PORT_TAG]), 20);
    assert_int_equal(atomic_load(&f.client.counts[PORT_REMOVE]), 1);
    assert_int_equal(atomic_load(&f.client.counts[PORT_CONTROL_WRITE]), 1);
    assert_int_equal(client_exchanges(&f.client), 20 + 1 + 2);
    end(&f);
}

/* Blocks: each once, then the list; a block more or less at the borders of the plan. */
static void test_blocks_cost_one_exchange_each(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 8191, 8192, 8193, 40960};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct fixture f;
        begin(&f, 4);
        char *text = malloc(sizes[i] + 1);
        memset(text, 'b', sizes[i]);
        text[sizes[i]] = '\0';
        assert_int_equal(lab_put(f.client.session, CATALOGUE_ROOT, "a", text, NULL), STATUS_OK);
        unsigned blocks = sizes[i] > 4096 ? (unsigned)((sizes[i] + 4095) / 4096) : 0;
        assert_int_equal(atomic_load(&f.client.counts[PORT_STAGE]), blocks);
        assert_int_equal(client_exchanges(&f.client), blocks + 1);
        client_expect(&f.client, "a", text);
        free(text);
        end(&f);
    }
}

/* A change at the end of a large document: the changed block is sent, the others are copied on the server. */
static void test_append_copies_on_the_server(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 4);
    char text[10 * 4096 + 101];
    memset(text, 'c', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    text[10 * 4096] = '\0';
    struct op first;
    assert_int_equal(lab_put(f.client.session, CATALOGUE_ROOT, "a", text, &first), STATUS_OK);
    text[10 * 4096] = 'd';
    struct pin *pin = NULL;
    assert_int_equal(pin_open(f.client.session, first.document, &pin, NULL), STATUS_OK);
    client_reset_counts(&f.client);
    struct upload *upload = NULL;
    const struct upload_source source = {lab_read_text, text};
    const struct upload_target target = {.document = first.document};
    assert_int_equal(upload_begin(f.client.session, &target, &source, &upload, NULL), STATUS_OK);
    assert_int_equal(upload_unchanged(upload, pin, 0, 10 * 4096, NULL), STATUS_OK);
    assert_int_equal(upload_finish(upload, sizeof text - 1, NULL), STATUS_OK);
    assert_int_equal(atomic_load(&f.client.counts[PORT_COPY]), 10);
    assert_int_equal(atomic_load(&f.client.counts[PORT_STAGE]), 1);
    assert_int_equal(client_exchanges(&f.client), 12);
    struct op op = {.kind = OP_PUT, .document = first.document};
    op.put.upload = upload;
    op.put.base = pin_version(pin)->id;
    op.put.appends = true;
    assert_int_equal(single_publish(f.client.session, &op, NULL, NULL), STATUS_OK);
    assert_true(op.put.ret_takes_node);
    assert_int_equal(client_version(&f.client, op.ret_document.version).append_of, pin_version(pin)->id);
    pin_close(pin);
    client_expect(&f.client, "a", text);
    end(&f);
}

/* Read, cold and in order: length / chunk exchanges; warm: none. */
static void test_reading(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 4);
    char *text = malloc(100 * 4096 + 1);
    memset(text, 'r', 100 * 4096);
    text[100 * 4096] = '\0';
    struct op op;
    assert_int_equal(lab_put(f.client.session, CATALOGUE_ROOT, "a", text, &op), STATUS_OK);
    client_reset_counts(&f.client);
    struct pin *pin = NULL;
    assert_int_equal(pin_open(f.client.session, op.document, &pin, NULL), STATUS_OK);
    for (unsigned round = 0; round < 2; round++) {
        char *bytes = malloc(100 * 4096);
        size_t len = 0;
        assert_int_equal(pin_read(pin, 0, bytes, 100 * 4096, &len, NULL, NULL), STATUS_OK);
        assert_int_equal(len, 100 * 4096);
        assert_memory_equal(bytes, text, len);
        assert_int_equal(client_exchanges(&f.client), 100);
        free(bytes);
    }
    pin_close(pin);
    free(text);
    end(&f);
}

/* A session that uploads nothing writes no intents; one that ends leaves none behind, without asking the store. */
static void test_intents_come_and_go(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 16);
    struct op op = {.kind = OP_MKDIR, .dir = CATALOGUE_ROOT, .name = lab_name("dir"), .attr = {.mode = 0755}};
    assert_int_equal(txn_run(f.client.session, &op, 1, DURABLE, NULL, NULL), STATUS_OK);
    assert_int_equal(lab_counts(f.client.session).pending, 0);
    struct client other;
    struct settings settings = lab_settings();
    client_open(&other, &f.lab, &settings, SESSION_MOUNT);
    assert_int_equal(lab_put(other.session, CATALOGUE_ROOT, "a", "text", NULL), STATUS_OK);
    lab_sweep(other.session);
    assert_true(lab_counts(f.client.session).pending > 0);
    client_reset_counts(&other);
    session_close(other.session, "done");
    other.session = NULL;
    assert_int_equal(client_exchanges(&other), 0);
    assert_int_equal(lab_counts(f.client.session).pending, 0);
    assert_int_equal(lab_counts(f.client.session).condemned, 0);
    other.session = lab_session(&other.world, &settings);
    client_close(&other);
    end(&f);
}

static int install(void **state)
{
    (void)state;
    fault_vfs_install();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closes_that_wait_share_a_commit),
        cmocka_unit_test(test_a_refusal_in_a_group),
        cmocka_unit_test(test_many_uploads_begin_at_once),
        cmocka_unit_test(test_names_cost_nothing_durable),
        cmocka_unit_test(test_looking_costs_nothing),
        cmocka_unit_test(test_small_files),
        cmocka_unit_test(test_blocks_cost_one_exchange_each),
        cmocka_unit_test(test_append_copies_on_the_server),
        cmocka_unit_test(test_reading),
        cmocka_unit_test(test_intents_come_and_go),
    };
    return cmocka_run_group_tests(tests, install, NULL);
}
