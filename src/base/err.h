/* err.h - one error report, filled where a call fails and given context on the way up.
 *
 * A struct err belongs to the caller, usually on its stack. It is written only on failure. Every function here accepts
 * NULL for a caller that wants the status alone. The message never holds a secret: whoever builds one leaves keys,
 * signatures and whole URLs out.
 */
#ifndef READYFS_BASE_ERR_H
#define READYFS_BASE_ERR_H

#include "base/status.h"

struct err {
    enum status status;
    int http_status;       /* 0 where no service answered */
    char service_code[64]; /* x-ms-error-code, "" where there is none */
    char request_id[64];   /* x-ms-request-id, "" where there is none */
    char message[768];     /* "publish 'a/b': block 3: ..." ; one line, without a full stop */
    char hint[320];        /* what the user can do about it; "" where nothing sensible can be said */
};

/* Results must be looked at; where one is ignored on purpose, say (void) and why. */
#define MUST_CHECK __attribute__((warn_unused_result))

/* An outcome that nobody needs; a comment beside it says why. */
#define IGNORE(call)                                                                                                   \
    do {                                                                                                               \
        if (call) {                                                                                                    \
        }                                                                                                              \
    } while (0)

/* Empties the report. */
void err_clear(struct err *err);

/* Replaces the report by `status` and a message, and returns `status`, so that a failure is one line:
 * `return err_set(err, STATUS_INVALID, "...")`. Line breaks in the message become spaces. */
enum status err_set(struct err *err, enum status status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same with strerror(errno_value) behind the message and the status of status_from_errno(). */
enum status err_set_errno(struct err *err, int errno_value, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "context: " before the message. Returns the report's status (IO for NULL or an empty report). */
enum status err_context(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Sets what the user can do. Returns the report's status. */
enum status err_hint(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
