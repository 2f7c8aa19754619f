/* check.h - whether an Azure store works, asked before a mount goes live (S27). */
#ifndef READYFS_BLOB_AZURE_CHECK_H
#define READYFS_BLOB_AZURE_CHECK_H

#include "blob/blob.h"

struct azure_check {
    const char *prefix;    /* "" or ends in '/': where a probe may be put */
    bool create_container; /* make the container where it is missing */
    bool read_only;        /* look only: no probe is written, tags are not tried */
};

/* Asks, in this order: is the service reachable and are we let in; is our clock right; is the container there; has the
 * account the tags that are to be used; may we write, tag and delete. The last is found out with a small blob
 * PREFIX.readyfs/probe-..., created under a name of its own and removed again.
 *
 * `store` is one of azure_open()'s, undecorated. A failure is a report with one line that says what is wrong, and a
 * hint that says how to mend it: UNREACHABLE, TIMEOUT, AUTHENTICATION, ACCESS, CLOCK_SKEW, NOT_FOUND (the container),
 * UNSUPPORTED (tags; `tags = off` is the way out), and what else an exchange may end with. It does not wait longer than
 * about ten seconds for a store that does not answer. */
MUST_CHECK enum status azure_check(struct blob_store *store, const struct azure_check *check, struct err *err);

#endif
