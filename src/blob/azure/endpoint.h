/* endpoint.h - where an account's blobs are reached: scheme, host, base path, account. Pure text; one thread at a time.
 */
#ifndef READYFS_BLOB_AZURE_ENDPOINT_H
#define READYFS_BLOB_AZURE_ENDPOINT_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* https://ACCOUNT.blob.core.windows.net has the account in its host; http://127.0.0.1:10000/devstoreaccount1, the path
 * style, has it as the first part of every path. */
struct endpoint {
    bool tls;            /* https */
    char authority[256]; /* host, and ":port" where given */
    char base_path[72];  /* "" or "/" and the account */
    char account[64];    /* as the address tells it */
};

/* Reads an endpoint's URL: one with a path is in the path style. A host with a name of its own (a custom domain) leaves
 * `account` to be told by the credential. INVALID. */
MUST_CHECK enum status endpoint_parse(const char *url, struct endpoint *ret_endpoint, struct err *err);

#endif
