/* test_response.c - goal: headers become values, and what is malformed counts as absent. Method: real blocks of
 * headers, each value's limits, and lines that no server should send. */
#include "unit.h"

#include "blob/azure/wire/response.h"

#include <string.h>

#define NOW 784111777 /* Sun, 06 Nov 1994 08:49:37 GMT */

static struct wire_response read_lines(const char *lines)
{
    struct wire_response response;
    response_read(&response, 200, lines, strlen(lines), NOW);
    return response;
}

static void a_put_is_answered(void **state)
{
    (void)state;
    struct wire_response response = read_lines("Server: Azurite-Blob/3.37.0\n"
                                               "etag: \"0x1CF3AE958212F30\"\n"
                                               "last-modified: Mon, 30 Nov 2026 14:11:22 GMT\n"
                                               "content-md5: XUFAKrxLKna5cZ2REBfFkg==\n"
                                               "x-ms-request-id: 5103de90-df6c-4d52-9fd1-8037daccfb5a\n"
                                               "date: Mon, 30 Nov 2026 14:11:22 GMT\n"
                                               "x-ms-content-crc64: V0JSBnCFdzM=\n"
                                               "Content-Length: 0\n");
    assert_string_equal(response.etag, "\"0x1CF3AE958212F30\"");
    assert_string_equal(response.request_id, "5103de90-df6c-4d52-9fd1-8037daccfb5a");
    assert_true(response.has_md5 && response.md5[0] == 0x5d && response.md5[15] == 0x92);
    assert_true(response.has_crc64 && response.crc64 == 0x3377857006524257);
    assert_true(response.has_length && response.length == 0);
    assert_true(response.has_date && response.date_utc_s == 1796047882);
    assert_true(response.has_modified && !response.has_range && !response.has_retry_after);
    assert_string_equal(response.error_code, "");
}

static void metadata_in_any_case(void **state)
{
    (void)state;
    struct wire_response response = read_lines("X-MS-Meta-Token: ab12\nx-ms-meta-CATALOGUE:c1\nx-ms-meta-document: 7\n"
                                               "x-ms-meta-version: 9223372036854775807\nx-ms-meta-other: x\n");
    assert_string_equal(response.meta.token, "ab12");
    assert_string_equal(response.meta.catalogue, "c1");
    assert_int_equal(response.meta.document, 7);
    assert_int_equal(response.meta.version, INT64_MAX);
    response = read_lines("x-ms-meta-version: 9223372036854775808\nx-ms-meta-document: -1\n"
                          "x-ms-meta-token: 0123456789012345678901234567890123456789\n");
    assert_int_equal(response.meta.version, 0);
    assert_int_equal(response.meta.document, 0);
    assert_string_equal(response.meta.token, "");
}

static void ranges(void **state)
{
    (void)state;
    struct wire_response response = read_lines("Content-Range: bytes 100-149/1000\n");
    assert_true(response.has_range && response.range_first == 100 && response.range_last == 149 &&
                response.range_total == 1000);
    static const char *const bad[] = {
        "bytes 10240-10239/10240",
        "bytes 0--1/0",
        "bytes */1000",
        "bytes 1-2/*",
        "bytes 2-1/10",
        "bytes 0-10/10",
        "1-2/3",
        "bytes 1/2-3",
        "bytes 1-2",
        "bytes -1-2/3",
        "bytes 1-2/3 ,",
        "bytes",
        "",
        "bytes +1-2/3",
        "bytes 1-99999999999999999999/3",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char line[100] = "Content-Range: ";
        strncat(line, bad[i], 60);
        assert_false(read_lines(line).has_range);
    }
}

static void three_spellings_of_retry_after(void **state)
{
    (void)state;
    struct wire_response response = read_lines("Retry-After: 7\n");
    assert_true(response.has_retry_after && response.retry_after_ms == 7000);
    response = read_lines("Retry-After: Sun, 06 Nov 1994 08:49:49 GMT\n");
    assert_true(response.has_retry_after && response.retry_after_ms == 12000);
    response = read_lines("Retry-After: Sun, 06 Nov 1994 08:49:00 GMT\n");
    assert_true(response.has_retry_after && response.retry_after_ms == 0);
    response = read_lines("x-ms-retry-after-ms: 250\nretry-after-ms: 100\n");
    assert_int_equal(response.retry_after_ms, 250);
    response = read_lines("Retry-After: 99999999999\n");
    assert_int_equal(response.retry_after_ms, 3600 * 1000);
    assert_false(read_lines("Retry-After: soon\n").has_retry_after);
    assert_false(read_lines("Retry-After: -1\n").has_retry_after);
}

static void etags(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "\"", "0x1", "W/\"0x1\"", "\"a\"b\"", "\"a b\"", "\"a\nb\"", "\"\xc3\xa4\""};
    assert_true(etag_valid("\"0x8D\""));
    assert_true(etag_valid("\"\""));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(etag_valid(bad[i]));
    char long_one[LIMIT_ETAG_BYTES + 8];
    memset(long_one, 'a', sizeof long_one);
    long_one[0] = long_one[LIMIT_ETAG_BYTES] = '"';
    long_one[LIMIT_ETAG_BYTES + 1] = '\0';
    assert_false(etag_valid(long_one));
    assert_string_equal(read_lines("ETag: 0x1\n").etag, "");
}

static void malformed_values_are_absent(void **state)
{
    (void)state;
    struct wire_response response = read_lines("Content-Length: 5x\nContent-MD5: AAAA\nx-ms-content-crc64: !\n"
                                               "Date: yesterday\nx-ms-is-hns-enabled: perhaps\n"
                                               "x-ms-error-code: \x01\x02\n");
    assert_false(response.has_length || response.has_md5 || response.has_crc64 || response.has_date ||
                 response.hierarchical);
    assert_string_equal(response.error_code, "");
    response = read_lines("x-ms-is-hns-enabled: True\r\n");
    assert_true(response.hierarchical);
}

static void odd_lines_do_no_harm(void **state)
{
    (void)state;
    struct wire_response response;
    static const char with_nul[] = "ETag: \"a\"\0evil\nETag: \"0x2\"";
    response_read(&response, 200, with_nul, sizeof with_nul - 1, NOW);
    assert_string_equal(response.etag, "\"0x2\"");
    static char lines[9000];
    memset(lines, 'x', sizeof lines - 1);
    assert_string_equal(read_lines(lines).etag, "");
    lines[4] = ':';
    assert_string_equal(read_lines(lines).etag, "");
    assert_string_equal(read_lines("\n\n:\n: x\nETag\nETag:\n").etag, "");
    response_read(&response, 404, NULL, 0, NOW);
    assert_int_equal(response.status, 404);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_put_is_answered),
        cmocka_unit_test(metadata_in_any_case),
        cmocka_unit_test(ranges),
        cmocka_unit_test(three_spellings_of_retry_after),
        cmocka_unit_test(etags),
        cmocka_unit_test(malformed_values_are_absent),
        cmocka_unit_test(odd_lines_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
