/* response.h - the head of an answer: status and headers as values.
 *
 * Headers come as the HTTP port collects them: lines "Name: value", each ended by a line feed, the last block alone. A
 * header that is absent, malformed or too long counts as not given; whoever needs it must then refuse the answer.
 * Nothing here trusts the peer. Pure, any thread.
 */
#ifndef READYFS_BLOB_AZURE_WIRE_RESPONSE_H
#define READYFS_BLOB_AZURE_WIRE_RESPONSE_H

#include "base/digest.h"
#include "base/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a blob says of itself: "" and 0 where it does not. */
struct wire_meta {
    char token[LIMIT_TOKEN_BYTES], catalogue[LIMIT_TOKEN_BYTES];
    int64_t document, version;
};

struct wire_response {
    int status;
    char error_code[64], request_id[64]; /* "" where not given */
    char copy_source_code[64];           /* x-ms-copy-source-error-code */
    char etag[LIMIT_ETAG_BYTES];         /* with its quotes */
    bool has_length, has_range, has_md5, has_crc64, has_date, has_modified, has_retry_after;
    uint64_t length;                               /* Content-Length */
    uint64_t range_first, range_last, range_total; /* Content-Range: bytes FIRST-LAST/TOTAL */
    uint8_t md5[MD5_BYTES];                        /* Content-MD5 */
    uint64_t crc64;                                /* x-ms-content-crc64 */
    int64_t date_utc_s, modified_utc_s;            /* Date, Last-Modified */
    int64_t retry_after_ms;                        /* from 0 to an hour; of a date: the distance to `now` */
    bool hierarchical;                             /* x-ms-is-hns-enabled */
    struct wire_meta meta;
};

/* Reads `lines`; `now_utc_s` serves a Retry-After that is a date. */
void response_read(struct wire_response *ret_response, int status, const char *lines, size_t len, int64_t now_utc_s);

/* Takes one piece of metadata by its name without "x-ms-meta-", as listings tell it too. Others are ignored. */
void meta_set(struct wire_meta *meta, const char *name, const char *value);

/* Whether a value is an ETag that may go back into a header: in quotes, visible ASCII, weak ones not. */
bool etag_valid(const char *etag);

#endif
