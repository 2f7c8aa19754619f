/* links: azure wire blob host core */
/* test_blob_azurite.c - goal: the Azure store keeps the contract of every store against the emulator of the service,
 * and tells what is wrong at the start. Method: one Azurite for the program on a free port; the common suite with tags
 * and without; then a missing container, a wrong key, a service that restarts. Skipped where Azurite is not installed.
 */
#include "conformance/blob_suite.h"
#include "support/azurite_store.h"
#include "unit.h"

#include "base/digest.h"
#include "blob/azure/check.h"
#include "host/entropy.h"

#include <stdio.h>
#include <string.h>

static struct azurite azurite; /* started once, before any test */
static const struct call no_limits;

/* For the suite: the container is made on the way. */
static enum status open_checked(void *context, struct blob_store **ret_store, struct err *err)
{
    return azurite_store_checked(&azurite, context, ret_store, err);
}

static const struct azurite_setting with_tags = {.container = "suite", .tags = true};

static void fresh_name(char ret_name[LIMIT_BLOB_NAME_BYTES])
{
    uint8_t random[ID_BYTES];
    entropy_fill(entropy_system(), random, sizeof random);
    assert_int_equal(id_blob_name("", random, ret_name), STATUS_OK);
}

static struct err report; /* of the last call under assert_ok */

/* Fails the test unless the call, which reports to &report, is OK. */
#define assert_ok(call)                                                                                                \
    do {                                                                                                               \
        enum status status_ = (call);                                                                                  \
        if (status_ != STATUS_OK)                                                                                      \
            fail_msg("%s: %s: %s", #call, status_name(status_), report.message);                                       \
    } while (0)

static enum status put(struct blob_store *store, const char *name, const void *bytes, size_t len,
                       const struct blob_about *about, struct blob_facts *ret_facts, struct err *err)
{
    return store->ops->put(store, &no_limits, name, bytes, len, crc64(0, bytes, len), about, ret_facts, err);
}

static bool count_listed(void *context, const struct blob_listing *item)
{
    (void)item;
    ++*(unsigned *)context;
    return true;
}

static unsigned blobs_named(struct blob_store *store, const char *name)
{
    unsigned count = 0;
    assert_ok(store->ops->list(store, &no_limits, name, count_listed, &count, &report));
    return count;
}

/* S27: what is wrong at the start is one line and a way out. */
static void a_missing_container_is_told(void **state)
{
    (void)state;
    struct blob_store *store = NULL;
    struct azurite_setting setting = with_tags;
    setting.container = "not-there";
    assert_ok(azurite_store_open(&azurite, &setting, &store, &report));
    struct err err = {0};
    assert_int_equal(azure_check(store, &(struct azure_check){.prefix = ""}, &err), STATUS_NOT_FOUND);
    assert_non_null(strstr(err.message, "not-there"));
    assert_non_null(strstr(err.hint, "--create-container"));
    assert_ok(azure_check(store, &(struct azure_check){.prefix = "", .create_container = true}, &report));
    assert_ok(azure_check(store, &(struct azure_check){.prefix = "team/", .create_container = true}, &report));
    assert_int_equal(blobs_named(store, ""), 0); /* the probes are gone */
    (void)blob_close(store);
}

static void a_wrong_key_is_told(void **state)
{
    (void)state;
    struct blob_store *store = NULL;
    struct azurite_setting setting = {.container = "suite",
                                      .tags = true,
                                      .key = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="};
    assert_ok(azurite_store_open(&azurite, &setting, &store, &report));
    struct err err = {0};
    assert_int_equal(azure_check(store, &(struct azure_check){.prefix = ""}, &err), STATUS_AUTHENTICATION);
    assert_int_equal(err.http_status, 403);
    assert_true(*err.request_id && *err.hint);
    assert_null(strstr(err.message, "AAAA"));
    (void)blob_close(store);
}

/* A server that went away between two calls: the dead connection is noticed, the next call is refused or done, and no
 * call is told as done that was not. */
static void a_restart_of_the_service_is_survived(void **state)
{
    (void)state;
    struct blob_store *store = NULL;
    struct azurite_setting setting = with_tags;
    assert_ok(azurite_store_checked(&azurite, &setting, &store, &report));
    char name[LIMIT_BLOB_NAME_BYTES];
    struct blob_facts facts;
    fresh_name(name);
    assert_ok(put(store, name, "hello", 5, &(struct blob_about){.token = "ab"}, &facts, &report));
    azurite_restart(&azurite);
    struct call call = {.deadline_ms = 1000};
    struct err err = {0};
    enum status status = store->ops->stat(store, &call, name, &facts, &err);
    assert_int_equal(status, STATUS_UNREACHABLE); /* it answers on another port now */
    assert_int_equal(store->ops->put(store, &call, name, "x", 1, crc64(0, "x", 1), &(struct blob_about){.token = "ab"},
                                     &facts, &err),
                     STATUS_UNREACHABLE); /* and not UNKNOWN: nothing can have been sent */
    (void)blob_close(store);
    assert_ok(azurite_store_checked(&azurite, &setting, &store, &report));
    assert_ok(store->ops->stat(store, &no_limits, name, &facts, &report));
    (void)blob_close(store);
}

int main(void)
{
    if (!azurite_start(&azurite)) {
        (void)fprintf(stderr, "SKIPPED: the Azure store is not tested without Azurite\n");
        return 77;
    }
    struct azurite_setting tags = with_tags, no_tags = {.container = "suite-without-tags"};
    const struct blob_suite suites[] = {
        {.title = "azure on azurite", .prefix = "", .open = open_checked, .context = &tags},
        {.title = "azure on azurite, tags off", .prefix = "team/a/", .open = open_checked, .context = &no_tags},
    };
    const struct CMUnitTest own[] = {
        cmocka_unit_test(a_missing_container_is_told),
        cmocka_unit_test(a_wrong_key_is_told),
        cmocka_unit_test(a_restart_of_the_service_is_survived),
    };
    int failed = blob_suite_run(&suites[0]) + blob_suite_run(&suites[1]) +
                 cmocka_run_group_tests_name("azure on azurite, start and restart", own, NULL, NULL);
    azurite_stop(&azurite);
    return failed ? 1 : 0;
}
