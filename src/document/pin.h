/* pin.h - one Ready version held open: registered with the horizon, so that its blob outlives the pin (P14).
 *
 * Reads are exact and verified: a whole block is compared with the digest in the catalogue (P4), anything with length,
 * range and ETag. A blob that is missing, short or changed is CORRUPT for its reader, and for nobody else (S24).
 */
#ifndef READYFS_DOCUMENT_PIN_H
#define READYFS_DOCUMENT_PIN_H

#include "blob/blob.h"
#include "document/session.h"

struct pin;

/* Pins the document's Ready version as of now (registers first, reads then). NOT_FOUND: no such document; NO_DATA: it
 * has no Ready version. */
MUST_CHECK enum status pin_open(struct session *session, int64_t document, struct pin **ret_pin, struct err *err);

/* One more holder of the same pin; pin_close releases one. */
struct pin *pin_ref(struct pin *pin);
void pin_close(struct pin *pin); /* NULL is fine */

/* Valid while the pin is: the rows as they were when it was pinned. Of the version's row all but the ETag, which may be
 * recorded anew (P7) and is read with pin_etag alone. */
const struct document_row *pin_document(const struct pin *pin);
const struct version_row *pin_version(const struct pin *pin);
void pin_etag(const struct pin *pin, char ret_etag[LIMIT_ETAG_BYTES]);

/* A pin of the version that this session has just published, whatever was published or removed since (P14).
 * `published` is the document's row as the put left it (op->ret_document), `seq` the publish's number. `from`, which
 * keeps its own registration, is a pin of the same document that was held throughout, NULL for none: with it the
 * version is pinned even if it was replaced meanwhile; without it, STALE then. */
MUST_CHECK enum status pin_published(struct pin *from, struct session *session, const struct document_row *published,
                                     int64_t seq, struct pin **ret_pin, struct err *err);

/* Reads [offset, offset + len) of the version, cut at its end; *ret_len is short at the end only. Fetches through the
 * session's block cache and ahead of a sequential reader; a random reader gets just the bytes asked for. `cancelled`
 * may be NULL. Errors: CORRUPT, TIMEOUT, INTERRUPTED, UNREACHABLE, ACCESS ... */
MUST_CHECK enum status pin_read(struct pin *pin, uint64_t offset, void *ret_bytes, size_t len, size_t *ret_len,
                                const atomic_bool *cancelled, struct err *err);

#endif
