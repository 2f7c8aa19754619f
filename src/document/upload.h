/* upload.h - one new content on its way into a blob of its own.
 *
 * upload_begin takes an intent whose Pending row is durable (P1). Blocks go up while the program still writes
 * (upload_block), several at once; upload_finish sends what is missing, makes the blob under If-None-Match (P3), checks
 * it (P4), and settles what stayed unknown (P9). Then the upload is confirmed and can be put (op.h), or abandoned. An
 * upload belongs to one workspace; its calls may come from several threads, finish and abandon from one.
 */
#ifndef READYFS_DOCUMENT_UPLOAD_H
#define READYFS_DOCUMENT_UPLOAD_H

#include "document/pin.h"
#include "document/session.h"

struct upload;

/* Where the bytes come from. `read` fills exactly len bytes of the new content from `offset` (it is never asked beyond
 * the size given to upload_finish, nor beyond a block handed to upload_block); it may be called by worker threads. */
struct upload_source {
    enum status (*read)(void *context, uint64_t offset, void *ret_bytes, size_t len, struct err *err);
    void *context;
};

struct upload_target {
    int64_t document;        /* told in the blob's metadata; 0 where not known yet */
    const struct name *name; /* for content type and metadata; NULL where there is none */
};

MUST_CHECK enum status upload_begin(struct session *session, const struct upload_target *target,
                                    const struct upload_source *source, struct upload **ret_upload, struct err *err);

/* Hands the whole block `index` (core/plan.h with the settings' block_bytes) over to be staged in the background.
 * Returns at once, or does it itself when all workers are busy. A failure is kept for upload_finish, which tries again.
 */
void upload_block(struct upload *upload, uint32_t index);

/* The program has changed [offset, offset + len) after handing it over: call it after the bytes are readable from the
 * source. The blocks it touches will be staged anew, under new ids (P2). */
void upload_touch(struct upload *upload, uint64_t offset, uint64_t len);

/* How many blocks are staged from the beginning without a gap: their bytes need not be readable any more. */
uint32_t upload_settled_blocks(struct upload *upload);

/* Tells what did not change: [offset, offset + len) equals the same range of `base`. Whole blocks within it are copied
 * on the server where the store can, else read from the source like any other. Call it before upload_finish. */
MUST_CHECK enum status upload_unchanged(struct upload *upload, struct pin *base, uint64_t offset, uint64_t len,
                                        struct err *err);

/* Sends the rest of the `size` bytes and makes the blob. OK: confirmed. Every other status: not there, or not known to
 * be there and given up; then abandon it. INTERRUPTED after upload_cancel. */
MUST_CHECK enum status upload_finish(struct upload *upload, uint64_t size, struct err *err);

/* Ends running exchanges soon; upload_finish then returns INTERRUPTED. Any thread, also while finish runs. */
void upload_cancel(struct upload *upload);

/* After a put: frees; the version belongs to the catalogue. Waits for stragglers. */
void upload_done(struct upload *upload);

/* Pending -> Condemned with a reason, as far as the catalogue can be written now (the sweeper does the rest), and
 * frees. The compensating delete happens behind the caller (P10). NULL is fine. */
void upload_abandon(struct upload *upload, const char *reason);

int64_t upload_version(const struct upload *upload);
const char *upload_blob(const struct upload *upload);

#endif
