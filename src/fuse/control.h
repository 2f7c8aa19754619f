/* control.h - the socket of a live mount: progress, drain and log level, one line to ask and one to answer.
 *
 *     progress            -> handles=2 dirty=1 uploads=3 unsent=1048576 pending=0
 *     drain               -> draining; then, when the mount has ended: ended kept=0
 *     loglevel debug      -> ok
 *     anything else       -> error TEXT
 *
 * Whoever asks must be the user who mounted, or root (SO_PEERCRED). The server is one thread that never waits for the
 * filesystem, so that it answers while a store hangs.
 */
#ifndef READYFS_FUSE_CONTROL_H
#define READYFS_FUSE_CONTROL_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONTROL_LINE_SIZE 256

struct control;

/* Called in the server's thread; neither may wait. */
struct control_handler {
    void (*progress)(void *context, char ret_line[CONTROL_LINE_SIZE]);
    bool (*set_log_level)(void *context, const char *level);
    void *context;
};

/* Listens at `path`, replacing what a crash has left there. */
MUST_CHECK enum status control_open(const char *path, const struct control_handler *handler,
                                    struct control **ret_control, struct err *err);

/* Sends `last_line` to whoever asked to drain, ends the thread, frees. NULL is fine. */
void control_close(struct control *control, const char *last_line);

/* The asking side: a connected socket. NOT_FOUND, UNREACHABLE when nobody listens. */
MUST_CHECK enum status control_connect(const char *path, int *ret_fd, struct err *err);

/* Sends a line and reads the answer, without its line break. TIMEOUT; UNFINISHED when the other side has gone. */
MUST_CHECK enum status control_ask(int fd, const char *line, char ret_answer[CONTROL_LINE_SIZE], int64_t timeout_ms,
                                   struct err *err);

/* Reads one more line. */
MUST_CHECK enum status control_await(int fd, char ret_answer[CONTROL_LINE_SIZE], int64_t timeout_ms, struct err *err);

#endif
