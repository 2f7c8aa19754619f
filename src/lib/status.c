/* status.c - how a volume is: counts, sessions, and what somebody should look at. Reads the catalogue alone. */
#include "lib/volume.h"

#include "base/text.h"
#include "fs/recover.h"
#include "host/clock.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SESSION_BATCH 32
#define HOUR_NS       (3600LL * 1000 * 1000 * 1000)

struct look {
    struct readyfs_volume *volume;
    struct catalogue *catalogue;
    struct catalogue_txn *txn;
    const struct readyfs_status_calls *calls;
    struct readyfs_status *status;
    int64_t now_ns;
};

static void warn(const struct look *look, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void warn(const struct look *look, const char *format, ...)
{
    char text[512];
    va_list args;
    if (!look->calls || !look->calls->warning)
        return;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args); /* may be cut */
    va_end(args);
    look->calls->warning(look->calls->context, text);
}

static const char *kind_text(enum session_kind kind)
{
    switch (kind) {
    case SESSION_MOUNT: return "mount";
    case SESSION_MOUNT_RO: return "read-only mount";
    default: return "verb";
    }
}

/* Alive or not is what the kernel's lock says (P11), not what the row says. */
static const char *session_state(const struct look *look, const struct session_row *row)
{
    if (row->result[0])
        return "ended";
    if (row->fenced_utc_ns)
        return "fenced";
    if (look->catalogue->ops->lock_probe(look->catalogue, row->id, NULL) == STATUS_BUSY)
        return "alive";
    look->catalogue->ops->lock_release(look->catalogue, row->id);
    return "dead";
}

static void tell_session(const struct look *look, const struct session_row *row)
{
    struct readyfs_session session = {
        .id = row->id,
        .kind = kind_text(row->kind),
        .state = session_state(look, row),
        .started = row->started_utc_ns,
        .heartbeat = row->heartbeat_utc_ns,
        .pid = row->pid,
        .place = row->place,
        .result = row->result,
    };
    if (strcmp(session.state, "dead") == 0)
        warn(look, "session %" PRId64 " (%s) died without ending; the next sweep cleans up after it", row->id,
             row->place);
    if (look->calls && look->calls->session)
        look->calls->session(look->calls->context, &session);
}

static enum status read_sessions(const struct look *look, struct err *err)
{
    struct session_row rows[SESSION_BATCH];
    int64_t after = 0;
    for (;;) {
        size_t count = 0;
        enum status status = look->catalogue->ops->session_list(look->txn, after, rows, SESSION_BATCH, &count, err);
        if (status != STATUS_OK)
            return status;
        for (size_t i = 0; i < count; i++) {
            after = rows[i].id;
            bool passed = rows[i].kind == SESSION_VERB && rows[i].result[0]; /* of no interest any more */
            if (!passed && rows[i].id != session_id(look->volume->app->session))
                tell_session(look, &rows[i]);
        }
        if (count < SESSION_BATCH)
            return STATUS_OK;
    }
}

static enum status read_counts(struct look *look, struct err *err)
{
    struct version_counts counts;
    struct readyfs_status *to = look->status;
    enum status status = look->catalogue->ops->count(look->txn, &counts, err);
    if (status != STATUS_OK)
        return status;
    to->documents = counts.documents;
    to->directories = counts.directories;
    to->others = counts.others;
    to->ready_bytes = counts.ready_bytes;
    to->pending = counts.pending;
    to->ready = counts.ready;
    to->condemned = counts.condemned;
    to->tags_due = counts.tags_due;
    to->oldest_condemned = counts.oldest_condemned_utc_ns;
    return STATUS_OK;
}

/* Pooled names are Pending rows without a document to which nothing was sent. They may wait for ever: the oldest upload
 * is looked for among the others. */
static void count_pending(struct readyfs_status *to, const struct version_row *row)
{
    if (!row->document && !row->sent_utc_ns)
        to->pooled++;
    else if (!to->oldest_pending || row->created_utc_ns < to->oldest_pending)
        to->oldest_pending = row->created_utc_ns;
}

static enum status count_pooled(struct look *look, struct err *err)
{
    struct version_row rows[SESSION_BATCH];
    struct version_filter filter = {.state = VERSION_PENDING};
    for (;;) {
        size_t count = 0;
        enum status status = look->catalogue->ops->version_list(look->txn, &filter, rows, SESSION_BATCH, &count, err);
        if (status != STATUS_OK)
            return status;
        for (size_t i = 0; i < count; i++) {
            filter.after = rows[i].id;
            count_pending(look->status, &rows[i]);
        }
        if (count < SESSION_BATCH)
            return STATUS_OK;
    }
}

static enum status read_meta(struct look *look, struct err *err)
{
    char sweep[64];
    uint64_t when = 0;
    const struct catalogue_ops *rows = look->catalogue->ops;
    enum status status =
        rows->meta_get(look->txn, "catalogue", look->status->catalogue_id, sizeof look->status->catalogue_id, err);
    if (status == STATUS_OK)
        status = rows->meta_get(look->txn, "last_sweep", sweep, sizeof sweep, err);
    if (status == STATUS_OK && parse_uint64(sweep, 0, INT64_MAX, &when))
        look->status->last_sweep = (int64_t)when;
    return status;
}

static enum status read_rows(struct look *look, struct err *err)
{
    enum status status = look->catalogue->ops->read_begin(look->catalogue, &look->txn, err);
    if (status != STATUS_OK)
        return status;
    status = read_counts(look, err);
    if (status == STATUS_OK)
        status = count_pooled(look, err);
    if (status == STATUS_OK)
        status = read_meta(look, err);
    if (status == STATUS_OK)
        status = read_sessions(look, err);
    look->catalogue->ops->abort(look->txn);
    return status;
}

static void judge(const struct look *look)
{
    const struct readyfs_status *status = look->status;
    if (status->oldest_condemned && look->now_ns - status->oldest_condemned > 24 * HOUR_NS)
        warn(look, "something was given up more than a day ago and its blob is still there; readyfs sweep says why");
    if (status->tags_due && (!status->last_sweep || look->now_ns - status->last_sweep > 24 * HOUR_NS))
        warn(look,
             "%" PRId64 " tags still say pending and no sweep has run for a day; a lifecycle rule could take them",
             status->tags_due);
    if (status->kept_files)
        warn(look, "%" PRId64 " files could not be published; readyfs recover --list names them", status->kept_files);
}

static void count_kept(void *context, const struct recover_item *item)
{
    struct readyfs_status *status = context;
    status->kept_files++;
    status->kept_bytes += item->size_bytes;
}

int readyfs_status(struct readyfs_volume *volume, const struct readyfs_status_calls *calls,
                   struct readyfs_status *ret_status, struct readyfs_error *error)
{
    struct err err = {0};
    struct readyfs_status result = {0};
    struct look look = {.volume = volume,
                        .catalogue = volume->app->world.catalogue,
                        .calls = calls,
                        .status = &result,
                        .now_ns = clock_utc_ns(volume->app->world.clock)};
    memcpy(result.source, volume->source, sizeof result.source);
    memcpy(result.catalogue, volume->app->places.catalogue, sizeof result.catalogue);
    enum status status = read_rows(&look, &err);
    if (status == STATUS_OK)
        status = recover_list(volume->app->places.recovery, count_kept, &result, &err);
    if (status == STATUS_OK) {
        judge(&look);
        *ret_status = result;
    }
    return readyfs_result(status, &err, error);
}
