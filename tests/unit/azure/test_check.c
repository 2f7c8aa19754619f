/* test_check.c - goal: each thing that can be wrong at the start is one line that says what, and a hint that says how
 * to mend it (S27); what is right passes. Method: a scripted service, one fault at a time. */
#include "scripted.h"

#include "blob/azure/check.h"

#define LIST_OK                                                                                                        \
    {                                                                                                                  \
        .status = 200, .headers = SCRIPT_DATE, .body = "<EnumerationResults><Blobs/></EnumerationResults>"             \
    }
#define FLAT                                                                                                           \
    {                                                                                                                  \
        .status = 200, .headers = "x-ms-is-hns-enabled: false\n"                                                       \
    }
#define CREATED                                                                                                        \
    {                                                                                                                  \
        .status = 201, .headers = "ETag: \"0x1\"\n"                                                                    \
    }
#define TAGGED_PENDING                                                                                                 \
    {                                                                                                                  \
        .status = 200, .body = "<Tags><TagSet><Tag><Key>state</Key><Value>pending</Value></Tag></TagSet></Tags>"       \
    }
#define ANSWER(http_status, code)                                                                                      \
    {                                                                                                                  \
        .status = http_status, .headers = SCRIPT_DATE "x-ms-error-code: " code "\n"                                    \
    }
#define BARE(http_status)                                                                                              \
    {                                                                                                                  \
        .status = http_status                                                                                          \
    }
#define HELD                                                                                                           \
    ANSWER(412, "ConditionNotMet"),                                                                                    \
    {                                                                                                                  \
        .status = 200, .headers = "ETag: \"0x1\"\nContent-Length: 1\n"                                                 \
    }

static const struct azure_check plain = {.prefix = "team/"};
static const struct azure_check creating = {.prefix = "", .create_container = true};
static const struct azure_check looking = {.prefix = "", .read_only = true};

/* The check must end so, with a message and a hint that hold these words. */
static void assert_check(struct script *script, const struct azure_check *check, enum status expected,
                         const char *message, const char *hint)
{
    struct err err = {0};
    enum status status = azure_check(script->store, check, &err);
    if (status != expected)
        fail_msg("%s: %s", status_name(status), err.message);
    if (status == STATUS_OK)
        return;
    assert_int_equal(err.status, status);
    if (!strstr(err.message, message) || !strstr(err.hint, hint))
        fail_msg("'%s', '%s'", err.message, err.hint);
    assert_null(strchr(err.message, '\n'));
    assert_null(strstr(err.message, "c2Vj"));
}

static void all_is_well(void **state)
{
    (void)state;
    SCRIPT(script, SCRIPT_WITH_KEY, true, LIST_OK, FLAT, CREATED, TAGGED_PENDING, BARE(204), HELD, BARE(202));
    assert_check(&script, &plain, STATUS_OK, "", "");
    assert_int_equal(script.done, 8);
    assert_non_null(strstr(script.records[2].url, "/con/team/.readyfs/probe-ffff"));
    assert_true(script_sent(&script, 2, "If-None-Match: *"));
    assert_true(script_sent(&script, 7, "If-Match: \"0x1\"")); /* the probe is removed, and nothing else */
    script_done(&script);
}

static void without_tags(void **state)
{
    (void)state;
    SCRIPT(script, SCRIPT_WITH_KEY, false, LIST_OK, CREATED, BARE(202));
    assert_check(&script, &plain, STATUS_OK, "", "");
    assert_int_equal(script.done, 3);
    script_done(&script);
}

static void looking_only(void **state)
{
    (void)state;
    SCRIPT(script, SCRIPT_WITH_SAS, false, LIST_OK);
    assert_check(&script, &looking, STATUS_OK, "", "");
    assert_int_equal(script.done, 1);
    script_done(&script);
}

static void a_silent_store(void **state)
{
    (void)state;
    SCRIPT(script, SCRIPT_WITH_KEY, true, {.failure = STATUS_UNREACHABLE});
    assert_check(&script, &plain, STATUS_UNREACHABLE, "https://acct.blob.core.windows.net", "address");
    assert_true(script.boot_ms <= 10000); /* a person waits */
    script_done(&script);
}

static void a_distrusted_store(void **state)
{
    (void)state;
    SCRIPT(script, SCRIPT_WITH_KEY, true, {.failure = STATUS_ACCESS});
    assert_check(&script, &plain, STATUS_ACCESS, "https://acct.blob.core.windows.net", "");
    assert_int_equal(script.done, 1);
    script_done(&script);
}

static void a_wrong_key(void **state)
{
    (void)state;
    SCRIPT(script, SCRIPT_WITH_KEY, true, ANSWER(403, "AuthenticationFailed"));
    assert_check(&script, &plain, STATUS_AUTHENTICATION, "403 AuthenticationFailed", "key");
    script_done(&script);
}

static void an_expired_signature(void **state)
{
    (void)state;
    SCRIPT(script, SCRIPT_WITH_SAS, true, ANSWER(403, "AuthenticationFailed"));
    assert_check(&script, &plain, STATUS_AUTHENTICATION, "403", "ended at 1994-11-05");
    script_done(&script);
}

static void a_wrong_clock(void **state)
{
    (void)state;
    SCRIPT(script, SCRIPT_WITH_KEY, true,
           {.status = 403, .headers = "x-ms-error-code: AuthenticationFailed\nDate: Sun, 06 Nov 1994 10:49:37 GMT\n"});
    assert_check(&script, &plain, STATUS_CLOCK_SKEW, "1994-11-06T10:49:37Z", "set the clock");
    script_done(&script);
    /* Also where the service lets us in all the same. */
    static const struct step lax[] = {{.status = 200, .headers = "Date: Sun, 06 Nov 1994 08:30:00 GMT\n"}};
    script_open(&script, lax, 1, SCRIPT_WITH_KEY, true);
    assert_check(&script, &plain, STATUS_CLOCK_SKEW, "1994-11-06T08:30:00Z", "set the clock");
    script_done(&script);
}

static void a_missing_container(void **state)
{
    (void)state;
    SCRIPT(script, SCRIPT_WITH_KEY, false, ANSWER(404, "ContainerNotFound"), CREATED, CREATED, BARE(202));
    assert_check(&script, &plain, STATUS_NOT_FOUND, "container 'con' does not exist", "--create-container");
    assert_int_equal(script.done, 1);
    script_done(&script);
    script_open(&script, steps_, 4, SCRIPT_WITH_KEY, false);
    assert_check(&script, &creating, STATUS_OK, "", "");
    assert_non_null(strstr(script.records[1].url, "/con?restype=container"));
    assert_string_equal(script.records[1].method, "PUT");
    script_done(&script);
    static const struct step raced[] = {ANSWER(404, "ContainerNotFound"), ANSWER(409, "ContainerAlreadyExists"),
                                        CREATED, BARE(202)};
    script_open(&script, raced, 4, SCRIPT_WITH_KEY, false);
    assert_check(&script, &creating, STATUS_OK, "", "");
    script_done(&script);
    static const struct step forbidden[] = {ANSWER(404, "ContainerNotFound"),
                                            ANSWER(403, "AuthorizationPermissionMismatch")};
    script_open(&script, forbidden, 2, SCRIPT_WITH_SAS, false);
    assert_check(&script, &creating, STATUS_ACCESS, "create container 'con'", "allows 'rl'");
    script_done(&script);
}

static void a_hierarchical_namespace(void **state)
{
    (void)state;
    SCRIPT(script, SCRIPT_WITH_KEY, true, LIST_OK, {.status = 200, .headers = "x-ms-is-hns-enabled: true\n"});
    assert_check(&script, &plain, STATUS_UNSUPPORTED, "hierarchical namespace", "tags = off");
    assert_int_equal(script.done, 2);
    script_done(&script);
}

static void refused_tags(void **state)
{
    (void)state;
    /* The put with a tag is refused, the one without is not: it is the tag. */
    SCRIPT(script, SCRIPT_WITH_SAS, true, LIST_OK, BARE(403), ANSWER(403, "AuthorizationPermissionMismatch"), CREATED,
           BARE(202));
    assert_check(&script, &plain, STATUS_ACCESS, "blob tags are refused", "tags = off");
    assert_int_equal(script.done, 5);
    assert_null(strstr(script.records[3].headers, "x-ms-tags"));
    assert_string_equal(script.records[4].method, "DELETE");
    script_done(&script);
    /* Neither is allowed: it is writing. */
    static const struct step narrow[] = {LIST_OK, BARE(403), ANSWER(403, "AuthorizationPermissionMismatch")};
    script_open(&script, narrow, 3, SCRIPT_WITH_SAS, true);
    assert_check(&script, &plain, STATUS_ACCESS, "put", "allows 'rl'");
    script_done(&script);
    /* The put passes, setting tags does not. */
    static const struct step setting[] = {
        LIST_OK, FLAT, CREATED, TAGGED_PENDING, ANSWER(403, "AuthorizationPermissionMismatch"), BARE(202)};
    script_open(&script, setting, 6, SCRIPT_WITH_SAS, true);
    assert_check(&script, &plain, STATUS_ACCESS, "blob tags cannot be used", "tags = off");
    assert_int_equal(script.done, 6); /* the probe is removed */
    script_done(&script);
    /* A service that ignores the condition on a tag has no second net. */
    static const struct step ignoring[] = {
        LIST_OK, FLAT, CREATED, TAGGED_PENDING, BARE(204), BARE(202), ANSWER(404, "BlobNotFound")};
    script_open(&script, ignoring, 7, SCRIPT_WITH_KEY, true);
    assert_check(&script, &plain, STATUS_UNSUPPORTED, "in spite of a condition", "tags = off");
    script_done(&script);
}

static void no_right_to_delete(void **state)
{
    (void)state;
    SCRIPT(script, SCRIPT_WITH_SAS, false, LIST_OK, CREATED, ANSWER(403, "AuthorizationPermissionMismatch"));
    assert_check(&script, &plain, STATUS_ACCESS, "remove", "allows 'rl'");
    script_done(&script);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_is_well),          cmocka_unit_test(without_tags),
        cmocka_unit_test(looking_only),         cmocka_unit_test(a_silent_store),
        cmocka_unit_test(a_distrusted_store),   cmocka_unit_test(a_wrong_key),
        cmocka_unit_test(an_expired_signature), cmocka_unit_test(a_wrong_clock),
        cmocka_unit_test(a_missing_container),  cmocka_unit_test(a_hierarchical_namespace),
        cmocka_unit_test(refused_tags),         cmocka_unit_test(no_right_to_delete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
