/* test_horizon.c - goal: a condemned version's blob outlives every reader that may have it open, on whichever mount
 * (P14), and no longer.
 * links: catalogue blob host core document
 *
 * Method: two mounts, heartbeats that the test orders itself, hooks that publish, sweep and beat between two steps of
 * an opening.
 */
#include "unit.h"

#include "document/pin.h"
#include "document/session_internal.h"
#include "document/single.h"
#include "document/sweep.h"
#include "document/txn.h"
#include "support/client.h"

#include <stdlib.h>
#include <string.h>

struct fixture {
    struct lab lab;
    struct client writer, reader;
    int64_t document;
};

static void begin(struct fixture *f, const char *kind)
{
    struct settings settings = lab_settings();
    lab_open(&f->lab, kind);
    client_open(&f->writer, &f->lab, &settings, SESSION_MOUNT);
    client_open(&f->reader, &f->lab, &settings, SESSION_MOUNT_RO);
    struct op op;
    assert_int_equal(lab_put(f->writer.session, CATALOGUE_ROOT, "a", "one", &op), STATUS_OK);
    f->document = op.document;
}

static void beat(struct client *client)
{
    struct err err = {0};
    if (session_heartbeat(client->session, &err) != STATUS_OK)
        fail_msg("%s", err.message);
}

static void end(struct fixture *f)
{
    beat(&f->reader);
    lab_sweep(f->writer.session);
    client_expect_converged(&f->writer, client_pool(&f->writer));
    client_close(&f->reader);
    client_close(&f->writer);
    lab_done(&f->lab);
}

#define EACH_KIND(f)                                                                                                   \
    for (size_t kind = 0; kind < 2; kind++)                                                                            \
        for (bool first = (begin(f, kind ? "directory" : "memory"), true); first; first = (end(f), false))

static void reads(struct pin *pin, const char *text)
{
    char bytes[64] = "";
    size_t len = 0;
    struct err err = {0};
    if (pin_read(pin, 0, bytes, sizeof bytes - 1, &len, NULL, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_string_equal(bytes, text);
}

static struct pin *opened(struct client *client, int64_t document)
{
    struct pin *pin = NULL;
    assert_int_equal(pin_open(client->session, document, &pin, NULL), STATUS_OK);
    return pin;
}

/* Whatever beats and sweeps in between, the pinned blob stays; the unpinned one goes with the next heartbeat. */
static void test_pins_on_both_mounts(void **state)
{
    (void)state;
    struct fixture f;
    EACH_KIND(&f)
    {
        struct pin *there = opened(&f.reader, f.document);
        assert_int_equal(lab_put(f.writer.session, CATALOGUE_ROOT, "a", "two", NULL), STATUS_OK);
        struct pin *here = opened(&f.writer, f.document);
        assert_int_equal(lab_put(f.writer.session, CATALOGUE_ROOT, "a", "three", NULL), STATUS_OK);
        for (int i = 0; i < 3; i++) {
            beat(&f.reader);
            lab_sweep(f.writer.session);
        }
        assert_int_equal(lab_blobs(&f.lab), 3);
        reads(there, "one");
        reads(here, "two");
        pin_close(there);
        beat(&f.reader);
        lab_sweep(f.writer.session);
        assert_int_equal(lab_blobs(&f.lab), 2);
        reads(here, "two");
        pin_close(here);
        lab_sweep(f.writer.session); /* alone with its own reader gone: at once */
        assert_int_equal(lab_blobs(&f.lab), 1);
    }
}

/* Removed and renamed over: the reader keeps what it has open (S3). */
static void test_removed_while_open(void **state)
{
    (void)state;
    struct fixture f;
    EACH_KIND(&f)
    {
        assert_int_equal(lab_put(f.writer.session, CATALOGUE_ROOT, "b", "other", NULL), STATUS_OK);
        struct pin *pin = opened(&f.reader, f.document);
        assert_int_equal(client_rename(&f.writer, "b", "a", 0), STATUS_OK);
        beat(&f.reader);
        lab_sweep(f.writer.session);
        reads(pin, "one");
        pin_close(pin);
    }
}

/* A new session starts at the present: it does not hold up what was condemned before, and is seen by what comes after.
 */
static void test_a_session_is_born(void **state)
{
    (void)state;
    struct fixture f;
    EACH_KIND(&f)
    {
        assert_int_equal(lab_put(f.writer.session, CATALOGUE_ROOT, "a", "two", NULL), STATUS_OK);
        struct client late;
        struct settings settings = lab_settings();
        client_open(&late, &f.lab, &settings, SESSION_MOUNT);
        beat(&f.reader);
        lab_sweep(f.writer.session);
        assert_int_equal(lab_blobs(&f.lab), 1);
        struct pin *pin = opened(&late, f.document);
        assert_int_equal(lab_put(f.writer.session, CATALOGUE_ROOT, "a", "three", NULL), STATUS_OK);
        beat(&f.reader);
        lab_sweep(f.writer.session);
        reads(pin, "two");
        pin_close(pin);
        client_close(&late); /* an ended session has no readers */
        lab_sweep(f.writer.session);
        assert_int_equal(lab_blobs(&f.lab), 1);
    }
}

/* What happens between two steps of an opening or a heartbeat. */
struct meanwhile {
    struct fixture *f;
    enum status (*original)(struct catalogue *catalogue, struct catalogue_txn **ret_txn, struct err *err);
    unsigned visits;
};

static struct meanwhile meanwhile;

static void replace_and_sweep(void)
{
    if (meanwhile.visits++)
        return;
    struct fixture *f = meanwhile.f;
    assert_int_equal(lab_put(f->writer.session, CATALOGUE_ROOT, "a", "two", NULL), STATUS_OK);
    meanwhile.f->reader.rows.read_begin = meanwhile.original;
    beat(&f->reader);
    lab_sweep(f->writer.session);
}

static enum status replaced_before_the_snapshot(struct catalogue *catalogue, struct catalogue_txn **ret_txn,
                                                struct err *err)
{
    replace_and_sweep();
    return meanwhile.original(catalogue, ret_txn, err);
}

static enum status replaced_after_the_snapshot(struct catalogue *catalogue, struct catalogue_txn **ret_txn,
                                               struct err *err)
{
    enum status status = meanwhile.original(catalogue, ret_txn, err);
    replace_and_sweep();
    return status;
}

static void opening(enum status (*hook)(struct catalogue *, struct catalogue_txn **, struct err *), const char *sees)
{
    struct fixture f;
    EACH_KIND(&f)
    {
        meanwhile = (struct meanwhile){&f, f.reader.rows.read_begin, 0};
        f.reader.rows.read_begin = hook;
        struct pin *pin = opened(&f.reader, f.document);
        f.reader.rows.read_begin = meanwhile.original;
        assert_true(meanwhile.visits > 0);
        reads(pin, sees);
        pin_close(pin);
    }
}

/* An open registers the number it knows, then reads the row: whatever comes between the two or behind them, what it has
 * read is there. */
static void test_replaced_in_the_middle_of_an_opening(void **state)
{
    (void)state;
    opening(replaced_before_the_snapshot, "two");
    opening(replaced_after_the_snapshot, "one");
}

/* The heartbeat reads the number first, the registrations afterwards: a reader that opens in between is safe. */
static struct pin *pinned_meanwhile;

static enum status opened_after_the_number(struct catalogue *catalogue, struct catalogue_txn **ret_txn, struct err *err)
{
    enum status status = meanwhile.original(catalogue, ret_txn, err);
    if (meanwhile.visits++)
        return status;
    meanwhile.f->reader.rows.read_begin = meanwhile.original;
    pinned_meanwhile = opened(&meanwhile.f->reader, meanwhile.f->document);
    return status;
}

static void test_opened_in_the_middle_of_a_heartbeat(void **state)
{
    (void)state;
    struct fixture f;
    EACH_KIND(&f)
    {
        meanwhile = (struct meanwhile){&f, f.reader.rows.read_begin, 0};
        f.reader.rows.read_begin = opened_after_the_number;
        beat(&f.reader);
        f.reader.rows.read_begin = meanwhile.original;
        assert_int_equal(lab_put(f.writer.session, CATALOGUE_ROOT, "a", "two", NULL), STATUS_OK);
        beat(&f.reader);
        lab_sweep(f.writer.session);
        reads(pinned_meanwhile, "one");
        pin_close(pinned_meanwhile);
    }
}

/* ---- a workspace keeps its registration across publishes ---- */

static struct op publish(struct fixture *f, const char *text, int64_t *ret_seq)
{
    struct op op = {.kind = OP_PUT, .document = f->document};
    op.put.upload = lab_upload(f->writer.session, f->document, text);
    assert_int_equal(single_publish(f->writer.session, &op, ret_seq, NULL), STATUS_OK);
    return op;
}

/* Published by us, replaced by another mount at once, swept, all before we come to pin it. */
static void test_published_and_replaced(void **state)
{
    (void)state;
    struct fixture f;
    EACH_KIND(&f)
    {
        struct client other;
        struct settings settings = lab_settings();
        client_open(&other, &f.lab, &settings, SESSION_MOUNT);
        struct pin *base = opened(&f.writer, f.document);
        int64_t seq = 0;
        struct op op = publish(&f, "mine", &seq);
        assert_int_equal(lab_put(other.session, CATALOGUE_ROOT, "a", "theirs", NULL), STATUS_OK);
        beat(&f.reader);
        beat(&f.writer);
        lab_sweep(other.session);
        lab_sweep(f.writer.session);
        struct pin *pin = NULL;
        assert_int_equal(pin_published(base, f.writer.session, &op.ret_document, seq, &pin, NULL), STATUS_OK);
        assert_int_equal(pin_version(pin)->id, op.ret_document.version);
        pin_close(base);
        beat(&f.writer);
        lab_sweep(other.session);
        lab_sweep(f.writer.session);
        reads(pin, "mine"); /* and not theirs: the workspace goes on from what it has written */
        pin_close(pin);
        beat(&f.writer);
        lab_sweep(other.session);
        client_close(&other);
    }
}

/* The same for a document that had no version before: there is no registration to lean on, so it says STALE. */
static void test_published_and_replaced_without_a_base(void **state)
{
    (void)state;
    struct fixture f;
    EACH_KIND(&f)
    {
        int64_t seq = 0;
        struct op op = publish(&f, "mine", &seq);
        struct pin *pin = NULL;
        assert_int_equal(pin_published(NULL, f.writer.session, &op.ret_document, seq, &pin, NULL), STATUS_OK);
        pin_close(pin);
        op = publish(&f, "mine again", &seq);
        (void)publish(&f, "and again", NULL);
        assert_int_equal(pin_published(NULL, f.writer.session, &op.ret_document, seq, &pin, NULL), STATUS_STALE);
        beat(&f.reader);
        lab_sweep(f.writer.session);
        assert_int_equal(pin_published(NULL, f.writer.session, &op.ret_document, seq, &pin, NULL), STATUS_STALE);
    }
}

/* The registration takes the publish's number: what was condemned by that publish is not held up by it. */
static void test_the_publish_lets_go_of_the_past(void **state)
{
    (void)state;
    struct fixture f;
    EACH_KIND(&f)
    {
        struct pin *base = opened(&f.writer, f.document);
        int64_t seq = 0;
        struct op op = publish(&f, "two", &seq);
        struct pin *pin = NULL;
        assert_int_equal(pin_published(base, f.writer.session, &op.ret_document, seq, &pin, NULL), STATUS_OK);
        pin_close(base);
        beat(&f.reader);
        lab_sweep(f.writer.session);
        assert_int_equal(lab_blobs(&f.lab), 1);
        reads(pin, "two");
        pin_close(pin);
    }
}

/* Nothing that never was Ready has readers: an abandoned upload waits for no horizon. */
static void test_unpublished_waits_for_nobody(void **state)
{
    (void)state;
    struct fixture f;
    EACH_KIND(&f)
    {
        struct pin *pin = opened(&f.reader, f.document);
        upload_abandon(lab_upload(f.writer.session, f.document, "never"), "a test");
        assert_int_equal(lab_blobs(&f.lab), 1);
        pin_close(pin);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pins_on_both_mounts),
        cmocka_unit_test(test_removed_while_open),
        cmocka_unit_test(test_a_session_is_born),
        cmocka_unit_test(test_replaced_in_the_middle_of_an_opening),
        cmocka_unit_test(test_opened_in_the_middle_of_a_heartbeat),
        cmocka_unit_test(test_published_and_replaced),
        cmocka_unit_test(test_published_and_replaced_without_a_base),
        cmocka_unit_test(test_the_publish_lets_go_of_the_past),
        cmocka_unit_test(test_unpublished_waits_for_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
