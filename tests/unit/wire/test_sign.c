/* test_sign.c - goal: strings to sign and signatures are those that the service computes. Method: known answers, the
 * signatures computed beforehand with another implementation of HMAC, the strings as the REST reference words them; the
 * key is the one that every emulator has. */
#include "unit.h"

#include "base/text.h"
#include "blob/azure/wire/sign.h"

#include <string.h>

#define KEY  "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
#define WHEN 784111777 /* Sun, 06 Nov 1994 08:49:37 GMT */

static const uint8_t md5_of_hello[MD5_BYTES] = {0x5d, 0x41, 0x40, 0x2a, 0xbc, 0x4b, 0x2a, 0x76,
                                                0xb9, 0x71, 0x9d, 0x91, 0x10, 0x17, 0xc5, 0x92};

static struct sign_key key_of(const char *account)
{
    static uint8_t bytes[64];
    struct sign_key key = {.account = account, .bytes = bytes};
    assert_true(base64_decode(KEY, bytes, sizeof bytes, &key.len));
    return key;
}

static void assert_text(const struct wire_request *request, const char *account, const char *expected)
{
    struct buf text;
    buf_init(&text, 4096);
    assert_int_equal(sign_text(request, account, &text), STATUS_OK);
    assert_string_equal(text.bytes, expected);
    buf_done(&text);
}

static void a_put_in_the_path_style(void **state)
{
    (void)state;
    struct wire_request request;
    struct wire_place place = {"/devstoreaccount1", "con"};
    struct wire_label label = {.catalogue = "c1",
                               .token = "ab12",
                               .name_hex = "612e747874",
                               .content_type = "text/plain",
                               .document = 7,
                               .version = 9,
                               .state = "pending"};
    struct sign_key key = key_of("devstoreaccount1");
    request_put(&request, &place, "d/ab/cd", 5, md5_of_hello, &label);
    assert_int_equal(request_status(&request), STATUS_OK);
    assert_int_equal(sign_request(&request, &key, WHEN), STATUS_OK);
    assert_text(&request, "devstoreaccount1",
                "PUT\n\n\n5\nXUFAKrxLKna5cZ2REBfFkg==\napplication/octet-stream\n\n\n\n*\n\n\n"
                "x-ms-blob-content-type:text/plain\nx-ms-blob-type:BlockBlob\n"
                "x-ms-date:Sun, 06 Nov 1994 08:49:37 GMT\nx-ms-meta-catalogue:c1\nx-ms-meta-document:7\n"
                "x-ms-meta-name:612e747874\nx-ms-meta-token:ab12\nx-ms-meta-version:9\nx-ms-tags:state=pending\n"
                "x-ms-version:2021-12-02\n/devstoreaccount1/devstoreaccount1/con/d/ab/cd");
    assert_string_equal(request.authorization,
                        "SharedKey devstoreaccount1:2RoxRY4StRuMYyQTf9jATNE9fWf0mPhcRYT1T6Vk1rY=");
}

/* Query values are signed as they are, and sent percent-encoded; keys in order. */
static void a_listing_in_the_host_style(void **state)
{
    (void)state;
    struct wire_request request;
    struct wire_place place = {"", "con"};
    struct wire_page page = {.prefix = "team/", .marker = "a b/\xc3\xbc+=&", .results_max = 5000, .tags = true};
    struct sign_key key = key_of("acct");
    struct buf target;
    request_list(&request, &place, &page);
    assert_int_equal(sign_request(&request, &key, WHEN), STATUS_OK);
    assert_text(&request, "acct",
                "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:Sun, 06 Nov 1994 08:49:37 GMT\nx-ms-version:2021-12-02\n"
                "/acct/con\ncomp:list\ninclude:metadata,tags,uncommittedblobs\nmarker:a b/\xc3\xbc+=&\n"
                "maxresults:5000\nprefix:team/\nrestype:container");
    assert_string_equal(request.authorization, "SharedKey acct:rx1l/IoTWd7JbG2dDWYZBk4WgdP631DdDV3GA9tQ9p0=");
    buf_init(&target, 4096);
    assert_int_equal(request_target(&request, NULL, &target), STATUS_OK);
    assert_string_equal(target.bytes, "/con?restype=container&comp=list&include=metadata%2Ctags%2Cuncommittedblobs&"
                                      "maxresults=5000&prefix=team%2F&marker=a%20b%2F%C3%BC%2B%3D%26");
    buf_done(&target);
}

/* A length of nothing is an empty line; Range and If-Match have lines of their own. */
static void lines_of_a_read(void **state)
{
    (void)state;
    struct wire_request request;
    struct wire_place place = {"", "con"};
    struct sign_key key = key_of("acct");
    request_read(&request, &place, "a b", "\"0x1\"", (struct wire_range){100, 50});
    assert_int_equal(sign_request(&request, &key, WHEN), STATUS_OK);
    assert_text(&request, "acct",
                "GET\n\n\n\n\n\n\n\n\"0x1\"\n\n\nbytes=100-149\nx-ms-date:Sun, 06 Nov 1994 08:49:37 GMT\n"
                "x-ms-version:2021-12-02\n/acct/con/a%20b");
}

static void each_attempt_has_a_date_of_its_own(void **state)
{
    (void)state;
    struct wire_request request;
    struct wire_place place = {"", "con"};
    struct sign_key key = key_of("acct");
    char first[WIRE_AUTHORIZATION_SIZE];
    request_head(&request, &place, "x");
    assert_int_equal(sign_request(&request, &key, WHEN), STATUS_OK);
    memcpy(first, request.authorization, sizeof first);
    assert_int_equal(sign_request(&request, &key, WHEN + 1), STATUS_OK);
    assert_string_equal(request.date, "Sun, 06 Nov 1994 08:49:38 GMT");
    assert_string_not_equal(request.authorization, first);
    assert_int_equal(request.header_count, 2);
    assert_int_equal(sign_request(&request, NULL, WHEN), STATUS_OK);
    assert_string_equal(request.authorization, "");
}

static void an_account_beyond_the_limit_is_refused(void **state)
{
    (void)state;
    struct wire_request request;
    struct wire_place place = {"", "con"};
    char account[200];
    memset(account, 'a', sizeof account);
    account[sizeof account - 1] = '\0';
    struct sign_key key = key_of(account);
    request_head(&request, &place, "x");
    assert_int_equal(sign_request(&request, &key, WHEN), STATUS_NO_SPACE);
}

static void a_grant_to_read_one_blob(void **state)
{
    (void)state;
    struct sign_grant grant = {.container = "con",
                               .blob = "d/ab/cd",
                               .permissions = "r",
                               .start_utc_s = WHEN - 900,
                               .end_utc_s = WHEN + 900,
                               .https_only = true};
    struct sign_key key = key_of("acct");
    struct buf text;
    buf_init(&text, 4096);
    assert_int_equal(sign_grant_text(&grant, "acct", &text), STATUS_OK);
    assert_string_equal(text.bytes, "r\n1994-11-06T08:34:37Z\n1994-11-06T09:04:37Z\n/blob/acct/con/d/ab/cd\n\n\nhttps\n"
                                    "2021-12-02\nb\n\n\n\n\n\n\n");
    buf_clear(&text);
    assert_int_equal(sign_grant(&grant, &key, &text), STATUS_OK);
    assert_string_equal(text.bytes, "sv=2021-12-02&st=1994-11-06T08%3A34%3A37Z&se=1994-11-06T09%3A04%3A37Z&sr=b&sp=r&"
                                    "spr=https&sig=nWAAhFNH0sAIX3Clxm%2Bxvx6YToOVmH7QCMXz3UGKA7E%3D");
    buf_done(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_put_in_the_path_style),
        cmocka_unit_test(a_listing_in_the_host_style),
        cmocka_unit_test(lines_of_a_read),
        cmocka_unit_test(each_attempt_has_a_date_of_its_own),
        cmocka_unit_test(an_account_beyond_the_limit_is_refused),
        cmocka_unit_test(a_grant_to_read_one_blob),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
