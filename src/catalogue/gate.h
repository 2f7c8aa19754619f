/* gate.h - the writers' gate: one writer at a time in the whole machine, each in its fair turn.
 *
 * SQLite's own way to wait for a writer polls, and whoever polls against a busy writer starves. So every writer passes
 * here first. Threads of one process queue up in memory, first come, first served. Processes meet at two lock files,
 * which work as a turnstile: a process waits for `queue`, then for `writer`, and lets go of `queue` once it has
 * `writer`. Whoever leaves and comes back at once finds `queue` taken by the one who waits for `writer`, and so
 * cannot overtake it. The kernel frees both locks when their holder dies.
 *
 * Any thread; the thread that takes the gate is the one that leaves it.
 */
#ifndef READYFS_CATALOGUE_GATE_H
#define READYFS_CATALOGUE_GATE_H

#include "base/err.h"

#include <stdint.h>

struct gate;

/* Opens, and creates where they are missing, `writer` and `queue` in the directory `dir_fd` (borrowed for the call). */
MUST_CHECK enum status gate_open(int dir_fd, struct gate **ret_gate, struct err *err);

/* Waits for the turn. BUSY with a message after `deadline_ms` milliseconds (0: only if it is free now). */
MUST_CHECK enum status gate_take(struct gate *gate, int64_t deadline_ms, struct err *err);

/* Ends the turn and admits the next. */
void gate_leave(struct gate *gate);

/* Nobody is inside or waiting. NULL is fine. Returns NULL. */
struct gate *gate_close(struct gate *gate);

#endif
