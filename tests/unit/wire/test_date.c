/* test_date.c - goal: moments become the texts that the service signs and sends, and back. Method: known pairs around
 * leap days and the ends of the range, a walk over four centuries, and malformed texts. */
#include "unit.h"

#include "blob/azure/wire/date.h"

static const struct {
    int64_t utc_s;
    const char *http, *iso;
} pairs[] = {
    {0, "Thu, 01 Jan 1970 00:00:00 GMT", "1970-01-01T00:00:00Z"},
    {68169599, "Mon, 28 Feb 1972 23:59:59 GMT", "1972-02-28T23:59:59Z"},
    {784111777, "Sun, 06 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37Z"},
    {951782400, "Tue, 29 Feb 2000 00:00:00 GMT", "2000-02-29T00:00:00Z"},
    {1709164800, "Thu, 29 Feb 2024 00:00:00 GMT", "2024-02-29T00:00:00Z"},
    {4107542399, "Sun, 28 Feb 2100 23:59:59 GMT", "2100-02-28T23:59:59Z"},
    {253402300799, "Fri, 31 Dec 9999 23:59:59 GMT", "9999-12-31T23:59:59Z"},
};

static void known_moments(void **state)
{
    (void)state;
    char http[DATE_HTTP_SIZE], iso[DATE_ISO_SIZE];
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        int64_t back = -1;
        date_http(pairs[i].utc_s, http);
        date_iso(pairs[i].utc_s, iso);
        assert_string_equal(http, pairs[i].http);
        assert_string_equal(iso, pairs[i].iso);
        assert_true(date_parse_http(http, &back));
        assert_int_equal(back, pairs[i].utc_s);
        back = -1;
        assert_true(date_parse_iso(iso, &back));
        assert_int_equal(back, pairs[i].utc_s);
    }
}

static void every_day_of_four_centuries_comes_back(void **state)
{
    (void)state;
    char http[DATE_HTTP_SIZE];
    for (int64_t day = 0; day < 146097; day++) {
        int64_t utc_s = day * 86400 + day % 86400, back = -1;
        date_http(utc_s, http);
        assert_true(date_parse_http(http, &back));
        assert_int_equal(back, utc_s);
    }
}

static void forms_of_a_signature(void **state)
{
    (void)state;
    int64_t utc_s;
    assert_true(date_parse_iso("1994-11-06", &utc_s));
    assert_int_equal(utc_s, 784080000);
    assert_true(date_parse_iso("1994-11-06T08:49Z", &utc_s));
    assert_int_equal(utc_s, 784111740);
    assert_true(date_parse_iso("1994-11-06T08:49:37.1234567Z", &utc_s));
    assert_int_equal(utc_s, 784111777);
}

static void malformed_texts_are_refused(void **state)
{
    (void)state;
    static const char *const http[] = {
        "",
        "Sun",
        "Sun, 06 Nov 1994 08:49:37 GMT ",
        " Sun, 06 Nov 1994 08:49:37 GMT",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 24:49:37 GMT",
        "Sun, 06 Nov 1994 08:60:37 GMT",
        "Sun, 31 Nov 1994 08:49:37 GMT",
        "Sun, 29 Feb 2100 08:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1969 08:49:37 GMT",
        "Sun, 06 Foo 1994 08:49:37 GMT",
        "Sun, 06 Nov -994 08:49:37 GMT",
    };
    static const char *const iso[] = {
        "",
        "1994",
        "1994-11-6",
        "1994-13-06",
        "1994-11-06T",
        "1994-11-06T08:49:37",
        "1994-11-06T08:49:37.Z",
        "1994-11-06T08:49:37Zx",
        "1994-11-06 08:49:37Z",
    };
    int64_t utc_s = 42;
    for (size_t i = 0; i < sizeof http / sizeof *http; i++)
        assert_false(date_parse_http(http[i], &utc_s));
    for (size_t i = 0; i < sizeof iso / sizeof *iso; i++)
        assert_false(date_parse_iso(iso[i], &utc_s));
    assert_int_equal(utc_s, 42);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_moments),
        cmocka_unit_test(every_day_of_four_centuries_comes_back),
        cmocka_unit_test(forms_of_a_signature),
        cmocka_unit_test(malformed_texts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
