/* backoff.h - how long to wait before trying again: exponential with full jitter, bounded, Retry-After honoured. Pure.
 */
#ifndef READYFS_CORE_BACKOFF_H
#define READYFS_CORE_BACKOFF_H

#include <stdint.h>

struct backoff {
    int64_t first_ms; /* the first ceiling */
    int64_t max_ms;   /* no ceiling above it */
};

/* The wait before attempt `attempt` (1 = the first repetition): a value up to min(max_ms, first_ms * 2^(attempt-1)),
 * chosen by `random`, and at least `retry_after_ms` (0 where the service named none). Milliseconds. */
int64_t backoff_wait_ms(const struct backoff *backoff, unsigned attempt, int64_t retry_after_ms, uint64_t random);

#endif
