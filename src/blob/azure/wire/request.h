/* request.h - one request to the Blob service, from an operation to what goes on the wire.
 *
 * A request is built by one of the functions named after the REST operation, dressed by sign.h, and handed to the HTTP
 * port: method, target (path and query as sent) and headers. The body stays with the caller, who says its length and
 * MD5 (P4). A request keeps all its text inside itself and never allocates; what does not fit, or has no place in a
 * header, is remembered and told by request_status(), so that the builders need no checks in between. A request must
 * not be copied or moved. Pure, one thread at a time.
 *
 * Every create carries If-None-Match: * (P3), every write at most one condition (P7). Metadata names are [a-z][a-z0-9]*
 * alone: then plain byte order is the order that every server signs in.
 */
#ifndef READYFS_BLOB_AZURE_WIRE_REQUEST_H
#define READYFS_BLOB_AZURE_WIRE_REQUEST_H

#include "base/buf.h"
#include "base/digest.h"
#include "blob/azure/wire/date.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_VERSION            "2021-12-02" /* x-ms-version: conditions on tags, encoded names in listings */
#define WIRE_HEADERS_MAX        24
#define WIRE_QUERY_MAX          8
#define WIRE_TEXT_BYTES         8192
#define WIRE_AUTHORIZATION_SIZE 160 /* "SharedKey ", an account of 24 characters, ':', 44 of base64; room to spare */

struct wire_field {
    const char *name;
    const char *value;
};

struct wire_request {
    const char *method;                          /* static */
    const char *path;                            /* percent-encoded, as it is sent and signed */
    struct wire_field headers[WIRE_HEADERS_MAX]; /* but for Authorization; x-ms-* in lower case */
    size_t header_count;
    struct wire_field query[WIRE_QUERY_MAX]; /* decoded, keys in lower case */
    size_t query_count;
    size_t body_len;                             /* what Content-Length says */
    char date[DATE_HTTP_SIZE];                   /* the value of x-ms-date; rewritten for each attempt */
    char authorization[WIRE_AUTHORIZATION_SIZE]; /* "" where a shared access signature goes with the target */
    enum status failure;
    char text[WIRE_TEXT_BYTES]; /* what the pointers above point to */
    size_t text_used;
};

/* Where the blobs are. Borrowed for the call that it is given to. */
struct wire_place {
    const char *base_path; /* "" for an account with a host of its own; "/devstoreaccount1" for an emulator */
    const char *container;
};

/* What a new blob says of itself (metadata and tags). Numbers that are 0 and texts that are NULL are left out. */
struct wire_label {
    const char *catalogue, *token, *name_hex, *content_type;
    int64_t document, version;
    const char *state; /* the tag `state`; NULL for no tags */
};

struct wire_range {
    uint64_t offset, len; /* len > 0 */
};

/* A request without headers of its own: method and path of a blob (`blob` NULL: of the container; `place` NULL: of the
 * account at `base_path`). The functions below call it; tests build other operations with it. */
void request_init(struct wire_request *request, const char *method, const struct wire_place *place, const char *blob);
void request_header(struct wire_request *request, const char *name, const char *value);
void request_query(struct wire_request *request, const char *name, const char *value);

/* OK, or what the builders met: NO_SPACE (does not fit), INVALID (a byte that no header may hold). */
MUST_CHECK enum status request_status(const struct wire_request *request);

/* Put Blob, if absent. */
void request_put(struct wire_request *request, const struct wire_place *place, const char *blob, size_t len,
                 const uint8_t md5[MD5_BYTES], const struct wire_label *label);

/* Put Blob of a small text, if absent (etag NULL) or over the one that has `etag`. */
void request_put_text(struct wire_request *request, const struct wire_place *place, const char *blob, size_t len,
                      const uint8_t md5[MD5_BYTES], const char *etag);

/* Put Block. `block_id` is base64. */
void request_block(struct wire_request *request, const struct wire_place *place, const char *blob, const char *block_id,
                   size_t len, const uint8_t md5[MD5_BYTES]);

/* Put Block From URL: the range of `source_url` (with its signature), if it still has `source_etag`. */
void request_block_from(struct wire_request *request, const struct wire_place *place, const char *blob,
                        const char *block_id, const char *source_url, const char *source_etag, struct wire_range range);

/* Put Block List, if absent. The body is xml.h's. */
void request_commit(struct wire_request *request, const struct wire_place *place, const char *blob, size_t len,
                    const uint8_t md5[MD5_BYTES], const struct wire_label *label);

/* Get Blob Properties. */
void request_head(struct wire_request *request, const struct wire_place *place, const char *blob);

/* Get Blob: a range of the blob that has `etag`; or the whole of whatever is there. */
void request_read(struct wire_request *request, const struct wire_place *place, const char *blob, const char *etag,
                  struct wire_range range);
void request_get(struct wire_request *request, const struct wire_place *place, const char *blob);

/* Delete Blob under at most one condition: pass an ETag, or the value that the tag `state` must have, or neither. */
void request_delete(struct wire_request *request, const struct wire_place *place, const char *blob, const char *etag,
                    const char *state);

/* Set Blob Tags (the body is xml.h's), Get Blob Tags. */
void request_tags_set(struct wire_request *request, const struct wire_place *place, const char *blob, size_t len,
                      const uint8_t md5[MD5_BYTES]);
void request_tags_get(struct wire_request *request, const struct wire_place *place, const char *blob);

/* List Blobs: what List returns of a page. */
struct wire_page {
    const char *prefix;
    const char *marker; /* NULL for the first page */
    unsigned results_max;
    bool tags; /* ask for the tags too */
};
void request_list(struct wire_request *request, const struct wire_place *place, const struct wire_page *page);

/* Create Container. Get Account Information. */
void request_container_create(struct wire_request *request, const struct wire_place *place);
void request_account(struct wire_request *request, const char *base_path);

/* Appends path, '?' and query as sent. `sas` (without '?', percent-encoded) follows untouched where not NULL. */
MUST_CHECK enum status request_target(const struct wire_request *request, const char *sas, struct buf *buf);

#endif
