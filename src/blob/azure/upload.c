/* upload.c - creating blobs: in one exchange, or from staged blocks.
 *
 * Every body goes out with its MD5, which the service checks before it carries anything out (P4). MD5 and not crc64,
 * since emulators compute the latter in slow script, and since the service keeps the MD5 of a single put and tells it
 * with every look at the blob. The caller's crc64 is compared with the bytes here, so that nothing can have changed
 * between the two.
 */
#include "blob/azure/azure.h"
#include "blob/azure/wire/sign.h"
#include "blob/azure/wire/xml.h"

#include "base/cleanup.h"
#include "base/digest.h"

#include <stdio.h>
#include <string.h>

#define BLOCK_LIST_BYTES  (8u * 1024 * 1024) /* LIMIT_BLOCKS entries have some 3.2 MB */
#define SOURCE_URL_BYTES  4096
#define GRANT_BACKDATED_S (15 * 60) /* the service's clock may be behind ours */
#define GRANT_LIFE_S      (15 * 60)

/* Our own look at the bytes, and the digest for the service's. */
static enum status digest_make(const void *bytes, size_t len, uint64_t expected_crc64, uint8_t ret_md5[MD5_BYTES],
                               struct err *err)
{
    if (crc64(0, bytes, len) != expected_crc64)
        return err_set(err, STATUS_CORRUPT, "the bytes to send are not those that were digested");
    if (md5(bytes, len, ret_md5) != STATUS_OK)
        return err_set(err, STATUS_NO_MEMORY, "digest the bytes to send");
    return STATUS_OK;
}

static enum status text_digest_make(const char *text, size_t len, uint8_t ret_md5[MD5_BYTES], struct err *err)
{
    return md5(text, len, ret_md5) == STATUS_OK ? STATUS_OK : err_set(err, STATUS_NO_MEMORY, "digest the text to send");
}

static struct wire_label label_of(const struct azure *azure, const struct blob_about *about)
{
    return (struct wire_label){
        .catalogue = about->catalogue,
        .token = about->token,
        .name_hex = about->name_hex,
        .content_type = about->content_type,
        .document = about->document,
        .version = about->version,
        .state = azure->tags && about->pending ? "pending" : NULL,
    };
}

/* What a success must say: the new ETag, and no other digest than ours. Without an ETag nobody knows what happened. */
static enum status check_created(const struct wire_response *response, const uint8_t *expected_md5, struct err *err)
{
    if (!*response->etag)
        return err_set(err, STATUS_UNKNOWN, "%d without an ETag", response->status);
    if (expected_md5 && response->has_md5 && memcmp(response->md5, expected_md5, MD5_BYTES))
        return err_set(err, STATUS_CORRUPT, "the service reports another digest than that of the bytes sent");
    return STATUS_OK;
}

static void facts_set(struct blob_facts *ret_facts, const struct wire_response *response,
                      const struct blob_about *about, uint64_t size_bytes)
{
    *ret_facts = (struct blob_facts){
        .size_bytes = size_bytes,
        .document = about->document,
        .version = about->version,
        .modified_utc_ns = response->has_modified ? response->modified_utc_s * 1000000000 : 0,
    };
    memcpy(ret_facts->etag, response->etag, sizeof ret_facts->etag);
    (void)snprintf(ret_facts->token, sizeof ret_facts->token, "%s", about->token ? about->token : ""); /* as long */
    (void)snprintf(ret_facts->catalogue, sizeof ret_facts->catalogue, "%s", about->catalogue ? about->catalogue : "");
}

enum status azure_put(struct blob_store *store, const struct call *call, const char *name, const void *bytes,
                      size_t len, uint64_t crc64, const struct blob_about *about, struct blob_facts *ret_facts,
                      struct err *err)
{
    struct azure *azure = (struct azure *)store;
    uint8_t digest[MD5_BYTES];
    struct wire_request request;
    struct wire_response response;
    struct wire_label label = label_of(azure, about);
    enum status status = digest_make(bytes, len, crc64, digest, err);
    if (status == STATUS_OK) {
        request_put(&request, &azure->place, name, len, digest, &label);
        status = azure_perform_plain(azure, call,
                                     (struct azure_task){.kind = AZURE_ONCE,
                                                         .expected = 201,
                                                         .create = true,
                                                         .request = &request,
                                                         .body = bytes},
                                     &response, err);
        status = azure_blob_absent(status, &response, err);
    }
    if (status == STATUS_OK)
        status = check_created(&response, digest, err);
    if (status != STATUS_OK) {
        (void)err_context(err, "put '%s'", name);
        return status;
    }
    facts_set(ret_facts, &response, about, len);
    ret_facts->has_md5 = response.has_md5;
    memcpy(ret_facts->md5, response.md5, MD5_BYTES);
    return STATUS_OK;
}

/* Staging is repeated by azure_perform(), also after an exchange that may still arrive: the same id always carries the
 * same bytes (P2), and a block that arrives late makes no blob. */
enum status azure_stage(struct blob_store *store, const struct call *call, const char *name,
                        const struct blob_block *block, const void *bytes, uint64_t crc64, struct err *err)
{
    struct azure *azure = (struct azure *)store;
    uint8_t digest[MD5_BYTES];
    struct wire_request request;
    struct wire_response response;
    enum status status = digest_make(bytes, (size_t)block->len, crc64, digest, err);
    if (status == STATUS_OK) {
        request_block(&request, &azure->place, name, block->id, (size_t)block->len, digest);
        status = azure_perform_plain(
            azure, call,
            (struct azure_task){.kind = AZURE_REPEATABLE, .expected = 201, .request = &request, .body = bytes},
            &response, err);
        status = azure_blob_absent(status, &response, err);
    }
    bool other = status == STATUS_OK && ((response.has_md5 && memcmp(response.md5, digest, MD5_BYTES)) ||
                                         (response.has_crc64 && response.crc64 != crc64));
    if (other)
        status = err_set(err, STATUS_CORRUPT, "the service reports another digest than that of the bytes sent");
    if (status != STATUS_OK)
        (void)err_context(err, "stage a block of '%s' at %llu", name, (unsigned long long)block->offset);
    return status;
}

/* The source's address with leave to read it, good for a quarter of an hour. Holds a signature: wipe it. */
static enum status source_url_make(const struct azure *azure, const char *source, struct buf *url)
{
    const struct endpoint *endpoint = &azure->endpoint;
    struct sign_key key = {azure->credential.account, azure->credential.key, azure->credential.key_len};
    int64_t now_utc_s = azure_now_s(azure);
    struct sign_grant grant = {
        .container = azure->container,
        .blob = source,
        .permissions = "r",
        .start_utc_s = now_utc_s > GRANT_BACKDATED_S ? now_utc_s - GRANT_BACKDATED_S : 0,
        .end_utc_s = now_utc_s + GRANT_LIFE_S,
        .https_only = endpoint->tls,
    };
    struct wire_request path;
    request_init(&path, "GET", &azure->place, source);
    enum status status = request_status(&path);
    if (status == STATUS_OK)
        status = buf_printf(url, "http%s://%s%s?", endpoint->tls ? "s" : "", endpoint->authority, path.path);
    return status == STATUS_OK ? sign_grant(&grant, &key, url) : status;
}

static enum status stage_from_perform(struct azure *azure, const struct call *call, struct wire_request *request,
                                      uint64_t *ret_crc64, struct err *err)
{
    struct wire_response response;
    struct azure_task task = {.kind = AZURE_REPEATABLE, .expected = 201, .request = request};
    enum status status = azure_perform_plain(azure, call, task, &response, err);
    if (status == STATUS_OK && !response.has_crc64)
        return err_set(err, STATUS_UNSUPPORTED, "the service does not say what it has copied");
    if (status == STATUS_OK)
        *ret_crc64 = response.crc64;
    return azure_blob_absent(status, &response, err);
}

enum status azure_stage_from(struct blob_store *store, const struct call *call, const char *name,
                             const struct blob_block *block, const char *source, const char *source_etag,
                             uint64_t source_offset, uint64_t *ret_crc64, struct err *err)
{
    struct azure *azure = (struct azure *)store;
    if (azure->credential.kind != CREDENTIAL_KEY)
        return err_set(err, STATUS_UNSUPPORTED, "copying on the server needs the account's key");
    INVARIANT(block->len > 0);
    struct wire_request request;
    struct buf url;
    buf_init(&url, SOURCE_URL_BYTES);
    enum status status = source_url_make(azure, source, &url);
    if (status == STATUS_OK) {
        request_block_from(&request, &azure->place, name, block->id, url.bytes, source_etag,
                           (struct wire_range){source_offset, block->len});
        status = stage_from_perform(azure, call, &request, ret_crc64, err);
        explicit_bzero(request.text, sizeof request.text);
        struct blob_facts facts;
        /* A condition fails for a source that is gone, too. */
        if (status == STATUS_CONDITION && azure_stat(store, call, source, &facts, NULL) == STATUS_NOT_FOUND)
            status = err_set(err, STATUS_NOT_FOUND, "404 BlobNotFound");
    } else {
        (void)err_set(err, status, "build the source's address");
    }
    if (url.capacity)
        explicit_bzero(url.bytes, url.capacity);
    buf_done(&url);
    if (status != STATUS_OK)
        (void)err_context(err, "copy a block of '%s' from '%s'", name, source);
    return status;
}

static enum status block_list_make(const struct blob_block *blocks, size_t count, struct buf *list, struct err *err)
{
    if (count > LIMIT_BLOCKS)
        return err_set(err, STATUS_TOO_LARGE, "%zu blocks are more than %d", count, LIMIT_BLOCKS);
    enum status status = block_list_begin(list);
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        status = block_list_add(list, blocks[i].id);
    if (status == STATUS_OK)
        status = block_list_end(list);
    return status == STATUS_OK ? status : err_set(err, status, "build the list of blocks");
}

/* Put Block List under If-None-Match: *, with what the blob says of itself. */
static enum status commit(struct azure *azure, const struct call *call, const char *name,
                          const struct blob_block *blocks, size_t count, const struct blob_about *about,
                          struct wire_response *ret_response, struct err *err)
{
    struct buf list AUTO_BUF;
    buf_init(&list, BLOCK_LIST_BYTES);
    uint8_t digest[MD5_BYTES];
    struct wire_request request;
    struct wire_label label = label_of(azure, about);
    enum status status = block_list_make(blocks, count, &list, err);
    if (status == STATUS_OK)
        status = text_digest_make(list.bytes, list.len, digest, err);
    if (status != STATUS_OK)
        return status;
    request_commit(&request, &azure->place, name, list.len, digest, &label);
    struct azure_task task = {
        .kind = AZURE_ONCE, .expected = 201, .create = true, .request = &request, .body = list.bytes};
    status = azure_perform_plain(azure, call, task, ret_response, err);
    status = azure_blob_absent(status, ret_response, err);
    return status == STATUS_OK ? check_created(ret_response, NULL, err) : status;
}

enum status azure_commit(struct blob_store *store, const struct call *call, const char *name,
                         const struct blob_block *blocks, size_t count, const struct blob_about *about,
                         struct blob_facts *ret_facts, struct err *err)
{
    struct azure *azure = (struct azure *)store;
    struct wire_response response;
    uint64_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += blocks[i].len; /* each was staged with its length and digest checked */
    enum status status = commit(azure, call, name, blocks, count, about, &response, err);
    if (status != STATUS_OK) {
        (void)err_context(err, "commit %zu blocks of '%s'", count, name);
        return status;
    }
    facts_set(ret_facts, &response, about, size);
    return STATUS_OK;
}

/* The service has no request that throws blocks away. Committing none of them does, and leaves an empty blob, which the
 * guarded delete of exactly that blob takes away again. Safe at every step: the commit cannot touch a blob that is
 * there (a late commit of the same upload included, which then finds the empty one and is refused), the delete names
 * the ETag that the commit has made, and the empty blob carries the version's token, so that a sweeper knows it as
 * ours. */
enum status azure_unstage(struct blob_store *store, const struct call *call, const char *name,
                          const struct blob_about *about, struct err *err)
{
    struct azure *azure = (struct azure *)store;
    struct wire_response response;
    enum status status = commit(azure, call, name, NULL, 0, about, &response, err);
    if (status == STATUS_OK) {
        status = azure_remove(store, call, name, GUARD_ETAG, response.etag, err);
        if (status == STATUS_NOT_FOUND)
            status = STATUS_OK;
    }
    if (status != STATUS_OK)
        (void)err_context(err, "clear the staged blocks of '%s'", name);
    return status;
}

enum status azure_control_write(struct blob_store *store, const struct call *call, const char *name, const char *text,
                                const char *etag, char ret_etag[LIMIT_ETAG_BYTES], struct err *err)
{
    struct azure *azure = (struct azure *)store;
    uint8_t digest[MD5_BYTES];
    struct wire_request request;
    struct wire_response response;
    size_t len = strlen(text);
    enum status status = text_digest_make(text, len, digest, err);
    if (status == STATUS_OK) {
        request_put_text(&request, &azure->place, name, len, digest, etag);
        struct azure_task task = {
            .kind = AZURE_ONCE, .expected = 201, .create = !etag, .request = &request, .body = text};
        status = azure_perform_plain(azure, call, task, &response, err);
    }
    if (status == STATUS_OK)
        status = check_created(&response, digest, err);
    if (status == STATUS_OK)
        memcpy(ret_etag, response.etag, LIMIT_ETAG_BYTES);
    else
        (void)err_context(err, "write '%s'", name);
    return status;
}
