/* test_err.c - goal: a report says one line, keeps its status on the way up, and a caller without one loses nothing.
 * Method: each function with a report, with NULL, and with texts too long for it. */
#include "base/err.h"

#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void says_one_line(void **state)
{
    (void)state;
    struct err err = {0};
    assert_int_equal(err_set(&err, STATUS_EXISTS, "blob '%s'\nx\x7f", "a"), STATUS_EXISTS);
    assert_string_equal(err.message, "blob 'a' x ");
    assert_int_equal(err.status, STATUS_EXISTS);
    assert_int_equal(err_hint(&err, "try\tthis"), STATUS_EXISTS);
    assert_string_equal(err.hint, "try this");
}

static void gains_context(void **state)
{
    (void)state;
    struct err err = {0};
    (void)err_set(&err, STATUS_THROTTLED, "503 ServerBusy");
    (void)snprintf(err.service_code, sizeof err.service_code, "ServerBusy");
    assert_int_equal(err_context(&err, "block %d", 3), STATUS_THROTTLED);
    assert_int_equal(err_context(&err, "publish 'a/b'"), STATUS_THROTTLED);
    assert_string_equal(err.message, "publish 'a/b': block 3: 503 ServerBusy");
    assert_string_equal(err.service_code, "ServerBusy");
}

static void names_the_errno(void **state)
{
    (void)state;
    struct err err = {0};
    assert_int_equal(err_set_errno(&err, ENOSPC, "write %s", "x"), STATUS_NO_SPACE);
    assert_string_equal(err.message, "write x: No space left on device");
    assert_int_equal(err_set_errno(&err, EIO, "read"), STATUS_IO);
    assert_string_equal(err.message, "read: Input/output error");
}

static void replaces_the_old_report(void **state)
{
    (void)state;
    struct err err = {.status = STATUS_IO, .http_status = 500, .message = "old", .hint = "old"};
    (void)err_set(&err, STATUS_BUSY, "new");
    assert_int_equal(err.http_status, 0);
    assert_string_equal(err.hint, "");
    err_clear(&err);
    assert_string_equal(err.message, "");
    assert_int_equal(err.status, STATUS_OK);
    assert_int_equal(err_context(&err, "nothing was said"), STATUS_IO);
}

static void cuts_long_texts(void **state)
{
    (void)state;
    char text[2000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    struct err err = {0};
    (void)err_set(&err, STATUS_IO, "%s", text);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
    (void)err_context(&err, "%s", text);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
    (void)err_hint(&err, "%s", text);
    assert_int_equal(strlen(err.hint), sizeof err.hint - 1);
    (void)err_set_errno(&err, EIO, "%s", text);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
}

static void works_without_a_report(void **state)
{
    (void)state;
    assert_int_equal(err_set(NULL, STATUS_BUSY, "x"), STATUS_BUSY);
    assert_int_equal(err_set_errno(NULL, EROFS, "x"), STATUS_READ_ONLY);
    assert_int_equal(err_context(NULL, "x"), STATUS_IO);
    assert_int_equal(err_hint(NULL, "x"), STATUS_IO);
    err_clear(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_one_line),   cmocka_unit_test(gains_context),
        cmocka_unit_test(names_the_errno), cmocka_unit_test(replaces_the_old_report),
        cmocka_unit_test(cuts_long_texts), cmocka_unit_test(works_without_a_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
