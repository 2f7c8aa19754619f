/* file.c - small durable files and private directories. */
#include "host/file.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "host/entropy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_BYTES (PATH_MAX + 32)

int file_write_all(int fd, const void *bytes, size_t len, off_t offset)
{
    const char *in = bytes;
    while (len) {
        ssize_t done = pwrite(fd, in, len, offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? errno : EIO;
        in += done;
        offset += done;
        len -= (size_t)done;
    }
    return 0;
}

int file_read_all(int fd, void *ret_bytes, size_t len, off_t offset, size_t *ret_len)
{
    char *out = ret_bytes;
    size_t got = 0;
    while (got < len) {
        ssize_t done = pread(fd, out + got, len - got, offset + (off_t)got);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return errno;
        if (done == 0)
            break;
        got += (size_t)done;
    }
    *ret_len = got;
    return 0;
}

/* The path of the directory that holds `path`: "." where the path is one name. */
static int parent_of(const char *path, char ret_parent[PATH_BYTES])
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return snprintf(ret_parent, PATH_BYTES, ".") < 0;
    int len = (int)(slash == path ? 1 : slash - path);
    return snprintf(ret_parent, PATH_BYTES, "%.*s", len, path) >= PATH_BYTES ? ENAMETOOLONG : 0;
}

enum status file_sync_directory(int dir_fd, const char *path, struct err *err)
{
    return fsync(dir_fd) ? err_set_errno(err, errno, "sync directory '%s'", path) : STATUS_OK;
}

enum status file_sync_parent(int dir_fd, const char *path, struct err *err)
{
    char parent[PATH_BYTES];
    int failure = parent_of(path, parent);
    AUTO_FD int fd = failure ? -1 : openat(dir_fd, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_set_errno(err, failure ? failure : errno, "open the directory of '%s'", path);
    return file_sync_directory(fd, parent, err);
}

/* ".NAME.XXXXXXXX" beside `path`. */
static int temporary_beside(const char *path, char ret_path[PATH_BYTES])
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    uint8_t random[4];
    char suffix[HEX_SIZE(sizeof random)];
    entropy_fill(entropy_system(), random, sizeof random);
    hex_encode(random, sizeof random, suffix);
    int len = snprintf(ret_path, PATH_BYTES, "%.*s.%s.%s", (int)(name - path), path, name, suffix);
    return len < 0 || len >= PATH_BYTES ? ENAMETOOLONG : 0;
}

/* Creates the temporary file with everything in it, synced. 0 or an errno; then nothing is left. */
static int write_temporary(int dir_fd, const char *path, const void *bytes, size_t len, mode_t mode)
{
    AUTO_FD int fd = openat(dir_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return errno;
    int failure = file_write_all(fd, bytes, len, 0);
    if (!failure && (fchmod(fd, mode) || fsync(fd)))
        failure = errno;
    if (failure)
        (void)unlinkat(dir_fd, path, 0); /* the failure above is the one to tell */
    return failure;
}

enum status file_write(int dir_fd, const char *path, const void *bytes, size_t len, mode_t mode, struct err *err)
{
    char temporary[PATH_BYTES];
    int failure = temporary_beside(path, temporary);
    if (!failure)
        failure = write_temporary(dir_fd, temporary, bytes, len, mode);
    if (failure)
        return err_set_errno(err, failure, "write '%s'", path);
    if (renameat(dir_fd, temporary, dir_fd, path)) {
        failure = errno;
        (void)unlinkat(dir_fd, temporary, 0); /* the failure above is the one to tell */
        return err_set_errno(err, failure, "replace '%s'", path);
    }
    return file_sync_parent(dir_fd, path, err);
}

/* Reads on until the end of the file; the size that stat tells is not trusted, since the file may be growing. */
static int read_to_end(int fd, struct buf *buf)
{
    char piece[4096];
    size_t got = sizeof piece;
    for (off_t offset = 0; got == sizeof piece; offset += (off_t)got) {
        int failure = file_read_all(fd, piece, sizeof piece, offset, &got);
        if (failure)
            return failure;
        enum status status = buf_append(buf, piece, got);
        if (status != STATUS_OK)
            return status == STATUS_NO_SPACE ? EFBIG : ENOMEM;
    }
    return 0;
}

enum status file_read(int dir_fd, const char *path, struct buf *buf, struct err *err)
{
    AUTO_FD int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return err_set_errno(err, errno, "open '%s'", path);
    size_t before = buf->len;
    int failure = read_to_end(fd, buf);
    if (!failure)
        return STATUS_OK;
    buf_cut(buf, before);
    return err_set_errno(err, failure, "read '%s'", path);
}

/* Makes one directory durably: a new entry is worth nothing until its parent is synced. 0 or an errno. */
static int make_one(int dir_fd, const char *path)
{
    struct stat facts;
    if (mkdirat(dir_fd, path, 0700) == 0)
        return file_sync_parent(dir_fd, path, NULL) == STATUS_OK ? 0 : EIO;
    if (errno != EEXIST)
        return errno;
    if (fstatat(dir_fd, path, &facts, 0))
        return errno;
    return S_ISDIR(facts.st_mode) ? 0 : ENOTDIR;
}

enum status file_make_directory(int dir_fd, const char *path, struct err *err)
{
    char part[PATH_BYTES];
    size_t len = strlen(path);
    int failure = len >= sizeof part ? ENAMETOOLONG : 0;
    if (!failure && (failure = make_one(dir_fd, path)) != ENOENT)
        return failure ? err_set_errno(err, failure, "make directory '%s'", path) : STATUS_OK;
    for (size_t i = 1; i <= len && (!failure || failure == ENOENT); i++) {
        if ((path[i] != '/' && path[i]) || path[i - 1] == '/')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        failure = make_one(dir_fd, part);
        if (failure == ENOENT)
            break;
    }
    return failure ? err_set_errno(err, failure, "make directory '%s'", path) : STATUS_OK;
}
