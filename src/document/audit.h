/* audit.h - every invariant checked, rows against blobs. Used by `readyfs fsck` and by tests. Reads only, but for
 * the removal of orphans where `repair` asks for it. Lists the container first and looks the rows up afterwards (P13),
 * so that a running mount makes no noise. */
#ifndef READYFS_DOCUMENT_AUDIT_H
#define READYFS_DOCUMENT_AUDIT_H

#include "document/session.h"

enum finding_kind {
    FINDING_MISSING_BLOB = 1, /* P12, S24: a Ready version whose blob is not there */
    FINDING_WRONG_SIZE,       /* P4 */
    FINDING_WRONG_ETAG,       /* P7: our token, another ETag */
    FINDING_WRONG_DATA,       /* P4: bytes do not match the digests (only with `data`) */
    FINDING_FOREIGN_BLOB,     /* P2: somebody else's bytes under our name */
    FINDING_WRONG_TAG,        /* P12: Ready and tagged pending, nothing due */
    FINDING_RESTORED,         /* P15: Pending and tagged committed: the catalogue is older than the container */
    FINDING_ORPHAN,           /* a blob of this catalogue that no row names */
    FINDING_LEFTOVER,         /* a Pending or Condemned version of a fenced session: a sweep's work, not a fault */
    FINDING_ROWS,             /* rows that contradict each other */
    FINDING_DATABASE,         /* the backend's own check */
    FINDING_UNREADABLE,       /* could not be checked */
};

/* "missing_blob" ...: stable, for programs. Static. */
const char *finding_name(enum finding_kind kind);

struct finding {
    enum finding_kind kind;
    const char *invariant; /* "P12" */
    bool fault;            /* false: told for completeness (work that a sweep will do, blobs of others) */
    bool repaired;
    int64_t document, version;
    const char *blob; /* "" for none */
    const char *text; /* one line */
};

typedef void finding_fn(void *context, const struct finding *finding);

struct audit_options {
    bool data;           /* read and verify the bytes of every Ready version */
    bool repair;         /* remove orphans whose metadata name this catalogue and that are older than the grace */
    bool dry_run;        /* with repair: say only */
    int64_t grace_ms;    /* age of an orphan before it is removed */
    finding_fn *finding; /* required */
    void (*progress)(void *context, uint64_t done, uint64_t total); /* may be NULL */
    void *context;
};

struct audit_report {
    uint64_t documents, versions, blobs, foreign_blobs, faults, repaired;
    uint64_t bytes_verified;
};

MUST_CHECK enum status audit_run(struct session *session, const struct audit_options *options,
                                 struct audit_report *ret_report, struct err *err);

#endif
