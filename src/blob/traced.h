/* traced.h - a decorator that counts the exchanges with the store below it, by kind: for tests of what an operation
 * costs.
 */
#ifndef READYFS_BLOB_TRACED_H
#define READYFS_BLOB_TRACED_H

#include "blob/blob.h"

struct blob_counts {
    uint64_t puts, stages, copies, commits, unstages, stats, reads, removes, tags, lists, controls;
    uint64_t bytes_sent;     /* of puts and stages, whatever came of them */
    uint64_t bytes_received; /* of reads that were OK */
    uint64_t failures;       /* calls that ended with anything but OK; a NOT_FOUND that was hoped for is among them */
};

/* Takes ownership of `below` when it succeeds; NO_MEMORY leaves it with the caller. */
MUST_CHECK enum status traced_open(struct blob_store *below, struct blob_store **ret_store, struct err *err);

/* The counts so far; `store` is one of traced_open()'s. Any thread. */
struct blob_counts traced_counts(struct blob_store *store);

#endif
