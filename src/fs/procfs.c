/* procfs.c - reading /proc. */
#include "fs/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PF_EXITING  0x4u
#define PF_SIGNALED 0x400u
#define SIGKILL_BIT 0x100u

static bool read_small(pid_t tid, const char *file, char *ret_text, size_t capacity)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)tid, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t len = read(fd, ret_text, capacity - 1); /* the kernel gives these files whole */
    (void)close(fd);
    if (len <= 0)
        return false;
    ret_text[len] = '\0';
    return true;
}

bool procfs_parse_stat(const char *text, struct procfs_stat *ret_stat)
{
    const char *at = strrchr(text, ')');
    if (!at)
        return false;
    at++;
    struct procfs_stat stat = {0};
    for (int field = 3; field <= 52; field++) {
        while (*at == ' ')
            at++;
        if (!*at || *at == '\n')
            return false;
        if (field == 9)
            stat.flags = (uint32_t)strtoul(at, NULL, 10);
        if (field == 52)
            stat.exit_code = (uint32_t)strtoul(at, NULL, 10);
        at += strcspn(at, " \n");
    }
    *ret_stat = stat;
    return true;
}

bool procfs_parse_status(const char *text, const char *key, int base, uint64_t *ret_value)
{
    size_t len = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
        if (strncmp(line, key, len) != 0 || line[len] != ':')
            continue;
        char *end = NULL;
        unsigned long long value = strtoull(line + len + 1, &end, base);
        if (end == line + len + 1)
            return false;
        *ret_value = value;
        return true;
    }
    return false;
}

bool procfs_is_killed(const struct procfs_stat *stat, bool readable)
{
    if (!(stat->flags & PF_EXITING))
        return false;
    return (stat->exit_code & 0x7f) != 0 || (!readable && (stat->flags & PF_SIGNALED));
}

/* The link is guarded by the same permission as field 52; of an exiting task it leads nowhere (ENOENT). */
static bool exit_code_readable(pid_t tid)
{
    char path[64], target[8];
    (void)snprintf(path, sizeof path, "/proc/%d/exe", (int)tid);
    return readlink(path, target, sizeof target) >= 0 || (errno != EACCES && errno != EPERM);
}

bool procfs_killed(pid_t tid)
{
    char text[1024];
    struct procfs_stat stat;
    if (tid <= 0 || !read_small(tid, "stat", text, sizeof text) || !procfs_parse_stat(text, &stat))
        return false;
    return procfs_is_killed(&stat, !(stat.flags & PF_EXITING) || exit_code_readable(tid));
}

/* Most programs have one thread. A descriptor of a process is had for its first thread alone (pidfd_open(2)), and
 * asking for one takes a tenth of the time that the kernel needs to write a status file. */
static bool is_first_thread(pid_t tid)
{
    int fd = (int)syscall(SYS_pidfd_open, tid, 0);
    if (fd < 0)
        return false;
    (void)close(fd); /* nothing was written through it */
    return true;
}

pid_t procfs_tgid(pid_t tid)
{
    char text[1024]; /* Tgid is the fourth line */
    uint64_t value = 0;
    if (tid > 0 && is_first_thread(tid))
        return tid;
    if (tid <= 0 || !read_small(tid, "status", text, sizeof text) || !procfs_parse_status(text, "Tgid", 10, &value))
        return 0;
    return (pid_t)value;
}

bool procfs_fatal_pending(pid_t tid)
{
    char text[4096];
    struct procfs_stat stat;
    uint64_t own = 0, shared = 0;
    if (tid <= 0 || !read_small(tid, "stat", text, sizeof text) || !procfs_parse_stat(text, &stat))
        return false;
    if ((stat.flags & PF_EXITING) || !read_small(tid, "status", text, sizeof text))
        return false;
    bool known = procfs_parse_status(text, "SigPnd", 16, &own) && procfs_parse_status(text, "ShdPnd", 16, &shared);
    return known && ((own | shared) & SIGKILL_BIT);
}
