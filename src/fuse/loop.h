/* loop.h - our own read loop: threads that take the kernel's requests in order and serve them at once.
 *
 * One thread at a time receives: the one with the baton (baton.h). A RELEASE is announced to fs/ from its header before
 * the baton goes on, so that a lookup or listing which the kernel sent later waits for it (S6); with a loop that
 * receives in parallel, a listing overtook the release in 62 of 100,000 `touch f; ls`. The baton is passed on before a
 * request is served that may wait for the store, or that others stand behind; before a short one it is lent. Threads
 * are added when all are at work, up to a bound, so that requests which wait for a slow store do not starve the others,
 * and go again when there are many idle ones.
 */
#ifndef READYFS_FUSE_LOOP_H
#define READYFS_FUSE_LOOP_H

#include "base/err.h"

#include <stdbool.h>

struct fs;
struct fuse_session;
struct loop;

/* Starts serving. `session` (with its descriptor, non-blocking) and `fs` are borrowed. */
MUST_CHECK enum status loop_open(struct fuse_session *session, struct fs *fs, struct loop **ret_loop, struct err *err);

/* Whether the connection has ended (unmounted, aborted) or loop_stop was called. Any thread. */
bool loop_ended(struct loop *loop);

/* Calls ended(context) once, in some thread, when the loop has ended. Set it before loop_open's first request matters.
 */
void loop_on_end(struct loop *loop, void (*ended)(void *context), void *context);

/* Whether the kernel holds requests that nobody has received yet. Any thread. */
bool loop_pending(struct loop *loop);

/* No further request is received. Any thread. */
void loop_stop(struct loop *loop);

/* Stops, waits for the requests under way, frees. NULL is fine. */
void loop_close(struct loop *loop);

#endif
