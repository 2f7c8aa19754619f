/* scripted.h - a service that answers by a script, for the tests of the Azure store: the HTTP port with prepared
 * answers, a clock that moves only when somebody waits, and an entropy that is always the same. */
#ifndef READYFS_TESTS_SCRIPTED_H
#define READYFS_TESTS_SCRIPTED_H

#include "unit.h"

#include "blob/azure/http.h"
#include "blob/azure/store.h"
#include "host/clock.h"
#include "host/entropy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCRIPT_NOW_S   784111777 /* Sun, 06 Nov 1994 08:49:37 GMT */
#define SCRIPT_DATE    "Date: Sun, 06 Nov 1994 08:49:37 GMT\n"
#define SCRIPT_KEY     "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0"
#define SCRIPT_SAS     "sv=2021-12-02&se=1994-11-05&sp=rl&sig=c2VjcmV0c2Vj%3D"
#define SCRIPT_RECORDS 16

/* One exchange: what comes of it. All zero but for `status` is an answer without headers and body. */
struct step {
    int status;             /* of the answer; 0: none comes */
    enum status failure;    /* where none comes: why */
    bool sent;              /* where none comes: lost, not merely not sent */
    const char *headers;    /* lines */
    const char *body;       /* delivered as the port does: to the caller's buffer, or to the response's */
    int64_t takes_ms;       /* how long it takes, and */
    int64_t moving_ms;      /* how much of that the bodies moved */
    atomic_bool *then_true; /* set afterwards: somebody cancels */
};

struct record {
    char method[8], url[2048], headers[4096], body[1024];
    bool repeatable;
};

struct script {
    struct http http;
    struct clock clock;
    struct entropy entropy;
    const struct step *steps; /* the last one is repeated */
    size_t step_count, done;  /* exchanges made */
    struct record records[SCRIPT_RECORDS];
    int64_t boot_ms, waited_ms;
    struct blob_store *store;
};

static int64_t script_utc_ns(struct clock *clock)
{
    struct script *script = (struct script *)(void *)((char *)clock - offsetof(struct script, clock));
    return SCRIPT_NOW_S * INT64_C(1000000000) + script->boot_ms * 1000000;
}

static int64_t script_boot_ms(struct clock *clock)
{
    return ((struct script *)(void *)((char *)clock - offsetof(struct script, clock)))->boot_ms;
}

static void script_wait_ms(struct clock *clock, int64_t duration_ms)
{
    struct script *script = (struct script *)(void *)((char *)clock - offsetof(struct script, clock));
    script->boot_ms += duration_ms;
    script->waited_ms += duration_ms;
}

static void script_fill(struct entropy *entropy, void *ret_bytes, size_t len)
{
    (void)entropy;
    memset(ret_bytes, 0xff, len);
}

static void script_record(struct script *script, const struct http_request *request)
{
    if (script->done >= SCRIPT_RECORDS)
        return;
    struct record *record = &script->records[script->done];
    (void)snprintf(record->method, sizeof record->method, "%s", request->method);
    (void)snprintf(record->url, sizeof record->url, "%s", request->url);
    (void)snprintf(record->body, sizeof record->body, "%.*s", (int)request->body_len,
                   request->body ? (const char *)request->body : "");
    record->repeatable = request->repeatable;
    for (size_t i = 0; i < request->header_count; i++) {
        size_t used = strlen(record->headers);
        if (request->headers[i].value && *request->headers[i].value)
            (void)snprintf(record->headers + used, sizeof record->headers - used, "%s: %s\n", request->headers[i].name,
                           request->headers[i].value);
    }
}

static void script_deliver(const struct step *step, struct http_response *response)
{
    size_t len = step->body ? strlen(step->body) : 0;
    if (response->into_status && response->into_status == step->status) {
        response->into_len = len < response->into_capacity ? len : response->into_capacity;
        if (len)
            memcpy(response->into, step->body, response->into_len);
    } else if (len) {
        assert_int_equal(buf_append(&response->body, step->body, len), STATUS_OK);
    }
    if (step->headers)
        assert_int_equal(buf_append_text(&response->headers, step->headers), STATUS_OK);
    response->status = step->status;
}

static enum http_outcome script_exchange(struct http *http, const struct http_request *request,
                                         struct http_response *response, struct err *err)
{
    struct script *script = (struct script *)http;
    const struct step *step = &script->steps[script->done < script->step_count ? script->done : script->step_count - 1];
    script_record(script, request);
    script->done++;
    script->boot_ms += step->takes_ms;
    response->moving_ms = step->moving_ms;
    if (step->then_true)
        atomic_store(step->then_true, true);
    if (step->status) {
        script_deliver(step, response);
        return HTTP_ANSWERED;
    }
    (void)err_set(err, step->failure, "scripted failure");
    return step->sent ? HTTP_LOST : HTTP_NOT_SENT;
}

static void script_close(struct http *http)
{
    (void)http; /* it lies on the test's stack */
}

static const struct http_ops script_http_ops = {.exchange = script_exchange, .close = script_close};
static const struct clock_ops script_clock_ops = {script_utc_ns, script_boot_ms, script_wait_ms};
static const struct entropy_ops script_entropy_ops = {script_fill};

enum script_credential { SCRIPT_WITH_KEY, SCRIPT_WITH_SAS, SCRIPT_WITH_NOTHING };

/* A store of account "acct", container "con", deadline 60 s, over these steps. */
static void script_open(struct script *script, const struct step *steps, size_t count, enum script_credential kind,
                        bool tags)
{
    memset(script, 0, sizeof *script);
    script->http.ops = &script_http_ops;
    script->clock.ops = &script_clock_ops;
    script->entropy.ops = &script_entropy_ops;
    script->steps = steps;
    script->step_count = count;
    struct credential credential = {0};
    if (kind == SCRIPT_WITH_KEY)
        assert_int_equal(credential_set_key(&credential, SCRIPT_KEY, NULL), STATUS_OK);
    if (kind == SCRIPT_WITH_SAS)
        assert_int_equal(credential_set_sas(&credential, SCRIPT_SAS, NULL), STATUS_OK);
    struct azure_options options = {
        .container = "con",
        .credential = &credential,
        .tags = tags,
        .late_after_ms = AZURE_LATE_COMPUTED,
        .clock = &script->clock,
        .entropy = &script->entropy,
    };
    assert_int_equal(endpoint_parse("https://acct.blob.core.windows.net", &options.endpoint, NULL), STATUS_OK);
    assert_int_equal(azure_open(&options, &script->http, &script->store, NULL), STATUS_OK);
}

static void script_done(struct script *script)
{
    script->store = blob_close(script->store);
}

/* Whether the request number `index` had this header line. */
static bool script_sent(const struct script *script, size_t index, const char *line)
{
    const char *found = strstr(script->records[index].headers, line);
    return found && found[strlen(line)] == '\n';
}

/* Declares and opens a script of these steps; close it with script_done(). Once a scope. */
#define SCRIPT(script, kind, tags, ...)                                                                                \
    const struct step steps_[] = {__VA_ARGS__};                                                                        \
    struct script script;                                                                                              \
    script_open(&script, steps_, sizeof steps_ / sizeof *steps_, kind, tags)

#endif
