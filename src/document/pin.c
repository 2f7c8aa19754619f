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
        status = catalogue->ops->version_get(txn, pin->document.version, true, &pin->version, err);
        if (status == STATUS_NOT_FOUND)
            status = err_set(err, STATUS_CORRUPT, "the catalogue has lost the row of version %lld",
                             (long long)pin->document.version);
    }
    catalogue->ops->abort(txn);
    return status;
}

enum status pin_open(struct session *session, int64_t document, struct pin **ret_pin, struct err *err)
{
    struct pin *pin = calloc(1, sizeof *pin);
    if (!pin)
        return err_set(err, STATUS_NO_MEMORY, "open a document: out of memory");
    pin->session = session;
    atomic_init(&pin->holders, 1);
    session_register(session, &pin->registration); /* before the snapshot (P14) */
    enum status status = read_rows(pin, document, err);
    if (status != STATUS_OK) {
        pin_close(pin);
        return status;
    }
    pin->plan.block_bytes = pin->version.block_bytes ? pin->version.block_bytes : session->settings.block_bytes;
    *ret_pin = pin;
    return STATUS_OK;
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

enum status pin_published(struct pin *from, struct session *session, int64_t document, int64_t seq,
                          struct pin **ret_pin, struct err *err)
{
    (void)seq; /* registering knows the publish's number already: this session has committed it */
    (void)from;
    return pin_open(session, document, ret_pin, err);
}

/* ---- fetching ---- */

static enum status lost(const struct pin *pin, const char *what, struct err *err)
{
    int http = err ? err->http_status : 0;
    (void)err_set(err, STATUS_CORRUPT, "blob %s of document %lld, version %lld: %s", pin->version.blob,
                  (long long)pin->document.id, (long long)pin->version.id, what);
    if (err)
        err->http_status = http;
    return err_hint(err, "run readyfs fsck");
}

static void copy_etag(struct pin *pin, char ret_etag[LIMIT_ETAG_BYTES])
{
    pthread_mutex_lock(&pin->session->lock);
    memcpy(ret_etag, pin->version.etag, LIMIT_ETAG_BYTES);
    pthread_mutex_unlock(&pin->session->lock);
}

/* The blob has another ETag. With our token and size it is the same content, touched by a tool: note the ETag (P7). */
static enum status adopt_etag(struct pin *pin, const struct call *call, struct err *err)
{
    struct blob_facts facts;
    enum sighting sighting = settle_look(pin->session, call, pin->version.blob, pin->version.token, &facts, err);
    if (sighting == SIGHT_UNKNOWN)
        return err ? err->status : STATUS_IO;
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
        copy_etag(pin, etag);
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
    enum status status = fetch_block(ahead->pin, ahead->block, NULL, &err);
    cache_filled(session, ahead->block, status, &err);
    cache_release(session, ahead->block);
    pin_close(ahead->pin);
    free(ahead);
    session_background_end(session);
}

static void start_ahead(struct pin *pin, uint32_t index)
{
    struct session *session = pin->session;
    if (cache_has(session, pin->version.id, index))
        return;
    struct ahead *ahead = calloc(1, sizeof *ahead);
    if (!ahead)
        return; /* the reader will fetch it itself */
    bool fill = false;
    struct cache_block *block = cache_hold(session, pin->version.id, index, block_len(pin, index), &fill);
    if (!block || !fill) {
        if (block)
            cache_release(session, block);
        free(ahead);
        return;
    }
    *ahead = (struct ahead){pin_ref(pin), block};
    session_background_begin(session);
    if (workers_submit(session->world.workers, run_ahead, ahead))
        return;
    /* Nobody has time: let the next reader of the block try. */
    cache_filled(session, block, STATUS_BUSY, NULL);
    cache_release(session, block);
    pin_close(pin);
    free(ahead);
    session_background_end(session);
}

static void read_ahead(struct pin *pin, uint32_t index)
{
    uint32_t count = plan_count(&pin->plan, pin->version.size_bytes);
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

static enum status read_block(struct pin *pin, uint32_t index, uint64_t offset, char *ret_bytes, size_t len,
                              const atomic_bool *cancelled, struct err *err)
{
    struct session *session = pin->session;
    for (int attempt = 0;; attempt++) {
        bool fill = false;
        struct cache_block *block = cache_hold(session, pin->version.id, index, block_len(pin, index), &fill);
        if (!block)
            return err_set(err, STATUS_NO_MEMORY, "read a block: out of memory");
        enum status status = STATUS_OK;
        if (fill) {
            status = fetch_block(pin, block, cancelled, err);
            cache_filled(session, block, status, err);
        } else {
            status = cache_wait(session, block, err);
        }
        if (status == STATUS_OK)
            memcpy(ret_bytes, block->bytes + (offset - plan_offset(&pin->plan, index)), len);
        cache_release(session, block);
        if (status == STATUS_OK || fill || attempt)
            return status;
        /* Somebody else's fetch failed (it may have been cancelled): once, try our own. */
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
            read_ahead(pin, index);
        enum status status = whole ? read_block(pin, index, at, (char *)ret_bytes + done, part, cancelled, err)
                                   : fetch(pin, at, (char *)ret_bytes + done, part, cancelled, err);
        if (status != STATUS_OK)
            return status;
        done += part;
    }
    *ret_len = done;
    return STATUS_OK;
}
