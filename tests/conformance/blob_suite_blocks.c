/* blob_suite_blocks.c - uploads in blocks: what is staged, what a list may name, what becomes of the rest (P2, P3, P4).
 */
#include "conformance/blob_suite_fixture.h"

#include "base/digest.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK 5000 /* no multiple of anything */

/* Blocks of BLOCK bytes, the last one shorter, and the bytes they make. */
struct list {
    struct blob_block blocks[4];
    char bytes[4 * BLOCK];
    size_t len;
};

static struct list make_list(const struct fixture *fixture)
{
    struct list list = {.len = 3 * BLOCK + 17};
    suite_fill(list.bytes, list.len, 3);
    for (uint32_t i = 0; i < 4; i++)
        list.blocks[i] = suite_block(fixture, i, 0, i * BLOCK, i < 3 ? BLOCK : 17);
    return list;
}

static void stage_from_list(const struct fixture *fixture, const struct list *list, size_t i)
{
    assert_ok(suite_stage(fixture, fixture->name, &list->blocks[i], list->bytes + list->blocks[i].offset, &err));
}

void blocks_in_any_order_of_arrival(void **state)
{
    const struct fixture *fixture = *state;
    struct list list = make_list(fixture);
    struct blob_facts facts;
    static const size_t order[] = {2, 0, 3, 1};
    for (size_t i = 0; i < 4; i++)
        stage_from_list(fixture, &list, order[i]);
    suite_assert_absent(fixture, fixture->name);
    assert_ok(suite_commit(fixture, fixture->name, list.blocks, 4, &facts, &err));
    assert_int_equal(facts.size_bytes, list.len);
    suite_assert_content(fixture, fixture->name, list.bytes, list.len);
}

void a_block_may_be_staged_twice(void **state)
{
    const struct fixture *fixture = *state;
    struct list list = make_list(fixture);
    struct blob_facts facts;
    for (size_t i = 0; i < 8; i++)
        stage_from_list(fixture, &list, i % 4);
    assert_ok(suite_commit(fixture, fixture->name, list.blocks, 4, &facts, &err));
    suite_assert_content(fixture, fixture->name, list.bytes, list.len);
}

void a_missing_block_refuses_the_list(void **state)
{
    const struct fixture *fixture = *state;
    struct list list = make_list(fixture);
    struct blob_facts facts;
    assert_status(STATUS_INVALID, suite_commit(fixture, fixture->name, list.blocks, 4, &facts, &err));
    for (size_t i = 0; i < 3; i++)
        stage_from_list(fixture, &list, i);
    assert_status(STATUS_INVALID, suite_commit(fixture, fixture->name, list.blocks, 4, &facts, &err));
    suite_assert_absent(fixture, fixture->name);
    stage_from_list(fixture, &list, 3); /* the refusal has kept the others */
    assert_ok(suite_commit(fixture, fixture->name, list.blocks, 4, &facts, &err));
    suite_assert_content(fixture, fixture->name, list.bytes, list.len);
}

/* Stages block 1 anew under its next generation, with other bytes, which `list` then has. */
static struct blob_block restage(const struct fixture *fixture, struct list *list)
{
    struct blob_block before = list->blocks[1];
    list->blocks[1] = suite_block(fixture, 1, 1, before.offset, before.len);
    suite_fill(list->bytes + before.offset, before.len, 99);
    stage_from_list(fixture, list, 1);
    return before;
}

void a_newer_generation_replaces(void **state)
{
    const struct fixture *fixture = *state;
    struct list list = make_list(fixture);
    struct blob_facts facts;
    for (size_t i = 0; i < 4; i++)
        stage_from_list(fixture, &list, i);
    (void)restage(fixture, &list);
    assert_ok(suite_commit(fixture, fixture->name, list.blocks, 4, &facts, &err));
    assert_int_equal(facts.size_bytes, list.len);
    suite_assert_content(fixture, fixture->name, list.bytes, list.len);
}

void an_older_generation_may_be_named(void **state)
{
    const struct fixture *fixture = *state;
    struct list list = make_list(fixture), newer = list;
    struct blob_facts facts;
    for (size_t i = 0; i < 4; i++)
        stage_from_list(fixture, &list, i);
    (void)restage(fixture, &newer);
    assert_ok(suite_commit(fixture, fixture->name, list.blocks, 4, &facts, &err));
    suite_assert_content(fixture, fixture->name, list.bytes, list.len);
}

void blocks_not_named_are_dropped(void **state)
{
    const struct fixture *fixture = *state;
    struct list list = make_list(fixture);
    struct blob_facts facts;
    for (size_t i = 0; i < 4; i++)
        stage_from_list(fixture, &list, i);
    assert_ok(suite_commit(fixture, fixture->name, list.blocks, 2, &facts, &err));
    assert_int_equal(facts.size_bytes, 2 * BLOCK);
    suite_assert_content(fixture, fixture->name, list.bytes, 2 * BLOCK);
    struct suite_seen seen = suite_list_one(fixture, fixture->name);
    assert_int_equal(seen.committed, 1);
    assert_int_equal(seen.uncommitted, 0);
}

void a_refused_commit_leaves_the_blob_alone(void **state)
{
    const struct fixture *fixture = *state;
    struct list list = make_list(fixture);
    struct blob_facts facts, other;
    assert_ok(suite_put(fixture, fixture->name, "first", 5, &facts, &err));
    for (size_t i = 0; i < 4; i++)
        stage_from_list(fixture, &list, i);
    assert_status(STATUS_EXISTS, suite_commit(fixture, fixture->name, list.blocks, 4, &other, &err));
    assert_status(STATUS_EXISTS, suite_commit(fixture, fixture->name, list.blocks, 4, &other, &err));
    assert_status(STATUS_EXISTS, suite_unstage(fixture, fixture->name, &err));
    suite_assert_content(fixture, fixture->name, "first", 5);
    assert_ok(suite_stat(fixture, fixture->name, &other, &err));
    assert_string_equal(facts.etag, other.etag);
}

void unstage_throws_blocks_away(void **state)
{
    const struct fixture *fixture = *state;
    struct list list = make_list(fixture);
    struct blob_facts facts;
    for (size_t i = 0; i < 4; i++)
        stage_from_list(fixture, &list, i);
    assert_ok(suite_unstage(fixture, fixture->name, &err));
    suite_assert_absent(fixture, fixture->name);
    assert_int_equal(suite_list_one(fixture, fixture->name).uncommitted, 0);
    assert_status(STATUS_INVALID, suite_commit(fixture, fixture->name, list.blocks, 4, &facts, &err));
    assert_ok(suite_unstage(fixture, fixture->name, &err)); /* again, with nothing to throw away */
    suite_assert_absent(fixture, fixture->name);
}

struct big {
    const struct fixture *fixture;
    struct blob_block blocks[3];
    char *bytes;
    enum status results[RACES];
};

static void stage_big(void *context, unsigned number)
{
    struct big *big = context;
    struct err err = {0};
    if (number < 3)
        big->results[number] = suite_stage(big->fixture, big->fixture->name, &big->blocks[number],
                                           big->bytes + big->blocks[number].offset, &err);
}

void twelve_mebibytes_in_three_blocks(void **state)
{
    const struct fixture *fixture = *state;
    struct big big = {.fixture = fixture, .bytes = malloc(12 * MIB)};
    struct blob_facts facts;
    assert_non_null(big.bytes);
    suite_fill(big.bytes, 12 * MIB, 12);
    for (uint32_t generation = 0; generation < 2; generation++) {
        for (uint32_t i = 0; i < 3; i++)
            big.blocks[i] = suite_block(fixture, i, generation, i * 4 * MIB, 4 * MIB);
        suite_race(stage_big, &big); /* side by side */
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(big.results[i], STATUS_OK);
        if (generation == 0)
            assert_ok(suite_commit(fixture, fixture->name, big.blocks, 3, &facts, &err));
    }
    struct blob_facts unused;
    assert_status(STATUS_EXISTS, suite_commit(fixture, fixture->name, big.blocks, 3, &unused, &err));
    assert_status(STATUS_EXISTS, suite_unstage(fixture, fixture->name, &err));
    struct suite_seen seen = suite_list_one(fixture, fixture->name);
    print_message("first ok, size=%llu; second refused, uncommitted left: %u\n", (unsigned long long)facts.size_bytes,
                  seen.uncommitted);
    assert_int_equal(facts.size_bytes, 12582912);
    assert_int_equal(seen.uncommitted, 0);
    suite_assert_content(fixture, fixture->name, big.bytes, 12 * MIB);
    free(big.bytes);
}

/* False, and the test is skipped, where the store cannot copy on its side. */
static bool can_copy(const struct fixture *fixture)
{
    if (!fixture->can.stage_from)
        print_message("SKIPPED: the %s store cannot copy on its side\n", fixture->can.kind);
    return fixture->can.stage_from;
}

void stage_from_copies_ranges(void **state)
{
    const struct fixture *fixture = *state;
    struct blob_store *store = fixture->store;
    const struct call call = {0};
    struct list list = make_list(fixture);
    struct blob_facts source, facts;
    char source_name[LIMIT_BLOB_NAME_BYTES];
    uint64_t crc = 0;
    if (!can_copy(fixture)) {
        skip();
        return;
    }
    suite_name(fixture, source_name);
    assert_ok(suite_put(fixture, source_name, list.bytes, list.len, &source, &err));
    /* The new blob: the source's second block, one of its own, and the source's tail. */
    char expected[2 * BLOCK + 17];
    memcpy(expected, list.bytes + BLOCK, BLOCK);
    suite_fill(expected + BLOCK, BLOCK, 77);
    memcpy(expected + 2 * BLOCK, list.bytes + 3 * BLOCK, 17);
    struct blob_block blocks[3] = {suite_block(fixture, 0, 0, 0, BLOCK), suite_block(fixture, 1, 0, BLOCK, BLOCK),
                                   suite_block(fixture, 2, 0, 2 * BLOCK, 17)};
    assert_ok(store->ops->stage_from(store, &call, fixture->name, &blocks[2], source_name, source.etag, 3 * BLOCK, &crc,
                                     &err));
    assert_true(crc == crc64(0, list.bytes + 3 * BLOCK, 17));
    assert_ok(
        store->ops->stage_from(store, &call, fixture->name, &blocks[0], source_name, source.etag, BLOCK, &crc, &err));
    assert_true(crc == crc64(0, list.bytes + BLOCK, BLOCK));
    assert_ok(suite_stage(fixture, fixture->name, &blocks[1], expected + BLOCK, &err));
    assert_ok(suite_commit(fixture, fixture->name, blocks, 3, &facts, &err));
    suite_assert_content(fixture, fixture->name, expected, sizeof expected);
    suite_assert_content(fixture, source_name, list.bytes, list.len);
}

void stage_from_wants_the_etag(void **state)
{
    const struct fixture *fixture = *state;
    struct blob_store *store = fixture->store;
    const struct call call = {0};
    struct blob_facts source, other, facts;
    char source_name[LIMIT_BLOB_NAME_BYTES], other_name[LIMIT_BLOB_NAME_BYTES];
    uint64_t crc = 0;
    if (!can_copy(fixture)) {
        skip();
        return;
    }
    suite_name(fixture, source_name);
    suite_name(fixture, other_name);
    assert_ok(suite_put(fixture, source_name, "hello", 5, &source, &err));
    assert_ok(suite_put(fixture, other_name, "other", 5, &other, &err));
    struct blob_block block = suite_block(fixture, 0, 0, 0, 5);
    assert_status(STATUS_CONDITION,
                  store->ops->stage_from(store, &call, fixture->name, &block, source_name, other.etag, 0, &crc, &err));
    assert_ok(suite_remove(fixture, source_name, &err));
    assert_status(STATUS_NOT_FOUND,
                  store->ops->stage_from(store, &call, fixture->name, &block, source_name, source.etag, 0, &crc, &err));
    assert_status(STATUS_INVALID, suite_commit(fixture, fixture->name, &block, 1, &facts, &err));
    suite_assert_absent(fixture, fixture->name);
}
