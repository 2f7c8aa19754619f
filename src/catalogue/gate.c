/* gate.c - a queue in memory before a turnstile of two file locks. */
#include "catalogue/gate.h"

#include "base/cleanup.h"
#include "host/lock.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

struct waiter {
    struct waiter *next;
    pthread_cond_t admitted_now;
    bool admitted; /* protected by the gate's mutex */
};

struct gate {
    pthread_mutex_t mutex;
    struct waiter *first, *last; /* protected by mutex */
    bool taken;                  /* a thread of this process is at the turnstile or inside; protected by mutex */
    struct lock queue, turn;     /* used by the thread that has taken */
};

enum status gate_open(int dir_fd, struct gate **ret_gate, struct err *err)
{
    AUTO_FREE struct gate *gate = calloc(1, sizeof *gate);
    if (!gate)
        return err_set(err, STATUS_NO_MEMORY, "open the writers' gate: out of memory");
    AUTO_LOCK struct lock queue = LOCK_CLOSED;
    AUTO_LOCK struct lock turn = LOCK_CLOSED;
    enum status status = lock_open(dir_fd, "queue", true, &queue, err);
    if (status == STATUS_OK)
        status = lock_open(dir_fd, "writer", true, &turn, err);
    if (status != STATUS_OK)
        return status;
    INVARIANT(pthread_mutex_init(&gate->mutex, NULL) == 0);
    gate->queue = queue;
    gate->turn = turn;
    queue.fd = turn.fd = -1;
    *ret_gate = TAKE(gate);
    return STATUS_OK;
}

static struct timespec moment_after(int64_t ms)
{
    struct timespec moment;
    INVARIANT(clock_gettime(CLOCK_MONOTONIC, &moment) == 0);
    moment.tv_sec += ms / 1000;
    moment.tv_nsec += ms % 1000 * 1000000;
    if (moment.tv_nsec >= 1000000000) {
        moment.tv_sec++;
        moment.tv_nsec -= 1000000000;
    }
    return moment;
}

static int64_t left_ms(const struct timespec *moment)
{
    struct timespec now;
    INVARIANT(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    int64_t left = (int64_t)(moment->tv_sec - now.tv_sec) * 1000 + (moment->tv_nsec - now.tv_nsec) / 1000000;
    return left > 0 ? left : 0;
}

static void waiter_append(struct gate *gate, struct waiter *waiter)
{
    if (gate->last)
        gate->last->next = waiter;
    else
        gate->first = waiter;
    gate->last = waiter;
}

static void waiter_remove(struct gate *gate, struct waiter *waiter)
{
    struct waiter *before = NULL;
    for (struct waiter *each = gate->first; each != waiter; each = each->next)
        before = each;
    if (before)
        before->next = waiter->next;
    else
        gate->first = waiter->next;
    if (gate->last == waiter)
        gate->last = before;
}

/* The first waiter gets the place without letting anybody in between; with nobody waiting it is free. */
static void admit_next(struct gate *gate)
{
    INVARIANT(pthread_mutex_lock(&gate->mutex) == 0);
    struct waiter *next = gate->first;
    if (next) {
        waiter_remove(gate, next);
        next->admitted = true;
        INVARIANT(pthread_cond_signal(&next->admitted_now) == 0);
    } else {
        gate->taken = false;
    }
    INVARIANT(pthread_mutex_unlock(&gate->mutex) == 0);
}

/* Called with the mutex held. */
static bool wait_for_admission(struct gate *gate, const struct timespec *moment)
{
    struct waiter waiter = {.admitted = false};
    INVARIANT(pthread_cond_init(&waiter.admitted_now, NULL) == 0);
    waiter_append(gate, &waiter);
    int failure = 0;
    while (!waiter.admitted && failure != ETIMEDOUT)
        failure = pthread_cond_clockwait(&waiter.admitted_now, &gate->mutex, CLOCK_MONOTONIC, moment);
    if (!waiter.admitted)
        waiter_remove(gate, &waiter);
    INVARIANT(pthread_cond_destroy(&waiter.admitted_now) == 0);
    return waiter.admitted;
}

static bool enter_process_queue(struct gate *gate, const struct timespec *moment)
{
    INVARIANT(pthread_mutex_lock(&gate->mutex) == 0);
    bool ours = true;
    if (gate->taken)
        ours = wait_for_admission(gate, moment);
    else
        gate->taken = true;
    INVARIANT(pthread_mutex_unlock(&gate->mutex) == 0);
    return ours;
}

static enum status pass_turnstile(struct gate *gate, const struct timespec *moment, struct err *err)
{
    enum status status = lock_wait(&gate->queue, left_ms(moment), err);
    if (status == STATUS_OK)
        status = lock_wait(&gate->turn, left_ms(moment), err);
    lock_release(&gate->queue);
    return status;
}

enum status gate_take(struct gate *gate, int64_t deadline_ms, struct err *err)
{
    struct timespec moment = moment_after(deadline_ms);
    enum status status = STATUS_TIMEOUT;
    if (enter_process_queue(gate, &moment)) {
        status = pass_turnstile(gate, &moment, err);
        if (status != STATUS_OK)
            admit_next(gate);
    }
    if (status == STATUS_TIMEOUT)
        return err_set(err, STATUS_BUSY, "catalogue: another writer did not finish within %lld ms",
                       (long long)deadline_ms);
    if (status != STATUS_OK)
        return err_context(err, "catalogue: writers' gate");
    return STATUS_OK;
}

void gate_leave(struct gate *gate)
{
    lock_release(&gate->turn);
    admit_next(gate);
}

struct gate *gate_close(struct gate *gate)
{
    if (!gate)
        return NULL;
    INVARIANT(!gate->taken && !gate->first);
    lock_close(&gate->queue);
    lock_close(&gate->turn);
    INVARIANT(pthread_mutex_destroy(&gate->mutex) == 0);
    free(gate);
    return NULL;
}
