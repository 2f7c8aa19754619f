/* shelf.h - the folder tree in which the directory store keeps blobs as files.
 *
 * A blob's name is the file's path below the root; folders are made on demand (0700) and are durable before anything is
 * put into them. A file gets its name by link(2), so a name is taken once or not at all (P3), and only a file that is
 * complete and synced ever gets one. Names are never reused (P2), so a name goes from absent to present and back to
 * absent at most once each.
 *
 * The functions return 0 or an errno. Any thread.
 */
#ifndef READYFS_BLOB_SHELF_H
#define READYFS_BLOB_SHELF_H

#include "base/err.h"
#include "base/limits.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/stat.h>

struct shelf_folder;

struct shelf {
    int fd; /* the root */
    pthread_mutex_t lock;
    struct shelf_folder *durable; /* protected by lock: folders whose own entries are known to be synced */
};

/* Opens the root, made with its parents where `create`. */
MUST_CHECK enum status shelf_open(const char *path, bool create, struct shelf *ret_shelf, struct err *err);
void shelf_close(struct shelf *shelf);

/* Whether a blob may have this name: a relative path without ".", ".." and empty parts, and none of the store's own. */
bool shelf_name_valid(const char *name);

/* Opens the blob for reading. ENOENT, also where something else than a file has the name. */
MUST_CHECK int shelf_find(struct shelf *shelf, const char *name, int *ret_fd, struct stat *ret_facts);

/* Whether there is a blob. */
MUST_CHECK int shelf_has(struct shelf *shelf, const char *name, bool *ret_there);

/* Gives the synced file at `from` (relative to `from_fd`) the name too, durably. EEXIST. After any failure it has not
 * got it, as far as this machine can see. */
MUST_CHECK int shelf_link(struct shelf *shelf, int from_fd, const char *from, const char *name);

/* Moves the synced file to the name, whatever was there, durably. For the control blob alone. */
MUST_CHECK int shelf_replace(struct shelf *shelf, int from_fd, const char *from, const char *name);

/* Takes the name away, durably. ENOENT, once that too is durable. */
MUST_CHECK int shelf_unlink(struct shelf *shelf, const char *name);

/* What tells one file from every other and from itself after a change: device, inode, size and time of modification, in
 * quotes. */
void shelf_etag(const struct stat *facts, char ret_etag[LIMIT_ETAG_BYTES]);

#endif
