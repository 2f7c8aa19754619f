/* clock.h - the port through which readyfs learns the time. Nothing else asks for it. */
#ifndef READYFS_HOST_CLOCK_H
#define READYFS_HOST_CLOCK_H

#include <stdint.h>

struct clock;

struct clock_ops {
    /* Nanoseconds since 1970-01-01 UTC, as people and files mean it. May jump. */
    int64_t (*utc_ns)(struct clock *clock);
    /* Milliseconds of CLOCK_BOOTTIME: never jumps, counts while the machine sleeps. For deadlines and ages. */
    int64_t (*boot_ms)(struct clock *clock);
    /* Returns after `duration_ms` or a little later. A virtual clock moves itself and returns at once. */
    void (*wait_ms)(struct clock *clock, int64_t duration_ms);
};

struct clock {
    const struct clock_ops *ops;
};

static inline int64_t clock_utc_ns(struct clock *clock)
{
    return clock->ops->utc_ns(clock);
}

static inline int64_t clock_boot_ms(struct clock *clock)
{
    return clock->ops->boot_ms(clock);
}

static inline void clock_wait_ms(struct clock *clock, int64_t duration_ms)
{
    clock->ops->wait_ms(clock, duration_ms);
}

/* The machine's clock; static, never freed, any thread. */
struct clock *clock_system(void);

#endif
