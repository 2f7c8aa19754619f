/* recover.h - the recovery folder: bytes that could not be published (P10, S9, S11, S26, S29), kept for people.
 *
 * Each item is two files, ID.data with the bytes and ID.info with lines "key=value" that say whose they were, why they
 * are here and since when. The folder has a limit: the oldest items make room for a new one, which is always kept. No
 * type of fs/ or document/ is used, so that verbs without a mount can list and save. Any thread, any process: an item
 * that another one dropped meanwhile is NOT_FOUND.
 */
#ifndef READYFS_FS_RECOVER_H
#define READYFS_FS_RECOVER_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define RECOVER_ID_SIZE 48

struct recover_item {
    char id[RECOVER_ID_SIZE];
    int64_t document, base; /* the document and the version that the writer began from; 0 where there was none */
    char name[1024];        /* where the document was, quoted, for people */
    char reason[512];       /* why it was not published, one line */
    int64_t utc_ns;         /* when it was kept */
    uint64_t size_bytes;
    uint64_t missing_bytes; /* of them could not be kept and read as zeros */
};

typedef void recover_fn(void *context, const struct recover_item *item);

struct recovery {
    const char *folder;  /* absolute, borrowed; made at need */
    uint64_t bytes_max;  /* 0: no limit */
    recover_fn *dropped; /* told of each item that made room; may be NULL */
    void *context;
};

/* Moves the file at dir_fd/path into the folder, durably. `item` is filled but for id and size_bytes, which are written
 * back. On failure the file is where it was. */
MUST_CHECK enum status recover_keep(const struct recovery *recovery, int dir_fd, const char *path,
                                    struct recover_item *item, struct err *err);

/* Calls fn for each item, oldest first. A folder that is not there is empty. */
MUST_CHECK enum status recover_list(const char *folder, recover_fn *fn, void *context, struct err *err);

/* A descriptor for reading an item's bytes; the caller closes it. INVALID for what is no id, NOT_FOUND. */
MUST_CHECK enum status recover_open(const char *folder, const char *id, int *ret_fd, struct err *err);

#endif
