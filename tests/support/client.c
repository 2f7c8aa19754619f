/* client.c - ports that count, fail, come late or go deaf; and short forms of what a mount does. */
#include "unit.h"

#include "support/client.h"

#include "catalogue/sqlite.h"
#include "document/session_internal.h"
#include "document/txn.h"
#include "host/entropy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        enum status status_ = (call);                                                                                  \
        if (status_ != STATUS_OK)                                                                                      \
            fail_msg("%s: %s (%s)", #call, status_name(status_), err.message);                                         \
    } while (0)

/* ---- fates ---- */

/* A request that was sent, and that the store has not seen yet. */
struct late {
    char name[LIMIT_BLOB_NAME_BYTES];
    bool put;
    char *bytes;
    size_t len;
    uint64_t crc;
    struct blob_block *blocks;
    size_t count;
    struct blob_about about;
    char catalogue[LIMIT_TOKEN_BYTES], token[LIMIT_TOKEN_BYTES];
};

/* The mutex is held. */
static enum port_fate roll(struct client *client)
{
    static const enum port_fate fates[] = {FATE_REFUSED, FATE_LOST, FATE_LOST_APPLIED};
    client->random ^= client->random << 13;
    client->random ^= client->random >> 7;
    client->random ^= client->random << 17;
    bool struck = (client->random >> 20) % 1000 < client->per_mille;
    return struck ? fates[(client->random >> 40) % 3] : FATE_DONE;
}

static enum port_fate strike(struct client *client, enum port_call call, enum status *ret_refusal)
{
    enum port_fate fate = FATE_DONE;
    (void)pthread_mutex_lock(&client->mutex);
    for (size_t i = 0; i < FAULTS_MAX && fate == FATE_DONE; i++) {
        struct port_fault *fault = &client->faults[i];
        if (fault->fate == FATE_DONE || (fault->call != PORT_ANY && fault->call != call))
            continue;
        if (fault->skip) {
            fault->skip--;
            continue;
        }
        fate = fault->fate;
        *ret_refusal = fault->refusal;
        if (fault->times <= 1)
            fault->fate = FATE_DONE;
        else
            fault->times--;
    }
    if (fate == FATE_DONE && client->per_mille)
        fate = roll(client);
    *ret_refusal = *ret_refusal ? *ret_refusal : STATUS_IO;
    (void)pthread_mutex_unlock(&client->mutex);
    return fate;
}

/* P1, P6, P7: what the rows must say before a call. */
static void watch(struct client *client, enum port_call call, const char *name)
{
    bool sends = call == PORT_PUT || call == PORT_STAGE || call == PORT_COPY || call == PORT_COMMIT;
    if (!sends && call != PORT_REMOVE)
        return;
    struct catalogue *catalogue = client->lab->world.catalogue;
    struct catalogue_txn *txn = NULL;
    struct version_row row = {.state = VERSION_GONE};
    if (catalogue->ops->read_begin(catalogue, &txn, NULL) != STATUS_OK)
        return;
    IGNORE(catalogue->ops->version_of_blob(txn, name, &row, NULL)); /* none: Gone */
    catalogue->ops->abort(txn);
    bool wrong = sends ? row.state == VERSION_READY || row.state == VERSION_GONE
                       : row.state == VERSION_READY || row.state == VERSION_PENDING;
    if (!wrong)
        return;
    print_error("port call %d for %s, which is %s\n", (int)call, name, version_state_name(row.state));
    (void)atomic_fetch_add(&client->violations, 1);
}

static void run_hook(struct client *client, enum port_call call, const char *name)
{
    (void)pthread_mutex_lock(&client->mutex);
    port_hook *hook = client->before;
    void *context = client->context;
    (void)pthread_mutex_unlock(&client->mutex);
    if (hook && !atomic_load(&client->dead))
        hook(context, call, name);
}

void client_chaos(struct client *client, uint64_t seed, unsigned per_mille)
{
    (void)pthread_mutex_lock(&client->mutex);
    client->random = seed * 2654435761u + 88172645463325252ull;
    client->per_mille = per_mille;
    (void)pthread_mutex_unlock(&client->mutex);
}

void client_hook(struct client *client, port_hook *hook, void *context)
{
    (void)pthread_mutex_lock(&client->mutex);
    client->before = hook;
    client->context = context;
    (void)pthread_mutex_unlock(&client->mutex);
}

/* What becomes of a call. True: it is done below; *ret_lost: and its answer is lost. False: *ret_status says how. */
static bool passes(struct client *client, enum port_call call, const char *name, bool *ret_lost,
                   enum status *ret_status, struct err *err)
{
    *ret_lost = false;
    run_hook(client, call, name);
    if (atomic_load(&client->dead)) {
        *ret_status = err_set(err, STATUS_UNREACHABLE, "the client is dead");
        return false;
    }
    (void)atomic_fetch_add(&client->counts[call], 1);
    (void)atomic_fetch_add(&client->calls, 1);
    watch(client, call, name);
    enum status refusal = STATUS_OK;
    switch (strike(client, call, &refusal)) {
    case FATE_DONE: return true;
    case FATE_LOST_APPLIED: *ret_lost = true; return true;
    case FATE_DIES_AFTER:
        *ret_lost = true;
        atomic_store(&client->dead, true);
        return true;
    case FATE_REFUSED: *ret_status = err_set(err, refusal, "a planted refusal"); return false;
    case FATE_DIES_BEFORE:
        atomic_store(&client->dead, true);
        *ret_status = err_set(err, STATUS_UNREACHABLE, "the client has just died");
        return false;
    case FATE_LOST:
    case FATE_LATE: *ret_status = err_set(err, STATUS_UNKNOWN, "a planted loss"); return false;
    }
    return true;
}

static struct client *of(struct blob_store *store)
{
    return (struct client *)(void *)((char *)store - offsetof(struct client, blobs));
}

/* Runs `below` where the call passes, and ends it. */
#define PASS(call_kind, name, below)                                                                                   \
    bool lost;                                                                                                         \
    enum status outcome;                                                                                               \
    if (!passes(of(store), call_kind, name, &lost, &outcome, err))                                                     \
        return outcome;                                                                                                \
    outcome = (below);                                                                                                 \
    return lost ? err_set(err, STATUS_UNKNOWN, "a planted loss") : outcome

static struct blob_store *below_of(struct blob_store *store)
{
    return of(store)->lab->blobs.below;
}

static struct blob_capabilities port_capabilities(struct blob_store *store)
{
    struct blob_capabilities capabilities = below_of(store)->ops->capabilities(below_of(store));
    return capabilities;
}

/* Whether the next call of this kind is to be kept back. */
static bool is_late(struct client *client, enum port_call call)
{
    bool late = false;
    (void)pthread_mutex_lock(&client->mutex);
    for (size_t i = 0; i < FAULTS_MAX; i++)
        late =
            late || (client->faults[i].fate == FATE_LATE && client->faults[i].call == call && !client->faults[i].skip);
    (void)pthread_mutex_unlock(&client->mutex);
    return late;
}

static void keep_late(struct client *client, struct late late, const struct blob_about *about, const char *name)
{
    struct late *kept = malloc(sizeof *kept);
    assert_non_null(kept);
    *kept = late;
    (void)snprintf(kept->name, sizeof kept->name, "%s", name);
    kept->about = *about;
    (void)snprintf(kept->catalogue, sizeof kept->catalogue, "%s", about->catalogue);
    (void)snprintf(kept->token, sizeof kept->token, "%s", about->token);
    kept->about.catalogue = kept->catalogue;
    kept->about.token = kept->token;
    kept->about.name_hex = kept->about.content_type = NULL;
    (void)pthread_mutex_lock(&client->mutex);
    size_t i = 0;
    while (i < LATE_MAX && client->late[i])
        i++;
    assert_true(i < LATE_MAX);
    client->late[i] = kept;
    (void)pthread_mutex_unlock(&client->mutex);
}

static void *copy_of(const void *bytes, size_t len)
{
    void *copy = malloc(len ? len : 1);
    assert_non_null(copy);
    if (len)
        memcpy(copy, bytes, len);
    return copy;
}

static enum status port_put(struct blob_store *store, const struct call *call, const char *name, const void *bytes,
                            size_t len, uint64_t crc64, const struct blob_about *about, struct blob_facts *ret_facts,
                            struct err *err)
{
    struct blob_store *below = below_of(store);
    if (is_late(of(store), PORT_PUT))
        keep_late(of(store), (struct late){.put = true, .bytes = copy_of(bytes, len), .len = len, .crc = crc64}, about,
                  name);
    PASS(PORT_PUT, name, below->ops->put(below, call, name, bytes, len, crc64, about, ret_facts, err));
}

static enum status port_stage(struct blob_store *store, const struct call *call, const char *name,
                              const struct blob_block *block, const void *bytes, uint64_t crc64, struct err *err)
{
    struct blob_store *below = below_of(store);
    PASS(PORT_STAGE, name, below->ops->stage(below, call, name, block, bytes, crc64, err));
}

static enum status port_stage_from(struct blob_store *store, const struct call *call, const char *name,
                                   const struct blob_block *block, const char *source, const char *source_etag,
                                   uint64_t source_offset, uint64_t *ret_crc64, struct err *err)
{
    struct blob_store *below = below_of(store);
    PASS(PORT_COPY, name,
         below->ops->stage_from(below, call, name, block, source, source_etag, source_offset, ret_crc64, err));
}

static enum status port_commit(struct blob_store *store, const struct call *call, const char *name,
                               const struct blob_block *blocks, size_t count, const struct blob_about *about,
                               struct blob_facts *ret_facts, struct err *err)
{
    struct blob_store *below = below_of(store);
    if (is_late(of(store), PORT_COMMIT))
        keep_late(of(store), (struct late){.blocks = copy_of(blocks, count * sizeof *blocks), .count = count}, about,
                  name);
    PASS(PORT_COMMIT, name, below->ops->commit(below, call, name, blocks, count, about, ret_facts, err));
}

static enum status port_unstage(struct blob_store *store, const struct call *call, const char *name,
                                const struct blob_about *about, struct err *err)
{
    struct blob_store *below = below_of(store);
    PASS(PORT_UNSTAGE, name, below->ops->unstage(below, call, name, about, err));
}

static enum status port_stat(struct blob_store *store, const struct call *call, const char *name,
                             struct blob_facts *ret_facts, struct err *err)
{
    struct blob_store *below = below_of(store);
    PASS(PORT_STAT, name, below->ops->stat(below, call, name, ret_facts, err));
}

static enum status port_read(struct blob_store *store, const struct call *call, const char *name, const char *etag,
                             uint64_t offset, void *ret_bytes, size_t len, struct err *err)
{
    struct blob_store *below = below_of(store);
    PASS(PORT_READ, name, below->ops->read(below, call, name, etag, offset, ret_bytes, len, err));
}

static enum status port_remove(struct blob_store *store, const struct call *call, const char *name,
                               enum blob_guard guard, const char *etag, struct err *err)
{
    struct blob_store *below = below_of(store);
    PASS(PORT_REMOVE, name, below->ops->remove(below, call, name, guard, etag, err));
}

static enum status port_tag_committed(struct blob_store *store, const struct call *call, const char *name,
                                      int64_t number, struct err *err)
{
    struct blob_store *below = below_of(store);
    PASS(PORT_TAG, name, below->ops->tag_committed(below, call, name, number, err));
}

static enum status port_tag_get(struct blob_store *store, const struct call *call, const char *name,
                                enum blob_tag *ret_tag, struct err *err)
{
    struct blob_store *below = below_of(store);
    PASS(PORT_TAG_GET, name, below->ops->tag_get(below, call, name, ret_tag, err));
}

static enum status port_list(struct blob_store *store, const struct call *call, const char *prefix, blob_list_fn *fn,
                             void *context, struct err *err)
{
    struct blob_store *below = below_of(store);
    PASS(PORT_LIST, prefix, below->ops->list(below, call, prefix, fn, context, err));
}

static enum status port_control_read(struct blob_store *store, const struct call *call, const char *name,
                                     char *ret_text, size_t capacity, char ret_etag[LIMIT_ETAG_BYTES], struct err *err)
{
    struct blob_store *below = below_of(store);
    PASS(PORT_CONTROL_READ, name, below->ops->control_read(below, call, name, ret_text, capacity, ret_etag, err));
}

static enum status port_control_write(struct blob_store *store, const struct call *call, const char *name,
                                      const char *text, const char *etag, char ret_etag[LIMIT_ETAG_BYTES],
                                      struct err *err)
{
    struct blob_store *below = below_of(store);
    PASS(PORT_CONTROL_WRITE, name, below->ops->control_write(below, call, name, text, etag, ret_etag, err));
}

static const struct blob_ops blob_port = {
    .capabilities = port_capabilities,
    .put = port_put,
    .stage = port_stage,
    .stage_from = port_stage_from,
    .commit = port_commit,
    .unstage = port_unstage,
    .stat = port_stat,
    .read = port_read,
    .remove = port_remove,
    .tag_committed = port_tag_committed,
    .tag_get = port_tag_get,
    .list = port_list,
    .control_read = port_control_read,
    .control_write = port_control_write,
};

enum status client_deliver(struct client *client)
{
    struct blob_store *below = client->lab->blobs.below;
    const struct call call = {0};
    struct blob_facts facts;
    enum status status = STATUS_NOT_FOUND;
    for (size_t i = 0; i < LATE_MAX; i++) {
        struct late *late = client->late[i];
        if (!late)
            continue;
        status = late->put ? below->ops->put(below, &call, late->name, late->bytes, late->len, late->crc, &late->about,
                                             &facts, NULL)
                           : below->ops->commit(below, &call, late->name, late->blocks, late->count, &late->about,
                                                &facts, NULL);
        free(late->bytes);
        free(late->blocks);
        free(late);
        client->late[i] = NULL;
    }
    return status;
}

/* ---- the catalogue's port ---- */

/* A transaction belongs to the thread that began it, so the one that writes is found here. */
static _Thread_local struct {
    struct client *client;
    struct catalogue_txn *txn;
    enum durability durability;
} writing;

static const struct catalogue_ops *backend; /* the same below all clients */

static struct client *of_catalogue(struct catalogue *catalogue)
{
    return (struct client *)(void *)((char *)catalogue - offsetof(struct client, catalogue));
}

static bool deaf(struct client *client, struct err *err)
{
    if (!atomic_load(&client->dead))
        return false;
    (void)err_set(err, STATUS_IO, "the client is dead");
    return true;
}

static enum status port_read_begin(struct catalogue *catalogue, struct catalogue_txn **ret_txn, struct err *err)
{
    struct client *client = of_catalogue(catalogue);
    return deaf(client, err) ? STATUS_IO : client->below->ops->read_begin(client->below, ret_txn, err);
}

static enum status port_write_begin(struct catalogue *catalogue, enum durability durability, int64_t deadline_ms,
                                    struct catalogue_txn **ret_txn, struct err *err)
{
    struct client *client = of_catalogue(catalogue);
    if (deaf(client, err))
        return STATUS_IO;
    enum status status = client->below->ops->write_begin(client->below, durability, deadline_ms, ret_txn, err);
    if (status == STATUS_OK) {
        writing.client = client;
        writing.txn = *ret_txn;
        writing.durability = durability;
    }
    return status;
}

static void port_abort(struct catalogue_txn *txn)
{
    if (txn && txn == writing.txn)
        writing.txn = NULL;
    backend->abort(txn);
}

static enum status port_commit_txn(struct catalogue_txn *txn, struct err *err)
{
    struct client *client = writing.client;
    assert_ptr_equal(txn, writing.txn);
    writing.txn = NULL;
    bool lost;
    enum status status;
    enum port_call call = writing.durability == DURABLE ? PORT_DURABLE : PORT_ORDERED;
    if (passes(client, call, "", &lost, &status, err)) {
        status = client->below->ops->commit(txn, err);
        return lost ? err_set(err, STATUS_UNKNOWN, "a planted loss") : status;
    }
    client->below->ops->abort(txn);
    return status == STATUS_UNREACHABLE ? STATUS_UNKNOWN : status;
}

static enum status port_sync(struct catalogue *catalogue, struct err *err)
{
    struct client *client = of_catalogue(catalogue);
    bool lost;
    enum status status;
    if (!passes(client, PORT_SYNC, "", &lost, &status, err))
        return STATUS_IO;
    status = client->below->ops->sync(client->below, err);
    return lost ? STATUS_IO : status;
}

static enum status port_reopen(struct catalogue *catalogue, struct err *err)
{
    struct client *client = of_catalogue(catalogue);
    return deaf(client, err) ? STATUS_IO : client->below->ops->reopen(client->below, err);
}

static enum status port_data_version(struct catalogue *catalogue, uint64_t *ret_version, struct err *err)
{
    struct client *client = of_catalogue(catalogue);
    return deaf(client, err) ? STATUS_IO : client->below->ops->data_version(client->below, ret_version, err);
}

static enum status port_check_place(struct catalogue *catalogue, struct err *err)
{
    struct client *client = of_catalogue(catalogue);
    return deaf(client, err) ? STATUS_IO : client->below->ops->check_place(client->below, err);
}

static enum status port_lock_probe(struct catalogue *catalogue, int64_t session, struct err *err)
{
    struct client *client = of_catalogue(catalogue);
    return deaf(client, err) ? STATUS_BUSY : client->below->ops->lock_probe(client->below, session, err);
}

/* A dead client's locks go with its catalogue handle, as the kernel frees a dead process's. */
static void port_lock_release(struct catalogue *catalogue, int64_t session)
{
    struct client *client = of_catalogue(catalogue);
    if (!atomic_load(&client->dead))
        client->below->ops->lock_release(client->below, session);
}

static enum status port_integrity(struct catalogue *catalogue, void (*fn)(void *context, const char *finding),
                                  void *context, struct err *err)
{
    struct client *client = of_catalogue(catalogue);
    return deaf(client, err) ? STATUS_IO : client->below->ops->integrity(client->below, fn, context, err);
}

static void wrap_catalogue(struct client *client)
{
    backend = client->below->ops;
    client->rows = *backend;
    client->rows.read_begin = port_read_begin;
    client->rows.write_begin = port_write_begin;
    client->rows.abort = port_abort;
    client->rows.commit = port_commit_txn;
    client->rows.sync = port_sync;
    client->rows.reopen = port_reopen;
    client->rows.data_version = port_data_version;
    client->rows.check_place = port_check_place;
    client->rows.lock_probe = port_lock_probe;
    client->rows.lock_release = port_lock_release;
    client->rows.integrity = port_integrity;
    client->catalogue.ops = &client->rows;
}

/* ---- life ---- */

void client_open(struct client *client, struct lab *lab, const struct settings *settings, enum session_kind kind)
{
    struct err err = {0};
    *client = (struct client){.lab = lab, .blobs.ops = &blob_port};
    (void)pthread_mutex_init(&client->mutex, NULL);
    const struct sqlite_options options = {.path = lab->catalogue_path,
                                           .create = true,
                                           .clock = &lab->clock.clock,
                                           .entropy = entropy_system()};
    CHECK(sqlite_open(&options, NULL, &client->below, &err));
    wrap_catalogue(client);
    client->world = (struct world){.catalogue = &client->catalogue,
                                   .blobs = &client->blobs,
                                   .clock = options.clock,
                                   .entropy = options.entropy,
                                   .workers = lab->workers};
    const struct session_options session = {.kind = kind, .place = "client", .settings = *settings};
    CHECK(session_open(&client->world, &session, &client->session, &err));
    client_reset_counts(client);
}

void client_close(struct client *client)
{
    session_close(client->session, "done");
    client->session = NULL;
    client->below = catalogue_close(client->below);
    assert_int_equal(atomic_load(&client->violations), 0);
    for (size_t i = 0; i < LATE_MAX; i++)
        if (client->late[i]) {
            free(client->late[i]->bytes);
            free(client->late[i]->blocks);
            free(client->late[i]);
        }
    (void)pthread_mutex_destroy(&client->mutex);
}

void client_kill(struct client *client)
{
    atomic_store(&client->dead, true);
}

void client_fault(struct client *client, struct port_fault fault)
{
    (void)pthread_mutex_lock(&client->mutex);
    size_t i = 0;
    while (i < FAULTS_MAX && client->faults[i].fate != FATE_DONE)
        i++;
    assert_true(i < FAULTS_MAX);
    client->faults[i] = fault;
    (void)pthread_mutex_unlock(&client->mutex);
}

void client_no_faults(struct client *client)
{
    (void)pthread_mutex_lock(&client->mutex);
    memset(client->faults, 0, sizeof client->faults);
    (void)pthread_mutex_unlock(&client->mutex);
}

void client_reset_counts(struct client *client)
{
    for (size_t i = 0; i < PORT_CALLS; i++)
        atomic_store(&client->counts[i], 0);
    atomic_store(&client->calls, 0);
}

unsigned client_exchanges(struct client *client)
{
    unsigned sum = 0;
    for (size_t i = 0; i < PORT_DURABLE; i++)
        sum += atomic_load(&client->counts[i]);
    return sum;
}

/* ---- stories ---- */

enum status client_reserve(struct client *client, int64_t dir, const char *name, unsigned flags, struct op *ret_op)
{
    *ret_op = (struct op){
        .kind = OP_RESERVE, .flags = flags, .dir = dir, .name = lab_name(name), .attr = {.mode = S_IFREG | 0644}};
    return txn_run(client->session, ret_op, 1, ORDERED, NULL, NULL);
}

void client_expect(struct client *client, const char *name, const char *text)
{
    char *found = lab_get(client->session, CATALOGUE_ROOT, name);
    if (text && found)
        assert_string_equal(found, text);
    else if (text || found)
        fail_msg("'%s' is '%s', not '%s'", name, found ? found : "(none)", text ? text : "(none)");
    free(found);
}

enum status client_remove(struct client *client, int64_t dir, const char *name)
{
    struct op op = {.kind = OP_REMOVE, .dir = dir, .name = lab_name(name)};
    return txn_run(client->session, &op, 1, ORDERED, NULL, NULL);
}

int64_t client_mkdir(struct client *client, int64_t dir, const char *name)
{
    struct err err = {0};
    struct op op = {.kind = OP_MKDIR, .dir = dir, .name = lab_name(name), .attr = {.mode = 0755}};
    CHECK(txn_run(client->session, &op, 1, ORDERED, NULL, &err));
    return op.ret_document.id;
}

enum status client_rename(struct client *client, const char *from, const char *to, unsigned flags)
{
    struct op op = {.kind = OP_RENAME,
                    .flags = flags,
                    .dir = CATALOGUE_ROOT,
                    .name = lab_name(from),
                    .dir2 = CATALOGUE_ROOT,
                    .name2 = lab_name(to)};
    return txn_run(client->session, &op, 1, ORDERED, NULL, NULL);
}

struct version_row client_version(struct client *client, int64_t version)
{
    struct err err = {0};
    struct catalogue_txn *txn = NULL;
    struct version_row row = {.state = VERSION_GONE};
    CHECK(client->below->ops->read_begin(client->below, &txn, &err));
    enum status status = client->below->ops->version_get(txn, version, false, &row, &err);
    client->below->ops->abort(txn);
    assert_true(status == STATUS_OK || status == STATUS_NOT_FOUND);
    return row;
}

struct session_row client_row(struct client *client)
{
    struct err err = {0};
    struct catalogue_txn *txn = NULL;
    struct session_row row;
    CHECK(client->below->ops->read_begin(client->below, &txn, &err));
    CHECK(client->below->ops->session_get(txn, session_id(client->session), &row, &err));
    client->below->ops->abort(txn);
    return row;
}

unsigned client_pool(struct client *client)
{
    (void)pthread_mutex_lock(&client->session->lock);
    unsigned count = client->session->pool_count;
    (void)pthread_mutex_unlock(&client->session->lock);
    return count;
}

void client_expect_converged(struct client *client, unsigned pools)
{
    struct version_counts counts = lab_counts(client->session);
    assert_int_equal(counts.pending, pools);
    assert_int_equal(counts.condemned, 0);
    assert_int_equal(counts.tags_due, 0);
    assert_int_equal(lab_blobs(client->lab), counts.ready);
    lab_audit(client->session);
}
