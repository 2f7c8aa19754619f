/* test_sweep.c - goal: a pass does all that may be done and nothing else; it is bounded, patient but not for ever, and
 * ends where a store does not answer (P6, P7, P12, P13, P15); the change log is pruned behind its followers.
 * links: catalogue blob host core document
 *
 * Method: versions brought into each state by ordinary calls, refusals and lost answers at the ports, counts of calls.
 */
#include "unit.h"

#include "base/digest.h"
#include "document/single.h"
#include "document/sweep.h"
#include "document/txn.h"
#include "document/upload_internal.h"
#include "document/view.h"
#include "support/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fixture {
    struct lab lab;
    struct client client;
};

static void begin_tagged(struct fixture *f, bool tags)
{
    struct settings settings = lab_settings();
    settings.tags = tags;
    lab_open(&f->lab, "memory");
    client_open(&f->client, &f->lab, &settings, SESSION_MOUNT);
}

static void begin(struct fixture *f)
{
    begin_tagged(f, true);
}

static void end(struct fixture *f)
{
    client_no_faults(&f->client);
    client_hook(&f->client, NULL, NULL);
    lab_sweep(f->client.session);
    client_expect_converged(&f->client, client_pool(&f->client));
    client_close(&f->client);
    lab_done(&f->lab);
}

static unsigned calls(struct fixture *f, enum port_call call)
{
    return atomic_load(&f->client.counts[call]);
}

/* How often each verdict was told, and with which reason last. */
struct told {
    unsigned verdicts[VERDICT_REPORT + 1];
    const char *reasons[VERDICT_REPORT + 1];
    unsigned errors;
};

static void note(void *context, const struct sweep_note *note)
{
    struct told *told = context;
    told->verdicts[note->verdict]++;
    told->reasons[note->verdict] = note->reason;
    told->errors += note->err != NULL;
}

static struct sweep_report sweep_with(struct fixture *f, struct sweep_options options, struct told *ret_told)
{
    struct err err = {0};
    struct sweep_report report;
    *ret_told = (struct told){0};
    options.note = note;
    options.context = ret_told;
    if (sweep_pass(f->client.session, &options, &report, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    return report;
}

static struct sweep_report sweep(struct fixture *f, struct told *ret_told)
{
    return sweep_with(f, (struct sweep_options){0}, ret_told);
}

static void put(struct fixture *f, const char *name, const char *text)
{
    assert_int_equal(lab_put(f->client.session, CATALOGUE_ROOT, name, text, NULL), STATUS_OK);
}

/* ---- tags ---- */

static enum blob_tag tag_of(struct fixture *f, int64_t version)
{
    enum blob_tag tag = TAG_UNKNOWN;
    struct version_row row = client_version(&f->client, version);
    struct blob_store *below = f->lab.blobs.below;
    assert_int_equal(below->ops->tag_get(below, NULL, row.blob, &tag, NULL), STATUS_OK);
    return tag;
}

/* P12: the flip stands in the catalogue as work to do until it is done: refused, lost, lost though applied. */
static void test_tags_are_flipped_in_the_end(void **state)
{
    (void)state;
    static const enum port_fate fates[] = {FATE_REFUSED, FATE_LOST, FATE_LOST_APPLIED};
    for (size_t i = 0; i < 3; i++) {
        struct fixture f;
        struct told told;
        struct op op;
        begin(&f);
        assert_int_equal(lab_put(f.client.session, CATALOGUE_ROOT, "a", "text", &op), STATUS_OK);
        assert_int_equal(tag_of(&f, op.ret_document.version), TAG_PENDING);
        client_fault(&f.client, (struct port_fault){.call = PORT_TAG, .fate = fates[i]});
        assert_int_equal(sweep(&f, &told).failed, 1);
        assert_true(client_version(&f.client, op.ret_document.version).tag_due);
        assert_int_equal(sweep(&f, &told).flipped, 1);
        assert_false(client_version(&f.client, op.ret_document.version).tag_due);
        assert_int_equal(tag_of(&f, op.ret_document.version), TAG_COMMITTED);
        end(&f);
    }
}

/* The mount that published dies before it has flipped: another one does. */
static void test_another_flips_for_the_dead(void **state)
{
    (void)state;
    struct fixture f;
    struct told told;
    begin(&f);
    struct client dying;
    struct settings settings = lab_settings();
    client_open(&dying, &f.lab, &settings, SESSION_MOUNT);
    struct op op;
    assert_int_equal(lab_put(dying.session, CATALOGUE_ROOT, "a", "text", &op), STATUS_OK);
    assert_int_equal(sweep(&f, &told).flipped, 0); /* its owner is alive and flips it */
    client_kill(&dying);
    client_close(&dying);
    assert_int_equal(sweep(&f, &told).flipped, 1);
    assert_int_equal(tag_of(&f, op.ret_document.version), TAG_COMMITTED);
    end(&f);
}

/* tags = off: no tag is written or asked for, and the ETag guards. */
static void test_without_tags(void **state)
{
    (void)state;
    struct fixture f;
    begin_tagged(&f, false);
    put(&f, "a", "one");
    put(&f, "a", "two");
    upload_abandon(lab_upload(f.client.session, 0, "never"), "a test");
    lab_sweep(f.client.session);
    assert_int_equal(lab_blobs(&f.lab), 1);
    assert_int_equal(calls(&f, PORT_TAG) + calls(&f, PORT_TAG_GET), 0);
    end(&f);
}

/* A blob that was uploaded without tags is cleared away by a mount that has them. */
static void test_untagged_blob_in_a_store_with_tags(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    struct client untagged;
    struct settings settings = lab_settings();
    settings.tags = false;
    client_open(&untagged, &f.lab, &settings, SESSION_MOUNT);
    struct upload *upload = lab_upload(untagged.session, 0, "never");
    client_kill(&untagged);
    upload_abandon(upload, "deaf");
    client_close(&untagged);
    assert_int_equal(lab_blobs(&f.lab), 1);
    end(&f);
    /* end() has counted the blobs: none is left. */
}

/* ---- guards ---- */

/* P7: a tool has touched a blob: with our token the ETag is taken anew and the delete goes on. */
static void test_touched_blob_is_deleted(void **state)
{
    (void)state;
    for (int published = 0; published < 2; published++)
        for (int tags = 0; tags < 2; tags++) {
            struct fixture f;
            struct told told;
            struct op op;
            begin_tagged(&f, tags);
            assert_int_equal(lab_put(f.client.session, CATALOGUE_ROOT, "a", "one", &op), STATUS_OK);
            struct upload *upload = published ? NULL : lab_upload(f.client.session, 0, "one");
            int64_t version = upload ? upload_version(upload) : op.ret_document.version;
            struct version_row row = client_version(&f.client, version);
            struct blob_facts facts;
            const struct blob_about about = {.catalogue = "x", .token = row.token, .pending = tags && !published};
            struct blob_store *below = f.lab.blobs.below;
            const struct call call = {0};
            assert_int_equal(below->ops->remove(below, &call, row.blob, GUARD_NONE, NULL, NULL), STATUS_OK);
            assert_int_equal(below->ops->put(below, &call, row.blob, "one", 3, crc64(0, "one", 3), &about, &facts,
                                             NULL),
                             STATUS_OK);
            if (upload)
                upload_abandon(upload, "a test");
            else
                put(&f, "a", "two");
            (void)sweep(&f, &told);
            assert_int_equal(client_version(&f.client, version).state, VERSION_GONE);
            end(&f);
        }
}

/* P7: somebody else's blob under the name is reported and never deleted. */
static void test_foreign_blob_is_reported(void **state)
{
    (void)state;
    struct fixture f;
    struct told told;
    struct op op;
    begin(&f);
    assert_int_equal(lab_put(f.client.session, CATALOGUE_ROOT, "a", "one", &op), STATUS_OK);
    struct version_row row = client_version(&f.client, op.ret_document.version);
    struct blob_facts facts;
    const struct blob_about about = {.catalogue = "x", .token = "another"};
    struct blob_store *below = f.lab.blobs.below;
    const struct call call = {0};
    assert_int_equal(below->ops->remove(below, &call, row.blob, GUARD_NONE, NULL, NULL), STATUS_OK);
    assert_int_equal(below->ops->put(below, &call, row.blob, "no", 2, crc64(0, "no", 2), &about, &facts, NULL),
                     STATUS_OK);
    put(&f, "a", "two");
    assert_int_equal(sweep(&f, &told).reported, 1);
    assert_non_null(strstr(told.reasons[VERDICT_REPORT], "somebody else"));
    assert_int_equal(below->ops->stat(below, &call, row.blob, &facts, NULL), STATUS_OK);
    assert_int_equal(below->ops->remove(below, &call, row.blob, GUARD_NONE, NULL, NULL), STATUS_OK);
    end(&f);
}

/* P15: a catalogue restored from an older copy holds a Pending row whose blob was published since: the tag says so, and
 * the blob is reported, never deleted. */
static void test_tag_protects_after_a_restore(void **state)
{
    (void)state;
    struct fixture f;
    struct told told;
    begin(&f);
    struct client dying;
    struct settings settings = lab_settings();
    client_open(&dying, &f.lab, &settings, SESSION_MOUNT);
    struct upload *upload = lab_upload(dying.session, 0, "a document of the lost catalogue");
    struct blob_store *below = f.lab.blobs.below;
    assert_int_equal(below->ops->tag_committed(below, NULL, upload_blob(upload), 1, NULL), STATUS_OK);
    client_kill(&dying);
    upload_abandon(upload, "deaf");
    client_close(&dying);
    struct sweep_report report = sweep(&f, &told);
    assert_int_equal(report.sessions_fenced, 1);
    assert_int_equal(report.reported, 1);
    assert_int_equal(lab_blobs(&f.lab), 1);
    client_close(&f.client);
    lab_done(&f.lab);
}

/* P15: a new mark is durable and written before the first delete of a pass, and once; without it nothing is deleted. */
static unsigned marks_before_remove;

static void count_marks(void *context, enum port_call call, const char *name)
{
    struct fixture *f = context;
    (void)name;
    if (call == PORT_REMOVE)
        marks_before_remove = calls(f, PORT_CONTROL_WRITE);
}

static void test_mark_precedes_deletes(void **state)
{
    (void)state;
    struct fixture f;
    struct told told;
    begin(&f);
    for (int i = 0; i < 5; i++)
        put(&f, "a", "text");
    marks_before_remove = 0;
    client_fault(&f.client, (struct port_fault){.call = PORT_CONTROL_READ, .fate = FATE_REFUSED});
    struct sweep_report report = sweep(&f, &told);
    assert_int_equal(report.deleted, 0);
    assert_true(report.more);
    assert_int_equal(calls(&f, PORT_CONTROL_READ), 1); /* not once a version */
    assert_int_equal(calls(&f, PORT_REMOVE), 0);
    client_hook(&f.client, count_marks, &f);
    assert_int_equal(sweep(&f, &told).deleted, 4);
    assert_int_equal(marks_before_remove, 1);
    assert_int_equal(calls(&f, PORT_CONTROL_WRITE), 1);
    end(&f);
}

/* A leased blob is work left for later, with its reason; the others are not held up. */
static void test_leased(void **state)
{
    (void)state;
    struct fixture f;
    struct told told;
    begin(&f);
    for (int i = 0; i < 3; i++)
        put(&f, "a", "text");
    client_fault(&f.client, (struct port_fault){.call = PORT_REMOVE, .fate = FATE_REFUSED, .refusal = STATUS_LEASED});
    struct sweep_report report = sweep(&f, &told);
    assert_int_equal(report.deleted, 1);
    assert_int_equal(report.waiting, 1);
    assert_int_equal(report.failed, 1);
    assert_non_null(strstr(told.reasons[VERDICT_WAIT], "leased"));
    assert_false(report.more);
    end(&f);
}

/* P9: the answer to a delete is lost: looked at in the next pass, dropped when it is known to be gone. */
static void test_lost_deletes(void **state)
{
    (void)state;
    for (enum port_fate fate = FATE_LOST; fate <= FATE_LOST_APPLIED; fate++) {
        struct fixture f;
        struct told told;
        begin(&f);
        put(&f, "a", "one");
        put(&f, "a", "two");
        client_fault(&f.client, (struct port_fault){.call = PORT_REMOVE, .fate = fate});
        assert_int_equal(sweep(&f, &told).waiting, 1);
        assert_int_equal(lab_counts(f.client.session).condemned, 1);
        assert_int_equal(sweep(&f, &told).dropped, 1);
        end(&f);
    }
}

/* ---- bounds ---- */

/* A bound counts what costs something: rows that only wait starve nobody. */
static void test_bounded(void **state)
{
    (void)state;
    struct fixture f;
    struct told told;
    begin(&f);
    struct op op;
    assert_int_equal(lab_put(f.client.session, CATALOGUE_ROOT, "held", "text", &op), STATUS_OK);
    struct pin *pin = NULL;
    assert_int_equal(pin_open(f.client.session, op.document, &pin, NULL), STATUS_OK);
    for (int i = 0; i < 100; i++) /* all of them wait for the reader, and stand before what comes */
        put(&f, "a", "text");
    (void)sweep(&f, &told); /* the tags */
    upload_unsettled(lab_upload(f.client.session, 0, "never"));
    struct sweep_report report = sweep_with(&f, (struct sweep_options){.versions_max = 1}, &told);
    assert_int_equal(report.condemned, 1);
    assert_int_equal(report.dropped, 1); /* behind all that wait, and in the same pass */
    assert_int_equal(report.waiting, 99);
    pin_close(pin);
    report = sweep_with(&f, (struct sweep_options){.versions_max = 10}, &told);
    assert_int_equal(report.dropped, 10);
    assert_true(report.more);
    end(&f);
}

/* A store that does not answer ends the pass after a call or two, whatever the backlog is. */
static void test_dead_store(void **state)
{
    (void)state;
    static const struct {
        enum port_fate fate;
        enum status refusal;
        unsigned calls_max;
    } ways[] = {{FATE_REFUSED, STATUS_UNREACHABLE, 1}, {FATE_REFUSED, STATUS_TIMEOUT, 1}, {FATE_LOST, STATUS_OK, 2}};
    for (size_t i = 0; i < 3; i++) {
        struct fixture f;
        struct told told;
        begin(&f);
        for (int j = 0; j < 20; j++)
            put(&f, "a", "text");
        client_fault(&f.client, (struct port_fault){.call = PORT_REMOVE,
                                                    .fate = ways[i].fate,
                                                    .refusal = ways[i].refusal,
                                                    .times = 99});
        client_fault(&f.client, (struct port_fault){
                                    .call = PORT_TAG, .fate = ways[i].fate, .refusal = ways[i].refusal, .times = 99});
        struct sweep_report report = sweep(&f, &told);
        assert_true(report.more);
        assert_true(calls(&f, PORT_REMOVE) <= ways[i].calls_max);
        assert_int_equal(calls(&f, PORT_TAG), 0);
        end(&f);
    }
}

/* Patience: uploads go first, for ten seconds; then the sweeper does its part all the same. */
static void test_patient(void **state)
{
    (void)state;
    struct fixture f;
    struct told told;
    begin(&f);
    put(&f, "a", "one");
    put(&f, "a", "two");
    struct upload *upload = lab_upload(f.client.session, 0, "a file that is written for a day");
    const struct sweep_options patient = {.patient = true};
    for (int i = 0; i < 5; i++) {
        struct sweep_report report = sweep_with(&f, patient, &told);
        assert_int_equal(report.deleted, 0);
        assert_true(report.more);
        f.lab.clock.boot_ms += 2000;
    }
    assert_int_equal(sweep_with(&f, patient, &told).deleted, 1);
    upload_abandon(upload, "a test");
    put(&f, "a", "three");
    assert_int_equal(sweep_with(&f, patient, &told).deleted, 1);
    end(&f);
}

static void test_cancelled(void **state)
{
    (void)state;
    struct fixture f;
    struct told told;
    atomic_bool cancelled = true;
    begin(&f);
    put(&f, "a", "one");
    put(&f, "a", "two");
    struct sweep_report report = sweep_with(&f, (struct sweep_options){.cancelled = &cancelled}, &told);
    assert_int_equal(report.deleted, 0);
    assert_true(report.more);
    end(&f);
}

/* A dry run says what a pass would do, and does none of it. */
static void test_dry_run(void **state)
{
    (void)state;
    struct fixture f;
    struct told told;
    begin(&f);
    put(&f, "a", "one");
    put(&f, "a", "two");
    struct client dying;
    struct settings settings = lab_settings();
    client_open(&dying, &f.lab, &settings, SESSION_MOUNT);
    struct upload *upload = lab_upload(dying.session, 0, "never");
    client_kill(&dying);
    upload_abandon(upload, "deaf");
    client_close(&dying);
    client_reset_counts(&f.client);
    struct version_counts before = lab_counts(f.client.session);
    struct sweep_report report = sweep_with(&f, (struct sweep_options){.dry_run = true}, &told);
    struct version_counts after = lab_counts(f.client.session);
    assert_int_equal(report.sessions_fenced, 1);
    assert_int_equal(told.verdicts[VERDICT_DELETE], 1);
    assert_int_equal(told.verdicts[VERDICT_FLIP_TAG], 1);
    assert_true(told.verdicts[VERDICT_CONDEMN] >= 1);
    assert_int_equal(client_exchanges(&f.client), 0);
    assert_memory_equal(&before, &after, sizeof before);
    end(&f);
}

/* P13: no pass lists the container or asks for a tag to decide. */
static void test_no_listing(void **state)
{
    (void)state;
    struct fixture f;
    struct told told;
    begin(&f);
    put(&f, "a", "one");
    put(&f, "a", "two");
    (void)sweep(&f, &told);
    assert_int_equal(calls(&f, PORT_LIST), 0);
    assert_int_equal(calls(&f, PORT_TAG_GET), 0);
    end(&f);
}

/* ---- the change log ---- */

static size_t follow(struct view *view, int64_t *seq, bool *ret_all)
{
    struct view_change changes[4];
    size_t count = 0, sum = 0;
    bool all = false;
    *ret_all = false;
    do {
        assert_int_equal(view_changes(view, seq, changes, 4, &count, &all, NULL), STATUS_OK);
        *ret_all = *ret_all || all;
        sum += count;
    } while (count || all);
    return sum;
}

static int64_t pruned_to(struct fixture *f)
{
    struct catalogue_txn *txn = NULL;
    struct change_row row;
    size_t count;
    int64_t seq = 0, now = 0;
    const struct catalogue_ops *ops = f->client.below->ops;
    assert_int_equal(ops->read_begin(f->client.below, &txn, NULL), STATUS_OK);
    assert_int_equal(ops->seq_now(txn, &now, NULL), STATUS_OK);
    while (seq < now && ops->change_list(txn, seq, &row, 1, &count, NULL) == STATUS_RANGE)
        seq++;
    ops->abort(txn);
    return seq;
}

/* The log is pruned up to what every follower has used, not up to what it could have seen. */
static void test_change_log_is_pruned_behind_its_followers(void **state)
{
    (void)state;
    struct fixture f;
    struct told told;
    begin(&f);
    struct client other;
    struct settings settings = lab_settings();
    client_open(&other, &f.lab, &settings, SESSION_MOUNT_RO);
    struct view *view = NULL;
    assert_int_equal(view_open(other.session, &view, NULL), STATUS_OK);
    int64_t seq = session_known_seq(other.session);
    bool all = false;
    assert_int_equal(follow(view, &seq, &all), 0);
    for (int i = 0; i < 10; i++)
        put(&f, "a", "text");
    int64_t seen = seq;
    assert_int_equal(session_heartbeat(other.session, NULL),
                     STATUS_OK); /* it knows the present, and has used nothing */
    assert_int_equal(client_row(&other).seen_seq, seen);
    (void)sweep(&f, &told);
    assert_true(pruned_to(&f) <= seen);
    struct view_change changes[4];
    size_t count = 0;
    assert_int_equal(view_changes(view, &seq, changes, 4, &count, &all, NULL), STATUS_OK);
    assert_int_equal(count, 4);
    assert_int_equal(session_heartbeat(other.session, NULL), STATUS_OK); /* given, and not said to be used yet */
    assert_int_equal(client_row(&other).seen_seq, seen);
    int64_t first = seq;
    assert_int_equal(view_changes(view, &seq, changes, 4, &count, &all, NULL), STATUS_OK);
    assert_int_equal(session_heartbeat(other.session, NULL), STATUS_OK);
    assert_int_equal(client_row(&other).seen_seq, first);
    assert_int_equal(follow(view, &seq, &all), 10 - 4 - 4);
    assert_false(all);
    assert_int_equal(session_heartbeat(other.session, NULL), STATUS_OK);
    assert_int_equal(client_row(&other).seen_seq, seq);
    (void)sweep(&f, &told);
    assert_int_equal(pruned_to(&f), seq);
    view_close(view);
    client_close(&other);
    end(&f);
}

/* Whoever lags behind is told to forget everything, once. */
static void test_a_gap_is_told(void **state)
{
    (void)state;
    struct fixture f;
    struct told told;
    begin(&f);
    struct view *view = NULL;
    assert_int_equal(view_open(f.client.session, &view, NULL), STATUS_OK);
    int64_t seq = session_known_seq(f.client.session);
    put(&f, "a", "text");
    (void)sweep(&f, &told); /* nobody follows: pruned to the present */
    bool all = false;
    assert_int_equal(follow(view, &seq, &all), 0);
    assert_true(all);
    put(&f, "b", "text");
    assert_true(follow(view, &seq, &all) > 0);
    assert_false(all);
    /* One commit with more lines than the follower has room for. */
    struct op ops[6];
    for (int i = 0; i < 6; i++) {
        char name[8];
        (void)snprintf(name, sizeof name, "d%d", i);
        ops[i] = (struct op){.kind = OP_MKDIR, .dir = CATALOGUE_ROOT, .name = lab_name(name), .attr = {.mode = 0755}};
    }
    assert_int_equal(txn_run(f.client.session, ops, 6, ORDERED, NULL, NULL), STATUS_OK);
    (void)follow(view, &seq, &all);
    assert_true(all);
    view_close(view);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tags_are_flipped_in_the_end),
        cmocka_unit_test(test_another_flips_for_the_dead),
        cmocka_unit_test(test_without_tags),
        cmocka_unit_test(test_untagged_blob_in_a_store_with_tags),
        cmocka_unit_test(test_touched_blob_is_deleted),
        cmocka_unit_test(test_foreign_blob_is_reported),
        cmocka_unit_test(test_tag_protects_after_a_restore),
        cmocka_unit_test(test_mark_precedes_deletes),
        cmocka_unit_test(test_leased),
        cmocka_unit_test(test_lost_deletes),
        cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_dead_store),
        cmocka_unit_test(test_patient),
        cmocka_unit_test(test_cancelled),
        cmocka_unit_test(test_dry_run),
        cmocka_unit_test(test_no_listing),
        cmocka_unit_test(test_change_log_is_pruned_behind_its_followers),
        cmocka_unit_test(test_a_gap_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
