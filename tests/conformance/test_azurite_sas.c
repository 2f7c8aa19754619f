/* links: azure wire blob host core */
/* test_azurite_sas.c - goal: a shared access signature lets us in as the account's key does, and one that has ended or
 * allows too little is told at the start (S27). Method: account signatures made here for a running Azurite; the
 * start-up check and a blob's whole life under each. Skipped where Azurite is not installed. */
#include "support/azurite.h"
#include "unit.h"

#include "base/digest.h"
#include "base/text.h"
#include "blob/azure/check.h"
#include "blob/azure/http_curl.h"
#include "blob/azure/store.h"
#include "blob/azure/wire/date.h"
#include "host/clock.h"
#include "host/entropy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct azurite azurite; /* started once, before any test */
static const struct call no_limits;

/* "Create an account SAS" of the REST reference, fields of 2020-12-06 and later. */
static void make_sas(const char *permissions, int64_t end_utc_s, char ret_sas[512])
{
    char text[256], end[DATE_ISO_SIZE], signature[BASE64_SIZE(SHA256_BYTES)];
    uint8_t key[64], digest[SHA256_BYTES];
    size_t key_len;
    struct buf escaped;
    date_iso(end_utc_s, end);
    int len = snprintf(text, sizeof text, AZURITE_ACCOUNT "\n%s\nb\nsco\n\n%s\n\n\n2021-12-02\n\n", permissions, end);
    assert_true(base64_decode(AZURITE_KEY, key, sizeof key, &key_len));
    assert_int_equal(hmac_sha256(key, key_len, text, (size_t)len, digest), STATUS_OK);
    base64_encode(digest, sizeof digest, signature);
    buf_init(&escaped, 256);
    assert_int_equal(percent_encode(&escaped, signature, strlen(signature), false), STATUS_OK);
    (void)snprintf(ret_sas, 512, "?sv=2021-12-02&ss=b&srt=sco&sp=%s&se=%s&sig=%s", permissions, end, escaped.bytes);
    buf_done(&escaped);
}

static struct blob_store *open_with(const char *permissions, int64_t life_s, bool tags)
{
    char sas[512];
    struct credential credential AUTO_CREDENTIAL = {0};
    struct http_curl_options transport = {.clock = clock_system()};
    struct azure_options options = {.container = "signed",
                                    .credential = &credential,
                                    .tags = tags,
                                    .clock = clock_system(),
                                    .entropy = entropy_system()};
    struct http *http = NULL;
    struct blob_store *store = NULL;
    make_sas(permissions, clock_utc_ns(clock_system()) / 1000000000 + life_s, sas);
    assert_int_equal(endpoint_parse(azurite.endpoint, &options.endpoint, NULL), STATUS_OK);
    assert_int_equal(credential_set_sas(&credential, sas, NULL), STATUS_OK);
    assert_int_equal(http_curl_open(&transport, &http, NULL), STATUS_OK);
    assert_int_equal(azure_open(&options, http, &store, NULL), STATUS_OK);
    return store;
}

static void the_whole_life_of_a_blob(void **state)
{
    (void)state;
    struct blob_store *store = open_with("rwdlact", 3600, true);
    struct err err = {0};
    struct blob_about about = {.token = "ab12", .pending = true};
    struct blob_facts facts;
    struct blob_block block = {.len = 5};
    char bytes[5];
    uint64_t crc = crc64(0, "hello", 5);
    id_block((const uint8_t[ID_BYTES]){7}, 0, 0, block.id);
    if (azure_check(store, &(struct azure_check){.prefix = "p/", .create_container = true}, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_false(store->ops->capabilities(store).stage_from);
    assert_int_equal(store->ops->stage(store, &no_limits, "p/x", &block, "hello", crc, NULL), STATUS_OK);
    assert_int_equal(store->ops->commit(store, &no_limits, "p/x", &block, 1, &about, &facts, NULL), STATUS_OK);
    assert_int_equal(store->ops->put(store, &no_limits, "p/x", "hello", 5, crc, &about, &facts, NULL), STATUS_EXISTS);
    assert_int_equal(store->ops->stat(store, &no_limits, "p/x", &facts, NULL), STATUS_OK);
    assert_int_equal(store->ops->read(store, &no_limits, "p/x", facts.etag, 0, bytes, 5, NULL), STATUS_OK);
    assert_memory_equal(bytes, "hello", 5);
    assert_int_equal(store->ops->tag_committed(store, &no_limits, "p/x", 1, NULL), STATUS_OK);
    assert_int_equal(store->ops->remove(store, &no_limits, "p/x", GUARD_TAG_PENDING, NULL, NULL), STATUS_CONDITION);
    assert_int_equal(store->ops->remove(store, &no_limits, "p/x", GUARD_ETAG, facts.etag, NULL), STATUS_OK);
    (void)blob_close(store);
}

/* The check must refuse with a hint that holds `hint`, and no report may hold a signature. */
static void assert_refused(struct blob_store *store, enum status expected, const char *hint)
{
    struct err err = {0};
    enum status status = azure_check(store, &(struct azure_check){.prefix = ""}, &err);
    if (status != expected || !strstr(err.hint, hint))
        fail_msg("%s: %s (%s)", status_name(status), err.message, err.hint);
    assert_null(strstr(err.message, "sig"));
    (void)blob_close(store);
}

static void signatures_that_do_not_do(void **state)
{
    (void)state;
    assert_refused(open_with("rwdlact", -60, true), STATUS_AUTHENTICATION, "ended at");
    assert_refused(open_with("rl", 3600, false), STATUS_ACCESS, "allows 'rl'");
    assert_refused(open_with("rwdlac", 3600, true), STATUS_ACCESS, "tags = off");
    assert_refused(open_with("rwlact", 3600, false), STATUS_ACCESS, "allows 'rwlact'");
}

int main(void)
{
    if (!azurite_start(&azurite)) {
        (void)fprintf(stderr, "SKIPPED: signatures are not tested without Azurite\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_whole_life_of_a_blob),
        cmocka_unit_test(signatures_that_do_not_do),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    azurite_stop(&azurite);
    return failed ? 1 : 0;
}
