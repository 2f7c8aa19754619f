/* sqlite_place.c - the file of a catalogue, the folder beside it, and whether both are still what was opened.
 *
 * The file is never opened here once SQLite may have it open in this process: closing any descriptor of it would drop
 * the POSIX locks that SQLite holds on it (fcntl(2)). So everything is asked by path.
 */
#include "catalogue/sqlite_internal.h"

#include "catalogue/batch.h"

#include "host/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_BYTES_MAX 500 /* SQLite's 512 without what it appends */

static enum status out_of_memory(struct err *err)
{
    return err_set(err, STATUS_NO_MEMORY, "catalogue: out of memory");
}

/* ---- the path ---- */

/* For a file that is not there yet: its folder resolved, and its own name. */
static enum status resolve_new(const char *path, char **ret_path, struct err *err)
{
    AUTO_FREE char *folder = strdup(path);
    if (!folder)
        return out_of_memory(err);
    char *slash = strrchr(folder, '/');
    const char *name = path + (slash - folder) + 1;
    if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
        return err_set(err, STATUS_INVALID, "catalogue '%s': the path names no file", path);
    struct stat link;
    if (lstat(path, &link) == 0)
        return err_set(err, STATUS_INVALID, "catalogue '%s': a symbolic link that leads nowhere", path);
    *slash = '\0';
    AUTO_FREE char *real = realpath(*folder ? folder : "/", NULL);
    if (!real)
        return err_set_errno(err, errno, "catalogue '%s': its folder", path);
    if (asprintf(ret_path, "%s/%s", strcmp(real, "/") ? real : "", name) >= 0)
        return STATUS_OK;
    *ret_path = NULL;
    return out_of_memory(err);
}

static enum status resolve(const char *path, char **ret_path, struct err *err)
{
    if (path[0] != '/')
        return err_set(err, STATUS_INVALID, "catalogue '%s': the path is not absolute", path);
    *ret_path = realpath(path, NULL);
    if (*ret_path)
        return STATUS_OK;
    if (errno == ENOENT)
        return resolve_new(path, ret_path, err);
    return err_set_errno(err, errno, "catalogue '%s'", path);
}

static enum status fill(struct place *place, const char *path, struct err *err)
{
    enum status status = resolve(path, &place->path, err);
    if (status != STATUS_OK)
        return status;
    if (strlen(place->path) > PATH_BYTES_MAX)
        return err_set(err, STATUS_NAME_TOO_LONG, "catalogue '%s': the path has more than %d bytes", place->path,
                       PATH_BYTES_MAX);
    return STATUS_OK;
}

enum status place_init(struct place *place, const char *path, struct err *err)
{
    *place = (struct place){.sessions_fd = -1};
    enum status status = fill(place, path, err);
    if (status == STATUS_OK)
        status = batch_open(&place->batch, err);
    if (status != STATUS_OK)
        place_done(place);
    return status;
}

void place_done(struct place *place)
{
    free(place->path);
    place->batch = batch_close(place->batch);
    cleanup_fd(&place->sessions_fd);
    *place = (struct place){.sessions_fd = -1};
}

/* ---- the file ---- */

enum status place_inspect(const struct place *place, struct err *err)
{
    struct stat file;
    if (stat(place->path, &file))
        return err_set_errno(err, errno, "catalogue '%s'", place->path);
    if (S_ISDIR(file.st_mode))
        return err_set(err, STATUS_IS_DIRECTORY, "catalogue '%s': is a directory", place->path);
    if (!S_ISREG(file.st_mode))
        return err_set(err, STATUS_INVALID, "catalogue '%s': is not a regular file", place->path);
    if (file.st_nlink == 1)
        return STATUS_OK;
    (void)err_set(err, STATUS_INVALID, "catalogue '%s': the file has %lu names", place->path,
                  (unsigned long)file.st_nlink);
    (void)err_hint(err, "remove the other hard links: two names would have two logs, and lose data");
    return STATUS_INVALID;
}

enum status place_create_file(const struct place *place, struct err *err)
{
    int fd = open(place->path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_set_errno(err, errno, "create catalogue '%s'", place->path);
    (void)close(fd); /* nothing was written */
    return STATUS_OK;
}

void place_remove_file(const struct place *place)
{
    static const char *const suffixes[] = {"-wal", "-shm", ""};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        char path[PATH_BYTES_MAX + 8];
        (void)snprintf(path, sizeof path, "%s%s", place->path, suffixes[i]);
        (void)unlink(path); /* what stays is an empty catalogue, which the next creation completes */
    }
}

enum status place_sync(const struct place *place, struct err *err)
{
    return file_sync_parent(AT_FDCWD, place->path, err);
}

/* ---- identity ---- */

enum status place_remember(struct place *place, struct err *err)
{
    struct stat file;
    if (stat(place->path, &file))
        return err_set_errno(err, errno, "catalogue '%s'", place->path);
    place->device = file.st_dev;
    place->inode = file.st_ino;
    return STATUS_OK;
}

enum status place_check(const struct place *place, struct err *err)
{
    struct stat file;
    bool there = stat(place->path, &file) == 0;
    if (there && file.st_dev == place->device && file.st_ino == place->inode)
        return STATUS_OK;
    (void)err_set(err, STATUS_IO, "catalogue '%s': the file was %s while it was in use", place->path,
                  there ? "replaced" : "removed");
    (void)err_hint(err, "unmount, put the catalogue back in its place, and mount again");
    return STATUS_IO;
}

/* ---- the folder beside it ---- */

static enum status open_folder(int dir_fd, const char *path, int *ret_fd, struct err *err)
{
    enum status status = file_make_directory(dir_fd, path, err);
    if (status != STATUS_OK)
        return status;
    *ret_fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return *ret_fd >= 0 ? STATUS_OK : err_set_errno(err, errno, "open '%s'", path);
}

enum status place_make(struct place *place, struct gate **ret_gate, struct err *err)
{
    char folder[PATH_BYTES_MAX + 8];
    (void)snprintf(folder, sizeof folder, "%s.d", place->path);
    AUTO_FD int fd = -1;
    enum status status = open_folder(AT_FDCWD, folder, &fd, err);
    if (status == STATUS_OK && place->sessions_fd < 0)
        status = open_folder(fd, "sessions", &place->sessions_fd, err);
    if (status == STATUS_OK)
        status = gate_open(fd, ret_gate, err);
    if (status == STATUS_OK)
        return STATUS_OK;
    (void)err_context(err, "the folder '%s' beside the catalogue", folder); /* returns the same status */
    return status;
}
