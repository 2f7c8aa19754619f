/* links: host */
/* test_memory.c - goal: the memory store behaves as the real service where the emulator does otherwise.
 * Method: those cases, which the suite must leave out. */
#include "blob/memory.h"

#include "base/digest.h"
#include "unit.h"

static const struct call no_limits;
static const struct blob_about about = {.token = "t", .pending = true};
static struct blob_store *store;

static int set_up(void **state)
{
    (void)state;
    return memory_open(&store, NULL) == STATUS_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    store = blob_close(store);
    return 0;
}

static enum status stage(const struct blob_block *block, const char *text)
{
    return store->ops->stage(store, &no_limits, "a", block, text, crc64(0, text, block->len), NULL);
}

static enum status commit(const struct blob_block *block)
{
    struct blob_facts facts;
    return store->ops->commit(store, &no_limits, "a", block, 1, &about, &facts, NULL);
}

static enum status put(void)
{
    struct blob_facts facts;
    return store->ops->put(store, &no_limits, "a", "x", 1, crc64(0, "x", 1), &about, &facts, NULL);
}

static enum status remove_blob(void)
{
    return store->ops->remove(store, &no_limits, "a", GUARD_NONE, NULL, NULL);
}

static const struct blob_block one = {.id = "b25l", .len = 3}, two = {.id = "dHdv", .len = 3};

static void a_commit_drops_what_it_does_not_name(void **state)
{
    (void)state;
    assert_int_equal(stage(&one, "one"), STATUS_OK);
    assert_int_equal(stage(&two, "two"), STATUS_OK);
    assert_int_equal(commit(&one), STATUS_OK);
    assert_int_equal(remove_blob(), STATUS_OK);
    assert_int_equal(commit(&two), STATUS_INVALID);
    assert_int_equal(commit(&one), STATUS_INVALID);
}

static void a_put_drops_what_is_staged(void **state)
{
    (void)state;
    assert_int_equal(stage(&one, "one"), STATUS_OK);
    assert_int_equal(put(), STATUS_OK);
    assert_int_equal(remove_blob(), STATUS_OK);
    assert_int_equal(commit(&one), STATUS_INVALID);
}

static void a_remove_leaves_what_is_staged(void **state)
{
    (void)state;
    assert_int_equal(stage(&one, "one"), STATUS_OK);
    assert_int_equal(remove_blob(), STATUS_NOT_FOUND);
    assert_int_equal(commit(&one), STATUS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_commit_drops_what_it_does_not_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_put_drops_what_is_staged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_remove_leaves_what_is_staged, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
