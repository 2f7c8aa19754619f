/* test_protocol.c - the protocol's invariants on a real SQLite catalogue.
 * links: catalogue blob host core document
 *
 * Goal: P1 to P15 as far as one process can show them. Method: a store that loses or refuses single answers, a clock
 * that the test moves, sessions that die by closing their catalogue without ending; the audit after each story.
 */
#include "document/pin.h"
#include "document/single.h"
#include "document/sweep.h"
#include "document/txn.h"
#include "document/view.h"
#include "document/volume.h"
#include "support/lab.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const kinds[] = {"memory", "directory"};

/* Each story runs on both stores. */
#define EACH_STORE(lab)                                                                                                \
    for (size_t each = 0; each < 2; each++)                                                                            \
        for (bool first = (lab_open(&(lab), kinds[each]), true); first; first = (lab_done(&(lab)), false))

static void expect(struct session *session, const char *name, const char *text)
{
    char *found = lab_get(session, CATALOGUE_ROOT, name);
    if (!text) {
        assert_null(found);
        return;
    }
    assert_non_null(found);
    assert_string_equal(found, text);
    free(found);
}

/* P1, P4, P5: put, read back, replace; the old blob outlives the commit and is gone after the sweep. */
static void test_put_and_replace(void **state)
{
    (void)state;
    struct lab lab;
    EACH_STORE(lab)
    {
        struct settings settings = lab_settings();
        struct session *session = lab_session(&lab.world, &settings);
        assert_int_equal(lab_put(session, CATALOGUE_ROOT, "a", "first", NULL), STATUS_OK);
        expect(session, "a", "first");
        assert_int_equal(lab_blobs(&lab), 1);
        struct op op;
        assert_int_equal(lab_put(session, CATALOGUE_ROOT, "a", "second, and longer", &op), STATUS_OK);
        assert_int_equal(op.put.ret_number, 2);
        assert_int_equal(lab_blobs(&lab), 2);
        expect(session, "a", "second, and longer");
        lab_sweep(session);
        assert_int_equal(lab_blobs(&lab), 1);
        expect(session, "a", "second, and longer");
        assert_int_equal(lab_counts(session).condemned, 0);
        lab_audit(session);
        session_close(session, "done");
    }
}

/* Many blocks, each verified by its digest (P4). */
static void test_blocks(void **state)
{
    (void)state;
    struct lab lab;
    EACH_STORE(lab)
    {
        struct settings settings = lab_settings();
        struct session *session = lab_session(&lab.world, &settings);
        char *text = malloc(50001);
        for (int i = 0; i < 50000; i++)
            text[i] = (char)('a' + i % 23);
        text[50000] = '\0';
        assert_int_equal(lab_put(session, CATALOGUE_ROOT, "big", text, NULL), STATUS_OK);
        assert_int_equal(lab.blobs.counts[CALL_STAGE], 13);
        assert_int_equal(lab.blobs.counts[CALL_COMMIT], 1);
        expect(session, "big", text);
        lab_sweep(session);
        lab_audit(session);
        session_close(session, "done");
        free(text);
    }
}

/* P9: an answer that was lost, applied or not, is settled by looking, and the put succeeds once. */
static void test_lost_answers(void **state)
{
    (void)state;
    static const enum lab_fault faults[] = {FAULT_LOST, FAULT_LOST_APPLIED};
    for (size_t i = 0; i < 2; i++) {
        struct lab lab;
        EACH_STORE(lab)
        {
            struct settings settings = lab_settings();
            struct session *session = lab_session(&lab.world, &settings);
            lab.blobs.fault_call = CALL_PUT;
            lab.blobs.fault = faults[i];
            lab.blobs.fault_times = 1;
            assert_int_equal(lab_put(session, CATALOGUE_ROOT, "a", "text", NULL), STATUS_OK);
            expect(session, "a", "text");
            lab_sweep(session);
            assert_int_equal(lab_blobs(&lab), 1);
            lab_audit(session);
            session_close(session, "done");
        }
    }
}

/* P10: a put that fails leaves the document as it was, and no orphan once a sweep has run. */
static void test_refused_put(void **state)
{
    (void)state;
    struct lab lab;
    EACH_STORE(lab)
    {
        struct settings settings = lab_settings();
        struct session *session = lab_session(&lab.world, &settings);
        assert_int_equal(lab_put(session, CATALOGUE_ROOT, "a", "old", NULL), STATUS_OK);
        lab.blobs.fault_call = CALL_PUT;
        lab.blobs.fault = FAULT_REFUSE;
        lab.blobs.fault_times = 1;
        assert_int_equal(lab_put(session, CATALOGUE_ROOT, "a", "new", NULL), STATUS_IO);
        expect(session, "a", "old");
        lab_sweep(session);
        assert_int_equal(lab_blobs(&lab), 1);
        lab_audit(session);
        session_close(session, "done");
    }
}

/* P11, P12: what a dead session left is fenced, condemned, deleted, dropped; nothing Ready is touched. */
static void test_crash_before_publish(void **state)
{
    (void)state;
    struct lab lab;
    EACH_STORE(lab)
    {
        struct settings settings = lab_settings();
        struct session *survivor = lab_session(&lab.world, &settings);
        assert_int_equal(lab_put(survivor, CATALOGUE_ROOT, "kept", "kept", NULL), STATUS_OK);
        struct world other = lab_client(&lab);
        struct session *dying = lab_session(&other, &settings);
        struct op reserve = {.kind = OP_RESERVE,
                             .dir = CATALOGUE_ROOT,
                             .name = lab_name("half"),
                             .attr = {.mode = S_IFREG | 0644}};
        assert_int_equal(txn_run(dying, &reserve, 1, ORDERED, NULL, NULL), STATUS_OK);
        struct upload *upload = NULL;
        char bytes[] = "never published";
        struct upload_target target = {reserve.ret_document.id, &reserve.name};
        struct upload_source source = {lab_read_text, bytes};
        assert_int_equal(upload_begin(dying, &target, &source, &upload, NULL), STATUS_OK);
        assert_int_equal(upload_finish(upload, strlen(bytes), NULL), STATUS_OK);
        assert_int_equal(lab_blobs(&lab), 2);
        /* While the owner lives, nobody touches it, however long it takes. */
        lab.clock.utc_ns += 86400LL * 1000000000;
        lab_sweep(survivor);
        assert_int_equal(lab_blobs(&lab), 2);
        assert_int_equal(lab_put(survivor, CATALOGUE_ROOT, "half", "x", NULL),
                         STATUS_OK); /* joins, S11: last close wins */
        lab_client_close(&other);    /* it dies: its kernel lock is free, nothing was ended */
        lab_sweep(survivor);
        assert_int_equal(lab_blobs(&lab), 2);
        expect(survivor, "kept", "kept");
        expect(survivor, "half", "x");
        struct version_counts counts = lab_counts(survivor);
        assert_int_equal(counts.condemned, 0);
        lab_audit(survivor);
        session_close(survivor, "done");
        lab_bury(dying, upload);
    }
}

/* P14: a blob outlives the reader that has it open, on whichever session. */
static void test_horizon(void **state)
{
    (void)state;
    struct lab lab;
    EACH_STORE(lab)
    {
        struct settings settings = lab_settings();
        struct session *writer = lab_session(&lab.world, &settings);
        struct world other = lab_client(&lab);
        struct session *reader = lab_session(&other, &settings);
        struct op op;
        assert_int_equal(lab_put(writer, CATALOGUE_ROOT, "a", "one", &op), STATUS_OK);
        struct pin *pin = NULL;
        assert_int_equal(pin_open(reader, op.document, &pin, NULL), STATUS_OK);
        assert_int_equal(lab_put(writer, CATALOGUE_ROOT, "a", "two", NULL), STATUS_OK);
        assert_int_equal(session_heartbeat(reader, NULL), STATUS_OK);
        lab_sweep(writer);
        assert_int_equal(lab_blobs(&lab), 2);
        char text[8] = "";
        size_t len = 0;
        assert_int_equal(pin_read(pin, 0, text, 3, &len, NULL, NULL), STATUS_OK);
        assert_string_equal(text, "one");
        pin_close(pin);
        lab_sweep(writer);
        assert_int_equal(lab_blobs(&lab), 2); /* the reader has not said so yet */
        assert_int_equal(session_heartbeat(reader, NULL), STATUS_OK);
        lab_sweep(writer);
        assert_int_equal(lab_blobs(&lab), 1);
        session_close(reader, "done");
        lab_client_close(&other);
        session_close(writer, "done");
    }
}

/* S11, P5: with conflict = fail the later close is refused; a removed document takes no version. */
static void test_conflict_and_removed(void **state)
{
    (void)state;
    struct lab lab;
    EACH_STORE(lab)
    {
        struct settings settings = lab_settings();
        settings.conflict_fail = true;
        struct session *session = lab_session(&lab.world, &settings);
        struct op op;
        assert_int_equal(lab_put(session, CATALOGUE_ROOT, "a", "one", &op), STATUS_OK);
        struct upload *upload = lab_upload(session, op.document, "late");
        assert_int_equal(lab_put(session, CATALOGUE_ROOT, "a", "two", NULL), STATUS_OK);
        struct op late = {.kind = OP_PUT, .document = op.document};
        late.put.upload = upload;
        late.put.base = op.ret_document.version;
        late.put.compare_base = true;
        assert_int_equal(single_publish(session, &late, NULL, NULL), STATUS_CONFLICT);
        expect(session, "a", "two");
        upload = lab_upload(session, op.document, "too late");
        struct op remove = {.kind = OP_REMOVE, .dir = CATALOGUE_ROOT, .name = lab_name("a")};
        assert_int_equal(txn_run(session, &remove, 1, ORDERED, NULL, NULL), STATUS_OK);
        late = (struct op){.kind = OP_PUT, .document = op.document};
        late.put.upload = upload;
        assert_int_equal(single_publish(session, &late, NULL, NULL), STATUS_STALE);
        expect(session, "a", NULL);
        lab_sweep(session);
        assert_int_equal(lab_blobs(&lab), 0);
        lab_audit(session);
        session_close(session, "done");
    }
}

/* The I/O budget: a put of one block costs one exchange; the flip and the delete come behind. */
static void test_budget(void **state)
{
    (void)state;
    struct lab lab;
    EACH_STORE(lab)
    {
        struct settings settings = lab_settings();
        struct session *session = lab_session(&lab.world, &settings);
        assert_int_equal(lab_put(session, CATALOGUE_ROOT, "a", "one", NULL), STATUS_OK);
        unsigned total = 0;
        for (int i = 0; i < CALL_COUNT; i++)
            total += lab.blobs.counts[i];
        assert_int_equal(total, 1);
        assert_int_equal(lab.blobs.counts[CALL_PUT], 1);
        session_close(session, "done");
    }
}

/* S14: rename over, of trees, below itself; rmdir of what is not empty. */
static void test_names(void **state)
{
    (void)state;
    struct lab lab;
    EACH_STORE(lab)
    {
        struct settings settings = lab_settings();
        struct session *session = lab_session(&lab.world, &settings);
        struct op mkdir = {.kind = OP_MKDIR, .dir = CATALOGUE_ROOT, .name = lab_name("d"), .attr = {.mode = 0755}};
        assert_int_equal(txn_run(session, &mkdir, 1, ORDERED, NULL, NULL), STATUS_OK);
        int64_t dir = mkdir.ret_document.id;
        assert_int_equal(lab_put(session, dir, "x", "x", NULL), STATUS_OK);
        assert_int_equal(lab_put(session, CATALOGUE_ROOT, "y", "y", NULL), STATUS_OK);
        struct op rename = {
            .kind = OP_RENAME, .dir = dir, .name = lab_name("x"), .dir2 = CATALOGUE_ROOT, .name2 = lab_name("y")};
        assert_int_equal(txn_run(session, &rename, 1, ORDERED, NULL, NULL), STATUS_OK);
        expect(session, "y", "x");
        struct op below = {
            .kind = OP_RENAME, .dir = CATALOGUE_ROOT, .name = lab_name("d"), .dir2 = dir, .name2 = lab_name("e")};
        assert_int_equal(txn_run(session, &below, 1, ORDERED, NULL, NULL), STATUS_INVALID);
        assert_int_equal(lab_put(session, dir, "z", "z", NULL), STATUS_OK);
        struct op rmdir = {.kind = OP_RMDIR, .dir = CATALOGUE_ROOT, .name = lab_name("d")};
        assert_int_equal(txn_run(session, &rmdir, 1, ORDERED, NULL, NULL), STATUS_NOT_EMPTY);
        struct op exchange = {.kind = OP_EXCHANGE,
                              .dir = CATALOGUE_ROOT,
                              .name = lab_name("d"),
                              .dir2 = CATALOGUE_ROOT,
                              .name2 = lab_name("y")};
        assert_int_equal(txn_run(session, &exchange, 1, ORDERED, NULL, NULL), STATUS_OK);
        expect(session, "d", "x");
        lab_sweep(session);
        assert_int_equal(lab_blobs(&lab), 2);
        lab_audit(session);
        session_close(session, "done");
    }
}

/* P15: a catalogue that is older than the container is refused, and accepted only on the user's word. */
static void test_restored_catalogue(void **state)
{
    (void)state;
    struct lab lab;
    EACH_STORE(lab)
    {
        const struct settings settings = lab_settings();
        struct err err = {0};
        struct world other = lab_client(&lab);
        struct volume_options options = {.settings = &settings};
        /* A mark that only the container knows: the catalogue's own list is emptied, as an old copy's would lack it. */
        struct catalogue_txn *txn = NULL;
        assert_int_equal(other.catalogue->ops->write_begin(other.catalogue, DURABLE, 1000, &txn, &err), STATUS_OK);
        assert_int_equal(other.catalogue->ops->meta_set(txn, "marks", "", &err), STATUS_OK);
        assert_int_equal(other.catalogue->ops->commit(txn, &err), STATUS_OK);
        assert_int_equal(volume_join(&other, &options, NULL, &err), STATUS_FOREIGN);
        options.accept_restore = true;
        assert_int_equal(volume_join(&other, &options, NULL, &err), STATUS_OK);
        options.accept_restore = false;
        assert_int_equal(volume_join(&other, &options, NULL, &err), STATUS_OK);
        lab_client_close(&other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_put_and_replace),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_lost_answers),
        cmocka_unit_test(test_refused_put),
        cmocka_unit_test(test_crash_before_publish),
        cmocka_unit_test(test_horizon),
        cmocka_unit_test(test_conflict_and_removed),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_restored_catalogue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
