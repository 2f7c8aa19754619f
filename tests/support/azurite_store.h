/* azurite_store.h - the Azure store over a running Azurite, with the real transport and the real clock. */
#ifndef READYFS_TESTS_AZURITE_STORE_H
#define READYFS_TESTS_AZURITE_STORE_H

#include "azurite.h"

#include "blob/blob.h"

struct azurite_setting {
    const char *container;
    bool tags;
    const char *key; /* base64; NULL: the right one */
};

/* Opens the store; nothing is sent. The caller closes it. */
enum status azurite_store_open(const struct azurite *azurite, const struct azurite_setting *setting,
                               struct blob_store **ret_store, struct err *err);

/* The same, with the start-up check: the container is made where it is missing. */
enum status azurite_store_checked(const struct azurite *azurite, const struct azurite_setting *setting,
                                  struct blob_store **ret_store, struct err *err);

#endif
