/* stream.h - an upload that begins while the program still writes.
 *
 * When a program writes one byte after the other past the end of a block, the block is handed to the upload; when it
 * changes handed bytes later, the upload is told. So the close of a large file has only the tail to send. Where the
 * spool is nearly full and nobody reads the file, settled blocks leave the spool.
 *
 * A thread that wrote calls stream_enter with the workspace's lock held, lets the lock go, calls stream_wrote, and
 * leaves: no lock is held across a blob call, and whoever publishes or gives up waits in stream_wait.
 */
#ifndef READYFS_FS_STREAM_H
#define READYFS_FS_STREAM_H

#include "fs/draft.h"

/* Notes that [offset, offset + len) was written. True: call stream_wrote without the lock. Lock held. */
MUST_CHECK bool stream_enter(struct draft *draft, uint64_t offset, uint64_t len);
/* Tells the upload, hands full blocks over, and leaves. It may stage a block itself when all workers are busy, which is
 * how a program is kept from writing faster than the store takes. */
void stream_wrote(struct draft *draft, struct session *session, uint64_t offset, uint64_t len);

/* Where a write met the spool's limit: lets settled blocks leave, waiting for blocks under way if need be, and leaves.
 * False: there is nothing to wait for. Without the lock, after the caller has counted itself in stream.users. */
MUST_CHECK bool stream_make_room(struct draft *draft, struct session *session);

/* Until no thread uses the upload. Lock held. */
void stream_wait(struct draft *draft);

/* Begins the draft's upload if that has not happened. Without the lock, after stream_wait, nobody else at it. */
MUST_CHECK enum status stream_begin(struct draft *draft, struct session *session, struct err *err);

/* Takes the upload out, so that nobody tells it anything any more. Lock held. */
struct upload *stream_take(struct draft *draft);

#endif
