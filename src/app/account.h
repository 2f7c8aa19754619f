/* account.h - which storage account a configuration means: its endpoint and what is shown to be let in. Reads the
 * configuration alone; secrets stay in the credential, which credential_done() wipes. */
#ifndef READYFS_APP_ACCOUNT_H
#define READYFS_APP_ACCOUNT_H

#include "base/err.h"
#include "blob/azure/credential.h"
#include "blob/azure/endpoint.h"

#define ACCOUNT_URL_SIZE 512

struct config;

/* The endpoint's URL: SOURCE's own, else the key `endpoint`, else the connection string's, else that of `account` in
 * the public cloud. USAGE where none is named. "" for a folder. */
MUST_CHECK enum status account_url(const struct config *config, char ret_url[ACCOUNT_URL_SIZE], struct err *err);

/* The canonical spelling of SOURCE with the account in it: what two spellings of one place have in common. */
#define ACCOUNT_IDENTITY_SIZE 1024
MUST_CHECK enum status account_identity(const struct config *config, char ret_text[ACCOUNT_IDENTITY_SIZE],
                                        struct err *err);

/* The credential: `account_key`, else `sas_token`, else what the connection string holds, else none. USAGE, naming the
 * key and never its value. */
MUST_CHECK enum status account_credential(const struct config *config, const struct endpoint *endpoint,
                                          struct credential *ret_credential, struct err *err);

#endif
