/* blob.h - the port to the bytes: a store of immutable blobs with conditional creation.
 *
 * Every call has three outcomes (status_outcome()): done, refused, unknown. A store retries by itself what may be
 * repeated without harm (reads, staging of a block, all with its own deadline); it never repeats a conditional create
 * or a delete whose outcome is unknown: it returns STATUS_UNKNOWN and settle() decides (P9). All calls may be made from
 * any thread. Blob names are those of core/id.h with the volume's prefix, or the control blob's; they need no escaping.
 */
#ifndef READYFS_BLOB_BLOB_H
#define READYFS_BLOB_BLOB_H

#include "base/err.h"
#include "base/limits.h"
#include "core/id.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct blob_store;

/* How long a caller waits, and how it says that it no longer does. */
struct call {
    int64_t deadline_ms;          /* milliseconds without progress before TIMEOUT; 0: the store's own */
    const atomic_bool *cancelled; /* borrowed for the call; NULL, or true ends it soon with INTERRUPTED (UNKNOWN where a
                                     create or delete had been sent) */
};

/* What is told of a blob from its first byte on, so that a lost catalogue can be rebuilt. */
struct blob_about {
    const char *catalogue;    /* the catalogue's id */
    int64_t document;         /* 0 where none */
    int64_t version;          /* the version's row id */
    const char *token;        /* this content's token: who holds it wrote the blob */
    const char *name_hex;     /* the document's name at publish, its bytes in hex; NULL where unknown. Never logged. */
    const char *content_type; /* NULL: application/octet-stream */
    bool pending;             /* tag state=pending, where the store has tags */
};

/* What a blob is. */
struct blob_facts {
    uint64_t size_bytes;
    char etag[LIMIT_ETAG_BYTES];   /* with its quotes; compared byte by byte */
    char token[LIMIT_TOKEN_BYTES]; /* "" where the blob has none: not ours */
    char catalogue[LIMIT_TOKEN_BYTES];
    int64_t document, version; /* 0 where not told */
    bool has_md5, has_crc64;   /* what the store itself vouches for */
    uint8_t md5[16];
    uint64_t crc64;
    int64_t modified_utc_ns; /* 0 where not told */
};

struct blob_block {
    char id[BLOCK_ID_TEXT_SIZE];
    uint64_t offset; /* where it lies in the blob */
    uint64_t len;
};

/* The second net under a delete (P7): exactly one condition a request. */
enum blob_guard {
    GUARD_TAG_PENDING, /* only while the tag says pending; INVALID where the store has no tags: use the ETag then */
    GUARD_ETAG,        /* only this ETag */
    GUARD_NONE,        /* the caller has proved ownership otherwise (a store whose names only we can write) */
};

enum blob_tag {
    TAG_UNKNOWN, /* the store has no tags, or the blob has none of ours */
    TAG_PENDING,
    TAG_COMMITTED,
};

/* What a store can do; asked once after opening. */
struct blob_capabilities {
    bool tags;             /* index tags work, with the rights we have */
    bool stage_from;       /* stage_from copies on the server */
    int64_t late_after_ms; /* T_late: how long after it was sent a request may still be carried out (P8) */
    const char *kind;      /* "azure", "directory", "memory" */
};

struct blob_listing {
    const char *name; /* borrowed for the callback */
    uint64_t size_bytes;
    const char *etag;
    bool uncommitted;        /* only staged blocks, no content */
    struct blob_facts facts; /* token, catalogue, document, version where the listing tells them */
    enum blob_tag tag;
    int64_t modified_utc_ns;
};

/* Returns false to end the listing. */
typedef bool blob_list_fn(void *context, const struct blob_listing *item);

struct blob_ops {
    struct blob_capabilities (*capabilities)(struct blob_store *store);

    /* Creates `name` with the whole content in one exchange, if absent (P3). `crc64` is the content's; the store checks
     * it against what arrived (P4) and refuses with CORRUPT otherwise. DONE: ret_facts holds the new ETag and the size.
     * EXISTS: a blob is there (whose, the caller must look). UNKNOWN: it may be there now or later. */
    MUST_CHECK enum status (*put)(struct blob_store *store, const struct call *call, const char *name,
                                  const void *bytes, size_t len, uint64_t crc64, const struct blob_about *about,
                                  struct blob_facts *ret_facts, struct err *err);

    /* Stages one block of an upload to `name`, checked against `crc64`. Idempotent: the same id always brings the same
     * bytes, and the store repeats it by itself within the deadline. UNKNOWN when it may still arrive. */
    MUST_CHECK enum status (*stage)(struct blob_store *store, const struct call *call, const char *name,
                                    const struct blob_block *block, const void *bytes, uint64_t crc64, struct err *err);

    /* Stages a block as a copy of source[source_offset, +block->len) on the server, if the source still has
     * `source_etag`. UNSUPPORTED where it cannot: the caller sends the bytes instead. NULL where capabilities say no.
     */
    MUST_CHECK enum status (*stage_from)(struct blob_store *store, const struct call *call, const char *name,
                                         const struct blob_block *block, const char *source, const char *source_etag,
                                         uint64_t source_offset, uint64_t *ret_crc64, struct err *err);

    /* Makes the staged blocks the content of `name`, if absent (P3), in this order; they lie one behind the other, from
     * offset 0. None make an empty blob. EXISTS, UNKNOWN as in put. INVALID: a block of the list is not staged. A
     * refused commit leaves the staged blocks as they were; one that is done drops those that it did not name. */
    MUST_CHECK enum status (*commit)(struct blob_store *store, const struct call *call, const char *name,
                                     const struct blob_block *blocks, size_t count, const struct blob_about *about,
                                     struct blob_facts *ret_facts, struct err *err);

    /* Throws staged blocks of a name that was never committed away, as far as the store can. Idempotent. A store that
     * must commit an empty blob to do so gives it `about` (the token above all), so that a crash in between leaves
     * something that the sweeper knows as ours. EXISTS: a blob is there, and was left alone. */
    MUST_CHECK enum status (*unstage)(struct blob_store *store, const struct call *call, const char *name,
                                      const struct blob_about *about, struct err *err);

    /* NOT_FOUND when absent (uncommitted blocks alone are absent). Repeated by the store within the deadline. */
    MUST_CHECK enum status (*stat)(struct blob_store *store, const struct call *call, const char *name,
                                   struct blob_facts *ret_facts, struct err *err);

    /* Reads exactly [offset, offset+len) (len > 0, within the blob), if the blob has `etag`. Anything else than exactly
     * these bytes is an error: NOT_FOUND, CONDITION (another ETag), CORRUPT (wrong length or range). */
    MUST_CHECK enum status (*read)(struct blob_store *store, const struct call *call, const char *name,
                                   const char *etag, uint64_t offset, void *ret_bytes, size_t len, struct err *err);

    /* Deletes under a guard. NOT_FOUND: was gone already. CONDITION: the guard did not hold, the blob stays. LEASED:
     * lease, immutability or snapshots. UNKNOWN: may be gone now or later (harmless: names are never reused). */
    MUST_CHECK enum status (*remove)(struct blob_store *store, const struct call *call, const char *name,
                                     enum blob_guard guard, const char *etag, struct err *err);

    /* Sets the tags: state=committed and number=`number`. Idempotent, repeated by the store. UNSUPPORTED without tags.
     */
    MUST_CHECK enum status (*tag_committed)(struct blob_store *store, const struct call *call, const char *name,
                                            int64_t number, struct err *err);

    /* Reads the tag. */
    MUST_CHECK enum status (*tag_get)(struct blob_store *store, const struct call *call, const char *name,
                                      enum blob_tag *ret_tag, struct err *err);

    /* Calls fn for every blob whose name begins with `prefix`, in the store's order; with uncommitted ones too. For
     * audits alone (P13). */
    MUST_CHECK enum status (*list)(struct blob_store *store, const struct call *call, const char *prefix,
                                   blob_list_fn *fn, void *context, struct err *err);

    /* The control blob, a small text that is overwritten under its ETag. NOT_FOUND; a text that does not fit `capacity`
     * with its NUL is CORRUPT. */
    MUST_CHECK enum status (*control_read)(struct blob_store *store, const struct call *call, const char *name,
                                           char *ret_text, size_t capacity, char ret_etag[LIMIT_ETAG_BYTES],
                                           struct err *err);

    /* Creates it (etag NULL: if absent) or replaces the one with `etag`, durably. EXISTS or CONDITION when somebody was
     * faster; CONDITION too when there is none to replace. */
    MUST_CHECK enum status (*control_write)(struct blob_store *store, const struct call *call, const char *name,
                                            const char *text, const char *etag, char ret_etag[LIMIT_ETAG_BYTES],
                                            struct err *err);

    /* Frees the store. Nobody else uses it any more. */
    void (*close)(struct blob_store *store);
};

struct blob_store {
    const struct blob_ops *ops;
};

/* Frees a store and whatever it decorates; NULL is fine. Returns NULL. */
struct blob_store *blob_close(struct blob_store *store);

#endif
