/* fence.c - declaring a session dead: one transaction, after which whatever it still sends changes nothing (P11). */
#include "document/apply.h"

#include <string.h>

#define BATCH 32

static enum status condemn_pending(struct apply *apply, int64_t session, const char *reason, struct err *err)
{
    struct version_filter filter = {.state = VERSION_PENDING, .session = session};
    struct version_row rows[BATCH];
    for (;;) {
        size_t count = 0;
        enum status status = ROWS(apply)->version_list(apply->txn, &filter, rows, BATCH, &count, err);
        for (size_t i = 0; i < count && status == STATUS_OK; i++) {
            filter.after = rows[i].id;
            rows[i].sent_utc_ns = apply->now_ns; /* it may have sent until just now (P8) */
            status = apply_condemn(apply, &rows[i], reason, err);
        }
        if (status != STATUS_OK || count < BATCH)
            return status;
    }
}

/* Lets go of one reserved entry; the last holder's leaving removes it and its document. */
static enum status let_go(struct apply *apply, int64_t cookie, int64_t session, struct err *err)
{
    enum status status = ROWS(apply)->holder_remove(apply->txn, cookie, session, err);
    if (status != STATUS_OK)
        return status;
    int64_t left[1];
    size_t count = 0;
    status = ROWS(apply)->holder_list(apply->txn, cookie, left, 1, &count, err);
    if (status != STATUS_OK || count)
        return status;
    struct entry_row entry;
    status = ROWS(apply)->entry_at(apply->txn, cookie, &entry, err);
    if (status == STATUS_NOT_FOUND || (status == STATUS_OK && !entry.reserved)) /* nothing to remove */
        return STATUS_OK;
    if (status != STATUS_OK)
        return status;
    struct document_row document;
    return apply_unlink(apply, &entry, &document, err);
}

enum status fence_let_go(struct apply *apply, int64_t session, int64_t document, struct err *err)
{
    int64_t cookies[BATCH];
    int64_t after = 0;
    for (;;) {
        size_t count = 0;
        enum status status = ROWS(apply)->holder_of(apply->txn, session, after, cookies, BATCH, &count, err);
        for (size_t i = 0; i < count && status == STATUS_OK; i++) {
            after = cookies[i];
            struct entry_row entry;
            status = ROWS(apply)->entry_at(apply->txn, cookies[i], &entry, err);
            if (status == STATUS_OK && (!document || entry.document == document))
                status = let_go(apply, cookies[i], session, err);
            else if (status == STATUS_NOT_FOUND)
                status = STATUS_OK; /* it went with another of these */
        }
        if (status != STATUS_OK || count < BATCH)
            return status;
    }
}

enum status fence_session(struct apply *apply, struct session_row *row, const char *reason, struct err *err)
{
    row->fenced_utc_ns = apply->now_ns;
    enum status status = ROWS(apply)->session_update(apply->txn, row, err);
    if (status == STATUS_OK)
        status = condemn_pending(apply, row->id, reason, err);
    if (status == STATUS_OK)
        status = fence_let_go(apply, row->id, 0, err);
    return status;
}

/* Fences a holder whose kernel lock is free. BUSY: it lives. */
static enum status fence_if_dead(struct apply *apply, int64_t session, struct err *err)
{
    struct session_row row;
    enum status status = ROWS(apply)->session_get(apply->txn, session, &row, err);
    if (status == STATUS_NOT_FOUND || (status == STATUS_OK && row.fenced_utc_ns)) /* nothing but the hold is left */
        return fence_let_go(apply, session, 0, err);
    if (status != STATUS_OK)
        return status;
    status = ROWS(apply)->lock_probe(apply->catalogue, session, NULL);
    if (status != STATUS_OK)
        return STATUS_BUSY;
    status = fence_session(apply, &row, "its session died", err);
    /* Its file stays until the sweeper forgets the row: this part of the transaction may be taken back. */
    ROWS(apply)->lock_release(apply->catalogue, session);
    return status;
}

enum status fence_holders(struct apply *apply, int64_t cookie, unsigned *ret_left, struct err *err)
{
    int64_t sessions[HOLDERS_MAX];
    size_t count = 0;
    *ret_left = 0;
    enum status status = ROWS(apply)->holder_list(apply->txn, cookie, sessions, HOLDERS_MAX, &count, err);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        if (sessions[i] == apply->session->id)
            continue;
        status = fence_if_dead(apply, sessions[i], err);
        if (status == STATUS_BUSY) {
            ++*ret_left;
            status = STATUS_OK;
        }
    }
    return status;
}
