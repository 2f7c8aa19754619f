/* lock.h - an exclusive lock on a file, between processes and between threads alike.
 *
 * It is an open-file-description lock (fcntl(2), F_OFD_SETLK): it belongs to the struct lock, not to the process, so
 * two struct locks on one file exclude each other wherever they are, and the kernel lets go of it when its holder dies,
 * however it dies. Nobody asks a pid or a clock who is alive: whoever can take the lock knows that the holder is gone.
 *
 * A struct lock is used by one thread at a time. It must not be shared with a forked child that lives on: the lock
 * would last until both have closed it (exec closes it by itself).
 */
#ifndef READYFS_HOST_LOCK_H
#define READYFS_HOST_LOCK_H

#include "base/cleanup.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct lock {
    int fd; /* -1 while not open */
    bool held;
};

#define LOCK_CLOSED                                                                                                    \
    {                                                                                                                  \
        .fd = -1, .held = false                                                                                        \
    }

/* Opens the file at `path` relative to `dir_fd` (AT_FDCWD where path is absolute), for reading and writing, and creates
 * it empty with mode 0600 where `create`. The lock is not taken. Errors: NOT_FOUND, ACCESS, READ_ONLY, NO_SPACE. */
MUST_CHECK enum status lock_open(int dir_fd, const char *path, bool create, struct lock *ret_lock, struct err *err);

/* Takes the lock if it is free; BUSY, without a message, while somebody else holds it. */
MUST_CHECK enum status lock_try(struct lock *lock, struct err *err);

/* Waits for the lock in the kernel's queue for at most `timeout_ms`; TIMEOUT after that. Each release wakes the
 * waiters, so none is starved as one that polls is, though a holder who comes back at once may be faster than the
 * woken: where turns must be exact, take two locks as a turnstile. Uses the real-time signal SIGRTMIN + 5 in the
 * calling thread. */
MUST_CHECK enum status lock_wait(struct lock *lock, int64_t timeout_ms, struct err *err);

/* Lets go of the lock; the file stays open. */
void lock_release(struct lock *lock);

/* Lets go of the lock and closes; a closed one is fine. */
void lock_close(struct lock *lock);

/* `AUTO_LOCK struct lock gate = LOCK_CLOSED;` */
#define AUTO_LOCK CLEANUP(lock_close)

#endif
