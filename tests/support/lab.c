/* lab.c - a world for tests of the protocol. */
#include "support/lab.h"
#include "unit.h"

#include "blob/directory.h"
#include "blob/memory.h"
#include "catalogue/sqlite.h"
#include "document/audit.h"
#include "document/pin.h"
#include "document/single.h"
#include "document/sweep.h"
#include "document/txn.h"
#include "document/view.h"
#include "document/volume.h"
#include "host/entropy.h"
#include "host/worker.h"

#include <ftw.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        enum status status_ = (call);                                                                                  \
        if (status_ != STATUS_OK)                                                                                      \
            fail_msg("%s: %s (%s)", #call, status_name(status_), err.message);                                         \
    } while (0)

/* ---- the clock ---- */

static int64_t virtual_utc(struct clock *clock)
{
    return atomic_fetch_add(&((struct virtual_clock *)clock)->utc_ns, 1000) + 1000; /* no two moments are equal */
}

static int64_t virtual_boot(struct clock *clock)
{
    return ((struct virtual_clock *)clock)->boot_ms;
}

static void virtual_wait(struct clock *clock, int64_t duration_ms)
{
    struct virtual_clock *virtual = (struct virtual_clock *)clock;
    virtual->boot_ms += duration_ms;
    virtual->utc_ns += duration_ms * 1000000;
    (void)sched_yield(); /* whoever waits, waits for another thread */
}

static const struct clock_ops virtual_ops = {virtual_utc, virtual_boot, virtual_wait};

/* ---- the store with faults ---- */

static struct lab_store *lab_of(struct blob_store *store)
{
    return (struct lab_store *)store;
}

/* Whether this call is struck. */
static enum lab_fault strike(struct blob_store *store, enum lab_call call, const char *name)
{
    struct lab_store *lab = lab_of(store);
    if (lab->hook)
        lab->hook(lab->hook_context, call, name);
    lab->counts[call]++;
    if (lab->fault == FAULT_NONE || lab->fault_call != call)
        return FAULT_NONE;
    if (lab->fault_after-- > 0)
        return FAULT_NONE;
    if (--lab->fault_times <= 0) {
        enum lab_fault fault = lab->fault;
        lab->fault = FAULT_NONE;
        return fault;
    }
    return lab->fault;
}

#define STRUCK(call_kind, name, applied)                                                                               \
    do {                                                                                                               \
        switch (strike(store, call_kind, name)) {                                                                      \
        case FAULT_NONE: break;                                                                                        \
        case FAULT_REFUSE: return err_set(err, STATUS_IO, "a planted refusal");                                        \
        case FAULT_LOST: return err_set(err, STATUS_UNKNOWN, "a planted loss");                                        \
        case FAULT_LOST_APPLIED: IGNORE(applied); return err_set(err, STATUS_UNKNOWN, "a planted loss, applied");      \
        }                                                                                                              \
    } while (0)

static struct blob_capabilities lab_capabilities(struct blob_store *store)
{
    struct blob_store *below = lab_of(store)->below;
    return below->ops->capabilities(below);
}

static enum status lab_put_op(struct blob_store *store, const struct call *call, const char *name, const void *bytes,
                              size_t len, uint64_t crc64, const struct blob_about *about, struct blob_facts *ret_facts,
                              struct err *err)
{
    struct blob_store *below = lab_of(store)->below;
    STRUCK(CALL_PUT, name, below->ops->put(below, call, name, bytes, len, crc64, about, ret_facts, NULL));
    return below->ops->put(below, call, name, bytes, len, crc64, about, ret_facts, err);
}

static enum status lab_stage(struct blob_store *store, const struct call *call, const char *name,
                             const struct blob_block *block, const void *bytes, uint64_t crc64, struct err *err)
{
    struct blob_store *below = lab_of(store)->below;
    STRUCK(CALL_STAGE, name, below->ops->stage(below, call, name, block, bytes, crc64, NULL));
    return below->ops->stage(below, call, name, block, bytes, crc64, err);
}

static enum status lab_stage_from(struct blob_store *store, const struct call *call, const char *name,
                                  const struct blob_block *block, const char *source, const char *source_etag,
                                  uint64_t source_offset, uint64_t *ret_crc64, struct err *err)
{
    struct blob_store *below = lab_of(store)->below;
    STRUCK(CALL_OTHER, name, 0);
    return below->ops->stage_from(below, call, name, block, source, source_etag, source_offset, ret_crc64, err);
}

static enum status lab_commit(struct blob_store *store, const struct call *call, const char *name,
                              const struct blob_block *blocks, size_t count, const struct blob_about *about,
                              struct blob_facts *ret_facts, struct err *err)
{
    struct blob_store *below = lab_of(store)->below;
    STRUCK(CALL_COMMIT, name, below->ops->commit(below, call, name, blocks, count, about, ret_facts, NULL));
    return below->ops->commit(below, call, name, blocks, count, about, ret_facts, err);
}

static enum status lab_unstage(struct blob_store *store, const struct call *call, const char *name,
                               const struct blob_about *about, struct err *err)
{
    struct blob_store *below = lab_of(store)->below;
    STRUCK(CALL_OTHER, name, 0);
    return below->ops->unstage(below, call, name, about, err);
}

static enum status lab_stat(struct blob_store *store, const struct call *call, const char *name,
                            struct blob_facts *ret_facts, struct err *err)
{
    struct blob_store *below = lab_of(store)->below;
    STRUCK(CALL_STAT, name, 0);
    return below->ops->stat(below, call, name, ret_facts, err);
}

static enum status lab_read(struct blob_store *store, const struct call *call, const char *name, const char *etag,
                            uint64_t offset, void *ret_bytes, size_t len, struct err *err)
{
    struct blob_store *below = lab_of(store)->below;
    STRUCK(CALL_READ, name, 0);
    return below->ops->read(below, call, name, etag, offset, ret_bytes, len, err);
}

static enum status lab_remove(struct blob_store *store, const struct call *call, const char *name,
                              enum blob_guard guard, const char *etag, struct err *err)
{
    struct blob_store *below = lab_of(store)->below;
    STRUCK(CALL_REMOVE, name, below->ops->remove(below, call, name, guard, etag, NULL));
    return below->ops->remove(below, call, name, guard, etag, err);
}

static enum status lab_tag_committed(struct blob_store *store, const struct call *call, const char *name,
                                     int64_t number, struct err *err)
{
    struct blob_store *below = lab_of(store)->below;
    STRUCK(CALL_TAG, name, below->ops->tag_committed(below, call, name, number, NULL));
    return below->ops->tag_committed(below, call, name, number, err);
}

static enum status lab_tag_get(struct blob_store *store, const struct call *call, const char *name,
                               enum blob_tag *ret_tag, struct err *err)
{
    struct blob_store *below = lab_of(store)->below;
    STRUCK(CALL_OTHER, name, 0);
    return below->ops->tag_get(below, call, name, ret_tag, err);
}

static enum status lab_list(struct blob_store *store, const struct call *call, const char *prefix, blob_list_fn *fn,
                            void *context, struct err *err)
{
    struct blob_store *below = lab_of(store)->below;
    STRUCK(CALL_OTHER, prefix, 0);
    return below->ops->list(below, call, prefix, fn, context, err);
}

static enum status lab_control_read(struct blob_store *store, const struct call *call, const char *name, char *ret_text,
                                    size_t capacity, char ret_etag[LIMIT_ETAG_BYTES], struct err *err)
{
    struct blob_store *below = lab_of(store)->below;
    STRUCK(CALL_CONTROL, name, 0);
    return below->ops->control_read(below, call, name, ret_text, capacity, ret_etag, err);
}

static enum status lab_control_write(struct blob_store *store, const struct call *call, const char *name,
                                     const char *text, const char *etag, char ret_etag[LIMIT_ETAG_BYTES],
                                     struct err *err)
{
    struct blob_store *below = lab_of(store)->below;
    STRUCK(CALL_CONTROL, name, below->ops->control_write(below, call, name, text, etag, ret_etag, NULL));
    return below->ops->control_write(below, call, name, text, etag, ret_etag, err);
}

static void lab_close(struct blob_store *store)
{
    (void)blob_close(lab_of(store)->below);
}

static const struct blob_ops lab_ops = {
    .capabilities = lab_capabilities,
    .put = lab_put_op,
    .stage = lab_stage,
    .stage_from = lab_stage_from,
    .commit = lab_commit,
    .unstage = lab_unstage,
    .stat = lab_stat,
    .read = lab_read,
    .remove = lab_remove,
    .tag_committed = lab_tag_committed,
    .tag_get = lab_tag_get,
    .list = lab_list,
    .control_read = lab_control_read,
    .control_write = lab_control_write,
    .close = lab_close,
};

/* ---- the world ---- */

struct settings lab_settings(void)
{
    struct settings settings = settings_default();
    settings.block_bytes = 4096;
    settings.late_after_ms = 0;
    settings.intent_pool = 4;
    settings.deadline_ms = 5000;
    return settings;
}

struct world lab_client(struct lab *lab)
{
    struct err err = {0};
    struct world world = {.blobs = &lab->blobs.store,
                          .clock = &lab->clock.clock,
                          .entropy = entropy_system(),
                          .workers = lab->workers};
    const struct sqlite_options options = {.path = lab->catalogue_path,
                                           .create = true,
                                           .clock = world.clock,
                                           .entropy = world.entropy};
    CHECK(sqlite_open(&options, NULL, &world.catalogue, &err));
    return world;
}

void lab_client_close(struct world *world)
{
    world->catalogue = catalogue_close(world->catalogue);
}

/* Makes the folder and what does not depend on the store. */
static void prepare(struct lab *lab)
{
    memset(lab, 0, sizeof *lab);
    const char *temporary = getenv("TMPDIR");
    (void)snprintf(lab->folder, sizeof lab->folder, "%.40s/readyfs-lab-XXXXXX", temporary ? temporary : "/tmp");
    assert_non_null(mkdtemp(lab->folder));
    (void)snprintf(lab->catalogue_path, sizeof lab->catalogue_path, "%s/catalogue", lab->folder);
    lab->clock = (struct virtual_clock){{&virtual_ops}, 1700000000LL * 1000000000, 1000};
    lab->blobs.store.ops = &lab_ops;
    lab->workers = workers_inline();
}

static void join(struct lab *lab, struct blob_store *below)
{
    struct err err = {0};
    lab->blobs.below = below;
    lab->world = lab_client(lab);
    const struct settings settings = lab_settings();
    const struct volume_options volume = {.settings = &settings};
    CHECK(volume_join(&lab->world, &volume, NULL, &err));
    memset(lab->blobs.counts, 0, sizeof lab->blobs.counts);
}

void lab_open(struct lab *lab, const char *kind)
{
    struct err err = {0};
    struct blob_store *below = NULL;
    char folder[96];
    prepare(lab);
    (void)snprintf(folder, sizeof folder, "%s/blobs", lab->folder);
    if (strcmp(kind, "memory") == 0)
        CHECK(memory_open(&below, &err));
    else
        CHECK(directory_open(folder, true, &below, &err));
    join(lab, below);
}

void lab_open_over(struct lab *lab, struct blob_store *below)
{
    prepare(lab);
    lab->clock.utc_ns = clock_utc_ns(clock_system());
    join(lab, below);
}

static int remove_one(const char *path, const struct stat *stat, int type, struct FTW *walk)
{
    (void)stat;
    (void)type;
    (void)walk;
    return remove(path);
}

void lab_done(struct lab *lab)
{
    lab_client_close(&lab->world);
    (void)blob_close(&lab->blobs.store);
    (void)nftw(lab->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

struct session *lab_session(const struct world *world, const struct settings *settings)
{
    struct err err = {0};
    struct session *session = NULL;
    const struct session_options options = {.kind = SESSION_MOUNT, .place = "lab", .settings = *settings};
    CHECK(session_open(world, &options, &session, &err));
    return session;
}

struct name lab_name(const char *text)
{
    struct name name;
    assert_int_equal(name_set(&name, text, strlen(text)), STATUS_OK);
    return name;
}

/* ---- documents ---- */

enum status lab_read_text(void *text, uint64_t offset, void *ret_bytes, size_t len, struct err *err)
{
    (void)err;
    memcpy(ret_bytes, (const char *)text + offset, len);
    return STATUS_OK;
}

static char *bytes_of(const char *text)
{
    char *bytes = NULL;
    memcpy(&bytes, &text, sizeof bytes); /* the source only reads through it */
    return bytes;
}

struct upload *lab_upload(struct session *session, int64_t document, const char *text)
{
    struct err err = {0};
    struct upload *upload = NULL;
    const struct upload_target target = {.document = document};
    const struct upload_source source = {lab_read_text, bytes_of(text)};
    CHECK(upload_begin(session, &target, &source, &upload, &err));
    CHECK(upload_finish(upload, strlen(text), &err));
    return upload;
}

enum status lab_put(struct session *session, int64_t dir, const char *name, const char *text, struct op *ret_op)
{
    struct err err = {0};
    struct op reserve = {.kind = OP_RESERVE, .dir = dir, .name = lab_name(name), .attr = {.mode = S_IFREG | 0644}};
    enum status status = txn_run(session, &reserve, 1, ORDERED, NULL, &err);
    if (status != STATUS_OK)
        return status;
    const struct upload_source source = {lab_read_text, bytes_of(text)};
    const struct upload_target target = {reserve.ret_document.id, &reserve.name};
    struct upload *upload = NULL;
    status = upload_begin(session, &target, &source, &upload, &err);
    if (status != STATUS_OK)
        return status;
    status = upload_finish(upload, strlen(text), &err);
    if (status != STATUS_OK) {
        upload_abandon(upload, "a test's upload failed");
        struct op abandon = {.kind = OP_ABANDON, .document = reserve.ret_document.id};
        IGNORE(txn_run(session, &abandon, 1, ORDERED, NULL, NULL)); /* nothing to let go of where the document is old */
        return status;
    }
    struct op op = {.kind = OP_PUT, .document = reserve.ret_document.id};
    op.put.upload = upload;
    op.put.base = reserve.ret_document.version;
    op.put.compare_base = session_settings(session)->conflict_fail;
    status = single_publish(session, &op, NULL, &err);
    if (ret_op)
        *ret_op = op;
    return status;
}

char *lab_get(struct session *session, int64_t dir, const char *name)
{
    struct err err = {0};
    struct view *view = NULL;
    CHECK(view_open(session, &view, &err));
    struct document_row document;
    struct name wanted = lab_name(name);
    enum status status = view_lookup(view, dir, &wanted, &document, NULL, &err);
    view_close(view);
    struct pin *pin = NULL;
    if (status == STATUS_OK)
        status = pin_open(session, document.id, &pin, &err);
    if (status != STATUS_OK)
        return NULL;
    size_t size = (size_t)pin_version(pin)->size_bytes;
    char *text = calloc(1, size + 1);
    size_t len = 0;
    status = pin_read(pin, 0, text, size, &len, NULL, &err);
    pin_close(pin);
    if (status != STATUS_OK || len != size) {
        free(text);
        return NULL;
    }
    return text;
}

void lab_sweep(struct session *session)
{
    struct err err = {0};
    struct sweep_report report;
    const struct sweep_options options = {0};
    for (int i = 0; i < 3; i++) {
        CHECK(session_heartbeat(session, &err));
        CHECK(sweep_pass(session, &options, &report, &err));
    }
}

void lab_bury(struct session *session, struct upload *upload)
{
    static void *graveyard[16];
    static size_t count;
    assert_true(count + 2 <= sizeof graveyard / sizeof *graveyard);
    graveyard[count++] = session;
    graveyard[count++] = upload;
}

static bool count_blob(void *context, const struct blob_listing *item)
{
    if (!item->uncommitted)
        ++*(unsigned *)context;
    return true;
}

unsigned lab_blobs(struct lab *lab)
{
    unsigned count = 0;
    const struct call call = {0};
    assert_int_equal(lab->blobs.below->ops->list(lab->blobs.below, &call, "d/", count_blob, &count, NULL), STATUS_OK);
    return count;
}

static void show_finding(void *context, const struct finding *finding)
{
    if (!finding->fault)
        return;
    ++*(unsigned *)context;
    print_message("%s %s: document %lld, blob %s: %s\n", finding->invariant, finding_name(finding->kind),
                  (long long)finding->document, finding->blob, finding->text);
}

void lab_audit(struct session *session)
{
    struct err err = {0};
    unsigned faults = 0;
    struct audit_report report;
    const struct audit_options options = {.data = true, .finding = show_finding, .context = &faults};
    CHECK(audit_run(session, &options, &report, &err));
    assert_int_equal(faults, 0);
    assert_int_equal(report.faults, 0);
}

struct version_counts lab_counts(struct session *session)
{
    struct err err = {0};
    struct catalogue *catalogue = session_world(session)->catalogue;
    struct catalogue_txn *txn = NULL;
    struct version_counts counts = {0};
    CHECK(catalogue->ops->read_begin(catalogue, &txn, &err));
    CHECK(catalogue->ops->count(txn, &counts, &err));
    catalogue->ops->abort(txn);
    return counts;
}
