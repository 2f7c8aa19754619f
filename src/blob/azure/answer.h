/* answer.h - what an answer of the service means. Pure.
 *
 * The code in x-ms-error-code is asked first, then the body's, the status last: 409 and 412 have many meanings, and
 * bodies may be empty. An answer with a code that is not known here is a refusal. An answer without any code may come
 * from a proxy or from a server in trouble and proves little: it never means "absent" or "exists", and after a create
 * it mostly leaves the outcome open (P9).
 */
#ifndef READYFS_BLOB_AZURE_ANSWER_H
#define READYFS_BLOB_AZURE_ANSWER_H

#include "base/err.h"
#include "blob/azure/credential.h"
#include "blob/azure/wire/response.h"

#include <stdbool.h>
#include <stddef.h>

struct answer_question {
    int expected;                        /* the one status of success */
    bool create;                         /* under If-None-Match: *: a condition that fails means EXISTS */
    const struct credential *credential; /* borrowed; for hints and for the clock */
    const char *container;               /* for hints */
    int64_t now_utc_s;                   /* when the answer came, by our clock */
};

struct answer {
    enum status status;
    bool again;   /* transient: the same request may do better later (S23) */
    bool unclear; /* the request may have been carried out, or still be */
};

/* Judges an answer and, unless it is the expected one, fills the report: status line, code, request id, message, hint.
 * The message never quotes what the service says about credentials. */
struct answer answer_judge(const struct answer_question *question, const struct wire_response *response,
                           const char *body, size_t body_len, struct err *err);

/* CLOCK_SKEW where the key's signatures are refused for the time between our clock and the service's, as the answer
 * tells it; OK where it tells none, or nothing is signed by a key. */
MUST_CHECK enum status answer_clock(const struct credential *credential, const struct wire_response *response,
                                    int64_t now_utc_s, struct err *err);

#endif
