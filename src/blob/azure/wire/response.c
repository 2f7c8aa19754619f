/* response.c - headers as values: a table from a header's name to the function that reads it. */
#include "blob/azure/wire/response.h"

#include "base/text.h"
#include "blob/azure/wire/date.h"

#include <string.h>
#include <strings.h>

#define HEADER_VALUE_SIZE  1024
#define RETRY_AFTER_MAX_MS (3600 * 1000)

struct reading {
    struct wire_response *response;
    int64_t now_utc_s;
};

typedef void read_fn(struct reading *reading, const char *value);

/* Copies a value that fits and is visible ASCII. */
static void set_text(char *ret_text, size_t size, const char *value)
{
    size_t len = strlen(value);
    if (len >= size)
        return;
    for (size_t i = 0; i < len; i++)
        if (value[i] < 0x20 || value[i] > 0x7e)
            return;
    memcpy(ret_text, value, len + 1);
}

bool etag_valid(const char *etag)
{
    size_t len = strlen(etag);
    if (len < 2 || len >= LIMIT_ETAG_BYTES || etag[0] != '"' || etag[len - 1] != '"')
        return false;
    for (size_t i = 1; i < len - 1; i++)
        if (etag[i] <= 0x20 || etag[i] > 0x7e || etag[i] == '"')
            return false;
    return true;
}

/* The 8 bytes of an Azure crc64, which are little-endian, in base64. */
static bool crc64_parse(const char *text, uint64_t *ret_crc64)
{
    uint8_t bytes[8];
    size_t len;
    if (!base64_decode(text, bytes, sizeof bytes, &len) || len != sizeof bytes)
        return false;
    uint64_t crc = 0;
    for (size_t i = sizeof bytes; i-- > 0;)
        crc = crc << 8 | bytes[i];
    *ret_crc64 = crc;
    return true;
}

void meta_set(struct wire_meta *meta, const char *name, const char *value)
{
    uint64_t number;
    if (!strcasecmp(name, "token"))
        set_text(meta->token, sizeof meta->token, value);
    else if (!strcasecmp(name, "catalogue"))
        set_text(meta->catalogue, sizeof meta->catalogue, value);
    else if (!strcasecmp(name, "document") && parse_uint64(value, 1, INT64_MAX, &number))
        meta->document = (int64_t)number;
    else if (!strcasecmp(name, "version") && parse_uint64(value, 1, INT64_MAX, &number))
        meta->version = (int64_t)number;
}

static void read_error_code(struct reading *reading, const char *value)
{
    set_text(reading->response->error_code, sizeof reading->response->error_code, value);
}

static void read_copy_source_code(struct reading *reading, const char *value)
{
    set_text(reading->response->copy_source_code, sizeof reading->response->copy_source_code, value);
}

static void read_request_id(struct reading *reading, const char *value)
{
    set_text(reading->response->request_id, sizeof reading->response->request_id, value);
}

static void read_etag(struct reading *reading, const char *value)
{
    if (etag_valid(value))
        set_text(reading->response->etag, sizeof reading->response->etag, value);
}

static void read_length(struct reading *reading, const char *value)
{
    reading->response->has_length = parse_uint64(value, 0, INT64_MAX, &reading->response->length);
}

/* "bytes FIRST-LAST/TOTAL" with FIRST <= LAST < TOTAL: the emulator's empty range of an empty blob is none. */
static void read_range(struct reading *reading, const char *value)
{
    char text[64] = "";
    set_text(text, sizeof text, value);
    char *dash = strchr(text, '-'), *slash = strchr(text, '/');
    if (strncmp(text, "bytes ", 6) || !dash || !slash || dash > slash)
        return;
    *dash = *slash = '\0';
    struct wire_response *response = reading->response;
    response->has_range = parse_uint64(slash + 1, 1, INT64_MAX, &response->range_total) &&
                          parse_uint64(dash + 1, 0, response->range_total - 1, &response->range_last) &&
                          parse_uint64(text + 6, 0, response->range_last, &response->range_first);
}

static void read_md5(struct reading *reading, const char *value)
{
    size_t len;
    struct wire_response *response = reading->response;
    response->has_md5 = base64_decode(value, response->md5, sizeof response->md5, &len) && len == sizeof response->md5;
}

static void read_crc64(struct reading *reading, const char *value)
{
    reading->response->has_crc64 = crc64_parse(value, &reading->response->crc64);
}

static void read_date(struct reading *reading, const char *value)
{
    reading->response->has_date = date_parse_http(value, &reading->response->date_utc_s);
}

static void read_modified(struct reading *reading, const char *value)
{
    reading->response->has_modified = date_parse_http(value, &reading->response->modified_utc_s);
}

/* The longest of the spellings that came counts. */
static void set_retry_after(struct wire_response *response, uint64_t wait_ms)
{
    int64_t wait = wait_ms < RETRY_AFTER_MAX_MS ? (int64_t)wait_ms : RETRY_AFTER_MAX_MS;
    if (!response->has_retry_after || wait > response->retry_after_ms)
        response->retry_after_ms = wait;
    response->has_retry_after = true;
}

static void read_retry_after_ms(struct reading *reading, const char *value)
{
    uint64_t wait_ms;
    if (parse_uint64(value, 0, UINT64_MAX, &wait_ms))
        set_retry_after(reading->response, wait_ms);
}

static void read_retry_after(struct reading *reading, const char *value)
{
    uint64_t wait_s;
    int64_t until_utc_s;
    if (parse_uint64(value, 0, UINT64_MAX / 1000, &wait_s))
        set_retry_after(reading->response, wait_s * 1000);
    else if (date_parse_http(value, &until_utc_s))
        set_retry_after(reading->response,
                        until_utc_s > reading->now_utc_s ? (uint64_t)(until_utc_s - reading->now_utc_s) * 1000 : 0);
}

static void read_hierarchical(struct reading *reading, const char *value)
{
    reading->response->hierarchical = !strcasecmp(value, "true");
}

static const struct {
    const char *name;
    read_fn *read;
} table[] = {
    {"x-ms-error-code", read_error_code},
    {"x-ms-copy-source-error-code", read_copy_source_code},
    {"x-ms-request-id", read_request_id},
    {"etag", read_etag},
    {"content-length", read_length},
    {"content-range", read_range},
    {"content-md5", read_md5},
    {"x-ms-content-crc64", read_crc64},
    {"date", read_date},
    {"last-modified", read_modified},
    {"retry-after", read_retry_after},
    {"retry-after-ms", read_retry_after_ms},
    {"x-ms-retry-after-ms", read_retry_after_ms},
    {"x-ms-is-hns-enabled", read_hierarchical},
};

static void read_header(struct reading *reading, const char *name, const char *value)
{
    static const char prefix[] = "x-ms-meta-";
    if (!strncasecmp(name, prefix, sizeof prefix - 1)) {
        meta_set(&reading->response->meta, name + sizeof prefix - 1, value);
        return;
    }
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcasecmp(name, table[i].name))
            table[i].read(reading, value);
}

/* Cuts "Name: value" in two, without the blanks around the value. */
static void read_line(struct reading *reading, const char *line, size_t len)
{
    char text[HEADER_VALUE_SIZE];
    if (len >= sizeof text || memchr(line, '\0', len))
        return;
    memcpy(text, line, len);
    while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\t' || text[len - 1] == '\r'))
        len--;
    text[len] = '\0';
    char *colon = strchr(text, ':');
    if (!colon)
        return;
    *colon = '\0';
    read_header(reading, text, colon + 1 + strspn(colon + 1, " \t"));
}

void response_read(struct wire_response *ret_response, int status, const char *lines, size_t len, int64_t now_utc_s)
{
    memset(ret_response, 0, sizeof *ret_response);
    ret_response->status = status;
    struct reading reading = {ret_response, now_utc_s};
    for (size_t at = 0; at < len;) {
        const char *end = memchr(lines + at, '\n', len - at);
        size_t line_len = end ? (size_t)(end - (lines + at)) : len - at;
        read_line(&reading, lines + at, line_len);
        at += line_len + 1;
    }
}
