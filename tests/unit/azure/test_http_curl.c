/* links: host */
/* test_http_curl.c - goal: of an exchange over a real connection it is told with certainty whether it cannot have been
 * carried out, was answered, or is lost; nothing is repeated that must not be; bodies go where they belong and no
 * further. Method: a server in a thread that reads what it is told to read and says, byte for byte, what it is told to
 * say. */
#include "unit.h"

#include "base/cleanup.h"
#include "blob/azure/http_curl.h"
#include "host/clock.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PLENTY_MS 60000

/* What the server does on the next request or connection. */
struct act {
    bool accept;            /* a new connection first */
    size_t read_bytes;      /* how much of the request to read; 0: head and body, as Content-Length says */
    const char *say;        /* then say this; NULL: nothing */
    bool hang_up;           /* then close */
    bool reset;             /* then close with a reset, what is unread lost */
    bool wait_for_peer;     /* then read nothing more until the peer closes or the test ends */
    atomic_bool *then_true; /* after reading */
};

struct server {
    const struct act *acts;
    size_t act_count;
    int listener;
    int stop[2]; /* the writing end is closed at the end of the test */
    unsigned port;
    pthread_t thread;
    pthread_mutex_t lock; /* protects the rest */
    char head[8192];      /* of the last request that was read whole */
    char body[256];       /* its beginning */
    unsigned requests;
    unsigned connections;
};

static size_t content_length(const char *head)
{
    const char *field = strcasestr(head, "\r\nContent-Length:");
    return field ? strtoul(field + 17, NULL, 10) : 0;
}

/* What a test may look at once the request is answered. */
static void publish(struct server *server, const char *head, const char *body)
{
    (void)pthread_mutex_lock(&server->lock);
    (void)snprintf(server->head, sizeof server->head, "%s", head);
    (void)snprintf(server->body, sizeof server->body, "%s", body);
    server->requests++;
    (void)pthread_mutex_unlock(&server->lock);
}

static bool read_request(struct server *server, int fd)
{
    char head[8192], rest[65536];
    size_t len = 0;
    char *end = NULL;
    while (!end) {
        ssize_t n = recv(fd, head + len, sizeof head - 1 - len, 0);
        if (n <= 0)
            return false;
        len += (size_t)n;
        head[len] = '\0';
        end = strstr(head, "\r\n\r\n");
    }
    size_t wanted = content_length(head), got = len - (size_t)(end + 4 - head);
    while (got < wanted) {
        ssize_t n = recv(fd, rest, sizeof rest, 0);
        if (n <= 0)
            return false;
        got += (size_t)n;
    }
    end[2] = '\0';
    publish(server, head, end + 4);
    return true;
}

static void read_some(int fd, size_t bytes)
{
    char some[4096];
    while (bytes > 0) {
        ssize_t n = recv(fd, some, bytes < sizeof some ? bytes : sizeof some, 0);
        if (n <= 0)
            return;
        bytes -= (size_t)n;
    }
}

static void hang_up(int *fd, bool reset)
{
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    if (*fd < 0)
        return;
    if (reset)
        (void)setsockopt(*fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    (void)close(*fd);
    *fd = -1;
}

static void *serve(void *argument)
{
    struct server *server = argument;
    int fd = -1;
    for (size_t i = 0; i < server->act_count; i++) {
        const struct act *act = &server->acts[i];
        if (act->accept) {
            hang_up(&fd, false);
            fd = accept(server->listener, NULL, NULL);
            (void)pthread_mutex_lock(&server->lock);
            server->connections++;
            (void)pthread_mutex_unlock(&server->lock);
        }
        if (act->read_bytes)
            read_some(fd, act->read_bytes);
        else if (!read_request(server, fd))
            continue; /* the peer gave the connection up */
        if (act->then_true)
            atomic_store(act->then_true, true);
        if (act->say)
            (void)send(fd, act->say, strlen(act->say), MSG_NOSIGNAL);
        struct pollfd ends[] = {{.fd = fd, .events = POLLRDHUP}, {.fd = server->stop[0]}};
        if (act->wait_for_peer)
            (void)poll(ends, 2, -1);
        if (act->hang_up || act->reset)
            hang_up(&fd, act->reset);
    }
    hang_up(&fd, false);
    return NULL;
}

static void server_start(struct server *server, const struct act *acts, size_t count)
{
    *server = (struct server){.acts = acts, .act_count = count, .lock = PTHREAD_MUTEX_INITIALIZER};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(server->listener >= 0);
    assert_int_equal(pipe2(server->stop, O_CLOEXEC), 0);
    assert_int_equal(bind(server->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(server->listener, 8), 0);
    assert_int_equal(getsockname(server->listener, (struct sockaddr *)&address, &size), 0);
    server->port = ntohs(address.sin_port);
    assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
}

static void server_join(struct server *server)
{
    (void)close(server->stop[1]);
    assert_int_equal(pthread_join(server->thread, NULL), 0);
    (void)close(server->stop[0]);
    (void)close(server->listener);
}

struct test {
    struct http *http;
    struct server server;
    struct http_response response;
    char into[8];
    struct err err;
};

static void test_start(struct test *test, const struct act *acts, size_t count)
{
    struct http_curl_options options = {.clock = clock_system()};
    memset(test, 0, sizeof *test);
    assert_int_equal(http_curl_open(&options, &test->http, NULL), STATUS_OK);
    http_response_init(&test->response, 16);
    server_start(&test->server, acts, count);
}

static void test_end(struct test *test)
{
    test->http = http_close(test->http); /* first, so that a server that waits for its peer ends */
    server_join(&test->server);
    http_response_done(&test->response);
}

#define START(...)                                                                                                     \
    const struct act acts_[] = {__VA_ARGS__};                                                                          \
    struct test test;                                                                                                  \
    test_start(&test, acts_, sizeof acts_ / sizeof *acts_)

static enum http_outcome ask(struct test *test, const char *method, const void *body, size_t len, bool repeatable,
                             int64_t quiet_ms, const atomic_bool *cancelled)
{
    char url[128];
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u/con/a/../b%%20c?comp=x&sig=secret", test->server.port);
    const struct wire_field headers[] = {{"x-ms-version", "1"}, {"Authorization", ""}, {"x-ms-meta-token", NULL}};
    struct http_request request = {.method = method,
                                   .url = url,
                                   .headers = headers,
                                   .header_count = 3,
                                   .body = body,
                                   .body_len = len,
                                   .repeatable = repeatable,
                                   .quiet_ms = quiet_ms,
                                   .cancelled = cancelled};
    http_response_clear(&test->response);
    test->response.into_status = 206;
    test->response.into = test->into;
    test->response.into_capacity = sizeof test->into;
    err_clear(&test->err);
    enum http_outcome outcome = test->http->ops->exchange(test->http, &request, &test->response, &test->err);
    assert_null(strstr(test->err.message, "secret"));
    assert_int_equal(outcome == HTTP_ANSWERED, test->err.status == STATUS_OK);
    return outcome;
}

/* Whether the last request had this in its head. */
static bool asked_with(struct test *test, const char *part)
{
    (void)pthread_mutex_lock(&test->server.lock);
    bool found = strcasestr(test->server.head, part) != NULL;
    (void)pthread_mutex_unlock(&test->server.lock);
    return found;
}

#define OK_EMPTY "HTTP/1.1 201 Created\r\nETag: \"0x1\"\r\nContent-Length: 0\r\n\r\n"

static void what_goes_out(void **state)
{
    (void)state;
    START({.accept = true, .say = OK_EMPTY}, {.say = OK_EMPTY},
          {.say = "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"}, {.say = OK_EMPTY}, {.say = OK_EMPTY});
    assert_int_equal(ask(&test, "PUT", "hello", 5, false, PLENTY_MS, NULL), HTTP_ANSWERED);
    assert_int_equal(test.response.status, 201);
    assert_string_equal(test.response.headers.bytes, "ETag: \"0x1\"\nContent-Length: 0\n");
    assert_true(asked_with(&test, "PUT /con/a/../b%20c?comp=x&sig=secret HTTP/1.1\r\n"));
    assert_true(asked_with(&test, "\r\nContent-Length: 5\r\n"));
    assert_true(asked_with(&test, "\r\nUser-Agent: readyfs/"));
    assert_true(asked_with(&test, "\r\nx-ms-version: 1\r\n"));
    assert_false(asked_with(&test, "\r\nExpect:"));
    assert_false(asked_with(&test, "\r\nAccept"));
    assert_false(asked_with(&test, "\r\nContent-Type:"));
    assert_false(asked_with(&test, "\r\nAuthorization:"));
    assert_false(asked_with(&test, "token"));
    assert_int_equal(ask(&test, "PUT", NULL, 0, false, PLENTY_MS, NULL), HTTP_ANSWERED);
    assert_true(asked_with(&test, "\r\nContent-Length: 0\r\n"));
    assert_int_equal(ask(&test, "HEAD", NULL, 0, true, PLENTY_MS, NULL), HTTP_ANSWERED); /* a length without a body */
    assert_int_equal(ask(&test, "DELETE", NULL, 0, false, PLENTY_MS, NULL), HTTP_ANSWERED);
    assert_true(asked_with(&test, "DELETE "));
    assert_int_equal(ask(&test, "PUT", "bytes", 5, false, PLENTY_MS, NULL), HTTP_ANSWERED);
    test_end(&test);
    assert_string_equal(test.server.body, "bytes");
    assert_int_equal(test.server.connections, 1); /* one connection served them all */
}

static void large_bodies_and_interim_answers(void **state)
{
    (void)state;
    static char body[3 * 1024 * 1024];
    memset(body, 'x', sizeof body);
    START({.accept = true, .say = "HTTP/1.1 100 Continue\r\nX-Interim: 1\r\n\r\n" OK_EMPTY}, {.say = OK_EMPTY});
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ask(&test, "PUT", body, sizeof body, false, PLENTY_MS, NULL), HTTP_ANSWERED);
        assert_string_equal(test.response.headers.bytes, "ETag: \"0x1\"\nContent-Length: 0\n");
        assert_true(asked_with(&test, "\r\nContent-Length: 3145728\r\n"));
    }
    test_end(&test);
    assert_int_equal(test.server.connections, 1);
}

/* S22: only the body of the wanted status reaches the caller's buffer. */
static void bodies_go_where_they_belong(void **state)
{
    (void)state;
    START({.accept = true, .say = "HTTP/1.1 206 P\r\nContent-Length: 8\r\n\r\n01234567"},
          {.say = "HTTP/1.1 404 N\r\nContent-Length: 5\r\n\r\nerror"},
          {.say = "HTTP/1.1 206 P\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"},
          {.say = "HTTP/1.1 301 M\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"});
    assert_int_equal(ask(&test, "GET", NULL, 0, true, PLENTY_MS, NULL), HTTP_ANSWERED);
    assert_int_equal(test.response.into_len, 8);
    assert_memory_equal(test.into, "01234567", 8);
    assert_int_equal(ask(&test, "GET", NULL, 0, true, PLENTY_MS, NULL), HTTP_ANSWERED);
    assert_int_equal(test.response.into_len, 0);
    assert_string_equal(test.response.body.bytes, "error");
    assert_memory_equal(test.into, "01234567", 8);
    assert_int_equal(ask(&test, "GET", NULL, 0, true, PLENTY_MS, NULL), HTTP_ANSWERED);
    assert_int_equal(test.response.into_len, 5);
    assert_int_equal(ask(&test, "GET", NULL, 0, true, PLENTY_MS, NULL), HTTP_ANSWERED);
    assert_int_equal(test.response.status, 301); /* not followed */
    test_end(&test);
}

static void answers_beyond_their_limits(void **state)
{
    (void)state;
    static char headers[HTTP_HEADERS_BYTES + 2100] = "HTTP/1.1 200 OK\r\n";
    while (strlen(headers) < HTTP_HEADERS_BYTES + 2000)
        strncat(headers, "X-Padding: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n", 60);
    START({.accept = true, .say = "HTTP/1.1 206 P\r\nContent-Length: 9\r\n\r\n012345678", .hang_up = true},
          {.accept = true, .say = "HTTP/1.1 200 OK\r\nContent-Length: 17\r\n\r\n0123456789abcdefg", .hang_up = true},
          {.accept = true, .say = headers, .wait_for_peer = true});
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ask(&test, "GET", NULL, 0, true, PLENTY_MS, NULL), HTTP_LOST);
        assert_int_equal(test.err.status, STATUS_CORRUPT);
    }
    test_end(&test);
}

static void short_and_broken_answers_are_lost(void **state)
{
    (void)state;
    START({.accept = true, .say = "HTTP/1.1 206 P\r\nContent-Length: 8\r\n\r\n0123", .hang_up = true},
          {.accept = true, .hang_up = true}, {.accept = true, .say = "HTTP/1.1 20", .hang_up = true},
          {.accept = true, .say = "garbage\r\n\r\n", .hang_up = true},
          {.accept = true, .say = "HTTP/1.1 201 C\r\nETag: \"0x1\"\r\n", .reset = true});
    for (int i = 0; i < 5; i++) {
        assert_int_equal(ask(&test, "PUT", "hello", 5, false, PLENTY_MS, NULL), HTTP_LOST);
        assert_int_equal(test.err.status, STATUS_UNREACHABLE);
    }
    test_end(&test);
    assert_int_equal(test.server.requests, 5); /* each was sent once */
}

static void nobody_listens(void **state)
{
    (void)state;
    START({.accept = true, .say = OK_EMPTY});
    assert_int_equal(ask(&test, "PUT", "hello", 5, false, PLENTY_MS, NULL), HTTP_ANSWERED);
    test_end(&test);
    struct http_curl_options options = {.clock = clock_system()};
    assert_int_equal(http_curl_open(&options, &test.http, NULL), STATUS_OK);
    http_response_init(&test.response, 16);
    assert_int_equal(ask(&test, "PUT", "hello", 5, false, PLENTY_MS, NULL), HTTP_NOT_SENT);
    assert_int_equal(test.err.status, STATUS_UNREACHABLE);
    http_response_done(&test.response);
    test.http = http_close(test.http);
}

/* S23: while names are not resolved each attempt says so, and the first one afterwards gets through. The name is too
 * long for any resolver, so none is asked. */
static void a_name_that_is_not_resolved_spoils_nothing(void **state)
{
    (void)state;
    START({.accept = true, .say = OK_EMPTY});
    char url[128];
    (void)snprintf(url, sizeof url, "http://%070d.invalid/", 0);
    struct http_request request = {.method = "GET", .url = url, .quiet_ms = PLENTY_MS, .repeatable = true};
    for (int i = 0; i < 3; i++) {
        err_clear(&test.err);
        assert_int_equal(test.http->ops->exchange(test.http, &request, &test.response, &test.err), HTTP_NOT_SENT);
        assert_int_equal(test.err.status, STATUS_UNREACHABLE);
    }
    assert_int_equal(ask(&test, "PUT", "hello", 5, false, PLENTY_MS, NULL), HTTP_ANSWERED);
    test_end(&test);
}

/* A body that cannot have left whole cannot have been carried out. */
static void a_break_amid_the_body_is_not_sent(void **state)
{
    (void)state;
    size_t len = 96u * 1024 * 1024; /* more than the buffers of both ends hold */
    char *body = calloc(1, len);
    assert_non_null(body);
    START({.accept = true, .read_bytes = 10000, .reset = true});
    assert_int_equal(ask(&test, "PUT", body, len, false, PLENTY_MS, NULL), HTTP_NOT_SENT);
    assert_int_equal(test.err.status, STATUS_UNREACHABLE);
    test_end(&test);
    free(body);
}

/* The server closes a kept-alive connection while we rest: noticed before anything is sent. */
static void an_idle_connection_that_died_is_replaced(void **state)
{
    (void)state;
    START({.accept = true, .say = OK_EMPTY, .hang_up = true}, {.accept = true, .say = OK_EMPTY});
    assert_int_equal(ask(&test, "PUT", "hello", 5, false, PLENTY_MS, NULL), HTTP_ANSWERED);
    assert_int_equal(ask(&test, "PUT", "hello", 5, true, PLENTY_MS, NULL), HTTP_ANSWERED);
    test_end(&test);
    assert_int_equal(test.server.requests, 2);
}

/* P9: the server read a create on a kept-alive connection and closed. It may have carried it out: no second one. */
static void a_create_is_never_repeated_silently(void **state)
{
    (void)state;
    START({.accept = true, .say = OK_EMPTY}, {.hang_up = true}, {.accept = true /* given up before a byte is sent */},
          {.accept = true, .say = OK_EMPTY});
    assert_int_equal(ask(&test, "PUT", "hello", 5, false, PLENTY_MS, NULL), HTTP_ANSWERED);
    assert_int_equal(ask(&test, "PUT", "hello", 5, false, PLENTY_MS, NULL), HTTP_LOST);
    assert_int_equal(test.err.status, STATUS_UNREACHABLE);
    assert_int_equal(ask(&test, "PUT", "other", 5, false, PLENTY_MS, NULL), HTTP_ANSWERED);
    test_end(&test);
    assert_int_equal(test.server.requests, 3);
    assert_string_equal(test.server.body, "other");
}

static void what_may_be_repeated_is(void **state)
{
    (void)state;
    START({.accept = true, .say = OK_EMPTY}, {.hang_up = true}, {.accept = true, .say = OK_EMPTY});
    assert_int_equal(ask(&test, "GET", NULL, 0, true, PLENTY_MS, NULL), HTTP_ANSWERED);
    assert_int_equal(ask(&test, "GET", NULL, 0, true, PLENTY_MS, NULL), HTTP_ANSWERED);
    test_end(&test);
    assert_int_equal(test.server.requests, 3);
}

/* S23 */
static void silence_is_a_timeout(void **state)
{
    (void)state;
    START({.accept = true, .wait_for_peer = true}, {.accept = true, .read_bytes = 10, .wait_for_peer = true});
    assert_int_equal(ask(&test, "PUT", "hello", 5, false, 50, NULL), HTTP_LOST);
    assert_int_equal(test.err.status, STATUS_TIMEOUT);
    size_t len = 96u * 1024 * 1024;
    char *body = calloc(1, len);
    assert_non_null(body);
    assert_int_equal(ask(&test, "PUT", body, len, false, 50, NULL), HTTP_NOT_SENT);
    assert_int_equal(test.err.status, STATUS_TIMEOUT);
    free(body);
    test_end(&test);
}

static void cancelling_ends_the_wait(void **state)
{
    (void)state;
    atomic_bool cancelled = false;
    START({.accept = true, .then_true = &cancelled, .wait_for_peer = true});
    assert_int_equal(ask(&test, "PUT", "hello", 5, false, PLENTY_MS, &cancelled), HTTP_LOST);
    assert_int_equal(test.err.status, STATUS_INTERRUPTED);
    test_end(&test);
}

static void no_tls_no_request(void **state)
{
    (void)state;
    START({.accept = true, .read_bytes = 1, .say = "HTTP/1.1 400 B\r\n\r\n", .hang_up = true});
    char url[64];
    (void)snprintf(url, sizeof url, "https://127.0.0.1:%u/", test.server.port);
    struct http_request request = {.method = "GET", .url = url, .quiet_ms = PLENTY_MS, .repeatable = true};
    assert_int_equal(test.http->ops->exchange(test.http, &request, &test.response, &test.err), HTTP_NOT_SENT);
    assert_int_equal(test.err.status, STATUS_UNREACHABLE);
    test_end(&test);
}

int main(void)
{
    (void)setenv("no_proxy", "127.0.0.1", 1); /* whatever the environment says */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_goes_out),
        cmocka_unit_test(large_bodies_and_interim_answers),
        cmocka_unit_test(bodies_go_where_they_belong),
        cmocka_unit_test(answers_beyond_their_limits),
        cmocka_unit_test(short_and_broken_answers_are_lost),
        cmocka_unit_test(nobody_listens),
        cmocka_unit_test(a_name_that_is_not_resolved_spoils_nothing),
        cmocka_unit_test(a_break_amid_the_body_is_not_sent),
        cmocka_unit_test(an_idle_connection_that_died_is_replaced),
        cmocka_unit_test(a_create_is_never_repeated_silently),
        cmocka_unit_test(what_may_be_repeated_is),
        cmocka_unit_test(silence_is_a_timeout),
        cmocka_unit_test(cancelling_ends_the_wait),
        cmocka_unit_test(no_tls_no_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
