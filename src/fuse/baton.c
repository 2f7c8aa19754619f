/* baton.c - the right to receive: taken, passed, lent, taken away. */
#include "fuse/baton.h"

#include <time.h>

#define LOAN_MS    4
#define DOZE_TICKS 50 /* after so many looks without a loan the watcher sleeps until the next one */

void baton_init(struct baton *baton)
{
    pthread_condattr_t attr;
    *baton = (struct baton){.held = false};
    (void)pthread_mutex_init(&baton->mutex, NULL);
    (void)pthread_cond_init(&baton->freed, NULL);
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&baton->watch, &attr);
    (void)pthread_condattr_destroy(&attr);
}

void baton_done(struct baton *baton)
{
    (void)pthread_mutex_destroy(&baton->mutex);
    (void)pthread_cond_destroy(&baton->freed);
    (void)pthread_cond_destroy(&baton->watch);
}

/* ---- watching; the mutex is held ---- */

static void wait_tick(struct baton *baton)
{
    struct timespec moment;
    (void)clock_gettime(CLOCK_MONOTONIC, &moment); /* every Linux has it */
    moment.tv_nsec += LOAN_MS * 1000000L;
    moment.tv_sec += moment.tv_nsec / 1000000000L;
    moment.tv_nsec %= 1000000000L;
    (void)pthread_cond_timedwait(&baton->watch, &baton->mutex, &moment); /* whatever woke it is looked at again */
}

/* The lender looks for a dozing watcher after it has lent, the watcher for a loan after it dozes: one sees the other.
 */
static void doze(struct baton *baton)
{
    atomic_store(&baton->dozing, true);
    while (atomic_load(&baton->dozing) && !atomic_load(&baton->lent) && baton->held && !baton->ended)
        (void)pthread_cond_wait(&baton->watch, &baton->mutex);
    atomic_store(&baton->dozing, false);
}

/* Until the baton is free, or the end. A loan that is seen twice has lasted too long. */
static void watch(struct baton *baton)
{
    uint_fast64_t seen = 0;
    unsigned quiet = 0;
    atomic_store(&baton->watched, true);
    while (baton->held && !baton->ended) {
        uint_fast64_t lent = atomic_load(&baton->lent);
        if (lent && lent == seen && atomic_compare_exchange_strong(&baton->lent, &lent, 0)) {
            baton->held = false;
            break;
        }
        quiet = lent ? 0 : quiet + 1;
        seen = lent;
        if (quiet < DOZE_TICKS)
            wait_tick(baton);
        else
            doze(baton);
    }
    atomic_store(&baton->watched, false);
    if (baton->waiting)
        (void)pthread_cond_signal(&baton->freed); /* another watches from now on */
}

/* ---- the right ---- */

bool baton_take(struct baton *baton)
{
    (void)pthread_mutex_lock(&baton->mutex);
    while (baton->held && !baton->ended) {
        if (!atomic_load(&baton->watched)) {
            watch(baton);
            continue;
        }
        baton->waiting++;
        (void)pthread_cond_wait(&baton->freed, &baton->mutex);
        baton->waiting--;
    }
    bool taken = !baton->ended;
    baton->held = baton->held || taken;
    (void)pthread_mutex_unlock(&baton->mutex);
    return taken;
}

bool baton_pass(struct baton *baton)
{
    (void)pthread_mutex_lock(&baton->mutex);
    bool somebody = baton->waiting || atomic_load(&baton->watched);
    baton->held = false;
    (void)pthread_cond_signal(baton->waiting ? &baton->freed : &baton->watch);
    (void)pthread_mutex_unlock(&baton->mutex);
    return somebody;
}

uint64_t baton_lend(struct baton *baton)
{
    if (!atomic_load(&baton->watched)) /* a watcher stays as long as the baton is held */
        return 0;
    uint64_t loan = ++baton->loans;
    atomic_store(&baton->lent, loan);
    if (atomic_load(&baton->dozing)) {
        (void)pthread_mutex_lock(&baton->mutex);
        atomic_store(&baton->dozing, false);
        (void)pthread_cond_signal(&baton->watch);
        (void)pthread_mutex_unlock(&baton->mutex);
    }
    return loan;
}

bool baton_reclaim(struct baton *baton, uint64_t loan)
{
    uint_fast64_t own = loan;
    return atomic_compare_exchange_strong(&baton->lent, &own, 0);
}

void baton_end(struct baton *baton)
{
    (void)pthread_mutex_lock(&baton->mutex);
    baton->ended = true;
    (void)pthread_cond_broadcast(&baton->freed);
    (void)pthread_cond_broadcast(&baton->watch);
    (void)pthread_mutex_unlock(&baton->mutex);
}

unsigned baton_waiting(struct baton *baton)
{
    (void)pthread_mutex_lock(&baton->mutex);
    unsigned waiting = baton->waiting + atomic_load(&baton->watched);
    (void)pthread_mutex_unlock(&baton->mutex);
    return waiting;
}
