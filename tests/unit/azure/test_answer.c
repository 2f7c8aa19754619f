/* test_answer.c - goal: each answer of the service has one meaning, and none claims more than it proves (P9, S22, S23).
 * Method: a table of answers; then what the reports say, and what they must not. */
#include "unit.h"

#include "blob/azure/answer.h"

#include <stdio.h>
#include <string.h>

#define NOW 784111777 /* Sun, 06 Nov 1994 08:49:37 GMT */

static struct credential key = {.kind = CREDENTIAL_KEY, .account = "acct"};

static struct answer judge(bool create, int status, const char *code, const char *body, struct err *err)
{
    struct answer_question question = {
        .expected = 201, .create = create, .credential = &key, .container = "con", .now_utc_s = NOW};
    struct wire_response response = {.status = status};
    (void)snprintf(response.error_code, sizeof response.error_code, "%s", code);
    (void)snprintf(response.request_id, sizeof response.request_id, "req-1");
    return answer_judge(&question, &response, body, strlen(body), err);
}

#define CREATE  true
#define OTHER   false
#define AGAIN   true
#define FINAL   false
#define UNCLEAR true
#define CLEAR   false

static const struct {
    bool create;
    int http_status;
    const char *code;
    enum status status;
    bool again, unclear;
} rows[] = {
    {CREATE, 201, "", STATUS_OK, FINAL, CLEAR},
    /* A blob is there, says the service itself. */
    {CREATE, 409, "BlobAlreadyExists", STATUS_EXISTS, FINAL, CLEAR},
    {CREATE, 412, "ConditionNotMet", STATUS_EXISTS, FINAL, CLEAR},
    {CREATE, 403, "UnauthorizedBlobOverwrite", STATUS_EXISTS, FINAL, CLEAR},
    {OTHER, 412, "ConditionNotMet", STATUS_CONDITION, FINAL, CLEAR},
    {OTHER, 412, "SourceConditionNotMet", STATUS_CONDITION, FINAL, CLEAR},
    /* Absent, says the service itself; somebody else's 404 proves nothing. */
    {OTHER, 404, "BlobNotFound", STATUS_NOT_FOUND, FINAL, CLEAR},
    {OTHER, 404, "ContainerNotFound", STATUS_NOT_FOUND, FINAL, CLEAR},
    {OTHER, 404, "", STATUS_IO, FINAL, CLEAR},
    {OTHER, 404, "SomethingNew", STATUS_IO, FINAL, CLEAR},
    /* Not done, come again. */
    {CREATE, 503, "ServerBusy", STATUS_THROTTLED, AGAIN, CLEAR},
    {CREATE, 429, "", STATUS_THROTTLED, AGAIN, CLEAR},
    /* Perhaps done. */
    {CREATE, 500, "InternalError", STATUS_IO, AGAIN, UNCLEAR},
    {CREATE, 500, "OperationTimedOut", STATUS_TIMEOUT, AGAIN, UNCLEAR},
    {CREATE, 500, "", STATUS_IO, AGAIN, UNCLEAR},
    {CREATE, 502, "", STATUS_IO, AGAIN, UNCLEAR},
    {CREATE, 503, "", STATUS_THROTTLED, AGAIN, UNCLEAR},
    {CREATE, 504, "", STATUS_TIMEOUT, AGAIN, UNCLEAR},
    {CREATE, 408, "", STATUS_TIMEOUT, AGAIN, UNCLEAR},
    {CREATE, 400, "", STATUS_IO, FINAL, UNCLEAR},
    {CREATE, 409, "", STATUS_IO, FINAL, UNCLEAR},
    {CREATE, 412, "", STATUS_IO, FINAL, UNCLEAR},
    {CREATE, 200, "", STATUS_CORRUPT, FINAL, UNCLEAR},
    {CREATE, 599, "", STATUS_IO, FINAL, UNCLEAR},
    /* Refused for good. */
    {CREATE, 400, "InvalidHeaderValue", STATUS_IO, FINAL, CLEAR},
    {CREATE, 400, "Md5Mismatch", STATUS_CORRUPT, FINAL, CLEAR},
    {CREATE, 400, "InvalidBlockList", STATUS_INVALID, FINAL, CLEAR},
    {CREATE, 301, "", STATUS_IO, FINAL, CLEAR},
    {CREATE, 401, "NoAuthenticationInformation", STATUS_AUTHENTICATION, FINAL, CLEAR},
    {CREATE, 401, "", STATUS_AUTHENTICATION, FINAL, CLEAR},
    {CREATE, 403, "AuthenticationFailed", STATUS_AUTHENTICATION, FINAL, CLEAR},
    {CREATE, 403, "AuthorizationPermissionMismatch", STATUS_ACCESS, FINAL, CLEAR},
    {CREATE, 403, "", STATUS_ACCESS, FINAL, CLEAR},
    {CREATE, 409, "MemoryExtentStoreAtSizeLimit", STATUS_NO_SPACE, FINAL, CLEAR},
    {CREATE, 507, "", STATUS_NO_SPACE, FINAL, CLEAR},
    {CREATE, 409, "AccountQuotaExceeded", STATUS_QUOTA, FINAL, CLEAR},
    {CREATE, 413, "RequestBodyTooLarge", STATUS_TOO_LARGE, FINAL, CLEAR},
    {OTHER, 501, "APINotImplemented", STATUS_UNSUPPORTED, FINAL, CLEAR},
    {OTHER, 409, "SnapshotsPresent", STATUS_LEASED, FINAL, CLEAR},
    {OTHER, 412, "LeaseIdMissing", STATUS_LEASED, FINAL, CLEAR},
    {CREATE, 412, "LeaseIdMissing", STATUS_LEASED, FINAL, CLEAR},
    {OTHER, 416, "InvalidRange", STATUS_CORRUPT, FINAL, CLEAR},
    {OTHER, 409, "ContainerBeingDeleted", STATUS_BUSY, FINAL, CLEAR},
};

static void every_answer_has_one_meaning(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct err err = {0};
        struct answer answer = judge(rows[i].create, rows[i].http_status, rows[i].code, "", &err);
        if (answer.status != rows[i].status || answer.again != rows[i].again || answer.unclear != rows[i].unclear)
            fail_msg("%d '%s': %s again=%d unclear=%d", rows[i].http_status, rows[i].code, status_name(answer.status),
                     answer.again, answer.unclear);
        if (answer.status == STATUS_OK)
            continue;
        assert_int_equal(err.status, answer.status);
        assert_int_equal(err.http_status, rows[i].http_status);
        assert_string_equal(err.service_code, rows[i].code);
        assert_string_equal(err.request_id, "req-1");
        assert_true(*err.message);
    }
}

static void the_body_tells_where_the_header_does_not(void **state)
{
    (void)state;
    struct err err = {0};
    struct answer answer = judge(CREATE, 409, "",
                                 "<Error><Code>BlobAlreadyExists</Code><Message>It is there.\nRequestId:x</Message>"
                                 "</Error>",
                                 &err);
    assert_int_equal(answer.status, STATUS_EXISTS);
    assert_false(answer.unclear);
    assert_string_equal(err.service_code, "BlobAlreadyExists");
    assert_string_equal(err.message, "409 BlobAlreadyExists: It is there.");
}

/* What the service says about credentials may quote a signature. */
static void nothing_is_quoted_about_credentials(void **state)
{
    (void)state;
    struct err err = {0};
    (void)judge(CREATE, 403, "AuthenticationFailed",
                "<Error><Code>AuthenticationFailed</Code><Message>The MAC signature c2Vj is wrong</Message></Error>",
                &err);
    assert_null(strstr(err.message, "c2Vj"));
    assert_non_null(strstr(err.hint, "acct"));
}

static void a_wrong_clock_is_told_with_both_times(void **state)
{
    (void)state;
    struct answer_question question = {.expected = 201, .credential = &key, .container = "con", .now_utc_s = NOW};
    struct wire_response response = {.status = 403, .has_date = true, .error_code = "AuthenticationFailed"};
    struct err err = {0};
    response.date_utc_s = NOW + 901;
    assert_int_equal(answer_judge(&question, &response, "", 0, &err).status, STATUS_CLOCK_SKEW);
    assert_non_null(strstr(err.message, "1994-11-06T08:49:37Z"));
    assert_non_null(strstr(err.message, "1994-11-06T09:04:38Z"));
    assert_int_equal(err.http_status, 403);
    response.date_utc_s = NOW - 901;
    assert_int_equal(answer_judge(&question, &response, "", 0, &err).status, STATUS_CLOCK_SKEW);
    response.date_utc_s = NOW + 900;
    assert_int_equal(answer_judge(&question, &response, "", 0, &err).status, STATUS_AUTHENTICATION);
    struct credential sas = {.kind = CREDENTIAL_SAS, .sas = "se=1994-11-05&sig=c2Vj"}; /* our clock plays no part */
    question.credential = &sas;
    response.date_utc_s = NOW + 901;
    assert_int_equal(answer_judge(&question, &response, "", 0, &err).status, STATUS_AUTHENTICATION);
    assert_non_null(strstr(err.hint, "ended at 1994-11-05T00:00:00Z"));
}

static void hints_name_the_way_out(void **state)
{
    (void)state;
    struct err err = {0};
    (void)judge(CREATE, 404, "ContainerNotFound", "", &err);
    assert_non_null(strstr(err.hint, "--create-container"));
    (void)judge(CREATE, 409, "FeatureNotYetSupportedForHierarchicalNamespaceAccounts", "", &err);
    assert_non_null(strstr(err.hint, "tags = off"));
    (void)judge(CREATE, 403, "KeyBasedAuthenticationNotPermitted", "", &err);
    assert_non_null(strstr(err.hint, "shared access signature"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_answer_has_one_meaning),
        cmocka_unit_test(the_body_tells_where_the_header_does_not),
        cmocka_unit_test(nothing_is_quoted_about_credentials),
        cmocka_unit_test(a_wrong_clock_is_told_with_both_times),
        cmocka_unit_test(hints_name_the_way_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
