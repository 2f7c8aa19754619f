/* file.h - small durable files and private directories.
 *
 * Durable means that file and directory are synced before the call returns. Paths are relative to `dir_fd`, or absolute
 * with AT_FDCWD. Symbolic links in the last component are not followed. Any thread.
 */
#ifndef READYFS_HOST_FILE_H
#define READYFS_HOST_FILE_H

#include "base/buf.h"

#include <stddef.h>
#include <sys/types.h>

/* Replaces the file at `path` by `bytes`, atomically and durably: a reader, also one after a crash, finds the old
 * content or the new one. The file gets `mode` whatever the umask says. A crash may leave a file ".NAME.XXXXXXXX"
 * beside it. Errors: NO_SPACE, QUOTA, READ_ONLY, ACCESS, NOT_FOUND (its directory), IO; the old content is then still
 * there, except that after a failed sync of the directory it may be either. */
MUST_CHECK enum status file_write(int dir_fd, const char *path, const void *bytes, size_t len, mode_t mode,
                                  struct err *err);

/* Appends the whole content to `buf`; TOO_LARGE when it exceeds the buffer's limit, NOT_FOUND, ACCESS, IO. */
MUST_CHECK enum status file_read(int dir_fd, const char *path, struct buf *buf, struct err *err);

/* Makes the directory with mode 0700 and its missing parents, durably. One that exists is fine, whatever its mode.
 * NOT_DIRECTORY when something else is there. */
MUST_CHECK enum status file_make_directory(int dir_fd, const char *path, struct err *err);

/* Makes changes of the directory's entries durable. `path` only names it in messages. */
MUST_CHECK enum status file_sync_directory(int dir_fd, const char *path, struct err *err);

/* The same for the directory that holds `path`. */
MUST_CHECK enum status file_sync_parent(int dir_fd, const char *path, struct err *err);

/* Writes all bytes at `offset`, through short writes and interruptions. 0 or an errno. */
MUST_CHECK int file_write_all(int fd, const void *bytes, size_t len, off_t offset);

/* Reads until `len` bytes are there or the file ends; the count in `ret_len`. 0 or an errno. */
MUST_CHECK int file_read_all(int fd, void *ret_bytes, size_t len, off_t offset, size_t *ret_len);

#endif
