/* account.c - joining SOURCE, keys and connection string into one account. */
#include "app/account.h"

#include "config/config.h"

#include <stdio.h>
#include <string.h>

/* The status of a mistake in the configuration, whoever found it. */
static enum status usage(struct err *err, const char *key)
{
    if (err)
        err->status = STATUS_USAGE;
    (void)err_context(err, "%s", key);
    return STATUS_USAGE;
}

/* Cuts slashes at the end, so that two spellings of one endpoint are one. */
static enum status set_url(char ret_url[ACCOUNT_URL_SIZE], const char *url, struct err *err)
{
    size_t len = strlen(url);
    while (len && url[len - 1] == '/')
        len--;
    if (len >= ACCOUNT_URL_SIZE)
        return err_set(err, STATUS_USAGE, "endpoint: is too long");
    memcpy(ret_url, url, len);
    ret_url[len] = '\0';
    return STATUS_OK;
}

static enum status url_of_connection_string(const struct config *config, char ret_url[ACCOUNT_URL_SIZE],
                                            struct err *err)
{
    AUTO_CREDENTIAL struct credential credential = {0};
    enum status status =
        credential_from_connection_string(config->connection_string, &credential, ret_url, ACCOUNT_URL_SIZE, err);
    return status == STATUS_OK ? STATUS_OK : usage(err, "connection_string");
}

enum status account_url(const struct config *config, char ret_url[ACCOUNT_URL_SIZE], struct err *err)
{
    AUTO_CREDENTIAL struct credential named = {0};
    ret_url[0] = '\0';
    if (config->source.kind != SOURCE_AZURE)
        return STATUS_OK;
    if (config->source.endpoint[0])
        return set_url(ret_url, config->source.endpoint, err);
    if (config->endpoint)
        return set_url(ret_url, config->endpoint, err);
    if (config->connection_string)
        return url_of_connection_string(config, ret_url, err);
    if (!config->account)
        return err_set(err, STATUS_USAGE, "%s names no account: set AZURE_STORAGE_ACCOUNT", config->source.text);
    if (credential_set_account(&named, config->account, err) != STATUS_OK)
        return usage(err, "account");
    (void)snprintf(ret_url, ACCOUNT_URL_SIZE, "https://%s.blob.core.windows.net",
                   named.account); /* 63 characters fit */
    return STATUS_OK;
}

enum status account_identity(const struct config *config, char ret_text[ACCOUNT_IDENTITY_SIZE], struct err *err)
{
    char url[ACCOUNT_URL_SIZE];
    const struct source *source = &config->source;
    enum status status = account_url(config, url, err);
    if (status != STATUS_OK)
        return status;
    if (source->kind != SOURCE_AZURE) {
        memcpy(ret_text, source->text, sizeof source->text);
        return STATUS_OK;
    }
    int prefix_len = source->prefix[0] ? (int)strlen(source->prefix) - 1 : 0; /* without its slash */
    (void)snprintf(ret_text, ACCOUNT_IDENTITY_SIZE, "%s/%s%s%.*s", url, source->container, prefix_len ? "/" : "",
                   prefix_len, source->prefix); /* 512 + 64 + 128 fit */
    return STATUS_OK;
}

/* An account that stands in two places must be one: else a key would be shown to the wrong service. */
static enum status check_account(const struct config *config, const struct credential *credential, struct err *err)
{
    const char *wanted = config->source.account;
    if (!wanted[0] || !credential->account[0] || strcmp(wanted, credential->account) == 0)
        return STATUS_OK;
    (void)err_set(err, STATUS_USAGE, "SOURCE names the account %s and the credentials are for %s", wanted,
                  credential->account);
    (void)err_hint(err, "set the credentials of %s, or unset AZURE_STORAGE_ACCOUNT and AZURE_STORAGE_CONNECTION_STRING",
                   wanted);
    return STATUS_USAGE;
}

enum status account_credential(const struct config *config, const struct endpoint *endpoint,
                               struct credential *ret_credential, struct err *err)
{
    AUTO_CREDENTIAL struct credential credential = {0};
    char unused[ACCOUNT_URL_SIZE];
    const char *account = config->account ? config->account : endpoint->account;
    bool own = config->account_key || config->sas_token;
    if (config->connection_string && !own &&
        credential_from_connection_string(config->connection_string, &credential, unused, sizeof unused, err) !=
            STATUS_OK)
        return usage(err, "connection_string");
    if (!credential.account[0] && account[0] && credential_set_account(&credential, account, err) != STATUS_OK)
        return usage(err, "account");
    if (config->account_key && credential_set_key(&credential, config->account_key, err) != STATUS_OK)
        return usage(err, "account_key");
    if (!config->account_key && config->sas_token &&
        credential_set_sas(&credential, config->sas_token, err) != STATUS_OK)
        return usage(err, "sas_token");
    enum status status = check_account(config, &credential, err);
    if (status == STATUS_OK)
        *ret_credential = credential;
    return status;
}
