/* store.h - blobs in an Azure Storage account, or in anything else that speaks the Blob service's REST protocol.
 *
 * The store joins wire/ (what requests and answers look like), http.h (one exchange) and the repeating of what may be
 * repeated. It implements every call of blob.h, with tags where the account and the rights allow them.
 */
#ifndef READYFS_BLOB_AZURE_STORE_H
#define READYFS_BLOB_AZURE_STORE_H

#include "blob/azure/credential.h"
#include "blob/azure/endpoint.h"
#include "blob/blob.h"
#include "core/backoff.h"

struct clock;
struct entropy;
struct http;

#define AZURE_LATE_COMPUTED  (-1)
#define AZURE_CONTAINER_SIZE 64 /* names have 3 to 63 characters */

struct azure_options {
    struct endpoint endpoint;
    const char *container;               /* copied; the prefix is part of the blob names */
    const struct credential *credential; /* copied */
    bool tags;                           /* use blob index tags */
    int64_t deadline_ms;                 /* time without progress before a call gives up; 0: 60 s */
    struct backoff backoff;              /* between repetitions; all 0: from 0.25 s to 8 s */
    /* T_late (P8) in milliseconds; AZURE_LATE_COMPUTED: what the service allows the largest request that makes a blob
     * (10 minutes for each MiB of a write) and the life of its signature (15 minutes): 95 minutes for 8 MiB. */
    int64_t late_after_ms;
    uint64_t request_bytes_max; /* the largest single put; 0: 8 MiB. Blocks do not count: one that is late makes no
                                   blob, and a list of blocks has a minute. */
    struct clock *clock;        /* borrowed until close, as is the next */
    struct entropy *entropy;
};

/* Opens the store over `http`, of which it takes ownership when it succeeds. Nothing is sent: azure_check() in check.h
 * tells whether the store works. INVALID, NO_MEMORY. */
MUST_CHECK enum status azure_open(const struct azure_options *options, struct http *http, struct blob_store **ret_store,
                                  struct err *err);

#endif
