/* blob_suite_create.c - creating a blob and reading it: once, whole, exactly (P2, P3, P4). */
#include "conformance/blob_suite_fixture.h"

#include "base/digest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void capabilities_are_consistent(void **state)
{
    const struct fixture *fixture = *state;
    assert_true(fixture->can.kind && *fixture->can.kind);
    assert_true(fixture->can.late_after_ms >= 0);
    if (fixture->can.stage_from)
        assert_non_null(fixture->store->ops->stage_from);
}

void put_creates_only_what_is_absent(void **state)
{
    const struct fixture *fixture = *state;
    struct blob_facts first, other;
    assert_ok(suite_put(fixture, fixture->name, "first", 5, &first, &err));
    assert_int_equal(first.size_bytes, 5);
    assert_true(first.etag[0] == '"' && strlen(first.etag) > 2);
    assert_status(STATUS_EXISTS, suite_put(fixture, fixture->name, "other", 5, &other, &err));
    assert_status(STATUS_EXISTS, suite_put(fixture, fixture->name, "first", 5, &other, &err)); /* the same bytes too */
    assert_status(STATUS_EXISTS, suite_commit(fixture, fixture->name, NULL, 0, &other, &err));
    suite_assert_content(fixture, fixture->name, "first", 5);
    assert_ok(suite_stat(fixture, fixture->name, &other, &err));
    assert_string_equal(first.etag, other.etag);
}

/* Stages one block of its own and commits it alone. */
static enum status upload_one(const struct fixture *fixture, const char *name, uint32_t generation, const char *text,
                              struct blob_facts *ret_facts, struct err *err)
{
    struct blob_block block = suite_block(fixture, 0, generation, 0, strlen(text));
    enum status status = suite_stage(fixture, name, &block, text, err);
    return status == STATUS_OK ? suite_commit(fixture, name, &block, 1, ret_facts, err) : status;
}

void commit_creates_only_what_is_absent(void **state)
{
    const struct fixture *fixture = *state;
    struct blob_facts first, other;
    assert_ok(upload_one(fixture, fixture->name, 0, "first", &first, &err));
    assert_int_equal(first.size_bytes, 5);
    assert_status(STATUS_EXISTS, upload_one(fixture, fixture->name, 1, "other", &other, &err));
    assert_status(STATUS_EXISTS, suite_put(fixture, fixture->name, "other", 5, &other, &err));
    suite_assert_content(fixture, fixture->name, "first", 5);
    assert_ok(suite_stat(fixture, fixture->name, &other, &err));
    assert_string_equal(first.etag, other.etag);
}

struct rivals {
    const struct fixture *fixture;
    enum status results[RACES];
    char texts[RACES][15]; /* 14 bytes and NUL */
};

static void put_as_rival(void *context, unsigned number)
{
    struct rivals *rivals = context;
    struct blob_facts facts;
    struct err err = {0};
    rivals->results[number] =
        suite_put(rivals->fixture, rivals->fixture->name, rivals->texts[number], 14, &facts, &err);
}

static void commit_as_rival(void *context, unsigned number)
{
    struct rivals *rivals = context;
    struct blob_facts facts;
    struct err err = {0};
    rivals->results[number] =
        upload_one(rivals->fixture, rivals->fixture->name, number, rivals->texts[number], &facts, &err);
}

/* Several rounds, since one may go off without two meeting. A rival whose staged blocks the winner's commit has dropped
 * may hear of the missing block instead of the blob. */
static void assert_one_winner(const struct fixture *before, void (*run)(void *, unsigned), bool may_miss)
{
    for (unsigned round = 0; round < 5; round++) {
        struct fixture fixture = *before;
        struct rivals rivals = {.fixture = &fixture};
        suite_name(&fixture, fixture.name);
        for (unsigned i = 0; i < RACES; i++)
            (void)snprintf(rivals.texts[i], sizeof rivals.texts[i], "rival %u says %1u", i, i % 10);
        suite_race(run, &rivals);
        unsigned won = 0, winner = 0;
        for (unsigned i = 0; i < RACES; i++) {
            enum status result = rivals.results[i];
            winner = result == STATUS_OK ? i : winner;
            won += result == STATUS_OK;
            if (result != STATUS_OK && result != STATUS_EXISTS && !(may_miss && result == STATUS_INVALID))
                fail_msg("rival %u: %s", i, status_name(result));
        }
        assert_int_equal(won, 1);
        suite_assert_content(&fixture, fixture.name, rivals.texts[winner], 14);
    }
}

void racing_puts_have_one_winner(void **state)
{
    assert_one_winner(*state, put_as_rival, false);
}

void racing_commits_have_one_winner(void **state)
{
    assert_one_winner(*state, commit_as_rival, true);
}

void a_wrong_digest_stores_nothing(void **state)
{
    const struct fixture *fixture = *state;
    struct blob_store *store = fixture->store;
    const struct call call = {0};
    struct blob_facts facts;
    uint64_t wrong = crc64(0, "hello", 5) ^ 1;
    assert_status(STATUS_CORRUPT,
                  store->ops->put(store, &call, fixture->name, "hello", 5, wrong, &fixture->about, &facts, &err));
    suite_assert_absent(fixture, fixture->name);
    struct blob_block block = suite_block(fixture, 0, 0, 0, 5);
    assert_status(STATUS_CORRUPT, store->ops->stage(store, &call, fixture->name, &block, "hello", wrong, &err));
    assert_status(STATUS_INVALID, suite_commit(fixture, fixture->name, &block, 1, &facts, &err));
    suite_assert_absent(fixture, fixture->name);
    assert_ok(suite_stage(fixture, fixture->name, &block, "hello", &err)); /* the right one is still welcome */
    assert_ok(suite_commit(fixture, fixture->name, &block, 1, &facts, &err));
    suite_assert_content(fixture, fixture->name, "hello", 5);
}

static void assert_about(const struct fixture *fixture, const struct blob_facts *facts)
{
    assert_string_equal(facts->token, fixture->token);
    assert_string_equal(facts->catalogue, fixture->about.catalogue);
    assert_true(facts->document == fixture->about.document);
    assert_true(facts->version == fixture->about.version);
    if (facts->has_crc64)
        assert_true(facts->crc64 == crc64(0, "hello", 5));
    if (facts->has_md5) {
        uint8_t digest[MD5_BYTES];
        assert_int_equal(md5("hello", 5, digest), STATUS_OK);
        assert_memory_equal(facts->md5, digest, sizeof digest);
    }
}

void about_comes_back(void **state)
{
    struct fixture fixture = *(struct fixture *)*state;
    struct blob_facts facts;
    char long_name[2 * LIMIT_NAME_BYTES + 1];
    memset(long_name, 'e', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    fixture.about.name_hex = long_name;
    fixture.about.document = INT64_MAX;
    assert_ok(suite_put(&fixture, fixture.name, "hello", 5, &facts, &err));
    assert_ok(suite_stat(&fixture, fixture.name, &facts, &err));
    assert_about(&fixture, &facts);

    suite_name(&fixture, fixture.name);
    suite_token(fixture.token);
    fixture.about.token = fixture.token;
    fixture.about.name_hex = NULL;
    fixture.about.content_type = NULL;
    fixture.about.pending = false;
    assert_ok(upload_one(&fixture, fixture.name, 0, "hello", &facts, &err));
    assert_ok(suite_stat(&fixture, fixture.name, &facts, &err));
    assert_about(&fixture, &facts);
}

void every_size_reads_back(void **state)
{
    struct fixture fixture = *(struct fixture *)*state;
    static const size_t sizes[] = {1, 2, 511, 512, 4095, 4096, 4097, 65536, MIB - 1, MIB + 1, 3 * MIB + 12345};
    char *bytes = malloc(4 * MIB);
    assert_non_null(bytes);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct blob_facts facts;
        suite_name(&fixture, fixture.name);
        suite_fill(bytes, sizes[i], i);
        assert_ok(suite_put(&fixture, fixture.name, bytes, sizes[i], &facts, &err));
        assert_int_equal(facts.size_bytes, sizes[i]);
        suite_assert_content(&fixture, fixture.name, bytes, sizes[i]);
    }
    free(bytes);
}

void ranges_are_exact(void **state)
{
    const struct fixture *fixture = *state;
    const struct call call = {0};
    enum { SIZE = 100000 };
    static char bytes[SIZE], got[SIZE + 2];
    static const struct {
        uint64_t offset;
        size_t len;
    } ranges[] = {{0, 1},    {0, SIZE},    {1, SIZE - 1}, {SIZE - 1, 1}, {SIZE / 2, 4096},
                  {4095, 2}, {4096, 4096}, {0, SIZE - 1}, {777, 65536}};
    struct blob_facts facts;
    suite_fill(bytes, SIZE, 1);
    assert_ok(suite_put(fixture, fixture->name, bytes, SIZE, &facts, &err));
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        memset(got, 0x55, sizeof got);
        assert_ok(fixture->store->ops->read(fixture->store, &call, fixture->name, facts.etag, ranges[i].offset, got + 1,
                                            ranges[i].len, &err));
        assert_memory_equal(got + 1, bytes + ranges[i].offset, ranges[i].len);
        assert_int_equal(got[0], 0x55);
        assert_int_equal(got[ranges[i].len + 1], 0x55); /* nothing beside the range was touched */
    }
    /* Beyond the end there is nothing that could be exact. */
    assert_status(STATUS_CORRUPT,
                  fixture->store->ops->read(fixture->store, &call, fixture->name, facts.etag, SIZE - 1, got, 2, &err));
    assert_status(STATUS_CORRUPT,
                  fixture->store->ops->read(fixture->store, &call, fixture->name, facts.etag, SIZE, got, 1, &err));
}

void reads_are_pinned_to_an_etag(void **state)
{
    const struct fixture *fixture = *state;
    const struct call call = {0};
    struct blob_facts facts, other;
    char got[8], other_name[LIMIT_BLOB_NAME_BYTES];
    suite_name(fixture, other_name);
    assert_ok(suite_put(fixture, fixture->name, "hello", 5, &facts, &err));
    assert_ok(suite_put(fixture, other_name, "HELLO", 5, &other, &err));
    assert_string_not_equal(facts.etag, other.etag);
    assert_status(STATUS_CONDITION,
                  fixture->store->ops->read(fixture->store, &call, fixture->name, other.etag, 0, got, 5, &err));
    assert_ok(suite_remove(fixture, fixture->name, &err));
    assert_status(STATUS_NOT_FOUND,
                  fixture->store->ops->read(fixture->store, &call, fixture->name, facts.etag, 0, got, 5, &err));
}

void empty_blobs(void **state)
{
    struct fixture fixture = *(struct fixture *)*state;
    struct blob_facts facts;
    assert_ok(suite_put(&fixture, fixture.name, "", 0, &facts, &err));
    assert_int_equal(facts.size_bytes, 0);
    assert_ok(suite_stat(&fixture, fixture.name, &facts, &err));
    assert_int_equal(facts.size_bytes, 0);
    assert_string_equal(facts.token, fixture.token);
    assert_status(STATUS_EXISTS, suite_put(&fixture, fixture.name, "", 0, &facts, &err));
    suite_name(&fixture, fixture.name);
    assert_ok(suite_commit(&fixture, fixture.name, NULL, 0, &facts, &err));
    assert_int_equal(facts.size_bytes, 0);
    assert_status(STATUS_EXISTS, suite_commit(&fixture, fixture.name, NULL, 0, &facts, &err));
    suite_assert_content(&fixture, fixture.name, "", 0);
}

void cancelled_calls_do_nothing(void **state)
{
    const struct fixture *fixture = *state;
    struct blob_store *store = fixture->store;
    const atomic_bool yes = true;
    const struct call call = {.cancelled = &yes};
    struct blob_facts facts, unused;
    char got[5], absent[LIMIT_BLOB_NAME_BYTES];
    uint64_t crc = crc64(0, "hello", 5);
    struct blob_block block = suite_block(fixture, 0, 0, 0, 5);
    suite_name(fixture, absent);
    assert_ok(suite_put(fixture, fixture->name, "hello", 5, &facts, &err));
    assert_status(STATUS_INTERRUPTED,
                  store->ops->put(store, &call, absent, "hello", 5, crc, &fixture->about, &unused, &err));
    assert_status(STATUS_INTERRUPTED, store->ops->stage(store, &call, absent, &block, "hello", crc, &err));
    assert_status(STATUS_INTERRUPTED,
                  store->ops->read(store, &call, fixture->name, facts.etag, 0, got, sizeof got, &err));
    suite_assert_absent(fixture, absent);
    suite_assert_content(fixture, fixture->name, "hello", 5);
}
