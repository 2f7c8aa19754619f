/* blob_suite.c - goal: every store keeps the contract of blob/blob.h. Method: one fixture a test, a fresh name each,
 * nothing known of the store but its capabilities. This file has the fixture; the tests stand in the files beside it.
 */
#include "conformance/blob_suite_fixture.h"

#include "base/digest.h"
#include "host/entropy.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct blob_suite *running; /* set once, before any test */

void suite_name(const struct fixture *fixture, char ret_name[LIMIT_BLOB_NAME_BYTES])
{
    uint8_t random[ID_BYTES];
    entropy_fill(entropy_system(), random, sizeof random);
    assert_int_equal(id_blob_name(fixture->suite->prefix, random, ret_name), STATUS_OK);
}

void suite_token(char ret_token[ID_TEXT_SIZE])
{
    uint8_t random[ID_BYTES];
    entropy_fill(entropy_system(), random, sizeof random);
    id_text(random, ret_token);
}

void suite_fill(void *bytes, size_t len, uint64_t seed)
{
    uint8_t *out = bytes;
    uint64_t x = seed * 2 + 1;
    for (size_t i = 0; i < len; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX constants */
        out[i] = (uint8_t)(x >> 56);
    }
}

struct blob_block suite_block(const struct fixture *fixture, uint32_t index, uint32_t generation, uint64_t offset,
                              uint64_t len)
{
    struct blob_block block = {.offset = offset, .len = len};
    id_block(fixture->upload, index, generation, block.id);
    return block;
}

static const struct call no_limits;

enum status suite_put(const struct fixture *fixture, const char *name, const void *bytes, size_t len,
                      struct blob_facts *ret_facts, struct err *err)
{
    return fixture->store->ops->put(fixture->store, &no_limits, name, bytes, len, crc64(0, bytes, len), &fixture->about,
                                    ret_facts, err);
}

enum status suite_stage(const struct fixture *fixture, const char *name, const struct blob_block *block,
                        const void *bytes, struct err *err)
{
    return fixture->store->ops->stage(fixture->store, &no_limits, name, block, bytes, crc64(0, bytes, block->len), err);
}

enum status suite_commit(const struct fixture *fixture, const char *name, const struct blob_block *blocks, size_t count,
                         struct blob_facts *ret_facts, struct err *err)
{
    return fixture->store->ops->commit(fixture->store, &no_limits, name, blocks, count, &fixture->about, ret_facts,
                                       err);
}

enum status suite_stat(const struct fixture *fixture, const char *name, struct blob_facts *ret_facts, struct err *err)
{
    return fixture->store->ops->stat(fixture->store, &no_limits, name, ret_facts, err);
}

enum status suite_unstage(const struct fixture *fixture, const char *name, struct err *err)
{
    return fixture->store->ops->unstage(fixture->store, &no_limits, name, &fixture->about, err);
}

enum status suite_remove(const struct fixture *fixture, const char *name, struct err *err)
{
    return fixture->store->ops->remove(fixture->store, &no_limits, name, GUARD_NONE, NULL, err);
}

void suite_assert_content(const struct fixture *fixture, const char *name, const void *bytes, size_t len)
{
    struct blob_facts facts;
    assert_ok(suite_stat(fixture, name, &facts, &err));
    assert_int_equal(facts.size_bytes, len);
    if (!len)
        return;
    char *got = malloc(len);
    assert_non_null(got);
    assert_ok(fixture->store->ops->read(fixture->store, &no_limits, name, facts.etag, 0, got, len, &err));
    int difference = memcmp(got, bytes, len);
    free(got);
    assert_int_equal(difference, 0);
}

void suite_assert_absent(const struct fixture *fixture, const char *name)
{
    struct blob_facts facts;
    assert_status(STATUS_NOT_FOUND, suite_stat(fixture, name, &facts, &err));
}

struct looking {
    const char *name;
    struct suite_seen seen;
};

static bool look(void *context, const struct blob_listing *item)
{
    struct looking *looking = context;
    if (strcmp(item->name, looking->name) == 0 && item->uncommitted)
        looking->seen.uncommitted++;
    else if (strcmp(item->name, looking->name) == 0)
        looking->seen.committed++;
    return true;
}

struct suite_seen suite_list_one(const struct fixture *fixture, const char *name)
{
    struct looking looking = {.name = name};
    assert_ok(fixture->store->ops->list(fixture->store, &no_limits, name, look, &looking, &err));
    return looking.seen;
}

struct racer {
    void (*run)(void *context, unsigned number);
    void *context;
    unsigned number;
    pthread_barrier_t *start;
};

static void *race(void *argument)
{
    struct racer *racer = argument;
    (void)pthread_barrier_wait(racer->start);
    racer->run(racer->context, racer->number);
    return NULL;
}

void suite_race(void (*run)(void *context, unsigned number), void *context)
{
    pthread_t threads[RACES];
    struct racer racers[RACES];
    pthread_barrier_t start;
    assert_int_equal(pthread_barrier_init(&start, NULL, RACES), 0);
    for (unsigned i = 0; i < RACES; i++) {
        racers[i] = (struct racer){.run = run, .context = context, .number = i, .start = &start};
        if (pthread_create(&threads[i], NULL, race, &racers[i]))
            abort(); /* the others wait at the barrier for ever */
    }
    for (unsigned i = 0; i < RACES; i++)
        (void)pthread_join(threads[i], NULL);
    (void)pthread_barrier_destroy(&start);
}

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    struct err err = {0};
    if (!fixture)
        return -1;
    fixture->suite = running;
    if (running->open(running->context, &fixture->store, &err) != STATUS_OK) {
        print_error("open the store: %s\n", err.message);
        free(fixture);
        return -1;
    }
    fixture->can = fixture->store->ops->capabilities(fixture->store);
    suite_name(fixture, fixture->name);
    suite_token(fixture->token);
    entropy_fill(entropy_system(), fixture->upload, sizeof fixture->upload);
    fixture->about = (struct blob_about){
        .catalogue = "0123456789abcdef0123456789abcdef",
        .document = 7,
        .version = 12,
        .token = fixture->token,
        .name_hex = "612e747874",
        .content_type = "text/plain",
        .pending = true,
    };
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    fixture->store = blob_close(fixture->store);
    free(fixture);
    return 0;
}

int blob_suite_run(const struct blob_suite *suite)
{
#define X(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down),
    const struct CMUnitTest tests[] = {BLOB_SUITE_CREATE(X) BLOB_SUITE_BLOCKS(X) BLOB_SUITE_KEEP(X)};
#undef X
    running = suite;
    return cmocka_run_group_tests_name(suite->title, tests, NULL, NULL);
}
