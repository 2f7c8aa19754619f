/* worker.h - the port through which work is done beside its caller: parallel blocks, read-ahead. */
#ifndef READYFS_HOST_WORKER_H
#define READYFS_HOST_WORKER_H

#include "base/err.h"

struct workers;

struct workers_ops {
    /* Calls run(argument) once, later or at once, on some thread. False when the queue is full or the workers are
     * being stopped: the caller then does the work itself. */
    _Bool (*submit)(struct workers *workers, void (*run)(void *argument), void *argument);
};

struct workers {
    const struct workers_ops *ops;
};

static inline _Bool workers_submit(struct workers *workers, void (*run)(void *argument), void *argument)
{
    return workers->ops->submit(workers, run, argument);
}

/* A pool of `count` threads (1 to 64), queue bounded at 16 * count. Start it after the daemon has forked. */
MUST_CHECK enum status workers_open(unsigned count, struct workers **ret_workers, struct err *err);

/* Runs what is queued, joins the threads, frees. NULL is fine. */
void workers_close(struct workers *workers);

/* Runs everything in the caller's thread at once; static. For simulation, where threads would make the order chance. */
struct workers *workers_inline(void);

#endif
