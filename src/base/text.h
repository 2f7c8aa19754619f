/* text.h - bytes as text and back: hex, base64, percent-encoding, numbers. Pure; every output has a stated size. */
#ifndef READYFS_BASE_TEXT_H
#define READYFS_BASE_TEXT_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

#define HEX_SIZE(bytes)    ((size_t)(bytes)*2 + 1)
#define BASE64_SIZE(bytes) (((size_t)(bytes) + 2) / 3 * 4 + 1)

/* Lower-case hex; `ret_text` has HEX_SIZE(len) bytes. */
void hex_encode(const void *bytes, size_t len, char *ret_text);

/* Exactly 2 * len digits of either case; false for anything else. */
MUST_CHECK bool hex_decode(const char *text, void *ret_bytes, size_t len);

/* Standard alphabet with padding (RFC 4648, 4); `ret_text` has BASE64_SIZE(len) bytes. */
void base64_encode(const void *bytes, size_t len, char *ret_text);

/* Decodes `text` strictly into at most `len_max` bytes; false for anything malformed or too long. */
MUST_CHECK bool base64_decode(const char *text, void *ret_bytes, size_t len_max, size_t *ret_len);

/* Appends `bytes` with every byte but unreserved ones (RFC 3986, 2.3) as %XX; '/' stays too where `keep_slash`. */
MUST_CHECK enum status percent_encode(struct buf *buf, const void *bytes, size_t len, bool keep_slash);

/* Decodes %XX; INVALID for a broken escape or %00. '+' stays '+'. */
MUST_CHECK enum status percent_decode(struct buf *buf, const char *text, size_t len);

/* A whole decimal number from min to max and nothing else. */
MUST_CHECK bool parse_uint64(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value);

/* Appends user bytes in double quotes on one line: control bytes, quotes, backslashes and invalid UTF-8 as \xNN. */
MUST_CHECK enum status quote_text(struct buf *buf, const void *bytes, size_t len);

/* Whether the bytes are valid UTF-8 (RFC 3629: no surrogates, no overlong forms). */
bool utf8_valid(const void *bytes, size_t len);

#endif
