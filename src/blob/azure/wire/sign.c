/* sign.c - strings to sign, and their signatures. */
#include "blob/azure/wire/sign.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIGN_TEXT_BYTES (32u * 1024)

static const char *header_value(const struct wire_request *request, const char *name)
{
    for (size_t i = 0; i < request->header_count; i++)
        if (!strcmp(request->headers[i].name, name))
            return request->headers[i].value;
    return "";
}

static enum status add_line(struct buf *text, const char *value)
{
    enum status status = buf_append_text(text, value);
    return status == STATUS_OK ? buf_append_text(text, "\n") : status;
}

/* Verb, then the standard headers in the fixed order, each on its line though it be empty. Date stays empty since
 * x-ms-date is sent. */
static enum status add_standard_lines(const struct wire_request *request, struct buf *text)
{
    static const char *const before_length[] = {"Content-Encoding", "Content-Language"};
    static const char *const after_length[] = {"Content-MD5",         "Content-Type", "Date",
                                               "If-Modified-Since",   "If-Match",     "If-None-Match",
                                               "If-Unmodified-Since", "Range"};
    enum status status = add_line(text, request->method);
    for (size_t i = 0; i < sizeof before_length / sizeof *before_length && status == STATUS_OK; i++)
        status = add_line(text, header_value(request, before_length[i]));
    char length[24] = ""; /* a length of 0 is an empty line */
    if (request->body_len)
        (void)snprintf(length, sizeof length, "%zu", request->body_len);
    if (status == STATUS_OK)
        status = add_line(text, length);
    for (size_t i = 0; i < sizeof after_length / sizeof *after_length && status == STATUS_OK; i++)
        status = add_line(text, header_value(request, after_length[i]));
    return status;
}

static int compare_fields(const void *a, const void *b)
{
    return strcmp(((const struct wire_field *)a)->name, ((const struct wire_field *)b)->name);
}

static enum status add_service_headers(const struct wire_request *request, struct buf *text)
{
    struct wire_field fields[WIRE_HEADERS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < request->header_count; i++)
        if (!strncmp(request->headers[i].name, "x-ms-", 5))
            fields[count++] = request->headers[i];
    qsort(fields, count, sizeof *fields, compare_fields);
    enum status status = STATUS_OK;
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        status = buf_printf(text, "%s:%s\n", fields[i].name, fields[i].value);
    return status;
}

/* The path goes in as it is sent, the query's values decoded. An emulator's path names the account once more. */
static enum status add_resource(const struct wire_request *request, const char *account, struct buf *text)
{
    struct wire_field fields[WIRE_QUERY_MAX];
    if (request->query_count)
        memcpy(fields, request->query, request->query_count * sizeof *fields);
    qsort(fields, request->query_count, sizeof *fields, compare_fields);
    enum status status = buf_printf(text, "/%s%s", account, request->path);
    for (size_t i = 0; i < request->query_count && status == STATUS_OK; i++)
        status = buf_printf(text, "\n%s:%s", fields[i].name, fields[i].value);
    return status;
}

enum status sign_text(const struct wire_request *request, const char *account, struct buf *ret_text)
{
    enum status status = add_standard_lines(request, ret_text);
    if (status == STATUS_OK)
        status = add_service_headers(request, ret_text);
    if (status == STATUS_OK)
        status = add_resource(request, account, ret_text);
    return status;
}

static enum status sign_bytes(const struct sign_key *key, const struct buf *text,
                              char ret_signature[BASE64_SIZE(SHA256_BYTES)])
{
    uint8_t digest[SHA256_BYTES];
    enum status status = hmac_sha256(key->bytes, key->len, text->bytes, text->len, digest);
    if (status == STATUS_OK)
        base64_encode(digest, sizeof digest, ret_signature);
    return status;
}

enum status sign_request(struct wire_request *request, const struct sign_key *key, int64_t utc_s)
{
    date_http(utc_s, request->date);
    request->authorization[0] = '\0';
    if (!key)
        return STATUS_OK;
    struct buf text AUTO_BUF;
    buf_init(&text, SIGN_TEXT_BYTES);
    enum status status = sign_text(request, key->account, &text);
    char signature[BASE64_SIZE(SHA256_BYTES)];
    if (status == STATUS_OK)
        status = sign_bytes(key, &text, signature);
    if (status != STATUS_OK)
        return status;
    int need =
        snprintf(request->authorization, sizeof request->authorization, "SharedKey %s:%s", key->account, signature);
    return need > 0 && (size_t)need < sizeof request->authorization ? STATUS_OK : STATUS_NO_SPACE;
}

enum status sign_grant_text(const struct sign_grant *grant, const char *account, struct buf *ret_text)
{
    char start[DATE_ISO_SIZE], end[DATE_ISO_SIZE];
    date_iso(grant->start_utc_s, start);
    date_iso(grant->end_utc_s, end);
    /* Permissions, start, expiry, resource; no stored policy, no address range; protocol, version, kind; neither
     * snapshot nor encryption scope; the five headers of an answer stay as they are. */
    return buf_printf(ret_text, "%s\n%s\n%s\n/blob/%s/%s/%s\n\n\n%s\n%s\nb\n\n\n\n\n\n\n", grant->permissions, start,
                      end, account, grant->container, grant->blob, grant->https_only ? "https" : "https,http",
                      WIRE_VERSION);
}

enum status sign_grant(const struct sign_grant *grant, const struct sign_key *key, struct buf *ret_query)
{
    struct buf text AUTO_BUF;
    buf_init(&text, SIGN_TEXT_BYTES);
    char signature[BASE64_SIZE(SHA256_BYTES)], start[DATE_ISO_SIZE], end[DATE_ISO_SIZE];
    enum status status = sign_grant_text(grant, key->account, &text);
    if (status == STATUS_OK)
        status = sign_bytes(key, &text, signature);
    if (status != STATUS_OK)
        return status;
    date_iso(grant->start_utc_s, start);
    date_iso(grant->end_utc_s, end);
    const struct wire_field fields[] = {
        {"sv", WIRE_VERSION},
        {"st", start},
        {"se", end},
        {"sr", "b"},
        {"sp", grant->permissions},
        {"spr", grant->https_only ? "https" : "https,http"},
        {"sig", signature},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields && status == STATUS_OK; i++) {
        status = buf_printf(ret_query, "%s%s=", i ? "&" : "", fields[i].name);
        if (status == STATUS_OK)
            status = percent_encode(ret_query, fields[i].value, strlen(fields[i].value), false);
    }
    return status;
}
