/* test_state.c - goal: the moves of a version are those of the diagram and no other (P7: no way from Ready to Gone but
 * through Condemned; Condemned is final).
 * Method: all pairs of states. */
#include "core/state.h"

#include "unit.h"

static void all_pairs(void **state)
{
    (void)state;
    enum { P = VERSION_PENDING, R = VERSION_READY, C = VERSION_CONDEMNED, G = VERSION_GONE };
    static const bool legal[5][5] = {
        [G] = {[P] = true},
        [P] = {[R] = true, [C] = true},
        [R] = {[C] = true},
        [C] = {[G] = true},
    };
    for (int from = P; from <= G; from++)
        for (int to = P; to <= G; to++)
            assert_int_equal(version_move_legal((enum version_state)from, (enum version_state)to), legal[from][to]);
    assert_false(version_move_legal((enum version_state)0, VERSION_PENDING));
}

static void names(void **state)
{
    (void)state;
    assert_string_equal(version_state_name(VERSION_PENDING), "Pending");
    assert_string_equal(version_state_name(VERSION_READY), "Ready");
    assert_string_equal(version_state_name(VERSION_CONDEMNED), "Condemned");
    assert_string_equal(version_state_name(VERSION_GONE), "Gone");
    assert_string_equal(version_state_name((enum version_state)9), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_pairs),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
