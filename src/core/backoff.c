/* backoff.c - exponential waits with full jitter (M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog,
 * 2015: the whole wait is random, which spreads clients that were refused together). */
#include "core/backoff.h"

int64_t backoff_wait_ms(const struct backoff *backoff, unsigned attempt, int64_t retry_after_ms, uint64_t random)
{
    int64_t ceiling_ms = backoff->first_ms < backoff->max_ms ? backoff->first_ms : backoff->max_ms;
    for (unsigned i = 1; i < attempt && ceiling_ms > 0 && ceiling_ms < backoff->max_ms; i++)
        ceiling_ms = ceiling_ms > backoff->max_ms / 2 ? backoff->max_ms : ceiling_ms * 2;
    int64_t wait_ms = ceiling_ms > 0 ? (int64_t)(random % ((uint64_t)ceiling_ms + 1)) : 0;
    return wait_ms > retry_after_ms ? wait_ms : retry_after_ms;
}
