/* background.h - what a mount does by itself: ticks, heartbeat, watching other mounts, sweeping.
 *
 * Each job has a thread of its own, since each may wait for something else (the store, the catalogue's gate, the
 * kernel); none is waited for by a request.
 */
#ifndef READYFS_FUSE_BACKGROUND_H
#define READYFS_FUSE_BACKGROUND_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct background;
struct fs;
struct interrupts;
struct log;
struct notifier;
struct session;

struct background_options { /* all borrowed until background_close */
    struct fs *fs;
    struct session *session;
    struct notifier *notifier;
    struct interrupts *interrupts;
    struct log *log;
    int64_t heartbeat_ms, sweep_every_ms;
    bool read_only; /* does not sweep */
};

MUST_CHECK enum status background_open(const struct background_options *options, struct background **ret_background,
                                       struct err *err);

/* Waits until the first pass of the sweeper has ended, but not longer than `timeout_ms`; it goes on in the background.
 */
void background_first_sweep(struct background *background, int64_t timeout_ms);

/* After background_stop: passes until nothing is left that may go now, but not longer than about `duration_ms`, so that
 * an orderly end leaves no work to the next mount. */
void background_last_sweep(struct background *background, int64_t duration_ms);

/* Ends the jobs and waits for what they are doing. NULL is fine. */
void background_stop(struct background *background);

/* Ends the jobs, waits for what they are doing, frees. NULL is fine. */
void background_close(struct background *background);

#endif
