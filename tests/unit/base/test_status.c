/* test_status.c - goal: the one list of statuses is complete and each errno comes back as itself.
 * Method: every line of the list. */
#include "base/status.h"

#include "unit.h"

#include <errno.h>
#include <string.h>

static void every_line_is_complete(void **state)
{
    (void)state;
    for (int i = 0; i < STATUS_COUNT; i++) {
        enum status status = (enum status)i;
        assert_true(strlen(status_text(status)) > 3);
        assert_true(strlen(status_name(status)) > 1);
        assert_true((status == STATUS_OK) == (status_errno(status) == 0));
        assert_true((status == STATUS_OK) == (status_exit_code(status) == 0));
        assert_in_range(status_exit_code(status), 0, 7);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(status_name(status), status_name((enum status)k));
    }
}

static void outcomes(void **state)
{
    (void)state;
    assert_int_equal(STATUS_OK, 0);
    for (int i = 0; i < STATUS_COUNT; i++) {
        enum outcome expected = i == STATUS_OK ? OUTCOME_DONE : i == STATUS_UNKNOWN ? OUTCOME_UNKNOWN : OUTCOME_REFUSED;
        assert_int_equal(status_outcome((enum status)i), expected);
    }
}

static void errnos_come_back(void **state)
{
    (void)state;
    static const int values[] = {0,      ENOENT, EEXIST, EACCES,  EPERM,  ENOTDIR,  EISDIR, ENOTEMPTY, ENAMETOOLONG,
                                 EMLINK, EFBIG,  EINVAL, ENODATA, ERANGE, ENOTSUP,  EROFS,  ENOSPC,    EDQUOT,
                                 EBUSY,  ESTALE, EINTR,  ENOMEM,  EIO,    ETIMEDOUT};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        assert_int_equal(status_errno(status_from_errno(values[i])), values[i]);
    assert_int_equal(status_from_errno(ENOTTY), STATUS_IO);
    assert_int_equal(status_from_errno(99999), STATUS_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_line_is_complete),
        cmocka_unit_test(outcomes),
        cmocka_unit_test(errnos_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
