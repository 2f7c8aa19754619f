/* links: host */
/* test_traced.c - goal: every call is counted once, under its kind, with its bytes and its failures.
 * Method: one call of each kind on a memory store. */
#include "blob/traced.h"

#include "base/digest.h"
#include "blob/memory.h"
#include "unit.h"

static bool go_on(void *context, const struct blob_listing *item)
{
    (void)context;
    (void)item;
    return true;
}

static void each_kind_is_counted(void **state)
{
    (void)state;
    struct blob_store *below = NULL, *store = NULL;
    struct blob_facts facts;
    const struct call call = {0};
    const struct blob_about about = {.token = "t", .pending = true};
    const struct blob_ops *ops;
    enum blob_tag tag;
    char bytes[8], etag[LIMIT_ETAG_BYTES];
    uint64_t crc = crc64(0, "hello", 5);
    assert_int_equal(memory_open(&below, NULL), STATUS_OK);
    assert_int_equal(traced_open(below, &store, NULL), STATUS_OK);
    ops = store->ops;
    struct blob_block block = {.id = "aWQ=", .len = 5}, other = {.id = "aWU=", .len = 2};
    assert_int_equal(ops->put(store, &call, "a", "hello", 5, crc, &about, &facts, NULL), STATUS_OK);
    assert_int_equal(ops->put(store, &call, "a", "hello", 5, crc, &about, &facts, NULL), STATUS_EXISTS);
    assert_int_equal(ops->stat(store, &call, "a", &facts, NULL), STATUS_OK);
    assert_int_equal(ops->read(store, &call, "a", facts.etag, 1, bytes, 3, NULL), STATUS_OK);
    assert_int_equal(ops->read(store, &call, "a", "\"no\"", 1, bytes, 4, NULL), STATUS_CONDITION);
    assert_int_equal(ops->stage(store, &call, "b", &block, "hello", crc, NULL), STATUS_OK);
    assert_int_equal(ops->stage_from(store, &call, "c", &other, "a", facts.etag, 0, &crc, NULL), STATUS_OK);
    assert_int_equal(ops->commit(store, &call, "b", &block, 1, &about, &facts, NULL), STATUS_OK);
    assert_int_equal(ops->unstage(store, &call, "c", &about, NULL), STATUS_OK);
    assert_int_equal(ops->tag_committed(store, &call, "a", 1, NULL), STATUS_OK);
    assert_int_equal(ops->tag_get(store, &call, "a", &tag, NULL), STATUS_OK);
    assert_int_equal(ops->list(store, &call, "", go_on, NULL, NULL), STATUS_OK);
    assert_int_equal(ops->control_write(store, &call, "v", "x", NULL, etag, NULL), STATUS_OK);
    assert_int_equal(ops->control_read(store, &call, "v", bytes, sizeof bytes, etag, NULL), STATUS_OK);
    assert_int_equal(ops->remove(store, &call, "a", GUARD_NONE, NULL, NULL), STATUS_OK);
    struct blob_counts counts = traced_counts(store);
    assert_int_equal(counts.puts, 2);
    assert_int_equal(counts.stats, 1);
    assert_int_equal(counts.reads, 2);
    assert_int_equal(counts.stages, 1);
    assert_int_equal(counts.copies, 1);
    assert_int_equal(counts.commits, 1);
    assert_int_equal(counts.unstages, 1);
    assert_int_equal(counts.tags, 2);
    assert_int_equal(counts.lists, 1);
    assert_int_equal(counts.controls, 2);
    assert_int_equal(counts.removes, 1);
    assert_int_equal(counts.bytes_sent, 15);
    assert_int_equal(counts.bytes_received, 3);
    assert_int_equal(counts.failures, 2);
    assert_null(blob_close(store));
}

/* What the store below lacks is lacking above it too. */
static void a_missing_call_stays_missing(void **state)
{
    (void)state;
    struct blob_store *memory = NULL, *store = NULL;
    assert_int_equal(memory_open(&memory, NULL), STATUS_OK);
    struct blob_ops fewer = *memory->ops;
    fewer.stage_from = NULL;
    memory->ops = &fewer;
    assert_int_equal(traced_open(memory, &store, NULL), STATUS_OK);
    assert_null(store->ops->stage_from);
    assert_string_equal(store->ops->capabilities(store).kind, "memory");
    assert_null(blob_close(store));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_is_counted),
        cmocka_unit_test(a_missing_call_stays_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
