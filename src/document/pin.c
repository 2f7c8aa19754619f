/* pin.c - a Ready version held open, and how it is read. */
#include "document/pin.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "core/plan.h"
#include "document/cache.h"
#include "document/session_internal.h"
#include "document/settle.h"

#include <string.h>

#define RUN_BLOCKS 262144  /* a run of this many bytes is read in whole blocks from here on */
#define RUN_AHEAD  1048576 /* and from here on ahead of the reader */
#define RUN_SLACK  1048576 /* the kernel sends a sequential reader's requests side by side, out of order */

struct pin {
    struct session *session;
    struct registration registration;
    atomic_uint holders;
    struct document_row document;
    struct version_row version; /* etag: protected by the session's lock; the rest never changes */
    struct plan plan;
    uint64_t run_from, run_to; /* the bytes read without a gap; protected by the session's lock */
};

static struct pin *pin_new(struct session *session, struct err *err)
{
    struct pin *pin = calloc(1, sizeof *pin);
    if (!pin) {
        (void)err_set(err, STATUS_NO_MEMORY, "open a document: out of memory");
        return NULL;
    }
    pin->session = session;
    atomic_init(&pin->holders, 1);
    return pin;
}

static enum status read_version(struct pin *pin, struct catalogue_txn *txn, int64_t version, struct err *err)
{
    const struct catalogue_ops *rows = pin->session->world.catalogue->ops;
    enum status status = rows->version_get(txn, version, true, &pin->version, err);
    uint32_t block_bytes = pin->version.block_bytes;
    pin->plan.block_bytes = block_bytes ? block_bytes : pin->session->settings.block_bytes;
    return status;
}

static enum status read_rows(struct pin *pin, int64_t document, struct err *err)
{
    struct catalogue *catalogue = pin->session->world.catalogue;
    struct catalogue_txn *txn = NULL;
    enum status status = catalogue->ops->read_begin(catalogue, &txn, err);
    if (status != STATUS_OK)
        return status;
    status = catalogue->ops->document_get(txn, document, &pin->document, err);
    if (status == STATUS_OK && !pin->document.version)
        status = STATUS_NO_DATA;
    if (status == STATUS_OK) {
        status = read_version(pin, txn, pin->document.version, err);
        if (status == STATUS_NOT_FOUND)
            status = err_set(err, STATUS_CORRUPT, "the catalogue has lost the row of version %lld",
                             (long long)pin->document.version);
    }
    catalogue->ops->abort(txn);
    return status;
}

enum status pin_open(struct session *session, int64_t document, struct pin **ret_pin, struct err *err)
{
    struct pin *pin = pin_new(session, err);
    if (!pin)
        return STATUS_NO_MEMORY;
    session_register(session, &pin->registration); /* before the snapshot (P14) */
    enum status status = read_rows(pin, document, err);
    if (status != STATUS_OK)
        pin_close(pin);
    else
        *ret_pin = pin;
    return status;
}

struct pin *pin_ref(struct pin *pin)
{
    atomic_fetch_add(&pin->holders, 1);
    return pin;
}

void pin_close(struct pin *pin)
{
    if (!pin || atomic_fetch_sub(&pin->holders, 1) > 1)
        return;
    session_release(pin->session, &pin->registration);
    version_row_done(&pin->version);
    free(pin);
}

const struct document_row *pin_document(const struct pin *pin)
{
    return &pin->document;
}

const struct version_row *pin_version(const struct pin *pin)
{
    return &pin->version;
}

void pin_etag(const struct pin *pin, char ret_etag[LIMIT_ETAG_BYTES])
{
    pthread_mutex_lock(&pin->session->lock);
    memcpy(ret_etag, pin->version.etag, LIMIT_ETAG_BYTES);
    pthread_mutex_unlock(&pin->session->lock);
}

static enum status read_published(struct pin *pin, struct err *err)
{
    struct catalogue *catalogue = pin->session->world.catalogue;
    struct catalogue_txn *txn = NULL;
    enum status status = catalogue->ops->read_begin(catalogue, &txn, err);
    if (status != STATUS_OK)
        return status;
    status = read_version(pin, txn, pin->document.version, err);
    catalogue->ops->abort(txn);
    return status == STATUS_NOT_FOUND ? err_set(err, STATUS_STALE, "the version was replaced and is gone") : status;
}

enum status pin_published(struct pin *from, struct session *session, const struct document_row *published, int64_t seq,
                          struct pin **ret_pin, struct err *err)
{
    struct pin *pin = pin_new(session, err);
    if (!pin)
        return STATUS_NO_MEMORY;
    pin->document = *published;
    /* As long as `from` is registered, with an older number, the horizon is below `seq`, which no blob needs that was
     * condemned later. Without it, only what is still Ready after registering can be relied upon. */
    session_register(session, &pin->registration);
    if (from)
        session_set_back(session, &pin->registration, &from->registration, seq);
    enum status status = read_published(pin, err);
    if (status == STATUS_OK && !from && pin->version.state != VERSION_READY)
        status = err_set(err, STATUS_STALE, "the version was replaced meanwhile");
    if (status != STATUS_OK)
        pin_close(pin);
    else
        *ret_pin = pin;
    return status;
}

/* ---- fetching ---- */

static enum status lost(const struct pin *pin, const char *what, struct err *err)
{
    struct err cause = {0};
    if (err)
        cause = *err;
    (void)err_set(err, STATUS_CORRUPT, "blob %s of document %lld, version %lld: %s", pin->version.blob,
                  (long long)pin->document.id, (long long)pin->version.id, what);
    (void)err_hint(err, "run readyfs fsck");
    if (err) { /* what the service said of it (S22) */
        err->http_status = cause.http_status;
        memcpy(err->service_code, cause.service_code, sizeof err->service_code);
        memcpy(err->request_id, cause.request_id, sizeof err->request_id);
    }
    return STATUS_CORRUPT;
}

/* The blob has another ETag. With our token and size it is the same content, touched by a tool: note the ETag (P7). */
static enum status adopt_etag(struct pin *pin, const struct call *call, struct err *err)
{
    struct blob_facts facts;
    struct err seen = {0};
    enum sighting sighting = settle_look(pin->session, call, pin->version.blob, pin->version.token, &facts, &seen);
    if (err)
        *err = seen;
    if (sighting == SIGHT_UNKNOWN)
        return seen.status == STATUS_OK ? STATUS_IO : seen.status;
    if (sighting == SIGHT_ABSENT)
        return lost(pin, "is not there", err);
    if (sighting == SIGHT_FOREIGN || facts.size_bytes != pin->version.size_bytes)
        return lost(pin, "was changed by somebody else", err);
    pthread_mutex_lock(&pin->session->lock);
    memcpy(pin->version.etag, facts.etag, LIMIT_ETAG_BYTES);
    pthread_mutex_unlock(&pin->session->lock);
    IGNORE(
        settle_etag(pin->session, pin->version.id, facts.etag, NULL)); /* the next reader notes it where this fails */
    return STATUS_OK;
}

static enum status fetch(struct pin *pin, uint64_t offset, void *ret_bytes, size_t len, const atomic_bool *cancelled,
                         struct err *err)
{
    struct blob_store *blobs = pin->session->world.blobs;
    struct call call = {.deadline_ms = pin->session->settings.deadline_ms, .cancelled = cancelled};
    char etag[LIMIT_ETAG_BYTES];
    for (int attempt = 0; attempt < 2; attempt++) {
        pin_etag(pin, etag);
        enum status status = blobs->ops->read(blobs, &call, pin->version.blob, etag, offset, ret_bytes, len, err);
        if (status == STATUS_NOT_FOUND)
            return lost(pin, "is not there", err);
        if (status != STATUS_CONDITION)
            return status;
        status = adopt_etag(pin, &call, err);
        if (status != STATUS_OK)
            return status;
    }
    return lost(pin, "keeps changing", err);
}

static size_t block_len(const struct pin *pin, uint32_t index)
{
    uint64_t offset = plan_offset(&pin->plan, index);
    uint64_t len = plan_length(&pin->plan, index);
    uint64_t left = pin->version.size_bytes - offset;
    return (size_t)(len < left ? len : left);
}

/* A whole block, verified against the digest that the writer recorded (P4). */
static enum status fetch_block(struct pin *pin, struct cache_block *block, const atomic_bool *cancelled,
                               struct err *err)
{
    enum status status = fetch(pin, plan_offset(&pin->plan, block->index), block->bytes, block->len, cancelled, err);
    if (status != STATUS_OK)
        return status;
    if (block->index < pin->version.digest_count &&
        crc64(0, block->bytes, block->len) != pin->version.digests[block->index])
        return lost(pin, "has other bytes than were written", err);
    return STATUS_OK;
}

/* ---- ahead of the reader ---- */

struct ahead {
    struct pin *pin;
    struct cache_block *block;
};

static void run_ahead(void *argument)
{
    struct ahead *ahead = argument;
    struct session *session = ahead->pin->session;
    struct err err = {0};
    if (cache_claim(session, ahead->block)) {
        enum status status = fetch_block(ahead->pin, ahead->block, NULL, &err);
        cache_filled(session, ahead->block, status, &err);
    }
    cache_release(session, ahead->block);
    pin_close(ahead->pin);
    free(ahead);
    session_background_end(session);
}

static void start_ahead(struct pin *pin, uint32_t index)
{
    struct session *session = pin->session;
    struct cache_block *block = cache_promise(session, pin->version.id, index, block_len(pin, index));
    if (!block)
        return;
    struct ahead *ahead = calloc(1, sizeof *ahead);
    if (!ahead) {
        cache_release(session, block); /* the reader will fetch it itself */
        return;
    }
    *ahead = (struct ahead){pin_ref(pin), block};
    session_background_begin(session);
    if (workers_submit(session->world.workers, run_ahead, ahead))
        return;
    cache_release(session, block); /* nobody has time: the reader will fetch it itself */
    pin_close(pin);
    free(ahead);
    session_background_end(session);
}

/* `at`: where the reader is, in block `index`. What lies behind it is left once no request can be on its way there. */
static void read_ahead(struct pin *pin, uint32_t index, uint64_t at)
{
    uint32_t count = plan_count(&pin->plan, pin->version.size_bytes);
    if (index && at - plan_offset(&pin->plan, index) >= RUN_SLACK)
        cache_spent(pin->session, pin->version.id, index - 1);
    for (uint32_t i = 1; i <= pin->session->settings.read_ahead_blocks && index + i < count; i++)
        start_ahead(pin, index + i);
}

/* ---- reading ---- */

/* Notes the request; how long the run is that it belongs to. */
static uint64_t note_run(struct pin *pin, uint64_t offset, size_t len)
{
    pthread_mutex_lock(&pin->session->lock);
    bool behind = offset + RUN_SLACK < pin->run_to;
    bool beyond = offset > pin->run_to + RUN_SLACK;
    if (behind || beyond || offset < pin->run_from)
        pin->run_from = pin->run_to = offset;
    if (offset + len > pin->run_to)
        pin->run_to = offset + len;
    uint64_t run = pin->run_to - pin->run_from;
    pthread_mutex_unlock(&pin->session->lock);
    return run;
}

/* What another reader's cancellation or lack of luck says nothing about. */
static bool of_the_filler(enum status status)
{
    return status == STATUS_INTERRUPTED || status == STATUS_NO_MEMORY;
}

static enum status read_block(struct pin *pin, uint32_t index, uint64_t offset, char *ret_bytes, size_t len,
                              const atomic_bool *cancelled, struct err *err)
{
    struct session *session = pin->session;
    for (;;) {
        bool fill = false;
        struct cache_block *block = cache_hold(session, pin->version.id, index, block_len(pin, index), &fill);
        if (!block)
            return err_set(err, STATUS_NO_MEMORY, "read a block: out of memory");
        struct err own = {0};
        enum status status = STATUS_OK;
        if (fill) {
            status = fetch_block(pin, block, cancelled, &own);
            cache_filled(session, block, status, &own);
        } else {
            status = cache_wait(session, block, cancelled, &own);
        }
        if (status == STATUS_OK)
            memcpy(ret_bytes, block->bytes + (offset - plan_offset(&pin->plan, index)), len);
        cache_release(session, block);
        bool mine = fill || (cancelled && atomic_load(cancelled));
        if (status == STATUS_OK || mine || !of_the_filler(status)) {
            if (status != STATUS_OK && err)
                *err = own;
            return status;
        }
    }
}

enum status pin_read(struct pin *pin, uint64_t offset, void *ret_bytes, size_t len, size_t *ret_len,
                     const atomic_bool *cancelled, struct err *err)
{
    uint64_t size = pin->version.size_bytes;
    *ret_len = 0;
    if (offset >= size || !len)
        return STATUS_OK;
    if (len > size - offset)
        len = (size_t)(size - offset);
    uint64_t run = note_run(pin, offset, len);
    bool small = size <= pin->plan.block_bytes;
    size_t done = 0;
    while (done < len) {
        uint64_t at = offset + done;
        uint32_t index = plan_index(&pin->plan, at);
        uint64_t end = plan_offset(&pin->plan, index) + plan_length(&pin->plan, index);
        size_t part = len - done < end - at ? len - done : (size_t)(end - at);
        bool whole = small || run >= RUN_BLOCKS || cache_has(pin->session, pin->version.id, index);
        if (run >= RUN_AHEAD)
            read_ahead(pin, index, at);
        enum status status = whole ? read_block(pin, index, at, (char *)ret_bytes + done, part, cancelled, err)
                                   : fetch(pin, at, (char *)ret_bytes + done, part, cancelled, err);
        if (status != STATUS_OK)
            return status;
        done += part;
    }
    *ret_len = done;
    return STATUS_OK;
}
