/* test_store.c - goal: creates, deletes and tags end in the right one of the three outcomes, whatever the service does,
 * and are repeated exactly where that does no harm (P3, P7, P9, S23). Method: a scripted service and a clock that moves
 * only when the store waits. What it sent is looked at. */
#include "scripted.h"

#include "base/digest.h"

#define CREATED                                                                                                        \
    {                                                                                                                  \
        .status = 201, .headers = "ETag: \"0x1\"\nContent-MD5: XUFAKrxLKna5cZ2REBfFkg==\n"                             \
    }
#define LOST                                                                                                           \
    {                                                                                                                  \
        .failure = STATUS_UNREACHABLE, .sent = true                                                                    \
    }
#define NOT_SENT                                                                                                       \
    {                                                                                                                  \
        .failure = STATUS_UNREACHABLE                                                                                  \
    }
#define ANSWER(http_status, code)                                                                                      \
    {                                                                                                                  \
        .status = http_status, .headers = SCRIPT_DATE "x-ms-error-code: " code "\n"                                    \
    }
#define BARE(http_status)                                                                                              \
    {                                                                                                                  \
        .status = http_status                                                                                          \
    }

static const struct blob_about about = {
    .catalogue = "c1", .document = 7, .version = 9, .token = "ab12", .name_hex = "61", .pending = true};
static const struct blob_block block = {.id = "AAAA", .offset = 0, .len = 5};

static enum status put(struct script *script, const struct call *call, struct blob_facts *ret_facts, struct err *err)
{
    return script->store->ops->put(script->store, call, "d/ab", "hello", 5, crc64(0, "hello", 5), &about, ret_facts,
                                   err);
}

static enum status stage(struct script *script, struct err *err)
{
    return script->store->ops->stage(script->store, NULL, "d/ab", &block, "hello", crc64(0, "hello", 5), err);
}

static void a_put(void **state)
{
    (void)state;
    SCRIPT(script, SCRIPT_WITH_KEY, true, CREATED);
    struct blob_facts facts;
    assert_int_equal(put(&script, NULL, &facts, NULL), STATUS_OK);
    assert_int_equal(script.done, 1);
    assert_string_equal(script.records[0].method, "PUT");
    assert_string_equal(script.records[0].url, "https://acct.blob.core.windows.net/con/d/ab");
    assert_true(script_sent(&script, 0, "If-None-Match: *"));
    assert_true(script_sent(&script, 0, "x-ms-tags: state=pending"));
    assert_true(script_sent(&script, 0, "x-ms-meta-token: ab12"));
    assert_true(script_sent(&script, 0, "Content-MD5: XUFAKrxLKna5cZ2REBfFkg=="));
    assert_non_null(strstr(script.records[0].headers, "Authorization: SharedKey acct:"));
    assert_false(script.records[0].repeatable);
    assert_string_equal(facts.etag, "\"0x1\"");
    assert_string_equal(facts.token, "ab12");
    assert_int_equal(facts.size_bytes, 5);
    assert_true(facts.has_md5);
    script_done(&script);
}

static void without_tags_none_are_sent(void **state)
{
    (void)state;
    SCRIPT(script, SCRIPT_WITH_SAS, false, CREATED);
    struct blob_facts facts;
    assert_int_equal(put(&script, NULL, &facts, NULL), STATUS_OK);
    assert_null(strstr(script.records[0].headers, "x-ms-tags"));
    assert_null(strstr(script.records[0].headers, "Authorization"));
    assert_non_null(strstr(script.records[0].url, "/con/d/ab?" SCRIPT_SAS));
    assert_int_equal(script.store->ops->remove(script.store, NULL, "d/ab", GUARD_TAG_PENDING, NULL, NULL),
                     STATUS_INVALID);
    assert_int_equal(script.store->ops->tag_committed(script.store, NULL, "d/ab", 1, NULL), STATUS_UNSUPPORTED);
    assert_int_equal(script.done, 1);
    script_done(&script);
}

/* S23: not done, so it is done again, not before the service wants it. */
static void throttled_puts_wait_and_succeed(void **state)
{
    (void)state;
    SCRIPT(script, SCRIPT_WITH_KEY, true, {.status = 503, .headers = "x-ms-error-code: ServerBusy\nRetry-After: 11\n"},
           {.status = 429, .headers = "x-ms-retry-after-ms: 700\n"}, NOT_SENT, CREATED);
    struct blob_facts facts;
    assert_int_equal(put(&script, NULL, &facts, NULL), STATUS_OK);
    assert_int_equal(script.done, 4);
    assert_in_range(script.waited_ms, 11700, 30000);
    assert_string_not_equal(script.records[0].headers, script.records[3].headers); /* signed anew */
    script_done(&script);
}

static void a_busy_service_meets_the_deadline(void **state)
{
    (void)state;
    SCRIPT(script, SCRIPT_WITH_KEY, true, ANSWER(503, "ServerBusy"));
    struct blob_facts facts;
    struct err err = {0};
    assert_int_equal(put(&script, NULL, &facts, &err), STATUS_THROTTLED);
    assert_true(script.boot_ms <= 60000 && script.done > 3);
    assert_non_null(strstr(err.message, "d/ab"));
    assert_non_null(strstr(err.message, "attempts"));
    assert_string_equal(err.service_code, "ServerBusy");
    script_done(&script);
}

static void a_wait_beyond_the_deadline_is_not_begun(void **state)
{
    (void)state;
    SCRIPT(script, SCRIPT_WITH_KEY, true, {.status = 503, .headers = "x-ms-error-code: ServerBusy\nRetry-After: 61\n"});
    struct blob_facts facts;
    assert_int_equal(put(&script, NULL, &facts, NULL), STATUS_THROTTLED);
    assert_int_equal(script.done, 1);
    assert_int_equal(script.waited_ms, 0);
    script_done(&script);
}

/* S23: time in which bytes moved does not count. */
static void moving_is_not_waiting(void **state)
{
    (void)state;
    SCRIPT(script, SCRIPT_WITH_KEY, true,
           {.status = 503, .headers = "x-ms-error-code: ServerBusy\n", .takes_ms = 300000, .moving_ms = 299000},
           CREATED);
    struct blob_facts facts;
    assert_int_equal(put(&script, NULL, &facts, NULL), STATUS_OK);
    assert_int_equal(script.done, 2);
    script_done(&script);
}

static void silence_is_waiting(void **state)
{
    (void)state;
    SCRIPT(script, SCRIPT_WITH_KEY, true, {.failure = STATUS_TIMEOUT, .takes_ms = 60000}, CREATED);
    struct blob_facts facts;
    assert_int_equal(put(&script, NULL, &facts, NULL), STATUS_TIMEOUT);
    assert_int_equal(script.done, 1);
    script_done(&script);
}

/* P9: unknown is never folded into failure, and never repeated. */
static void unclear_puts_are_unknown_and_not_repeated(void **state)
{
    (void)state;
    static const struct step steps[] = {
        LOST,
        {.failure = STATUS_TIMEOUT, .sent = true},
        {.failure = STATUS_INTERRUPTED, .sent = true},
        {.failure = STATUS_CORRUPT, .sent = true},
        ANSWER(500, "OperationTimedOut"),
        ANSWER(500, "InternalError"),
        BARE(500),
        BARE(502),
        BARE(503),
        BARE(504),
        BARE(408),
        BARE(400),
        BARE(200),
        BARE(201), /* without an ETag */
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct script script;
        struct blob_facts facts = {.size_bytes = 42};
        struct err err = {0};
        script_open(&script, &steps[i], 1, SCRIPT_WITH_KEY, true);
        assert_int_equal(put(&script, NULL, &facts, &err), STATUS_UNKNOWN);
        assert_int_equal(err.status, STATUS_UNKNOWN);
        assert_true(*err.message);
        assert_int_equal(script.done, 1);
        assert_int_equal(facts.size_bytes, 42);
        script_done(&script);
    }
}

/* P9 holds for whatever creates or deletes. */
static void commits_and_deletes_alike(void **state)
{
    (void)state;
    SCRIPT(script, SCRIPT_WITH_KEY, true, LOST);
    struct blob_facts facts;
    assert_int_equal(script.store->ops->commit(script.store, NULL, "d/ab", &block, 1, &about, &facts, NULL),
                     STATUS_UNKNOWN);
    assert_int_equal(script.store->ops->remove(script.store, NULL, "d/ab", GUARD_NONE, NULL, NULL), STATUS_UNKNOWN);
    char etag[LIMIT_ETAG_BYTES];
    assert_int_equal(script.store->ops->control_write(script.store, NULL, "v", "text", NULL, etag, NULL),
                     STATUS_UNKNOWN);
    assert_int_equal(script.done, 3);
    script_done(&script);
}

static void what_was_not_sent_is_refused(void **state)
{
    (void)state;
    SCRIPT(script, SCRIPT_WITH_KEY, true, NOT_SENT);
    struct blob_facts facts;
    assert_int_equal(put(&script, NULL, &facts, NULL), STATUS_UNREACHABLE);
    assert_true(script.done > 3);
    script_done(&script);
    static const struct step distrusted[] = {{.failure = STATUS_ACCESS}};
    script_open(&script, distrusted, 1, SCRIPT_WITH_KEY, true);
    assert_int_equal(put(&script, NULL, &facts, NULL), STATUS_ACCESS);
    assert_int_equal(script.done, 1); /* asking again will not make a certificate good */
    script_done(&script);
}

static void digests_that_do_not_match(void **state)
{
    (void)state;
    SCRIPT(script, SCRIPT_WITH_KEY, true,
           {.status = 201, .headers = "ETag: \"0x1\"\nContent-MD5: AAAAAAAAAAAAAAAAAAAAAA==\n"});
    struct blob_facts facts;
    assert_int_equal(put(&script, NULL, &facts, NULL), STATUS_CORRUPT);
    assert_int_equal(stage(&script, NULL), STATUS_CORRUPT);
    assert_int_equal(script.done, 2);
    assert_int_equal(script.store->ops->put(script.store, NULL, "d/ab", "hello", 5, 1, &about, &facts, NULL),
                     STATUS_CORRUPT); /* not the bytes that were digested: nothing is sent */
    assert_int_equal(script.done, 2);
    script_done(&script);
}

static void staging_is_repeated(void **state)
{
    (void)state;
    SCRIPT(script, SCRIPT_WITH_KEY, true, LOST, BARE(500), ANSWER(503, "ServerBusy"), CREATED);
    assert_int_equal(stage(&script, NULL), STATUS_OK);
    assert_int_equal(script.done, 4);
    assert_true(script.records[0].repeatable);
    assert_string_equal(script.records[0].url, "https://acct.blob.core.windows.net/con/d/ab?comp=block&blockid=AAAA");
    script_done(&script);
}

static void staging_that_may_still_arrive_is_unknown(void **state)
{
    (void)state;
    SCRIPT(script, SCRIPT_WITH_KEY, true, LOST, ANSWER(403, "AuthenticationFailed"));
    struct err err = {0};
    assert_int_equal(stage(&script, &err), STATUS_UNKNOWN);
    assert_string_equal(err.service_code, "AuthenticationFailed");
    script_done(&script);
    static const struct step refused[] = {ANSWER(403, "AuthenticationFailed")};
    script_open(&script, refused, 1, SCRIPT_WITH_KEY, true);
    assert_int_equal(stage(&script, &err), STATUS_AUTHENTICATION);
    script_done(&script);
}

static void copies_on_the_server(void **state)
{
    (void)state;
    SCRIPT(script, SCRIPT_WITH_KEY, true, {.status = 201, .headers = "x-ms-content-crc64: V0JSBnCFdzM=\n"}, BARE(201),
           ANSWER(403, "CannotVerifyCopySource"));
    const struct blob_ops *ops = script.store->ops;
    uint64_t crc = 0;
    struct err err = {0};
    assert_int_equal(ops->stage_from(script.store, NULL, "d/ab", &block, "d/cd", "\"0x2\"", 4096, &crc, &err),
                     STATUS_OK);
    assert_int_equal(crc, 0x3377857006524257);
    assert_true(script_sent(&script, 0, "x-ms-source-if-match: \"0x2\""));
    assert_true(script_sent(&script, 0, "x-ms-source-range: bytes=4096-4100"));
    assert_non_null(
        strstr(script.records[0].headers, "x-ms-copy-source: https://acct.blob.core.windows.net/con/d/cd?sv="));
    assert_non_null(strstr(script.records[0].headers, "&st=1994-11-06T08%3A34%3A37Z&se=1994-11-06T09%3A04%3A37Z&"));
    /* A copy of which the digest is not told cannot be verified (P4): the caller sends the bytes. */
    assert_int_equal(ops->stage_from(script.store, NULL, "d/ab", &block, "d/cd", "\"0x2\"", 4096, &crc, &err),
                     STATUS_UNSUPPORTED);
    assert_int_equal(ops->stage_from(script.store, NULL, "d/ab", &block, "d/cd", "\"0x2\"", 4096, &crc, &err),
                     STATUS_UNSUPPORTED);
    assert_null(strstr(err.message, "sig="));
    script_done(&script);
    script_open(&script, steps_, 1, SCRIPT_WITH_SAS, true);
    assert_false(script.store->ops->capabilities(script.store).stage_from);
    assert_int_equal(script.store->ops->stage_from(script.store, NULL, "d/ab", &block, "d/cd", "\"0x2\"", 4096, &crc,
                                                   &err),
                     STATUS_UNSUPPORTED);
    assert_int_equal(script.done, 0);
    script_done(&script);
}

static void a_commit(void **state)
{
    (void)state;
    SCRIPT(script, SCRIPT_WITH_KEY, true, {.status = 201, .headers = "ETag: \"0x3\"\n"});
    struct blob_block blocks[2] = {{.id = "AAAA", .len = 5}, {.id = "AQAA", .offset = 5, .len = 7}};
    struct blob_facts facts;
    assert_int_equal(script.store->ops->commit(script.store, NULL, "d/ab", blocks, 2, &about, &facts, NULL), STATUS_OK);
    assert_int_equal(facts.size_bytes, 12);
    assert_string_equal(facts.etag, "\"0x3\"");
    assert_true(script_sent(&script, 0, "If-None-Match: *"));
    assert_true(script_sent(&script, 0, "x-ms-tags: state=pending"));
    assert_non_null(strstr(script.records[0].body, "<Latest>AAAA</Latest><Latest>AQAA</Latest></BlockList>"));
    script_done(&script);
}

/* The empty blob carries the version's token, and only that very blob is taken away again. */
static void unstage_touches_only_its_own(void **state)
{
    (void)state;
    SCRIPT(script, SCRIPT_WITH_KEY, true, {.status = 201, .headers = "ETag: \"0x4\"\n"}, BARE(202));
    assert_int_equal(script.store->ops->unstage(script.store, NULL, "d/ab", &about, NULL), STATUS_OK);
    assert_int_equal(script.done, 2);
    assert_true(script_sent(&script, 0, "If-None-Match: *"));
    assert_true(script_sent(&script, 0, "x-ms-meta-token: ab12"));
    assert_non_null(strstr(script.records[0].body, "<BlockList></BlockList>"));
    assert_string_equal(script.records[1].method, "DELETE");
    assert_true(script_sent(&script, 1, "If-Match: \"0x4\""));
    script_done(&script);
    static const struct step taken[] = {ANSWER(409, "BlobAlreadyExists"), BARE(202)};
    script_open(&script, taken, 2, SCRIPT_WITH_KEY, true);
    assert_int_equal(script.store->ops->unstage(script.store, NULL, "d/ab", &about, NULL), STATUS_EXISTS);
    assert_int_equal(script.done, 1); /* nothing is deleted */
    script_done(&script);
}

static enum status remove_once(const struct step *steps, size_t count, enum blob_guard guard, size_t *ret_done)
{
    struct script script;
    struct err err = {0};
    script_open(&script, steps, count, SCRIPT_WITH_KEY, true);
    enum status status = script.store->ops->remove(script.store, NULL, "d/ab", guard, "\"0x1\"", &err);
    bool etag = script_sent(&script, 0, "If-Match: \"0x1\""),
         tag = script_sent(&script, 0, "x-ms-if-tags: \"state\"='pending'");
    assert_int_equal(etag, guard == GUARD_ETAG); /* P7: one condition a request */
    assert_int_equal(tag, guard == GUARD_TAG_PENDING);
    assert_int_equal(err.status, status);
    *ret_done = script.done;
    script_done(&script);
    return status;
}

static void deletes(void **state)
{
    (void)state;
    static const struct step gone[] = {ANSWER(412, "ConditionNotMet"), ANSWER(404, "BlobNotFound")};
    static const struct step other[] = {ANSWER(412, "ConditionNotMet"),
                                        {.status = 200, .headers = "ETag: \"0x9\"\nContent-Length: 1\n"}};
    static const struct {
        struct step step;
        enum status status;
    } rows[] = {
        {BARE(202), STATUS_OK},
        {ANSWER(404, "BlobNotFound"), STATUS_NOT_FOUND},
        {ANSWER(404, "ContainerNotFound"), STATUS_IO}, /* the blob may come back with its container */
        {BARE(404), STATUS_IO},
        {ANSWER(409, "SnapshotsPresent"), STATUS_LEASED},
        {ANSWER(412, "LeaseIdMissing"), STATUS_LEASED},
        {ANSWER(409, "BlobImmutableDueToPolicy"), STATUS_LEASED},
        {BARE(500), STATUS_UNKNOWN},
    };
    size_t done;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(remove_once(&rows[i].step, 1, (enum blob_guard)(i % 3), &done), rows[i].status);
        assert_int_equal(done, 1);
    }
    assert_int_equal(remove_once(gone, 2, GUARD_ETAG, &done), STATUS_NOT_FOUND);
    assert_int_equal(remove_once(other, 2, GUARD_ETAG, &done), STATUS_CONDITION);
    assert_int_equal(remove_once(other, 2, GUARD_TAG_PENDING, &done), STATUS_CONDITION);
    assert_int_equal(done, 2);
}

static void a_tag_is_flipped(void **state)
{
    (void)state;
    SCRIPT(script, SCRIPT_WITH_KEY, true, LOST, BARE(204));
    assert_int_equal(script.store->ops->tag_committed(script.store, NULL, "d/ab", 41, NULL), STATUS_OK);
    assert_int_equal(script.done, 2);
    assert_non_null(strstr(script.records[1].url, "?comp=tags"));
    assert_non_null(strstr(script.records[1].body, "<Key>state</Key><Value>committed</Value>"));
    assert_non_null(strstr(script.records[1].body, "<Key>number</Key><Value>41</Value>"));
    script_done(&script);
}

static void cancelling(void **state)
{
    (void)state;
    atomic_bool flag = false;
    struct call call = {.cancelled = &flag};
    SCRIPT(script, SCRIPT_WITH_KEY, true,
           {.status = 503, .headers = "x-ms-error-code: ServerBusy\nRetry-After: 20\n", .then_true = &flag}, CREATED);
    struct blob_facts facts;
    assert_int_equal(put(&script, &call, &facts, NULL), STATUS_INTERRUPTED);
    assert_int_equal(script.done, 1);
    assert_true(script.waited_ms < 1000); /* the wait ends soon */
    assert_int_equal(put(&script, &call, &facts, NULL), STATUS_INTERRUPTED);
    assert_int_equal(script.done, 1); /* nothing is begun */
    script_done(&script);
}

/* S22: reports name blob, status, code and request id, and no secret. */
static void reports_hold_no_secret(void **state)
{
    (void)state;
    static const struct step steps[] = {
        {.status = 403,
         .headers = "x-ms-error-code: AuthenticationFailed\nx-ms-request-id: req-7\n",
         .body = "<Error><Code>AuthenticationFailed</Code><Message>sig=c2VjcmV0c2Vj</Message></Error>"},
        LOST,
        NOT_SENT,
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct script script;
        struct blob_facts facts;
        struct err err = {0};
        script_open(&script, &steps[i], 1, SCRIPT_WITH_SAS, true);
        assert_int_not_equal(put(&script, NULL, &facts, &err), STATUS_OK);
        assert_non_null(strstr(err.message, "'d/ab'"));
        assert_null(strstr(err.message, "c2Vj"));
        assert_null(strstr(err.hint, "c2Vj"));
        if (i == 0)
            assert_string_equal(err.request_id, "req-7");
        script_done(&script);
    }
}

static void t_late_follows_the_block_size(void **state)
{
    (void)state;
    struct script script;
    static const struct step none[] = {BARE(500)};
    script_open(&script, none, 1, SCRIPT_WITH_KEY, true);
    assert_int_equal(script.store->ops->capabilities(script.store).late_after_ms, 95 * 60 * 1000); /* P8, 8 MiB */
    script_done(&script);
    struct credential credential = {.kind = CREDENTIAL_KEY, .key_len = 24, .account = "acct"};
    struct azure_options options = {.container = "con", .credential = &credential, .late_after_ms = 0};
    struct blob_store *store = NULL;
    assert_int_equal(azure_open(&options, &script.http, &store, NULL), STATUS_OK);
    assert_int_equal(store->ops->capabilities(store).late_after_ms, 0);
    store = blob_close(store);
    options.late_after_ms = AZURE_LATE_COMPUTED;
    options.request_bytes_max = 4096;
    assert_int_equal(azure_open(&options, &script.http, &store, NULL), STATUS_OK);
    assert_int_equal(store->ops->capabilities(store).late_after_ms, 25 * 60 * 1000);
    (void)blob_close(store);
}

static void accounts_must_agree(void **state)
{
    (void)state;
    struct script script = {.http = {.ops = &script_http_ops}};
    struct credential credential = {.kind = CREDENTIAL_KEY, .key_len = 24, .account = "other"};
    struct azure_options options = {.container = "con", .credential = &credential};
    struct blob_store *store = NULL;
    struct err err = {0};
    assert_int_equal(endpoint_parse("https://acct.blob.core.windows.net", &options.endpoint, NULL), STATUS_OK);
    assert_int_equal(azure_open(&options, &script.http, &store, &err), STATUS_INVALID);
    assert_non_null(strstr(err.message, "other"));
    assert_null(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_put),
        cmocka_unit_test(without_tags_none_are_sent),
        cmocka_unit_test(throttled_puts_wait_and_succeed),
        cmocka_unit_test(a_busy_service_meets_the_deadline),
        cmocka_unit_test(a_wait_beyond_the_deadline_is_not_begun),
        cmocka_unit_test(moving_is_not_waiting),
        cmocka_unit_test(silence_is_waiting),
        cmocka_unit_test(unclear_puts_are_unknown_and_not_repeated),
        cmocka_unit_test(commits_and_deletes_alike),
        cmocka_unit_test(what_was_not_sent_is_refused),
        cmocka_unit_test(digests_that_do_not_match),
        cmocka_unit_test(staging_is_repeated),
        cmocka_unit_test(staging_that_may_still_arrive_is_unknown),
        cmocka_unit_test(copies_on_the_server),
        cmocka_unit_test(a_commit),
        cmocka_unit_test(unstage_touches_only_its_own),
        cmocka_unit_test(deletes),
        cmocka_unit_test(a_tag_is_flipped),
        cmocka_unit_test(cancelling),
        cmocka_unit_test(reports_hold_no_secret),
        cmocka_unit_test(t_late_follows_the_block_size),
        cmocka_unit_test(accounts_must_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
