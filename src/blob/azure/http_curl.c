/* http_curl.c - exchanges over libcurl.
 *
 * An easy handle owns its connections, so the pool of handles is the pool of connections: a thread takes the handle
 * that was given back last, whose connection is the warmest, and performs on it itself.
 *
 * libcurl replaces a kept-alive connection that turns out to be dead, and sends the request again, by itself. That is
 * welcome as long as the server cannot have got the whole request, and for requests that may be repeated. The callback
 * before each sending forbids it for the others, since "was it carried out?" would be answered by guessing (P9).
 */
#include "blob/azure/http_curl.h"

#include "base/cleanup.h"
#include "host/clock.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IDLE_HANDLES_MAX   64
#define SENT_AT_ONCE_BYTES (32u * 1024) /* a body up to this leaves together with the head */
#define CURL_BUFFER_BYTES  (256L * 1024)
#define CONNECTION_AGE_S   4L /* idle ones are not used again after this: servers close them after 5 or more */

struct handle {
    CURL *easy;
    struct handle *next;
};

struct http_curl {
    struct http http;
    struct clock *clock;
    char *ca_file;        /* NULL: the system's */
    pthread_mutex_t lock; /* protects the two below */
    struct handle *idle;
    unsigned idle_count;
};

struct exchange {
    const struct http_request *request;
    struct http_response *response;
    struct clock *clock;
    CURL *easy;
    size_t position; /* of the body that is read by libcurl */
    bool whole_sent; /* the last byte of the request may have left */
    bool overflow, no_memory, cancelled, quiet;
    int64_t started_ms, moved_ms; /* CLOCK_BOOTTIME; when it began, when the last byte moved */
    curl_off_t moved_bytes;
    char reason[CURL_ERROR_SIZE];
};

static struct handle *handle_take(struct http_curl *curl)
{
    pthread_mutex_lock(&curl->lock);
    struct handle *handle = curl->idle;
    if (handle) {
        curl->idle = handle->next;
        curl->idle_count--;
    }
    pthread_mutex_unlock(&curl->lock);
    if (handle)
        return handle;
    handle = calloc(1, sizeof *handle);
    if (handle && !(handle->easy = curl_easy_init())) {
        free(handle);
        return NULL;
    }
    return handle;
}

static void handle_free(struct handle *handle)
{
    curl_easy_cleanup(handle->easy);
    free(handle);
}

/* One that has failed is not used again: its connection is gone anyway, and after a name that was not resolved libcurl
 * 7.88 refuses to set the handle's buffers anew, reset or not. */
static void handle_give(struct http_curl *curl, struct handle *handle, bool failed)
{
    if (failed) {
        handle_free(handle);
        return;
    }
    curl_easy_reset(handle->easy); /* forgets headers, URL and callbacks; keeps the connection */
    pthread_mutex_lock(&curl->lock);
    bool keep = curl->idle_count < IDLE_HANDLES_MAX;
    if (keep) {
        handle->next = curl->idle;
        curl->idle = handle;
        curl->idle_count++;
    }
    pthread_mutex_unlock(&curl->lock);
    if (!keep)
        handle_free(handle);
}

/* Called when a connection stands and the request is about to be sent, for each connection anew. */
static int on_begin(void *data, char *peer, char *own, int peer_port, int own_port)
{
    (void)peer, (void)own, (void)peer_port, (void)own_port;
    struct exchange *exchange = data;
    if (exchange->whole_sent && !exchange->request->repeatable)
        return CURL_PREREQFUNC_ABORT;
    if (exchange->request->body_len <= SENT_AT_ONCE_BYTES)
        exchange->whole_sent = true;
    return CURL_PREREQFUNC_OK;
}

static size_t on_read(char *buffer, size_t size, size_t count, void *data)
{
    struct exchange *exchange = data;
    size_t rest = exchange->request->body_len - exchange->position, n = size * count < rest ? size * count : rest;
    memcpy(buffer, (const char *)exchange->request->body + exchange->position, n);
    exchange->position += n;
    if (exchange->position == exchange->request->body_len)
        exchange->whole_sent = true;
    return n;
}

static int on_seek(void *data, curl_off_t offset, int origin)
{
    struct exchange *exchange = data;
    if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > exchange->request->body_len)
        return CURL_SEEKFUNC_CANTSEEK;
    exchange->position = (size_t)offset;
    return CURL_SEEKFUNC_OK;
}

/* A status line begins a new block: those of 100 Continue and the like are dropped. */
static size_t on_header(char *line, size_t size, size_t count, void *data)
{
    struct exchange *exchange = data;
    struct buf *headers = &exchange->response->headers;
    size_t len = size * count, used = len;
    if (len >= 5 && !memcmp(line, "HTTP/", 5)) {
        buf_clear(headers);
        return len;
    }
    while (used > 0 && (line[used - 1] == '\r' || line[used - 1] == '\n'))
        used--;
    if (!used)
        return len;
    enum status status = buf_append(headers, line, used);
    if (status == STATUS_OK)
        status = buf_append(headers, "\n", 1);
    exchange->overflow |= status == STATUS_NO_SPACE;
    exchange->no_memory |= status == STATUS_NO_MEMORY;
    return status == STATUS_OK ? len : 0;
}

static bool write_into(struct exchange *exchange, const char *bytes, size_t len)
{
    struct http_response *response = exchange->response;
    if (len > response->into_capacity - response->into_len) {
        exchange->overflow = true;
        return false;
    }
    memcpy((char *)response->into + response->into_len, bytes, len);
    response->into_len += len;
    return true;
}

static size_t on_write(char *bytes, size_t size, size_t count, void *data)
{
    struct exchange *exchange = data;
    long code = 0;
    (void)curl_easy_getinfo(exchange->easy, CURLINFO_RESPONSE_CODE, &code); /* 0 where it fails: not into_status */
    if (exchange->response->into_status && code == exchange->response->into_status)
        return write_into(exchange, bytes, size * count) ? size * count : 0;
    enum status status = buf_append(&exchange->response->body, bytes, size * count);
    exchange->overflow |= status == STATUS_NO_SPACE;
    exchange->no_memory |= status == STATUS_NO_MEMORY;
    return status == STATUS_OK ? size * count : 0;
}

/* Called at least once a second, and whenever something happens. */
static int on_progress(void *data, curl_off_t down_total, curl_off_t down, curl_off_t up_total, curl_off_t up)
{
    (void)down_total, (void)up_total;
    struct exchange *exchange = data;
    int64_t now_ms = clock_boot_ms(exchange->clock);
    if (down + up != exchange->moved_bytes) {
        exchange->moved_bytes = down + up;
        exchange->moved_ms = now_ms;
    }
    exchange->quiet = now_ms - exchange->moved_ms > exchange->request->quiet_ms;
    exchange->cancelled = exchange->request->cancelled && atomic_load(exchange->request->cancelled);
    return exchange->quiet || exchange->cancelled;
}

static struct curl_slist *header_add(struct curl_slist *list, const char *line, bool *failed)
{
    struct curl_slist *longer = curl_slist_append(list, line);
    *failed |= !longer;
    return longer ? longer : list;
}

/* The request's headers; libcurl's own ideas about Expect, Accept and the type of a body are switched off, since they
 * would go unsigned. NULL when out of memory. */
static struct curl_slist *headers_make(const struct http_request *request)
{
    bool failed = false, typed = false;
    struct curl_slist *list = header_add(NULL, "Expect:", &failed);
    list = header_add(list, "Accept:", &failed);
    struct buf line AUTO_BUF;
    buf_init(&line, HTTP_HEADERS_BYTES);
    for (size_t i = 0; i < request->header_count && !failed; i++) {
        const struct wire_field *field = &request->headers[i];
        if (!field->value || !*field->value)
            continue;
        typed |= !strcmp(field->name, "Content-Type");
        buf_clear(&line);
        failed = buf_printf(&line, "%s: %s", field->name, field->value) != STATUS_OK;
        list = header_add(list, line.bytes, &failed);
    }
    if (!typed)
        list = header_add(list, "Content-Type:", &failed);
    if (failed) {
        curl_slist_free_all(list);
        return NULL;
    }
    return list;
}

#define SET(option, value) failed |= curl_easy_setopt(easy, option, value) != CURLE_OK

/* What holds for every exchange. False when an option is refused: out of memory, or another libcurl than built for. */
static bool set_conduct(const struct http_curl *curl, CURL *easy, struct exchange *exchange)
{
    bool failed = false;
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(CURLOPT_PATH_AS_IS, 1L);
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_TCP_NODELAY, 1L);
    SET(CURLOPT_MAXAGE_CONN, CONNECTION_AGE_S);
    SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    SET(CURLOPT_USERAGENT, "readyfs/" READYFS_VERSION);
    SET(CURLOPT_SSL_VERIFYPEER, 1L);
    SET(CURLOPT_SSL_VERIFYHOST, 2L);
    SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (curl->ca_file)
        SET(CURLOPT_CAINFO, curl->ca_file);
    SET(CURLOPT_BUFFERSIZE, CURL_BUFFER_BYTES);
    SET(CURLOPT_UPLOAD_BUFFERSIZE, CURL_BUFFER_BYTES);
    SET(CURLOPT_ERRORBUFFER, exchange->reason);
    SET(CURLOPT_PREREQFUNCTION, on_begin);
    SET(CURLOPT_PREREQDATA, exchange);
    SET(CURLOPT_HEADERFUNCTION, on_header);
    SET(CURLOPT_HEADERDATA, exchange);
    SET(CURLOPT_WRITEFUNCTION, on_write);
    SET(CURLOPT_WRITEDATA, exchange);
    SET(CURLOPT_NOPROGRESS, 0L);
    SET(CURLOPT_XFERINFOFUNCTION, on_progress);
    SET(CURLOPT_XFERINFODATA, exchange);
    return !failed;
}

/* A small body goes with the head in one write, a large one is read piece by piece. */
static bool set_body(CURL *easy, struct exchange *exchange)
{
    bool failed = false;
    const struct http_request *request = exchange->request;
    if (request->body_len <= SENT_AT_ONCE_BYTES) {
        SET(CURLOPT_POST, 1L);
        SET(CURLOPT_POSTFIELDS, request->body_len ? request->body : "");
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_len);
    } else {
        SET(CURLOPT_UPLOAD, 1L);
        SET(CURLOPT_INFILESIZE_LARGE, (curl_off_t)request->body_len);
        SET(CURLOPT_READFUNCTION, on_read);
        SET(CURLOPT_READDATA, exchange);
        SET(CURLOPT_SEEKFUNCTION, on_seek);
        SET(CURLOPT_SEEKDATA, exchange);
    }
    return !failed;
}

static bool set_request(CURL *easy, struct exchange *exchange, struct curl_slist *headers)
{
    bool failed = false;
    const struct http_request *request = exchange->request;
    if (!strcmp(request->method, "HEAD"))
        SET(CURLOPT_NOBODY, 1L);
    else if (!strcmp(request->method, "PUT"))
        failed |= !set_body(easy, exchange);
    else
        SET(CURLOPT_HTTPGET, 1L);
    if (strcmp(request->method, "HEAD"))
        SET(CURLOPT_CUSTOMREQUEST, request->method);
    SET(CURLOPT_URL, request->url);
    SET(CURLOPT_HTTPHEADER, headers);
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)(request->quiet_ms > 1 ? request->quiet_ms : 1));
    return !failed;
}

#undef SET

static enum status distrusted(struct err *err, const char *reason)
{
    (void)err_set(err, STATUS_ACCESS, "the server's certificate is not trusted: %s", reason);
    return err_hint(err, "name the file of trusted certificates with ca_file, or check the endpoint's host name");
}

static enum status explain(const struct exchange *exchange, CURLcode code, struct err *err)
{
    /* libcurl's messages name hosts and ports; should one ever quote a URL, its signature stays here. */
    bool quotable = *exchange->reason && !strstr(exchange->reason, "sig=");
    const char *reason = quotable ? exchange->reason : curl_easy_strerror(code);
    if (exchange->no_memory || code == CURLE_OUT_OF_MEMORY)
        return err_set(err, STATUS_NO_MEMORY, "out of memory");
    if (exchange->overflow)
        return err_set(err, STATUS_CORRUPT, "the service's answer is longer than it may be");
    if (exchange->cancelled)
        return err_set(err, STATUS_INTERRUPTED, "cancelled");
    if (exchange->quiet || code == CURLE_OPERATION_TIMEDOUT)
        return err_set(err, STATUS_TIMEOUT, "nothing moved for %lld ms", (long long)exchange->request->quiet_ms);
    switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS: return distrusted(err, reason);
    case CURLE_ABORTED_BY_CALLBACK: return err_set(err, STATUS_UNREACHABLE, "the connection broke before the answer");
    default: return err_set(err, STATUS_UNREACHABLE, "%s", reason);
    }
}

static enum http_outcome perform(struct exchange *exchange, struct err *err)
{
    CURLcode code = curl_easy_perform(exchange->easy);
    exchange->response->moving_ms = exchange->moved_ms - exchange->started_ms;
    if (code != CURLE_OK) {
        (void)explain(exchange, code, err); /* the outcome is the result; the report is for the caller */
        return exchange->whole_sent ? HTTP_LOST : HTTP_NOT_SENT;
    }
    long status = 0;
    (void)curl_easy_getinfo(exchange->easy, CURLINFO_RESPONSE_CODE, &status); /* 0 where it fails, told below */
    if (status < 200 || status > 599) {
        (void)err_set(err, STATUS_CORRUPT, "the service's answer has no status"); /* as above */
        return HTTP_LOST;
    }
    exchange->response->status = (int)status;
    return HTTP_ANSWERED;
}

static enum http_outcome curl_exchange(struct http *http, const struct http_request *request,
                                       struct http_response *response, struct err *err)
{
    struct http_curl *curl = (struct http_curl *)http;
    struct handle *handle = handle_take(curl);
    if (!handle) {
        (void)err_set(err, STATUS_NO_MEMORY, "out of memory"); /* the outcome is the result */
        return HTTP_NOT_SENT;
    }
    struct exchange exchange = {.request = request, .response = response, .clock = curl->clock, .easy = handle->easy};
    exchange.started_ms = exchange.moved_ms = clock_boot_ms(curl->clock);
    struct curl_slist *headers = headers_make(request);
    enum http_outcome outcome = HTTP_NOT_SENT;
    if (headers && set_conduct(curl, handle->easy, &exchange) && set_request(handle->easy, &exchange, headers))
        outcome = perform(&exchange, err);
    else
        (void)err_set(err, STATUS_NO_MEMORY, "libcurl cannot be set up"); /* as above */
    handle_give(curl, handle, outcome != HTTP_ANSWERED);
    curl_slist_free_all(headers);
    return outcome;
}

static void curl_close(struct http *http)
{
    struct http_curl *curl = (struct http_curl *)http;
    for (struct handle *handle = curl->idle, *next; handle; handle = next) {
        next = handle->next;
        handle_free(handle);
    }
    pthread_mutex_destroy(&curl->lock);
    free(curl->ca_file);
    free(curl);
    curl_global_cleanup();
}

static const struct http_ops curl_ops = {.exchange = curl_exchange, .close = curl_close};

enum status http_curl_open(const struct http_curl_options *options, struct http **ret_http, struct err *err)
{
    struct http_curl *curl = calloc(1, sizeof *curl);
    if (!curl)
        return err_set(err, STATUS_NO_MEMORY, "out of memory");
    if (options->ca_file && !(curl->ca_file = strdup(options->ca_file))) {
        free(curl);
        return err_set(err, STATUS_NO_MEMORY, "out of memory");
    }
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        free(curl->ca_file);
        free(curl);
        return err_set(err, STATUS_NO_MEMORY, "libcurl cannot be initialised");
    }
    curl->http.ops = &curl_ops;
    curl->clock = options->clock;
    pthread_mutex_init(&curl->lock, NULL);
    *ret_http = &curl->http;
    return STATUS_OK;
}
