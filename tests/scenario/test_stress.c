/* test_stress.c - goal: everything at once on two mounts with several threads each, while calls are refused and answers
 * lost: no reader ever sees a part or a mixture (S3), and when the storm is over the sweeps converge (P12).
 * links: catalogue blob host core document
 *
 * Method: documents whose content says of itself whether it is whole; random operations from seeds that are printed;
 * the ports watch P1, P6 and P7 at each call. Made for the thread sanitizer above all.
 */
#include "unit.h"

#include "document/pin.h"
#include "document/session_internal.h"
#include "document/single.h"
#include "document/sweep.h"
#include "document/txn.h"
#include "document/view.h"
#include "host/worker.h"
#include "support/client.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMES   5
#define THREADS 4 /* each mount */
#define STEPS   60

struct storm {
    struct lab lab;
    struct client clients[2];
    atomic_bool over;
};

struct worker {
    pthread_t thread;
    struct storm *storm;
    struct client *client;
    uint64_t random;
    unsigned wrong;   /* contents that were not whole */
    unsigned strange; /* statuses that nothing explains */
    unsigned done[8]; /* how often each kind of step succeeded */
};

static unsigned roll(struct worker *worker, unsigned below)
{
    worker->random ^= worker->random << 13;
    worker->random ^= worker->random >> 7;
    worker->random ^= worker->random << 17;
    return (unsigned)(worker->random >> 20) % below;
}

/* ---- contents that tell of themselves ---- */

struct content {
    char *bytes;
    size_t len;
};

static struct content make_content(struct worker *worker)
{
    size_t body = roll(worker, 4) ? roll(worker, 300) : 4096 * (1 + roll(worker, 5)) + roll(worker, 100);
    char *bytes = malloc(body + 64);
    int head = snprintf(bytes, 64, "%zu:", body);
    char letter = (char)('a' + roll(worker, 26));
    memset(bytes + head, letter, body);
    return (struct content){bytes, body + (size_t)head};
}

static bool is_whole(const char *bytes, size_t len)
{
    char *end = NULL;
    unsigned long body = strtoul(bytes, &end, 10);
    if (*end != ':' || len != body + (size_t)(end + 1 - bytes))
        return false;
    for (size_t i = 1; i < body; i++)
        if (end[1 + i] != end[1])
            return false;
    return true;
}

static enum status read_content(void *context, uint64_t offset, void *ret_bytes, size_t len, struct err *err)
{
    const struct content *content = context;
    (void)err;
    memcpy(ret_bytes, content->bytes + offset, len);
    return STATUS_OK;
}

/* ---- steps ---- */

static struct name some_name(struct worker *worker)
{
    char text[8];
    (void)snprintf(text, sizeof text, "n%u", roll(worker, NAMES));
    return lab_name(text);
}

static enum status apply(struct worker *worker, struct op *op)
{
    return txn_run(worker->client->session, op, 1, roll(worker, 4) ? ORDERED : DURABLE, NULL, NULL);
}

static enum status upload_content(struct worker *worker, struct content *content, int64_t document,
                                  struct upload **ret_upload)
{
    const struct upload_source source = {read_content, content};
    const struct upload_target target = {.document = document};
    enum status status = upload_begin(worker->client->session, &target, &source, ret_upload, NULL);
    if (status != STATUS_OK)
        return status;
    for (uint32_t i = 0; i < content->len / 4096; i++)
        if (roll(worker, 2))
            upload_block(*ret_upload, i);
    if (roll(worker, 3) == 0 && content->len > 5)
        upload_touch(*ret_upload, 5, 1);
    status = upload_finish(*ret_upload, content->len, NULL);
    if (status != STATUS_OK)
        upload_abandon(*ret_upload, "a storm");
    return status;
}

static enum status write_step(struct worker *worker)
{
    struct content content = make_content(worker);
    struct op reserve = {.kind = OP_RESERVE,
                         .flags = roll(worker, 8) ? 0 : OP_EXCLUSIVE,
                         .dir = CATALOGUE_ROOT,
                         .name = some_name(worker),
                         .attr = {.mode = S_IFREG | 0644}};
    struct upload *upload = NULL;
    enum status status = apply(worker, &reserve);
    if (status == STATUS_OK && !S_ISREG(reserve.ret_document.mode))
        status = STATUS_IS_DIRECTORY;
    else if (status == STATUS_OK)
        status = upload_content(worker, &content, reserve.ret_document.id, &upload);
    struct op op = {.kind = OP_PUT, .document = reserve.ret_document.id};
    op.put.upload = upload;
    if (status == STATUS_OK && roll(worker, 10) == 0)
        upload_abandon(upload, "a change of mind");
    else if (status == STATUS_OK)
        status = single_publish(worker->client->session, &op, NULL, NULL);
    op = (struct op){.kind = OP_ABANDON, .document = reserve.ret_document.id};
    if (reserve.ret_document.id)
        IGNORE(apply(worker, &op)); /* whoever still holds the name lets go of it, as at the last close */
    free(content.bytes);
    return status;
}

static enum status read_step(struct worker *worker)
{
    struct view *view = NULL;
    struct document_row document;
    struct pin *pin = NULL;
    struct name name = some_name(worker);
    enum status status = view_open(worker->client->session, &view, NULL);
    if (status == STATUS_OK)
        status = view_lookup(view, CATALOGUE_ROOT, &name, &document, NULL, NULL);
    view_close(view);
    if (status == STATUS_OK)
        status = pin_open(worker->client->session, document.id, &pin, NULL);
    if (status != STATUS_OK)
        return status;
    size_t size = (size_t)pin_version(pin)->size_bytes;
    for (int i = 0; i < 2 && status == STATUS_OK; i++) { /* twice, with whatever happens in between */
        char *bytes = calloc(1, size + 1);
        size_t len = 0;
        status = pin_read(pin, 0, bytes, size, &len, NULL, NULL);
        if (status == STATUS_OK && !is_whole(bytes, len))
            worker->wrong++;
        if (status == STATUS_CORRUPT)
            worker->wrong++;
        free(bytes);
    }
    pin_close(pin);
    return status;
}

static enum status name_step(struct worker *worker)
{
    struct op op = {.kind = OP_RENAME,
                    .flags = roll(worker, 3) ? 0 : OP_NOREPLACE,
                    .dir = CATALOGUE_ROOT,
                    .name = some_name(worker),
                    .dir2 = CATALOGUE_ROOT,
                    .name2 = some_name(worker)};
    switch (roll(worker, 4)) {
    case 0: op.kind = OP_REMOVE; break;
    case 1: op.kind = OP_EXCHANGE; break;
    default: break;
    }
    return apply(worker, &op);
}

static enum status sweep_step(struct worker *worker)
{
    const struct sweep_options options = {.versions_max = 10, .patient = roll(worker, 2)};
    struct sweep_report report;
    enum status status = session_heartbeat(worker->client->session, NULL);
    return status == STATUS_OK ? sweep_pass(worker->client->session, &options, &report, NULL) : status;
}

static enum status follow_step(struct worker *worker)
{
    struct view *view = NULL;
    struct view_change changes[16];
    size_t count = 0;
    bool all = false;
    int64_t seq = session_known_seq(worker->client->session);
    enum status status = view_open(worker->client->session, &view, NULL);
    if (status == STATUS_OK)
        status = view_changes(view, &seq, changes, 16, &count, &all, NULL);
    view_close(view);
    return status;
}

/* What a step may end with in such weather. */
static bool expected(enum status status)
{
    switch (status) {
    case STATUS_OK:
    case STATUS_UNKNOWN:
    case STATUS_IO:
    case STATUS_NOT_FOUND:
    case STATUS_EXISTS:
    case STATUS_STALE:
    case STATUS_NO_DATA:
    case STATUS_BUSY:
    case STATUS_TIMEOUT:
    case STATUS_UNREACHABLE:
    case STATUS_FOREIGN: return true; /* the last: the control blob's answer was lost twice */
    default: return false;
    }
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    for (int i = 0; i < STEPS; i++) {
        unsigned kind = roll(worker, 10);
        enum status status = kind < 4   ? write_step(worker)
                             : kind < 7 ? read_step(worker)
                             : kind < 8 ? name_step(worker)
                             : kind < 9 ? sweep_step(worker)
                                        : follow_step(worker);
        if (!expected(status))
            worker->strange++;
        worker->done[kind < 4 ? 0 : kind - 3] += status == STATUS_OK;
    }
    return NULL;
}

static void storm_on(const char *kind, unsigned per_mille, uint64_t seed)
{
    struct err err = {0};
    struct storm storm = {0};
    struct settings settings = lab_settings();
    print_message("%s, %u of a thousand calls fail, seed %llu\n", kind, per_mille, (unsigned long long)seed);
    lab_open(&storm.lab, kind);
    if (workers_open(4, &storm.lab.workers, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    struct worker workers[2 * THREADS] = {0};
    for (int i = 0; i < 2; i++) {
        client_open(&storm.clients[i], &storm.lab, &settings, SESSION_MOUNT);
        client_chaos(&storm.clients[i], seed + (uint64_t)i, per_mille);
    }
    for (int i = 0; i < 2 * THREADS; i++) {
        workers[i].client = &storm.clients[i % 2];
        workers[i].random = (seed + (uint64_t)i) * 2654435761u + 1;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    unsigned writes = 0, reads = 0;
    for (int i = 0; i < 2 * THREADS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        assert_int_equal(workers[i].wrong, 0);
        assert_int_equal(workers[i].strange, 0);
        writes += workers[i].done[0];
        reads += workers[i].done[1] + workers[i].done[2] + workers[i].done[3];
    }
    assert_true(writes > 10 && reads > 10);
    for (int i = 0; i < 2; i++)
        client_chaos(&storm.clients[i], 0, 0);
    /* What a mount did not manage to condemn or let go of in the storm, its end or the other one does. */
    client_close(&storm.clients[0]);
    workers_close(storm.lab.workers);
    storm.lab.workers = workers_inline();
    storm.clients[1].session->world.workers = storm.lab.workers;
    assert_int_equal(session_heartbeat(storm.clients[1].session, NULL), STATUS_OK);
    lab_sweep(storm.clients[1].session);
    client_expect_converged(&storm.clients[1], client_pool(&storm.clients[1]));
    client_close(&storm.clients[1]);
    lab_done(&storm.lab);
}

static uint64_t seed_of_the_day(void)
{
    const char *given = getenv("READYFS_TEST_SEED");
    return given ? (uint64_t)strtoull(given, NULL, 10) : (uint64_t)getpid();
}

static void test_calm(void **state)
{
    (void)state;
    storm_on("memory", 0, seed_of_the_day());
    storm_on("directory", 0, seed_of_the_day());
}

static void test_storm(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 3; i++) {
        storm_on("memory", 30, seed_of_the_day() + i);
        storm_on("directory", 100, seed_of_the_day() + i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calm),
        cmocka_unit_test(test_storm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
