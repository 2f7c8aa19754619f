/* upload_internal.h - what a put reads of a confirmed upload. Private to document/. */
#ifndef READYFS_DOCUMENT_UPLOAD_INTERNAL_H
#define READYFS_DOCUMENT_UPLOAD_INTERNAL_H

#include "document/session_internal.h"
#include "document/upload.h"

/* Writes what the upload has made into its version's row: size, digests, ETag, cleanliness. The digests stay the
 * upload's. */
void upload_fill_row(const struct upload *upload, struct version_row *row);

struct session *upload_session(const struct upload *upload);

/* Looks at the blob again if its last confirmation is older than confirm_max_age (P5). */
MUST_CHECK enum status upload_confirm(struct upload *upload, struct err *err);

/* Ends an upload whose version the catalogue has condemned already. */
void upload_condemned(struct upload *upload);

/* Ends an upload whose put has an unknown outcome: nothing is assumed, the sweeper settles it. */
void upload_unsettled(struct upload *upload);

#endif
