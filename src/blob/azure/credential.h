/* credential.h - what a store shows to be let in: the account's key, a shared access signature, or nothing.
 *
 * Secrets are copied in, wiped by credential_done, and never part of a message. Reading is strict, so that a truncated
 * key is told at the start and not by the service. No I/O, no environment; one thread at a time while it is filled.
 */
#ifndef READYFS_BLOB_AZURE_CREDENTIAL_H
#define READYFS_BLOB_AZURE_CREDENTIAL_H

#include "base/cleanup.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CREDENTIAL_ACCOUNT_SIZE 64   /* names have 3 to 24 characters; emulators allow more */
#define CREDENTIAL_KEY_BYTES    128  /* keys have 64 */
#define CREDENTIAL_SAS_SIZE     2048 /* tokens have some 150 characters */

enum credential_kind {
    CREDENTIAL_NONE, /* public access, or a store that asks for nothing */
    CREDENTIAL_KEY,
    CREDENTIAL_SAS,
};

/* Starts as all zero. */
struct credential {
    enum credential_kind kind;
    char account[CREDENTIAL_ACCOUNT_SIZE]; /* "" where not known */
    uint8_t key[CREDENTIAL_KEY_BYTES];
    size_t key_len;
    char sas[CREDENTIAL_SAS_SIZE]; /* percent-encoded, without '?' */
};

/* Sets the account's name. INVALID for anything but 3 to 63 lower-case letters, digits and dashes. */
MUST_CHECK enum status credential_set_account(struct credential *credential, const char *account, struct err *err);

/* Sets the key, given in base64; blanks around it are fine. INVALID. */
MUST_CHECK enum status credential_set_key(struct credential *credential, const char *key_base64, struct err *err);

/* Sets a shared access signature, with or without the leading '?'. INVALID where it has no signature in it, or bytes
 * that a URL cannot hold. */
MUST_CHECK enum status credential_set_sas(struct credential *credential, const char *sas, struct err *err);

/* Reads a connection string: AccountName, AccountKey, SharedAccessSignature, BlobEndpoint, EndpointSuffix,
 * DefaultEndpointsProtocol, UseDevelopmentStorage=true; other keys are ignored. `ret_endpoint` (at least 256 bytes)
 * gets the endpoint's URL without a slash at the end. INVALID, naming the key that is wrong and never its value. */
MUST_CHECK enum status credential_from_connection_string(const char *text, struct credential *ret_credential,
                                                         char *ret_endpoint, size_t endpoint_size, struct err *err);

/* When a shared access signature ends. False where it does not say (a stored policy does) or is none. */
MUST_CHECK bool credential_expiry(const struct credential *credential, int64_t *ret_utc_s);

/* The letters of its permissions, "" where it does not say or is none. */
void credential_permissions(const struct credential *credential, char *ret_letters, size_t size);

/* Wipes. */
void credential_done(struct credential *credential);

#define AUTO_CREDENTIAL CLEANUP(credential_done)

#endif
