/* control.c - a line server over a Unix socket, and its client. */
#include "fuse/control.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define CLIENTS_MAX 16

struct client {
    int fd; /* -1: free */
    bool drains;
    size_t len;
    char line[CONTROL_LINE_SIZE];
};

struct control {
    struct control_handler handler;
    int listen_fd, stop_fd;
    pthread_t thread;
    struct client clients[CLIENTS_MAX]; /* the thread's alone while it runs */
};

/* A socket's address holds 107 bytes, a path may be longer: the folder is opened, and named by its descriptor. */
static enum status address_of(const char *path, int *ret_folder_fd, struct sockaddr_un *ret_address, struct err *err)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return err_set(err, STATUS_INVALID, "%s is not an absolute path", path);
    AUTO_FREE char *folder = strndup(path, (size_t)(slash - path) + 1);
    if (!folder)
        return err_set(err, STATUS_NO_MEMORY, "out of memory");
    int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_set_errno(err, errno, "%s", folder);
    *ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
    (void)snprintf(ret_address->sun_path, sizeof ret_address->sun_path, "/proc/self/fd/%d/%s", fd, slash + 1);
    *ret_folder_fd = fd;
    return STATUS_OK;
}

/* ---- the server ---- */

static void drop_client(struct client *client)
{
    (void)close(client->fd);
    *client = (struct client){.fd = -1};
}

static void send_line(struct client *client, const char *text)
{
    char line[CONTROL_LINE_SIZE + 1];
    int len = snprintf(line, sizeof line, "%.*s\n", CONTROL_LINE_SIZE - 1, text);
    if (send(client->fd, line, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT) != len)
        drop_client(client);
}

static void answer(struct control *control, struct client *client)
{
    char text[CONTROL_LINE_SIZE] = "";
    if (strcmp(client->line, "progress") == 0) {
        control->handler.progress(control->handler.context, text);
        send_line(client, text);
    } else if (strcmp(client->line, "drain") == 0) {
        client->drains = true;
        send_line(client, "draining");
    } else if (strncmp(client->line, "loglevel ", 9) == 0) {
        bool known = control->handler.set_log_level(control->handler.context, client->line + 9);
        send_line(client, known ? "ok" : "error log levels are error, warn, info and debug");
    } else {
        send_line(client, "error unknown command");
    }
}

static void read_client(struct control *control, struct client *client)
{
    ssize_t got = recv(client->fd, client->line + client->len, sizeof client->line - 1 - client->len, MSG_DONTWAIT);
    if (got <= 0) {
        if (got == 0 || (errno != EAGAIN && errno != EINTR))
            drop_client(client);
        return;
    }
    client->len += (size_t)got;
    client->line[client->len] = '\0';
    char *end = strchr(client->line, '\n');
    if (end) {
        *end = '\0';
        client->len = 0;
        answer(control, client);
    } else if (client->len == sizeof client->line - 1) {
        drop_client(client);
    }
}

static bool may_ask(int fd)
{
    struct ucred peer;
    socklen_t len = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && (peer.uid == 0 || peer.uid == geteuid());
}

static void accept_client(struct control *control)
{
    int fd = accept4(control->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    for (size_t i = 0; fd >= 0 && may_ask(fd) && i < CLIENTS_MAX; i++) {
        if (control->clients[i].fd < 0) {
            control->clients[i] = (struct client){.fd = fd};
            return;
        }
    }
    if (fd >= 0)
        (void)close(fd); /* a stranger, or one too many */
}

static void *serve(void *argument)
{
    struct control *control = argument;
    for (;;) {
        struct pollfd fds[CLIENTS_MAX + 2];
        for (size_t i = 0; i < CLIENTS_MAX; i++)
            fds[i] = (struct pollfd){.fd = control->clients[i].fd, .events = POLLIN}; /* -1 is passed over */
        fds[CLIENTS_MAX] = (struct pollfd){.fd = control->listen_fd, .events = POLLIN};
        fds[CLIENTS_MAX + 1] = (struct pollfd){.fd = control->stop_fd, .events = POLLIN};
        (void)poll(fds, CLIENTS_MAX + 2, -1); /* what is not readable is seen so below */
        if (fds[CLIENTS_MAX + 1].revents)
            return NULL;
        for (size_t i = 0; i < CLIENTS_MAX; i++)
            if (fds[i].fd >= 0 && fds[i].revents)
                read_client(control, &control->clients[i]);
        if (fds[CLIENTS_MAX].revents)
            accept_client(control);
    }
}

static enum status listen_at(const char *path, int *ret_fd, struct err *err)
{
    struct sockaddr_un address;
    AUTO_FD int folder_fd = -1;
    enum status status = address_of(path, &folder_fd, &address, err);
    if (status != STATUS_OK)
        return status;
    AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    (void)unlink(path); /* what a crash has left; the lock of the record says that nobody listens there */
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, CLIENTS_MAX) != 0)
        return err_set_errno(err, errno, "listen at %s", path);
    *ret_fd = fd;
    fd = -1;
    return STATUS_OK;
}

enum status control_open(const char *path, const struct control_handler *handler, struct control **ret_control,
                         struct err *err)
{
    AUTO_FREE struct control *control = calloc(1, sizeof *control);
    if (!control)
        return err_set(err, STATUS_NO_MEMORY, "out of memory");
    control->handler = *handler;
    for (size_t i = 0; i < CLIENTS_MAX; i++)
        control->clients[i].fd = -1;
    enum status status = listen_at(path, &control->listen_fd, err);
    if (status != STATUS_OK)
        return status;
    control->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int error = control->stop_fd < 0 ? errno : pthread_create(&control->thread, NULL, serve, control);
    if (error != 0) {
        (void)close(control->listen_fd);
        cleanup_fd(&control->stop_fd);
        return err_set_errno(err, error, "start a thread");
    }
    *ret_control = TAKE(control);
    return STATUS_OK;
}

void control_close(struct control *control, const char *last_line)
{
    if (!control)
        return;
    (void)eventfd_write(control->stop_fd, 1); /* fails only when it is readable already */
    (void)pthread_join(control->thread, NULL);
    for (size_t i = 0; i < CLIENTS_MAX; i++) {
        struct client *client = &control->clients[i];
        if (client->fd >= 0 && client->drains)
            send_line(client, last_line);
        if (client->fd >= 0)
            drop_client(client);
    }
    (void)close(control->listen_fd);
    (void)close(control->stop_fd);
    free(control);
}

/* ---- the client ---- */

enum status control_connect(const char *path, int *ret_fd, struct err *err)
{
    struct sockaddr_un address;
    AUTO_FD int folder_fd = -1;
    enum status status = address_of(path, &folder_fd, &address, err);
    if (status != STATUS_OK)
        return status;
    AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        return err_set(err, errno == ENOENT ? STATUS_NOT_FOUND : STATUS_UNREACHABLE, "nobody listens at %s", path);
    *ret_fd = fd;
    fd = -1;
    return STATUS_OK;
}

/* Byte by byte, so that nothing of the next line is taken; lines are short and rare. */
enum status control_await(int fd, char ret_answer[CONTROL_LINE_SIZE], int64_t timeout_ms, struct err *err)
{
    char line[CONTROL_LINE_SIZE];
    for (size_t len = 0; len < sizeof line;) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        int count = poll(&ready, 1, (int)timeout_ms);
        if (count == 0)
            return err_set(err, STATUS_TIMEOUT, "no answer from the mount's process");
        ssize_t got = count < 0 ? -1 : read(fd, line + len, 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return err_set(err, STATUS_UNFINISHED, "the mount's process has gone without a word");
        if (line[len] == '\n') {
            line[len] = '\0';
            memcpy(ret_answer, line, len + 1);
            return STATUS_OK;
        }
        len++;
    }
    return err_set(err, STATUS_INVALID, "the mount's process gave an answer that is too long");
}

enum status control_ask(int fd, const char *line, char ret_answer[CONTROL_LINE_SIZE], int64_t timeout_ms,
                        struct err *err)
{
    char whole[CONTROL_LINE_SIZE + 1];
    int len = snprintf(whole, sizeof whole, "%s\n", line);
    if (len < 0 || (size_t)len >= sizeof whole)
        return err_set(err, STATUS_INVALID, "the command is too long");
    if (send(fd, whole, (size_t)len, MSG_NOSIGNAL) != len)
        return err_set(err, STATUS_UNFINISHED, "the mount's process has gone without a word");
    return control_await(fd, ret_answer, timeout_ms, err);
}
