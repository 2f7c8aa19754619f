/* session_internal.h - what the files of document/ share of a session: its fields, its lock, its commit function. */
#ifndef READYFS_DOCUMENT_SESSION_INTERNAL_H
#define READYFS_DOCUMENT_SESSION_INTERNAL_H

#include "blob/blob.h"
#include "document/session.h"
#include "host/clock.h"
#include "host/entropy.h"
#include "host/worker.h"

#include <pthread.h>

/* A blob name with its Pending row: pooled, or taken by an upload. In the working list from before its row is written
 * until its end is known (P11). */
struct intent {
    int64_t version; /* its row, 0 before the commit */
    char blob[LIMIT_BLOB_NAME_BYTES];
    char token[LIMIT_TOKEN_BYTES];
    uint8_t block_seed[ID_BYTES]; /* the random part of its block ids */
    struct intent *prev, *next;   /* the working list */
    struct intent *pool_next;
};

struct apply;

/* A member of a group: work inside one catalogue transaction. Returns OK, or a refusal after which its savepoint is
 * taken back. Called again, from the beginning, when a group has failed: it must not keep effects outside the
 * transaction. */
typedef enum status apply_fn(struct apply *apply, void *context, struct err *err);

struct member {
    apply_fn *fn;
    void *context;
    enum durability durability;
    bool done;
    bool alone;        /* judged anew: shares no group */
    unsigned attempts; /* groups of its that have failed as a whole */
    enum status status;
    struct err err;
    int64_t seq; /* the number of the commit; that known before where it changed nothing */
    struct member *next;
};

struct cache; /* blocks for readers: cache.c */

struct session {
    struct world world;
    enum session_kind kind;
    char place[512];
    struct settings settings;
    struct blob_capabilities capabilities;
    int64_t id;
    char catalogue_id[LIMIT_TOKEN_BYTES];

    pthread_mutex_t lock;   /* protects all that follows */
    pthread_cond_t changed; /* broadcast when any of it has changed in a way that somebody waits for */

    struct intent *working; /* the working list */
    struct intent *pool;
    unsigned pool_count;
    unsigned takers; /* threads that wait for an intent: the next durable group writes a row for each */
    bool uploads;    /* an intent was wanted once; before that the pool stays empty */

    struct registration *readers;
    int64_t known_seq;
    bool watches;     /* somebody follows the change log (view_changes) */
    int64_t seen_seq; /* up to here; the heartbeat writes it, and the log is pruned accordingly */

    struct member *queue, **queue_end;
    bool leading;         /* somebody commits for all */
    int64_t group_number; /* of the last group tried; written by the leader alone */

    bool fenced;
    bool closing;          /* no intents are added any more */
    bool doubtful;         /* an unknown COMMIT or a failed sync, and the log was not rewritten yet (P6) */
    unsigned busy;         /* uploads and publishes under way */
    unsigned background;   /* tasks that outlive their caller: read-ahead, compensating deletes */
    int64_t put_off_ms;    /* the boot time at which patience first ended a sweep, 0 for not at all */
    unsigned buffers_used; /* block buffers taken */
    struct cache *cache;   /* its contents are behind this lock too */
};

/* What a member may do: the transaction, and what all members of a group share. */
struct apply {
    struct session *session;
    struct catalogue *catalogue;
    struct catalogue_txn *txn;
    int64_t seq; /* taken by the first change, 0 before */
    int64_t seq_before;
    int64_t now_ns;
    bool claims; /* some transaction's claim stands somewhere: look closely (T7) */
    bool ended;  /* this session's row went in this very transaction */
};

/* The catalogue's verbs, for `ROWS(apply)->document_get(apply->txn, ...)`. */
#define ROWS(apply) ((apply)->catalogue->ops)

/* The one way to write: queues the member, commits for all that wait or waits for who does, settles an unknown COMMIT,
 * and returns the member's own outcome (txn.h). `ret_seq` may be NULL. */
MUST_CHECK enum status commit_run(struct session *session, apply_fn *fn, void *context, enum durability durability,
                                  int64_t *ret_seq, struct err *err);

/* Opens a catalogue in doubt anew (P6), waiting for this process's readers to end, up to the deadline. */
MUST_CHECK enum status commit_reopen(struct session *session, struct err *err);

/* FENCED once the session has learned of it; doubt about the catalogue does not matter here. */
MUST_CHECK enum status session_check_fenced(struct session *session, struct err *err);

/* P6: from an unknown COMMIT or a failed sync on, until the log was rewritten, nothing is published and nothing
 * deleted. */
void session_set_doubtful(struct session *session, bool doubtful);

/* The number of this commit, taken from the catalogue by its first change (P14). */
MUST_CHECK enum status apply_seq(struct apply *apply, int64_t *ret_seq, struct err *err);

/* ---- intents (intent.c) ---- */

/* Takes an intent whose row is durable (P1), filling the pool first where it is empty. */
MUST_CHECK enum status intent_take(struct session *session, struct intent **ret_intent, struct err *err);

/* Gives an intent back for which nothing was ever sent. */
void intent_return(struct session *session, struct intent *intent);

/* Its end is known, or it is given up: out of the working list, freed. */
void intent_forget(struct session *session, struct intent *intent);

/* The leader of a durable group adds rows for the pool. `*ret_added` are in the working list; they are adopted into the
 * pool or discarded once the outcome is known. */
MUST_CHECK enum status intent_refill(struct apply *apply, struct intent **ret_added, struct err *err);
void intent_adopt(struct session *session, struct intent *added);
void intent_discard(struct session *session, struct intent *added);

/* Drops the rows of the pool in the transaction that ends the session: nothing was ever sent for them, so there is no
 * blob to look for. */
MUST_CHECK enum status intent_drop_pool(struct apply *apply, struct err *err);

/* Whether the session's working list has this blob name. Takes the lock. */
bool intent_working(struct session *session, const char *blob);

/* ---- fencing (fence.c), inside a transaction ---- */

/* Marks the session fenced, condemns what it left Pending, lets go of the names it held (P11). */
MUST_CHECK enum status fence_session(struct apply *apply, struct session_row *row, const char *reason, struct err *err);

/* Fences every dead holder of a reserved entry. *ret_left: how many living ones remain, this session excepted. */
MUST_CHECK enum status fence_holders(struct apply *apply, int64_t cookie, unsigned *ret_left, struct err *err);

/* The session lets go of the names it holds: of one document, or of all (0). The last holder's leaving removes the
 * entry and the unpublished document. */
MUST_CHECK enum status fence_let_go(struct apply *apply, int64_t session, int64_t document, struct err *err);

/* ---- shared pieces of applying (apply.c) ---- */

/* -> Condemned with a reason, at this commit's number. `row` is updated. */
MUST_CHECK enum status apply_condemn(struct apply *apply, struct version_row *row, const char *reason, struct err *err);

/* Removes an entry and takes one link off its document; the document's row goes with the last link, its version is
 * condemned. ret_document: as it is afterwards. */
MUST_CHECK enum status apply_unlink(struct apply *apply, const struct entry_row *entry,
                                    struct document_row *ret_document, struct err *err);

/* The directory's membership has changed: mtime, ctime, members. */
MUST_CHECK enum status apply_touch_directory(struct apply *apply, int64_t dir, struct err *err);

/* A line of the change log. */
MUST_CHECK enum status apply_change(struct apply *apply, int64_t dir, const struct name *name, int64_t document,
                                    struct err *err);

/* T7: waits are the caller's; BUSY while a foreign claim stands on the object. */
MUST_CHECK enum status apply_claim(struct apply *apply, char kind, int64_t id, const struct name *name,
                                   struct err *err);

/* ---- waiting ---- */

/* Waits until something of the session has changed, the lock held; `briefly`: or for a moment, so that the caller can
 * look whether it was cancelled, of which nobody tells the session. */
void session_wait(struct session *session, bool briefly);

/* ---- block buffers ---- */
void session_buffer_take(struct session *session);
void session_buffer_give(struct session *session);

/* session_close waits for these. */
void session_background_begin(struct session *session);
void session_background_end(struct session *session);

/* The follower of the change log has used everything up to `seq`. */
void session_note_seen(struct session *session, int64_t seq);

void session_busy_begin(struct session *session);
void session_busy_end(struct session *session);

/* T_late in force: the setting, else the store's. */
int64_t session_late_after_ms(const struct session *session);
bool session_has_tags(const struct session *session);

/* Gives a registration an earlier number, which `held` has kept the horizon below ever since (P14). */
void session_set_back(struct session *session, struct registration *registration, const struct registration *held,
                      int64_t seq);

#endif
