/* interrupt.c - who is being killed, as /proc tells. */
#include "fuse/interrupt.h"

#include "fs/procfs.h"

#include <stddef.h>

void interrupts_init(struct interrupts *interrupts)
{
    interrupts->first = NULL;
    (void)pthread_mutex_init(&interrupts->mutex, NULL);
}

void interrupts_done(struct interrupts *interrupts)
{
    (void)pthread_mutex_destroy(&interrupts->mutex);
}

void wait_init(struct wait *wait, pid_t tid)
{
    *wait = (struct wait){.tid = tid};
}

void interrupts_add(struct interrupts *interrupts, struct wait *wait)
{
    if (procfs_fatal_pending(wait->tid)) {
        atomic_store(&wait->cancelled, true);
        return;
    }
    (void)pthread_mutex_lock(&interrupts->mutex);
    if (!wait->listed && wait->tid > 0) {
        wait->listed = true;
        wait->prev = NULL;
        wait->next = interrupts->first;
        if (wait->next)
            wait->next->prev = wait;
        interrupts->first = wait;
    }
    (void)pthread_mutex_unlock(&interrupts->mutex);
}

void interrupts_remove(struct interrupts *interrupts, struct wait *wait)
{
    (void)pthread_mutex_lock(&interrupts->mutex);
    if (wait->listed) {
        wait->listed = false;
        *(wait->prev ? &wait->prev->next : &interrupts->first) = wait->next;
        if (wait->next)
            wait->next->prev = wait->prev;
    }
    (void)pthread_mutex_unlock(&interrupts->mutex);
}

void interrupts_look(struct interrupts *interrupts)
{
    (void)pthread_mutex_lock(&interrupts->mutex);
    for (struct wait *wait = interrupts->first; wait; wait = wait->next)
        if (procfs_fatal_pending(wait->tid))
            atomic_store(&wait->cancelled, true);
    (void)pthread_mutex_unlock(&interrupts->mutex);
}
