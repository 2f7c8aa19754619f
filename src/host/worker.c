/* worker.c - a pool of threads over a bounded ring, and the pool of none. */
#include "host/worker.h"

#include "base/cleanup.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#define THREADS_MAX 64u
#define QUEUE_EACH  16u

struct job {
    void (*run)(void *argument);
    void *argument;
};

struct pool {
    struct workers workers;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a job came, or the end */
    unsigned threads;
    unsigned capacity; /* of the ring */
    unsigned first;    /* protected by lock: the oldest job */
    unsigned queued;   /* protected by lock */
    bool ending;       /* protected by lock */
    pthread_t ids[THREADS_MAX];
    struct job ring[]; /* protected by lock */
};

static bool pool_submit(struct workers *workers, void (*run)(void *argument), void *argument)
{
    struct pool *pool = (struct pool *)workers;
    (void)pthread_mutex_lock(&pool->lock);
    bool accepted = !pool->ending && pool->queued < pool->capacity;
    if (accepted) {
        pool->ring[(pool->first + pool->queued++) % pool->capacity] = (struct job){run, argument};
        (void)pthread_cond_signal(&pool->changed);
    }
    (void)pthread_mutex_unlock(&pool->lock);
    return accepted;
}

/* The next job; false at the end, once the queue is empty. */
static bool pool_next(struct pool *pool, struct job *ret_job)
{
    (void)pthread_mutex_lock(&pool->lock);
    while (!pool->queued && !pool->ending)
        (void)pthread_cond_wait(&pool->changed, &pool->lock);
    bool found = pool->queued > 0;
    if (found) {
        *ret_job = pool->ring[pool->first];
        pool->first = (pool->first + 1) % pool->capacity;
        pool->queued--;
    }
    (void)pthread_mutex_unlock(&pool->lock);
    return found;
}

static void *pool_run(void *argument)
{
    struct pool *pool = argument;
    struct job job;
    while (pool_next(pool, &job))
        job.run(job.argument);
    return NULL;
}

/* Signals are for the threads that wait for them: workers are born with all of them blocked. */
static int pool_start(struct pool *pool, unsigned count)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int failure = 0;
    while (!failure && pool->threads < count) {
        failure = pthread_create(&pool->ids[pool->threads], NULL, pool_run, pool);
        pool->threads += !failure;
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failure;
}

static const struct workers_ops pool_ops = {.submit = pool_submit};

enum status workers_open(unsigned count, struct workers **ret_workers, struct err *err)
{
    INVARIANT(count >= 1 && count <= THREADS_MAX);
    unsigned capacity = QUEUE_EACH * count;
    struct pool *pool = calloc(1, sizeof *pool + capacity * sizeof *pool->ring);
    if (!pool)
        return err_set(err, STATUS_NO_MEMORY, "worker threads: out of memory");
    pool->workers.ops = &pool_ops;
    pool->capacity = capacity;
    (void)pthread_mutex_init(&pool->lock, NULL);
    (void)pthread_cond_init(&pool->changed, NULL);
    int failure = pool_start(pool, count);
    if (failure) {
        workers_close(&pool->workers);
        return err_set_errno(err, failure, "start worker threads");
    }
    *ret_workers = &pool->workers;
    return STATUS_OK;
}

void workers_close(struct workers *workers)
{
    if (!workers || workers->ops != &pool_ops)
        return;
    struct pool *pool = (struct pool *)workers;
    (void)pthread_mutex_lock(&pool->lock);
    pool->ending = true;
    (void)pthread_cond_broadcast(&pool->changed);
    (void)pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->threads; i++)
        (void)pthread_join(pool->ids[i], NULL);
    (void)pthread_cond_destroy(&pool->changed);
    (void)pthread_mutex_destroy(&pool->lock);
    free(pool);
}

static bool inline_submit(struct workers *workers, void (*run)(void *argument), void *argument)
{
    (void)workers;
    run(argument);
    return true;
}

static const struct workers_ops inline_ops = {.submit = inline_submit};
static struct workers inline_workers = {.ops = &inline_ops}; /* never written */

struct workers *workers_inline(void)
{
    return &inline_workers;
}
