/* check.c - the questions of a start, each one or two exchanges. */
#include "blob/azure/check.h"

#include "base/digest.h"
#include "base/text.h"
#include "blob/azure/answer.h"
#include "blob/azure/azure.h"
#include "host/entropy.h"

#include <stdio.h>
#include <string.h>

#define CHECK_DEADLINE_MS 10000 /* a person waits */
#define PROBE_TEXT        "readyfs asks whether it may write here. This blob can be deleted.\n"

static const char tags_hint[] = "grant tag rights (letter t of a signature, role Storage Blob Data Owner), or set "
                                "tags = off";

/* Refusals of the first question say where we knocked. */
static enum status tell_unreachable(const struct azure *azure, enum status status, struct err *err)
{
    bool silent = status == STATUS_UNREACHABLE || status == STATUS_TIMEOUT;
    (void)err_context(err, "the store at %s://%s%s", azure->endpoint.tls ? "https" : "http", azure->endpoint.authority,
                      azure->endpoint.base_path);
    if (silent && err && !err->http_status)
        (void)err_hint(err, "check the address, the network, and the proxy settings of the environment");
    return status;
}

static enum status create_container(struct azure *azure, const struct call *call, struct err *err)
{
    struct wire_request request;
    struct wire_response response;
    request_container_create(&request, &azure->place);
    struct azure_task task = {.kind = AZURE_REPEATABLE, .expected = 201, .request = &request};
    enum status status = azure_perform_plain(azure, call, task, &response, err);
    if (status == STATUS_OK || !strcmp(response.error_code, "ContainerAlreadyExists"))
        return STATUS_OK;
    (void)err_context(err, "create container '%s'", azure->container);
    return status;
}

/* A listing of one blob: the cheapest request that is about the container and that every kind of credential that lets
 * us work allows. */
static enum status look_at_container(struct azure *azure, const struct call *call, const char *prefix,
                                     struct wire_response *ret_response, struct err *err)
{
    struct wire_request request;
    struct wire_page page = {.prefix = prefix, .results_max = 1};
    struct http_response http CLEANUP(http_response_done);
    http_response_init(&http, LIMIT_ERROR_BODY_BYTES);
    request_list(&request, &azure->place, &page);
    struct azure_task task = {.kind = AZURE_READ, .expected = 200, .request = &request, .http = &http};
    return azure_perform(azure, call, &task, ret_response, err);
}

static enum status check_container(struct azure *azure, const struct call *call, const struct azure_check *check,
                                   struct err *err)
{
    struct wire_response response = {0};
    enum status status = look_at_container(azure, call, check->prefix, &response, err);
    bool missing = status == STATUS_NOT_FOUND;
    if (status == STATUS_OK || missing) {
        enum status clock = answer_clock(&azure->credential, &response, azure_now_s(azure), err);
        if (clock != STATUS_OK)
            return clock;
    }
    if (missing && check->create_container)
        return create_container(azure, call, err);
    if (missing) {
        (void)err_context(err, "container '%s' does not exist", azure->container);
        return status;
    }
    return status == STATUS_OK ? status : tell_unreachable(azure, status, err);
}

/* Not every credential may ask about the account. Then the probe tells. */
static enum status check_hierarchy(struct azure *azure, const struct call *call, struct err *err)
{
    struct wire_request request;
    struct wire_response response;
    request_account(&request, azure->endpoint.base_path);
    struct azure_task task = {.kind = AZURE_READ, .expected = 200, .request = &request};
    enum status status = azure_perform_plain(azure, call, task, &response, NULL);
    if (status != STATUS_OK || !response.hierarchical)
        return STATUS_OK;
    (void)err_set(err, STATUS_UNSUPPORTED, "this account has a hierarchical namespace, which excludes blob tags");
    (void)err_hint(err, "set tags = off");
    return STATUS_UNSUPPORTED;
}

static enum status probe_put(struct azure *azure, const struct call *call, const char *name, bool tags,
                             struct blob_facts *ret_facts, struct err *err)
{
    static const char text[] = PROBE_TEXT;
    struct blob_about about = {.content_type = "text/plain", .pending = tags};
    return azure_put(&azure->store, call, name, text, sizeof text - 1, crc64(0, text, sizeof text - 1), &about,
                     ret_facts, err);
}

/* A put with a tag was refused: the tag, or the put? */
static enum status tell_put_refused(struct azure *azure, const struct call *call, const char *name, struct err *err)
{
    struct blob_facts facts;
    enum status status = err ? err->status : STATUS_ACCESS;
    if (!azure->tags || (status != STATUS_ACCESS && status != STATUS_AUTHENTICATION && status != STATUS_UNSUPPORTED))
        return status;
    if (probe_put(azure, call, name, false, &facts, NULL) != STATUS_OK)
        return status;
    /* The probe without tags was ours; should its removal fail, it is harmless and says so itself. */
    IGNORE(azure_remove(&azure->store, call, name, GUARD_ETAG, facts.etag, NULL));
    (void)err_context(err, "blob tags are refused");
    (void)err_hint(err, "%s", tags_hint);
    return status;
}

/* Reads the tag, sets it, and sees that the condition on it holds a delete back. */
static enum status probe_tags(struct azure *azure, const struct call *call, const char *name, struct err *err)
{
    enum blob_tag tag = TAG_UNKNOWN;
    enum status status = azure_tag_get(&azure->store, call, name, &tag, err);
    if (status == STATUS_OK && tag != TAG_PENDING)
        status = err_set(err, STATUS_UNSUPPORTED, "a tag given with an upload is not there afterwards");
    if (status == STATUS_OK)
        status = azure_tag_committed(&azure->store, call, name, 1, err);
    if (status == STATUS_OK) {
        status = azure_remove(&azure->store, call, name, GUARD_TAG_PENDING, NULL, err);
        if (status == STATUS_CONDITION)
            return STATUS_OK;
        if (status == STATUS_OK)
            status = err_set(err, STATUS_UNSUPPORTED, "the service deletes in spite of a condition on a tag");
    }
    (void)err_context(err, "blob tags cannot be used");
    (void)err_hint(err, "%s", tags_hint);
    return status;
}

static enum status check_rights(struct azure *azure, const struct call *call, const char *prefix, struct err *err)
{
    char name[LIMIT_BLOB_NAME_BYTES], digits[HEX_SIZE(ID_BYTES)];
    uint8_t random[ID_BYTES];
    struct blob_facts facts;
    entropy_fill(azure->entropy, random, sizeof random);
    hex_encode(random, sizeof random, digits);
    int need = snprintf(name, sizeof name, "%s.readyfs/probe-%s", prefix, digits);
    if (need < 0 || (size_t)need >= sizeof name)
        return err_set(err, STATUS_NAME_TOO_LONG, "the prefix is too long");
    enum status status = probe_put(azure, call, name, azure->tags, &facts, err);
    if (status != STATUS_OK)
        return tell_put_refused(azure, call, name, err);
    if (azure->tags)
        status = probe_tags(azure, call, name, err);
    enum status removed =
        azure_remove(&azure->store, call, name, GUARD_ETAG, facts.etag, status == STATUS_OK ? err : NULL);
    if (status == STATUS_OK && removed != STATUS_OK && removed != STATUS_NOT_FOUND)
        status = removed;
    return status;
}

enum status azure_check(struct blob_store *store, const struct azure_check *check, struct err *err)
{
    struct azure *azure = (struct azure *)store;
    struct err own;
    if (!err)
        err = &own;
    struct call call = {.deadline_ms = azure->deadline_ms < CHECK_DEADLINE_MS ? azure->deadline_ms : CHECK_DEADLINE_MS};
    enum status status = check_container(azure, &call, check, err);
    if (status == STATUS_OK && azure->tags)
        status = check_hierarchy(azure, &call, err);
    if (status == STATUS_OK && !check->read_only)
        status = check_rights(azure, &call, check->prefix, err);
    return status;
}
