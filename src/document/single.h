/* single.h - transactions of one member whose end needs more than a commit: publishing an upload. */
#ifndef READYFS_DOCUMENT_SINGLE_H
#define READYFS_DOCUMENT_SINGLE_H

#include "document/op.h"
#include "document/upload.h"

/* Puts a confirmed upload as the document's Ready version, durably, looking at the blob again first when its
 * confirmation is older than confirm_max_age (P5). Ends the upload in every case. On OK op->put holds the results;
 * otherwise the document is as it was. op->kind is OP_PUT, op->document set, op->put filled but for the results.
 * `ret_seq` may be NULL. STALE: removed meanwhile; CONFLICT: replaced meanwhile under compare_base; FENCED. */
MUST_CHECK enum status single_publish(struct session *session, struct op *op, int64_t *ret_seq, struct err *err);

#endif
