/* links: azure wire blob host core */
/* test_blob_azurite.c - goal: the Azure store keeps the contract of every store against the emulator of the service,
 * and reproduces the measured behaviours that the protocol rests on (races, conditions on every way of uploading,
 * guards, staged blocks). Method: one Azurite for the program on a free port; the common suite with tags and without;
 * then the experiments, which print their figures. Skipped where Azurite is not installed. */
#include "conformance/blob_suite.h"
#include "support/azurite.h"
#include "unit.h"

#include "base/digest.h"
#include "blob/azure/azure.h"
#include "blob/azure/check.h"
#include "blob/azure/http_curl.h"
#include "blob/azure/wire/xml.h"
#include "blob/traced.h"
#include "host/clock.h"
#include "host/entropy.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB 1048576

static struct azurite azurite; /* started once, before any test */
static const struct call no_limits;

struct setting {
    bool tags;
    const char *container;
    const char *key; /* base64 */
};

static enum status open_store(const struct setting *setting, struct blob_store **ret_store, struct err *err)
{
    struct credential credential AUTO_CREDENTIAL = {0};
    struct azure_options options = {
        .container = setting->container,
        .credential = &credential,
        .tags = setting->tags,
        .clock = clock_system(),
        .entropy = entropy_system(),
    };
    struct http_curl_options transport = {.clock = clock_system()};
    struct http *http = NULL;
    enum status status = endpoint_parse(azurite.endpoint, &options.endpoint, err);
    if (status == STATUS_OK)
        status = credential_set_key(&credential, setting->key, err);
    if (status == STATUS_OK)
        status = http_curl_open(&transport, &http, err);
    if (status != STATUS_OK)
        return status;
    status = azure_open(&options, http, ret_store, err);
    if (status != STATUS_OK)
        http_close(http);
    return status;
}

/* For the suite: the container is made on the way. */
static enum status open_checked(void *context, struct blob_store **ret_store, struct err *err)
{
    struct blob_store *store = NULL;
    enum status status = open_store(context, &store, err);
    if (status != STATUS_OK)
        return status;
    status = azure_check(store, &(struct azure_check){.prefix = "", .create_container = true}, err);
    if (status == STATUS_OK)
        *ret_store = store;
    else
        (void)blob_close(store);
    return status;
}

static const struct setting with_tags = {true, "suite", AZURITE_KEY};

static int open_for_test(void **state)
{
    struct blob_store *store = NULL;
    struct err err = {0};
    struct setting setting = with_tags;
    setting.container = "experiments";
    if (open_checked(&setting, &store, &err) != STATUS_OK) {
        print_error("%s\n", err.message);
        return -1;
    }
    *state = store;
    return 0;
}

static int close_after_test(void **state)
{
    *state = blob_close(*state);
    return 0;
}

static void fresh_name(char ret_name[LIMIT_BLOB_NAME_BYTES])
{
    uint8_t random[ID_BYTES];
    entropy_fill(entropy_system(), random, sizeof random);
    assert_int_equal(id_blob_name("", random, ret_name), STATUS_OK);
}

static struct err report; /* of the last call under assert_ok */

/* Fails the test unless the call, which reports to &report, is OK. */
#define assert_ok(call)                                                                                                \
    do {                                                                                                               \
        enum status status_ = (call);                                                                                  \
        if (status_ != STATUS_OK)                                                                                      \
            fail_msg("%s: %s: %s", #call, status_name(status_), report.message);                                       \
    } while (0)

static enum status put(struct blob_store *store, const char *name, const void *bytes, size_t len,
                       const struct blob_about *about, struct blob_facts *ret_facts, struct err *err)
{
    return store->ops->put(store, &no_limits, name, bytes, len, crc64(0, bytes, len), about, ret_facts, err);
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

/* S27: what is wrong at the start is one line and a way out. */
static void a_missing_container_is_told(void **state)
{
    (void)state;
    struct blob_store *store = NULL;
    struct setting setting = with_tags;
    setting.container = "not-there";
    assert_ok(open_store(&setting, &store, &report));
    struct err err = {0};
    assert_int_equal(azure_check(store, &(struct azure_check){.prefix = ""}, &err), STATUS_NOT_FOUND);
    assert_non_null(strstr(err.message, "not-there"));
    assert_non_null(strstr(err.hint, "--create-container"));
    assert_ok(azure_check(store, &(struct azure_check){.prefix = "", .create_container = true}, &report));
    assert_ok(azure_check(store, &(struct azure_check){.prefix = "team/", .create_container = true}, &report));
    assert_int_equal(blobs_named(store, ""), 0); /* the probes are gone */
    (void)blob_close(store);
}

static void a_wrong_key_is_told(void **state)
{
    (void)state;
    struct blob_store *store = NULL;
    struct setting setting = {true, "suite", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="};
    assert_ok(open_store(&setting, &store, &report));
    struct err err = {0};
    assert_int_equal(azure_check(store, &(struct azure_check){.prefix = ""}, &err), STATUS_AUTHENTICATION);
    assert_int_equal(err.http_status, 403);
    assert_true(*err.request_id && *err.hint);
    assert_null(strstr(err.message, "AAAA"));
    (void)blob_close(store);
}

/* A server that went away between two calls: the dead connection is noticed, the next call is refused or done, and no
 * call is told as done that was not. */
static void a_restart_of_the_service_is_survived(void **state)
{
    (void)state;
    struct blob_store *store = NULL;
    struct setting setting = with_tags;
    assert_ok(open_checked(&setting, &store, &report));
    char name[LIMIT_BLOB_NAME_BYTES];
    struct blob_facts facts;
    fresh_name(name);
    assert_ok(put(store, name, "hello", 5, &(struct blob_about){.token = "ab"}, &facts, &report));
    azurite_restart(&azurite);
    struct call call = {.deadline_ms = 1000};
    struct err err = {0};
    enum status status = store->ops->stat(store, &call, name, &facts, &err);
    assert_int_equal(status, STATUS_UNREACHABLE); /* it answers on another port now */
    assert_int_equal(store->ops->put(store, &call, name, "x", 1, crc64(0, "x", 1), &(struct blob_about){.token = "ab"},
                                     &facts, &err),
                     STATUS_UNREACHABLE); /* and not UNKNOWN: nothing can have been sent */
    (void)blob_close(store);
    assert_ok(open_checked(&setting, &store, &report));
    assert_ok(store->ops->stat(store, &no_limits, name, &facts, &report));
    (void)blob_close(store);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_for_test, close_after_test)

int main(void)
{
    if (!azurite_start(&azurite)) {
        (void)fprintf(stderr, "SKIPPED: the Azure store is not tested without Azurite\n");
        return 77;
    }
    struct setting tags = with_tags, no_tags = {false, "suite-without-tags", AZURITE_KEY};
    const struct blob_suite suites[] = {
        {.title = "azure on azurite", .prefix = "", .open = open_checked, .context = &tags},
        {.title = "azure on azurite, tags off", .prefix = "team/a/", .open = open_checked, .context = &no_tags},
    };
    const struct CMUnitTest experiments[] = {
        TEST(experiment_g),
        TEST(experiment_i),
        TEST(experiment_j),
        TEST(experiment_k),
        cmocka_unit_test(a_missing_container_is_told),
        cmocka_unit_test(a_wrong_key_is_told),
        cmocka_unit_test(a_restart_of_the_service_is_survived),
    };
    int failed = blob_suite_run(&suites[0]) + blob_suite_run(&suites[1]) +
                 cmocka_run_group_tests_name("azure on azurite, experiments", experiments, NULL, NULL);
    azurite_stop(&azurite);
    return failed ? 1 : 0;
}
