/* catalogue.h - the port to the truth about what exists.
 *
 * A catalogue holds the rows of docs/CATALOGUE.md and changes them in transactions. It knows rows, not rules: what a
 * put, a rename or a sweep means stands once, in document/, and every backend gets it for nothing. A transaction sees
 * its own writes; a reading one sees one snapshot. Commit has three outcomes (P9).
 *
 * Threads: any thread may begin a transaction; a transaction belongs to the thread that began it. One writer at a time
 * in the whole machine: write_begin waits its fair turn at the gate, up to its deadline. Inside a write transaction
 * make no call that waits for anything else (a blob, the kernel).
 *
 * Rows that are not there are NOT_FOUND, without a message (it is an answer, not an error). All other refusals carry
 * one. What a table forbids (a version that goes back to an earlier state, a dropped one that was not Condemned, a
 * Condemned one without condemned_seq, a Ready one without number or document) is INVALID, at the latest at the commit;
 * a second net, no tool. After NO_SPACE, NO_MEMORY or IO the transaction may be taken back already; every further call
 * with it, commit included, is then IO. Times are nanoseconds since 1970 UTC. Ids are positive, never reused; 0 means
 * none.
 */
#ifndef READYFS_CATALOGUE_CATALOGUE_H
#define READYFS_CATALOGUE_CATALOGUE_H

#include "base/err.h"
#include "base/limits.h"
#include "core/name.h"
#include "core/state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CATALOGUE_SCHEMA 1
#define CATALOGUE_ROOT   1 /* the root directory's document id */

struct catalogue;
struct catalogue_txn;

enum durability {
    ORDERED, /* in order behind what was committed before; synced within a second or by the next durable commit */
    DURABLE, /* synced before commit returns, and visible to others only then */
};

/* ---- rows ---- */

struct document_row {
    int64_t id;
    uint32_t mode; /* type and permission bits, as in stat(2) */
    uint32_t uid, gid;
    uint32_t nlink;
    uint64_t rdev;
    int64_t atime_ns, mtime_ns, ctime_ns, btime_ns;
    int64_t version; /* the Ready version, 0 for none (a directory, or a file that was never published) */
    int64_t parent;  /* of a directory: the directory it is in (root: itself); else 0 */
    int64_t members; /* of a directory: the version of its membership, counted up by each change (T2) */
    /* read only, from the Ready version's row; 0 without one. The size of a symlink is its target's length. */
    uint64_t size_bytes;
    int64_t version_number;
};

struct entry_row {
    int64_t cookie; /* the readdir offset */
    int64_t dir;
    struct name name;
    int64_t document;
    bool reserved; /* taken by an unpublished O_CREAT: not listed (S4, S12) */
};

struct version_row {
    int64_t id;
    int64_t document; /* 0 for an intent of the pool */
    int64_t number;   /* counts up per document, given at publish; 0 before */
    int64_t session;  /* the owner */
    enum version_state state;
    bool published; /* was Ready once: readers may have it open (P14) */
    bool clean;     /* every request that carried it was answered (P8) */
    bool tag_due;   /* the tag flip is still to be done */
    char blob[LIMIT_BLOB_NAME_BYTES];
    char token[LIMIT_TOKEN_BYTES];
    char etag[LIMIT_ETAG_BYTES];
    uint64_t size_bytes;
    uint64_t crc64;        /* of the whole */
    uint32_t block_bytes;  /* the plan's base size */
    int64_t condemned_seq; /* the sequence number of the commit that condemned it; 0 before */
    int64_t append_of;     /* the version that this one only appends to, 0 for none */
    int64_t sent_utc_ns;   /* when its owner last sent, or was fenced; 0 for never */
    int64_t created_utc_ns;
    char reason[96];   /* why it was condemned, for people */
    uint64_t *digests; /* CRC-64 of each block, owned by whoever holds the row; NULL when not read */
    uint32_t digest_count;
};

/* Frees the digests. */
void version_row_done(struct version_row *row);

enum session_kind { SESSION_MOUNT = 1, SESSION_MOUNT_RO = 2, SESSION_VERB = 3 };

struct session_row {
    int64_t id;
    enum session_kind kind;
    int64_t started_utc_ns, heartbeat_utc_ns;
    int64_t horizon;       /* P14 */
    int64_t seen_seq;      /* of the change log */
    int64_t fenced_utc_ns; /* 0 while alive */
    int64_t pid;           /* for people; decides nothing */
    int64_t group_number;  /* the last settled or committed group of this session */
    bool group_failed;
    char place[512];  /* mount point or verb, for people */
    char result[160]; /* how it ended: "" while it runs */
};

struct change_row {
    int64_t seq;
    int64_t dir;      /* 0: only the document changed */
    struct name name; /* empty when dir is 0 */
    int64_t document;
};

struct version_counts {
    int64_t pending, ready, condemned, tags_due;
    int64_t oldest_pending_utc_ns, oldest_condemned_utc_ns; /* 0 for none */
    int64_t documents, directories, others;
    uint64_t ready_bytes;
};

/* Which versions to walk; fields at 0 do not restrict. In the order of id, beginning after `after`. */
struct version_filter {
    enum version_state state;
    int64_t session;
    bool tag_due;
    bool with_digests;
    int64_t after;
};

struct catalogue_ops {
    /* -- transactions -- */

    /* A snapshot for reading. Never waits for writers. */
    MUST_CHECK enum status (*read_begin)(struct catalogue *catalogue, struct catalogue_txn **ret_txn, struct err *err);

    /* The writer's turn. BUSY after `deadline_ms` at the gate; READ_ONLY for a catalogue opened so; NO_SPACE; IO. */
    MUST_CHECK enum status (*write_begin)(struct catalogue *catalogue, enum durability durability, int64_t deadline_ms,
                                          struct catalogue_txn **ret_txn, struct err *err);

    /* A nested part that can be taken back alone; one level. */
    MUST_CHECK enum status (*savepoint)(struct catalogue_txn *txn, struct err *err);
    MUST_CHECK enum status (*savepoint_release)(struct catalogue_txn *txn, struct err *err);
    MUST_CHECK enum status (*savepoint_rollback)(struct catalogue_txn *txn, struct err *err);

    /* Ends the transaction and frees it, whatever the outcome. OK; a refusal: nothing was changed (NO_SPACE, BUSY);
     * UNKNOWN: it may be visible and durable now, later, or never. */
    MUST_CHECK enum status (*commit)(struct catalogue_txn *txn, struct err *err);

    /* Takes everything back and frees it. Also ends a reading transaction. NULL is fine. */
    void (*abort)(struct catalogue_txn *txn);

    /* Everything committed so far is synced when this returns OK. After a failure nothing counts as synced (P6). */
    MUST_CHECK enum status (*sync)(struct catalogue *catalogue, struct err *err);

    /* After a commit or sync with an unknown outcome: closes every connection, opens anew, rewrites the log (P6). No
     * transaction may be open in this process. OK: what is visible now is durable. */
    MUST_CHECK enum status (*reopen)(struct catalogue *catalogue, struct err *err);

    /* A number that moves whenever another connection, of this process or another, has committed, and with reopen. A
     * few microseconds. Any thread. */
    MUST_CHECK enum status (*data_version)(struct catalogue *catalogue, uint64_t *ret_version, struct err *err);

    /* IO with one clear line once the file under the catalogue was unlinked or replaced. Cheap enough for each
     * heartbeat. */
    MUST_CHECK enum status (*check_place)(struct catalogue *catalogue, struct err *err);

    /* -- documents -- */
    MUST_CHECK enum status (*document_get)(struct catalogue_txn *txn, int64_t id, struct document_row *ret_row,
                                           struct err *err);
    MUST_CHECK enum status (*document_insert)(struct catalogue_txn *txn, const struct document_row *row,
                                              const char *target, int64_t *ret_id, struct err *err);
    MUST_CHECK enum status (*document_update)(struct catalogue_txn *txn, const struct document_row *row,
                                              struct err *err);
    MUST_CHECK enum status (*document_delete)(struct catalogue_txn *txn, int64_t id,
                                              struct err *err); /* and its xattrs */
    /* A symlink's target; ret_target has LIMIT_TARGET_BYTES + 1 bytes. */
    MUST_CHECK enum status (*document_target)(struct catalogue_txn *txn, int64_t id, char *ret_target, struct err *err);

    /* -- entries -- */
    MUST_CHECK enum status (*entry_get)(struct catalogue_txn *txn, int64_t dir, const struct name *name,
                                        struct entry_row *ret_row, struct err *err);
    MUST_CHECK enum status (*entry_insert)(struct catalogue_txn *txn, const struct entry_row *row, int64_t *ret_cookie,
                                           struct err *err);
    /* Dir, name, document and reserved of the entry with row->cookie. */
    MUST_CHECK enum status (*entry_update)(struct catalogue_txn *txn, const struct entry_row *row, struct err *err);
    MUST_CHECK enum status (*entry_delete)(struct catalogue_txn *txn, int64_t cookie,
                                           struct err *err); /* and its holders */
    /* The entries of `dir` with a cookie greater than `after`, in that order, at most `capacity`; reserved ones too. */
    MUST_CHECK enum status (*entry_list)(struct catalogue_txn *txn, int64_t dir, int64_t after,
                                         struct entry_row *ret_rows,
                                         struct document_row *ret_documents /* may be NULL */, size_t capacity,
                                         size_t *ret_count, struct err *err);
    /* The entries that lead to a document, in the order of cookie, beginning after `after`. */
    MUST_CHECK enum status (*entry_of)(struct catalogue_txn *txn, int64_t document, int64_t after,
                                       struct entry_row *ret_rows, size_t capacity, size_t *ret_count, struct err *err);

    /* -- holders of reserved entries -- */
    MUST_CHECK enum status (*holder_add)(struct catalogue_txn *txn, int64_t cookie, int64_t session,
                                         struct err *err); /* idempotent */
    MUST_CHECK enum status (*holder_remove)(struct catalogue_txn *txn, int64_t cookie, int64_t session,
                                            struct err *err);
    MUST_CHECK enum status (*holder_list)(struct catalogue_txn *txn, int64_t cookie, int64_t *ret_sessions,
                                          size_t capacity, size_t *ret_count, struct err *err);
    /* The reserved entries that a session holds, after a cookie. */
    MUST_CHECK enum status (*holder_of)(struct catalogue_txn *txn, int64_t session, int64_t after, int64_t *ret_cookies,
                                        size_t capacity, size_t *ret_count, struct err *err);
    MUST_CHECK enum status (*entry_at)(struct catalogue_txn *txn, int64_t cookie, struct entry_row *ret_row,
                                       struct err *err);

    /* -- versions -- */
    MUST_CHECK enum status (*version_get)(struct catalogue_txn *txn, int64_t id, bool with_digests,
                                          struct version_row *ret_row, struct err *err);
    MUST_CHECK enum status (*version_of_blob)(struct catalogue_txn *txn, const char *blob, struct version_row *ret_row,
                                              struct err *err);
    MUST_CHECK enum status (*version_insert)(struct catalogue_txn *txn, const struct version_row *row, int64_t *ret_id,
                                             struct err *err);
    /* Writes every column but id, and but blob and token, which never change (P2); the digests only where row->digests
     * is not NULL. `expected` guards the state: CONDITION when the row has another by now. */
    MUST_CHECK enum status (*version_update)(struct catalogue_txn *txn, const struct version_row *row,
                                             enum version_state expected, struct err *err);
    MUST_CHECK enum status (*version_delete)(struct catalogue_txn *txn, int64_t id, struct err *err);
    MUST_CHECK enum status (*version_list)(struct catalogue_txn *txn, const struct version_filter *filter,
                                           struct version_row *ret_rows, size_t capacity, size_t *ret_count,
                                           struct err *err);
    MUST_CHECK enum status (*count)(struct catalogue_txn *txn, struct version_counts *ret_counts, struct err *err);

    /* -- sessions -- */
    MUST_CHECK enum status (*session_insert)(struct catalogue_txn *txn, const struct session_row *row, int64_t *ret_id,
                                             struct err *err);
    MUST_CHECK enum status (*session_get)(struct catalogue_txn *txn, int64_t id, struct session_row *ret_row,
                                          struct err *err);
    MUST_CHECK enum status (*session_update)(struct catalogue_txn *txn, const struct session_row *row, struct err *err);
    MUST_CHECK enum status (*session_delete)(struct catalogue_txn *txn, int64_t id, struct err *err);
    MUST_CHECK enum status (*session_list)(struct catalogue_txn *txn, int64_t after, struct session_row *ret_rows,
                                           size_t capacity, size_t *ret_count, struct err *err);

    /* The proof of life of a session. lock_take creates and locks it for the life of this process (call it inside the
     * write transaction that inserts the row); lock_probe tells whether the owner is gone and, if so, holds the lock
     * until lock_bury (inside a write transaction, after the row is fenced or absent) or lock_release. BUSY: the owner
     * lives, or another thread is just burying it. A lock made in a transaction that comes to nothing goes with it. */
    MUST_CHECK enum status (*lock_take)(struct catalogue_txn *txn, int64_t session, struct err *err);
    MUST_CHECK enum status (*lock_probe)(struct catalogue *catalogue, int64_t session, struct err *err);
    void (*lock_release)(struct catalogue *catalogue, int64_t session);
    void (*lock_bury)(struct catalogue_txn *txn, int64_t session);

    /* -- sequence, change log, meta -- */
    MUST_CHECK enum status (*seq_now)(struct catalogue_txn *txn, int64_t *ret_seq, struct err *err);
    MUST_CHECK enum status (*seq_next)(struct catalogue_txn *txn, int64_t *ret_seq,
                                       struct err *err); /* in a write transaction */
    MUST_CHECK enum status (*change_add)(struct catalogue_txn *txn, const struct change_row *row, struct err *err);
    /* After `seq`, in order, whole commits only: go on after the last row's seq until there are none. RANGE when the
     * log was pruned beyond `seq`, when `seq` has not come yet (a restored copy), and when the next commit alone has
     * more changes than `capacity`: forget everything. */
    MUST_CHECK enum status (*change_list)(struct catalogue_txn *txn, int64_t seq, struct change_row *ret_rows,
                                          size_t capacity, size_t *ret_count, struct err *err);
    MUST_CHECK enum status (*change_prune)(struct catalogue_txn *txn, int64_t up_to_seq, struct err *err);
    /* "" (and OK) where the key is not set; RANGE where it does not fit. Keys: catalogue, container, incarnation, mark,
     * last_sweep ... */
    MUST_CHECK enum status (*meta_get)(struct catalogue_txn *txn, const char *key, char *ret_value, size_t capacity,
                                       struct err *err);
    MUST_CHECK enum status (*meta_set)(struct catalogue_txn *txn, const char *key, const char *value, struct err *err);

    /* -- extended attributes -- */
    MUST_CHECK enum status (*xattr_get)(struct catalogue_txn *txn, int64_t document, const char *name, void *ret_value,
                                        size_t capacity, size_t *ret_len,
                                        struct err *err); /* capacity 0: the length alone */
    MUST_CHECK enum status (*xattr_set)(struct catalogue_txn *txn, int64_t document, const char *name,
                                        const void *value, size_t len, struct err *err);
    MUST_CHECK enum status (*xattr_remove)(struct catalogue_txn *txn, int64_t document, const char *name,
                                           struct err *err);
    /* Names with a NUL behind each. */
    MUST_CHECK enum status (*xattr_list)(struct catalogue_txn *txn, int64_t document, char *ret_names, size_t capacity,
                                         size_t *ret_len, struct err *err);

    /* -- transactions over many documents (T4, T9); the tables are empty until those are built -- */

    /* BUSY when a foreign claim stands on the object ("d42" a document, "e7/name" an edge, "m7" a membership);
     * "*": on any object at all, a cheap question before the others. */
    MUST_CHECK enum status (*claim_check)(struct catalogue_txn *txn, const char *object, struct err *err);
    MUST_CHECK enum status (*outcome_put)(struct catalogue_txn *txn, const char *id, const char *outcome,
                                          int64_t utc_ns, struct err *err);
    MUST_CHECK enum status (*outcome_get)(struct catalogue_txn *txn, const char *id, char *ret_outcome, size_t capacity,
                                          struct err *err);

    /* Read-only: the backend's own integrity check; calls fn for each finding. */
    MUST_CHECK enum status (*integrity)(struct catalogue *catalogue, void (*fn)(void *context, const char *finding),
                                        void *context, struct err *err);

    /* No transaction is open. Releases this process's session locks. Frees. */
    void (*close)(struct catalogue *catalogue);
};

struct catalogue {
    const struct catalogue_ops *ops;
};

/* Frees; NULL is fine. Returns NULL. */
struct catalogue *catalogue_close(struct catalogue *catalogue);

#endif
