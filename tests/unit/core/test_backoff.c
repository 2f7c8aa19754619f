/* test_backoff.c - goal: waits stay within their ceilings, reach them, and honour what the service asked for.
 * Method: all attempts to 100, random values at the edges and spread between. */
#include "core/backoff.h"

#include "unit.h"

static int64_t ceiling_ms(const struct backoff *backoff, unsigned attempt)
{
    int64_t highest_ms = 0;
    for (uint64_t random = 0; random < 3000; random++) {
        int64_t wait_ms = backoff_wait_ms(backoff, attempt, 0, random);
        assert_true(wait_ms >= 0);
        highest_ms = wait_ms > highest_ms ? wait_ms : highest_ms;
    }
    return highest_ms;
}

static void ceilings_double(void **state)
{
    (void)state;
    struct backoff backoff = {.first_ms = 10, .max_ms = 1000};
    static const int64_t expected_ms[] = {10, 20, 40, 80, 160, 320, 640, 1000, 1000, 1000};
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(ceiling_ms(&backoff, i + 1), expected_ms[i]);
    for (unsigned attempt = 11; attempt < 100; attempt++)
        assert_int_equal(ceiling_ms(&backoff, attempt), 1000);
    assert_int_equal(ceiling_ms(&backoff, 0), 10);
}

static void nothing_overflows(void **state)
{
    (void)state;
    struct backoff backoff = {.first_ms = 3, .max_ms = INT64_MAX};
    for (unsigned attempt = 1; attempt < 200; attempt++)
        assert_true(backoff_wait_ms(&backoff, attempt, 0, UINT64_MAX) >= 0);
    assert_int_equal(backoff_wait_ms(&backoff, 4000000000u, 7, 0), 7);
    struct backoff none = {0};
    assert_int_equal(backoff_wait_ms(&none, 50, 0, UINT64_MAX), 0);
    struct backoff bounded = {.first_ms = 500, .max_ms = 100};
    assert_int_equal(ceiling_ms(&bounded, 1), 100);
}

static void retry_after_is_the_least(void **state)
{
    (void)state;
    struct backoff backoff = {.first_ms = 100, .max_ms = 1000};
    for (uint64_t random = 0; random < 300; random++)
        assert_in_range(backoff_wait_ms(&backoff, 1, 60, random), 60, 100);
    assert_int_equal(backoff_wait_ms(&backoff, 1, 90000, 99), 90000); /* even beyond max_ms */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ceilings_double),
        cmocka_unit_test(nothing_overflows),
        cmocka_unit_test(retry_after_is_the_least),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
