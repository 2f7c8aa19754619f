/* sweep.h - one bounded pass over what crashes, replacements and removals have left.
 *
 * It fences sessions whose kernel lock is free, condemns what they left Pending, deletes the blobs of Condemned
 * versions that P6, P7, P8 and P14 release, drops their rows, and flips tags that are due. It never lists the container
 * and never asks a tag index (P13). Several sessions may sweep at once.
 */
#ifndef READYFS_DOCUMENT_SWEEP_H
#define READYFS_DOCUMENT_SWEEP_H

#include "core/verdict.h"
#include "document/session.h"

#include <stdatomic.h>

struct sweep_note {
    int64_t version, document;
    const char *blob;
    enum version_state state;
    enum verdict verdict;  /* what was done, or would be in a dry run */
    const char *reason;    /* and why */
    const struct err *err; /* NULL where nothing failed */
};

typedef void sweep_note_fn(void *context, const struct sweep_note *note);

struct sweep_options {
    bool dry_run;
    unsigned versions_max;        /* of each kind that cost an exchange or a change in this pass; 0: no bound */
    bool patient;                 /* stop early when uploads are under way, unless that has gone on for 10 s */
    const atomic_bool *cancelled; /* borrowed; NULL, or true ends the pass soon */
    sweep_note_fn *note;          /* may be NULL */
    void *context;
};

struct sweep_report {
    unsigned sessions_fenced, condemned, deleted, dropped, flipped, waiting, reported, failed;
    bool more; /* a bound, patience or a store that does not answer ended the pass before the work did */
};

/* READ_ONLY for a session that may not sweep; IO while the catalogue is in doubt (P6). What single versions failed with
 * is told by note and counted; the pass goes on where that makes sense. The change log is pruned, too. */
MUST_CHECK enum status sweep_pass(struct session *session, const struct sweep_options *options,
                                  struct sweep_report *ret_report, struct err *err);

#endif
