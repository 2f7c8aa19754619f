/* links: app config base host core */
/* test_place.c - goal: two spellings of one place have one catalogue, two places have two, and the paths are where the
 * manual says. Method: configurations in memory; nothing is made. */
#include "app/account.h"
#include "app/place.h"
#include "config/config.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

struct setting {
    const char *source, *account, *endpoint, *connection_string;
};

static void find(const struct setting *setting, struct places *ret_places)
{
    struct config config;
    struct err err = {0};
    struct config_origin origin = {.rank = RANK_CALL, .name = "test"};
    config_init(&config);
    if (setting->account)
        assert_int_equal(config_set(&config, &origin, "account", setting->account, &err), STATUS_OK);
    if (setting->endpoint)
        assert_int_equal(config_set(&config, &origin, "endpoint", setting->endpoint, &err), STATUS_OK);
    if (setting->connection_string)
        assert_int_equal(config_set(&config, &origin, "connection_string", setting->connection_string, &err),
                         STATUS_OK);
    if (config_source(&config, setting->source, &err) != STATUS_OK ||
        places_find(&config, ret_places, &err) != STATUS_OK)
        fail_msg("%s: %s", setting->source, err.message);
    config_done(&config);
}

static void spellings_of_one_place_share_a_catalogue(void **state)
{
    static const struct setting same[] = {
        {.source = "https://acct.blob.core.windows.net/box/p"},
        {.source = "https://acct.blob.core.windows.net/box/p/"},
        {.source = "az://box/p", .account = "acct"},
        {.source = "az://box/p", .endpoint = "https://acct.blob.core.windows.net/"},
        {.source = "az://box/p",
         .connection_string = "AccountName=acct;AccountKey=a2V5a2V5a2V5a2V5a2V5a2V5;EndpointSuffix=core.windows.net"},
    };
    struct places first, next;
    (void)state;
    find(&same[0], &first);
    for (size_t i = 1; i < sizeof same / sizeof same[0]; i++) {
        find(&same[i], &next);
        assert_string_equal(first.catalogue, next.catalogue);
    }
}

static void places_that_differ_have_their_own(void **state)
{
    static const struct setting different[] = {
        {.source = "https://acct.blob.core.windows.net/box"},
        {.source = "https://acct.blob.core.windows.net/box/p"},
        {.source = "https://acct2.blob.core.windows.net/box"},
        {.source = "az://box", .account = "acct3"},
        {.source = "dir:/srv/box"},
        {.source = "dir:/srv-box"},
    };
    struct places all[6];
    (void)state;
    for (size_t i = 0; i < 6; i++) {
        find(&different[i], &all[i]);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(all[i].catalogue, all[k].catalogue);
    }
}

static void paths_are_where_the_manual_says(void **state)
{
    struct places places;
    char runtime[PLACE_SIZE];
    (void)state;
    assert_int_equal(setenv("XDG_STATE_HOME", "/state", 1), 0);
    find(&(struct setting){.source = "dir:/srv/blobs"}, &places);
    assert_int_equal(strncmp(places.catalogue, "/state/readyfs/dir-srv-blobs-", 29), 0);
    assert_int_equal(strncmp(places.spool, places.catalogue, strlen(places.catalogue)), 0);
    assert_string_equal(places.spool + strlen(places.catalogue), ".d/spool");
    assert_int_equal(setenv("XDG_STATE_HOME", "relative", 1), 0);
    find(&(struct setting){.source = "dir:/srv/blobs"}, &places);
    assert_int_equal(places.catalogue[0], '/');
    assert_int_equal(place_runtime("/given", runtime, NULL), STATUS_OK);
    assert_string_equal(runtime, "/given");
}

/* A key must never be shown to the service of another account. */
static void credentials_of_another_account_are_refused(void **state)
{
    struct config config;
    struct err err = {0};
    struct endpoint endpoint;
    AUTO_CREDENTIAL struct credential credential = {0};
    struct config_origin origin = {.rank = RANK_CALL, .name = "test"};
    (void)state;
    config_init(&config);
    assert_int_equal(config_set(&config, &origin, "account", "other", &err), STATUS_OK);
    assert_int_equal(config_set(&config, &origin, "account_key", "bm90IGEga2V5IGJ1dCBsb25nIGVub3VnaA==", &err),
                     STATUS_OK);
    assert_int_equal(config_source(&config, "https://acct.blob.core.windows.net/box", &err), STATUS_OK);
    assert_int_equal(endpoint_parse(config.source.endpoint, &endpoint, &err), STATUS_OK);
    assert_int_equal(account_credential(&config, &endpoint, &credential, &err), STATUS_USAGE);
    assert_non_null(strstr(err.message, "acct"));
    assert_null(strstr(err.message, "bm90"));
    assert_int_equal(credential.kind, CREDENTIAL_NONE);
    assert_int_equal(config_set(&config, &origin, "account", "acct", &err), STATUS_OK);
    assert_int_equal(account_credential(&config, &endpoint, &credential, &err), STATUS_OK);
    assert_int_equal(credential.kind, CREDENTIAL_KEY);
    assert_int_equal(config_set(&config, &origin, "account_key", "n0t-base64", &err), STATUS_OK);
    assert_int_equal(account_credential(&config, &endpoint, &credential, &err), STATUS_USAGE);
    assert_null(strstr(err.message, "n0t-base64"));
    config_done(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spellings_of_one_place_share_a_catalogue),
        cmocka_unit_test(places_that_differ_have_their_own),
        cmocka_unit_test(paths_are_where_the_manual_says),
        cmocka_unit_test(credentials_of_another_account_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
