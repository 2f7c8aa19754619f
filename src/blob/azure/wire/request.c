/* request.c - building requests. */
#include "blob/azure/wire/request.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void fail(struct wire_request *request, enum status status)
{
    if (request->failure == STATUS_OK)
        request->failure = status;
}

/* Moves text into the request; "" where it does not fit. */
static const char *keep(struct wire_request *request, const char *text)
{
    size_t size = strlen(text) + 1;
    if (size > sizeof request->text - request->text_used) {
        fail(request, STATUS_NO_SPACE);
        return "";
    }
    char *place = request->text + request->text_used;
    memcpy(place, text, size);
    request->text_used += size;
    return place;
}

static void add_path(struct wire_request *request, const struct wire_place *place, const char *blob)
{
    struct buf path AUTO_BUF;
    buf_init(&path, WIRE_TEXT_BYTES);
    enum status status = buf_append_text(&path, place->base_path);
    if (status == STATUS_OK)
        status = buf_append_text(&path, "/");
    if (status == STATUS_OK && place->container)
        status = buf_append_text(&path, place->container);
    if (status == STATUS_OK && blob)
        status = buf_append_text(&path, "/");
    if (status == STATUS_OK && blob)
        status = percent_encode(&path, blob, strlen(blob), true);
    if (status != STATUS_OK)
        fail(request, status);
    request->path = keep(request, path.bytes);
}

void request_init(struct wire_request *request, const char *method, const struct wire_place *place, const char *blob)
{
    request->method = method;
    request->header_count = request->query_count = request->body_len = request->text_used = 0;
    request->failure = STATUS_OK;
    request->date[0] = request->authorization[0] = '\0';
    request->headers[request->header_count++] = (struct wire_field){"x-ms-date", request->date};
    request->headers[request->header_count++] = (struct wire_field){"x-ms-version", WIRE_VERSION};
    add_path(request, place, blob);
}

/* Visible ASCII and inner blanks: what passes through HTTP, and is signed, unchanged. */
static bool header_value_valid(const char *value)
{
    size_t len = strlen(value);
    for (size_t i = 0; i < len; i++)
        if (value[i] < 0x20 || value[i] > 0x7e || (value[i] == ' ' && (i == 0 || i == len - 1 || value[i + 1] == ' ')))
            return false;
    return true;
}

void request_header(struct wire_request *request, const char *name, const char *value)
{
    if (!header_value_valid(value)) {
        fail(request, STATUS_INVALID);
        return;
    }
    INVARIANT(request->header_count < WIRE_HEADERS_MAX);
    const char *kept = keep(request, value);
    request->headers[request->header_count++] = (struct wire_field){name, kept};
}

static void __attribute__((format(printf, 3, 4)))
header_printf(struct wire_request *request, const char *name, const char *format, ...)
{
    char value[128];
    va_list args;
    va_start(args, format);
    int need = vsnprintf(value, sizeof value, format, args);
    va_end(args);
    if (need < 0 || (size_t)need >= sizeof value)
        fail(request, STATUS_NO_SPACE);
    else
        request_header(request, name, value);
}

void request_query(struct wire_request *request, const char *name, const char *value)
{
    INVARIANT(request->query_count < WIRE_QUERY_MAX);
    const char *kept = keep(request, value);
    request->query[request->query_count++] = (struct wire_field){name, kept};
}

enum status request_status(const struct wire_request *request)
{
    return request->failure;
}

static void add_body(struct wire_request *request, size_t len, const uint8_t md5[MD5_BYTES], const char *content_type)
{
    char text[BASE64_SIZE(MD5_BYTES)];
    base64_encode(md5, MD5_BYTES, text);
    request->body_len = len;
    request_header(request, "Content-MD5", text);
    request_header(request, "Content-Type", content_type);
}

static void add_if_absent(struct wire_request *request)
{
    request_header(request, "If-None-Match", "*");
}

static void add_label(struct wire_request *request, const struct wire_label *label)
{
    const struct wire_field texts[] = {
        {"x-ms-blob-content-type", label->content_type ? label->content_type : "application/octet-stream"},
        {"x-ms-meta-catalogue", label->catalogue},
        {"x-ms-meta-token", label->token},
        {"x-ms-meta-name", label->name_hex},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].value && *texts[i].value)
            request_header(request, texts[i].name, texts[i].value);
    if (label->document)
        header_printf(request, "x-ms-meta-document", "%lld", (long long)label->document);
    if (label->version)
        header_printf(request, "x-ms-meta-version", "%lld", (long long)label->version);
    if (label->state)
        header_printf(request, "x-ms-tags", "state=%s", label->state);
}

void request_put(struct wire_request *request, const struct wire_place *place, const char *blob, size_t len,
                 const uint8_t md5[MD5_BYTES], const struct wire_label *label)
{
    request_init(request, "PUT", place, blob);
    request_header(request, "x-ms-blob-type", "BlockBlob");
    add_body(request, len, md5, "application/octet-stream");
    add_if_absent(request);
    add_label(request, label);
}

void request_put_text(struct wire_request *request, const struct wire_place *place, const char *blob, size_t len,
                      const uint8_t md5[MD5_BYTES], const char *etag)
{
    request_init(request, "PUT", place, blob);
    request_header(request, "x-ms-blob-type", "BlockBlob");
    add_body(request, len, md5, "text/plain");
    if (etag)
        request_header(request, "If-Match", etag);
    else
        add_if_absent(request);
}

void request_block(struct wire_request *request, const struct wire_place *place, const char *blob, const char *block_id,
                   size_t len, const uint8_t md5[MD5_BYTES])
{
    request_init(request, "PUT", place, blob);
    request_query(request, "comp", "block");
    request_query(request, "blockid", block_id);
    add_body(request, len, md5, "application/octet-stream");
}

void request_block_from(struct wire_request *request, const struct wire_place *place, const char *blob,
                        const char *block_id, const char *source_url, const char *source_etag, struct wire_range range)
{
    request_init(request, "PUT", place, blob);
    request_query(request, "comp", "block");
    request_query(request, "blockid", block_id);
    request_header(request, "x-ms-copy-source", source_url);
    request_header(request, "x-ms-source-if-match", source_etag);
    header_printf(request, "x-ms-source-range", "bytes=%llu-%llu", (unsigned long long)range.offset,
                  (unsigned long long)(range.offset + range.len - 1));
}

void request_commit(struct wire_request *request, const struct wire_place *place, const char *blob, size_t len,
                    const uint8_t md5[MD5_BYTES], const struct wire_label *label)
{
    request_init(request, "PUT", place, blob);
    request_query(request, "comp", "blocklist");
    add_body(request, len, md5, "application/xml");
    add_if_absent(request);
    add_label(request, label);
}

void request_head(struct wire_request *request, const struct wire_place *place, const char *blob)
{
    request_init(request, "HEAD", place, blob);
}

void request_read(struct wire_request *request, const struct wire_place *place, const char *blob, const char *etag,
                  struct wire_range range)
{
    request_init(request, "GET", place, blob);
    request_header(request, "If-Match", etag);
    header_printf(request, "Range", "bytes=%llu-%llu", (unsigned long long)range.offset,
                  (unsigned long long)(range.offset + range.len - 1));
}

void request_get(struct wire_request *request, const struct wire_place *place, const char *blob)
{
    request_init(request, "GET", place, blob);
}

void request_delete(struct wire_request *request, const struct wire_place *place, const char *blob, const char *etag,
                    const char *state)
{
    INVARIANT(!etag || !state); /* P7: a server that met both might look at one alone */
    request_init(request, "DELETE", place, blob);
    if (etag)
        request_header(request, "If-Match", etag);
    if (state)
        header_printf(request, "x-ms-if-tags", "\"state\"='%s'", state);
}

void request_tags_set(struct wire_request *request, const struct wire_place *place, const char *blob, size_t len,
                      const uint8_t md5[MD5_BYTES])
{
    request_init(request, "PUT", place, blob);
    request_query(request, "comp", "tags");
    add_body(request, len, md5, "application/xml");
}

void request_tags_get(struct wire_request *request, const struct wire_place *place, const char *blob)
{
    request_init(request, "GET", place, blob);
    request_query(request, "comp", "tags");
}

void request_list(struct wire_request *request, const struct wire_place *place, const struct wire_page *page)
{
    char results[16];
    (void)snprintf(results, sizeof results, "%u", page->results_max); /* ten digits at most */
    request_init(request, "GET", place, NULL);
    request_query(request, "restype", "container");
    request_query(request, "comp", "list");
    request_query(request, "include", page->tags ? "metadata,tags,uncommittedblobs" : "metadata,uncommittedblobs");
    request_query(request, "maxresults", results);
    if (*page->prefix)
        request_query(request, "prefix", page->prefix);
    if (page->marker)
        request_query(request, "marker", page->marker);
}

void request_container_create(struct wire_request *request, const struct wire_place *place)
{
    request_init(request, "PUT", place, NULL);
    request_query(request, "restype", "container");
}

void request_account(struct wire_request *request, const char *base_path)
{
    request_init(request, "GET", &(struct wire_place){.base_path = base_path}, NULL);
    request_query(request, "restype", "account");
    request_query(request, "comp", "properties");
}

enum status request_target(const struct wire_request *request, const char *sas, struct buf *buf)
{
    enum status status = buf_append_text(buf, request->path);
    for (size_t i = 0; i < request->query_count && status == STATUS_OK; i++) {
        const struct wire_field *field = &request->query[i];
        status = buf_printf(buf, "%c%s=", i ? '&' : '?', field->name);
        if (status == STATUS_OK)
            status = percent_encode(buf, field->value, strlen(field->value), false);
    }
    if (status == STATUS_OK && sas)
        status = buf_printf(buf, "%c%s", request->query_count ? '&' : '?', sas);
    return status;
}
