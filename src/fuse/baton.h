/* baton.h - the right to receive, held by one thread at a time and handed on as seldom as can be.
 *
 * Whoever holds it receives a request and then serves it, and meanwhile somebody else must be able to receive. Passing
 * it on for each request wakes a thread each time, which for short requests takes longer than to serve them. So the
 * holder of a short request lends the baton: it stays where it is, and one of the waiting threads, the watcher, takes
 * it away if it was not reclaimed within LOAN_MS or twice that. While nothing happens the watcher sleeps too. Any
 * thread.
 */
#ifndef READYFS_FUSE_BATON_H
#define READYFS_FUSE_BATON_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct baton {
    pthread_mutex_t mutex; /* protects held, ended, waiting; leaf */
    pthread_cond_t freed, watch;
    bool held, ended;
    unsigned waiting; /* threads, without the watcher */
    atomic_bool watched, dozing;
    atomic_uint_fast64_t lent; /* the number of the loan; 0: none */
    uint64_t loans;            /* ever made; the holder's */
};

void baton_init(struct baton *baton);
void baton_done(struct baton *baton); /* nobody is in a call */

/* Waits for the baton. False: baton_end was called. */
bool baton_take(struct baton *baton);

/* Hands it on. False: nobody waits for it, so somebody must be made to. */
bool baton_pass(struct baton *baton);

/* Lends it, for baton_reclaim to be called soon with the number of the loan. 0: nobody watches, and it is still held:
 * pass it then. */
uint64_t baton_lend(struct baton *baton);

/* Whether it is held again; false: somebody has taken it meanwhile. */
bool baton_reclaim(struct baton *baton, uint64_t loan);

/* Those who wait, and who will, get it no more. */
void baton_end(struct baton *baton);

/* How many threads wait for it. */
unsigned baton_waiting(struct baton *baton);

#endif
