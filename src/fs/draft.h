/* draft.h - one unpublished content: a pinned base, what was changed, and the upload that it may be on already.
 *
 * A draft never copies its base. While a workspace publishes, its draft is frozen and a new one lies on top of it
 * (`below`), so that writes during an upload begin the next version. Fields are protected by the lock of the workspace
 * that owns the draft (`lock`); functions say whether they want it held. Bytes are read outside of it.
 */
#ifndef READYFS_FS_DRAFT_H
#define READYFS_FS_DRAFT_H

#include "core/plan.h"
#include "document/upload.h"
#include "fs/extents.h"
#include "fs/recover.h"
#include "fs/spool.h"

#include <pthread.h>

/* The upload of a draft whose writer goes on writing (stream.h). */
struct stream {
    struct upload *upload;     /* owned; NULL before it begins */
    struct extents handed;     /* block numbers handed over, as EXTENT_WRITTEN */
    uint64_t run_from, run_to; /* the bytes written one after the other, up to now */
    uint32_t next;             /* the block that the run will fill next */
    unsigned users;            /* threads that are using `upload` just now */
    bool beginning, refused;   /* somebody begins the upload; it could not be begun, the publish tries again */
};

struct draft {
    pthread_mutex_t *lock;   /* borrowed, the workspace's */
    pthread_cond_t *changed; /* borrowed: signalled when stream.users falls to 0 */
    struct spools *spools;   /* borrowed */
    int64_t document;
    const struct name *name; /* borrowed from the workspace; len 0 where not known */
    struct plan plan;
    struct draft *below; /* borrowed: the frozen draft under this one, while it is being published */
    struct pin *base;    /* owned; NULL for none */
    struct spool *spool; /* owned; NULL before the first byte */
    struct extents extents;
    uint64_t size;    /* bytes */
    uint64_t charged; /* of the spool's limit */
    uint64_t gone;    /* bytes that left the spool */
    bool read_back;   /* somebody reads while it is written: nothing may leave the spool */
    struct stream stream;
};

struct draft_origin {
    pthread_mutex_t *lock;
    pthread_cond_t *changed;
    struct spools *spools;
    int64_t document;
    const struct name *name;
    uint32_t block_bytes;
};

/* An unchanged draft over `base`, whose ownership it takes (NULL: an empty one), also on failure. */
MUST_CHECK enum status draft_new(const struct draft_origin *origin, struct pin *base, struct draft **ret_draft,
                                 struct err *err);
/* A new draft on top of `below`, whose content it shows until it is written to. Lock held. */
MUST_CHECK enum status draft_above(struct draft *below, struct draft **ret_draft, struct err *err);
/* Abandons an upload that was not taken out and frees. Without the lock. NULL is fine. */
void draft_free(struct draft *draft);

/* Reads [offset, offset + len), cut at the end. Takes the lock for a moment at a time. IO for bytes that left the
 * spool.
 */
MUST_CHECK enum status draft_read(struct draft *draft, uint64_t offset, void *ret_bytes, size_t len, size_t *ret_len,
                                  const atomic_bool *cancelled, struct err *err);

/* ---- with the lock held ---- */

/* NO_SPACE (limit, disk, or a block whose other bytes left the spool), TOO_LARGE, IO. After a failure other than the
 * limit's the content may be half changed: poison the workspace (S9). */
MUST_CHECK enum status draft_write(struct draft *draft, uint64_t offset, const void *bytes, size_t len,
                                   struct err *err);
MUST_CHECK enum status draft_resize(struct draft *draft, uint64_t size, struct err *err);
/* Zeros in [offset, offset + len), which lies within the size. */
MUST_CHECK enum status draft_zero(struct draft *draft, uint64_t offset, uint64_t len, struct err *err);
/* Puts what was changed in `upper` into `lower`, over which it lies. */
MUST_CHECK enum status draft_merge(struct draft *lower, struct draft *upper, struct err *err);
/* Whether it is its base plus a tail. */
bool draft_appends(const struct draft *draft);
/* lseek(2) SEEK_DATA and SEEK_HOLE; BEYOND_END (ENXIO). */
MUST_CHECK enum status draft_seek(const struct draft *draft, uint64_t offset, bool hole, uint64_t *ret_offset);
/* Lets settled bytes leave the spool: [0, end) of what was written. How many bytes left. */
uint64_t draft_let_go(struct draft *draft, uint64_t end);

/* Makes the spool file the whole content, as far as it can be read, and moves it to the recovery folder. Without the
 * lock; nobody else uses the draft. *ret_kept false: there were no bytes of its own to keep. */
MUST_CHECK enum status draft_keep(struct draft *draft, const struct recovery *recovery, struct recover_item *item,
                                  bool *ret_kept, struct err *err);

#endif
