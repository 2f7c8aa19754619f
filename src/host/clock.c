/* clock.c - the machine's clock. */
#include "host/clock.h"

#include "base/cleanup.h"

#include <errno.h>
#include <time.h>

static struct timespec now(clockid_t which)
{
    struct timespec time;
    INVARIANT(clock_gettime(which, &time) == 0); /* both clocks exist on every Linux we can run on */
    return time;
}

static int64_t utc_ns(struct clock *clock)
{
    (void)clock;
    struct timespec time = now(CLOCK_REALTIME);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int64_t boot_ms(struct clock *clock)
{
    (void)clock;
    struct timespec time = now(CLOCK_BOOTTIME);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* Waits for a moment, not for a duration, so that signals do not stretch it. */
static void wait_ms(struct clock *clock, int64_t duration_ms)
{
    (void)clock;
    if (duration_ms <= 0)
        return;
    struct timespec until = now(CLOCK_BOOTTIME);
    until.tv_sec += duration_ms / 1000;
    until.tv_nsec += duration_ms % 1000 * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    while (clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

static const struct clock_ops ops = {.utc_ns = utc_ns, .boot_ms = boot_ms, .wait_ms = wait_ms};
static struct clock machine = {.ops = &ops}; /* never written */

struct clock *clock_system(void)
{
    return &machine;
}
