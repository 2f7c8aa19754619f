/* upload_internal.h - an upload's fields, shared by the files that hand blocks over (upload.c), send them
 * (upload_stage.c) and make the blob (upload_create.c), and what a put reads of a confirmed one. Private to document/.
 */
#ifndef READYFS_DOCUMENT_UPLOAD_INTERNAL_H
#define READYFS_DOCUMENT_UPLOAD_INTERNAL_H

#include "core/plan.h"
#include "document/session_internal.h"
#include "document/upload.h"

enum block_state {
    BLOCK_NONE,
    BLOCK_QUEUED, /* its task has not ended yet */
    BLOCK_STAGED,
    BLOCK_FAILED,
};

struct block {
    enum block_state state;
    bool unchanged;      /* equals the base's block at the same place */
    uint32_t generation; /* how often it was handed over: each has an id of its own (P2) */
    uint64_t len;        /* that was staged, or that is unchanged */
    uint64_t crc;
};

struct upload {
    struct session *session;
    struct upload_source source;
    struct intent *intent;
    struct plan plan;
    int64_t document;
    char name_hex[LIMIT_NAME_BYTES * 2 + 1];
    const char *content_type;
    struct pin *base; /* of the unchanged blocks; NULL for none */
    atomic_bool cancelled;

    /* protected by the session's lock */
    struct block *blocks;
    uint32_t block_capacity;
    unsigned running;         /* tasks in flight */
    bool staged_any;          /* something was sent to the name's staging area */
    bool sent;                /* anything was sent at all */
    bool clean;               /* every request was answered (P8) */
    bool copy_failed;         /* the server could not copy a block: the others are not tried, but sent */
    bool stuck;               /* the store has not moved for a whole deadline: the rest is not tried */
    int64_t progress_boot_ms; /* when a block was staged last, or the finishing began */
    struct err failure;       /* of the last block that failed */

    /* after finish; read by one thread at a time */
    uint64_t size, crc;
    uint32_t count;
    uint64_t *digests;
    struct blob_facts facts;
    int64_t confirmed_boot_ms;
    int64_t sent_utc_ns; /* protected by the session's lock until finish */
};

/* ---- blocks on their way (upload_stage.c) ---- */

/* Makes the table of blocks long enough. The lock is held. */
MUST_CHECK bool upload_have_block(struct upload *upload, uint32_t index);

/* Hands one block to the workers, or stages it here when they have no time; `copy`: from the base, on the server. */
MUST_CHECK enum status upload_start_block(struct upload *upload, uint32_t index, uint64_t len, bool copy,
                                          struct err *err);

void upload_wait_for_tasks(struct upload *upload);

struct blob_block upload_block_of(const struct upload *upload, uint32_t index, uint32_t generation, uint64_t len);

/* Around each request: whether the owner may still send, and what became of it. */
MUST_CHECK enum status upload_before_sending(struct upload *upload, struct err *err);
void upload_after_sending(struct upload *upload, enum status status);

/* ---- the blob (upload_create.c) ---- */

/* What makes the blob: one put, or the block list. */
struct creation {
    const void *bytes;               /* of a single put */
    const struct blob_block *blocks; /* NULL for a single put */
};

/* Sends it, if absent (P3), and settles what stays unknown by looking (P9). */
MUST_CHECK enum status upload_create(struct upload *upload, const struct creation *creation, struct err *err);

/* ---- for a put ---- */

/* Writes what the upload has made into its version's row: size, digests, ETag, cleanliness. The digests stay the
 * upload's. */
void upload_fill_row(const struct upload *upload, struct version_row *row);

/* Whether its blob was confirmed within confirm_max_age (P5). */
bool upload_is_fresh(const struct upload *upload);

/* Looks at the blob again if it is not fresh. */
MUST_CHECK enum status upload_confirm(struct upload *upload, struct err *err);

/* Ends an upload whose version the catalogue has condemned already. */
void upload_condemned(struct upload *upload);

/* Ends an upload whose put has an unknown outcome: nothing is assumed, the sweeper settles it. */
void upload_unsettled(struct upload *upload);

#endif
