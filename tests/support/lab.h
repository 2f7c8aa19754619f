/* lab.h - a world for tests of the protocol: a real SQLite catalogue, a store, a clock that the test moves.
 *
 * The store is wrapped by a decorator that can refuse, lose an answer (applied or not) or count, one call at a time.
 */
#ifndef READYFS_TESTS_LAB_H
#define READYFS_TESTS_LAB_H

#include "blob/blob.h"
#include "catalogue/catalogue.h"
#include "document/op.h"
#include "document/session.h"
#include "document/upload.h"
#include "document/world.h"
#include "host/clock.h"

#include <stdatomic.h>

struct virtual_clock {
    struct clock clock;
    _Atomic int64_t utc_ns, boot_ms;
};

/* The store's calls by name, for faults and counts. */
enum lab_call {
    CALL_PUT,
    CALL_STAGE,
    CALL_COMMIT,
    CALL_STAT,
    CALL_READ,
    CALL_REMOVE,
    CALL_TAG,
    CALL_CONTROL,
    CALL_OTHER,
    CALL_COUNT
};

enum lab_fault {
    FAULT_NONE,
    FAULT_REFUSE,       /* IO, nothing happened */
    FAULT_LOST,         /* UNKNOWN, nothing happened */
    FAULT_LOST_APPLIED, /* UNKNOWN, yet it was done */
};

struct lab_store {
    struct blob_store store;
    struct blob_store *below;
    atomic_uint counts[CALL_COUNT];
    enum lab_call fault_call;
    enum lab_fault fault;
    int fault_after;                                                   /* calls of that kind to let pass first */
    int fault_times;                                                   /* how often it strikes */
    void (*hook)(void *context, enum lab_call call, const char *name); /* before each call; NULL for none */
    void *hook_context;
};

struct lab {
    char folder[64]; /* fresh, removed by lab_done */
    char catalogue_path[96];
    struct virtual_clock clock;
    struct lab_store blobs; /* over the memory store, the directory store, or another */
    struct workers *workers;
    struct world world; /* of the first client */
};

/* kind: "memory" or "directory". Joins the volume. */
void lab_open(struct lab *lab, const char *kind);
/* Over another store, which it takes; the clock begins at the real time, since such a store may tell its own. */
void lab_open_over(struct lab *lab, struct blob_store *below);
void lab_done(struct lab *lab);

/* Another client of the same catalogue and store: a catalogue handle of its own. */
struct world lab_client(struct lab *lab);
void lab_client_close(struct world *world);

struct session *lab_session(const struct world *world, const struct settings *settings);
struct settings lab_settings(void); /* small blocks, no waiting */

/* Reserve (if needed) and publish `text` at dir/name. Returns the status of the publish; op->put results in *ret_op. */
enum status lab_put(struct session *session, int64_t dir, const char *name, const char *text, struct op *ret_op);
/* The content of dir/name through a pin, NUL-terminated, or NULL when it is not there. free() it. */
char *lab_get(struct session *session, int64_t dir, const char *name);
struct name lab_name(const char *text);

/* An upload_source.read over a NUL-terminated text. */
enum status lab_read_text(void *text, uint64_t offset, void *ret_bytes, size_t len, struct err *err);

/* A finished upload of `text` (static or long-lived) for a document. */
struct upload *lab_upload(struct session *session, int64_t document, const char *text);

/* Sweeps until nothing changes, with the horizon written. */
void lab_sweep(struct session *session);

/* How many blobs lie under the documents' prefix, uncommitted ones not counted. */
unsigned lab_blobs(struct lab *lab);

/* What a crash would have taken with it: memory that nobody may free through the protocol any more, kept so that leak
 * checkers know it. */
void lab_bury(struct session *session, struct upload *upload);

/* Fails the test on any fault that the audit finds. */
void lab_audit(struct session *session);

struct version_counts lab_counts(struct session *session);

#endif
