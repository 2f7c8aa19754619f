/* txn.c - operations staged and committed together. */
#include "document/txn.h"

#include "document/apply.h"

#include <stdlib.h>

#define OPS_MAX 65536

struct txn {
    struct session *session;
    struct op **ops; /* borrowed, in the order of staging */
    size_t count, capacity;
};

enum status txn_begin(struct session *session, struct txn **ret_txn, struct err *err)
{
    struct txn *txn = calloc(1, sizeof *txn);
    if (!txn)
        return err_set(err, STATUS_NO_MEMORY, "begin a transaction: out of memory");
    txn->session = session;
    *ret_txn = txn;
    return STATUS_OK;
}

enum status txn_stage(struct txn *txn, struct op *op, struct err *err)
{
    if (txn->count == OPS_MAX)
        return err_set(err, STATUS_TOO_LARGE, "a transaction has at most %d operations", OPS_MAX);
    if (txn->count == txn->capacity) {
        size_t capacity = txn->capacity ? txn->capacity * 2 : 4;
        struct op **ops = realloc(txn->ops, capacity * sizeof(struct op *));
        if (!ops)
            return err_set(err, STATUS_NO_MEMORY, "stage an operation: out of memory");
        txn->ops = ops;
        txn->capacity = capacity;
    }
    txn->ops[txn->count++] = op;
    return STATUS_OK;
}

static enum status apply_txn(struct apply *apply, void *context, struct err *err)
{
    struct txn *txn = context;
    for (size_t i = 0; i < txn->count; i++) {
        enum status status = apply_op(apply, txn->ops[i], err);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

enum status txn_commit(struct txn *txn, enum durability durability, int64_t *ret_seq, struct err *err)
{
    err_clear(err); /* an answer like NOT_FOUND carries no message */
    /* Of doubt about the catalogue the leader of the commits takes care. */
    enum status status = session_check_fenced(txn->session, err);
    if (status == STATUS_OK)
        status = commit_run(txn->session, apply_txn, txn, durability, ret_seq, err);
    txn_abort(txn);
    return status;
}

void txn_abort(struct txn *txn)
{
    if (!txn)
        return;
    free(txn->ops);
    free(txn);
}

enum status txn_run(struct session *session, struct op *ops, size_t count, enum durability durability, int64_t *ret_seq,
                    struct err *err)
{
    struct txn *txn = NULL;
    enum status status = txn_begin(session, &txn, err);
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        status = txn_stage(txn, &ops[i], err);
    if (status != STATUS_OK) {
        txn_abort(txn);
        return status;
    }
    return txn_commit(txn, durability, ret_seq, err);
}
