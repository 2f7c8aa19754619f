/* test_reserve.c - goal: names that are taken, joined, linked, renamed over and let go of by several mounts, living and
 * dead: S4, S11, S12, S14, S16, S17, S18 and the link rules, as the catalogue's commits keep them.
 * links: catalogue blob host core document
 *
 * Method: two mounts of one catalogue, one of which may die; every story ends with an audit.
 */
#include "unit.h"

#include "document/single.h"
#include "document/sweep.h"
#include "document/txn.h"
#include "document/view.h"
#include "host/worker.h"
#include "support/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct fixture {
    struct lab lab;
    struct client a, b;
};

static int setup(void **state)
{
    static struct fixture fixture;
    struct settings settings = lab_settings();
    struct fixture *f = &fixture;
    *f = (struct fixture){0};
    lab_open(&f->lab, "memory");
    client_open(&f->a, &f->lab, &settings, SESSION_MOUNT);
    client_open(&f->b, &f->lab, &settings, SESSION_MOUNT);
    *state = f;
    return 0;
}

static void die(struct client *client)
{
    client_kill(client);
    client_close(client);
}

/* b lives to the end of each story. */
static int teardown(void **state)
{
    struct fixture *f = *state;
    if (f->a.session)
        client_close(&f->a);
    lab_sweep(f->b.session);
    client_expect_converged(&f->b, client_pool(&f->b));
    client_close(&f->b);
    lab_done(&f->lab);
    return 0;
}

static enum status publish(struct client *client, int64_t document, const char *text)
{
    struct op op = {.kind = OP_PUT, .document = document};
    op.put.upload = lab_upload(client->session, document, text);
    return single_publish(client->session, &op, NULL, NULL);
}

static enum status abandon(struct client *client, int64_t document)
{
    struct op op = {.kind = OP_ABANDON, .document = document};
    return txn_run(client->session, &op, 1, ORDERED, NULL, NULL);
}

/* Whether the name is there for this mount; *ret_reserved: as an unpublished one. */
static enum status lookup(struct client *client, const char *name, bool *ret_reserved)
{
    struct view *view = NULL;
    struct document_row document;
    struct name wanted = lab_name(name);
    assert_int_equal(view_open(client->session, &view, NULL), STATUS_OK);
    enum status status = view_lookup(view, CATALOGUE_ROOT, &wanted, &document, ret_reserved, NULL);
    view_close(view);
    return status;
}

static size_t listed(struct client *client, int64_t dir)
{
    struct view *view = NULL;
    struct view_item items[32];
    size_t count = 0;
    assert_int_equal(view_open(client->session, &view, NULL), STATUS_OK);
    assert_int_equal(view_list(view, dir, 0, items, 32, &count, NULL), STATUS_OK);
    view_close(view);
    return count;
}

/* S4: an unpublished file is there for the mount that holds it, by name alone, and for nobody else. */
static void test_an_unpublished_name(void **state)
{
    struct fixture *f = *state;
    struct op op;
    bool reserved = false;
    assert_int_equal(client_reserve(&f->a, CATALOGUE_ROOT, "x", 0, &op), STATUS_OK);
    assert_true(op.ret_created);
    assert_int_equal(lookup(&f->a, "x", &reserved), STATUS_OK);
    assert_true(reserved);
    assert_int_equal(lookup(&f->b, "x", NULL), STATUS_NOT_FOUND);
    assert_int_equal(listed(&f->a, CATALOGUE_ROOT), 0);
    assert_int_equal(client_remove(&f->b, CATALOGUE_ROOT, "x"), STATUS_NOT_FOUND);
    assert_int_equal(publish(&f->a, op.ret_document.id, "text"), STATUS_OK);
    assert_int_equal(lookup(&f->b, "x", &reserved), STATUS_OK);
    assert_false(reserved);
    assert_int_equal(listed(&f->b, CATALOGUE_ROOT), 1);
    client_expect(&f->b, "x", "text");
}

/* S12: of two O_EXCL exactly one wins, also while neither is published, and on one mount too. */
static void test_exclusive(void **state)
{
    struct fixture *f = *state;
    struct op first, second;
    assert_int_equal(client_reserve(&f->a, CATALOGUE_ROOT, "x", OP_EXCLUSIVE, &first), STATUS_OK);
    assert_int_equal(client_reserve(&f->b, CATALOGUE_ROOT, "x", OP_EXCLUSIVE, &second), STATUS_EXISTS);
    assert_int_equal(client_reserve(&f->a, CATALOGUE_ROOT, "x", OP_EXCLUSIVE, &second), STATUS_EXISTS);
    struct op mkdir = {.kind = OP_MKDIR, .dir = CATALOGUE_ROOT, .name = lab_name("x"), .attr = {.mode = 0755}};
    assert_int_equal(txn_run(f->b.session, &mkdir, 1, ORDERED, NULL, NULL), STATUS_EXISTS);
    assert_int_equal(abandon(&f->a, first.ret_document.id), STATUS_OK);
    assert_int_equal(client_reserve(&f->b, CATALOGUE_ROOT, "x", OP_EXCLUSIVE, &second), STATUS_OK);
    assert_true(second.ret_document.id != first.ret_document.id); /* S16: ids are never used again */
    assert_int_equal(abandon(&f->b, second.ret_document.id), STATUS_OK);
    assert_int_equal(lookup(&f->b, "x", NULL), STATUS_NOT_FOUND);
}

/* S12 with threads: many on both mounts, one wins. */
struct racer {
    pthread_t thread;
    struct client *client;
    struct op op;
    enum status status;
};

static void *race(void *argument)
{
    struct racer *racer = argument;
    racer->status = client_reserve(racer->client, CATALOGUE_ROOT, "race", OP_EXCLUSIVE, &racer->op);
    return NULL;
}

static void test_exclusive_race(void **state)
{
    struct fixture *f = *state;
    for (int round = 0; round < 5; round++) {
        struct racer racers[8] = {0};
        int winner = -1;
        for (int i = 0; i < 8; i++) {
            racers[i].client = i % 2 ? &f->a : &f->b;
            assert_int_equal(pthread_create(&racers[i].thread, NULL, race, &racers[i]), 0);
        }
        for (int i = 0; i < 8; i++) {
            assert_int_equal(pthread_join(racers[i].thread, NULL), 0);
            assert_true(racers[i].status == STATUS_OK || racers[i].status == STATUS_EXISTS);
            if (racers[i].status == STATUS_OK) {
                assert_int_equal(winner, -1);
                winner = i;
            }
        }
        assert_int_not_equal(winner, -1);
        assert_int_equal(abandon(racers[winner].client, racers[winner].op.ret_document.id), STATUS_OK);
    }
}

/* S12: whoever is refused fences the dead holder first, and then is not refused. */
static void test_exclusive_after_a_death(void **state)
{
    struct fixture *f = *state;
    struct op op;
    assert_int_equal(client_reserve(&f->a, CATALOGUE_ROOT, "x", OP_EXCLUSIVE, &op), STATUS_OK);
    assert_int_equal(client_reserve(&f->a, CATALOGUE_ROOT, "y", 0, &op), STATUS_OK);
    int64_t dead = session_id(f->a.session);
    die(&f->a);
    assert_int_equal(client_reserve(&f->b, CATALOGUE_ROOT, "x", OP_EXCLUSIVE, &op), STATUS_OK);
    struct catalogue_txn *txn = NULL;
    struct session_row row;
    assert_int_equal(f->b.below->ops->read_begin(f->b.below, &txn, NULL), STATUS_OK);
    assert_int_equal(f->b.below->ops->session_get(txn, dead, &row, NULL), STATUS_OK);
    f->b.below->ops->abort(txn);
    assert_true(row.fenced_utc_ns != 0);
    assert_int_equal(client_rename(&f->b, "x", "y", OP_NOREPLACE), STATUS_OK); /* all its names are free */
    assert_int_equal(abandon(&f->b, op.ret_document.id), STATUS_OK);
}

/* S11: a plain O_CREAT joins; the last close wins; the first one makes it visible. */
static void test_joining(void **state)
{
    struct fixture *f = *state;
    struct op first, second;
    assert_int_equal(client_reserve(&f->a, CATALOGUE_ROOT, "x", 0, &first), STATUS_OK);
    assert_int_equal(client_reserve(&f->b, CATALOGUE_ROOT, "x", 0, &second), STATUS_OK);
    assert_false(second.ret_created);
    assert_int_equal(second.ret_document.id, first.ret_document.id);
    assert_int_equal(lookup(&f->b, "x", NULL), STATUS_OK);
    assert_int_equal(publish(&f->a, first.ret_document.id, "a"), STATUS_OK);
    assert_int_equal(publish(&f->b, first.ret_document.id, "b"), STATUS_OK);
    client_expect(&f->a, "x", "b");
    assert_int_equal(abandon(&f->a, first.ret_document.id), STATUS_OK); /* nothing to let go of: it was published */
    client_expect(&f->a, "x", "b");
}

/* The last holder's leaving removes the entry and the document, in whichever order they leave. */
static void test_the_last_holder_removes(void **state)
{
    struct fixture *f = *state;
    for (int order = 0; order < 2; order++) {
        struct op op;
        assert_int_equal(client_reserve(&f->a, CATALOGUE_ROOT, "x", 0, &op), STATUS_OK);
        assert_int_equal(client_reserve(&f->b, CATALOGUE_ROOT, "x", 0, &op), STATUS_OK);
        assert_int_equal(abandon(order ? &f->a : &f->b, op.ret_document.id), STATUS_OK);
        assert_int_equal(lookup(order ? &f->b : &f->a, "x", NULL), STATUS_OK);
        assert_int_equal(lookup(order ? &f->a : &f->b, "x", NULL), STATUS_NOT_FOUND);
        assert_int_equal(abandon(order ? &f->b : &f->a, op.ret_document.id), STATUS_OK);
        assert_int_equal(lookup(&f->b, "x", NULL), STATUS_NOT_FOUND);
        assert_int_equal(publish(&f->a, op.ret_document.id, "late"), STATUS_STALE);
    }
}

/* One of two holders dies: the other goes on, and publishes. */
static void test_one_of_two_holders_dies(void **state)
{
    struct fixture *f = *state;
    struct op op;
    assert_int_equal(client_reserve(&f->a, CATALOGUE_ROOT, "x", 0, &op), STATUS_OK);
    assert_int_equal(client_reserve(&f->b, CATALOGUE_ROOT, "x", 0, &op), STATUS_OK);
    die(&f->a);
    lab_sweep(f->b.session);
    assert_int_equal(lookup(&f->b, "x", NULL), STATUS_OK);
    assert_int_equal(publish(&f->b, op.ret_document.id, "b"), STATUS_OK);
    client_expect(&f->b, "x", "b");
}

/* S14: rename onto a reserved name replaces it; its holder gets ESTALE. */
static void test_rename_onto_reserved(void **state)
{
    struct fixture *f = *state;
    struct op op;
    assert_int_equal(lab_put(f->b.session, CATALOGUE_ROOT, "ready", "ready", NULL), STATUS_OK);
    assert_int_equal(client_reserve(&f->a, CATALOGUE_ROOT, "x", 0, &op), STATUS_OK);
    assert_int_equal(client_rename(&f->b, "ready", "x", OP_NOREPLACE), STATUS_EXISTS); /* S12 */
    assert_int_equal(client_rename(&f->b, "ready", "x", 0), STATUS_OK);
    assert_int_equal(publish(&f->a, op.ret_document.id, "late"), STATUS_STALE);
    client_expect(&f->a, "x", "ready");
}

/* S11: a publish follows the document, not its name: renamed, it lands under the new name. */
static void test_renamed_before_published(void **state)
{
    struct fixture *f = *state;
    struct op op;
    assert_int_equal(client_reserve(&f->a, CATALOGUE_ROOT, "x", 0, &op), STATUS_OK);
    int64_t dir = client_mkdir(&f->a, CATALOGUE_ROOT, "dir");
    struct op rename = {
        .kind = OP_RENAME, .dir = CATALOGUE_ROOT, .name = lab_name("x"), .dir2 = dir, .name2 = lab_name("y")};
    assert_int_equal(txn_run(f->b.session, &rename, 1, ORDERED, NULL, NULL), STATUS_NOT_FOUND); /* not hers */
    assert_int_equal(txn_run(f->a.session, &rename, 1, ORDERED, NULL, NULL), STATUS_OK);
    assert_int_equal(listed(&f->a, dir), 0);
    assert_int_equal(client_reserve(&f->b, CATALOGUE_ROOT, "x", OP_EXCLUSIVE, &rename), STATUS_OK); /* free again */
    assert_int_equal(abandon(&f->b, rename.ret_document.id), STATUS_OK);
    assert_int_equal(publish(&f->a, op.ret_document.id, "text"), STATUS_OK);
    assert_int_equal(listed(&f->b, dir), 1);
}

/* S11, P5: removed meanwhile, or removed and created again: ESTALE, and the new document is not touched. */
static void test_put_onto_removed(void **state)
{
    struct fixture *f = *state;
    struct op op;
    assert_int_equal(lab_put(f->a.session, CATALOGUE_ROOT, "x", "old", &op), STATUS_OK);
    struct upload *upload = lab_upload(f->a.session, op.document, "late");
    int64_t version = upload_version(upload);
    assert_int_equal(client_remove(&f->b, CATALOGUE_ROOT, "x"), STATUS_OK);
    assert_int_equal(lab_put(f->b.session, CATALOGUE_ROOT, "x", "another", NULL), STATUS_OK);
    struct op put = {.kind = OP_PUT, .document = op.document};
    put.put.upload = upload;
    assert_int_equal(single_publish(f->a.session, &put, NULL, NULL), STATUS_STALE);
    assert_int_not_equal(client_version(&f->b, version).state, VERSION_PENDING); /* condemned in that commit */
    client_expect(&f->a, "x", "another");
}

/* S18: a directory with an unfinished file is not empty, for whoever asks; a dead one's does not count. */
static void test_rmdir(void **state)
{
    struct fixture *f = *state;
    struct op op;
    int64_t dir = client_mkdir(&f->b, CATALOGUE_ROOT, "dir");
    struct op rmdir = {.kind = OP_RMDIR, .dir = CATALOGUE_ROOT, .name = lab_name("dir")};
    for (int i = 0; i < 20; i++) { /* more than one batch of entries */
        char name[8];
        (void)snprintf(name, sizeof name, "f%d", i);
        assert_int_equal(client_reserve(&f->a, dir, name, 0, &op), STATUS_OK);
    }
    assert_int_equal(txn_run(f->b.session, &rmdir, 1, ORDERED, NULL, NULL), STATUS_NOT_EMPTY);
    assert_int_equal(txn_run(f->a.session, &rmdir, 1, ORDERED, NULL, NULL), STATUS_NOT_EMPTY);
    die(&f->a);
    assert_int_equal(txn_run(f->b.session, &rmdir, 1, ORDERED, NULL, NULL), STATUS_OK);
    assert_int_equal(client_reserve(&f->b, dir, "x", 0, &op), STATUS_NOT_FOUND); /* nothing begins in what is gone */
}

/* A directory that a dead mount was creating in is replaced by another one, which it was moved from. */
static void test_rename_over_a_dead_ones_directory(void **state)
{
    struct fixture *f = *state;
    struct op op;
    int64_t from = client_mkdir(&f->b, CATALOGUE_ROOT, "from");
    int64_t to = client_mkdir(&f->b, CATALOGUE_ROOT, "to");
    assert_int_equal(client_reserve(&f->a, to, "x", 0, &op), STATUS_OK);
    assert_int_equal(client_reserve(&f->a, from, "y", 0, &op), STATUS_OK);
    assert_int_equal(client_rename(&f->b, "from", "to", 0), STATUS_NOT_EMPTY);
    struct document_row before, after;
    struct view *view = NULL;
    assert_int_equal(view_open(f->b.session, &view, NULL), STATUS_OK);
    assert_int_equal(view_document(view, from, &before, NULL), STATUS_OK);
    die(&f->a);
    assert_int_equal(client_rename(&f->b, "from", "to", 0), STATUS_OK);
    assert_int_equal(view_document(view, from, &after, NULL), STATUS_OK);
    assert_true(after.members > before.members); /* T2: it counts up only, also when a reservation went */
    view_close(view);
}

/* ---- links ---- */

static enum status link_to(struct client *client, int64_t document, const char *name)
{
    struct op op = {.kind = OP_LINK, .document = document, .dir2 = CATALOGUE_ROOT, .name2 = lab_name(name)};
    return txn_run(client->session, &op, 1, ORDERED, NULL, NULL);
}

/* The document lives as long as it has a name, and a removed one gets none again. */
static void test_links(void **state)
{
    struct fixture *f = *state;
    struct op op;
    assert_int_equal(lab_put(f->a.session, CATALOGUE_ROOT, "x", "text", &op), STATUS_OK);
    assert_int_equal(link_to(&f->b, op.document, "y"), STATUS_OK);
    assert_int_equal(link_to(&f->b, op.document, "y"), STATUS_EXISTS);
    assert_int_equal(client_remove(&f->b, CATALOGUE_ROOT, "x"), STATUS_OK);
    client_expect(&f->a, "y", "text");
    assert_int_equal(publish(&f->a, op.document, "more"), STATUS_OK);
    client_expect(&f->b, "y", "more");
    assert_int_equal(client_rename(&f->b, "y", "y", 0), STATUS_OK);
    assert_int_equal(link_to(&f->b, op.document, "z"), STATUS_OK);
    assert_int_equal(client_rename(&f->b, "y", "z", 0), STATUS_OK); /* two names of one document: nothing happens */
    client_expect(&f->b, "y", "more");
    assert_int_equal(client_remove(&f->b, CATALOGUE_ROOT, "y"), STATUS_OK);
    assert_int_equal(client_remove(&f->b, CATALOGUE_ROOT, "z"), STATUS_OK);
    assert_int_equal(link_to(&f->b, op.document, "again"), STATUS_NOT_FOUND);
    assert_int_equal(publish(&f->a, op.document, "late"), STATUS_STALE);
    int64_t dir = client_mkdir(&f->b, CATALOGUE_ROOT, "dir");
    assert_int_equal(link_to(&f->b, dir, "hard"), STATUS_PERMISSION);
}

/* A second name of an unpublished document is reserved like the first, shown with it, and goes with it. */
static void test_links_of_unpublished(void **state)
{
    struct fixture *f = *state;
    struct op op;
    assert_int_equal(client_reserve(&f->a, CATALOGUE_ROOT, "x", 0, &op), STATUS_OK);
    assert_int_equal(link_to(&f->a, op.ret_document.id, "y"), STATUS_OK);
    assert_int_equal(lookup(&f->b, "y", NULL), STATUS_NOT_FOUND);
    assert_int_equal(publish(&f->a, op.ret_document.id, "text"), STATUS_OK);
    client_expect(&f->b, "x", "text");
    client_expect(&f->b, "y", "text");
    assert_int_equal(client_reserve(&f->a, CATALOGUE_ROOT, "p", 0, &op), STATUS_OK);
    assert_int_equal(link_to(&f->a, op.ret_document.id, "q"), STATUS_OK);
    die(&f->a);
    lab_sweep(f->b.session);
    assert_int_equal(client_reserve(&f->b, CATALOGUE_ROOT, "p", OP_EXCLUSIVE, &op), STATUS_OK);
    assert_int_equal(abandon(&f->b, op.ret_document.id), STATUS_OK);
    assert_int_equal(client_reserve(&f->b, CATALOGUE_ROOT, "q", OP_EXCLUSIVE, &op), STATUS_OK);
    assert_int_equal(abandon(&f->b, op.ret_document.id), STATUS_OK);
}

/* S17: unlink of an unfinished file: the name is free, the upload is turned away. */
static void test_unlink_of_unpublished(void **state)
{
    struct fixture *f = *state;
    struct op op;
    assert_int_equal(client_reserve(&f->a, CATALOGUE_ROOT, "x", 0, &op), STATUS_OK);
    struct upload *upload = lab_upload(f->a.session, op.ret_document.id, "text");
    assert_int_equal(client_remove(&f->a, CATALOGUE_ROOT, "x"), STATUS_OK);
    struct op put = {.kind = OP_PUT, .document = op.ret_document.id};
    put.put.upload = upload;
    assert_int_equal(single_publish(f->a.session, &put, NULL, NULL), STATUS_STALE);
    assert_int_equal(client_reserve(&f->b, CATALOGUE_ROOT, "x", OP_EXCLUSIVE, &op), STATUS_OK);
    assert_int_equal(abandon(&f->b, op.ret_document.id), STATUS_OK);
}

/* A regular file is never listed without a version. */
static void test_mknod(void **state)
{
    struct fixture *f = *state;
    struct op op = {.kind = OP_MKNOD, .dir = CATALOGUE_ROOT, .name = lab_name("n"), .attr = {.mode = S_IFREG | 0644}};
    assert_int_equal(txn_run(f->b.session, &op, 1, ORDERED, NULL, NULL), STATUS_INVALID);
    op.attr.mode = S_IFIFO | 0644;
    assert_int_equal(txn_run(f->b.session, &op, 1, ORDERED, NULL, NULL), STATUS_OK);
    assert_int_equal(listed(&f->b, CATALOGUE_ROOT), 1);
}

/* A transaction of several operations: all or none. */
static void test_all_or_none(void **state)
{
    struct fixture *f = *state;
    struct op ops[3] = {
        {.kind = OP_MKDIR, .dir = CATALOGUE_ROOT, .name = lab_name("one"), .attr = {.mode = 0755}},
        {.kind = OP_MKDIR, .dir = CATALOGUE_ROOT, .name = lab_name("two"), .attr = {.mode = 0755}},
        {.kind = OP_REMOVE, .dir = CATALOGUE_ROOT, .name = lab_name("none")},
    };
    assert_int_equal(txn_run(f->b.session, ops, 3, ORDERED, NULL, NULL), STATUS_NOT_FOUND);
    assert_int_equal(listed(&f->b, CATALOGUE_ROOT), 0);
    int64_t seq = 0;
    assert_int_equal(txn_run(f->b.session, ops, 2, ORDERED, &seq, NULL), STATUS_OK);
    assert_int_equal(listed(&f->b, CATALOGUE_ROOT), 2);
    assert_true(seq > 0);
    assert_true(session_known_seq(f->b.session) >= seq);
}

#define STORY(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(test_an_unpublished_name),
        STORY(test_exclusive),
        STORY(test_exclusive_race),
        STORY(test_exclusive_after_a_death),
        STORY(test_joining),
        STORY(test_the_last_holder_removes),
        STORY(test_one_of_two_holders_dies),
        STORY(test_rename_onto_reserved),
        STORY(test_renamed_before_published),
        STORY(test_put_onto_removed),
        STORY(test_rmdir),
        STORY(test_rename_over_a_dead_ones_directory),
        STORY(test_links),
        STORY(test_links_of_unpublished),
        STORY(test_unlink_of_unpublished),
        STORY(test_mknod),
        STORY(test_all_or_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
