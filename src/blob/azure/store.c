/* store.c - the Azure store as a whole: opening, closing, what it can do, removing, tagging. */
#include "blob/azure/store.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "blob/azure/azure.h"
#include "blob/azure/wire/xml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MINUTE_MS             (60 * 1000)
#define DEADLINE_DEFAULT_MS   (60 * 1000)
#define REQUEST_DEFAULT_BYTES (8u * 1024 * 1024)
#define MEBIBYTE              (1024u * 1024)
#define WRITE_MS_A_MEBIBYTE   (10 * MINUTE_MS) /* the service's time limit for writes */
#define SIGNATURE_LIFE_MS     (15 * MINUTE_MS)
#define BACKOFF_FIRST_MS      250
#define BACKOFF_MAX_MS        8000

static struct blob_capabilities azure_capabilities(struct blob_store *store)
{
    struct azure *azure = (struct azure *)store;
    return (struct blob_capabilities){
        .tags = azure->tags,
        .stage_from = azure->credential.kind == CREDENTIAL_KEY,
        .late_after_ms = azure->late_after_ms,
        .kind = "azure",
    };
}

static struct wire_request *delete_request(struct wire_request *request, const struct azure *azure, const char *name,
                                           enum blob_guard guard, const char *etag)
{
    request_delete(request, &azure->place, name, guard == GUARD_ETAG ? etag : NULL,
                   guard == GUARD_TAG_PENDING ? "pending" : NULL);
    return request;
}

enum status azure_remove(struct blob_store *store, const struct call *call, const char *name, enum blob_guard guard,
                         const char *etag, struct err *err)
{
    struct azure *azure = (struct azure *)store;
    if (guard == GUARD_TAG_PENDING && !azure->tags)
        return err_set(err, STATUS_INVALID, "remove '%s': tags are off, they cannot guard a delete", name);
    struct wire_request request;
    struct wire_response response;
    struct azure_task task = {
        .kind = AZURE_ONCE,
        .expected = 202,
        .request = delete_request(&request, azure, name, guard, etag),
    };
    enum status status = azure_perform_plain(azure, call, task, &response, err);
    if (status == STATUS_OK)
        return status;
    status = azure_blob_absent(status, &response, err);
    struct blob_facts facts;
    /* A condition on the ETag fails for a blob that is gone, too. */
    if (status == STATUS_CONDITION && azure_stat(store, call, name, &facts, NULL) == STATUS_NOT_FOUND)
        status = err_set(err, STATUS_NOT_FOUND, "404 BlobNotFound");
    (void)err_context(err, "remove '%s'", name);
    return status;
}

enum status azure_tag_committed(struct blob_store *store, const struct call *call, const char *name, int64_t number,
                                struct err *err)
{
    struct azure *azure = (struct azure *)store;
    if (!azure->tags)
        return err_set(err, STATUS_UNSUPPORTED, "tags are off");
    struct buf body AUTO_BUF;
    buf_init(&body, 1024);
    struct wire_tags tags = {.state = "committed"};
    (void)snprintf(tags.number, sizeof tags.number, "%lld", (long long)number); /* twenty characters at most */
    uint8_t digest[MD5_BYTES];
    enum status status = tags_write(&body, &tags);
    if (status == STATUS_OK)
        status = md5(body.bytes, body.len, digest);
    if (status != STATUS_OK)
        return err_set(err, status, "build the tags of '%s'", name);
    struct wire_request request;
    struct wire_response response;
    request_tags_set(&request, &azure->place, name, body.len, digest);
    struct azure_task task = {.kind = AZURE_REPEATABLE, .expected = 204, .request = &request, .body = body.bytes};
    status = azure_perform_plain(azure, call, task, &response, err);
    if (status == STATUS_OK)
        return status;
    status = azure_blob_absent(status, &response, err);
    (void)err_context(err, "tag '%s' as committed", name);
    return status;
}

static void azure_free(struct azure *azure)
{
    credential_done(&azure->credential);
    free(azure);
}

static void azure_close(struct blob_store *store)
{
    struct azure *azure = (struct azure *)store;
    http_close(azure->http);
    azure_free(azure);
}

static const struct blob_ops azure_ops = {
    .capabilities = azure_capabilities,
    .put = azure_put,
    .stage = azure_stage,
    .stage_from = azure_stage_from,
    .commit = azure_commit,
    .unstage = azure_unstage,
    .stat = azure_stat,
    .read = azure_read,
    .remove = azure_remove,
    .tag_committed = azure_tag_committed,
    .tag_get = azure_tag_get,
    .list = azure_list,
    .control_read = azure_control_read,
    .control_write = azure_control_write,
    .close = azure_close,
};

static int64_t late_after_ms(const struct azure_options *options)
{
    if (options->late_after_ms >= 0)
        return options->late_after_ms;
    uint64_t bytes = options->request_bytes_max ? options->request_bytes_max : REQUEST_DEFAULT_BYTES;
    return (int64_t)((bytes + MEBIBYTE - 1) / MEBIBYTE) * WRITE_MS_A_MEBIBYTE + SIGNATURE_LIFE_MS;
}

/* The account that signs must be the one that the address names. */
static enum status set_account(struct azure *azure, struct err *err)
{
    struct credential *credential = &azure->credential;
    const char *named = azure->endpoint.account;
    if (!*credential->account && *named)
        return credential_set_account(credential, named, err);
    if (credential->kind == CREDENTIAL_KEY && !*credential->account)
        return err_set(err, STATUS_INVALID, "an account's key without the account's name");
    if (credential->kind == CREDENTIAL_KEY && *named && strcmp(named, credential->account) != 0) {
        (void)err_set(err, STATUS_INVALID, "the key is of account '%s', the address of account '%s'",
                      credential->account, named);
        return err_hint(err, "check AZURE_STORAGE_ACCOUNT or the connection string");
    }
    return STATUS_OK;
}

static void set_options(struct azure *azure, const struct azure_options *options)
{
    azure->store.ops = &azure_ops;
    azure->endpoint = options->endpoint;
    azure->credential = *options->credential;
    azure->place = (struct wire_place){azure->endpoint.base_path, azure->container};
    azure->tags = options->tags;
    azure->deadline_ms = options->deadline_ms > 0 ? options->deadline_ms : DEADLINE_DEFAULT_MS;
    azure->late_after_ms = late_after_ms(options);
    azure->backoff = options->backoff;
    if (azure->backoff.first_ms <= 0)
        azure->backoff = (struct backoff){.first_ms = BACKOFF_FIRST_MS, .max_ms = BACKOFF_MAX_MS};
    azure->clock = options->clock;
    azure->entropy = options->entropy;
}

enum status azure_open(const struct azure_options *options, struct http *http, struct blob_store **ret_store,
                       struct err *err)
{
    struct azure *azure = calloc(1, sizeof *azure);
    if (!azure)
        return err_set(err, STATUS_NO_MEMORY, "open the store");
    set_options(azure, options);
    enum status status = STATUS_OK;
    if (strlen(options->container) >= sizeof azure->container)
        status = err_set(err, STATUS_INVALID, "the container's name is longer than 63 characters");
    else
        memcpy(azure->container, options->container, strlen(options->container) + 1);
    if (status == STATUS_OK)
        status = set_account(azure, err);
    if (status != STATUS_OK) {
        azure_free(azure);
        return status;
    }
    azure->http = http;
    *ret_store = &azure->store;
    return STATUS_OK;
}
