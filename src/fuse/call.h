/* call.h - one request from its beginning to its answer: who asks, how it is interrupted, how a failure is told.
 *
 * Usage: call_begin, one fs_x with call.caller and call.err, then call_end, which answers a failure and returns whether
 * there was none; then the operation sends its own reply. A struct call lives on the stack of the thread that serves
 * the request.
 */
#ifndef READYFS_FUSE_CALL_H
#define READYFS_FUSE_CALL_H

#include "fs/fs.h"
#include "fuse/interrupt.h"
#include "host/log.h"

#include <fuse_lowlevel.h>

/* What all requests of a mount share; the userdata of the FUSE session. */
struct ops {
    struct fs *fs;
    struct log *log;
    struct interrupts interrupts;
    void (*live)(void *context); /* the kernel has said hello */
    void *context;
};

struct call {
    fuse_req_t req;
    struct ops *ops;
    struct fs *fs;
    const char *event; /* "flush" ... */
    uint64_t node;
    const char *name; /* NULL where there is none */
    struct fs_caller caller;
    struct wait wait;
    struct err err;
};

void call_begin(struct call *call, fuse_req_t req, const char *event, uint64_t node, const char *name);

/* Ends the waiting. A failure is answered with its errno and told to the log: one that a healthy store brings about too
 * (no such file, not empty ...) for debugging only, all others at once, each in one line (S22). True: OK, the caller
 * replies. */
MUST_CHECK bool call_end(struct call *call, enum status status);

/* The line for a failure, also for those that no request waits for. `document` may be NULL; one that begins with a
 * quote has been through quote_text() already. */
void call_report(struct log *log, enum log_level level, const char *event, const char *document, const struct err *err);

#endif
