/* daemon.h - becoming a process in the background, and telling the one that waits how it went.
 *
 * The parent waits on a pipe until the mount is live and returns its status; so `readyfs mount` fails where mounting
 * fails, with the child's one line. All that opens SQLite, takes kernel locks or starts threads happens in the child.
 */
#ifndef READYFS_FUSE_DAEMON_H
#define READYFS_FUSE_DAEMON_H

#include "base/err.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct daemon {
    int report_fd; /* to the waiting parent; -1 in the foreground and once it has been told */
    bool foreground;
};

/* Forks, unless `foreground`. In the parent: *ret_parent is true and the result is the child's, as it was told by
 * daemon_live or daemon_fail (MOUNT when it died without a word). In the child and in the foreground: OK and false. */
MUST_CHECK enum status daemon_fork(bool foreground, struct daemon *ret_daemon, bool *ret_parent, struct err *err);

/* No core files and no debugger, since keys are in memory; files of ours are for nobody else; freed memory is shared by
 * all threads. Before any thread is started. */
void daemon_prepare(void);

/* The mount is live: leaves the terminal, the working directory and the parent, and tells a service manager. */
void daemon_live(struct daemon *daemon);

/* The mount has failed: the parent prints `err`. */
void daemon_fail(struct daemon *daemon, const struct err *err);

/* The mount is ending (for a service manager). */
void daemon_stopping(void);

/* SIGTERM and SIGINT as a call: until signals_arm they end the process, later each calls terminate(context) once.
 * SIGHUP and SIGPIPE do nothing. Opened before any other thread is started, since threads inherit what is blocked. */
struct signals {
    pthread_t thread;
    void (*terminate)(void *context);
    void *context;
    atomic_bool armed, closing;
};
MUST_CHECK enum status signals_open(struct signals *signals, void (*terminate)(void *context), void *context,
                                    struct err *err);
void signals_arm(struct signals *signals);
void signals_close(struct signals *signals);

#endif
