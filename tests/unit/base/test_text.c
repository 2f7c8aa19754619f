/* test_text.c - goal: every encoding of base/text.h is exact and its decoders are strict.
 * Method: the vectors of the standards, each byte value once, and one malformed text per rule. */
#include "base/text.h"

#include "unit.h"

#include <stdio.h>
#include <string.h>

static void hex_round_trip(void **state)
{
    (void)state;
    uint8_t all[256], back[256];
    char text[HEX_SIZE(256)];
    for (unsigned i = 0; i < 256; i++)
        all[i] = (uint8_t)i;
    hex_encode(all, sizeof all, text);
    assert_int_equal(strlen(text), 512);
    assert_memory_equal(text, "000102030405060708090a0b", 24);
    assert_true(hex_decode(text, back, sizeof back));
    assert_memory_equal(all, back, sizeof all);
    hex_encode("", 0, text);
    assert_string_equal(text, "");
    assert_true(hex_decode("", back, 0));
}

static void hex_is_strict(void **state)
{
    (void)state;
    uint8_t out[2] = {1, 2};
    assert_true(hex_decode("aBCd", out, 2));
    assert_int_equal(out[0], 0xab);
    assert_int_equal(out[1], 0xcd);
    assert_false(hex_decode("abc", out, 2));
    assert_false(hex_decode("abcde", out, 2));
    assert_false(hex_decode("abcg", out, 2));
    assert_false(hex_decode(" bcd", out, 2));
    assert_int_equal(out[0], 0xab); /* a refusal writes nothing */
}

static const struct {
    const char *plain, *text;
} base64_vectors[] = {
    {"", ""},
    {"f", "Zg=="},
    {"fo", "Zm8="},
    {"foo", "Zm9v"},
    {"foob", "Zm9vYg=="},
    {"fooba", "Zm9vYmE="},
    {"foobar", "Zm9vYmFy"},
    {"\xfb\xff\xbf", "+/+/"},
};

static void base64_vectors_of_rfc_4648(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof base64_vectors / sizeof *base64_vectors; i++) {
        char text[BASE64_SIZE(8)], back[8];
        size_t len = strlen(base64_vectors[i].plain), got = 99;
        base64_encode(base64_vectors[i].plain, len, text);
        assert_string_equal(text, base64_vectors[i].text);
        assert_true(base64_decode(text, back, sizeof back, &got));
        assert_int_equal(got, len);
        assert_memory_equal(back, base64_vectors[i].plain, len);
        if (len)
            assert_false(base64_decode(text, back, len - 1, &got));
    }
}

static void base64_is_strict(void **state)
{
    (void)state;
    static const char *const bad[] = {"Z",    "Zg",   "Zg=",    "=Zg=", "Zg==Zg==", "Zh==",
                                      "Zm9=", "Zm 9", "Zm9v\n", "====", "Z===",     "Zm-_"};
    char out[16];
    size_t len;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(base64_decode(bad[i], out, sizeof out, &len));
}

static void percent_round_trip(void **state)
{
    (void)state;
    char all[256];
    AUTO_BUF struct buf text, back;
    for (unsigned i = 0; i < 256; i++)
        all[i] = (char)i;
    buf_init(&text, 1024);
    buf_init(&back, 1024);
    assert_int_equal(percent_encode(&text, all + 1, 255, false), STATUS_OK);
    assert_int_equal(percent_decode(&back, text.bytes, text.len), STATUS_OK);
    assert_int_equal(back.len, 255);
    assert_memory_equal(back.bytes, all + 1, 255);
    for (size_t i = 0; i < text.len; i++)
        assert_non_null(strchr("%-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", text.bytes[i]));
}

static void percent_details(void **state)
{
    (void)state;
    AUTO_BUF struct buf buf;
    buf_init(&buf, 12);
    assert_int_equal(percent_encode(&buf, "a/ +", 4, true), STATUS_OK);
    assert_string_equal(buf.bytes, "a/%20%2B");
    assert_int_equal(percent_encode(&buf, "bc\xff\xff", 4, true), STATUS_NO_SPACE);
    assert_string_equal(buf.bytes, "a/%20%2B"); /* unchanged */
    static const char *const bad[] = {"%", "%2", "ab%", "%2g", "%g2", "%00", "x%00y"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(percent_decode(&buf, bad[i], strlen(bad[i])), STATUS_INVALID);
    assert_string_equal(buf.bytes, "a/%20%2B");
    buf_clear(&buf);
    assert_int_equal(percent_decode(&buf, "+%2b%2F", 7), STATUS_OK);
    assert_string_equal(buf.bytes, "++/");
}

static void numbers(void **state)
{
    (void)state;
    uint64_t value = 7;
    assert_true(parse_uint64("0", 0, 0, &value));
    assert_int_equal(value, 0);
    assert_true(parse_uint64("18446744073709551615", 0, UINT64_MAX, &value));
    assert_true(value == UINT64_MAX);
    static const char *const bad[] = {
        "", " 1", "1 ", "+1", "-1", "0x1", "1e3", "1.0", "18446744073709551616", "99999999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(parse_uint64(bad[i], 0, UINT64_MAX, &value));
    assert_false(parse_uint64("9", 10, 20, &value));
    assert_false(parse_uint64("21", 10, 20, &value));
    assert_true(parse_uint64("0020", 10, 20, &value));
    assert_int_equal(value, 20);
}

static void quoting(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"", "\"\""},
        {"a b/c.txt", "\"a b/c.txt\""},
        {"line\nbreak\t", "\"line\\x0abreak\\x09\""},
        {"say \"hi\" \\", "\"say \\x22hi\\x22 \\x5c\""},
        {"gr\xc3\xbc\xc3\x9f", "\"gr\xc3\xbc\xc3\x9f\""},
        {"\xc3(\xff", "\"\\xc3(\\xff\""},
        {"\xc2\x9b[2J\x7f", "\"\\xc2\\x9b[2J\\x7f\""}, /* a C1 control is no letter */
        {"\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AUTO_BUF struct buf buf;
        buf_init(&buf, 200);
        assert_int_equal(quote_text(&buf, rows[i].in, strlen(rows[i].in)), STATUS_OK);
        assert_string_equal(buf.bytes, rows[i].out);
    }
    AUTO_BUF struct buf small;
    buf_init(&small, 4);
    assert_int_equal(quote_text(&small, "abc", 3), STATUS_NO_SPACE);
    assert_int_equal(small.len, 0);
}

/* An independent definition: encode every code point, and see which of all short sequences are among the encodings. */
static size_t encode(uint32_t point, uint8_t *out)
{
    if (point < 0x80)
        return out[0] = (uint8_t)point, 1;
    size_t len = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (size_t i = len - 1; i > 0; i--, point >>= 6)
        out[i] = (uint8_t)(0x80 | (point & 63));
    out[0] = (uint8_t)((0xf00u >> len) | point);
    return len;
}

static void utf8_knows_every_code_point(void **state)
{
    (void)state;
    for (uint32_t point = 0; point < 0x200000; point++) {
        uint8_t bytes[4];
        size_t len = encode(point, bytes);
        bool legal = point <= 0x10ffff && !(point >= 0xd800 && point <= 0xdfff);
        if (utf8_valid(bytes, len) != legal)
            fail_msg("U+%04X", point);
    }
}

static void utf8_refuses_the_rest(void **state)
{
    (void)state;
    static const char *const bad[] = {"\x80",
                                      "\xc0\x80",
                                      "\xc1\xbf",
                                      "\xe0\x9f\xbf",
                                      "\xf0\x8f\xbf\xbf",
                                      "\xf5\x80\x80\x80",
                                      "\xc3",
                                      "\xe2\x82",
                                      "\xf0\x9f\x98",
                                      "\xe2\x28\xa1",
                                      "\xff",
                                      "a\xc3z"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(utf8_valid(bad[i], strlen(bad[i])));
    assert_true(utf8_valid("", 0));
    assert_true(utf8_valid("a\0b", 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hex_round_trip),
        cmocka_unit_test(hex_is_strict),
        cmocka_unit_test(base64_vectors_of_rfc_4648),
        cmocka_unit_test(base64_is_strict),
        cmocka_unit_test(percent_round_trip),
        cmocka_unit_test(percent_details),
        cmocka_unit_test(numbers),
        cmocka_unit_test(quoting),
        cmocka_unit_test(utf8_knows_every_code_point),
        cmocka_unit_test(utf8_refuses_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
