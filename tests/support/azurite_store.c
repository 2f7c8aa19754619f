/* azurite_store.c - the Azure store over a running Azurite. */
#include "azurite_store.h"

#include "blob/azure/check.h"
#include "blob/azure/http_curl.h"
#include "blob/azure/store.h"
#include "host/clock.h"
#include "host/entropy.h"

enum status azurite_store_open(const struct azurite *azurite, const struct azurite_setting *setting,
                               struct blob_store **ret_store, struct err *err)
{
    struct credential credential AUTO_CREDENTIAL = {0};
    struct azure_options options = {
        .container = setting->container,
        .credential = &credential,
        .tags = setting->tags,
        .clock = clock_system(),
        .entropy = entropy_system(),
    };
    const struct http_curl_options transport = {.clock = clock_system()};
    struct http *http = NULL;
    enum status status = endpoint_parse(azurite->endpoint, &options.endpoint, err);
    if (status == STATUS_OK)
        status = credential_set_key(&credential, setting->key ? setting->key : AZURITE_KEY, err);
    if (status == STATUS_OK)
        status = http_curl_open(&transport, &http, err);
    if (status != STATUS_OK)
        return status;
    status = azure_open(&options, http, ret_store, err);
    if (status != STATUS_OK)
        (void)http_close(http); /* it returns NULL */
    return status;
}

enum status azurite_store_checked(const struct azurite *azurite, const struct azurite_setting *setting,
                                  struct blob_store **ret_store, struct err *err)
{
    struct blob_store *store = NULL;
    enum status status = azurite_store_open(azurite, setting, &store, err);
    if (status != STATUS_OK)
        return status;
    status = azure_check(store, &(struct azure_check){.prefix = "", .create_container = true}, err);
    if (status == STATUS_OK)
        *ret_store = store;
    else
        (void)blob_close(store); /* it returns NULL */
    return status;
}
