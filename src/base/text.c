/* text.c - bytes as text and back. */
#include "base/text.h"

#include <string.h>

static const char hex_digits[] = "0123456789abcdef";
static const char base64_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void hex_encode(const void *bytes, size_t len, char *ret_text)
{
    const uint8_t *in = bytes;
    for (size_t i = 0; i < len; i++) {
        *ret_text++ = hex_digits[in[i] >> 4];
        *ret_text++ = hex_digits[in[i] & 15];
    }
    *ret_text = '\0';
}

static int hex_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    if (digit >= 'a' && digit <= 'f')
        return digit - 'a' + 10;
    if (digit >= 'A' && digit <= 'F')
        return digit - 'A' + 10;
    return -1;
}

bool hex_decode(const char *text, void *ret_bytes, size_t len)
{
    uint8_t *out = ret_bytes;
    if (strlen(text) != 2 * len)
        return false;
    for (size_t i = 0; i < 2 * len; i++)
        if (hex_value(text[i]) < 0)
            return false;
    for (size_t i = 0; i < len; i++)
        out[i] = (uint8_t)(hex_value(text[2 * i]) << 4 | hex_value(text[2 * i + 1]));
    return true;
}

void base64_encode(const void *bytes, size_t len, char *ret_text)
{
    const uint8_t *in = bytes;
    for (size_t i = 0; i < len; i += 3) {
        uint32_t group = (uint32_t)in[i] << 16;
        group |= i + 1 < len ? (uint32_t)in[i + 1] << 8 : 0;
        group |= i + 2 < len ? in[i + 2] : 0;
        *ret_text++ = base64_digits[group >> 18];
        *ret_text++ = base64_digits[group >> 12 & 63];
        *ret_text++ = i + 1 < len ? base64_digits[group >> 6 & 63] : '=';
        *ret_text++ = i + 2 < len ? base64_digits[group & 63] : '=';
    }
    *ret_text = '\0';
}

static int base64_value(char digit)
{
    if (digit >= 'A' && digit <= 'Z')
        return digit - 'A';
    if (digit >= 'a' && digit <= 'z')
        return digit - 'a' + 26;
    if (digit >= '0' && digit <= '9')
        return digit - '0' + 52;
    return digit == '+' ? 62 : digit == '/' ? 63 : -1;
}

/* Four digits, the last `padding` of them '='. */
static bool base64_group(const char *text, size_t padding, uint32_t *ret_group)
{
    uint32_t group = 0;
    for (size_t i = 0; i < 4; i++) {
        int value = i < 4 - padding ? base64_value(text[i]) : 0;
        if (value < 0)
            return false;
        group = group << 6 | (uint32_t)value;
    }
    /* Bits that no byte takes must be zero, else two texts would mean the same bytes. */
    if (padding && (group & ((1u << 8 * padding) - 1)))
        return false;
    *ret_group = group;
    return true;
}

bool base64_decode(const char *text, void *ret_bytes, size_t len_max, size_t *ret_len)
{
    size_t len = strlen(text), used = 0;
    uint8_t *out = ret_bytes;
    if (len % 4)
        return false;
    for (size_t i = 0; i < len; i += 4) {
        bool last = i + 4 == len;
        size_t padding = last && text[i + 3] == '=' ? (text[i + 2] == '=' ? 2 : 1) : 0;
        uint32_t group = 0;
        if (!base64_group(text + i, padding, &group) || len_max - used < 3 - padding)
            return false;
        for (size_t k = 0; k < 3 - padding; k++)
            out[used++] = (uint8_t)(group >> (16 - 8 * k));
    }
    *ret_len = used;
    return true;
}

static bool unreserved(uint8_t byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
           byte == '-' || byte == '.' || byte == '_' || byte == '~';
}

enum status percent_encode(struct buf *buf, const void *bytes, size_t len, bool keep_slash)
{
    const uint8_t *in = bytes;
    size_t before = buf->len;
    for (size_t i = 0; i < len; i++) {
        bool plain = unreserved(in[i]) || (keep_slash && in[i] == '/');
        char escape[3] = {'%', "0123456789ABCDEF"[in[i] >> 4], "0123456789ABCDEF"[in[i] & 15]};
        enum status status = plain ? buf_append(buf, &in[i], 1) : buf_append(buf, escape, 3);
        if (status != STATUS_OK) {
            buf_cut(buf, before);
            return status;
        }
    }
    return STATUS_OK;
}

/* The byte that begins at text[*at], which moves behind it; -1 for a broken escape. */
static int percent_byte(const char *text, size_t len, size_t *at)
{
    if (text[*at] != '%')
        return (uint8_t)text[(*at)++];
    if (len - *at < 3)
        return -1;
    int high = hex_value(text[*at + 1]), low = hex_value(text[*at + 2]);
    *at += 3;
    return high < 0 || low < 0 || high + low == 0 ? -1 : high << 4 | low;
}

enum status percent_decode(struct buf *buf, const char *text, size_t len)
{
    size_t before = buf->len;
    enum status status = STATUS_OK;
    for (size_t at = 0; at < len && status == STATUS_OK;) {
        int value = percent_byte(text, len, &at);
        char byte = (char)value;
        status = value < 0 ? STATUS_INVALID : buf_append(buf, &byte, 1);
    }
    if (status != STATUS_OK)
        buf_cut(buf, before);
    return status;
}

bool parse_uint64(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value)
{
    uint64_t value = 0;
    if (!*text)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
            return false;
    }
    if (value < min || value > max)
        return false;
    *ret_value = value;
    return true;
}

/* The length of the valid UTF-8 sequence at `in`, 0 where there is none. The second byte's range excludes overlong
 * forms, surrogates and what lies beyond U+10FFFF (RFC 3629, 4). */
static size_t utf8_sequence(const uint8_t *in, size_t len)
{
    uint8_t first = in[0], low = 0x80, high = 0xbf;
    if (first < 0x80)
        return 1;
    if (first < 0xc2 || first > 0xf4)
        return 0;
    size_t need = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (first == 0xe0)
        low = 0xa0;
    if (first == 0xed)
        high = 0x9f;
    if (first == 0xf0)
        low = 0x90;
    if (first == 0xf4)
        high = 0x8f;
    if (len < need || in[1] < low || in[1] > high)
        return 0;
    for (size_t i = 2; i < need; i++)
        if (in[i] < 0x80 || in[i] > 0xbf)
            return 0;
    return need;
}

bool utf8_valid(const void *bytes, size_t len)
{
    const uint8_t *in = bytes;
    while (len) {
        size_t step = utf8_sequence(in, len);
        if (!step)
            return false;
        in += step;
        len -= step;
    }
    return true;
}

/* C0, DEL, and U+0080 to U+009F, which a terminal may obey too. */
static bool control(const uint8_t *in, size_t step)
{
    return (step == 1 && (in[0] < 0x20 || in[0] == 0x7f)) || (step == 2 && in[0] == 0xc2 && in[1] < 0xa0);
}

/* Appends what stands for the sequence at `in`, and tells how many bytes that took. */
static enum status quote_one(struct buf *buf, const uint8_t *in, size_t len, size_t *ret_step)
{
    size_t step = utf8_sequence(in, len);
    bool plain = step && !control(in, step) && in[0] != '"' && in[0] != '\\';
    *ret_step = plain ? step : 1;
    if (plain)
        return buf_append(buf, in, step);
    char escape[4] = {'\\', 'x', hex_digits[in[0] >> 4], hex_digits[in[0] & 15]};
    return buf_append(buf, escape, sizeof escape);
}

enum status quote_text(struct buf *buf, const void *bytes, size_t len)
{
    const uint8_t *in = bytes;
    size_t before = buf->len, step = 0;
    enum status status = buf_append_text(buf, "\"");
    for (size_t at = 0; at < len && status == STATUS_OK; at += step)
        status = quote_one(buf, in + at, len - at, &step);
    if (status == STATUS_OK)
        status = buf_append_text(buf, "\"");
    if (status != STATUS_OK)
        buf_cut(buf, before);
    return status;
}
