/* test_audit.c - goal: the audit names every fault that somebody could have made behind the catalogue's back, and
 * nothing else; its repair removes orphans alone, after their grace (P2, P4, P5, P7, P12, P13, P15, S12, S24, S28).
 * links: catalogue blob host core document
 *
 * Method: a volume with a bit of everything; one fault is made by hand at a time, in the store or in the rows.
 */
#include "unit.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "document/audit.h"
#include "document/pin.h"
#include "document/session_internal.h"
#include "document/single.h"
#include "document/sweep.h"
#include "document/txn.h"
#include "support/client.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fixture {
    struct lab lab;
    struct client client;
    struct op small, big; /* as published */
    char text[20001];
};

/* The kinds found, each with how often, and the texts. */
struct found {
    unsigned counts[FINDING_UNREADABLE + 1], faults, repaired;
    char text[512];           /* of the last one */
    struct client *meanwhile; /* sweeps at the first word of progress; NULL: nobody does */
};

static void note(void *context, const struct finding *finding)
{
    struct found *found = context;
    found->counts[finding->kind]++;
    found->faults += finding->fault && !finding->repaired;
    found->repaired += finding->repaired;
    assert_non_null(finding->invariant);
    assert_non_null(finding->blob);
    assert_string_not_equal(finding_name(finding->kind), "unknown");
    (void)snprintf(found->text, sizeof found->text, "%s", finding->text);
}

static struct found audit_with(struct fixture *f, struct audit_options options)
{
    struct err err = {0};
    struct found found = {0};
    struct audit_report report;
    options.finding = note;
    options.context = &found;
    if (audit_run(f->client.session, &options, &report, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_int_equal(report.faults, found.faults);
    assert_int_equal(report.repaired, found.repaired);
    return found;
}

static struct found audit(struct fixture *f)
{
    return audit_with(f, (struct audit_options){.data = true});
}

static void expect_one(struct fixture *f, enum finding_kind kind)
{
    struct found found = audit(f);
    if (found.faults != 1 || found.counts[kind] != 1)
        fail_msg("%u faults, %u of the expected kind; the last: %s", found.faults, found.counts[kind], found.text);
}

static int setup(void **state)
{
    static struct fixture fixture;
    struct fixture *f = &fixture;
    struct settings settings = lab_settings();
    *f = (struct fixture){0};
    lab_open(&f->lab, "memory");
    client_open(&f->client, &f->lab, &settings, SESSION_MOUNT);
    memset(f->text, 'b', sizeof f->text - 1);
    assert_int_equal(lab_put(f->client.session, CATALOGUE_ROOT, "small", "some text", &f->small), STATUS_OK);
    assert_int_equal(lab_put(f->client.session, CATALOGUE_ROOT, "big", f->text, &f->big), STATUS_OK);
    int64_t dir = client_mkdir(&f->client, CATALOGUE_ROOT, "dir");
    assert_int_equal(lab_put(f->client.session, dir, "inside", "text", NULL), STATUS_OK);
    struct op op;
    assert_int_equal(client_reserve(&f->client, dir, "unpublished", 0, &op), STATUS_OK);
    op = (struct op){.kind = OP_LINK, .document = f->small.document, .dir2 = dir, .name2 = lab_name("second name")};
    assert_int_equal(txn_run(f->client.session, &op, 1, ORDERED, NULL, NULL), STATUS_OK);
    lab_sweep(f->client.session);
    assert_int_equal(audit(f).faults, 0);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    client_close(&f->client);
    lab_done(&f->lab);
    return 0;
}

/* ---- the store ---- */

static void remove_blob(struct fixture *f, const char *blob)
{
    const struct call call = {0};
    struct blob_store *below = f->lab.blobs.below;
    assert_int_equal(below->ops->remove(below, &call, blob, GUARD_NONE, NULL, NULL), STATUS_OK);
}

static void put_blob(struct fixture *f, const char *blob, const char *text, struct blob_about about)
{
    const struct call call = {0};
    struct blob_facts facts;
    struct blob_store *below = f->lab.blobs.below;
    size_t len = strlen(text);
    assert_int_equal(below->ops->put(below, &call, blob, text, len, crc64(0, text, len), &about, &facts, NULL),
                     STATUS_OK);
}

static struct blob_about about_of(struct fixture *f, const char *token)
{
    return (struct blob_about){.catalogue = f->client.session->catalogue_id, .token = token};
}

static void expect_unreadable(struct fixture *f)
{
    struct pin *pin = NULL;
    char bytes[64];
    size_t len = 0;
    assert_int_equal(pin_open(f->client.session, f->small.document, &pin, NULL), STATUS_OK);
    assert_int_equal(pin_read(pin, 0, bytes, sizeof bytes, &len, NULL, NULL), STATUS_CORRUPT); /* S24 */
    pin_close(pin);
}

static void test_missing_blob(void **state)
{
    struct fixture *f = *state;
    remove_blob(f, client_version(&f->client, f->small.ret_document.version).blob);
    expect_one(f, FINDING_MISSING_BLOB);
    expect_unreadable(f);
}

static void test_wrong_size(void **state)
{
    struct fixture *f = *state;
    struct version_row row = client_version(&f->client, f->small.ret_document.version);
    remove_blob(f, row.blob);
    put_blob(f, row.blob, "some", about_of(f, row.token));
    expect_one(f, FINDING_WRONG_SIZE);
    expect_unreadable(f);
}

static void test_foreign_blob(void **state)
{
    struct fixture *f = *state;
    struct version_row row = client_version(&f->client, f->small.ret_document.version);
    remove_blob(f, row.blob);
    put_blob(f, row.blob, "some text", about_of(f, "another"));
    expect_one(f, FINDING_FOREIGN_BLOB);
    expect_unreadable(f);
}

static void test_wrong_data(void **state)
{
    struct fixture *f = *state;
    struct version_row row = client_version(&f->client, f->small.ret_document.version);
    remove_blob(f, row.blob);
    put_blob(f, row.blob, "same size", about_of(f, row.token));
    struct found found = audit(f);
    assert_int_equal(found.counts[FINDING_WRONG_ETAG], 1);
    assert_int_equal(found.counts[FINDING_WRONG_DATA], 1); /* read under the ETag that it has now */
    found = audit_with(f, (struct audit_options){.data = false});
    assert_int_equal(found.counts[FINDING_WRONG_DATA], 0);
    expect_unreadable(f);
}

/* Touched, with the same bytes: the ETag alone; a reader records it, and the fault is gone (P7). */
static void test_wrong_etag(void **state)
{
    struct fixture *f = *state;
    struct version_row row = client_version(&f->client, f->small.ret_document.version);
    remove_blob(f, row.blob);
    put_blob(f, row.blob, "some text", about_of(f, row.token));
    expect_one(f, FINDING_WRONG_ETAG);
    client_expect(&f->client, "small", "some text");
    assert_int_equal(audit(f).faults, 0);
}

static void test_wrong_tag(void **state)
{
    struct fixture *f = *state;
    struct version_row row = client_version(&f->client, f->small.ret_document.version);
    struct blob_about about = about_of(f, row.token);
    about.pending = true;
    remove_blob(f, row.blob);
    put_blob(f, row.blob, "some text", about);
    client_expect(&f->client, "small", "some text"); /* records the ETag */
    expect_one(f, FINDING_WRONG_TAG);
}

/* P15. */
static void test_restored(void **state)
{
    struct fixture *f = *state;
    struct upload *upload = lab_upload(f->client.session, 0, "of a newer catalogue");
    struct blob_store *below = f->lab.blobs.below;
    assert_int_equal(below->ops->tag_committed(below, NULL, upload_blob(upload), 1, NULL), STATUS_OK);
    expect_one(f, FINDING_RESTORED);
    upload_abandon(upload, "a test");
}

/* Work that a sweep will do is told, and is no fault; blobs that are on their way neither. */
static void test_leftovers_are_no_faults(void **state)
{
    struct fixture *f = *state;
    struct upload *upload = lab_upload(f->client.session, 0, "under way");
    assert_int_equal(lab_put(f->client.session, CATALOGUE_ROOT, "small", "replaced", NULL), STATUS_OK);
    struct found found = audit(f);
    assert_int_equal(found.faults, 0);
    assert_int_equal(found.counts[FINDING_LEFTOVER], 2);
    upload_abandon(upload, "a test");
}

/* ---- orphans ---- */

#define ORPHAN "d/ab/abcdefabcdefabcdefabcdefabcdefab"

/* The memory store has no clock, so it does not say when a blob was made: here it does. */
static struct blob_ops dated;
static enum status (*list_below)(struct blob_store *store, const struct call *call, const char *prefix,
                                 blob_list_fn *fn, void *context, struct err *err);

struct dating {
    blob_list_fn *fn;
    void *context;
};

static bool add_date(void *context, const struct blob_listing *item)
{
    struct dating *dating = context;
    struct blob_listing with_date = *item;
    with_date.modified_utc_ns = 1700000000LL * 1000000000; /* when the lab's clock begins */
    return dating->fn(dating->context, &with_date);
}

static enum status list_with_dates(struct blob_store *store, const struct call *call, const char *prefix,
                                   blob_list_fn *fn, void *context, struct err *err)
{
    struct dating dating = {fn, context};
    return list_below(store, call, prefix, add_date, &dating, err);
}

/* Named, kept within its grace, kept in a dry run, removed after a new mark, and gone. */
static void test_orphan(void **state)
{
    struct fixture *f = *state;
    put_blob(f, ORPHAN, "nobody's", about_of(f, "0123456789abcdef0123456789abcdef"));
    expect_one(f, FINDING_ORPHAN);
    struct audit_options repair = {.repair = true, .grace_ms = 3600 * 1000};
    f->lab.clock.utc_ns += 7200LL * 1000000000;
    struct found found = audit_with(f, repair);
    assert_int_equal(found.repaired, 0); /* a store that does not tell the age is trusted with nothing */
    f->lab.clock.utc_ns -= 7200LL * 1000000000;
    dated = *f->client.blobs.ops;
    list_below = dated.list;
    dated.list = list_with_dates;
    f->client.blobs.ops = &dated;
    found = audit_with(f, repair);
    assert_int_equal(found.repaired, 0);
    assert_non_null(strstr(found.text, "grace"));
    f->lab.clock.utc_ns += 3601LL * 1000000000;
    repair.dry_run = true;
    found = audit_with(f, repair);
    assert_int_equal(found.repaired, 0);
    assert_non_null(strstr(found.text, "would"));
    repair.dry_run = false;
    client_reset_counts(&f->client);
    client_fault(&f->client, (struct port_fault){.call = PORT_CONTROL_READ, .fate = FATE_REFUSED});
    found = audit_with(f, repair);
    assert_int_equal(found.repaired, 0); /* P15: without a mark nothing is deleted */
    assert_int_equal(atomic_load(&f->client.counts[PORT_REMOVE]), 0);
    found = audit_with(f, repair);
    assert_int_equal(found.repaired, 1);
    assert_int_equal(audit(f).faults, 0);
}

/* S28: other tools' blobs are counted and never touched, whatever their metadata claim: another catalogue's, copies of
 * ours under another name, names that we do not generate. */
static void test_blobs_of_others(void **state)
{
    struct fixture *f = *state;
    struct version_row row = client_version(&f->client, f->small.ret_document.version);
    struct blob_about copy = about_of(f, row.token);
    copy.version = row.id;
    put_blob(f, "d/zz/not-one-of-our-names", "x", about_of(f, row.token));
    put_blob(f, "d/ab/0000000000000000000000000000000000", "x", about_of(f, row.token));
    put_blob(f, "d/ab/00000000000000000000000000000001", "x", copy);
    put_blob(f, "d/ab/00000000000000000000000000000002", "x",
             (struct blob_about){.catalogue = "another", .token = "t"});
    put_blob(f, "d/ab/00000000000000000000000000000003", "x", (struct blob_about){0});
    f->lab.clock.utc_ns += 3601LL * 1000000000;
    struct err err = {0};
    struct found found = {0};
    struct audit_report report;
    const struct audit_options options = {.repair = true, .finding = note, .context = &found};
    unsigned before = lab_blobs(&f->lab);
    assert_int_equal(audit_run(f->client.session, &options, &report, &err), STATUS_OK);
    assert_int_equal(found.faults, 0);
    assert_int_equal(report.foreign_blobs, 5);
    assert_int_equal(lab_blobs(&f->lab), before);
}

/* P13: the container first, the rows afterwards: what is published meanwhile is no orphan. */
static void publish_meanwhile(void *context, enum port_call call, const char *name)
{
    struct fixture *f = context;
    (void)name;
    if (call != PORT_LIST)
        return;
    client_hook(&f->client, NULL, NULL);
    assert_int_equal(lab_put(f->client.session, CATALOGUE_ROOT, "meanwhile", "text", NULL), STATUS_OK);
    assert_int_equal(lab_put(f->client.session, CATALOGUE_ROOT, "small", "another", NULL), STATUS_OK);
}

static void test_published_meanwhile(void **state)
{
    struct fixture *f = *state;
    client_hook(&f->client, publish_meanwhile, f);
    assert_int_equal(audit(f).faults, 0);
}

/* P13: what a sweep has removed since the container was listed is no orphan either. */
static void sweep_meanwhile(void *context, uint64_t done, uint64_t total)
{
    struct found *found = context;
    (void)done;
    (void)total;
    if (found->meanwhile)
        lab_sweep(TAKE(found->meanwhile)->session);
}

static void test_swept_meanwhile(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};
    struct found found = {.meanwhile = &f->client};
    struct audit_report report;
    const struct audit_options options = {.finding = note, .progress = sweep_meanwhile, .context = &found};
    assert_int_equal(lab_put(f->client.session, CATALOGUE_ROOT, "small", "another", NULL), STATUS_OK);
    unsigned before = lab_blobs(&f->lab);
    assert_int_equal(audit_run(f->client.session, &options, &report, &err), STATUS_OK);
    assert_int_equal(lab_blobs(&f->lab), before - 1);
    assert_int_equal(found.faults, 0);
    assert_int_equal(report.foreign_blobs, 0);
}

/* A store that cannot be listed or read: an error, or a finding for each that could not be checked; never silence. */
static void test_unreadable(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};
    struct found found = {0};
    struct audit_report report;
    const struct audit_options options = {.finding = note, .context = &found};
    client_fault(&f->client, (struct port_fault){.call = PORT_LIST, .fate = FATE_REFUSED});
    assert_int_equal(audit_run(f->client.session, &options, &report, &err), STATUS_IO);
    client_fault(&f->client, (struct port_fault){.call = PORT_READ, .fate = FATE_REFUSED});
    expect_one(f, FINDING_UNREADABLE);
}

/* ---- the rows, changed by hand ---- */

static void sql(struct fixture *f, const char *text)
{
    sqlite3 *db = NULL;
    char *message = NULL;
    assert_int_equal(sqlite3_open(f->lab.catalogue_path, &db), SQLITE_OK);
    if (sqlite3_exec(db, text, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", text, message);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void test_rows(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *spoil, *mend;
    } cases[] = {
        /* P4: digests that do not fit */
        {"UPDATE version SET crc64 = crc64 + 1 WHERE size_bytes = 20000",
         "UPDATE version SET crc64 = crc64 - 1 WHERE size_bytes = 20000"},
        {"UPDATE version SET block_bytes = 8192 WHERE size_bytes = 20000",
         "UPDATE version SET block_bytes = 4096 WHERE size_bytes = 20000"},
        /* S12: a reservation that nobody holds */
        {"CREATE TABLE spare AS SELECT * FROM holder; DELETE FROM holder",
         "INSERT INTO holder SELECT * FROM spare; DROP TABLE spare"},
        /* S15: link counts */
        {"UPDATE document SET nlink = nlink + 1 WHERE version IS NOT NULL AND nlink = 1 AND id = "
         "(SELECT min(id) FROM document WHERE version IS NOT NULL AND nlink = 1)",
         "UPDATE document SET nlink = 1 WHERE version IS NOT NULL AND nlink = 2 AND (SELECT count(*) FROM entry e "
         "WHERE "
         "e.document = document.id) = 1"},
        {"UPDATE document SET nlink = 7 WHERE id = 1", "UPDATE document SET nlink = 3 WHERE id = 1"},
        /* the tree */
        {"UPDATE document SET parent = id WHERE parent = 1 AND id > 1",
         "UPDATE document SET parent = 1 WHERE parent = id AND id > 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sql(f, cases[i].spoil);
        struct found found = audit(f);
        if (found.faults != 1 || found.counts[FINDING_ROWS] != 1)
            fail_msg("%s: %u faults; the last: %s", cases[i].spoil, found.faults, found.text);
        sql(f, cases[i].mend);
        assert_int_equal(audit(f).faults, 0);
    }
}

/* P5: a Ready version that its document does not name, and a document that names another's. */
static void test_rows_of_versions(void **state)
{
    struct fixture *f = *state;
    sql(f, "UPDATE document SET version = (SELECT id FROM version WHERE size_bytes = 20000) WHERE version = "
           "(SELECT id FROM version WHERE size_bytes = 9)");
    struct found found = audit(f);
    assert_true(found.faults >= 2);
    assert_true(found.counts[FINDING_ROWS] >= 2);
    sql(f, "UPDATE document SET version = NULL WHERE version = (SELECT id FROM version WHERE size_bytes = 20000)");
    found = audit(f);
    assert_true(found.counts[FINDING_ROWS] >= 2); /* listed, but never published; Ready, but not named */
}

#define TRY(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TRY(test_missing_blob),
        TRY(test_wrong_size),
        TRY(test_foreign_blob),
        TRY(test_wrong_data),
        TRY(test_wrong_etag),
        TRY(test_wrong_tag),
        TRY(test_restored),
        TRY(test_leftovers_are_no_faults),
        TRY(test_orphan),
        TRY(test_blobs_of_others),
        TRY(test_published_meanwhile),
        TRY(test_swept_meanwhile),
        TRY(test_unreadable),
        TRY(test_rows),
        TRY(test_rows_of_versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
