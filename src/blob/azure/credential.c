/* credential.c - reading credentials. */
#include "blob/azure/credential.h"

#include "base/buf.h"
#include "base/text.h"
#include "blob/azure/wire/date.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define BLANKS " \t\r\n"

/* The account and key that every emulator of the service is delivered with; its documentation publishes both. */
#define DEVELOPMENT_ACCOUNT  "devstoreaccount1"
#define DEVELOPMENT_KEY      "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
#define DEVELOPMENT_ENDPOINT "http://127.0.0.1:10000/" DEVELOPMENT_ACCOUNT

enum status credential_set_account(struct credential *credential, const char *account, struct err *err)
{
    size_t len = strlen(account);
    if (len < 3 || len >= sizeof credential->account || strspn(account, "abcdefghijklmnopqrstuvwxyz0123456789-") != len)
        return err_set(err, STATUS_INVALID, "an account's name has 3 to %zu lower-case letters, digits and dashes",
                       sizeof credential->account - 1);
    memcpy(credential->account, account, len + 1);
    return STATUS_OK;
}

/* A copy without the blanks around it. False where it does not fit. */
static bool trim(const char *text, char *ret_text, size_t size)
{
    text += strspn(text, BLANKS);
    size_t len = strlen(text);
    while (len > 0 && strchr(BLANKS, text[len - 1]))
        len--;
    if (len >= size)
        return false;
    memcpy(ret_text, text, len);
    ret_text[len] = '\0';
    return true;
}

enum status credential_set_key(struct credential *credential, const char *key_base64, struct err *err)
{
    char text[BASE64_SIZE(CREDENTIAL_KEY_BYTES)];
    size_t len = 0;
    bool good = trim(key_base64, text, sizeof text) &&
                base64_decode(text, credential->key, sizeof credential->key, &len) && len >= 16;
    explicit_bzero(text, sizeof text);
    if (!good) {
        explicit_bzero(credential->key, sizeof credential->key);
        (void)err_set(err, STATUS_INVALID, "the account's key is not base64 of 16 to %d bytes", CREDENTIAL_KEY_BYTES);
        return err_hint(err, "copy the whole key, with the '=' at its end");
    }
    credential->key_len = len;
    credential->kind = CREDENTIAL_KEY;
    return STATUS_OK;
}

/* Finds `name=` at the beginning or after '&'; the value ends at '&' or the end. NULL where there is none. */
static const char *sas_field(const char *sas, const char *name, size_t *ret_len)
{
    size_t name_len = strlen(name);
    for (const char *at = sas; at; at = strchr(at, '&')) {
        at += *at == '&';
        if (!strncmp(at, name, name_len) && at[name_len] == '=') {
            *ret_len = strcspn(at + name_len + 1, "&");
            return at + name_len + 1;
        }
    }
    return NULL;
}

static bool sas_valid(const char *sas)
{
    for (const char *at = sas; *at; at++)
        if (*at <= 0x20 || *at > 0x7e || strchr("#?\"<>\\^`{|}", *at))
            return false;
    size_t len;
    return sas_field(sas, "sig", &len) && len;
}

enum status credential_set_sas(struct credential *credential, const char *sas, struct err *err)
{
    char text[CREDENTIAL_SAS_SIZE];
    bool fits = trim(sas, text, sizeof text);
    const char *start = text + (fits && *text == '?');
    bool good = fits && sas_valid(start);
    if (good) {
        memcpy(credential->sas, start, strlen(start) + 1);
        credential->kind = CREDENTIAL_SAS;
    }
    explicit_bzero(text, sizeof text);
    if (good)
        return STATUS_OK;
    (void)err_set(err, STATUS_INVALID, "the shared access signature is no query with sig= in it");
    return err_hint(err, "copy the token as the portal or the command line shows it: sv=...&sig=...");
}

static enum status sas_value(const struct credential *credential, const char *name, struct buf *ret_value)
{
    size_t len;
    const char *value = credential->kind == CREDENTIAL_SAS ? sas_field(credential->sas, name, &len) : NULL;
    return value ? percent_decode(ret_value, value, len) : STATUS_NOT_FOUND;
}

bool credential_expiry(const struct credential *credential, int64_t *ret_utc_s)
{
    struct buf value AUTO_BUF;
    buf_init(&value, 64);
    return sas_value(credential, "se", &value) == STATUS_OK && date_parse_iso(value.bytes, ret_utc_s);
}

void credential_permissions(const struct credential *credential, char *ret_letters, size_t size)
{
    struct buf value AUTO_BUF;
    buf_init(&value, size - 1);
    bool known = sas_value(credential, "sp", &value) == STATUS_OK;
    (void)snprintf(ret_letters, size, "%s", known ? value.bytes : ""); /* fits, by the buffer's limit */
}

void credential_done(struct credential *credential)
{
    explicit_bzero(credential, sizeof *credential);
}

/* What a connection string says, still as text. Its buffers hold secrets: wipe. */
struct connection {
    char account[CREDENTIAL_ACCOUNT_SIZE], key[BASE64_SIZE(CREDENTIAL_KEY_BYTES)], sas[CREDENTIAL_SAS_SIZE];
    char endpoint[256], suffix[128], protocol[8], development[8];
};

static void connection_done(struct connection *connection)
{
    explicit_bzero(connection, sizeof *connection);
}

struct field {
    const char *name;
    char *value;
    size_t size;
};

static enum status field_set(const struct field *fields, size_t count, const char *text, size_t len, struct err *err)
{
    const char *equals = memchr(text, '=', len);
    if (!equals)
        return err_set(err, STATUS_INVALID, "connection string: a part without '='");
    size_t name_len = (size_t)(equals - text), value_len = len - name_len - 1;
    for (size_t i = 0; i < count; i++) {
        if (strlen(fields[i].name) != name_len || strncasecmp(fields[i].name, text, name_len))
            continue;
        if (value_len >= fields[i].size)
            return err_set(err, STATUS_INVALID, "connection string: %s is too long", fields[i].name);
        memcpy(fields[i].value, equals + 1, value_len);
        fields[i].value[value_len] = '\0';
    }
    return STATUS_OK;
}

static enum status connection_read(const char *text, struct connection *connection, struct err *err)
{
    const struct field fields[] = {
        {"AccountName", connection->account, sizeof connection->account},
        {"AccountKey", connection->key, sizeof connection->key},
        {"SharedAccessSignature", connection->sas, sizeof connection->sas},
        {"BlobEndpoint", connection->endpoint, sizeof connection->endpoint},
        {"EndpointSuffix", connection->suffix, sizeof connection->suffix},
        {"DefaultEndpointsProtocol", connection->protocol, sizeof connection->protocol},
        {"UseDevelopmentStorage", connection->development, sizeof connection->development},
    };
    enum status status = STATUS_OK;
    while (*text && status == STATUS_OK) {
        text += strspn(text, ";" BLANKS);
        size_t len = strcspn(text, ";"), used = len;
        while (used > 0 && strchr(BLANKS, text[used - 1]))
            used--;
        if (used)
            status = field_set(fields, sizeof fields / sizeof *fields, text, used, err);
        text += len;
    }
    return status;
}

static enum status connection_endpoint(const struct connection *connection, char *ret_endpoint, size_t size,
                                       struct err *err)
{
    const char *protocol = *connection->protocol ? connection->protocol : "https";
    if (strcmp(protocol, "https") && strcmp(protocol, "http"))
        return err_set(err, STATUS_INVALID, "connection string: DefaultEndpointsProtocol is neither https nor http");
    int need;
    if (*connection->endpoint)
        need = snprintf(ret_endpoint, size, "%s", connection->endpoint);
    else if (*connection->account)
        need = snprintf(ret_endpoint, size, "%s://%s.blob.%s", protocol, connection->account,
                        *connection->suffix ? connection->suffix : "core.windows.net");
    else
        return err_set(err, STATUS_INVALID, "connection string: neither BlobEndpoint nor AccountName");
    if (need < 0 || (size_t)need >= size)
        return err_set(err, STATUS_INVALID, "connection string: the endpoint is too long");
    while (need > 0 && ret_endpoint[need - 1] == '/')
        ret_endpoint[--need] = '\0';
    return STATUS_OK;
}

static enum status connection_credential(const struct connection *connection, struct credential *credential,
                                         struct err *err)
{
    enum status status = STATUS_OK;
    if (*connection->account)
        status = credential_set_account(credential, connection->account, err);
    if (status == STATUS_OK && *connection->sas)
        status = credential_set_sas(credential, connection->sas, err);
    else if (status == STATUS_OK && *connection->key)
        status = credential_set_key(credential, connection->key, err);
    if (status == STATUS_OK && credential->kind == CREDENTIAL_KEY && !*credential->account)
        status = err_set(err, STATUS_INVALID, "connection string: AccountKey without AccountName");
    return status == STATUS_OK ? status : err_context(err, "connection string");
}

enum status credential_from_connection_string(const char *text, struct credential *ret_credential, char *ret_endpoint,
                                              size_t endpoint_size, struct err *err)
{
    struct connection connection CLEANUP(connection_done) = {0};
    struct credential credential AUTO_CREDENTIAL = {0};
    enum status status = connection_read(text, &connection, err);
    if (status == STATUS_OK && !strcasecmp(connection.development, "true")) {
        (void)snprintf(connection.account, sizeof connection.account, "%s", DEVELOPMENT_ACCOUNT);    /* these three */
        (void)snprintf(connection.key, sizeof connection.key, "%s", DEVELOPMENT_KEY);                /* are known to */
        (void)snprintf(connection.endpoint, sizeof connection.endpoint, "%s", DEVELOPMENT_ENDPOINT); /* fit */
    }
    char endpoint[256];
    if (status == STATUS_OK)
        status = connection_endpoint(&connection, endpoint, sizeof endpoint, err);
    if (status == STATUS_OK)
        status = connection_credential(&connection, &credential, err);
    if (status == STATUS_OK && strlen(endpoint) >= endpoint_size)
        status = err_set(err, STATUS_INVALID, "connection string: the endpoint is too long");
    if (status != STATUS_OK)
        return status;
    memcpy(ret_endpoint, endpoint, strlen(endpoint) + 1);
    *ret_credential = credential;
    return STATUS_OK;
}
