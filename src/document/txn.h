/* txn.h - a transaction: operations staged, then committed by the one commit function, all or none.
 *
 * Usage: txn_begin, txn_stage for each operation, then txn_commit or txn_abort, either of which ends it. A put's
 * uploads are finished before txn_commit. No lock is taken and nothing is checked before commit.
 *
 * txn_commit puts the transaction into the session's queue. Whoever finds nobody at work commits for all that wait: one
 * turn at the gate, a savepoint each, one COMMIT (group commit), so that closes which arrive together share one fsync.
 * Nobody is answered before the COMMIT of the group is known; if it is unknown it is settled by writing (P9), and where
 * the group had failed each member is judged anew. Besides OK and the refusals of the operations (whose effects are
 * none) it returns UNKNOWN only while the catalogue cannot be reopened at all.
 */
#ifndef READYFS_DOCUMENT_TXN_H
#define READYFS_DOCUMENT_TXN_H

#include "document/op.h"
#include "document/session.h"

struct txn;

MUST_CHECK enum status txn_begin(struct session *session, struct txn **ret_txn, struct err *err);

/* `op` is borrowed until the transaction ends; its results are written by a commit that returns OK. */
MUST_CHECK enum status txn_stage(struct txn *txn, struct op *op, struct err *err);

/* Ends the transaction. `ret_seq` (may be NULL): the commit's number. */
MUST_CHECK enum status txn_commit(struct txn *txn, enum durability durability, int64_t *ret_seq, struct err *err);

/* Drops what was staged. NULL is fine. */
void txn_abort(struct txn *txn);

/* Begin, stage, commit of the `count` operations. */
MUST_CHECK enum status txn_run(struct session *session, struct op *ops, size_t count, enum durability durability,
                               int64_t *ret_seq, struct err *err);

#endif
