/* sign.h - Shared Key authorization, and shared access signatures made from the account's key.
 *
 * Sources: "Authorize with Shared Key" and "Create a service SAS" of the Blob service's REST reference, for the
 * 2015-02-21 rules of the former and the 2020-12-06 fields of the latter. Pure, any thread. Keys are borrowed and never
 * copied.
 */
#ifndef READYFS_BLOB_AZURE_WIRE_SIGN_H
#define READYFS_BLOB_AZURE_WIRE_SIGN_H

#include "blob/azure/wire/request.h"

struct sign_key {
    const char *account;
    const uint8_t *bytes; /* the key, decoded */
    size_t len;
};

/* Appends the string to sign: twelve lines, the x-ms headers, the resource with its query. */
MUST_CHECK enum status sign_text(const struct wire_request *request, const char *account, struct buf *ret_text);

/* Writes x-ms-date, and Authorization too where `key` is not NULL. May be called again for the next attempt. */
MUST_CHECK enum status sign_request(struct wire_request *request, const struct sign_key *key, int64_t utc_s);

/* Leave to do `permissions` (letters in the service's order, for example "r") with one blob. */
struct sign_grant {
    const char *container, *blob, *permissions;
    int64_t start_utc_s, end_utc_s;
    bool https_only;
};

/* Appends the string to sign of a service SAS: sixteen fields. */
MUST_CHECK enum status sign_grant_text(const struct sign_grant *grant, const char *account, struct buf *ret_text);

/* Appends the query (percent-encoded, without '?') that grants it. Never to be logged. */
MUST_CHECK enum status sign_grant(const struct sign_grant *grant, const struct sign_key *key, struct buf *ret_query);

#endif
