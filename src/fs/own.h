/* own.h - which commits were this mount's own.
 *
 * The watcher reads the change log, where this mount's commits stand too; of those the kernel knows already, having
 * asked for them. A commit's number is known only after it, so the watcher may meet the change before its number was
 * noted: own_settle waits for the commits that were running when the changes were read. Any thread.
 */
#ifndef READYFS_FS_OWN_H
#define READYFS_FS_OWN_H

#include "core/name.h"

#include <pthread.h>
#include <stdbool.h>

#define OWN_MAX 4096 /* commits remembered between two rounds of the watcher */

struct own_commit {
    int64_t seq;
    int64_t dir;       /* of a publish of a document with several names: only this one needs no telling; else 0 */
    uint64_t name_key; /* a digest of that name */
};

struct own {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    struct own_commit *commits; /* a ring of OWN_MAX */
    size_t count, first;
    unsigned running[2]; /* commits that began in even and odd epochs */
    unsigned epoch;
    unsigned settlers; /* threads that wait for commits */
    bool settling;     /* one of them for those of the last epoch, the others for their turn */
};

MUST_CHECK enum status own_init(struct own *own, struct err *err);
void own_done(struct own *own);

/* Around each commit: the epoch goes from begin to end; seq 0 where nothing was committed. */
unsigned own_begin(struct own *own);
void own_end(struct own *own, unsigned epoch, const struct own_commit *commit);

/* Waits, half a second at most, for the commits that are running now. Then own_has tells. */
void own_settle(struct own *own);
bool own_has(struct own *own, int64_t seq, int64_t dir, const struct name *name);
/* Forgets what is at or before `seq`. */
void own_forget(struct own *own, int64_t seq);

uint64_t own_name_key(const struct name *name);

#endif
