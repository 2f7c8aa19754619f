/* wish.h - threads that were sent round again with ESTALE, and where they are to be led.
 *
 * A thread that opens a document through a node that is not the right one gets ESTALE and a wish; the kernel walks the
 * path once more, and the LOOKUP of that thread is answered with the node that the wish names. The kernel tries again
 * only once, so the wish pins what it promised until the OPEN or SETATTR, or for WISH_LIFE_MS. Protected by the table's
 * lock.
 */
#ifndef READYFS_FS_WISH_H
#define READYFS_FS_WISH_H

#include "fs/filesystem.h"

#define WISH_LIFE_MS 2000

struct wish {
    struct wish *next;
    pid_t tid;
    int64_t document;
    int64_t until_boot_ms;
    bool writes;                 /* it opens for writing, or truncates */
    struct workspace *workspace; /* held; NULL where the Ready version is wished for */
    struct pin *pin;             /* owned: the Ready version that a LOOKUP was answered with */
    struct node *node;           /* that a LOOKUP was answered with, counted in users; NULL before */
};

/* Adds a wish; it takes over the caller's hold of the workspace. False when out of memory (the hold stays). */
MUST_CHECK bool wish_add(struct fs *fs, pid_t tid, int64_t document, struct workspace *workspace, bool writes);

/* The thread's wish for the document, or NULL. */
struct wish *wish_find(struct fs *fs, pid_t tid, int64_t document);

/* Whether the thread has a wish for any document: its next open may be the kernel's second and last try. */
bool wish_any(struct fs *fs, pid_t tid);

/* The LOOKUP was answered with this node. */
void wish_looked(struct fs *fs, struct wish *wish, struct node *node);

/* Takes the wish out of the list; end it with wish_free, without the lock. */
struct wish *wish_take(struct fs *fs, struct wish *wish);
/* All that are older than `boot_ms`, or all for INT64_MAX. */
struct wish *wish_take_old(struct fs *fs, int64_t boot_ms);
/* Ends a list of wishes that were taken out. Takes the lock itself. NULL is fine. */
void wish_free(struct fs *fs, struct wish *wishes);

#endif
