/* test_clock.c - goal: the system's clock and randomness answer and move as their ports promise.
 * Method: order and plausibility only, never durations. */
#include "host/clock.h"
#include "host/entropy.h"

#include "unit.h"

#include <string.h>

static void time_moves_forward(void **state)
{
    (void)state;
    struct clock *clock = clock_system();
    int64_t before_ms = clock_boot_ms(clock);
    clock_wait_ms(clock, 3);
    assert_true(clock_boot_ms(clock) >= before_ms + 3);
    assert_true(clock_utc_ns(clock) > 1600000000ll * 1000000000);
}

static void waiting_for_nothing_returns(void **state)
{
    (void)state;
    clock_wait_ms(clock_system(), 0);
    clock_wait_ms(clock_system(), -5);
}

static void randomness_differs_and_fills_all(void **state)
{
    (void)state;
    uint8_t a[64] = {0}, b[64] = {0};
    entropy_fill(entropy_system(), a, sizeof a);
    entropy_fill(entropy_system(), b, sizeof b);
    assert_memory_not_equal(a, b, sizeof a);
    assert_memory_not_equal(a + 48, b + 48, 16); /* the end was filled too */
    uint8_t guard[4] = {1, 2, 3, 4};
    entropy_fill(entropy_system(), guard, 0);
    assert_memory_equal(guard, "\1\2\3\4", 4);
    static uint8_t large[100000];
    entropy_fill(entropy_system(), large, sizeof large); /* more than one getrandom(2) gives at once when interrupted */
    size_t zeros = 0;
    for (size_t i = 0; i < sizeof large; i++)
        zeros += large[i] == 0;
    assert_true(zeros < 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_moves_forward),
        cmocka_unit_test(waiting_for_nothing_returns),
        cmocka_unit_test(randomness_differs_and_fills_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
