/* notifier.h - the one thread that tells the kernel what it must not believe any more.
 *
 * An invalidation of a name needs a lock in the kernel which a listing, a create or a rename holds while it waits for
 * our answer. So it is sent by a thread that holds no lock of ours and for which no request waits: requests only put
 * into the queue. The queue is bounded for those who can wait (the watcher of other mounts' changes, which may bring
 * thousands at a time): they wait for room. A request never waits; it adds at most a few entries, so that the length
 * is bounded by the requests under way. Nothing is dropped silently: where memory itself is missing, the kernel is told
 * to forget all names (Linux 6.16 and later) and the log says so.
 */
#ifndef READYFS_FUSE_NOTIFIER_H
#define READYFS_FUSE_NOTIFIER_H

#include "base/err.h"
#include "core/name.h"
#include "host/log.h"

struct fuse_session;
struct notifier;

/* Starts the thread. `session` and `log` are borrowed. */
MUST_CHECK enum status notifier_open(struct fuse_session *session, struct log *log, struct notifier **ret_notifier,
                                     struct err *err);

/* Drops what is queued, ends the thread, frees. Only after the connection has ended, since the thread may be waiting
 * in the kernel for a lock that ends with it. NULL is fine. */
void notifier_close(struct notifier *notifier);

/* From now on the calling thread waits for room when the queue is full. Never a thread that answers requests. */
void notifier_be_patient(struct notifier *notifier);

/* The name in the directory behind a node leads elsewhere, or nowhere. Any thread. */
void notifier_entry(struct notifier *notifier, uint64_t parent_node, const struct name *name);

/* Attributes, and for `offset` 0 or more the bytes from there (`len` 0: to the end), have changed. Any thread. */
void notifier_node(struct notifier *notifier, uint64_t node, int64_t offset, int64_t len);

#endif
