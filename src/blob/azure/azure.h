/* azure.h - the inside of the Azure store, for its own sources: the struct, and one call with its repetitions.
 *
 * upload.c creates (put, stage, stage_from, commit, unstage), fetch.c looks (stat, read, list, tags, the control blob),
 * store.c opens, closes and removes. All of them build a wire_request and hand it to azure_perform().
 */
#ifndef READYFS_BLOB_AZURE_AZURE_H
#define READYFS_BLOB_AZURE_AZURE_H

#include "blob/azure/http.h"
#include "blob/azure/store.h"
#include "blob/azure/wire/request.h"
#include "blob/azure/wire/response.h"

struct azure {
    struct blob_store store;
    struct endpoint endpoint;
    char container[AZURE_CONTAINER_SIZE];
    struct credential credential;
    struct wire_place place; /* points into the three above */
    bool tags;
    int64_t deadline_ms, late_after_ms;
    struct backoff backoff;
    struct clock *clock;
    struct entropy *entropy;
    struct http *http; /* owned */
};

/* What may be done when an exchange fails. */
enum azure_kind {
    AZURE_READ,       /* changes nothing: repeated within the deadline */
    AZURE_REPEATABLE, /* doing it twice is doing it once: likewise; UNKNOWN if it fails after an exchange that may still
                         take effect */
    AZURE_ONCE,       /* a conditional create or a delete: repeated only if it cannot have been carried out (P9) */
};

struct azure_task {
    enum azure_kind kind;
    int expected; /* status of success */
    bool create;  /* under If-None-Match: * */
    struct wire_request *request;
    const void *body;           /* request->body_len bytes */
    struct http_response *http; /* prepared by the caller; holds the last answer afterwards */
};

/* Performs a task with its repetitions (S23). OK: `ret_response` holds the head of the expected answer. Otherwise the
 * report says why, with the attempts made. `call` may be NULL. */
MUST_CHECK enum status azure_perform(struct azure *azure, const struct call *call, const struct azure_task *task,
                                     struct wire_response *ret_response, struct err *err);

/* The same for a task whose answer has no body that matters. */
MUST_CHECK enum status azure_perform_plain(struct azure *azure, const struct call *call, struct azure_task task,
                                           struct wire_response *ret_response, struct err *err);

/* A missing container is no missing blob: NOT_FOUND for it becomes IO where NOT_FOUND would mean "the blob is gone". */
MUST_CHECK enum status azure_blob_absent(enum status status, const struct wire_response *response, struct err *err);

/* HTTP's seconds of the store's clock. */
int64_t azure_now_s(const struct azure *azure);

MUST_CHECK enum status azure_put(struct blob_store *store, const struct call *call, const char *name, const void *bytes,
                                 size_t len, uint64_t crc64, const struct blob_about *about,
                                 struct blob_facts *ret_facts, struct err *err);
MUST_CHECK enum status azure_stage(struct blob_store *store, const struct call *call, const char *name,
                                   const struct blob_block *block, const void *bytes, uint64_t crc64, struct err *err);
MUST_CHECK enum status azure_stage_from(struct blob_store *store, const struct call *call, const char *name,
                                        const struct blob_block *block, const char *source, const char *source_etag,
                                        uint64_t source_offset, uint64_t *ret_crc64, struct err *err);
MUST_CHECK enum status azure_commit(struct blob_store *store, const struct call *call, const char *name,
                                    const struct blob_block *blocks, size_t count, const struct blob_about *about,
                                    struct blob_facts *ret_facts, struct err *err);
MUST_CHECK enum status azure_unstage(struct blob_store *store, const struct call *call, const char *name,
                                     const struct blob_about *about, struct err *err);
MUST_CHECK enum status azure_control_write(struct blob_store *store, const struct call *call, const char *name,
                                           const char *text, const char *etag, char ret_etag[LIMIT_ETAG_BYTES],
                                           struct err *err);

MUST_CHECK enum status azure_stat(struct blob_store *store, const struct call *call, const char *name,
                                  struct blob_facts *ret_facts, struct err *err);
MUST_CHECK enum status azure_read(struct blob_store *store, const struct call *call, const char *name, const char *etag,
                                  uint64_t offset, void *ret_bytes, size_t len, struct err *err);
MUST_CHECK enum status azure_list(struct blob_store *store, const struct call *call, const char *prefix,
                                  blob_list_fn *fn, void *context, struct err *err);
MUST_CHECK enum status azure_control_read(struct blob_store *store, const struct call *call, const char *name,
                                          char *ret_text, size_t capacity, char ret_etag[LIMIT_ETAG_BYTES],
                                          struct err *err);

MUST_CHECK enum status azure_remove(struct blob_store *store, const struct call *call, const char *name,
                                    enum blob_guard guard, const char *etag, struct err *err);
MUST_CHECK enum status azure_tag_committed(struct blob_store *store, const struct call *call, const char *name,
                                           int64_t number, struct err *err);
MUST_CHECK enum status azure_tag_get(struct blob_store *store, const struct call *call, const char *name,
                                     enum blob_tag *ret_tag, struct err *err);

#endif
