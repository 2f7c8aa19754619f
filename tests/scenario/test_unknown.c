/* test_unknown.c - goal: an outcome that nobody knows is settled, never assumed (P9), on the store's side and on the
 * catalogue's; and while the catalogue is in doubt nothing is published or deleted (P6).
 * links: catalogue blob host core document
 *
 * Method: answers that are lost, applied or not, at the ports of one client, and an SQLite VFS below it that fails
 * writes and syncs of the log in the middle of a COMMIT.
 */
#include "unit.h"

#include "base/digest.h"
#include "document/single.h"
#include "document/sweep.h"
#include "document/txn.h"
#include "document/upload_internal.h"
#include "support/client.h"
#include "support/fault_vfs.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

struct fixture {
    struct lab lab;
    struct client client;
};

static void begin(struct fixture *f, const char *kind)
{
    struct settings settings = lab_settings();
    fault_vfs_clear();
    lab_open(&f->lab, kind);
    client_open(&f->client, &f->lab, &settings, SESSION_MOUNT);
    assert_int_equal(lab_put(f->client.session, CATALOGUE_ROOT, "a", "old", NULL), STATUS_OK);
    client_reset_counts(&f->client);
}

/* Everything converges, and the session still works. */
static void end(struct fixture *f)
{
    fault_vfs_clear();
    client_no_faults(&f->client);
    assert_int_equal(session_heartbeat(f->client.session, NULL), STATUS_OK);
    assert_int_equal(session_check(f->client.session, NULL), STATUS_OK);
    lab_sweep(f->client.session);
    client_expect_converged(&f->client, client_pool(&f->client));
    assert_int_equal(lab_put(f->client.session, CATALOGUE_ROOT, "z", "still works", NULL), STATUS_OK);
    client_expect(&f->client, "z", "still works");
    lab_sweep(f->client.session);
    client_expect_converged(&f->client, client_pool(&f->client));
    client_close(&f->client);
    lab_done(&f->lab);
}

#define EACH_KIND(f)                                                                                                   \
    for (size_t kind = 0; kind < 2; kind++)                                                                            \
        for (bool first = (begin(f, kind ? "directory" : "memory"), true); first; first = (end(f), false))

/* ---- the store ---- */

static void big_text(char *text, size_t len)
{
    memset(text, 'x', len);
    text[len] = '\0';
}

/* P9: the answer to a create is lost, applied or not, once or twice: one look, one repetition, one version. */
static void test_lost_creates(void **state)
{
    (void)state;
    static const enum port_fate fates[] = {FATE_LOST, FATE_LOST_APPLIED};
    static const enum port_call calls[] = {PORT_PUT, PORT_COMMIT};
    char big[9001];
    big_text(big, 9000);
    for (size_t i = 0; i < 8; i++) {
        struct fixture f;
        const char *text = calls[i / 2 % 2] == PORT_PUT ? "new" : big;
        EACH_KIND(&f)
        {
            client_fault(&f.client, (struct port_fault){.call = calls[i / 2 % 2],
                                                        .fate = fates[i % 2],
                                                        .times = (unsigned)(i / 4 + 1)});
            assert_int_equal(lab_put(f.client.session, CATALOGUE_ROOT, "a", text, NULL), STATUS_OK);
            client_expect(&f.client, "a", text);
            assert_true(atomic_load(&f.client.counts[PORT_STAT]) >= 1);
        }
    }
}

/* P9: a 404 after an unknown put is still unknown. While it stays so the document is as it was, and the name is waited
 * out: the put arrives after all, and is cleared away. */
static void test_404_after_unknown_is_unknown(void **state)
{
    (void)state;
    struct fixture f;
    EACH_KIND(&f)
    {
        client_fault(&f.client, (struct port_fault){.call = PORT_PUT, .fate = FATE_LATE});
        client_fault(&f.client, (struct port_fault){.call = PORT_PUT, .fate = FATE_LOST, .times = 100000});
        struct upload *upload = NULL;
        char text[] = "new";
        const struct upload_source source = {lab_read_text, text};
        const struct upload_target target = {0};
        assert_int_equal(upload_begin(f.client.session, &target, &source, &upload, NULL), STATUS_OK);
        assert_int_equal(upload_finish(upload, 3, NULL), STATUS_UNKNOWN);
        int64_t version = upload_version(upload);
        client_no_faults(&f.client);
        f.client.session->settings.late_after_ms = 60000; /* a store on which requests may be late */
        upload_abandon(upload, "a test");
        assert_int_equal(client_version(&f.client, version).state, VERSION_CONDEMNED);
        assert_false(client_version(&f.client, version).clean);
        lab_sweep(f.client.session);
        assert_int_equal(client_version(&f.client, version).state, VERSION_CONDEMNED); /* P8 */
        assert_int_equal(client_deliver(&f.client), STATUS_OK);
        assert_int_equal(lab_blobs(&f.lab), 2);
        f.lab.clock.utc_ns += 60001LL * 1000000;
        lab_sweep(f.client.session);
        assert_int_equal(client_version(&f.client, version).state, VERSION_GONE);
        assert_int_equal(lab_blobs(&f.lab), 1);
        f.client.session->settings.late_after_ms = 0;
    }
}

/* P9: another's blob lies under the name. That is a refusal, and it is never deleted (P7). */
static void test_foreign_blob_is_a_refusal(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "memory");
    struct upload *upload = NULL;
    char text[] = "new";
    const struct upload_source source = {lab_read_text, text};
    const struct upload_target target = {0};
    assert_int_equal(upload_begin(f.client.session, &target, &source, &upload, NULL), STATUS_OK);
    char blob[LIMIT_BLOB_NAME_BYTES];
    (void)snprintf(blob, sizeof blob, "%s", upload_blob(upload));
    struct blob_facts facts;
    const struct blob_about about = {.catalogue = "somebody", .token = "else"};
    struct blob_store *below = f.lab.blobs.below;
    assert_int_equal(below->ops->put(below, NULL, blob, "no", 2, crc64(0, "no", 2), &about, &facts, NULL), STATUS_OK);
    struct err err = {0};
    assert_int_equal(upload_finish(upload, 3, &err), STATUS_CORRUPT);
    assert_non_null(strstr(err.message, blob));
    upload_abandon(upload, "a test");
    lab_sweep(f.client.session);
    assert_int_equal(below->ops->stat(below, NULL, blob, &facts, NULL), STATUS_OK);
    assert_string_equal(facts.token, "else");
    assert_int_equal(lab_counts(f.client.session).condemned, 1); /* reported, with its row */
    client_close(&f.client);
    lab_done(&f.lab);
}

/* A store that vouches for no digest: then the length must do. */
static struct blob_ops without_digests;
static enum status (*stat_below)(struct blob_store *store, const struct call *call, const char *name,
                                 struct blob_facts *ret_facts, struct err *err);

static enum status stat_without_digest(struct blob_store *store, const struct call *call, const char *name,
                                       struct blob_facts *ret_facts, struct err *err)
{
    enum status status = stat_below(store, call, name, ret_facts, err);
    ret_facts->has_crc64 = false;
    return status;
}

static void forget_digests(struct fixture *f)
{
    without_digests = *f->client.blobs.ops;
    stat_below = without_digests.stat;
    without_digests.stat = stat_without_digest;
    f->client.blobs.ops = &without_digests;
}

/* P4, P9: ours by its token, but not what was sent: never published. */
static void test_ours_but_different_is_a_refusal(void **state)
{
    (void)state;
    struct fixture f;
    EACH_KIND(&f)
    {
        struct upload *upload = NULL;
        char text[] = "new";
        const struct upload_source source = {lab_read_text, text};
        const struct upload_target target = {0};
        assert_int_equal(upload_begin(f.client.session, &target, &source, &upload, NULL), STATUS_OK);
        forget_digests(&f);
        struct blob_facts facts;
        const struct blob_about about = {.catalogue = "x", .token = upload->intent->token, .pending = true};
        struct blob_store *below = f.lab.blobs.below;
        assert_int_equal(below->ops->put(below, NULL, upload_blob(upload), "shorter", 7, crc64(0, "shorter", 7), &about,
                                         &facts, NULL),
                         STATUS_OK);
        assert_int_equal(upload_finish(upload, 3, NULL), STATUS_CORRUPT);
        upload_abandon(upload, "a test");
    }
}

/* ---- the COMMIT, by its answer alone ---- */

/* Whatever becomes of the answer of any commit in a put, the put succeeds once or changes nothing, and is told so. */
static void put_with_fault(struct port_fault fault)
{
    struct fixture f;
    EACH_KIND(&f)
    {
        client_fault(&f.client, fault);
        struct op op = {0};
        enum status status = lab_put(f.client.session, CATALOGUE_ROOT, "a", "new", &op);
        client_expect(&f.client, "a", status == STATUS_OK ? "new" : "old");
        assert_int_equal(status, STATUS_OK); /* judged anew where the group had failed */
        assert_int_equal(op.ret_document.version_number, 2);
    }
}

static void test_lost_commits(void **state)
{
    (void)state;
    for (unsigned skip = 0; skip < 3; skip++)
        for (unsigned times = 1; times <= 2; times++)
            for (enum port_fate fate = FATE_LOST; fate <= FATE_LOST_APPLIED; fate++) {
                put_with_fault((struct port_fault){.call = PORT_DURABLE, .fate = fate, .skip = skip, .times = times});
                put_with_fault((struct port_fault){.call = PORT_ORDERED, .fate = fate, .skip = skip, .times = times});
            }
}

/* The COMMIT that settles by writing "failed" is itself applied without an answer: then it reads its own word. */
static void test_lost_settling(void **state)
{
    (void)state;
    for (enum port_call call = PORT_DURABLE; call <= PORT_ORDERED; call++) {
        struct fixture f;
        EACH_KIND(&f)
        {
            client_fault(&f.client, (struct port_fault){.call = call, .fate = FATE_LOST});
            client_fault(&f.client, (struct port_fault){.call = PORT_DURABLE, .fate = FATE_LOST_APPLIED});
            struct op op = {0};
            assert_int_equal(lab_put(f.client.session, CATALOGUE_ROOT, "a", "new", &op), STATUS_OK);
            client_expect(&f.client, "a", "new");
            assert_int_equal(op.ret_document.version_number, 2);
        }
    }
}

/* P9: the same for what has no Pending row: unlink, rename and mkdir are settled by the group's number. */
static void test_lost_commits_of_names(void **state)
{
    (void)state;
    for (enum port_fate fate = FATE_LOST; fate <= FATE_LOST_APPLIED; fate++) {
        struct fixture f;
        EACH_KIND(&f)
        {
            client_fault(&f.client, (struct port_fault){.call = PORT_ORDERED, .fate = fate});
            int64_t dir = client_mkdir(&f.client, CATALOGUE_ROOT, "dir");
            client_fault(&f.client, (struct port_fault){.call = PORT_ORDERED, .fate = fate});
            assert_int_equal(client_rename(&f.client, "a", "b", 0), STATUS_OK);
            client_expect(&f.client, "a", NULL);
            client_expect(&f.client, "b", "old");
            client_fault(&f.client, (struct port_fault){.call = PORT_ORDERED, .fate = fate});
            assert_int_equal(client_remove(&f.client, CATALOGUE_ROOT, "b"), STATUS_OK);
            client_expect(&f.client, "b", NULL);
            assert_int_equal(client_remove(&f.client, dir, "b"), STATUS_NOT_FOUND);
        }
    }
}

/* A refusal is answered only when the COMMIT of its group is known; a group that had failed is judged anew, its refused
 * members too. */
static void test_refused_members_of_a_lost_group(void **state)
{
    (void)state;
    struct fixture f;
    EACH_KIND(&f)
    {
        client_fault(&f.client, (struct port_fault){.call = PORT_ORDERED, .fate = FATE_LOST});
        assert_int_equal(client_remove(&f.client, CATALOGUE_ROOT, "none"), STATUS_NOT_FOUND);
        struct op op;
        assert_int_equal(client_reserve(&f.client, CATALOGUE_ROOT, "a", OP_EXCLUSIVE, &op), STATUS_EXISTS);
    }
}

/* P1: an unknown COMMIT of the pool discards the pool's part: none of its names is ever used. */
static void test_unknown_pool_is_discarded(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "memory");
    f.client.session->settings.intent_pool = 1; /* each publish fills the pool again */
    while (client_pool(&f.client) > 1)
        assert_int_equal(lab_put(f.client.session, CATALOGUE_ROOT, "b", "text", NULL), STATUS_OK);
    unsigned before = client_pool(&f.client);
    assert_int_equal(before, 1);
    client_fault(&f.client, (struct port_fault){.call = PORT_DURABLE, .fate = FATE_LOST_APPLIED});
    assert_int_equal(lab_put(f.client.session, CATALOGUE_ROOT, "a", "new", NULL), STATUS_OK);
    assert_int_equal(client_pool(&f.client), before - 1); /* what the group added is not there */
    assert_true(lab_counts(f.client.session).pending > before - 1);
    end(&f);
}

/* The catalogue cannot be reopened: UNKNOWN, and the upload is left to the sweeper, which finds out (P6, P9). */
static void unsettled(enum port_fate fate)
{
    struct fixture f;
    begin(&f, "memory");
    struct upload *upload = lab_upload(f.client.session, 0, "new");
    struct op reserve;
    assert_int_equal(client_reserve(&f.client, CATALOGUE_ROOT, "a", 0, &reserve), STATUS_OK);
    upload->document = reserve.ret_document.id;
    struct op op = {.kind = OP_PUT, .document = reserve.ret_document.id};
    op.put.upload = upload;
    /* The put's COMMIT, and every COMMIT that would settle it. */
    client_fault(&f.client, (struct port_fault){.call = PORT_DURABLE, .fate = fate});
    client_fault(&f.client, (struct port_fault){.call = PORT_DURABLE, .fate = FATE_LOST, .times = 100000});
    struct err err = {0};
    enum status status = single_publish(f.client.session, &op, NULL, &err);
    client_no_faults(&f.client);
    if (fate == FATE_LOST_APPLIED) {
        assert_int_equal(status, STATUS_OK); /* the number stands there: known without writing */
        client_expect(&f.client, "a", "new");
    } else {
        assert_int_equal(status, STATUS_UNKNOWN);
        assert_int_equal(err.status, STATUS_UNKNOWN);
        assert_int_equal(session_check(f.client.session, NULL), STATUS_IO);
        const struct sweep_options options = {0};
        struct sweep_report report;
        assert_int_equal(sweep_pass(f.client.session, &options, &report, NULL), STATUS_IO); /* P6 */
        client_expect(&f.client, "a", "old");
    }
    end(&f);
}

static void test_unsettled(void **state)
{
    (void)state;
    unsettled(FATE_LOST);
    unsettled(FATE_LOST_APPLIED);
}

/* P6: doubt that comes in the middle of a pass stops the deletes that are left of it. */
static void come_into_doubt(void *context, enum port_call call, const char *name)
{
    struct fixture *f = context;
    (void)name;
    if (call == PORT_REMOVE)
        session_set_doubtful(f->client.session, true);
}

static void test_doubt_stops_deletes(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "memory");
    for (int i = 0; i < 5; i++)
        assert_int_equal(lab_put(f.client.session, CATALOGUE_ROOT, "a", "new", NULL), STATUS_OK);
    client_hook(&f.client, come_into_doubt, &f);
    const struct sweep_options options = {0};
    struct sweep_report report;
    IGNORE(sweep_pass(f.client.session, &options, &report, NULL)); /* how it ends is not the matter */
    assert_int_equal(atomic_load(&f.client.counts[PORT_REMOVE]), 1);
    client_hook(&f.client, NULL, NULL);
    end(&f);
}

/* P6: a failed sync stops the deletes until the log was rewritten. */
static void test_failed_sync_stops_deletes(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, "memory");
    assert_int_equal(lab_put(f.client.session, CATALOGUE_ROOT, "a", "new", NULL), STATUS_OK);
    client_fault(&f.client, (struct port_fault){.call = PORT_SYNC, .fate = FATE_REFUSED});
    const struct sweep_options options = {0};
    struct sweep_report report;
    assert_int_equal(sweep_pass(f.client.session, &options, &report, NULL), STATUS_IO);
    assert_int_equal(lab_blobs(&f.lab), 2);
    assert_int_equal(atomic_load(&f.client.counts[PORT_REMOVE]), 0);
    assert_int_equal(session_check(f.client.session, NULL), STATUS_IO);
    end(&f);
}

/* ---- the COMMIT, by the disk ---- */

/* Every write and sync of the log of a put fails once, applied or not: the program hears the truth. */
static void disk_fails(struct fault fault)
{
    for (fault.skip = 0;; fault.skip++) {
        struct fixture f;
        begin(&f, "memory");
        fault_vfs_set(fault);
        enum status status = lab_put(f.client.session, CATALOGUE_ROOT, "a", "new", NULL);
        int failed = fault_vfs_failed();
        fault_vfs_clear();
        assert_true(status_outcome(status) != OUTCOME_UNKNOWN);
        client_expect(&f.client, "a", status == STATUS_OK ? "new" : "old");
        end(&f);
        if (!failed)
            return; /* beyond the last call of the put */
    }
}

static void test_disk_fails_in_any_place(void **state)
{
    (void)state;
    disk_fails((struct fault){.call = FAULT_SYNC, .files = FAULT_LOG, .count = 1, .code = SQLITE_IOERR_FSYNC});
    disk_fails((
        struct fault){.call = FAULT_SYNC, .files = FAULT_LOG, .count = 1, .code = SQLITE_IOERR_FSYNC, .applied = true});
    disk_fails((struct fault){.call = FAULT_WRITE, .files = FAULT_LOG, .count = 1, .code = SQLITE_IOERR_WRITE});
    disk_fails((struct fault){
        .call = FAULT_WRITE, .files = FAULT_LOG, .count = 1, .code = SQLITE_IOERR_WRITE, .applied = true});
}

/* A full disk: NO_SPACE, nothing changed, and it works again when there is room. */
static void test_full_disk(void **state)
{
    (void)state;
    for (int skip = 0; skip < 6; skip++) {
        struct fixture f;
        begin(&f, "memory");
        fault_vfs_set(
            (struct fault){.call = FAULT_WRITE, .files = FAULT_LOG, .skip = skip, .count = -1, .code = SQLITE_FULL});
        enum status status = lab_put(f.client.session, CATALOGUE_ROOT, "a", "new", NULL);
        bool struck = fault_vfs_failed() > 0;
        fault_vfs_clear();
        assert_int_equal(status, struck ? STATUS_NO_SPACE : STATUS_OK);
        client_expect(&f.client, "a", struck ? "old" : "new");
        end(&f);
    }
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
        cmocka_unit_test(test_lost_creates),
        cmocka_unit_test(test_404_after_unknown_is_unknown),
        cmocka_unit_test(test_foreign_blob_is_a_refusal),
        cmocka_unit_test(test_ours_but_different_is_a_refusal),
        cmocka_unit_test(test_lost_commits),
        cmocka_unit_test(test_lost_settling),
        cmocka_unit_test(test_lost_commits_of_names),
        cmocka_unit_test(test_refused_members_of_a_lost_group),
        cmocka_unit_test(test_unknown_pool_is_discarded),
        cmocka_unit_test(test_unsettled),
        cmocka_unit_test(test_doubt_stops_deletes),
        cmocka_unit_test(test_failed_sync_stops_deletes),
        cmocka_unit_test(test_disk_fails_in_any_place),
        cmocka_unit_test(test_full_disk),
    };
    return cmocka_run_group_tests(tests, install, NULL);
}
