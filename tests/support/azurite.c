/* azurite.c - running tests/support/azurite as a child that dies with its parent. */
#include "azurite.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_MAX_MS 60000
#define SKIPPED      77

static void die(const char *what)
{
    (void)fprintf(stderr, "azurite: %s: %s\n", what, strerror(errno));
    abort();
}

/* The script lies beside this source. */
static void script_path(char *ret_path, size_t size)
{
    const char *slash = strrchr(__FILE__, '/');
    (void)snprintf(ret_path, size, "%.*s/azurite", slash ? (int)(slash - __FILE__) : 1, slash ? __FILE__ : ".");
}

static void child(const char *folder, int output, pid_t parent)
{
    char script[4096];
    script_path(script, sizeof script);
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != parent || dup2(output, STDOUT_FILENO) < 0)
        _exit(1);
    (void)execl(script, script, "run", folder, (char *)NULL);
    _exit(127);
}

static void spawn(struct azurite *azurite)
{
    int ends[2];
    pid_t parent = getpid();
    if (pipe2(ends, O_CLOEXEC) != 0)
        die("pipe");
    azurite->pid = fork();
    if (azurite->pid < 0)
        die("fork");
    if (azurite->pid == 0)
        child(azurite->scratch.path, ends[1], parent);
    (void)close(ends[1]); /* nothing was written through it */
    azurite->output = ends[0];
}

static void reap(struct azurite *azurite, int *ret_code)
{
    int status = 0;
    while (waitpid(azurite->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    *ret_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    (void)close(azurite->output); /* it was read only */
}

/* Reads what it prints until it names its port. False at the end of its output. */
static bool read_port(struct azurite *azurite)
{
    static const char sign[] = "listens on http://127.0.0.1:";
    char text[4096];
    size_t len = 0;
    while (len < sizeof text - 1) {
        struct pollfd waiting = {.fd = azurite->output, .events = POLLIN};
        if (poll(&waiting, 1, START_MAX_MS) == 0)
            return false;
        ssize_t n = read(azurite->output, text + len, sizeof text - 1 - len);
        if (n <= 0)
            return false;
        len += (size_t)n;
        text[len] = '\0';
        const char *port = strstr(text, sign);
        if (port && strchr(port, '\n'))
            return sscanf(port + sizeof sign - 1, "%u", &azurite->port) == 1;
    }
    return false;
}

/* False where it is not installed. */
static bool start(struct azurite *azurite)
{
    int code;
    spawn(azurite);
    if (read_port(azurite)) {
        (void)snprintf(azurite->endpoint, sizeof azurite->endpoint, "http://127.0.0.1:%u/" AZURITE_ACCOUNT,
                       azurite->port);
        return true;
    }
    (void)kill(azurite->pid, SIGKILL); /* it may have ended by itself */
    reap(azurite, &code);
    if (code == SKIPPED)
        return false;
    (void)fprintf(stderr, "azurite: it does not start (exit code %d)\n", code);
    abort();
}

static void stop(struct azurite *azurite)
{
    int code;
    (void)kill(azurite->pid, SIGTERM); /* it may have ended by itself */
    reap(azurite, &code);
}

bool azurite_start(struct azurite *azurite)
{
    (void)setenv("no_proxy", "127.0.0.1", 1); /* whatever proxies the environment has, not for this */
    scratch_init(&azurite->scratch);
    if (start(azurite))
        return true;
    scratch_done(&azurite->scratch);
    return false;
}

void azurite_stop(struct azurite *azurite)
{
    stop(azurite);
    scratch_done(&azurite->scratch);
}

void azurite_restart(struct azurite *azurite)
{
    stop(azurite);
    if (!start(azurite))
        abort();
}
