/* attach.c - mount(2) and umount2(2) for root, fusermount3 for everybody else. */
#include "fuse/attach.h"

#include "base/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FUSERMOUNT   "fusermount3"
#define SOCKET_FD    3 /* the number under which fusermount3 finds its end of the socket pair */
#define OPTIONS_SIZE 4096
#define OUTPUT_BYTES 4096

/* The errno said why; that it cannot be mounted is what counts. */
static enum status cannot_mount(struct err *err)
{
    if (err)
        err->status = STATUS_MOUNT;
    return STATUS_MOUNT;
}

/* ---- root ---- */

static enum status open_device(int *ret_fd, struct err *err)
{
    int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        (void)err_set_errno(err, errno, "cannot open /dev/fuse");
        (void)err_hint(err, "load the kernel module (modprobe fuse); in a container, pass it the device /dev/fuse");
        return cannot_mount(err);
    }
    *ret_fd = fd;
    return STATUS_OK;
}

static enum status mount_as_root(const char *point, const struct attach_options *options, int *ret_fd, struct err *err)
{
    AUTO_FD int fd = -1;
    enum status status = open_device(&fd, err);
    if (status != STATUS_OK)
        return status;
    char data[256];
    (void)snprintf(data, sizeof data, "fd=%d,rootmode=%o,user_id=%u,group_id=%u,default_permissions%s", fd,
                   (unsigned)S_IFDIR, (unsigned)getuid(), (unsigned)getgid(),
                   options->allow_other ? ",allow_other" : "");
    unsigned long flags =
        MS_NOSUID | MS_NODEV | (options->read_only ? MS_RDONLY : 0) | (options->noexec ? MS_NOEXEC : 0);
    if (mount(options->source, point, "fuse.readyfs", flags, data) != 0) {
        status = err_set_errno(err, errno, "cannot mount at %s", point);
        return status == STATUS_PERMISSION ? status : cannot_mount(err);
    }
    *ret_fd = fd;
    fd = -1;
    return STATUS_OK;
}

/* ---- fusermount3 ---- */

/* The environment with _FUSE_COMMFD, which tells fusermount3 where to send the descriptor. */
static char **environment_with(char *variable)
{
    size_t count = 0;
    while (environ[count])
        count++;
    char **whole = calloc(count + 2, sizeof *whole);
    if (!whole)
        return NULL;
    memcpy(whole, environ, count * sizeof *whole);
    whole[count] = variable;
    return whole;
}

/* The child's standard error goes to `output_fd`, its end of the socket pair (or -1) to SOCKET_FD. */
static int spawn_fusermount(char *const *arguments, int output_fd, int socket_fd, pid_t *ret_pid)
{
    char variable[32];
    (void)snprintf(variable, sizeof variable, "_FUSE_COMMFD=%d", SOCKET_FD);
    AUTO_FREE char **environment = environment_with(variable);
    posix_spawn_file_actions_t actions;
    if (!environment || posix_spawn_file_actions_init(&actions) != 0)
        return ENOMEM;
    int error = posix_spawn_file_actions_adddup2(&actions, output_fd, STDERR_FILENO);
    if (error == 0 && socket_fd >= 0)
        error = posix_spawn_file_actions_adddup2(&actions, socket_fd, SOCKET_FD);
    if (error == 0)
        error = posix_spawnp(ret_pid, FUSERMOUNT, &actions, NULL, arguments, environment);
    (void)posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Reads what the child has said until it has ended; the first line is kept. */
static int await_fusermount(pid_t pid, int output_fd, char *ret_line, size_t size)
{
    size_t len = 0;
    char rest[256];
    for (;;) {
        bool full = len + 1 >= size;
        ssize_t got = read(output_fd, full ? rest : ret_line + len, full ? sizeof rest : size - 1 - len);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        if (!full)
            len += (size_t)got;
    }
    ret_line[len] = '\0';
    ret_line[strcspn(ret_line, "\n")] = '\0';
    int code = 0;
    while (waitpid(pid, &code, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(code) ? WEXITSTATUS(code) : -1;
}

static enum status run_fusermount(char *const *arguments, int *socket_fd, char *ret_line, size_t size, struct err *err)
{
    int output[2];
    pid_t pid;
    if (pipe2(output, O_CLOEXEC) != 0)
        return err_set_errno(err, errno, "pipe");
    int error = spawn_fusermount(arguments, output[1], socket_fd ? *socket_fd : -1, &pid);
    (void)close(output[1]); /* the child has a copy */
    if (error != 0) {
        (void)close(output[0]);
        (void)err_set_errno(err, error, "cannot run " FUSERMOUNT);
        (void)err_hint(err, "install the package fuse3, or run as root");
        return cannot_mount(err);
    }
    if (socket_fd) {
        (void)close(*socket_fd); /* so that recvmsg sees the end when the child dies */
        *socket_fd = -1;
    }
    int code = await_fusermount(pid, output[0], ret_line, size);
    (void)close(output[0]);
    return code == 0 ? STATUS_OK : err_set(err, STATUS_MOUNT, "%s", *ret_line ? ret_line : FUSERMOUNT " failed");
}

static int receive_fd(int socket_fd)
{
    char byte;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t got;
    do
        got = recvmsg(socket_fd, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    struct cmsghdr *header = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (!header || header->cmsg_type != SCM_RIGHTS)
        return -1;
    int fd;
    memcpy(&fd, CMSG_DATA(header), sizeof fd);
    return fd;
}

/* A comma ends an option, a backslash takes its meaning away. */
static void escape(const char *text, char *ret_text, size_t size)
{
    size_t len = 0;
    for (; *text && len + 2 < size; text++) {
        if (*text == ',' || *text == '\\')
            ret_text[len++] = '\\';
        ret_text[len++] = *text;
    }
    ret_text[len] = '\0';
}

static enum status mount_as_user(const char *point, const struct attach_options *options, int *ret_fd, struct err *err)
{
    char source[OPTIONS_SIZE / 2], list[OPTIONS_SIZE], line[OUTPUT_BYTES];
    escape(options->source, source, sizeof source);
    (void)snprintf(list, sizeof list, "%s,nosuid,nodev,default_permissions,subtype=readyfs,fsname=%s%s%s",
                   options->read_only ? "ro" : "rw", source, options->allow_other ? ",allow_other" : "",
                   options->noexec ? ",noexec" : "");
    AUTO_FREE char *target = strdup(point);
    if (!target)
        return err_set(err, STATUS_NO_MEMORY, "out of memory");
    char *const arguments[] = {(char[]){FUSERMOUNT}, (char[]){"-o"}, list, (char[]){"--"}, target, NULL};
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return err_set_errno(err, errno, "socketpair");
    AUTO_FD int ours = pair[0];
    AUTO_FD int theirs = pair[1];
    enum status status = run_fusermount(arguments, &theirs, line, sizeof line, err);
    if (status != STATUS_OK)
        return (void)err_context(err, "cannot mount at %s", point), status;
    int fd = receive_fd(ours);
    if (fd < 0)
        return err_set(err, STATUS_MOUNT, "cannot mount at %s: " FUSERMOUNT " sent no descriptor", point);
    (void)fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK); /* else the loop merely notices its end later */
    *ret_fd = fd;
    return STATUS_OK;
}

enum status attach_mount(const char *point, const struct attach_options *options, int *ret_fd, struct err *err)
{
    if (geteuid() == 0) {
        enum status status = mount_as_root(point, options, ret_fd, err);
        if (status != STATUS_PERMISSION)
            return status;
        if (!attach_has_fusermount())
            return cannot_mount(err);
    }
    return mount_as_user(point, options, ret_fd, err);
}

/* ---- the end ---- */

static enum status unmount_as_user(const char *point, enum unmount_how how, struct err *err)
{
    char line[OUTPUT_BYTES];
    AUTO_FREE char *target = strdup(point);
    if (!target)
        return err_set(err, STATUS_NO_MEMORY, "out of memory");
    char *const arguments[] = {(char[]){FUSERMOUNT}, how == UNMOUNT_GENTLY ? (char[]){"-u"} : (char[]){"-uz"},
                               (char[]){"--"}, target, NULL};
    enum status status = run_fusermount(arguments, NULL, line, sizeof line, err);
    if (status == STATUS_MOUNT && strstr(line, "busy"))
        return err_set(err, STATUS_BUSY, "%s is in use", point);
    if (status == STATUS_MOUNT && strstr(line, "not found"))
        return err_set(err, STATUS_NOT_FOUND, "%s is not mounted", point);
    return status;
}

enum status attach_unmount(const char *point, enum unmount_how how, struct err *err)
{
    if (geteuid() != 0)
        return unmount_as_user(point, how, err);
    static const int flags[] = {
        [UNMOUNT_GENTLY] = 0, [UNMOUNT_LAZILY] = MNT_DETACH, [UNMOUNT_BY_FORCE] = MNT_FORCE | MNT_DETACH};
    if (umount2(point, UMOUNT_NOFOLLOW | flags[how]) == 0)
        return STATUS_OK;
    switch (errno) {
    case EBUSY: return err_set(err, STATUS_BUSY, "%s is in use", point);
    case EINVAL: return err_set(err, STATUS_NOT_FOUND, "%s is not mounted", point);
    default: return err_set_errno(err, errno, "unmount %s", point);
    }
}

enum status attach_abort(unsigned device_minor, struct err *err)
{
    char path[128];
    (void)snprintf(path, sizeof path, "/sys/fs/fuse/connections/%u/abort", device_minor);
    AUTO_FD int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set_errno(err, errno, "%s", path);
    if (write(fd, "1", 1) != 1)
        return err_set_errno(err, errno, "%s", path);
    return STATUS_OK;
}

bool attach_has_fusermount(void)
{
    const char *list = getenv("PATH");
    if (!list || !*list)
        list = "/usr/local/bin:/usr/bin:/bin";
    while (*list) {
        size_t len = strcspn(list, ":");
        char path[4096];
        int used = snprintf(path, sizeof path, "%.*s/" FUSERMOUNT, (int)len, list);
        if (used > 0 && (size_t)used < sizeof path && access(path, X_OK) == 0)
            return true;
        list += len + (list[len] == ':');
    }
    return false;
}
