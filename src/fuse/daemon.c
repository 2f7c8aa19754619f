/* daemon.c - fork, pipe, signals. */
#include "fuse/daemon.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#define ARENAS_MAX 2 /* with one for each thread, freed blocks of megabytes lie idle in each */

#ifndef __has_feature
#define __has_feature(name) 0
#endif

/* What the child sends; smaller than PIPE_BUF, so it arrives whole. */
struct report {
    enum status status;
    struct err err;
};

static bool read_report(int fd, struct report *ret_report)
{
    size_t len = 0;
    while (len < sizeof *ret_report) {
        ssize_t got = read(fd, (char *)ret_report + len, sizeof *ret_report - len);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        len += (size_t)got;
    }
    return true;
}

static enum status await_child(pid_t child, int fd, struct err *err)
{
    struct report report;
    if (read_report(fd, &report)) {
        *err = report.err;
        return report.status;
    }
    int code = 0;
    while (waitpid(child, &code, 0) < 0 && errno == EINTR)
        continue;
    return WIFSIGNALED(code) ? err_set(err, STATUS_MOUNT, "cannot mount: the process was ended by signal %d (%s)",
                                       WTERMSIG(code), strsignal(WTERMSIG(code)))
                             : err_set(err, STATUS_MOUNT, "cannot mount: the process ended before the mount was live");
}

enum status daemon_fork(bool foreground, struct daemon *ret_daemon, bool *ret_parent, struct err *err)
{
    *ret_daemon = (struct daemon){.report_fd = -1, .foreground = foreground};
    *ret_parent = false;
    if (foreground)
        return STATUS_OK;
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0)
        return err_set_errno(err, errno, "pipe");
    (void)fflush(NULL); /* else both would write what is buffered */
    pid_t child = fork();
    if (child == 0) {
        (void)close(fds[0]);
        ret_daemon->report_fd = fds[1];
        return STATUS_OK;
    }
    (void)close(fds[1]); /* so that the pipe ends with the child */
    AUTO_FD int from_child = fds[0];
    *ret_parent = true;
    return child < 0 ? err_set_errno(err, errno, "fork") : await_child(child, from_child, err);
}

void daemon_prepare(void)
{
    (void)umask(077);
    (void)mallopt(M_ARENA_MAX, ARENAS_MAX); /* refused: the memory that threads have freed is kept for each of them */
    struct rlimit none = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &none);                                /* lowering is always allowed */
#if !defined(__SANITIZE_ADDRESS__) && !__has_feature(address_sanitizer) /* its look for leaks needs ptrace */
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}

static void send_report(struct daemon *daemon, enum status status, const struct err *err)
{
    if (daemon->report_fd < 0)
        return;
    struct report report = {.status = status};
    if (err)
        report.err = *err;
    while (write(daemon->report_fd, &report, sizeof report) < 0 && errno == EINTR)
        continue; /* a parent that has gone does not want to know */
    (void)close(daemon->report_fd);
    daemon->report_fd = -1;
}

void daemon_live(struct daemon *daemon)
{
    if (!daemon->foreground) {
        (void)setsid(); /* cannot fail: a forked child leads no group */
        if (chdir("/") != 0)
            return send_report(daemon, STATUS_OK, NULL); /* it holds the folder it was started in, no more */
        AUTO_FD int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        for (int fd = 0; null_fd >= 0 && fd <= 2; fd++)
            (void)dup2(null_fd, fd); /* onto open descriptors; if it failed, the terminal would be kept */
        if (null_fd >= 0 && null_fd <= 2)
            null_fd = -1;
    }
    (void)sd_notify(0, "READY=1"); /* does nothing without a service manager; so below */
    send_report(daemon, STATUS_OK, NULL);
}

void daemon_fail(struct daemon *daemon, const struct err *err)
{
    send_report(daemon, err->status == STATUS_OK ? STATUS_MOUNT : err->status, err);
}

void daemon_stopping(void)
{
    (void)sd_notify(0, "STOPPING=1");
}

/* ---- signals ---- */

static sigset_t our_signals(void)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGHUP);
    (void)sigaddset(&set, SIGUSR1); /* ends the thread */
    return set;
}

static void *await_signals(void *argument)
{
    struct signals *signals = argument;
    sigset_t set = our_signals();
    while (!atomic_load(&signals->closing)) {
        int number = sigwaitinfo(&set, NULL);
        if (number != SIGTERM && number != SIGINT)
            continue;
        if (!atomic_load(&signals->armed))
            _exit(128 + number); /* nothing is mounted yet; what was begun is swept by the next mount */
        signals->terminate(signals->context);
    }
    return NULL;
}

enum status signals_open(struct signals *signals, void (*terminate)(void *context), void *context, struct err *err)
{
    signals->terminate = terminate;
    signals->context = context;
    atomic_init(&signals->armed, false);
    atomic_init(&signals->closing, false);
    sigset_t set = our_signals();
    (void)signal(SIGPIPE, SIG_IGN);
    int error = pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (error == 0)
        error = pthread_create(&signals->thread, NULL, await_signals, signals);
    return error == 0 ? STATUS_OK : err_set_errno(err, error, "start a thread");
}

void signals_arm(struct signals *signals)
{
    atomic_store(&signals->armed, true);
}

void signals_close(struct signals *signals)
{
    atomic_store(&signals->closing, true);
    (void)pthread_kill(signals->thread, SIGUSR1);
    (void)pthread_join(signals->thread, NULL);
}
