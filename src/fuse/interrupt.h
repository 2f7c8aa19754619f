/* interrupt.h - ending the wait of a program that is being killed, and of no other (S23).
 *
 * The kernel sends INTERRUPT once, at the first signal that reaches a waiting program: a mere timer as well as a kill.
 * Only a fatal signal may end the wait, else close would fail on SIGALRM; and a kill that follows a timer brings no
 * second INTERRUPT. So an interrupted wait whose program is not dying goes on a list, and interrupts_look, called
 * several times a second, looks at those again. Whether a program is dying, /proc tells (fs/procfs.h).
 */
#ifndef READYFS_FUSE_INTERRUPT_H
#define READYFS_FUSE_INTERRUPT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

struct wait {
    atomic_bool cancelled; /* what the work looks at */
    pid_t tid;             /* 0: not in our pid namespace, never cancelled */
    bool listed;           /* protected by interrupts.mutex, like the links */
    struct wait *prev, *next;
};

struct interrupts {
    pthread_mutex_t mutex; /* leaf */
    struct wait *first;
};

void interrupts_init(struct interrupts *interrupts);
void interrupts_done(struct interrupts *interrupts);

void wait_init(struct wait *wait, pid_t tid);

/* INTERRUPT has come for this wait. Any thread, until wait_done. */
void interrupts_add(struct interrupts *interrupts, struct wait *wait);

/* The request is answered; `wait` may go away. */
void interrupts_remove(struct interrupts *interrupts, struct wait *wait);

/* Cancels those whose program is being killed meanwhile. */
void interrupts_look(struct interrupts *interrupts);

#endif
