/* listing.h - one page of List Blobs. Pure, any thread. */
#ifndef READYFS_BLOB_AZURE_WIRE_LISTING_H
#define READYFS_BLOB_AZURE_WIRE_LISTING_H

#include "blob/azure/wire/response.h"
#include "blob/azure/wire/xml.h"

struct wire_item {
    const char *name; /* decoded; borrowed for the callback */
    uint64_t size_bytes;
    char etag[LIMIT_ETAG_BYTES]; /* in quotes, as headers have it, though listings leave them out; "" where not told */
    bool has_md5;
    struct wire_meta meta;
    struct wire_tags tags;
    bool has_modified;
    int64_t modified_utc_s;
};

/* Returns false to end the listing. */
typedef bool listing_fn(void *context, const struct wire_item *item);

/* Calls fn for each blob of the page and appends the marker of the next page, which is opaque and "" at the end, to
 * `ret_marker`. An entry without a name, or with a broken one, makes the page CORRUPT: skipping it would be a lie. */
MUST_CHECK enum status listing_parse(const char *bytes, size_t len, listing_fn *fn, void *context,
                                     struct buf *ret_marker, struct err *err);

#endif
