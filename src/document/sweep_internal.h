/* sweep_internal.h - the pieces of a sweep: who owns what (sweep_sessions.c), and clearing one version, for the pass
 * and for compensating deletes (sweep_version.c). Private to document/. */
#ifndef READYFS_DOCUMENT_SWEEP_INTERNAL_H
#define READYFS_DOCUMENT_SWEEP_INTERNAL_H

#include "document/session_internal.h"
#include "document/sweep.h"

/* Ids in no order; owned. */
struct ids {
    int64_t *items;
    size_t count, capacity;
};

bool ids_have(const struct ids *ids, int64_t id);
void ids_done(struct ids *ids);

/* What is known of sessions for a while: who is not fenced, and the least horizon of those. */
struct owners {
    struct ids alive;
    int64_t horizon;
};

/* Fences who is dead, forgets who has been for long. In a dry run the dead are only counted, and told in ret_dead. */
MUST_CHECK enum status sweep_sessions(struct session *session, bool dry_run, unsigned *ret_fenced, struct ids *ret_dead,
                                      struct err *err);

/* The sessions as they are now, `dead` excepted. Read them after the rows that are to be judged: whoever owns such a
 * row was born before (P11), and after what was condemned is durable (P14). */
MUST_CHECK enum status sweep_owners(struct session *session, const struct ids *dead, struct owners *ret_owners,
                                    struct err *err);

/* In the transaction: up to where every follower of the change log has used it. */
MUST_CHECK enum status sweep_least_seen(struct apply *apply, int64_t *ret_seq, struct err *err);

/* One version on its way through a sweep. */
struct sweeping {
    struct session *session;
    const struct owners *owners;
    const atomic_bool *cancelled; /* NULL for never */
    struct version_row row;
    int64_t sent_utc_ns; /* as the row says by now: at first row.sent_utc_ns */
    bool synced;         /* the commit that condemned it is durable (P6) */
    bool marked;         /* a new mark was written since this sweep began (volume.h) */
    bool unmarked;       /* it could not be written: nothing can be deleted now */
    bool untagged;       /* its blob was found without a tag: the ETag guards */
};

/* The decision alone, from the row, the owners and the working list. */
struct judgement sweep_judge(const struct sweeping *sweeping, enum sighting sighting);

/* Sends what the verdict asks for and tells the outcome: DROP and FLIP_TAG are left to the caller as rows to write
 * (VERDICT_DROP: the row may go; VERDICT_FLIP_TAG: the tag was flipped), WAIT, REPORT and KEEP are final for this pass.
 */
struct judgement sweep_version(struct sweeping *sweeping, struct err *err);

/* Clears a version that this session has just condemned, soon and beside its caller (P10). An optimisation. */
void sweep_later(struct session *session, int64_t version);

#endif
