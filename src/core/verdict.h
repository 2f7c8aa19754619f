/* verdict.h - what to do about an unsettled version: one pure function for whoever clears it away, the session that has
 * just given it up or a sweeper later. Deciding is pure, doing is short (docs/ARCHITECTURE.md).
 */
#ifndef READYFS_CORE_VERDICT_H
#define READYFS_CORE_VERDICT_H

#include "core/state.h"

/* What a look at the blob's name has shown. */
enum sighting {
    SIGHT_NOT_TAKEN, /* nobody has looked */
    SIGHT_ABSENT,    /* HEAD says 404 */
    SIGHT_OURS,      /* there, with this version's token */
    SIGHT_FOREIGN,   /* there, with another's token or none: never ours to delete (P7) */
    SIGHT_UNKNOWN,   /* the store could not be asked */
};

/* What is known of the version's row and its owner. */
struct version_facts {
    enum version_state state;
    bool owner_fenced;      /* its session is fenced, or its row is gone */
    bool owner_is_me;       /* its session is the asking one */
    bool in_working_list;   /* the asking session is still at it (P11) */
    bool claimed;           /* a transaction's claim names it (T5) */
    bool published;         /* it was Ready once: readers may have it open (P14) */
    bool guarded_by_tag;    /* the guard of its delete is the tag, else the ETag (P7): never published, and tagged */
    bool clean;             /* every request that carried it was answered (P8) */
    bool condemned_synced;  /* the commit that condemned it is synced (P6) */
    bool horizon_passed;    /* no session that is not fenced may have it open (P14) */
    bool tag_due;           /* Ready, and its tag still says pending */
    int64_t settled_utc_ns; /* when its owner was fenced or last sent a byte, the later one */
};

struct verdict_policy {
    int64_t now_utc_ns;
    int64_t late_after_ms; /* T_late of the store (P8) */
};

enum verdict {
    VERDICT_KEEP,     /* nothing to do */
    VERDICT_WAIT,     /* something to do, not yet: see the reason */
    VERDICT_CONDEMN,  /* Pending -> Condemned */
    VERDICT_LOOK,     /* look at the blob first */
    VERDICT_DELETE,   /* send the guarded delete */
    VERDICT_DROP,     /* delete the row */
    VERDICT_FLIP_TAG, /* tag pending -> committed */
    VERDICT_REPORT,   /* name it to the user, touch nothing */
};

struct judgement {
    enum verdict verdict;
    const char *reason; /* static, for status and `sweep`: "owner is alive", "a reader may have it open" ... */
};

/* The decision. Safe for every combination of facts: whatever is not provably allowed is KEEP, WAIT or REPORT. */
struct judgement verdict(const struct version_facts *facts, enum sighting sighting,
                         const struct verdict_policy *policy);

#endif
