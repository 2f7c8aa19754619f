/* settle.h - turning "unknown" into one of the others (P9): look, compare, decide. Used by the writer after a lost
 * answer and by the sweeper alike. Private to document/. */
#ifndef READYFS_DOCUMENT_SETTLE_H
#define READYFS_DOCUMENT_SETTLE_H

#include "core/verdict.h"
#include "document/session_internal.h"

/* Looks at a version's blob: ours when it carries the row's token. `ret_facts` (may be NULL) is written for OURS and
 * FOREIGN. SIGHT_UNKNOWN, with the reason in err, when the store could not be asked. */
enum sighting settle_look(struct session *session, const struct call *call, const char *blob, const char *token,
                          struct blob_facts *ret_facts, struct err *err);

/* Records a blob's new ETag in the row of a version whose token it carries (P7). */
MUST_CHECK enum status settle_etag(struct session *session, int64_t version, const char *etag, struct err *err);

/* Notes that a request is about to be sent for a Condemned version's name, which may arrive late (P8). `sent_utc_ns` is
 * the note that the caller knows and becomes the new one; CONFLICT when another sweeper has left one meanwhile. */
MUST_CHECK enum status settle_sent(struct session *session, int64_t version, int64_t *sent_utc_ns, struct err *err);

/* Drops the row of a version whose blob is gone, unless another sweeper has sent something for it meanwhile. */
struct gone {
    int64_t version;
    int64_t sent_utc_ns; /* the note as the caller knows it */
};
MUST_CHECK enum status settle_drop(struct apply *apply, const struct gone *gone, struct err *err);

#endif
