/* mountinfo.c - /proc/self/mountinfo, and paths made canonical without touching what is mounted at them. */
#include "host/mountinfo.h"

#include "base/cleanup.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINKS_MAX 40

static void cleanup_file(FILE **file)
{
    if (*file)
        (void)fclose(*file); /* only read from */
}

static bool is_octal(char c)
{
    return c >= '0' && c <= '7';
}

/* The kernel writes blanks, tabs, line breaks and backslashes as \ooo. Cuts what does not fit. */
static void unescape(const char *text, char *ret_text, size_t size)
{
    size_t len = 0;
    while (*text && len + 1 < size) {
        if (text[0] == '\\' && is_octal(text[1]) && is_octal(text[2]) && is_octal(text[3])) {
            ret_text[len++] = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + (text[3] - '0'));
            text += 4;
        } else {
            ret_text[len++] = *text++;
        }
    }
    ret_text[len] = '\0';
}

static char *next_word(char **line)
{
    char *word = strsep(line, " \n");
    return word && *word ? word : NULL;
}

bool mountinfo_parse(char *line, struct mountinfo *ret_mount, char ret_point[MOUNTINFO_PATH_SIZE])
{
    char *words[6];
    for (size_t i = 0; i < 6; i++)
        if (!(words[i] = next_word(&line)))
            return false;
    char *end;
    ret_mount->device_major = (unsigned)strtoul(words[2], &end, 10);
    if (*end != ':')
        return false;
    ret_mount->device_minor = (unsigned)strtoul(end + 1, &end, 10);
    if (*end)
        return false;
    for (char *word; (word = next_word(&line)) && strcmp(word, "-") != 0;)
        continue; /* optional fields, as many as there are */
    char *type = next_word(&line), *source = strsep(&line, " \n");
    if (!type || !source)
        return false;
    unescape(words[4], ret_point, MOUNTINFO_PATH_SIZE);
    unescape(type, ret_mount->type, sizeof ret_mount->type);
    unescape(source, ret_mount->source, sizeof ret_mount->source);
    return true;
}

enum status mountinfo_find(const char *path, struct mountinfo *ret_mount, struct err *err)
{
    CLEANUP(cleanup_file) FILE *file = fopen("/proc/self/mountinfo", "re");
    if (!file)
        return err_set_errno(err, errno, "read /proc/self/mountinfo");
    AUTO_FREE char *line = NULL;
    AUTO_FREE char *point = malloc(MOUNTINFO_PATH_SIZE);
    if (!point)
        return err_set(err, STATUS_NO_MEMORY, "out of memory");
    size_t capacity = 0;
    bool found = false;
    while (getline(&line, &capacity, file) > 0) {
        struct mountinfo mount;
        if (mountinfo_parse(line, &mount, point) && strcmp(point, path) == 0) {
            *ret_mount = mount; /* a later line lies over an earlier one */
            found = true;
        }
    }
    return found ? STATUS_OK : STATUS_NOT_FOUND;
}

static void drop_slashes(char *path)
{
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        path[--len] = '\0';
}

/* Replaces `path` by the target of the link that it is. False: it is none. readlink(2) of a mount point is answered by
 * the kernel without asking the filesystem. */
static bool follow_link(char *path)
{
    char target[PATH_MAX], whole[PATH_MAX * 2];
    ssize_t len = readlink(path, target, sizeof target - 1);
    if (len <= 0)
        return false;
    target[len] = '\0';
    char *slash = strrchr(path, '/');
    int parent_len = target[0] == '/' || !slash ? 0 : (int)(slash - path) + 1;
    int used = snprintf(whole, sizeof whole, "%.*s%s", parent_len, path, target);
    if (used < 0 || used >= MOUNTINFO_PATH_SIZE)
        return false;
    memcpy(path, whole, (size_t)used + 1);
    drop_slashes(path);
    return true;
}

/* The folder above, canonical, and the last component behind it. */
static enum status join_parent(char *path, char *ret_path, struct err *err)
{
    char *slash = strrchr(path, '/');
    const char *last = slash ? slash + 1 : path;
    char parent[PATH_MAX + 2];
    int len = slash ? (int)(slash - path) : 0;
    (void)snprintf(parent, sizeof parent, "%.*s%s", len, path, slash ? "/" : ".");
    AUTO_FREE char *real = realpath(parent, NULL);
    if (!real)
        return err_set_errno(err, errno, "%s", parent);
    int used = snprintf(ret_path, MOUNTINFO_PATH_SIZE, "%s/%s", strcmp(real, "/") == 0 ? "" : real, last);
    if (used < 0 || used >= MOUNTINFO_PATH_SIZE)
        return err_set(err, STATUS_NAME_TOO_LONG, "%s: path is too long", path);
    drop_slashes(ret_path);
    return STATUS_OK;
}

static bool ends_in_dots(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *last = slash ? slash + 1 : path;
    return strcmp(last, ".") == 0 || strcmp(last, "..") == 0;
}

enum status mountinfo_path(const char *path, char ret_path[MOUNTINFO_PATH_SIZE], struct err *err)
{
    char work[MOUNTINFO_PATH_SIZE];
    if (!*path)
        return err_set(err, STATUS_NOT_FOUND, "the path is empty");
    if (strcmp(path, ".") == 0) {
        if (!getcwd(ret_path, MOUNTINFO_PATH_SIZE))
            return err_set_errno(err, errno, "working directory");
        return STATUS_OK;
    }
    if (snprintf(work, sizeof work, "%s", path) >= (int)sizeof work)
        return err_set(err, STATUS_NAME_TOO_LONG, "path is too long");
    drop_slashes(work);
    for (int i = 0; i < LINKS_MAX && follow_link(work); i++)
        continue;
    if (!ends_in_dots(work))
        return join_parent(work, ret_path, err);
    AUTO_FREE char *real = realpath(work, NULL);
    if (!real)
        return err_set_errno(err, errno, "%s", path);
    if (snprintf(ret_path, MOUNTINFO_PATH_SIZE, "%s", real) >= MOUNTINFO_PATH_SIZE)
        return err_set(err, STATUS_NAME_TOO_LONG, "%s: path is too long", path);
    return STATUS_OK;
}
