/* staging.h - where the directory store writes what has no name yet: ROOT/.staging.
 *
 * Each open store has a folder of its own there, with a lock file that it holds locked for its life. So a folder whose
 * lock can be taken belongs to the dead, and the next store that opens removes it with all that is in it: a crash
 * leaves nothing else behind (P8: a dead process sends nothing more). Drafts of blocks lie under the folder's "b/" at
 * the path of their blob's name, by which a listing knows them.
 *
 * The functions return 0 or an errno, unless told otherwise. Any thread.
 */
#ifndef READYFS_BLOB_STAGING_H
#define READYFS_BLOB_STAGING_H

#include "base/err.h"
#include "base/limits.h"
#include "host/lock.h"

#include <stdatomic.h>

#define STAGING_FOLDER ".staging"
#define STAGING_BLOCKS "b" /* staged files of blocks, in a store's folder */

struct staging {
    int root_fd;   /* borrowed */
    int fd;        /* this store's folder; -1 where there is none */
    int failure;   /* why there is none, an errno: the store can then only be read */
    char name[48]; /* of that folder, below root_fd */
    struct lock lock;
    atomic_ulong files; /* made so far */
};

/* A file that is being written. */
struct staged_file {
    const struct staging *staging; /* NULL: none */
    int fd;
    char name[LIMIT_BLOB_NAME_BYTES + 8]; /* below the staging folder; "" once it is taken away */
};

/* Removes what the dead have left, and makes this store's folder. A root that cannot be written (read-only, or no right
 * to) is no failure; staged files then are. `root_fd` is borrowed until the close. */
MUST_CHECK enum status staging_open(int root_fd, struct staging *ret_staging, struct err *err);

/* Removes the folder; there are no staged files any more. */
void staging_close(struct staging *staging);

/* Makes an empty staged file (0600), open for reading and writing; of the blocks of a blob where `blob_name` is not
 * NULL. */
MUST_CHECK int staged_file_open(struct staging *staging, const char *blob_name, struct staged_file *ret_file);

/* Takes its name away, so that another may have it; the file lives on while it is open or has another name. */
void staged_file_unname(struct staged_file *file);

/* Takes its name away and closes it. None is fine. */
void staged_file_close(struct staged_file *file);

#define NO_STAGED_FILE                                                                                                 \
    {                                                                                                                  \
        .staging = NULL, .fd = -1                                                                                      \
    }
#define AUTO_STAGED_FILE CLEANUP(staged_file_close)

#endif
