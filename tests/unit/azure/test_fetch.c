/* test_fetch.c - goal: nothing reaches a reader but the bytes asked for, and "absent" is said only when the service
 * says so (S22, S24). Method: a scripted service with wrong ranges, other ETags, short and foreign bodies, error
 * bodies, proxies' answers; the reader's buffer is watched. */
#include "scripted.h"

#define PROPERTIES                                                                                                     \
    "ETag: \"0x1\"\nContent-Length: 10\nx-ms-meta-token: ab12\nx-ms-meta-version: 9\n"                                 \
    "Content-MD5: XUFAKrxLKna5cZ2REBfFkg==\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\n"
#define RANGE(range) "ETag: \"0x1\"\nContent-Range: bytes " range "\n"
#define ANSWER(http_status, code)                                                                                      \
    {                                                                                                                  \
        .status = http_status, .headers = "x-ms-error-code: " code "\n"                                                \
    }
#define BARE(http_status)                                                                                              \
    {                                                                                                                  \
        .status = http_status                                                                                          \
    }

static enum status read_five(struct script *script, char *ret_bytes, struct err *err)
{
    return script->store->ops->read(script->store, NULL, "d/ab", "\"0x1\"", 2, ret_bytes, 5, err);
}

static void a_look(void **state)
{
    (void)state;
    SCRIPT(script, SCRIPT_WITH_KEY, true, {.failure = STATUS_UNREACHABLE, .sent = true}, BARE(500),
           {.status = 200, .headers = PROPERTIES});
    struct blob_facts facts;
    assert_int_equal(script.store->ops->stat(script.store, NULL, "d/ab", &facts, NULL), STATUS_OK);
    assert_int_equal(script.done, 3); /* looking changes nothing, so it is repeated */
    assert_string_equal(script.records[2].method, "HEAD");
    assert_string_equal(facts.etag, "\"0x1\"");
    assert_string_equal(facts.token, "ab12");
    assert_int_equal(facts.version, 9);
    assert_int_equal(facts.size_bytes, 10);
    assert_true(facts.has_md5 && !facts.has_crc64);
    assert_int_equal(facts.modified_utc_ns, SCRIPT_NOW_S * INT64_C(1000000000));
    script_done(&script);
}

static void absent_only_when_the_service_says_so(void **state)
{
    (void)state;
    static const struct {
        struct step step;
        enum status status;
    } rows[] = {
        {ANSWER(404, "BlobNotFound"), STATUS_NOT_FOUND},
        {BARE(404), STATUS_IO},
        {ANSWER(404, "ContainerNotFound"), STATUS_IO},
        {ANSWER(404, "SomethingNew"), STATUS_IO},
        {{.status = 200, .headers = "ETag: \"0x1\"\n"}, STATUS_CORRUPT},
        {{.status = 200, .headers = "Content-Length: 1\n"}, STATUS_CORRUPT},
        {BARE(302), STATUS_IO},
        {ANSWER(403, "AuthenticationFailed"), STATUS_AUTHENTICATION},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct script script;
        struct blob_facts facts;
        struct err err = {0};
        script_open(&script, &rows[i].step, 1, SCRIPT_WITH_KEY, true);
        assert_int_equal(script.store->ops->stat(script.store, NULL, "d/ab", &facts, &err), rows[i].status);
        assert_int_equal(err.status, rows[i].status);
        assert_int_equal(script.done, 1);
        script_done(&script);
    }
}

static void a_read(void **state)
{
    (void)state;
    SCRIPT(script, SCRIPT_WITH_KEY, true, {.failure = STATUS_UNREACHABLE, .sent = true},
           {.status = 206, .headers = RANGE("2-6/10"), .body = "hello"});
    char bytes[5];
    assert_int_equal(read_five(&script, bytes, NULL), STATUS_OK);
    assert_memory_equal(bytes, "hello", 5);
    assert_true(script_sent(&script, 1, "Range: bytes=2-6"));
    assert_true(script_sent(&script, 1, "If-Match: \"0x1\""));
    script_done(&script);
}

static void wrong_answers_to_a_read(void **state)
{
    (void)state;
    static const struct {
        struct step step;
        enum status status;
        bool clean; /* nothing of the body may have touched the buffer */
    } rows[] = {
        {{.status = 206, .headers = RANGE("3-7/10"), .body = "hello"}, STATUS_CORRUPT, false},
        {{.status = 206, .headers = RANGE("2-7/10"), .body = "hello"}, STATUS_CORRUPT, false},
        {{.status = 206, .headers = RANGE("2-6/10"), .body = "hell"}, STATUS_CORRUPT, false},
        {{.status = 206, .headers = "ETag: \"0x1\"\n", .body = "hello"}, STATUS_CORRUPT, false},
        {{.status = 206, .headers = "ETag: \"0x2\"\nContent-Range: bytes 2-6/10\n", .body = "hello"},
         STATUS_CORRUPT,
         false},
        {{.status = 206, .headers = "Content-Range: bytes 2-6/10\n", .body = "hello"}, STATUS_CORRUPT, false},
        {{.status = 200, .headers = PROPERTIES, .body = "0123456789"}, STATUS_CORRUPT, true},
        {{.status = 200, .headers = "ETag: \"0x1\"\n", .body = "<html>Sign in</html>"}, STATUS_CORRUPT, true},
        {{.status = 404, .headers = "x-ms-error-code: BlobNotFound\n", .body = "<Error>"}, STATUS_NOT_FOUND, true},
        {{.status = 403, .body = "<Error><Code>AuthenticationFailed</Code></Error>"}, STATUS_AUTHENTICATION, true},
        {{.status = 416, .headers = "x-ms-error-code: InvalidRange\n", .body = "x"}, STATUS_CORRUPT, true},
        {BARE(404), STATUS_IO, true},
        {{.failure = STATUS_CORRUPT, .sent = true}, STATUS_CORRUPT, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct script script;
        char bytes[5] = "AAAAA";
        struct err err = {0};
        script_open(&script, &rows[i].step, 1, SCRIPT_WITH_KEY, true);
        assert_int_equal(read_five(&script, bytes, &err), rows[i].status);
        assert_int_equal(script.done, 1);
        assert_true(*err.message);
        if (rows[i].clean)
            assert_memory_equal(bytes, "AAAAA", 5);
        script_done(&script);
    }
}

static void a_pinned_read_of_what_is_gone_or_changed(void **state)
{
    (void)state;
    SCRIPT(script, SCRIPT_WITH_KEY, true, ANSWER(412, "ConditionNotMet"), ANSWER(404, "BlobNotFound"),
           ANSWER(412, "ConditionNotMet"), {.status = 200, .headers = PROPERTIES}, ANSWER(412, "ConditionNotMet"),
           ANSWER(403, "AuthenticationFailed"));
    char bytes[5];
    assert_int_equal(read_five(&script, bytes, NULL), STATUS_NOT_FOUND);
    assert_int_equal(read_five(&script, bytes, NULL), STATUS_CONDITION);
    assert_int_equal(read_five(&script, bytes, NULL), STATUS_CONDITION); /* could not be told: it is no longer that */
    assert_int_equal(script.done, 6);
    assert_null(strstr(script.records[1].headers, "If-Match"));
    script_done(&script);
}

static void reads_end_with_their_own_reason(void **state)
{
    (void)state;
    SCRIPT(script, SCRIPT_WITH_KEY, true, {.failure = STATUS_TIMEOUT, .sent = true, .takes_ms = 60000});
    char bytes[5];
    assert_int_equal(read_five(&script, bytes, NULL), STATUS_TIMEOUT); /* reads are never UNKNOWN */
    script_done(&script);
    static const struct step broken[] = {BARE(500)};
    script_open(&script, broken, 1, SCRIPT_WITH_KEY, true);
    assert_int_equal(read_five(&script, bytes, NULL), STATUS_IO);
    assert_true(script.done > 3);
    script_done(&script);
}

static void the_control_blob(void **state)
{
    (void)state;
    SCRIPT(script, SCRIPT_WITH_KEY, true,
           {.status = 200,
            .headers = "ETag: \"0x1\"\nContent-Length: 5\nContent-MD5: XUFAKrxLKna5cZ2REBfFkg==\n",
            .body = "hello"},
           {.status = 200, .headers = "ETag: \"0x1\"\nContent-MD5: AAAAAAAAAAAAAAAAAAAAAA==\n", .body = "hello"},
           {.status = 200, .headers = "Content-Length: 5\n", .body = "hello"}, ANSWER(404, "BlobNotFound"),
           ANSWER(404, "ContainerNotFound"));
    const struct blob_ops *ops = script.store->ops;
    char text[6], etag[LIMIT_ETAG_BYTES];
    static const enum status expected[] = {STATUS_OK, STATUS_CORRUPT, STATUS_CORRUPT, STATUS_NOT_FOUND, STATUS_IO};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_int_equal(ops->control_read(script.store, NULL, "v", text, sizeof text, etag, NULL), expected[i]);
        if (i == 0)
            assert_string_equal(text, "hello");
    }
    script_done(&script);
}

static void tags(void **state)
{
    (void)state;
    SCRIPT(script, SCRIPT_WITH_KEY, true,
           {.status = 200, .body = "<Tags><TagSet><Tag><Key>state</Key><Value>committed</Value></Tag></TagSet></Tags>"},
           {.status = 200, .body = "<Tags><TagSet/></Tags>"}, {.status = 200, .body = "<Tags>"},
           ANSWER(404, "BlobNotFound"));
    const struct blob_ops *ops = script.store->ops;
    enum blob_tag tag;
    assert_int_equal(ops->tag_get(script.store, NULL, "d/ab", &tag, NULL), STATUS_OK);
    assert_int_equal(tag, TAG_COMMITTED);
    assert_int_equal(ops->tag_get(script.store, NULL, "d/ab", &tag, NULL), STATUS_OK);
    assert_int_equal(tag, TAG_UNKNOWN);
    assert_int_equal(ops->tag_get(script.store, NULL, "d/ab", &tag, NULL), STATUS_CORRUPT);
    assert_int_equal(ops->tag_get(script.store, NULL, "d/ab", &tag, NULL), STATUS_NOT_FOUND);
    script_done(&script);
}

#define PAGE(blobs, marker)                                                                                            \
    "<EnumerationResults><Blobs>" blobs "</Blobs><NextMarker>" marker "</NextMarker></EnumerationResults>"
#define BLOB(name, rest) "<Blob><Name>" name "</Name>" rest "</Blob>"
#define OURS             "<Metadata><token>ab12</token></Metadata>"

static bool note(void *context, const struct blob_listing *item)
{
    char *seen = context;
    size_t used = strlen(seen);
    (void)snprintf(seen + used, 256 - used, "%s%s;", item->name, item->uncommitted ? "!" : "");
    return strcmp(item->name, "d/stop") != 0;
}

static enum status list(struct script *script, char seen[256], struct err *err)
{
    seen[0] = '\0';
    return script->store->ops->list(script->store, NULL, "d/", note, seen, err);
}

static void listings(void **state)
{
    (void)state;
    SCRIPT(script, SCRIPT_WITH_KEY, true, {.status = 200, .body = PAGE(BLOB("d/a", OURS), "m 1")},
           {.status = 200, .body = PAGE("", "m2")}, BARE(503),
           {.status = 200, .body = PAGE(BLOB("d/b", "") BLOB("d/c", ""), "")}, ANSWER(404, "BlobNotFound"),
           {.status = 200, .headers = PROPERTIES});
    char seen[256];
    assert_int_equal(list(&script, seen, NULL), STATUS_OK);
    /* Only what looks like nothing is asked about: one is staged blocks alone, the other a foreign empty blob. */
    assert_string_equal(seen, "d/a;d/b!;d/c;");
    assert_int_equal(script.done, 6);
    assert_non_null(strstr(script.records[0].url, "include=metadata%2Ctags%2Cuncommittedblobs"));
    assert_null(strstr(script.records[0].url, "marker="));
    assert_non_null(strstr(script.records[1].url, "marker=m%201"));
    assert_non_null(strstr(script.records[2].url, "marker=m2"));
    script_done(&script);
}

static void listings_that_end_or_go_wrong(void **state)
{
    (void)state;
    SCRIPT(script, SCRIPT_WITH_KEY, false, {.status = 200, .body = PAGE(BLOB("d/stop", OURS) BLOB("d/x", OURS), "m")});
    char seen[256];
    assert_int_equal(list(&script, seen, NULL), STATUS_OK);
    assert_string_equal(seen, "d/stop;");
    assert_int_equal(script.done, 1);
    assert_null(strstr(script.records[0].url, "tags"));
    script_done(&script);
    static const struct step standing[] = {{.status = 200, .body = PAGE("", "m")}};
    script_open(&script, standing, 1, SCRIPT_WITH_KEY, true);
    assert_int_equal(list(&script, seen, NULL), STATUS_CORRUPT); /* it would never end */
    assert_int_equal(script.done, 2);
    script_done(&script);
    static const struct step foreign[] = {{.status = 200, .body = PAGE(BLOB("e/a", OURS), "")}};
    script_open(&script, foreign, 1, SCRIPT_WITH_KEY, true);
    assert_int_equal(list(&script, seen, NULL), STATUS_CORRUPT);
    script_done(&script);
    static const struct step unsure[] = {{.status = 200, .body = PAGE(BLOB("d/a", ""), "")}, BARE(404)};
    script_open(&script, unsure, 2, SCRIPT_WITH_KEY, true);
    assert_int_equal(list(&script, seen, NULL), STATUS_IO); /* no guess about an entry */
    script_done(&script);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_look),
        cmocka_unit_test(absent_only_when_the_service_says_so),
        cmocka_unit_test(a_read),
        cmocka_unit_test(wrong_answers_to_a_read),
        cmocka_unit_test(a_pinned_read_of_what_is_gone_or_changed),
        cmocka_unit_test(reads_end_with_their_own_reason),
        cmocka_unit_test(the_control_blob),
        cmocka_unit_test(tags),
        cmocka_unit_test(listings),
        cmocka_unit_test(listings_that_end_or_go_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
