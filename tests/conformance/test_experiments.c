/* links: azure wire document catalogue blob host core */
/* test_experiments.c - goal: the small measured behaviours on which the protocol rests, each with its figures, on the
 * emulator of the service with our own client, our own rows and our own protocol. Method: one Azurite for the program;
 * each experiment in a container of its own, over a real SQLite catalogue, with a store that loses or refuses single
 * answers where a crash or a broken line is played; figures are counted from the rows and from a listing, printed, and
 * asserted. Skipped where Azurite is not installed. */
#include "support/azurite_store.h"
#include "support/lab.h"
#include "unit.h"

#include "base/digest.h"
#include "blob/azure/azure.h"
#include "blob/azure/wire/xml.h"
#include "document/audit.h"
#include "document/single.h"
#include "document/sweep.h"
#include "document/txn.h"
#include "host/entropy.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MIB       1048576
#define BLOBS_MAX 16

static struct azurite azurite; /* started once, before any test */
static const struct call no_limits;
static struct err report; /* of the last call under assert_ok */

/* Fails the test unless the call, which reports to &report, is OK. */
#define assert_ok(call)                                                                                                \
    do {                                                                                                               \
        enum status status_ = (call);                                                                                  \
        if (status_ != STATUS_OK)                                                                                      \
            fail_msg("%s: %s: %s", #call, status_name(status_), report.message);                                       \
    } while (0)

static struct blob_store *open_container(const char *container)
{
    struct blob_store *store = NULL;
    const struct azurite_setting setting = {.container = container, .tags = true};
    assert_ok(azurite_store_checked(&azurite, &setting, &store, &report));
    return store;
}

static void open_lab(struct lab *lab, const char *container)
{
    lab_open_over(lab, open_container(container));
}

/* Without a pool: a session has no more Pending rows than uploads. */
static struct session *open_session(const struct world *world, bool conflict_fail)
{
    struct settings settings = lab_settings();
    settings.intent_pool = 0;
    settings.conflict_fail = conflict_fail;
    return lab_session(world, &settings);
}

/* ---- figures ---- */

struct figures {
    unsigned names;                   /* entries of the root directory */
    unsigned rows, pending, blobless; /* of versions, those of the pool left out; Ready ones without a blob */
    unsigned blobs, orphaned;         /* in the container; those that no row names */
};

struct container {
    char names[BLOBS_MAX][LIMIT_BLOB_NAME_BYTES];
    unsigned count;
};

static bool note_blob(void *context, const struct blob_listing *item)
{
    struct container *container = context;
    if (item->uncommitted)
        return true;
    assert_true(container->count < BLOBS_MAX);
    (void)snprintf(container->names[container->count++], LIMIT_BLOB_NAME_BYTES, "%s", item->name);
    return true;
}

static bool has_blob(const struct container *container, const char *name)
{
    for (unsigned i = 0; i < container->count; i++)
        if (strcmp(container->names[i], name) == 0)
            return true;
    return false;
}

static void count_versions(struct catalogue *catalogue, struct catalogue_txn *txn, const struct container *container,
                           struct figures *figures)
{
    static const enum version_state states[] = {VERSION_PENDING, VERSION_READY, VERSION_CONDEMNED};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        struct version_row rows[BLOBS_MAX];
        size_t count = 0;
        const struct version_filter filter = {.state = states[i]};
        assert_ok(catalogue->ops->version_list(txn, &filter, rows, BLOBS_MAX, &count, &report));
        for (size_t j = 0; j < count; j++) {
            bool there = has_blob(container, rows[j].blob);
            figures->orphaned -= there;
            figures->rows += there || states[i] != VERSION_PENDING;
            figures->pending += there && states[i] == VERSION_PENDING;
            figures->blobless += !there && states[i] == VERSION_READY;
        }
    }
}

static struct figures figures_of(struct lab *lab)
{
    struct figures figures = {0};
    struct container container = {.count = 0};
    struct blob_store *store = lab->blobs.below;
    assert_ok(store->ops->list(store, &no_limits, "d/", note_blob, &container, &report));
    figures.blobs = figures.orphaned = container.count;
    struct catalogue *catalogue = lab->world.catalogue;
    struct catalogue_txn *txn = NULL;
    struct entry_row entries[BLOBS_MAX];
    size_t names = 0;
    assert_ok(catalogue->ops->read_begin(catalogue, &txn, &report));
    assert_ok(catalogue->ops->entry_list(txn, CATALOGUE_ROOT, 0, entries, NULL, BLOBS_MAX, &names, &report));
    figures.names = (unsigned)names;
    count_versions(catalogue, txn, &container, &figures);
    catalogue->ops->abort(txn);
    return figures;
}

/* One sweep, as a later mount would make it. */
static struct sweep_report sweep(struct session *session)
{
    struct sweep_report sweeping = {0};
    const struct sweep_options options = {0};
    assert_ok(session_heartbeat(session, &report));
    assert_ok(sweep_pass(session, &options, &sweeping, &report));
    return sweeping;
}

static void expect_content(struct session *session, const char *name, const char *text)
{
    char *found = lab_get(session, CATALOGUE_ROOT, name);
    assert_non_null(found);
    assert_string_equal(found, text);
    free(found);
}

/* ---- pieces of stories ---- */

static void make_symlink(struct session *session, const char *name)
{
    struct op op = {.kind = OP_SYMLINK, .dir = CATALOGUE_ROOT, .name = lab_name(name), .target = "elsewhere"};
    assert_ok(txn_run(session, &op, 1, ORDERED, NULL, &report));
}

/* A new file under way: its name reserved, its content uploaded, its row Pending. */
static struct op begin_file(struct session *session, const char *name, const char *text)
{
    struct op reserve = {.kind = OP_RESERVE,
                         .dir = CATALOGUE_ROOT,
                         .name = lab_name(name),
                         .attr = {.mode = S_IFREG | 0644}};
    assert_ok(txn_run(session, &reserve, 1, ORDERED, NULL, &report));
    struct op op = {.kind = OP_PUT, .document = reserve.ret_document.id};
    op.put.upload = lab_upload(session, op.document, text);
    op.put.base = reserve.ret_document.version;
    return op;
}

/* Another takes the name meanwhile: what was to be published there has no name any more. */
static void take_name(struct session *session, const char *from, const char *name)
{
    struct op op = {.kind = OP_RENAME,
                    .dir = CATALOGUE_ROOT,
                    .name = lab_name(from),
                    .dir2 = CATALOGUE_ROOT,
                    .name2 = lab_name(name)};
    assert_ok(txn_run(session, &op, 1, ORDERED, NULL, &report));
}

static void fresh_name(char ret_name[LIMIT_BLOB_NAME_BYTES])
{
    uint8_t random[ID_BYTES];
    entropy_fill(entropy_system(), random, sizeof random);
    assert_int_equal(id_blob_name("", random, ret_name), STATUS_OK);
}

static enum status put(struct blob_store *store, const char *name, const void *bytes, size_t len,
                       const struct blob_about *about, struct blob_facts *ret_facts, struct err *err)
{
    return store->ops->put(store, &no_limits, name, bytes, len, crc64(0, bytes, len), about, ret_facts, err);
}

/* What a program without the protocol would send: a blob of this catalogue that no row has announced. */
static void put_unannounced(struct lab *lab, struct catalogue_txn *txn, const char *name)
{
    char id[LIMIT_TOKEN_BYTES] = "";
    struct blob_facts facts;
    assert_ok(lab->world.catalogue->ops->meta_get(txn, "catalogue", id, sizeof id, &report));
    const struct blob_about about = {.catalogue = id, .version = 1, .token = "ab", .pending = true};
    assert_ok(put(lab->blobs.below, name, "orphan", 6, &about, &facts, &report));
}

/* ---- rows and blobs ---- */

/* The naive order: the blob first, then a row that a unique index refuses. */
static struct figures upload_then_insert(void)
{
    struct lab lab;
    open_lab(&lab, "experiment-a-naive");
    struct session *session = open_session(&lab.world, false);
    make_symlink(session, "report");
    char blob[LIMIT_BLOB_NAME_BYTES];
    fresh_name(blob);
    struct catalogue *catalogue = lab.world.catalogue;
    struct catalogue_txn *txn = NULL;
    assert_ok(catalogue->ops->write_begin(catalogue, DURABLE, 1000, &txn, &report));
    put_unannounced(&lab, txn, blob);
    const struct entry_row entry = {.dir = CATALOGUE_ROOT, .name = lab_name("report"), .document = CATALOGUE_ROOT};
    int64_t cookie = 0;
    assert_int_not_equal(catalogue->ops->entry_insert(txn, &entry, &cookie, NULL), STATUS_OK);
    catalogue->ops->abort(txn);
    struct figures figures = figures_of(&lab);
    session_close(session, "done");
    lab_done(&lab);
    return figures;
}

/* Our order, refused just as late, and its compensating delete refused too: the row names what is left. */
static struct figures insert_then_upload(void)
{
    struct lab lab;
    open_lab(&lab, "experiment-a-ours");
    struct session *session = open_session(&lab.world, false);
    make_symlink(session, "other");
    struct op op = begin_file(session, "report", "text");
    take_name(session, "other", "report");
    lab.blobs.fault_call = CALL_REMOVE;
    lab.blobs.fault = FAULT_REFUSE;
    lab.blobs.fault_times = 1;
    assert_int_equal(single_publish(session, &op, NULL, NULL), STATUS_STALE);
    struct figures figures = figures_of(&lab);
    assert_int_equal(figures.blobs, 1);
    (void)sweep(session); /* what it did shows in the figures */
    assert_int_equal(figures_of(&lab).blobs, 0);
    session_close(session, "done");
    lab_done(&lab);
    return figures;
}

static void experiment_a(void **state)
{
    (void)state;
    struct figures naive = upload_then_insert(), ours = insert_then_upload();
    print_message("A: rows=%u blobs=%u orphaned=%u; our path orphaned=%u\n", naive.names, naive.blobs, naive.orphaned,
                  ours.orphaned);
    assert_int_equal(naive.names, 1);
    assert_int_equal(naive.blobs, 1);
    assert_int_equal(naive.orphaned, 1);
    assert_int_equal(ours.names, 1);
    assert_int_equal(ours.orphaned, 0);
}

/* P10: the compensating delete on the failure path of a publish. */
static void experiment_b(void **state)
{
    (void)state;
    struct lab lab;
    open_lab(&lab, "experiment-b");
    struct session *session = open_session(&lab.world, false);
    make_symlink(session, "other");
    struct op op = begin_file(session, "report", "text");
    char blob[LIMIT_BLOB_NAME_BYTES];
    (void)snprintf(blob, sizeof blob, "%s", upload_blob(op.put.upload));
    assert_int_equal(figures_of(&lab).blobs, 1);
    take_name(session, "other", "report");
    assert_int_equal(single_publish(session, &op, NULL, NULL), STATUS_STALE);
    struct figures figures = figures_of(&lab);
    struct blob_facts facts;
    bool deleted = lab.blobs.counts[CALL_REMOVE] == 1 &&
                   lab.blobs.below->ops->stat(lab.blobs.below, &no_limits, blob, &facts, NULL) == STATUS_NOT_FOUND;
    print_message("B: rows=%u blobs=%u deleted=%s\n", figures.names, figures.blobs, deleted ? "true" : "false");
    assert_int_equal(figures.names, 1);
    assert_int_equal(figures.blobs, 0);
    assert_true(deleted);
    lab_audit(session);
    session_close(session, "done");
    lab_done(&lab);
}

/* P11, P12: Pending, uploaded, dead before the mark; then a sweep by another. */
static void experiment_c(void **state)
{
    (void)state;
    struct lab lab;
    open_lab(&lab, "experiment-c");
    struct session *survivor = open_session(&lab.world, false);
    assert_int_equal(lab_put(survivor, CATALOGUE_ROOT, "kept", "kept", NULL), STATUS_OK);
    struct world other = lab_client(&lab);
    struct session *dying = open_session(&other, false);
    struct op op = begin_file(dying, "half", "never published");
    lab_client_close(&other); /* its kernel lock is free; nothing was ended */
    struct figures before = figures_of(&lab);
    struct sweep_report swept = sweep(survivor);
    struct figures after = figures_of(&lab);
    print_message("C: before rows=%u pending=%u blobs=%u; after rows=%u blobs=%u swept=%u\n", before.rows,
                  before.pending, before.blobs, after.rows, after.blobs, swept.deleted);
    assert_int_equal(before.rows, 2);
    assert_int_equal(before.pending, 1);
    assert_int_equal(before.blobs, 2);
    assert_int_equal(after.rows, 1);
    assert_int_equal(after.blobs, 1);
    assert_int_equal(swept.deleted, 1);
    expect_content(survivor, "kept", "kept");
    lab_audit(survivor);
    session_close(survivor, "done");
    lab_bury(dying, op.put.upload);
    lab_done(&lab);
}

/* ---- E: what a rollback leaves ---- */

static void count_orphan(void *context, const struct finding *finding)
{
    *(unsigned *)context += finding->kind == FINDING_ORPHAN;
}

static struct audit_report audit(struct session *session, bool repair, bool dry_run, unsigned *ret_orphans)
{
    struct audit_report result;
    *ret_orphans = 0;
    const struct audit_options options = {.repair = repair,
                                          .dry_run = dry_run,
                                          .finding = count_orphan,
                                          .context = ret_orphans};
    assert_ok(audit_run(session, &options, &result, &report));
    return result;
}

static void roll_back_around_an_upload(struct lab *lab, int64_t session)
{
    struct catalogue *catalogue = lab->world.catalogue;
    struct catalogue_txn *txn = NULL;
    struct version_row row = {.session = session, .state = VERSION_PENDING, .token = "ab"};
    fresh_name(row.blob);
    assert_ok(catalogue->ops->write_begin(catalogue, DURABLE, 1000, &txn, &report));
    assert_ok(catalogue->ops->version_insert(txn, &row, &row.id, &report));
    put_unannounced(lab, txn, row.blob);
    catalogue->ops->abort(txn);
}

/* A database's rollback does not undo an upload. A sweep never looks for what no row names (P13); an audit does, and
 * removes it when told to. */
static void experiment_e(void **state)
{
    (void)state;
    struct lab lab;
    open_lab(&lab, "experiment-e");
    struct session *session = open_session(&lab.world, false);
    roll_back_around_an_upload(&lab, session_id(session));
    struct figures figures = figures_of(&lab);
    unsigned swept = sweep(session).deleted, orphans[4];
    unsigned after_sweep = figures_of(&lab).blobs;
    (void)audit(session, false, false, &orphans[0]); /* its findings are counted */
    lab.clock.utc_ns += 3600LL * 1000000000; /* the store's clock runs by itself: no blob is younger than no grace */
    uint64_t dry = audit(session, true, true, &orphans[1]).repaired;
    unsigned after_dry_run = figures_of(&lab).blobs;
    uint64_t repaired = audit(session, true, false, &orphans[2]).repaired;
    unsigned after_repair = figures_of(&lab).blobs;
    (void)audit(session, false, false, &orphans[3]); /* as above */
    print_message("E: rows=%u blobs=%u; sweep: deleted=%u blobs=%u; audit: orphans=%u; repair, dry run: removed=%llu "
                  "blobs=%u; repair: removed=%llu blobs=%u\n",
                  figures.rows, figures.blobs, swept, after_sweep, orphans[0], (unsigned long long)dry, after_dry_run,
                  (unsigned long long)repaired, after_repair);
    assert_int_equal(figures.rows, 0);
    assert_int_equal(figures.blobs, 1);
    assert_int_equal(swept, 0);
    assert_int_equal(after_sweep, 1);
    assert_int_equal(orphans[0], 1);
    assert_int_equal(orphans[1], 1);
    assert_int_equal(dry, 0);
    assert_int_equal(after_dry_run, 1);
    assert_int_equal(repaired, 1);
    assert_int_equal(after_repair, 0);
    assert_int_equal(orphans[3], 0);
    session_close(session, "done");
    lab_done(&lab);
}

/* ---- F: one compensation, whatever the path ---- */

static void fail_name_taken(struct lab *lab, struct session *session)
{
    (void)lab;
    struct op op = begin_file(session, "report", "text");
    take_name(session, "other", "report");
    assert_int_equal(single_publish(session, &op, NULL, NULL), STATUS_STALE);
}

static void fail_removed(struct lab *lab, struct session *session)
{
    (void)lab;
    struct op op = begin_file(session, "report", "text");
    struct op remove = {.kind = OP_REMOVE, .dir = CATALOGUE_ROOT, .name = lab_name("report")};
    assert_ok(txn_run(session, &remove, 1, ORDERED, NULL, &report));
    assert_int_equal(single_publish(session, &op, NULL, NULL), STATUS_STALE);
}

static void let_go(struct session *session, int64_t document)
{
    struct op abandon = {.kind = OP_ABANDON, .document = document};
    assert_ok(txn_run(session, &abandon, 1, ORDERED, NULL, &report));
}

static void fail_given_up(struct lab *lab, struct session *session)
{
    (void)lab;
    struct op op = begin_file(session, "report", "text");
    upload_abandon(op.put.upload, "the program gave it up");
    let_go(session, op.document);
}

/* The answers of the create and of every look after it are lost. */
static void lose_answers(void *context, enum lab_call call, const char *name)
{
    (void)name;
    struct lab_store *blobs = context;
    blobs->fault_call = call;
    blobs->fault = call == CALL_PUT ? FAULT_LOST_APPLIED : call == CALL_STAT ? FAULT_LOST : FAULT_NONE;
    blobs->fault_times = 1;
}

static void fail_unknown(struct lab *lab, struct session *session)
{
    struct op reserve = {.kind = OP_RESERVE,
                         .dir = CATALOGUE_ROOT,
                         .name = lab_name("report"),
                         .attr = {.mode = S_IFREG | 0644}};
    assert_ok(txn_run(session, &reserve, 1, ORDERED, NULL, &report));
    static char text[] = "text";
    struct upload *upload = NULL;
    const struct upload_target target = {.document = reserve.ret_document.id};
    const struct upload_source source = {lab_read_text, text};
    assert_ok(upload_begin(session, &target, &source, &upload, &report));
    lab->blobs.hook = lose_answers;
    lab->blobs.hook_context = &lab->blobs;
    assert_int_equal(upload_finish(upload, strlen(text), NULL), STATUS_UNKNOWN);
    lab->blobs.hook = NULL;
    lab->blobs.fault = FAULT_NONE;
    assert_int_equal(figures_of(lab).blobs, 1); /* it had been created all the same */
    upload_abandon(upload, "whether it was created was not known");
    let_go(session, reserve.ret_document.id);
}

static void experiment_f(void **state)
{
    (void)state;
    static const struct {
        const char *title, *container;
        void (*run)(struct lab *lab, struct session *session);
    } paths[] = {
        {"its name was taken", "experiment-f-taken", fail_name_taken},
        {"its document was removed", "experiment-f-removed", fail_removed},
        {"the program gave it up", "experiment-f-given-up", fail_given_up},
        {"the create's answer was lost", "experiment-f-unknown", fail_unknown},
    };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct lab lab;
        open_lab(&lab, paths[i].container);
        struct session *session = open_session(&lab.world, false);
        make_symlink(session, "other");
        paths[i].run(&lab, session);
        struct figures figures = figures_of(&lab);
        (void)sweep(session); /* nothing is left for it */
        (void)sweep(session);
        unsigned compensations = lab.blobs.counts[CALL_REMOVE];
        print_message("F: %s: rows=%u blobs=%u compensations=%u\n", paths[i].title, figures.names, figures.blobs,
                      compensations);
        assert_int_equal(figures.names, 1);
        assert_int_equal(figures.blobs, 0);
        assert_int_equal(compensations, 1);
        lab_audit(session);
        session_close(session, "done");
        lab_done(&lab);
    }
}

/* ---- R and S ---- */

/* P2, P5: a replacement is another blob; the old one is there until the commit, and a rollback leaves it whole. */
static void experiment_r(void **state)
{
    (void)state;
    struct lab lab;
    open_lab(&lab, "experiment-r");
    struct session *session = open_session(&lab.world, false);
    struct op op = begin_file(session, "report", "old");
    char old[LIMIT_BLOB_NAME_BYTES];
    (void)snprintf(old, sizeof old, "%s", upload_blob(op.put.upload));
    assert_ok(single_publish(session, &op, NULL, &report));

    op = begin_file(session, "report", "rolled back");
    unsigned during = figures_of(&lab).blobs;
    upload_abandon(op.put.upload, "rolled back");
    unsigned rolled_back = figures_of(&lab).blobs;
    expect_content(session, "report", "old");

    op = begin_file(session, "report", "new");
    bool renamed = strcmp(old, upload_blob(op.put.upload)) != 0;
    struct figures before = figures_of(&lab);
    expect_content(session, "report", "old");
    assert_ok(single_publish(session, &op, NULL, &report));
    expect_content(session, "report", "new");
    (void)sweep(session); /* what it did shows in the figures */
    struct figures after = figures_of(&lab);
    struct blob_facts facts;
    bool gone = lab.blobs.below->ops->stat(lab.blobs.below, &no_limits, old, &facts, NULL) == STATUS_NOT_FOUND;
    print_message("R: new name=%s; rollback: blobs=%u, then %u, old version whole; before the commit blobs=%u; after "
                  "rows=%u blobs=%u old blob=%s\n",
                  renamed ? "true" : "false", during, rolled_back, before.blobs, after.rows, after.blobs,
                  gone ? "gone" : "there");
    assert_true(renamed);
    assert_int_equal(during, 2);
    assert_int_equal(rolled_back, 1);
    assert_int_equal(before.blobs, 2);
    assert_int_equal(after.rows, 1);
    assert_int_equal(after.blobs, 1);
    assert_true(gone);
    lab_audit(session);
    session_close(session, "done");
    lab_done(&lab);
}

/* P9: our own create, sent again after its answer was lost. */
static void experiment_s(void **state)
{
    (void)state;
    static char blocks[3 * 4096 + 1];
    memset(blocks, 'b', sizeof blocks - 1);
    static const struct {
        const char *title, *container, *text;
        enum lab_call create;
        enum lab_fault fault;
    } rows[] = {
        {"one put, applied", "experiment-s-put", "text", CALL_PUT, FAULT_LOST_APPLIED},
        {"one put, not applied", "experiment-s-put-not", "text", CALL_PUT, FAULT_LOST},
        {"blocks, applied", "experiment-s-blocks", blocks, CALL_COMMIT, FAULT_LOST_APPLIED},
        {"blocks, not applied", "experiment-s-blocks-not", blocks, CALL_COMMIT, FAULT_LOST},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct lab lab;
        open_lab(&lab, rows[i].container);
        struct session *session = open_session(&lab.world, false);
        lab.blobs.fault_call = rows[i].create;
        lab.blobs.fault = rows[i].fault;
        lab.blobs.fault_times = 1;
        enum status status = lab_put(session, CATALOGUE_ROOT, "report", rows[i].text, NULL);
        struct figures figures = figures_of(&lab);
        struct version_counts counts = lab_counts(session);
        print_message("S: %s: put=%s blobs=%u ready=%lld\n", rows[i].title, status_name(status), figures.blobs,
                      (long long)counts.ready);
        assert_int_equal(status, STATUS_OK);
        assert_int_equal(figures.blobs, 1);
        assert_int_equal(figures.orphaned, 0);
        assert_int_equal(counts.ready, 1);
        assert_int_equal(figures.blobless, 0);
        expect_content(session, "report", rows[i].text);
        lab_audit(session);
        session_close(session, "done");
        lab_done(&lab);
    }
}

/* ---- the store alone ---- */

static int open_for_test(void **state)
{
    *state = open_container("experiments");
    return 0;
}

static int close_after_test(void **state)
{
    *state = blob_close(*state);
    return 0;
}

static bool count_listed(void *context, const struct blob_listing *item)
{
    (void)item;
    ++*(unsigned *)context;
    return true;
}

static unsigned blobs_named(struct blob_store *store, const char *name)
{
    unsigned count = 0;
    assert_ok(store->ops->list(store, &no_limits, name, count_listed, &count, &report));
    return count;
}

/* Get Block List, which the store has no use for: how many blocks of a name are staged and not committed. */
static bool count_uncommitted(void *context, const struct xml_element *element)
{
    if (!strcmp(element->path, "BlockList/UncommittedBlocks/Block/Name"))
        ++*(unsigned *)context;
    return true;
}

static unsigned blocks_staged(struct blob_store *store, const char *name)
{
    struct azure *azure = (struct azure *)store;
    struct http_response http CLEANUP(http_response_done);
    http_response_init(&http, LIMIT_XML_BYTES);
    struct wire_request request;
    struct wire_response response;
    request_init(&request, "GET", &azure->place, name);
    request_query(&request, "comp", "blocklist");
    request_query(&request, "blocklisttype", "all");
    struct azure_task task = {.kind = AZURE_READ, .expected = 200, .request = &request, .http = &http};
    struct err err = {0};
    enum status status = azure_perform(azure, &no_limits, &task, &response, &err);
    if (status == STATUS_NOT_FOUND)
        return 0;
    if (status != STATUS_OK)
        fail_msg("%s", err.message);
    unsigned count = 0;
    assert_ok(xml_walk(http.body.bytes, http.body.len, count_uncommitted, &count, &report));
    return count;
}

struct racer {
    struct blob_store *store;
    pthread_barrier_t *start;
    const char *name;
    unsigned number;
    enum status result;
};

static void *race(void *argument)
{
    struct racer *racer = argument;
    char token[ID_TEXT_SIZE], body[16];
    (void)snprintf(token, sizeof token, "%032x", racer->number);
    (void)snprintf(body, sizeof body, "racer %u", racer->number);
    struct blob_about about = {.token = token, .pending = true};
    struct blob_facts facts;
    (void)pthread_barrier_wait(racer->start);
    racer->result = put(racer->store, racer->name, body, strlen(body), &about, &facts, NULL);
    return NULL;
}

/* G: five concurrent conditional creates of one name. */
static void experiment_g(void **state)
{
    enum { RACERS = 5 };
    struct racer racers[RACERS];
    pthread_t threads[RACERS];
    pthread_barrier_t start;
    char name[LIMIT_BLOB_NAME_BYTES];
    unsigned won = 0, conflict = 0, other = 0;
    fresh_name(name);
    assert_int_equal(pthread_barrier_init(&start, NULL, RACERS), 0);
    for (unsigned i = 0; i < RACERS; i++) {
        racers[i] = (struct racer){*state, &start, name, i, STATUS_OK};
        assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
    }
    for (unsigned i = 0; i < RACERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        won += racers[i].result == STATUS_OK;
        conflict += racers[i].result == STATUS_EXISTS;
        other += racers[i].result != STATUS_OK && racers[i].result != STATUS_EXISTS;
    }
    (void)pthread_barrier_destroy(&start);
    unsigned blobs = blobs_named(*state, name);
    print_message("G: won=%u conflict=%u other=%u blobs=%u\n", won, conflict, other, blobs);
    assert_int_equal(won, 1);
    assert_int_equal(conflict, 4);
    assert_int_equal(other, 0);
    assert_int_equal(blobs, 1);
}

static struct blob_block block_at(uint32_t index, uint32_t generation, uint64_t offset, uint64_t len)
{
    struct blob_block block = {.offset = offset, .len = len};
    id_block((const uint8_t[ID_BYTES]){1, 2, 3}, index, generation, block.id);
    return block;
}

/* One way to upload: stages where `blocks`, then creates. */
static enum status upload(struct blob_store *store, const char *name, bool blocks, const struct blob_about *about)
{
    struct blob_facts facts;
    struct blob_block block = block_at(0, 0, 0, 5);
    if (!blocks)
        return put(store, name, "hello", 5, about, &facts, NULL);
    assert_ok(store->ops->stage(store, &no_limits, name, &block, "hello", crc64(0, "hello", 5), &report));
    return store->ops->commit(store, &no_limits, name, &block, 1, about, &facts, NULL);
}

/* I: each way to upload carries the condition. */
static void experiment_i(void **state)
{
    static const struct {
        const char *title;
        struct blob_about about;
    } rows[] = {
        {"bare", {0}},
        {"content type", {.content_type = "text/plain"}},
        {"tags", {.pending = true}},
        {"everything",
         {.catalogue = "c1",
          .document = 7,
          .version = 9,
          .token = "ab",
          .name_hex = "61",
          .content_type = "text/plain",
          .pending = true}},
    };
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        bool blocks = i % 2;
        char name[LIMIT_BLOB_NAME_BYTES];
        fresh_name(name);
        enum status first = upload(*state, name, blocks, &rows[i / 2].about);
        enum status second = upload(*state, name, blocks, &rows[i / 2].about);
        print_message("I: %s, %s: first=%s second=%s\n", blocks ? "blocks" : "one put", rows[i / 2].title,
                      status_name(first), status_name(second));
        assert_int_equal(first, STATUS_OK);
        assert_int_equal(second, STATUS_EXISTS);
    }
}

/* J: a delete guarded by the tag. */
static void experiment_j(void **state)
{
    struct blob_store *store = *state;
    struct blob_about about = {.token = "ab", .pending = true};
    struct blob_facts facts;
    char pending[LIMIT_BLOB_NAME_BYTES], committed[LIMIT_BLOB_NAME_BYTES];
    struct err err = {0};
    fresh_name(pending);
    fresh_name(committed);
    assert_int_equal(put(store, pending, "hello", 5, &about, &facts, NULL), STATUS_OK);
    assert_int_equal(put(store, committed, "hello", 5, &about, &facts, NULL), STATUS_OK);
    assert_int_equal(store->ops->tag_committed(store, &no_limits, committed, 1, NULL), STATUS_OK);
    enum status first = store->ops->remove(store, &no_limits, pending, GUARD_TAG_PENDING, NULL, NULL);
    enum status second = store->ops->remove(store, &no_limits, committed, GUARD_TAG_PENDING, NULL, &err);
    print_message("J: pending: %s blobs=%u; committed: %d %s blobs=%u\n", first == STATUS_OK ? "deleted" : "kept",
                  blobs_named(store, pending), err.http_status, status_name(second), blobs_named(store, committed));
    assert_int_equal(first, STATUS_OK);
    assert_int_equal(second, STATUS_CONDITION);
    assert_int_equal(err.http_status, 412);
    assert_int_equal(blobs_named(store, pending), 0);
    assert_int_equal(blobs_named(store, committed), 1);
}

/* Stages three blocks of 4 MiB and commits them. */
static enum status upload_12_mib(struct blob_store *store, const char *name, uint32_t generation, const void *bytes)
{
    struct blob_about about = {.token = generation ? "b0b0" : "a0a0", .pending = true};
    struct blob_block blocks[3];
    struct blob_facts facts;
    for (uint32_t i = 0; i < 3; i++) {
        blocks[i] = block_at(i, generation, i * 4ull * MIB, 4 * MIB);
        assert_ok(store->ops->stage(store, &no_limits, name, &blocks[i], bytes, crc64(0, bytes, 4 * MIB), &report));
    }
    return store->ops->commit(store, &no_limits, name, blocks, 3, &about, &facts, NULL);
}

/* K: conditional create of a staged upload; the refused one's blocks can be cleared, once its name is free. */
static void experiment_k(void **state)
{
    struct blob_store *store = *state;
    char name[LIMIT_BLOB_NAME_BYTES];
    struct blob_facts facts;
    struct blob_about about = {.token = "b0b0", .pending = true};
    char *bytes = calloc(1, 4 * MIB);
    assert_non_null(bytes);
    fresh_name(name);
    enum status first = upload_12_mib(store, name, 0, bytes);
    assert_ok(store->ops->stat(store, &no_limits, name, &facts, &report));
    enum status second = upload_12_mib(store, name, 1, bytes);
    free(bytes);
    unsigned staged = blocks_staged(store, name);
    /* While the first is there, its blocks cannot be cleared, and the blob is left alone. */
    assert_int_equal(store->ops->unstage(store, &no_limits, name, &about, NULL), STATUS_EXISTS);
    assert_ok(store->ops->remove(store, &no_limits, name, GUARD_ETAG, facts.etag, &report));
    assert_ok(store->ops->unstage(store, &no_limits, name, &about, &report));
    unsigned left = blocks_staged(store, name);
    print_message("K: first=%s size=%llu; second=%s uncommitted=%u, left after clearing=%u\n", status_name(first),
                  (unsigned long long)facts.size_bytes, status_name(second), staged, left);
    assert_int_equal(first, STATUS_OK);
    assert_int_equal(facts.size_bytes, 12582912);
    assert_int_equal(second, STATUS_EXISTS);
    assert_int_equal(staged, 3);
    assert_int_equal(left, 0);
    assert_int_equal(blobs_named(store, name), 0);
}

#define STORE_TEST(name) cmocka_unit_test_setup_teardown(name, open_for_test, close_after_test)

int main(void)
{
    if (!azurite_start(&azurite)) {
        (void)fprintf(stderr, "SKIPPED: the experiments are not reproduced without Azurite\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(experiment_a), cmocka_unit_test(experiment_b), cmocka_unit_test(experiment_c),
        cmocka_unit_test(experiment_e), cmocka_unit_test(experiment_f), STORE_TEST(experiment_g),
        STORE_TEST(experiment_i),       STORE_TEST(experiment_j),       STORE_TEST(experiment_k),
        cmocka_unit_test(experiment_r), cmocka_unit_test(experiment_s),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    azurite_stop(&azurite);
    return failed ? 1 : 0;
}
