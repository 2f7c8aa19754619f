/* test_plan.c - goal: blocks tile a file without gap or overlap, and each byte is found in its block.
 * Method: every index with the smallest, the usual and the largest base size; each block's first and last byte. */
#include "core/plan.h"

#include "base/limits.h"

#include "unit.h"

static const uint32_t bases[] = {4096, 4u << 20, 64u << 20};

static void blocks_tile_the_file(void **state)
{
    (void)state;
    for (size_t b = 0; b < sizeof bases / sizeof *bases; b++) {
        struct plan plan = {.block_bytes = bases[b]};
        uint64_t expected = 0;
        for (uint32_t index = 0; index < LIMIT_BLOCKS; index++) {
            uint64_t length = plan_length(&plan, index);
            assert_true(plan_offset(&plan, index) == expected);
            assert_int_equal(plan_index(&plan, expected), index);
            assert_int_equal(plan_index(&plan, expected + length - 1), index);
            expected += length;
        }
        assert_true(plan_size_max(&plan) == expected);
        assert_int_equal(plan_count(&plan, expected), LIMIT_BLOCKS);
        assert_int_equal(plan_count(&plan, expected + 1), LIMIT_BLOCKS + 1);
    }
}

static void rungs(void **state)
{
    (void)state;
    struct plan plan = {.block_bytes = 100};
    assert_int_equal(plan_length(&plan, 0), 100);
    assert_int_equal(plan_length(&plan, 8191), 100);
    assert_int_equal(plan_length(&plan, 8192), 400);
    assert_int_equal(plan_length(&plan, 16383), 400);
    assert_int_equal(plan_length(&plan, 16384), 1600);
    assert_int_equal(plan_length(&plan, 49999), 1600);
}

static void counts(void **state)
{
    (void)state;
    struct plan plan = {.block_bytes = 4096};
    assert_int_equal(plan_count(&plan, 0), 0);
    assert_int_equal(plan_count(&plan, 1), 1);
    assert_int_equal(plan_count(&plan, 4096), 1);
    assert_int_equal(plan_count(&plan, 4097), 2);
    assert_int_equal(plan_count(&plan, 8192ull * 4096), 8192);
    assert_int_equal(plan_count(&plan, 8192ull * 4096 + 1), 8193);
    assert_int_equal(plan_count(&plan, 8192ull * 4096 + 16385), 8194);
}

/* The figures that the header promises. */
static void reach(void **state)
{
    (void)state;
    struct plan plan = {.block_bytes = 4u << 20};
    assert_true(plan_offset(&plan, 8192) == 32ull << 30);
    assert_true(plan_offset(&plan, 16384) == 160ull << 30);
    assert_true(plan_size_max(&plan) > 2ull << 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_tile_the_file),
        cmocka_unit_test(rungs),
        cmocka_unit_test(counts),
        cmocka_unit_test(reach),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
