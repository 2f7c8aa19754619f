/* links: host */
/* test_http_tls.c - goal: nothing is sent to a server whose certificate is not trusted, and `ca_file` says which is.
 * Method: the openssl program makes a certificate that nobody knows and serves with it on a free port; asked with and
 * without that certificate as ca_file, and with one for another host. Skipped where there is no openssl program. */
#include "support/scratch.h"
#include "unit.h"

#include "base/cleanup.h"
#include "blob/azure/http_curl.h"
#include "host/clock.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct tls_server {
    pid_t pid;
    FILE *output;
    unsigned port;
};

static struct scratch scratch;

/* Runs openssl with these arguments; what it prints can be read from ret_output where that is not NULL. */
static pid_t run(const char *const *arguments, size_t size, FILE **ret_output)
{
    char *copy[32];
    assert_true(size <= sizeof copy);
    memcpy(copy, arguments, size); /* exec wants them without const, and leaves them alone */
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int nowhere = open("/dev/null", O_RDWR);
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM); /* it must not outlive the test */
        (void)dup2(nowhere, STDIN_FILENO);
        (void)dup2(nowhere, STDERR_FILENO);
        (void)dup2(ret_output ? ends[1] : nowhere, STDOUT_FILENO);
        (void)execvp("openssl", copy);
        _exit(127);
    }
    (void)close(ends[1]);
    if (ret_output)
        *ret_output = fdopen(ends[0], "r");
    else
        (void)close(ends[0]);
    return pid;
}

static int wait_for(pid_t pid)
{
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void path_of(const char *name, const char *suffix, char ret_path[300])
{
    (void)snprintf(ret_path, 300, "%s/%s.%s", scratch.path, name, suffix);
}

/* A key and a certificate, NAME.key and NAME.pem, for an alternative name like "IP:127.0.0.1". */
static int make_certificate(const char *name, const char *host)
{
    char key[300], certificate[300], alternative[100];
    path_of(name, "key", key);
    path_of(name, "pem", certificate);
    (void)snprintf(alternative, sizeof alternative, "subjectAltName=%s", host);
    const char *arguments[] = {"openssl", "req",       "-x509",   "-newkey",          "rsa:2048", "-nodes",
                               "-days",   "2",         "-subj",   "/CN=readyfs test", "-keyout",  key,
                               "-out",    certificate, "-addext", alternative,        NULL};
    return wait_for(run(arguments, sizeof arguments, NULL));
}

static struct tls_server serve(const char *name)
{
    struct tls_server server = {0};
    char key[300], certificate[300], line[200];
    path_of(name, "key", key);
    path_of(name, "pem", certificate);
    const char *arguments[] = {"openssl", "s_server", "-accept", "127.0.0.1:0", "-www",
                               "-key",    key,        "-cert",   certificate,   NULL};
    server.pid = run(arguments, sizeof arguments, &server.output);
    while (!server.port && fgets(line, sizeof line, server.output))
        (void)sscanf(line, "ACCEPT 127.0.0.1:%u", &server.port); /* other lines have no port */
    assert_true(server.port);
    return server;
}

static void stop(struct tls_server *server)
{
    (void)kill(server->pid, SIGKILL);
    (void)wait_for(server->pid);
    (void)fclose(server->output);
}

static enum http_outcome ask(unsigned port, const char *ca_file, struct err *err)
{
    struct http_curl_options options = {.ca_file = ca_file, .clock = clock_system()};
    struct http *http = NULL;
    struct http_response response;
    char url[64];
    (void)snprintf(url, sizeof url, "https://127.0.0.1:%u/", port);
    struct http_request request = {.method = "GET", .url = url, .quiet_ms = 60000, .repeatable = true};
    assert_int_equal(http_curl_open(&options, &http, NULL), STATUS_OK);
    http_response_init(&response, 65536);
    enum http_outcome outcome = http->ops->exchange(http, &request, &response, err);
    http_response_done(&response);
    http = http_close(http);
    return outcome;
}

static void only_a_trusted_server_is_asked(void **state)
{
    (void)state;
    struct err err = {0};
    char certificate[300];
    path_of("right", "pem", certificate);
    struct tls_server server = serve("right");
    assert_int_equal(ask(server.port, certificate, &err), HTTP_ANSWERED);
    assert_int_equal(ask(server.port, NULL, &err), HTTP_NOT_SENT);
    assert_int_equal(err.status, STATUS_ACCESS);
    assert_non_null(strstr(err.hint, "ca_file"));
    stop(&server);
}

static void the_host_name_counts(void **state)
{
    (void)state;
    struct err err = {0};
    char certificate[300];
    path_of("other", "pem", certificate);
    struct tls_server server = serve("other");
    assert_int_equal(ask(server.port, certificate, &err), HTTP_NOT_SENT);
    assert_int_equal(err.status, STATUS_ACCESS);
    stop(&server);
}

static void a_missing_ca_file_is_told(void **state)
{
    (void)state;
    struct err err = {0};
    struct tls_server server = serve("right");
    assert_int_equal(ask(server.port, "/nonexistent/ca.pem", &err), HTTP_NOT_SENT);
    assert_int_equal(err.status, STATUS_ACCESS);
    stop(&server);
}

int main(void)
{
    (void)setenv("no_proxy", "127.0.0.1", 1); /* whatever the environment says */
    scratch_init(&scratch);
    if (make_certificate("right", "IP:127.0.0.1") != 0 || make_certificate("other", "DNS:other.example.test") != 0) {
        (void)fprintf(stderr, "SKIPPED: TLS is not tested without the openssl program\n");
        scratch_done(&scratch);
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_trusted_server_is_asked),
        cmocka_unit_test(the_host_name_counts),
        cmocka_unit_test(a_missing_ca_file_is_told),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    scratch_done(&scratch);
    return failed ? 1 : 0;
}
