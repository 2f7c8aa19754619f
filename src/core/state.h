/* state.h - the states of a version, and what may be done about one.
 *
 *              begin                 publish                    replace / remove
 *    (none) ----------> Pending ----------------> Ready ----------------------> Condemned ---------> Gone
 *                          |                                                        ^       blob deleted,
 *                          |  abort, or owner fenced                                |       late arrivals
 *                          +--------------------------------------------------------+       waited out
 *
 * A version is one immutable content of a document, in one blob whose name is never used again. Condemned is final, and
 * the only state in which a blob is deleted. "Gone" is the absence of the row. The moves, and who makes them:
 *
 *    none -> Pending        intent_refill() (P1: the row is durable before any byte goes to its name)
 *    Pending -> Ready       apply_put() (P4, P5: only ours, only Pending, only verified)
 *    Pending -> Condemned   upload_abandon(), fence_session(), apply_put() where the document is gone (P7, P11)
 *    Ready -> Condemned     apply_put() of the version that replaces it, apply_unlink() of the last name (P5)
 *    Condemned -> Gone      settle_drop(), after P6, P7, P8 and P14 have released it
 *
 * The numbered invariants P1 to P15 stand in docs/PROTOCOL.md; audit.c checks them. Pure: no I/O, clock, lock, log.
 */
#ifndef READYFS_CORE_STATE_H
#define READYFS_CORE_STATE_H

#include <stdbool.h>
#include <stdint.h>

enum version_state {
    VERSION_PENDING = 1,
    VERSION_READY = 2,
    VERSION_CONDEMNED = 3,
    VERSION_GONE = 4, /* no row */
};

/* "Pending", "Ready", "Condemned", "Gone". */
const char *version_state_name(enum version_state state);

/* Whether the diagram has this move. */
bool version_move_legal(enum version_state from, enum version_state to);

#endif
