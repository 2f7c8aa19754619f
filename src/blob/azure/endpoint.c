/* endpoint.c - taking addresses apart. */
#include "blob/azure/endpoint.h"

#include <stdio.h>
#include <string.h>

#define LETTERS  "abcdefghijklmnopqrstuvwxyz"
#define CAPITALS "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS   "0123456789"

/* Copies `len` bytes; false where they do not fit. */
static bool copy(char *ret_text, size_t size, const char *text, size_t len)
{
    if (len >= size)
        return false;
    memcpy(ret_text, text, len);
    ret_text[len] = '\0';
    return true;
}

static bool made_of(const char *text, size_t len, const char *characters)
{
    for (size_t i = 0; i < len; i++)
        if (!strchr(characters, text[i]))
            return false;
    return true;
}

static bool take_scheme(const char **url, bool *ret_tls)
{
    bool tls = !strncmp(*url, "https://", 8);
    if (!tls && strncmp(*url, "http://", 7))
        return false;
    *url += tls ? 8 : 7;
    *ret_tls = tls;
    return true;
}

/* Host and optional port. */
static bool take_authority(const char **url, struct endpoint *endpoint)
{
    size_t len = strcspn(*url, "/");
    if (!len || !made_of(*url, len, LETTERS CAPITALS DIGITS "-.:[]") ||
        !copy(endpoint->authority, sizeof endpoint->authority, *url, len))
        return false;
    *url += len;
    return true;
}

/* "/ACCOUNT" behind the host; the host's first label otherwise. */
static bool take_account(const char **url, struct endpoint *endpoint)
{
    const char *name = endpoint->authority;
    size_t len = strcspn(name, ".");
    if (**url == '/' && (*url)[1]) {
        name = *url + 1;
        len = strcspn(name, "/");
        if (!copy(endpoint->base_path, sizeof endpoint->base_path, *url, len + 1))
            return false;
        *url = name + len;
    } else if (!strstr(endpoint->authority, ".blob.")) {
        return true; /* a custom domain tells no account */
    }
    return len >= 3 && made_of(name, len, LETTERS DIGITS "-") &&
           copy(endpoint->account, sizeof endpoint->account, name, len);
}

/* What has no place in an address that is shown: a query is most likely a signature. */
static enum status check_plain(const char *text, struct err *err)
{
    if (!strpbrk(text, "?#@%"))
        return STATUS_OK;
    (void)err_set(err, STATUS_INVALID, "an address must not hold '?', '#', '@' or '%%'");
    return err_hint(err, "give a shared access signature by AZURE_STORAGE_SAS_TOKEN or the config file");
}

static enum status take_endpoint(const char **url, struct endpoint *endpoint, struct err *err)
{
    if (!take_scheme(url, &endpoint->tls))
        return err_set(err, STATUS_INVALID, "the endpoint begins with neither https:// nor http://");
    if (!take_authority(url, endpoint))
        return err_set(err, STATUS_INVALID, "the endpoint has no valid host");
    if (!take_account(url, endpoint))
        return err_set(err, STATUS_INVALID, "the endpoint '%s' is not followed by a valid account name",
                       endpoint->authority);
    return STATUS_OK;
}

enum status endpoint_parse(const char *url, struct endpoint *ret_endpoint, struct err *err)
{
    struct endpoint endpoint = {0};
    enum status status = check_plain(url, err);
    if (status == STATUS_OK)
        status = take_endpoint(&url, &endpoint, err);
    if (status == STATUS_OK && url[strspn(url, "/")])
        status = err_set(err, STATUS_INVALID, "the endpoint goes on after the account");
    if (status == STATUS_OK)
        *ret_endpoint = endpoint;
    return status;
}
