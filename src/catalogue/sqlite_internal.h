/* sqlite_internal.h - what the files of the SQLite backend share. Nobody outside them includes it, tests of this layer
 * excepted.
 *
 * Lock order, outermost first: the gate, pool_mutex, watch_mutex, sync_mutex, the mutex of the session locks. Each
 * connection is used by one thread at a time: the writer's by whoever is inside the gate, a reader's by the transaction
 * that took it out of the pool, the watcher's and the syncer's under their mutexes.
 */
#ifndef READYFS_CATALOGUE_SQLITE_INTERNAL_H
#define READYFS_CATALOGUE_SQLITE_INTERNAL_H

#include "catalogue/gate.h"
#include "catalogue/schema.h"
#include "catalogue/sqlite.h"
#include "catalogue/sqlite_query.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#define SQLITE_BUSY_MS          5000 /* a second net behind the gate: recovery, checkpoints, foreign programs */
#define SQLITE_POOL_CONNECTIONS 8    /* idle readers that are kept */
/* Pages in the log from which a commit copies it into the file (4 MiB). An emptied log is written anew from its
 * beginning, and a sync that does not make the file longer takes half the time. */
#define SQLITE_CHECKPOINT_FRAMES 1000
#define SQLITE_LOG_BYTES         (64 * 1024 * 1024) /* what an emptied log may keep of the disk */
#define SQLITE_OPEN_GATE_MS      60000              /* waiting for another process that creates, migrates, reopens */

/* ---- where the file lies: sqlite_place.c ---- */

struct place {
    char *path;          /* of the file, absolute, without symbolic links */
    struct batch *batch; /* for the writer's connection */
    bool immutable;      /* neither the file nor its folder can be written: read without log and locks */
    int sessions_fd;     /* PATH.d/sessions; -1 for a read-only catalogue */
    dev_t device;        /* of the file, since it was opened */
    ino_t inode;
};

/* Resolves the path, so that all who open one file meet at one gate. INVALID, NOT_FOUND (its folder), NAME_TOO_LONG. */
MUST_CHECK enum status place_init(struct place *place, const char *path, struct err *err);
void place_done(struct place *place);

/* Whether the file is there and fit to be a catalogue: NOT_FOUND, IS_DIRECTORY, INVALID, each with a message. */
MUST_CHECK enum status place_inspect(const struct place *place, struct err *err);

/* Makes and opens PATH.d/ with sessions/ and the gate. */
MUST_CHECK enum status place_make(struct place *place, struct gate **ret_gate, struct err *err);

/* Makes the file, empty and private. EXISTS when it is there. Inside the gate. */
MUST_CHECK enum status place_create_file(const struct place *place, struct err *err);
/* Takes back what place_create_file() and SQLite made. Inside the gate, with no connection open. */
void place_remove_file(const struct place *place);
MUST_CHECK enum status place_sync(const struct place *place, struct err *err);

/* Remembers which file the path leads to, and compares later. */
MUST_CHECK enum status place_remember(struct place *place, struct err *err);
MUST_CHECK enum status place_check(const struct place *place, struct err *err);

/* ---- connections: sqlite_connection.c ---- */

struct connection {
    struct connection *next; /* in the pool */
    sqlite3 *db;
    struct statement_cache statements;
    enum durability durability; /* what PRAGMA synchronous says now */
    int log_frames;             /* pages in the log after this connection's last commit */
    int copy_from;              /* with how many the log is copied into the file next */
};

enum connection_use { CONNECTION_READ, CONNECTION_WRITE, CONNECTION_LOOK /* at an unknown file: sets nothing */ };

MUST_CHECK enum status connection_open(const struct place *place, enum connection_use use,
                                       struct connection **ret_connection, struct err *err);
/* NULL is fine. With `leave_log` the last one does not copy the log into the file. Returns NULL. */
struct connection *connection_close(struct connection *connection, bool leave_log);

/* Runs SQL text without parameters or rows. */
MUST_CHECK enum status connection_run(struct connection *connection, const char *sql, struct err *err);

/* ---- the catalogue ---- */

struct session_lock;

struct sqlite_catalogue {
    struct catalogue port; /* first, so that the port's pointer is ours */
    const struct schema *schema;
    struct place place;
    struct gate *gate; /* NULL for a read-only catalogue */
    struct clock *clock;
    struct entropy *entropy;
    bool read_only;
    atomic_bool doubtful;      /* a commit or sync ended without an answer (P6); until reopen */
    struct connection *writer; /* used inside the gate; NULL until needed */

    pthread_mutex_t pool_mutex;
    struct connection *idle; /* protected by pool_mutex */
    unsigned idle_count;     /* protected by pool_mutex */
    unsigned open_txns;      /* protected by pool_mutex */

    pthread_mutex_t watch_mutex;
    struct connection *watcher; /* protected by watch_mutex; NULL until needed */
    uint32_t generation;        /* counts the reopenings; protected by watch_mutex */

    pthread_mutex_t sync_mutex;
    struct connection *syncer; /* protected by sync_mutex; NULL until needed */

    pthread_mutex_t lock_mutex;
    struct session_lock *locks; /* protected by lock_mutex */
};

struct catalogue_txn {
    struct sqlite_catalogue *catalogue;
    struct connection *connection;
    bool writing;
    bool nested; /* a savepoint is open */
    int64_t deadline_boot_ms;
};

/* sqlite_open() with another list of migrations. For tests of the migrating. */
MUST_CHECK enum status sqlite_open_schema(const struct sqlite_options *options, const struct schema *schema,
                                          bool *ret_created, struct catalogue **ret_catalogue, struct err *err);

/* sqlite_open.c: everything between a path and a sound catalogue. */
MUST_CHECK enum status opening_run(struct sqlite_catalogue *catalogue, const struct schema *schema, bool create,
                                   bool *ret_created, struct err *err);

/* sqlite_sync.c: closes all connections; no transaction is open. `leave_log` as in connection_close(). */
void sqlite_close_connections(struct sqlite_catalogue *catalogue, bool leave_log);

static inline struct sqlite_catalogue *sqlite_of(struct catalogue *catalogue)
{
    return (struct sqlite_catalogue *)catalogue;
}

/* Begins a statement of the transaction. Once SQLite has taken a writing transaction back by itself (a full disk, a
 * failed read), each further statement would be a transaction of its own; so they are refused. */
void txn_query(struct query *query, struct catalogue_txn *txn, const char *sql, struct err *err);

/* The same for a statement that changes rows: in a reading transaction that is a mistake of ours. */
void txn_change(struct query *query, struct catalogue_txn *txn, const char *sql, struct err *err);

/* P6: after a commit or a sync that ended without an answer, nothing is written or synced until the reopening. */
void sqlite_doubt(struct sqlite_catalogue *catalogue);
MUST_CHECK enum status sqlite_undoubted(struct sqlite_catalogue *catalogue, struct err *err);

/* Copies the log into the file when it has grown, after a commit and inside the gate. Its refusals are nobody's error:
 * the log keeps everything. A failed sync makes the catalogue doubtful. */
void sqlite_checkpoint(struct sqlite_catalogue *catalogue, struct connection *connection);

/* Locks that the writing transaction has made stay with its commit, or are removed with it. Inside the gate. */
void sqlite_locks_keep(struct sqlite_catalogue *catalogue);
void sqlite_locks_undo(struct sqlite_catalogue *catalogue);
/* Lets go of all of them; the files of this process's own sessions stay, for whoever fences them. */
void sqlite_locks_done(struct sqlite_catalogue *catalogue);
/* BUSY when any session's owner lives. Inside the gate. */
MUST_CHECK enum status sqlite_locks_all_dead(struct sqlite_catalogue *catalogue, struct err *err);

/* ---- the operations, as catalogue.h describes them, by file ---- */

MUST_CHECK enum status sqlite_read_begin(struct catalogue *catalogue, struct catalogue_txn **ret_txn, struct err *err);
MUST_CHECK enum status sqlite_write_begin(struct catalogue *catalogue, enum durability durability, int64_t deadline_ms,
                                          struct catalogue_txn **ret_txn, struct err *err);
MUST_CHECK enum status sqlite_savepoint(struct catalogue_txn *txn, struct err *err);
MUST_CHECK enum status sqlite_savepoint_release(struct catalogue_txn *txn, struct err *err);
MUST_CHECK enum status sqlite_savepoint_rollback(struct catalogue_txn *txn, struct err *err);
MUST_CHECK enum status sqlite_commit(struct catalogue_txn *txn, struct err *err);
void sqlite_abort(struct catalogue_txn *txn);
MUST_CHECK enum status sqlite_sync(struct catalogue *catalogue, struct err *err);
MUST_CHECK enum status sqlite_reopen(struct catalogue *catalogue, struct err *err);
MUST_CHECK enum status sqlite_data_version(struct catalogue *catalogue, uint64_t *ret_version, struct err *err);
MUST_CHECK enum status sqlite_check_place(struct catalogue *catalogue, struct err *err);
MUST_CHECK enum status sqlite_document_get(struct catalogue_txn *txn, int64_t id, struct document_row *ret_row,
                                           struct err *err);
MUST_CHECK enum status sqlite_document_insert(struct catalogue_txn *txn, const struct document_row *row,
                                              const char *target, int64_t *ret_id, struct err *err);
MUST_CHECK enum status sqlite_document_update(struct catalogue_txn *txn, const struct document_row *row,
                                              struct err *err);
MUST_CHECK enum status sqlite_document_delete(struct catalogue_txn *txn, int64_t id, struct err *err);
MUST_CHECK enum status sqlite_document_target(struct catalogue_txn *txn, int64_t id, char *ret_target, struct err *err);
MUST_CHECK enum status sqlite_entry_get(struct catalogue_txn *txn, int64_t dir, const struct name *name,
                                        struct entry_row *ret_row, struct err *err);
MUST_CHECK enum status sqlite_entry_insert(struct catalogue_txn *txn, const struct entry_row *row, int64_t *ret_cookie,
                                           struct err *err);
MUST_CHECK enum status sqlite_entry_update(struct catalogue_txn *txn, const struct entry_row *row, struct err *err);
MUST_CHECK enum status sqlite_entry_delete(struct catalogue_txn *txn, int64_t cookie, struct err *err);
MUST_CHECK enum status sqlite_entry_list(struct catalogue_txn *txn, int64_t dir, int64_t after,
                                         struct entry_row *ret_rows, struct document_row *ret_documents,
                                         size_t capacity, size_t *ret_count, struct err *err);
MUST_CHECK enum status sqlite_entry_of(struct catalogue_txn *txn, int64_t document, int64_t after,
                                       struct entry_row *ret_rows, size_t capacity, size_t *ret_count, struct err *err);
MUST_CHECK enum status sqlite_holder_add(struct catalogue_txn *txn, int64_t cookie, int64_t session, struct err *err);
MUST_CHECK enum status sqlite_holder_remove(struct catalogue_txn *txn, int64_t cookie, int64_t session,
                                            struct err *err);
MUST_CHECK enum status sqlite_holder_list(struct catalogue_txn *txn, int64_t cookie, int64_t *ret_sessions,
                                          size_t capacity, size_t *ret_count, struct err *err);
MUST_CHECK enum status sqlite_holder_of(struct catalogue_txn *txn, int64_t session, int64_t after, int64_t *ret_cookies,
                                        size_t capacity, size_t *ret_count, struct err *err);
MUST_CHECK enum status sqlite_entry_at(struct catalogue_txn *txn, int64_t cookie, struct entry_row *ret_row,
                                       struct err *err);
MUST_CHECK enum status sqlite_version_get(struct catalogue_txn *txn, int64_t id, bool with_digests,
                                          struct version_row *ret_row, struct err *err);
MUST_CHECK enum status sqlite_version_of_blob(struct catalogue_txn *txn, const char *blob, struct version_row *ret_row,
                                              struct err *err);
MUST_CHECK enum status sqlite_version_insert(struct catalogue_txn *txn, const struct version_row *row, int64_t *ret_id,
                                             struct err *err);
MUST_CHECK enum status sqlite_version_update(struct catalogue_txn *txn, const struct version_row *row,
                                             enum version_state expected, struct err *err);
MUST_CHECK enum status sqlite_version_delete(struct catalogue_txn *txn, int64_t id, struct err *err);
MUST_CHECK enum status sqlite_version_list(struct catalogue_txn *txn, const struct version_filter *filter,
                                           struct version_row *ret_rows, size_t capacity, size_t *ret_count,
                                           struct err *err);
MUST_CHECK enum status sqlite_count(struct catalogue_txn *txn, struct version_counts *ret_counts, struct err *err);
MUST_CHECK enum status sqlite_session_insert(struct catalogue_txn *txn, const struct session_row *row, int64_t *ret_id,
                                             struct err *err);
MUST_CHECK enum status sqlite_session_get(struct catalogue_txn *txn, int64_t id, struct session_row *ret_row,
                                          struct err *err);
MUST_CHECK enum status sqlite_session_update(struct catalogue_txn *txn, const struct session_row *row, struct err *err);
MUST_CHECK enum status sqlite_session_delete(struct catalogue_txn *txn, int64_t id, struct err *err);
MUST_CHECK enum status sqlite_session_list(struct catalogue_txn *txn, int64_t after, struct session_row *ret_rows,
                                           size_t capacity, size_t *ret_count, struct err *err);
MUST_CHECK enum status sqlite_lock_take(struct catalogue_txn *txn, int64_t session, struct err *err);
MUST_CHECK enum status sqlite_lock_probe(struct catalogue *catalogue, int64_t session, struct err *err);
void sqlite_lock_release(struct catalogue *catalogue, int64_t session);
void sqlite_lock_bury(struct catalogue_txn *txn, int64_t session);
MUST_CHECK enum status sqlite_seq_now(struct catalogue_txn *txn, int64_t *ret_seq, struct err *err);
MUST_CHECK enum status sqlite_seq_next(struct catalogue_txn *txn, int64_t *ret_seq, struct err *err);
MUST_CHECK enum status sqlite_change_add(struct catalogue_txn *txn, const struct change_row *row, struct err *err);
MUST_CHECK enum status sqlite_change_list(struct catalogue_txn *txn, int64_t seq, struct change_row *ret_rows,
                                          size_t capacity, size_t *ret_count, struct err *err);
MUST_CHECK enum status sqlite_change_prune(struct catalogue_txn *txn, int64_t up_to_seq, struct err *err);
MUST_CHECK enum status sqlite_meta_get(struct catalogue_txn *txn, const char *key, char *ret_value, size_t capacity,
                                       struct err *err);
MUST_CHECK enum status sqlite_meta_set(struct catalogue_txn *txn, const char *key, const char *value, struct err *err);
MUST_CHECK enum status sqlite_xattr_get(struct catalogue_txn *txn, int64_t document, const char *name, void *ret_value,
                                        size_t capacity, size_t *ret_len, struct err *err);
MUST_CHECK enum status sqlite_xattr_set(struct catalogue_txn *txn, int64_t document, const char *name,
                                        const void *value, size_t len, struct err *err);
MUST_CHECK enum status sqlite_xattr_remove(struct catalogue_txn *txn, int64_t document, const char *name,
                                           struct err *err);
MUST_CHECK enum status sqlite_xattr_list(struct catalogue_txn *txn, int64_t document, char *ret_names, size_t capacity,
                                         size_t *ret_len, struct err *err);
MUST_CHECK enum status sqlite_claim_check(struct catalogue_txn *txn, const char *object, struct err *err);
MUST_CHECK enum status sqlite_outcome_put(struct catalogue_txn *txn, const char *id, const char *outcome,
                                          int64_t utc_ns, struct err *err);
MUST_CHECK enum status sqlite_outcome_get(struct catalogue_txn *txn, const char *id, char *ret_outcome, size_t capacity,
                                          struct err *err);
MUST_CHECK enum status sqlite_integrity(struct catalogue *catalogue, void (*fn)(void *context, const char *finding),
                                        void *context, struct err *err);
void sqlite_close(struct catalogue *catalogue);

#endif
