/* test_fencing.c - goal: who is dead is told by a kernel lock alone; what the dead have left is cleared away, however
 * late their requests arrive, and a living owner's version is never touched (P7, P8, P11, P12).
 * links: catalogue blob host core document
 *
 * Method: mounts whose ports go deaf, requests that are kept back and delivered later, a clock that the test moves, and
 * hooks that let another mount sweep in the middle of a call.
 */
#include "unit.h"

#include "document/single.h"
#include "document/sweep.h"
#include "document/txn.h"
#include "document/upload_internal.h"
#include "support/client.h"
#include "support/scratch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LATE_MS 60000

struct fixture {
    struct lab lab;
    struct client a, b; /* a is the one that comes to grief */
};

static void begin(struct fixture *f, const char *kind, int64_t late_after_ms)
{
    struct settings settings = lab_settings();
    settings.late_after_ms = late_after_ms;
    lab_open(&f->lab, kind);
    client_open(&f->a, &f->lab, &settings, SESSION_MOUNT);
    client_open(&f->b, &f->lab, &settings, SESSION_MOUNT);
    assert_int_equal(lab_put(f->b.session, CATALOGUE_ROOT, "kept", "kept", NULL), STATUS_OK);
    lab_sweep(f->b.session);
    client_reset_counts(&f->b);
}

static void end(struct fixture *f)
{
    client_hook(&f->b, NULL, NULL);
    client_no_faults(&f->b);
    lab_sweep(f->b.session);
    f->lab.clock.utc_ns += (LATE_MS + 1) * 1000000LL;
    lab_sweep(f->b.session);
    client_expect(&f->b, "kept", "kept");
    client_expect_converged(&f->b, client_pool(&f->b));
    client_close(&f->b);
    lab_done(&f->lab);
}

#define EACH_KIND(f, late_after_ms)                                                                                    \
    for (size_t kind = 0; kind < 2; kind++)                                                                            \
        for (bool first = (begin(f, kind ? "directory" : "memory", late_after_ms), true); first;                       \
             first = (end(f), false))

static char text[4097]; /* one whole block; filled in main() */

static struct upload *start(struct client *client)
{
    struct err err = {0};
    struct upload *upload = NULL;
    const struct upload_source source = {lab_read_text, text};
    const struct upload_target target = {0};
    if (upload_begin(client->session, &target, &source, &upload, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    return upload;
}

static void die(struct client *client, struct upload *upload)
{
    client_kill(client);
    upload_abandon(upload, "deaf");
    client_close(client);
}

static struct sweep_report sweep(struct client *client)
{
    struct err err = {0};
    struct sweep_report report;
    const struct sweep_options options = {0};
    if (sweep_pass(client->session, &options, &report, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    return report;
}

/* As if the kernel had taken the lock from a process that goes on all the same. */
static void lose_lock(struct client *client)
{
    client->below->ops->lock_release(client->below, session_id(client->session));
}

/* ---- requests that come late ---- */

/* P8: the owner dies with a put on its way. The row waits until no request can arrive any more. */
static void test_late_put_of_the_dead(void **state)
{
    (void)state;
    struct fixture f;
    EACH_KIND(&f, LATE_MS)
    {
        client_fault(&f.a, (struct port_fault){.call = PORT_PUT, .fate = FATE_LATE});
        client_fault(&f.a, (struct port_fault){.call = PORT_STAT, .fate = FATE_DIES_BEFORE});
        struct upload *upload = start(&f.a);
        int64_t version = upload_version(upload);
        assert_int_not_equal(upload_finish(upload, strlen(text), NULL), STATUS_OK);
        struct late *late = f.a.late[0];
        assert_non_null(late);
        f.a.late[0] = NULL;
        die(&f.a, upload);
        assert_int_equal(sweep(&f.b).sessions_fenced, 1);
        assert_int_equal(client_version(&f.b, version).state, VERSION_CONDEMNED);
        f.lab.clock.utc_ns += (LATE_MS - 1000) * 1000000LL;
        (void)sweep(&f.b);
        assert_int_equal(client_version(&f.b, version).state, VERSION_CONDEMNED); /* not dropped before T_late */
        f.b.late[0] = late;
        assert_int_equal(client_deliver(&f.b), STATUS_OK);
        assert_int_equal(lab_blobs(&f.lab), 2);
        f.lab.clock.utc_ns += 2000 * 1000000LL;
        (void)sweep(&f.b);
        assert_int_equal(client_version(&f.b, version).state, VERSION_GONE);
        assert_int_equal(lab_blobs(&f.lab), 1);
    }
}

/* P8: uploads whose every request was answered are clean and need no waiting. */
static void test_clean_needs_no_waiting(void **state)
{
    (void)state;
    struct fixture f;
    EACH_KIND(&f, LATE_MS)
    {
        struct upload *upload = start(&f.a);
        int64_t version = upload_version(upload);
        assert_int_equal(upload_finish(upload, strlen(text), NULL), STATUS_OK);
        assert_int_equal(lab_blobs(&f.lab), 2);
        upload_abandon(upload, "a test");
        assert_int_equal(lab_blobs(&f.lab), 1); /* the compensating delete, in the caller's thread here (P10) */
        assert_int_equal(client_version(&f.b, version).state, VERSION_GONE);
        client_close(&f.a);
    }
}

/* P8: an answer was lost: the name is not clean, though the blob was seen afterwards. */
static void test_unclean_waits(void **state)
{
    (void)state;
    struct fixture f;
    EACH_KIND(&f, LATE_MS)
    {
        client_fault(&f.a, (struct port_fault){.call = PORT_PUT, .fate = FATE_LOST_APPLIED});
        struct upload *upload = start(&f.a);
        int64_t version = upload_version(upload);
        assert_int_equal(upload_finish(upload, strlen(text), NULL), STATUS_OK);
        upload_abandon(upload, "a test");
        (void)sweep(&f.a);
        assert_int_equal(client_version(&f.b, version).state, VERSION_CONDEMNED);
        client_close(&f.a);
        (void)sweep(&f.b);
        assert_int_equal(client_version(&f.b, version).state, VERSION_CONDEMNED);
    }
}

/* P8: the request by which a sweeper throws blocks away may be late as well: its row waits from then on. */
static void test_lost_unstage_waits(void **state)
{
    (void)state;
    struct fixture f;
    EACH_KIND(&f, LATE_MS)
    {
        struct upload *upload = start(&f.a);
        upload_block(upload, 0);
        int64_t version = upload_version(upload);
        die(&f.a, upload);
        (void)sweep(&f.b);
        f.lab.clock.utc_ns += (LATE_MS + 1) * 1000000LL;
        client_fault(&f.b, (struct port_fault){.call = PORT_UNSTAGE, .fate = FATE_LOST});
        (void)sweep(&f.b);
        assert_int_equal(client_version(&f.b, version).state, VERSION_CONDEMNED);
        (void)sweep(&f.b);
        assert_int_equal(client_version(&f.b, version).state, VERSION_CONDEMNED);
        f.lab.clock.utc_ns += (LATE_MS + 1) * 1000000LL;
        (void)sweep(&f.b);
        assert_int_equal(client_version(&f.b, version).state, VERSION_GONE);
    }
}

/* P8: the same for what a session condemns of its own: its put is still on its way. */
static void test_own_leftover_with_a_late_put(void **state)
{
    (void)state;
    struct fixture f;
    EACH_KIND(&f, LATE_MS)
    {
        client_fault(&f.a, (struct port_fault){.call = PORT_PUT, .fate = FATE_LATE});
        client_fault(&f.a, (struct port_fault){.call = PORT_PUT, .fate = FATE_REFUSED});
        struct upload *upload = start(&f.a);
        int64_t version = upload_version(upload);
        assert_int_equal(upload_finish(upload, strlen(text), NULL), STATUS_IO);
        upload_unsettled(upload);
        f.lab.clock.utc_ns += (LATE_MS + 1) * 1000000LL; /* nobody has noted when it sent: it may have been just now */
        (void)sweep(&f.a);
        (void)sweep(&f.a);
        assert_int_equal(client_version(&f.a, version).state, VERSION_CONDEMNED);
        assert_int_equal(client_deliver(&f.a), STATUS_OK);
        f.lab.clock.utc_ns += (LATE_MS + 1) * 1000000LL;
        (void)sweep(&f.a);
        assert_int_equal(client_version(&f.a, version).state, VERSION_GONE);
        assert_int_equal(lab_blobs(&f.lab), 1);
        client_close(&f.a);
    }
}

/* P8: it arrives between the delete, which found nothing, and the clearing of its blocks, which finds a blob. */
static void arrive(void *context, enum port_call call, const char *name)
{
    (void)name;
    if (call == PORT_UNSTAGE)
        IGNORE(client_deliver(context)); /* only the first time there is something */
}

static void test_arrives_between_delete_and_unstage(void **state)
{
    (void)state;
    struct fixture f;
    EACH_KIND(&f, 0)
    {
        client_fault(&f.a, (struct port_fault){.call = PORT_PUT, .fate = FATE_LATE});
        client_fault(&f.a, (struct port_fault){.call = PORT_PUT, .fate = FATE_REFUSED});
        struct upload *upload = start(&f.a);
        int64_t version = upload_version(upload);
        assert_int_equal(upload_finish(upload, strlen(text), NULL), STATUS_IO);
        upload_unsettled(upload);
        client_hook(&f.a, arrive, &f.a);
        (void)sweep(&f.a);
        client_hook(&f.a, NULL, NULL);
        assert_int_equal(client_version(&f.a, version).state, VERSION_GONE);
        assert_int_equal(lab_blobs(&f.lab), 1);
        client_close(&f.a);
    }
}

/* ---- owners that live ---- */

/* P11: neither time nor a stale heartbeat makes an owner dead, whoever sweeps. */
static void test_the_living_are_left_alone(void **state)
{
    (void)state;
    struct fixture f;
    EACH_KIND(&f, 0)
    {
        struct upload *upload = start(&f.a);
        int64_t version = upload_version(upload);
        upload_block(upload, 0);
        f.lab.clock.utc_ns += 30 * 86400LL * 1000000000;
        f.lab.clock.boot_ms += 30 * 86400LL * 1000;
        assert_int_equal(sweep(&f.b).sessions_fenced, 0);
        (void)sweep(&f.a); /* its own sweeper sees it in the working list */
        assert_int_equal(client_version(&f.b, version).state, VERSION_PENDING);
        assert_int_equal(upload_finish(upload, strlen(text), NULL), STATUS_OK);
        upload_abandon(upload, "a test");
        client_close(&f.a);
    }
}

/* The sweeper that works in the middle of a call. */
struct intruder {
    struct client *client;
    enum port_call call;
    unsigned skip, visits;
};

static void intrude(void *context, enum port_call call, const char *name)
{
    struct intruder *intruder = context;
    (void)name;
    if (call != intruder->call || intruder->visits)
        return;
    if (intruder->skip) {
        intruder->skip--;
        return;
    }
    intruder->visits++;
    (void)sweep(intruder->client);
}

/* P11: a session's own sweeper, and another's, in the middle of its put. */
static void test_sweep_in_the_middle_of_a_put(void **state)
{
    (void)state;
    struct fixture f;
    for (int who = 0; who < 2; who++)
        EACH_KIND(&f, 0)
        {
            struct intruder intruder = {.client = who ? &f.b : &f.a, .call = PORT_PUT};
            client_hook(&f.a, intrude, &intruder);
            assert_int_equal(lab_put(f.a.session, CATALOGUE_ROOT, "a", "text", NULL), STATUS_OK);
            assert_int_equal(intruder.visits, 1);
            client_hook(&f.a, NULL, NULL);
            client_expect(&f.b, "a", "text");
            client_close(&f.a);
        }
}

/* P11: own Pending rows that are not in the working list are abandoned: an intent that was forgotten. */
static void test_own_leftovers(void **state)
{
    (void)state;
    struct fixture f;
    EACH_KIND(&f, 0)
    {
        struct upload *upload = start(&f.a);
        int64_t version = upload_version(upload);
        upload_unsettled(upload);
        (void)sweep(&f.b);
        assert_int_equal(client_version(&f.b, version).state, VERSION_PENDING); /* not hers */
        (void)sweep(&f.a);
        (void)sweep(&f.a);
        assert_int_equal(client_version(&f.b, version).state, VERSION_GONE);
        client_close(&f.a);
    }
}

/* ---- the fenced that wake ---- */

/* P11: heartbeat, publish and begin answer ESTALE; nothing of it is seen. */
static void test_a_fenced_session_wakes(void **state)
{
    (void)state;
    struct fixture f;
    EACH_KIND(&f, 0)
    {
        struct op reserve;
        assert_int_equal(client_reserve(&f.a, CATALOGUE_ROOT, "mine", 0, &reserve), STATUS_OK);
        struct upload *upload = lab_upload(f.a.session, reserve.ret_document.id, "mine");
        lose_lock(&f.a);
        assert_int_equal(sweep(&f.b).sessions_fenced, 1);
        struct op op = {.kind = OP_PUT, .document = reserve.ret_document.id};
        op.put.upload = upload;
        struct err err = {0};
        assert_int_equal(single_publish(f.a.session, &op, NULL, &err), STATUS_FENCED);
        assert_int_equal(status_errno(err.status), ESTALE);
        assert_int_equal(session_heartbeat(f.a.session, NULL), STATUS_FENCED);
        assert_int_equal(session_check(f.a.session, NULL), STATUS_FENCED);
        const struct upload_source source = {lab_read_text, text};
        const struct upload_target target = {0};
        assert_int_equal(upload_begin(f.a.session, &target, &source, &upload, NULL), STATUS_FENCED);
        assert_int_equal(client_remove(&f.a, CATALOGUE_ROOT, "kept"), STATUS_FENCED);
        const struct sweep_options options = {0};
        struct sweep_report report;
        assert_int_equal(sweep_pass(f.a.session, &options, &report, NULL), STATUS_FENCED);
        client_expect(&f.b, "mine", NULL);
        client_close(&f.a);
    }
}

/* P11, P8: it is fenced while its put is being sent, and the put succeeds. */
static void test_put_after_the_fence(void **state)
{
    (void)state;
    struct fixture f;
    EACH_KIND(&f, LATE_MS)
    {
        struct op reserve;
        assert_int_equal(client_reserve(&f.a, CATALOGUE_ROOT, "mine", 0, &reserve), STATUS_OK);
        struct upload *upload = start(&f.a);
        int64_t version = upload_version(upload);
        struct intruder intruder = {.client = &f.b, .call = PORT_PUT};
        client_hook(&f.a, intrude, &intruder);
        lose_lock(&f.a);
        assert_int_equal(upload_finish(upload, strlen(text), NULL), STATUS_OK); /* the store knows of no sessions */
        assert_int_equal(intruder.visits, 1);
        client_hook(&f.a, NULL, NULL);
        assert_int_equal(lab_blobs(&f.lab), 2);
        struct op op = {.kind = OP_PUT, .document = reserve.ret_document.id};
        op.put.upload = upload;
        assert_int_equal(single_publish(f.a.session, &op, NULL, NULL), STATUS_FENCED);
        assert_int_equal(client_version(&f.b, version).state, VERSION_CONDEMNED);
        client_close(&f.a);
        f.lab.clock.utc_ns += (LATE_MS + 1) * 1000000LL;
        (void)sweep(&f.b);
        assert_int_equal(lab_blobs(&f.lab), 1);
    }
}

/* P11: once it has learned of the fence it sends nothing more. */
static void test_nothing_is_sent_after_the_fence_is_known(void **state)
{
    (void)state;
    struct fixture f;
    EACH_KIND(&f, 0)
    {
        struct upload *upload = start(&f.a);
        lose_lock(&f.a);
        (void)sweep(&f.b);
        assert_int_equal(session_heartbeat(f.a.session, NULL), STATUS_FENCED);
        client_reset_counts(&f.a);
        assert_int_equal(upload_finish(upload, strlen(text), NULL), STATUS_FENCED);
        upload_abandon(upload, "fenced");
        assert_int_equal(client_exchanges(&f.a), 0);
        client_close(&f.a);
    }
}

/* ---- several sweepers ---- */

/* P12: two sweepers at the same leftovers, in each other's way at every call: both succeed. */
static void test_two_sweepers(void **state)
{
    (void)state;
    static const enum port_call calls[] = {PORT_REMOVE, PORT_UNSTAGE, PORT_ORDERED, PORT_CONTROL_WRITE};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        for (unsigned skip = 0; skip < 3; skip++) {
            struct fixture f;
            begin(&f, "memory", skip == 2 ? LATE_MS : 0);
            assert_int_equal(lab_put(f.a.session, CATALOGUE_ROOT, "x", "1", NULL), STATUS_OK);
            assert_int_equal(lab_put(f.a.session, CATALOGUE_ROOT, "x", "2", NULL), STATUS_OK);
            struct upload *upload = start(&f.a);
            upload_block(upload, 0);
            die(&f.a, upload);
            (void)sweep(&f.b);
            f.lab.clock.utc_ns += (LATE_MS + 1) * 1000000LL;
            struct settings settings = f.b.session->settings;
            struct client other;
            client_open(&other, &f.lab, &settings, SESSION_MOUNT);
            /* A COMMIT holds the gate, so the other cannot sweep inside it. */
            struct intruder intruder = {.client = &other, .call = calls[i], .skip = skip};
            client_hook(&f.b, calls[i] == PORT_ORDERED ? NULL : intrude, &intruder);
            (void)sweep(&f.b);
            client_hook(&f.b, NULL, NULL);
            (void)sweep(&other);
            client_close(&other);
            end(&f);
        }
}

/* P8: one sweeper has sent something; the other does not drop the row before that can have arrived. */
static void test_a_sweeper_respects_the_others_request(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "memory", LATE_MS);
    struct upload *upload = start(&f.a);
    int64_t version = upload_version(upload);
    upload_block(upload, 0);
    die(&f.a, upload);
    (void)sweep(&f.b);
    f.lab.clock.utc_ns += (LATE_MS + 1) * 1000000LL;
    struct settings settings = f.b.session->settings;
    struct client other;
    client_open(&other, &f.lab, &settings, SESSION_MOUNT);
    client_fault(&other, (struct port_fault){.call = PORT_UNSTAGE, .fate = FATE_LOST});
    struct intruder intruder = {.client = &other, .call = PORT_REMOVE};
    client_hook(&f.b, intrude, &intruder);
    (void)sweep(&f.b);
    assert_int_equal(intruder.visits, 1);
    assert_int_equal(client_version(&f.b, version).state, VERSION_CONDEMNED);
    client_close(&other);
    end(&f);
}

/* ---- sessions ---- */

/* A read-only mount has a session, and does not sweep. */
static void test_read_only_does_not_sweep(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "memory", 0);
    client_close(&f.a);
    struct settings settings = lab_settings();
    struct client reader;
    client_open(&reader, &f.lab, &settings, SESSION_MOUNT_RO);
    const struct sweep_options options = {0};
    struct sweep_report report;
    assert_int_equal(sweep_pass(reader.session, &options, &report, NULL), STATUS_READ_ONLY);
    assert_int_equal(session_heartbeat(reader.session, NULL), STATUS_OK);
    client_expect(&reader, "kept", "kept");
    assert_int_equal(atomic_load(&reader.counts[PORT_DURABLE]), 0);
    client_close(&reader);
    end(&f);
}

static size_t lock_files(struct fixture *f)
{
    char path[160];
    (void)snprintf(path, sizeof path, "%s.d/sessions", f->lab.catalogue_path);
    return scratch_count(path, 0);
}

static size_t session_rows(struct client *client)
{
    struct session_row rows[64];
    struct catalogue_txn *txn = NULL;
    size_t count = 0;
    assert_int_equal(client->below->ops->read_begin(client->below, &txn, NULL), STATUS_OK);
    assert_int_equal(client->below->ops->session_list(txn, 0, rows, 64, &count, NULL), STATUS_OK);
    client->below->ops->abort(txn);
    return count;
}

/* "Who is dead": lock files come and go with their sessions; rows of mounts stay for a while, those of verbs do not;
 * and no number of them stops a sweep. */
static void test_rows_and_locks_of_sessions(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "memory", 0);
    assert_int_equal(lock_files(&f), 2);
    client_close(&f.a);
    assert_int_equal(lock_files(&f), 1);
    assert_int_equal(session_rows(&f.b), 2); /* for umount to read how it ended */
    struct settings settings = lab_settings();
    for (int i = 0; i < 40; i++) {
        struct client verb;
        client_open(&verb, &f.lab, &settings, SESSION_VERB);
        if (i % 4 == 0)
            client_kill(&verb);
        client_close(&verb);
    }
    assert_int_equal(session_rows(&f.b), 12);
    assert_int_equal(sweep(&f.b).sessions_fenced, 10);
    (void)sweep(&f.b);
    assert_int_equal(session_rows(&f.b), 2);
    assert_int_equal(lock_files(&f), 1);
    f.lab.clock.utc_ns += 3601LL * 1000000000;
    (void)sweep(&f.b);
    assert_int_equal(session_rows(&f.b), 1);
    end(&f);
}

int main(void)
{
    memset(text, 't', sizeof text - 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_late_put_of_the_dead),
        cmocka_unit_test(test_clean_needs_no_waiting),
        cmocka_unit_test(test_unclean_waits),
        cmocka_unit_test(test_lost_unstage_waits),
        cmocka_unit_test(test_own_leftover_with_a_late_put),
        cmocka_unit_test(test_arrives_between_delete_and_unstage),
        cmocka_unit_test(test_the_living_are_left_alone),
        cmocka_unit_test(test_sweep_in_the_middle_of_a_put),
        cmocka_unit_test(test_own_leftovers),
        cmocka_unit_test(test_a_fenced_session_wakes),
        cmocka_unit_test(test_put_after_the_fence),
        cmocka_unit_test(test_nothing_is_sent_after_the_fence_is_known),
        cmocka_unit_test(test_two_sweepers),
        cmocka_unit_test(test_a_sweeper_respects_the_others_request),
        cmocka_unit_test(test_read_only_does_not_sweep),
        cmocka_unit_test(test_rows_and_locks_of_sessions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
