/* fetch.c - looking at blobs: properties, ranges, listings, the control blob. Nothing here changes anything, so all of
 * it is repeated within the deadline. No answer is believed that does not say exactly what was asked for: a body goes
 * to the reader only from a 206 of the right blob, range and length (S22). */
#include "blob/azure/azure.h"
#include "blob/azure/wire/listing.h"

#include "base/cleanup.h"

#include <stdio.h>
#include <string.h>

#define LIST_PAGE_BLOBS   2000
#define LIST_MARKER_BYTES 4096
#define NANOSECONDS_A_S   1000000000

static void facts_set_meta(struct blob_facts *facts, const struct wire_meta *meta)
{
    memcpy(facts->token, meta->token, sizeof facts->token);
    memcpy(facts->catalogue, meta->catalogue, sizeof facts->catalogue);
    facts->document = meta->document;
    facts->version = meta->version;
}

static void facts_from(struct blob_facts *ret_facts, const struct wire_response *response)
{
    *ret_facts = (struct blob_facts){
        .size_bytes = response->length,
        .has_md5 = response->has_md5,
        .has_crc64 = response->has_crc64,
        .crc64 = response->crc64,
        .modified_utc_ns = response->has_modified ? response->modified_utc_s * NANOSECONDS_A_S : 0,
    };
    memcpy(ret_facts->etag, response->etag, sizeof ret_facts->etag);
    memcpy(ret_facts->md5, response->md5, sizeof ret_facts->md5);
    facts_set_meta(ret_facts, &response->meta);
}

static enum status head(struct azure *azure, const struct call *call, const char *name, struct blob_facts *ret_facts,
                        struct err *err)
{
    struct wire_request request;
    struct wire_response response;
    request_head(&request, &azure->place, name);
    struct azure_task task = {.kind = AZURE_READ, .expected = 200, .request = &request};
    enum status status = azure_perform_plain(azure, call, task, &response, err);
    if (status != STATUS_OK)
        return azure_blob_absent(status, &response, err);
    if (!*response.etag || !response.has_length)
        return err_set(err, STATUS_CORRUPT, "200 without %s", response.has_length ? "an ETag" : "a length");
    facts_from(ret_facts, &response);
    return STATUS_OK;
}

enum status azure_stat(struct blob_store *store, const struct call *call, const char *name,
                       struct blob_facts *ret_facts, struct err *err)
{
    enum status status = head((struct azure *)store, call, name, ret_facts, err);
    if (status != STATUS_OK)
        (void)err_context(err, "look at '%s'", name);
    return status;
}

/* The answer must be of the blob that was asked for, and exactly the range. */
static enum status check_range(const struct wire_response *response, const char *etag, struct wire_range range,
                               size_t got, struct err *err)
{
    if (strcmp(response->etag, etag) != 0)
        return err_set(err, STATUS_CORRUPT, "206 of another ETag than asked for");
    if (!response->has_range || response->range_first != range.offset ||
        response->range_last != range.offset + range.len - 1)
        return err_set(err, STATUS_CORRUPT, "206 of another range than asked for");
    if (got != range.len)
        return err_set(err, STATUS_CORRUPT, "%zu bytes instead of %llu", got, (unsigned long long)range.len);
    return STATUS_OK;
}

static enum status read_range(struct azure *azure, const struct call *call, const char *name, const char *etag,
                              struct wire_range range, void *ret_bytes, struct err *err)
{
    struct http_response http CLEANUP(http_response_done);
    http_response_init(&http, LIMIT_ERROR_BODY_BYTES);
    http.into_status = 206;
    http.into = ret_bytes;
    http.into_capacity = (size_t)range.len;
    struct wire_request request;
    struct wire_response response;
    request_read(&request, &azure->place, name, etag, range);
    struct azure_task task = {.kind = AZURE_READ, .expected = 206, .request = &request, .http = &http};
    enum status status = azure_perform(azure, call, &task, &response, err);
    if (status != STATUS_OK)
        return azure_blob_absent(status, &response, err);
    return check_range(&response, etag, range, http.into_len, err);
}

enum status azure_read(struct blob_store *store, const struct call *call, const char *name, const char *etag,
                       uint64_t offset, void *ret_bytes, size_t len, struct err *err)
{
    struct azure *azure = (struct azure *)store;
    INVARIANT(len > 0);
    enum status status = read_range(azure, call, name, etag, (struct wire_range){offset, len}, ret_bytes, err);
    struct blob_facts facts;
    /* A condition fails for a blob that is gone, too. */
    if (status == STATUS_CONDITION && head(azure, call, name, &facts, NULL) == STATUS_NOT_FOUND)
        status = err_set(err, STATUS_NOT_FOUND, "404 BlobNotFound");
    if (status != STATUS_OK)
        (void)err_context(err, "read %zu bytes of '%s' at %llu", len, name, (unsigned long long)offset);
    return status;
}

/* The whole of a small blob as text. */
static enum status read_text(struct azure *azure, const struct call *call, const char *name, char *ret_text,
                             size_t capacity, struct wire_response *ret_response, struct err *err)
{
    struct http_response http CLEANUP(http_response_done);
    http_response_init(&http, LIMIT_ERROR_BODY_BYTES);
    http.into_status = 200;
    http.into = ret_text;
    http.into_capacity = capacity - 1;
    struct wire_request request;
    request_get(&request, &azure->place, name);
    struct azure_task task = {.kind = AZURE_READ, .expected = 200, .request = &request, .http = &http};
    enum status status = azure_perform(azure, call, &task, ret_response, err);
    if (status != STATUS_OK)
        return azure_blob_absent(status, ret_response, err);
    if (memchr(ret_text, '\0', http.into_len))
        return err_set(err, STATUS_CORRUPT, "it is no text");
    ret_text[http.into_len] = '\0';
    if (ret_response->has_length && ret_response->length != http.into_len)
        return err_set(err, STATUS_CORRUPT, "%zu bytes instead of %llu", http.into_len,
                       (unsigned long long)ret_response->length);
    return STATUS_OK;
}

enum status azure_control_read(struct blob_store *store, const struct call *call, const char *name, char *ret_text,
                               size_t capacity, char ret_etag[LIMIT_ETAG_BYTES], struct err *err)
{
    struct wire_response response;
    uint8_t digest[MD5_BYTES];
    enum status status = read_text((struct azure *)store, call, name, ret_text, capacity, &response, err);
    if (status == STATUS_OK && !*response.etag)
        status = err_set(err, STATUS_CORRUPT, "200 without an ETag");
    if (status == STATUS_OK && response.has_md5 &&
        (md5(ret_text, strlen(ret_text), digest) != STATUS_OK || memcmp(digest, response.md5, MD5_BYTES) != 0))
        status = err_set(err, STATUS_CORRUPT, "its bytes have another digest than the service reports");
    if (status == STATUS_OK)
        memcpy(ret_etag, response.etag, LIMIT_ETAG_BYTES);
    else
        (void)err_context(err, "read '%s'", name);
    return status;
}

enum status azure_tag_get(struct blob_store *store, const struct call *call, const char *name, enum blob_tag *ret_tag,
                          struct err *err)
{
    struct azure *azure = (struct azure *)store;
    if (!azure->tags)
        return err_set(err, STATUS_UNSUPPORTED, "tags are off");
    struct http_response http CLEANUP(http_response_done);
    http_response_init(&http, LIMIT_ERROR_BODY_BYTES);
    struct wire_request request;
    struct wire_response response;
    struct wire_tags tags;
    request_tags_get(&request, &azure->place, name);
    struct azure_task task = {.kind = AZURE_READ, .expected = 200, .request = &request, .http = &http};
    enum status status = azure_perform(azure, call, &task, &response, err);
    if (status == STATUS_OK)
        status = tags_parse(http.body.bytes, http.body.len, &tags, err);
    else
        status = azure_blob_absent(status, &response, err);
    if (status != STATUS_OK) {
        (void)err_context(err, "read the tags of '%s'", name);
        return status;
    }
    bool pending = !strcmp(tags.state, "pending"), committed = !strcmp(tags.state, "committed");
    *ret_tag = pending ? TAG_PENDING : committed ? TAG_COMMITTED : TAG_UNKNOWN;
    return STATUS_OK;
}

struct listing {
    struct azure *azure;
    const struct call *call;
    const char *prefix;
    blob_list_fn *fn;
    void *context;
    struct err *err;
    enum status status;
    bool ended; /* by the callback */
};

/* Listings show a name that has only staged blocks like an empty blob. An empty blob without digest and token may be
 * one: a look tells. Ours are never asked about, since they carry a token. */
static enum status item_uncommitted(struct listing *listing, const struct wire_item *item, bool *ret_uncommitted)
{
    struct blob_facts facts;
    *ret_uncommitted = false;
    if (item->size_bytes || item->has_md5 || *item->meta.token)
        return STATUS_OK;
    enum status status = head(listing->azure, listing->call, item->name, &facts, listing->err);
    *ret_uncommitted = status == STATUS_NOT_FOUND;
    return *ret_uncommitted ? STATUS_OK : status;
}

static void listing_fill(struct blob_listing *ret_listing, const struct wire_item *item, bool uncommitted)
{
    bool pending = !strcmp(item->tags.state, "pending"), committed = !strcmp(item->tags.state, "committed");
    *ret_listing = (struct blob_listing){
        .name = item->name,
        .size_bytes = item->size_bytes,
        .etag = item->etag,
        .uncommitted = uncommitted,
        .tag = pending     ? TAG_PENDING
               : committed ? TAG_COMMITTED
                           : TAG_UNKNOWN,
        .modified_utc_ns = item->has_modified ? item->modified_utc_s * NANOSECONDS_A_S : 0,
    };
    struct blob_facts *facts = &ret_listing->facts;
    facts->size_bytes = item->size_bytes;
    facts->modified_utc_ns = ret_listing->modified_utc_ns;
    memcpy(facts->etag, item->etag, sizeof facts->etag);
    facts_set_meta(facts, &item->meta);
}

static bool on_item(void *context, const struct wire_item *item)
{
    struct listing *listing = context;
    bool uncommitted;
    if (strncmp(item->name, listing->prefix, strlen(listing->prefix)) != 0) {
        listing->status = err_set(listing->err, STATUS_CORRUPT, "the service lists a name without the prefix");
        return false;
    }
    listing->status = item_uncommitted(listing, item, &uncommitted);
    if (listing->status != STATUS_OK)
        return false;
    struct blob_listing told;
    listing_fill(&told, item, uncommitted);
    listing->ended = !listing->fn(listing->context, &told);
    return !listing->ended;
}

/* One page. `marker` is where it begins, and afterwards where the next one does. */
static enum status list_page(struct listing *listing, struct buf *marker)
{
    struct http_response http CLEANUP(http_response_done);
    http_response_init(&http, LIMIT_XML_BYTES);
    struct buf next AUTO_BUF;
    buf_init(&next, LIST_MARKER_BYTES);
    struct wire_request request;
    struct wire_response response;
    struct wire_page page = {
        .prefix = listing->prefix,
        .marker = marker->len ? marker->bytes : NULL,
        .results_max = LIST_PAGE_BLOBS,
        .tags = listing->azure->tags,
    };
    request_list(&request, &listing->azure->place, &page);
    struct azure_task task = {.kind = AZURE_READ, .expected = 200, .request = &request, .http = &http};
    enum status status = azure_perform(listing->azure, listing->call, &task, &response, listing->err);
    if (status == STATUS_OK)
        status = listing_parse(http.body.bytes, http.body.len, on_item, listing, &next, listing->err);
    if (status == STATUS_OK)
        status = listing->status;
    if (status == STATUS_OK && next.len && next.len == marker->len && !memcmp(next.bytes, marker->bytes, next.len))
        status = err_set(listing->err, STATUS_CORRUPT, "the service's list does not move on");
    if (status != STATUS_OK)
        return status;
    buf_clear(marker);
    return buf_append(marker, next.bytes, next.len);
}

enum status azure_list(struct blob_store *store, const struct call *call, const char *prefix, blob_list_fn *fn,
                       void *context, struct err *err)
{
    struct listing listing = {
        .azure = (struct azure *)store, .call = call, .prefix = prefix, .fn = fn, .context = context, .err = err};
    struct buf marker AUTO_BUF;
    buf_init(&marker, LIST_MARKER_BYTES);
    enum status status;
    do
        status = list_page(&listing, &marker);
    while (status == STATUS_OK && marker.len && !listing.ended); /* a page may be empty and not the last */
    if (status != STATUS_OK)
        (void)err_context(err, "list the blobs under '%s'", prefix);
    return status;
}
