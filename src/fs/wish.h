/* wish.h - threads that were sent round again with ESTALE, and where they are to be led.
 *
 * A thread that opens a document through a node that is not the right one gets ESTALE and a wish; the kernel walks the
 * path once more, and the LOOKUP of that thread is answered with the node that the wish names. The kernel tries again
 * only once, and whatever lies at the path by then must be openable: so each LOOKUP of the thread makes the wish one
 * for what it found (wish_lead), and the wish pins what it promised until the next OPEN or SETATTR of the thread, which
 * ends it, or for WISH_LIFE_MS. A walk may also end without any: at a name that is gone, or that CREATE makes. What the
 * thread does later is no second try, and must not be answered with a workspace: so a LOOKUP of another file ends the
 * wish, and an OPEN is no second try if the last LOOKUP found nothing. A thread has one wish at most. Protected by the
 * table's lock.
 */
#ifndef READYFS_FS_WISH_H
#define READYFS_FS_WISH_H

#include "fs/filesystem.h"

#define WISH_LIFE_MS 2000

struct wish {
    struct wish *next;
    pid_t tid;
    int64_t until_boot_ms;
    bool writes, truncates;      /* it opens for writing; with O_TRUNC */
    int64_t document;            /* that it leads to; 0 where what it asked for was gone */
    struct workspace *workspace; /* held; NULL where the Ready version is wished for */
    struct pin *pin;             /* owned: the Ready version that a LOOKUP was answered with */
    int64_t dir;                 /* where the last LOOKUP of a file was, 0 before; and which name in it */
    struct name name;
    bool missed;       /* it found nothing */
    struct node *node; /* that a LOOKUP was answered with, counted in users; NULL before */
};

/* Notes a wish like `wish` for its thread, in place of an older one, and takes over its hold of the workspace.
 * NO_MEMORY leaves the hold with the caller. The lock is not held. */
MUST_CHECK enum status wish_note(struct fs *fs, const struct wish *wish, struct err *err);

/* The thread's wish, or NULL. */
struct wish *wish_find(struct fs *fs, pid_t tid);

/* A LOOKUP of the thread has found a file at the name, or nothing. Ends a wish that is for another name. The lock is
 * not held. */
void wish_pass(struct fs *fs, pid_t tid, int64_t dir, const struct name *name, bool found);

/* Ends the thread's wish, if it has one. The lock is not held. */
void wish_end(struct fs *fs, pid_t tid);

/* Makes the thread's wish, if it has one, lead to the document that a LOOKUP of it has found: with a workspace, begun
 * at need, or with a pin of the version that is Ready now. False where the document was removed since it was found:
 * what the name leads to now is to be looked up again. The lock is not held. */
MUST_CHECK bool wish_lead(struct fs *fs, pid_t tid, const struct document_row *row);

/* The LOOKUP was answered with this node. */
void wish_looked(struct fs *fs, struct wish *wish, struct node *node);

/* Takes the thread's wish out of the list, NULL where there is none; end it with wish_free, without the lock. */
struct wish *wish_take(struct fs *fs, pid_t tid);
/* All that are older than `boot_ms`, or all for INT64_MAX. */
struct wish *wish_take_old(struct fs *fs, int64_t boot_ms);
/* Ends a list of wishes that were taken out. Takes the lock itself. NULL is fine. */
void wish_free(struct fs *fs, struct wish *wishes);

#endif
