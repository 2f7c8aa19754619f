/* test_request.c - goal: each operation goes out with the method, the address and the headers it must have, above all
 * its one condition (P3, P7). Method: build each, look the headers up; values that no header may hold are refused. */
#include "unit.h"

#include "blob/azure/wire/request.h"

#include <string.h>

static const uint8_t digest[MD5_BYTES];
static const struct wire_place place = {"/devstoreaccount1", "con"};

static const char *header(const struct wire_request *request, const char *name)
{
    const char *value = NULL;
    for (size_t i = 0; i < request->header_count; i++)
        if (!strcmp(request->headers[i].name, name)) {
            assert_null(value); /* once */
            value = request->headers[i].value;
        }
    return value;
}

static void assert_header(const struct wire_request *request, const char *name, const char *value)
{
    const char *found = header(request, name);
    if (!value) {
        assert_null(found);
        return;
    }
    assert_non_null(found);
    assert_string_equal(found, value);
}

static void assert_target(const struct wire_request *request, const char *sas, const char *expected)
{
    struct buf target;
    buf_init(&target, 4096);
    assert_int_equal(request_target(request, sas, &target), STATUS_OK);
    assert_string_equal(target.bytes, expected);
    buf_done(&target);
}

/* P3: whatever the options, a create is conditional. */
static void every_create_is_conditional(void **state)
{
    (void)state;
    static const struct wire_label labels[] = {
        {0},
        {.state = "pending"},
        {.catalogue = "c", .token = "t", .document = 1, .version = 2, .content_type = "a/b"}};
    struct wire_request request;
    for (size_t i = 0; i < 3; i++) {
        request_put(&request, &place, "x", 3, digest, &labels[i]);
        assert_header(&request, "If-None-Match", "*");
        assert_header(&request, "If-Match", NULL);
        assert_header(&request, "Content-MD5", "AAAAAAAAAAAAAAAAAAAAAA==");
        assert_header(&request, "x-ms-blob-type", "BlockBlob");
        request_commit(&request, &place, "x", 3, digest, &labels[i]);
        assert_header(&request, "If-None-Match", "*");
        assert_header(&request, "x-ms-tags", i == 1 ? "state=pending" : NULL);
    }
    request_put_text(&request, &place, "x", 3, digest, NULL);
    assert_header(&request, "If-None-Match", "*");
    request_put_text(&request, &place, "x", 3, digest, "\"0x1\"");
    assert_header(&request, "If-None-Match", NULL);
    assert_header(&request, "If-Match", "\"0x1\"");
}

/* P7: one condition a request. */
static void a_delete_has_one_condition(void **state)
{
    (void)state;
    struct wire_request request;
    request_delete(&request, &place, "x", "\"0x1\"", NULL);
    assert_string_equal(request.method, "DELETE");
    assert_header(&request, "If-Match", "\"0x1\"");
    assert_header(&request, "x-ms-if-tags", NULL);
    request_delete(&request, &place, "x", NULL, "pending");
    assert_header(&request, "If-Match", NULL);
    assert_header(&request, "x-ms-if-tags", "\"state\"='pending'");
    assert_header(&request, "x-ms-delete-snapshots", NULL);
}

static void blocks_and_their_copies(void **state)
{
    (void)state;
    struct wire_request request;
    request_block(&request, &place, "d/ab", "AA+/AA==", 7, digest);
    assert_target(&request, NULL, "/devstoreaccount1/con/d/ab?comp=block&blockid=AA%2B%2FAA%3D%3D");
    assert_int_equal(request.body_len, 7);
    request_block_from(&request, &place, "d/ab", "AA==", "http://h/s?sig=x", "\"0x2\"",
                       (struct wire_range){4096, 4096});
    assert_header(&request, "x-ms-copy-source", "http://h/s?sig=x");
    assert_header(&request, "x-ms-source-range", "bytes=4096-8191");
    assert_header(&request, "x-ms-source-if-match", "\"0x2\"");
    assert_int_equal(request.body_len, 0);
}

static void signatures_follow_untouched(void **state)
{
    (void)state;
    struct wire_request request;
    request_head(&request, &place, "x");
    assert_target(&request, "sv=1&sig=a%2Bb", "/devstoreaccount1/con/x?sv=1&sig=a%2Bb");
    request_tags_get(&request, &place, "x");
    assert_target(&request, "sv=1&sig=a%2Bb", "/devstoreaccount1/con/x?comp=tags&sv=1&sig=a%2Bb");
    request_account(&request, "");
    assert_target(&request, NULL, "/?restype=account&comp=properties");
}

static void names_are_escaped(void **state)
{
    (void)state;
    struct wire_request request;
    request_get(&request, &place, "a b/../%2F?#+\xc3\xa4");
    assert_target(&request, NULL, "/devstoreaccount1/con/a%20b/../%252F%3F%23%2B%C3%A4");
}

/* Nobody can smuggle a header in. */
static void header_values_are_checked(void **state)
{
    (void)state;
    static const char *const bad[] = {"text/plain\r\nx-ms-evil: 1", "a\nb", " a", "a ", "a  b", "\xc3\xa4", "\x7f"};
    struct wire_request request;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct wire_label label = {.content_type = bad[i]};
        request_put(&request, &place, "x", 3, digest, &label);
        assert_int_equal(request_status(&request), STATUS_INVALID);
    }
}

static void what_does_not_fit_is_told(void **state)
{
    (void)state;
    struct wire_request request;
    static char name[20000];
    memset(name, 'a', sizeof name - 1);
    request_head(&request, &place, name);
    assert_int_equal(request_status(&request), STATUS_NO_SPACE);
    request_block_from(&request, &place, "x", "AA==", name, "\"0x2\"", (struct wire_range){0, 1});
    assert_int_equal(request_status(&request), STATUS_NO_SPACE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_create_is_conditional), cmocka_unit_test(a_delete_has_one_condition),
        cmocka_unit_test(blocks_and_their_copies),     cmocka_unit_test(signatures_follow_untouched),
        cmocka_unit_test(names_are_escaped),           cmocka_unit_test(header_values_are_checked),
        cmocka_unit_test(what_does_not_fit_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
