/* own.c - a ring of numbers and two counters of running commits. */
#include "fs/own.h"

#include "base/cleanup.h"
#include "base/digest.h"

#include <time.h>

#define SETTLE_NS 500000000L

enum status own_init(struct own *own, struct err *err)
{
    *own = (struct own){0};
    own->commits = calloc(OWN_MAX, sizeof *own->commits);
    if (!own->commits)
        return err_set(err, STATUS_NO_MEMORY, "watch the catalogue: out of memory");
    pthread_condattr_t attr;
    (void)pthread_condattr_init(&attr); /* cannot fail on Linux */
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&own->lock, NULL);
    (void)pthread_cond_init(&own->ended, &attr);
    (void)pthread_condattr_destroy(&attr);
    return STATUS_OK;
}

void own_done(struct own *own)
{
    if (!own->commits)
        return;
    free(own->commits);
    own->commits = NULL;
    (void)pthread_mutex_destroy(&own->lock);
    (void)pthread_cond_destroy(&own->ended);
}

unsigned own_begin(struct own *own)
{
    pthread_mutex_lock(&own->lock);
    unsigned epoch = own->epoch & 1;
    own->running[epoch]++;
    pthread_mutex_unlock(&own->lock);
    return epoch;
}

void own_end(struct own *own, unsigned epoch, const struct own_commit *commit)
{
    pthread_mutex_lock(&own->lock);
    if (commit->seq) {
        if (own->count == OWN_MAX) { /* the oldest is told to the kernel once more than needed */
            own->first = (own->first + 1) % OWN_MAX;
            own->count--;
        }
        own->commits[(own->first + own->count) % OWN_MAX] = *commit;
        own->count++;
    }
    own->running[epoch]--;
    pthread_cond_broadcast(&own->ended);
    pthread_mutex_unlock(&own->lock);
}

void own_settle(struct own *own)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += SETTLE_NS;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_nsec -= 1000000000L;
        until.tv_sec++;
    }
    pthread_mutex_lock(&own->lock);
    own->settlers++;
    int reason = 0;
    /* One at a time: the other epoch must be over before commits are counted in it again. */
    while (own->settling && !reason)
        reason = pthread_cond_timedwait(&own->ended, &own->lock, &until);
    if (!own->settling) {
        own->settling = true;
        unsigned epoch = own->epoch++ & 1;
        while (own->running[epoch] && !reason)
            reason = pthread_cond_timedwait(&own->ended, &own->lock, &until);
        own->settling = false;
        pthread_cond_broadcast(&own->ended);
    }
    own->settlers--;
    pthread_mutex_unlock(&own->lock);
}

uint64_t own_name_key(const struct name *name)
{
    return crc64(0, name->bytes, name->len);
}

bool own_has(struct own *own, int64_t seq, int64_t dir, const struct name *name)
{
    bool has = false;
    pthread_mutex_lock(&own->lock);
    for (size_t i = 0; i < own->count && !has; i++) {
        const struct own_commit *commit = &own->commits[(own->first + i) % OWN_MAX];
        has = commit->seq == seq && (!commit->dir || (commit->dir == dir && commit->name_key == own_name_key(name)));
    }
    pthread_mutex_unlock(&own->lock);
    return has;
}

void own_forget(struct own *own, int64_t seq)
{
    pthread_mutex_lock(&own->lock);
    size_t kept = 0;
    for (size_t i = 0; i < own->count; i++) {
        struct own_commit commit = own->commits[(own->first + i) % OWN_MAX];
        if (commit.seq > seq) /* never ahead of what is still to be read */
            own->commits[(own->first + kept++) % OWN_MAX] = commit;
    }
    own->count = kept;
    pthread_mutex_unlock(&own->lock);
}
