/* sweep_internal.h - clearing one version, for the pass and for compensating deletes. Private to document/. */
#ifndef READYFS_DOCUMENT_SWEEP_INTERNAL_H
#define READYFS_DOCUMENT_SWEEP_INTERNAL_H

#include "document/session_internal.h"
#include "document/sweep.h"

/* What is known of sessions for a while: who is fenced, and the least horizon of those that are not. */
struct owners {
    int64_t me;
    int64_t *alive; /* ids, ascending; owned */
    size_t count;
    int64_t horizon; /* of all that live */
};

/* One version on its way through a sweep. */
struct sweeping {
    struct session *session;
    const struct owners *owners;
    struct version_row row;
    bool synced; /* the row was read, then everything was synced (P6) */
    bool marked; /* a new mark was written since this sweep began (volume.h) */
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
