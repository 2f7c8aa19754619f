/* single.c - publishing one upload. */
#include "document/single.h"

#include "document/txn.h"
#include "document/upload_internal.h"

#define CONFIRM_ATTEMPTS 3

/* P5: the confirmation must be young when the commit is made, not when it was asked for; a wait at the gate between the
 * two may be long. */
static enum status put(struct session *session, struct op *op, int64_t *ret_seq, struct err *err)
{
    struct upload *upload = op->put.upload;
    for (int attempt = 1;; attempt++) {
        enum status status = upload_confirm(upload, err);
        if (status != STATUS_OK)
            return status;
        status = txn_run(session, op, 1, DURABLE, ret_seq, err);
        if (status != STATUS_TIMEOUT || upload_is_fresh(upload) || attempt == CONFIRM_ATTEMPTS)
            return status;
    }
}

enum status single_publish(struct session *session, struct op *op, int64_t *ret_seq, struct err *err)
{
    struct upload *upload = op->put.upload;
    enum status status = put(session, op, ret_seq, err);
    op->put.upload = NULL;
    if (status_outcome(status) == OUTCOME_UNKNOWN) {
        upload_unsettled(upload);
        (void)err_context(err, "whether the document was published is not known");
        return status;
    }
    if (status != STATUS_OK) {
        upload_abandon(upload, "publishing it failed");
        return status;
    }
    if (op->put.ret_status != STATUS_OK) {
        upload_condemned(upload);
        return err_set(err, op->put.ret_status, "%s",
                       op->put.ret_status == STATUS_CONFLICT ? "another version was published first"
                                                             : "the document was removed meanwhile");
    }
    upload_done(upload);
    return STATUS_OK;
}
