/* test_buf.c - goal: a buffer keeps its bytes, its NUL and its limit, and a refusal leaves it unchanged.
 * Method: small buffers at, below and beyond their limits. */
#include "base/buf.h"

#include "unit.h"

#include <stdlib.h>
#include <string.h>

static void starts_empty_and_terminated(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 10);
    assert_string_equal(buf.bytes, "");
    assert_int_equal(buf.len, 0);
    buf_clear(&buf);
    buf_cut(&buf, 0);
    buf_done(&buf);
    buf_done(&buf);
}

static void grows_to_its_limit_and_not_beyond(void **state)
{
    (void)state;
    AUTO_BUF struct buf buf;
    buf_init(&buf, 1000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(buf_append(&buf, "x", 1), STATUS_OK);
    assert_int_equal(strlen(buf.bytes), 1000);
    assert_int_equal(buf_append(&buf, "y", 1), STATUS_NO_SPACE);
    assert_int_equal(buf_append(&buf, "y", 0), STATUS_OK);
    assert_int_equal(buf_append(&buf, "y", SIZE_MAX), STATUS_NO_SPACE);
    assert_int_equal(buf.len, 1000);
    assert_int_equal(strlen(buf.bytes), 1000);
}

static void an_empty_limit_holds_nothing(void **state)
{
    (void)state;
    AUTO_BUF struct buf buf;
    buf_init(&buf, 0);
    assert_int_equal(buf_append(&buf, "", 0), STATUS_OK);
    assert_int_equal(buf_append(&buf, "a", 1), STATUS_NO_SPACE);
    assert_string_equal(buf.bytes, "");
}

static void prints(void **state)
{
    (void)state;
    AUTO_BUF struct buf buf;
    buf_init(&buf, 12);
    assert_int_equal(buf_printf(&buf, "%d-%s", 42, "abc"), STATUS_OK);
    assert_int_equal(buf_printf(&buf, "%s", ""), STATUS_OK);
    assert_string_equal(buf.bytes, "42-abc");
    assert_int_equal(buf_printf(&buf, "%s", "1234567"), STATUS_NO_SPACE);
    assert_string_equal(buf.bytes, "42-abc");
    assert_int_equal(buf_printf(&buf, "%s", "123456"), STATUS_OK);
    assert_int_equal(buf_append_text(&buf, "!"), STATUS_NO_SPACE);
    assert_string_equal(buf.bytes, "42-abc123456");
}

static void cuts_and_clears(void **state)
{
    (void)state;
    AUTO_BUF struct buf buf;
    buf_init(&buf, 100);
    assert_int_equal(buf_append_text(&buf, "abcdef"), STATUS_OK);
    buf_cut(&buf, 2);
    assert_string_equal(buf.bytes, "ab");
    assert_int_equal(buf_append(&buf, "\0z", 2), STATUS_OK);
    assert_int_equal(buf.len, 4);
    assert_memory_equal(buf.bytes, "ab\0z", 5);
    buf_clear(&buf);
    assert_string_equal(buf.bytes, "");
}

static void gives_its_bytes_away(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 100);
    assert_int_equal(buf_append_text(&buf, "mine"), STATUS_OK);
    char *text = buf_take(&buf);
    assert_string_equal(text, "mine");
    free(text);
    assert_int_equal(buf.len, 0);
    text = buf_take(&buf); /* an empty one is a string too */
    assert_string_equal(text, "");
    free(text);
    assert_int_equal(buf_append_text(&buf, "again"), STATUS_OK);
    assert_string_equal(buf.bytes, "again");
    buf_done(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_empty_and_terminated),
        cmocka_unit_test(grows_to_its_limit_and_not_beyond),
        cmocka_unit_test(an_empty_limit_holds_nothing),
        cmocka_unit_test(prints),
        cmocka_unit_test(cuts_and_clears),
        cmocka_unit_test(gives_its_bytes_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
