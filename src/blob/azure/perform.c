/* perform.c - one call of the store: sign, exchange, judge, and again while that can help (S23).
 *
 * The deadline counts time without progress: waiting between attempts, and of each attempt the part after its last byte
 * of a body has moved. So a slow line never cuts an upload that moves, and a service that answers 503 for ever does not
 * hold a program for ever.
 */
#include "blob/azure/answer.h"
#include "blob/azure/azure.h"
#include "blob/azure/wire/sign.h"
#include "host/clock.h"
#include "host/entropy.h"

#include <stdio.h>
#include <string.h>

#define URL_BYTES       (16u * 1024)
#define WAIT_SLICE_MS   100 /* how late a cancelled wait may end */
#define NANOSECONDS_A_S 1000000000

struct progress {
    const struct call *call;
    int64_t deadline_ms, spent_ms;
    unsigned attempts;
    bool unclear;           /* an attempt may have been, or still be, carried out */
    int64_t retry_after_ms; /* what the last answer asked for */
};

int64_t azure_now_s(const struct azure *azure)
{
    return clock_utc_ns(azure->clock) / NANOSECONDS_A_S;
}

static bool cancelled(const struct progress *progress)
{
    return progress->call && progress->call->cancelled && atomic_load(progress->call->cancelled);
}

static void url_wipe(struct buf *url)
{
    if (url->capacity)
        explicit_bzero(url->bytes, url->capacity);
    buf_done(url);
}

static enum status url_make(const struct azure *azure, const struct wire_request *request, struct buf *url)
{
    const struct endpoint *endpoint = &azure->endpoint;
    enum status status = buf_printf(url, "http%s://%s", endpoint->tls ? "s" : "", endpoint->authority);
    const char *sas = azure->credential.kind == CREDENTIAL_SAS ? azure->credential.sas : NULL;
    return status == STATUS_OK ? request_target(request, sas, url) : status;
}

static enum http_outcome exchange(struct azure *azure, const struct azure_task *task, struct progress *progress,
                                  const char *url, struct err *err)
{
    struct wire_field headers[WIRE_HEADERS_MAX + 1];
    size_t count = task->request->header_count;
    memcpy(headers, task->request->headers, count * sizeof *headers);
    headers[count++] = (struct wire_field){"Authorization", task->request->authorization};
    struct http_request request = {
        .method = task->request->method,
        .url = url,
        .headers = headers,
        .header_count = count,
        .body = task->body,
        .body_len = task->request->body_len,
        .repeatable = task->kind != AZURE_ONCE,
        .quiet_ms = progress->deadline_ms - progress->spent_ms,
        .cancelled = progress->call ? progress->call->cancelled : NULL,
    };
    int64_t started_ms = clock_boot_ms(azure->clock);
    http_response_clear(task->http);
    enum http_outcome outcome = azure->http->ops->exchange(azure->http, &request, task->http, err);
    progress->spent_ms += clock_boot_ms(azure->clock) - started_ms - task->http->moving_ms;
    return outcome;
}

static struct answer judge_failure(enum http_outcome outcome, struct err *err)
{
    enum status status = err->status;
    return (struct answer){
        .status = status,
        .again = status == STATUS_UNREACHABLE || status == STATUS_TIMEOUT,
        .unclear = outcome == HTTP_LOST,
    };
}

static struct answer judge_answer(struct azure *azure, const struct azure_task *task, struct progress *progress,
                                  struct wire_response *response, struct err *err)
{
    int64_t now_utc_s = azure_now_s(azure);
    response_read(response, task->http->status, task->http->headers.bytes, task->http->headers.len, now_utc_s);
    progress->retry_after_ms = response->has_retry_after ? response->retry_after_ms : 0;
    struct answer_question question = {
        .expected = task->expected,
        .create = task->create,
        .credential = &azure->credential,
        .container = azure->container,
        .now_utc_s = now_utc_s,
    };
    return answer_judge(&question, response, task->http->body.bytes, task->http->body.len, err);
}

/* Each attempt has a date and a signature of its own: they are good for a quarter of an hour. */
static struct answer attempt(struct azure *azure, const struct azure_task *task, struct progress *progress,
                             struct wire_response *response, struct err *err)
{
    const struct credential *credential = &azure->credential;
    struct sign_key key = {credential->account, credential->key, credential->key_len};
    struct buf url CLEANUP(url_wipe);
    buf_init(&url, URL_BYTES);
    enum status status = request_status(task->request);
    if (status == STATUS_OK)
        status = sign_request(task->request, credential->kind == CREDENTIAL_KEY ? &key : NULL, azure_now_s(azure));
    if (status == STATUS_OK)
        status = url_make(azure, task->request, &url);
    if (status != STATUS_OK)
        return (struct answer){.status = err_set(err, status, "build the request")};
    progress->attempts++;
    progress->retry_after_ms = 0;
    enum http_outcome outcome = exchange(azure, task, progress, url.bytes, err);
    if (outcome != HTTP_ANSWERED)
        return judge_failure(outcome, err);
    return judge_answer(azure, task, progress, response, err);
}

/* Waits before the next attempt; false where the deadline does not allow it, or the caller has had enough. */
static bool wait_again(struct azure *azure, struct progress *progress)
{
    uint64_t random;
    entropy_fill(azure->entropy, &random, sizeof random);
    int64_t wait_ms = backoff_wait_ms(&azure->backoff, progress->attempts, progress->retry_after_ms, random);
    if (wait_ms >= progress->deadline_ms - progress->spent_ms)
        return false;
    progress->spent_ms += wait_ms;
    while (wait_ms > 0 && !cancelled(progress)) {
        int64_t slice_ms = wait_ms < WAIT_SLICE_MS ? wait_ms : WAIT_SLICE_MS;
        clock_wait_ms(azure->clock, slice_ms);
        wait_ms -= slice_ms;
    }
    return !cancelled(progress);
}

/* What a call that did not succeed ends with. The report keeps its reason. */
static enum status conclude(const struct azure_task *task, const struct progress *progress, enum status status,
                            struct err *err)
{
    if (progress->attempts > 1)
        (void)err_context(err, "after %u attempts", progress->attempts);
    if (task->kind != AZURE_READ && progress->unclear) {
        (void)err_context(err, "outcome unknown");
        status = STATUS_UNKNOWN;
    } else if (cancelled(progress)) {
        status = STATUS_INTERRUPTED;
    }
    err->status = status;
    return status;
}

enum status azure_perform(struct azure *azure, const struct call *call, const struct azure_task *task,
                          struct wire_response *ret_response, struct err *err)
{
    struct err own;
    if (!err)
        err = &own; /* what to do next is read from the report */
    err_clear(err);
    memset(ret_response, 0, sizeof *ret_response);
    struct progress progress = {
        .call = call,
        .deadline_ms = call && call->deadline_ms > 0 ? call->deadline_ms : azure->deadline_ms,
    };
    for (;;) {
        if (cancelled(&progress))
            return conclude(task, &progress, err_set(err, STATUS_INTERRUPTED, "cancelled"), err);
        struct answer answer = attempt(azure, task, &progress, ret_response, err);
        if (answer.status == STATUS_OK)
            return STATUS_OK;
        progress.unclear |= answer.unclear;
        bool again = answer.again && !(task->kind == AZURE_ONCE && answer.unclear);
        if (!again || !wait_again(azure, &progress))
            return conclude(task, &progress, answer.status, err);
    }
}

enum status azure_perform_plain(struct azure *azure, const struct call *call, struct azure_task task,
                                struct wire_response *ret_response, struct err *err)
{
    struct http_response http CLEANUP(http_response_done);
    http_response_init(&http, LIMIT_ERROR_BODY_BYTES);
    task.http = &http;
    return azure_perform(azure, call, &task, ret_response, err);
}

enum status azure_blob_absent(enum status status, const struct wire_response *response, struct err *err)
{
    if (status != STATUS_NOT_FOUND || strncmp(response->error_code, "Container", 9))
        return status;
    if (err)
        err->status = STATUS_IO;
    return STATUS_IO;
}
