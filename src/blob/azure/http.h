/* http.h - the port over one HTTP exchange: one request, at most one answer, never a repetition that could be noticed.
 *
 * What may be repeated, and what an answer means, is the store's business; this port only tells apart, with certainty,
 * what can be told apart:
 *
 *   HTTP_NOT_SENT  the server cannot have got the whole request: no connection, no trust, or broken off before the last
 *                  byte of the request left. Nothing was carried out.
 *   HTTP_ANSWERED  a whole answer arrived.
 *   HTTP_LOST      the whole request may have arrived, the answer did not (or not whole): it may have been carried out,
 *                  now or later.
 *
 * With NOT_SENT and LOST the report says why, as UNREACHABLE, TIMEOUT, INTERRUPTED (the cancel flag), NO_MEMORY, ACCESS
 * (the server's certificate is not trusted; asking again will not help) or CORRUPT (an answer beyond its limit). It
 * never holds a URL, since that may carry a signature. Any thread.
 */
#ifndef READYFS_BLOB_AZURE_HTTP_H
#define READYFS_BLOB_AZURE_HTTP_H

#include "base/buf.h"
#include "blob/azure/wire/request.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_HEADERS_BYTES (32u * 1024) /* of an answer */

enum http_outcome {
    HTTP_NOT_SENT,
    HTTP_ANSWERED,
    HTTP_LOST,
};

/* All pointers are borrowed until the exchange returns. */
struct http_request {
    const char *method;
    const char *url;
    const struct wire_field *headers; /* those with a NULL or empty value are left out */
    size_t header_count;
    const void *body; /* NULL where body_len is 0; Content-Length is always sent with PUT */
    size_t body_len;
    bool repeatable;              /* carrying it out twice does no harm: a kept-alive connection that turns out to be
                                     dead may be replaced silently */
    int64_t quiet_ms;             /* this long without a byte moving is a TIMEOUT */
    const atomic_bool *cancelled; /* NULL, or true ends it soon with INTERRUPTED */
};

/* Prepared with http_response_init, freed with http_response_done. */
struct http_response {
    int status;         /* 100 to 599 */
    struct buf headers; /* "Name: value\n" lines of the last answer */
    struct buf body;    /* what does not go to `into`; its limit is the buffer's */
    int into_status;    /* the body of an answer with this status goes to `into`; 0: none does */
    void *into;         /* borrowed, `into_capacity` bytes; never touched by an answer with another status */
    size_t into_capacity, into_len;
    int64_t moving_ms; /* how much of the exchange passed until the last byte of a body had moved: not idle time */
};

struct http;

struct http_ops {
    enum http_outcome (*exchange)(struct http *http, const struct http_request *request, struct http_response *response,
                                  struct err *err);
    void (*close)(struct http *http);
};

struct http {
    const struct http_ops *ops;
};

void http_response_init(struct http_response *response, size_t body_max);
void http_response_clear(struct http_response *response); /* before another attempt: empties what the last one left */
void http_response_done(struct http_response *response);

/* NULL is fine. Returns NULL. */
struct http *http_close(struct http *http);

#endif
