/* test_cache.c - goal: a sequential reader fetches each block once, however small the cache; what was fetched ahead
 * stays until it was read. Method: the cache alone, in a session that has nothing but its lock; fetches are counted. */
#include "document/cache.h"

#include "document/session_internal.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK 16
#define AHEAD 3

static struct session *session;
static unsigned fetches;

static int set_up(void **state)
{
    (void)state;
    session = calloc(1, sizeof *session);
    if (!session || pthread_mutex_init(&session->lock, NULL) || pthread_cond_init(&session->changed, NULL))
        return -1;
    session->cache = cache_new(6 * BLOCK);
    fetches = 0;
    return session->cache ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    cache_free(session->cache);
    free(session);
    return 0;
}

static void fill(struct cache_block *block)
{
    memset(block->bytes, (int)block->index, block->len);
    fetches++;
    cache_filled(session, block, STATUS_OK, NULL);
}

static bool ahead(int64_t version, uint32_t index)
{
    struct cache_block *block = cache_promise(session, version, index, BLOCK);
    if (!block)
        return false;
    assert_true(cache_claim(session, block));
    fill(block);
    cache_release(session, block);
    return true;
}

static void read_block(int64_t version, uint32_t index)
{
    bool empty = false;
    struct cache_block *block = cache_hold(session, version, index, BLOCK, &empty);
    assert_non_null(block);
    if (empty)
        fill(block);
    assert_int_equal(cache_wait(session, block, NULL, NULL), STATUS_OK);
    assert_int_equal(block->bytes[BLOCK - 1], index);
    cache_release(session, block);
}

/* As pin.c reads: some requests for each block, the first of which looks ahead; what lies behind is spent. */
static void read_on(int64_t version, uint32_t index)
{
    for (int request = 0; request < 4; request++) {
        for (uint32_t i = 1; i <= AHEAD; i++)
            (void)ahead(version, index + i);
        if (request == 2 && index)
            cache_spent(session, version, index - 1);
        read_block(version, index);
    }
}

static void a_sequential_reader_fetches_each_block_once(void **state)
{
    (void)state;
    for (uint32_t index = 0; index < 100; index++)
        read_on(1, index);
    assert_int_equal(fetches, 100 + AHEAD);
}

/* Two readers whose wishes do not fit together: each block is still fetched once, some of them not ahead. */
static void readers_do_not_push_each_other_out(void **state)
{
    (void)state;
    for (uint32_t index = 0; index < 100; index++) {
        read_on(1, index);
        read_on(2, index);
    }
    assert_in_range(fetches, 200, 200 + 2 * AHEAD);
}

static void what_was_not_read_yet_stays(void **state)
{
    (void)state;
    for (uint32_t index = 0; index < 3; index++)
        assert_true(ahead(1, index));
    assert_false(ahead(1, 3)); /* half of the cache is enough */
    read_block(1, 1);
    assert_false(ahead(1, 2)); /* it is there */
    assert_true(ahead(1, 3));
    for (uint32_t index = 10; index < 12; index++)
        read_block(1, index);
    read_block(1, 2);
    assert_true(ahead(1, 4)); /* in the place of the one that was read longest ago */
    assert_false(cache_has(session, 1, 1));
    assert_true(cache_has(session, 1, 0) && cache_has(session, 1, 3));
}

static void a_reader_that_rests_does_not_stop_the_others(void **state)
{
    (void)state;
    for (uint32_t index = 0; index < 3; index++)
        assert_true(ahead(1, index));
    assert_false(ahead(2, 1));
    for (uint32_t index = 0; index < 20; index++)
        read_on(2, index);
    assert_false(cache_has(session, 1, 0));
    assert_true(cache_has(session, 2, 19 + AHEAD));
}

static void the_least_recently_used_makes_room(void **state)
{
    (void)state;
    for (uint32_t index = 0; index < 6; index++)
        read_block(1, index);
    read_block(1, 0);
    read_block(1, 6);
    assert_true(cache_has(session, 1, 0));
    assert_false(cache_has(session, 1, 1));
}

static void a_held_block_stays(void **state)
{
    (void)state;
    bool empty = false;
    struct cache_block *held = cache_hold(session, 1, 0, BLOCK, &empty);
    assert_true(empty);
    fill(held);
    cache_spent(session, 1, 0);
    for (uint32_t index = 1; index < 20; index++)
        read_block(1, index);
    assert_true(cache_has(session, 1, 0));
    cache_release(session, held);
    read_block(1, 20);
    assert_false(cache_has(session, 1, 0));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_sequential_reader_fetches_each_block_once),
        TEST(readers_do_not_push_each_other_out),
        TEST(what_was_not_read_yet_stays),
        TEST(a_reader_that_rests_does_not_stop_the_others),
        TEST(the_least_recently_used_makes_room),
        TEST(a_held_block_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
