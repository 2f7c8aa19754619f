/* audit.c - every invariant checked, rows against blobs. The container is listed first and the rows are looked up
 * afterwards (P13): what a running mount makes or removes in between is looked at twice before it is called a fault. */
#include "document/audit_internal.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "core/plan.h"
#include "document/settle.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define BATCH 64

const char *finding_name(enum finding_kind kind)
{
    switch (kind) {
    case FINDING_MISSING_BLOB: return "missing_blob";
    case FINDING_WRONG_SIZE: return "wrong_size";
    case FINDING_WRONG_ETAG: return "wrong_etag";
    case FINDING_WRONG_DATA: return "wrong_data";
    case FINDING_FOREIGN_BLOB: return "foreign_blob";
    case FINDING_WRONG_TAG: return "wrong_tag";
    case FINDING_RESTORED: return "restored";
    case FINDING_ORPHAN: return "orphan";
    case FINDING_LEFTOVER: return "leftover";
    case FINDING_ROWS: return "rows";
    case FINDING_DATABASE: return "database";
    case FINDING_UNREADABLE: return "unreadable";
    }
    return "unknown";
}

void audit_tell(struct audit *audit, struct finding *finding, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args); /* a long line is cut */
    va_end(args);
    finding->text = text;
    if (!finding->blob)
        finding->blob = "";
    if (finding->repaired)
        audit->report.repaired++;
    else if (finding->fault)
        audit->report.faults++;
    audit->options->finding(audit->options->context, finding);
}

/* ---- blobs ---- */

static void free_blobs(struct audit *audit)
{
    struct audit_blob *blob, *next;
    HASH_ITER (hh, audit->blobs, blob, next) {
        HASH_DEL(audit->blobs, blob);
        free(blob);
    }
}

static bool take_blob(void *context, const struct blob_listing *item)
{
    struct audit *audit = context;
    struct audit_blob *blob = calloc(1, sizeof *blob);
    if (!blob) {
        audit->out_of_memory = true;
        return false;
    }
    (void)snprintf(blob->name, sizeof blob->name, "%s", item->name); /* longer names are not ours */
    (void)snprintf(blob->etag, sizeof blob->etag, "%s", item->etag);
    blob->size_bytes = item->size_bytes;
    blob->uncommitted = item->uncommitted;
    blob->facts = item->facts;
    blob->tag = item->tag;
    blob->modified_utc_ns = item->modified_utc_ns;
    HASH_ADD_STR(audit->blobs, name, blob);
    audit->report.blobs++;
    return true;
}

static enum status list_blobs(struct audit *audit, struct err *err)
{
    struct session *session = audit->session;
    struct blob_store *blobs = session->world.blobs;
    char prefix[LIMIT_BLOB_NAME_BYTES];
    (void)snprintf(prefix, sizeof prefix, "%sd/", session->settings.prefix); /* prefixes are short */
    struct call call = {.deadline_ms = session->settings.deadline_ms};
    enum status status = blobs->ops->list(blobs, &call, prefix, take_blob, audit, err);
    if (audit->out_of_memory)
        return err_set(err, STATUS_NO_MEMORY, "list the container: out of memory");
    return status;
}

static struct audit_blob *find_blob(struct audit *audit, const char *name)
{
    struct audit_blob *blob = NULL;
    HASH_FIND_STR(audit->blobs, name, blob);
    return blob;
}

/* ---- rows ---- */

static enum status read_version(struct audit *audit, int64_t id, struct version_row *ret_row)
{
    struct catalogue *catalogue = audit->session->world.catalogue;
    struct catalogue_txn *txn = NULL;
    enum status status = catalogue->ops->read_begin(catalogue, &txn, NULL);
    if (status != STATUS_OK)
        return status;
    status = catalogue->ops->version_get(txn, id, false, ret_row, NULL);
    catalogue->ops->abort(txn);
    return status;
}

static bool still(struct audit *audit, const struct version_row *row)
{
    struct version_row now;
    return read_version(audit, row->id, &now) == STATUS_OK && now.state == row->state && now.tag_due == row->tag_due;
}

static struct finding about(const struct version_row *row, enum finding_kind kind, const char *invariant, bool fault)
{
    return (struct finding){.kind = kind,
                            .invariant = invariant,
                            .fault = fault,
                            .document = row->document,
                            .version = row->id,
                            .blob = row->blob};
}

/* What the store says of a Ready version's blob, from the listing or, where that is silent, from a look. */
static enum status observe(struct audit *audit, const struct version_row *row, struct blob_facts *ret_facts,
                           struct err *err)
{
    struct audit_blob *listed = find_blob(audit, row->blob);
    if (listed && !listed->uncommitted && listed->facts.token[0]) {
        *ret_facts = listed->facts;
        ret_facts->size_bytes = listed->size_bytes;
        (void)snprintf(ret_facts->etag, sizeof ret_facts->etag, "%s", listed->etag); /* same size */
        return STATUS_OK;
    }
    struct blob_store *blobs = audit->session->world.blobs;
    struct call call = {.deadline_ms = audit->session->settings.deadline_ms};
    return blobs->ops->stat(blobs, &call, row->blob, ret_facts, err);
}

static void verify_bytes(struct audit *audit, const struct version_row *row)
{
    struct session *session = audit->session;
    struct plan plan = {.block_bytes = row->block_bytes};
    struct blob_store *blobs = session->world.blobs;
    struct call call = {.deadline_ms = session->settings.deadline_ms};
    for (uint32_t i = 0; i < row->digest_count; i++) {
        uint64_t offset = plan_offset(&plan, i);
        uint64_t len = plan_length(&plan, i);
        if (len > row->size_bytes - offset)
            len = row->size_bytes - offset;
        AUTO_FREE char *bytes = malloc(len ? len : 1);
        struct err err = {0};
        enum status status = bytes ? blobs->ops->read(blobs, &call, row->blob, row->etag, offset, bytes, len, &err)
                                   : err_set(&err, STATUS_NO_MEMORY, "out of memory");
        if (!still(audit, row))
            return;
        struct finding finding = about(row, FINDING_WRONG_DATA, "P4", true);
        if (status != STATUS_OK) {
            finding.kind = FINDING_UNREADABLE;
            audit_tell(audit, &finding, "block %u cannot be read: %s", i, err.message);
            return;
        }
        if (crc64(0, bytes, len) != row->digests[i]) {
            audit_tell(audit, &finding, "block %u has other bytes than were written", i);
            return;
        }
        audit->report.bytes_verified += len;
    }
}

static void check_tag(struct audit *audit, const struct version_row *row)
{
    struct audit_blob *listed = find_blob(audit, row->blob);
    if (!session_has_tags(audit->session) || !listed || listed->tag != TAG_PENDING || row->tag_due)
        return;
    /* The listing is older than the row: the flip may have come in between. */
    struct blob_store *blobs = audit->session->world.blobs;
    struct call call = {.deadline_ms = audit->session->settings.deadline_ms};
    enum blob_tag tag = TAG_UNKNOWN;
    enum status status = blobs->ops->tag_get(blobs, &call, row->blob, &tag, NULL);
    struct finding finding = about(row, FINDING_WRONG_TAG, "P12", true);
    if (status == STATUS_OK && tag == TAG_PENDING)
        audit_tell(audit, &finding, "it is Ready, but its tag says pending, and nothing is due");
}

static void check_ready(struct audit *audit, const struct version_row *row)
{
    struct blob_facts facts = {0};
    struct err err = {0};
    enum status status = observe(audit, row, &facts, &err);
    if (status != STATUS_OK && !still(audit, row))
        return; /* replaced meanwhile */
    struct finding finding = about(row, FINDING_MISSING_BLOB, "P12", true);
    if (status == STATUS_NOT_FOUND) {
        audit_tell(audit, &finding, "its blob is missing");
        return;
    }
    if (status != STATUS_OK) {
        finding.kind = FINDING_UNREADABLE;
        audit_tell(audit, &finding, "its blob cannot be looked at: %s", err.message);
        return;
    }
    if (strcmp(facts.token, row->token) != 0) {
        finding = about(row, FINDING_FOREIGN_BLOB, "P2", true);
        audit_tell(audit, &finding, "its blob was written by somebody else");
    } else if (facts.size_bytes != row->size_bytes) {
        finding = about(row, FINDING_WRONG_SIZE, "P4", true);
        audit_tell(audit, &finding, "its blob has %llu bytes, %llu were written", (unsigned long long)facts.size_bytes,
                   (unsigned long long)row->size_bytes);
    } else if (strcmp(facts.etag, row->etag) != 0) {
        finding = about(row, FINDING_WRONG_ETAG, "P7", true);
        audit_tell(audit, &finding, "its blob was touched: the ETag is another than recorded");
    }
    check_tag(audit, row);
    if (audit->options->data)
        verify_bytes(audit, row);
}

static void check_unsettled(struct audit *audit, const struct version_row *row)
{
    struct audit_blob *listed = find_blob(audit, row->blob);
    if (row->state == VERSION_PENDING && listed && listed->tag == TAG_COMMITTED && still(audit, row)) {
        struct finding finding = about(row, FINDING_RESTORED, "P15", true);
        audit_tell(audit, &finding, "it is Pending, but its blob is tagged committed: the catalogue is an older copy");
        return;
    }
    if (row->state == VERSION_PENDING && !listed)
        return; /* an intent, or an upload that has just begun */
    struct finding finding = about(row, FINDING_LEFTOVER, "P12", false);
    audit_tell(audit, &finding, "%s%s%s; a sweep clears it when it may", version_state_name(row->state),
               row->reason[0] ? ": " : "", row->reason);
}

static void check_version(struct audit *audit, const struct version_row *row)
{
    struct audit_blob *listed = find_blob(audit, row->blob);
    if (listed)
        listed->named = true;
    audit->report.versions++;
    if (row->state == VERSION_READY)
        check_ready(audit, row);
    else
        check_unsettled(audit, row);
}

static enum status check_versions(struct audit *audit, enum version_state state, struct err *err)
{
    struct catalogue *catalogue = audit->session->world.catalogue;
    struct version_filter filter = {.state = state, .with_digests = audit->options->data};
    AUTO_FREE struct version_row *rows = calloc(BATCH, sizeof *rows);
    if (!rows)
        return err_set(err, STATUS_NO_MEMORY, "read versions: out of memory");
    for (;;) {
        struct catalogue_txn *txn = NULL;
        size_t count = 0;
        enum status status = catalogue->ops->read_begin(catalogue, &txn, err);
        if (status != STATUS_OK)
            return status;
        status = catalogue->ops->version_list(txn, &filter, rows, BATCH, &count, err);
        catalogue->ops->abort(txn);
        for (size_t i = 0; i < count && status == STATUS_OK; i++) {
            filter.after = rows[i].id;
            check_version(audit, &rows[i]);
            version_row_done(&rows[i]);
            if (audit->options->progress)
                audit->options->progress(audit->options->context, audit->report.versions, audit->versions_total);
        }
        if (status != STATUS_OK || count < BATCH)
            return status;
    }
}

/* ---- blobs that no row names ---- */

static bool named_by_now(struct audit *audit, const char *blob)
{
    struct catalogue *catalogue = audit->session->world.catalogue;
    struct catalogue_txn *txn = NULL;
    if (catalogue->ops->read_begin(catalogue, &txn, NULL) != STATUS_OK)
        return true;
    struct version_row row;
    enum status status = catalogue->ops->version_of_blob(txn, blob, &row, NULL);
    catalogue->ops->abort(txn);
    return status != STATUS_NOT_FOUND;
}

/* Removes an orphan whose metadata name this catalogue (P13), under its ETag. */
static void repair_orphan(struct audit *audit, const struct audit_blob *blob, struct finding *finding)
{
    struct session *session = audit->session;
    int64_t age_ms = (clock_utc_ns(session->world.clock) - blob->modified_utc_ns) / 1000000;
    if (age_ms < audit->options->grace_ms) {
        audit_tell(audit, finding, "no row names it; younger than the grace, so it stays");
        return;
    }
    if (audit->options->dry_run) {
        audit_tell(audit, finding, "no row names it; would be removed");
        return;
    }
    struct blob_store *blobs = session->world.blobs;
    struct call call = {.deadline_ms = session->settings.deadline_ms};
    struct err err = {0};
    enum status status = blobs->ops->remove(blobs, &call, blob->name, GUARD_ETAG, blob->etag, &err);
    finding->repaired = status == STATUS_OK || status == STATUS_NOT_FOUND;
    if (finding->repaired)
        audit_tell(audit, finding, "no row named it; removed");
    else
        audit_tell(audit, finding, "no row names it; removing it failed: %s", err.message);
}

static void check_unnamed(struct audit *audit, struct audit_blob *blob)
{
    if (blob->named || named_by_now(audit, blob->name))
        return;
    bool ours = strcmp(blob->facts.catalogue, audit->session->catalogue_id) == 0;
    if (!ours || blob->uncommitted) {
        audit->report.foreign_blobs++;
        return;
    }
    struct finding finding = {.kind = FINDING_ORPHAN,
                              .invariant = "P12",
                              .fault = true,
                              .document = blob->facts.document,
                              .version = blob->facts.version,
                              .blob = blob->name};
    if (audit->options->repair)
        repair_orphan(audit, blob, &finding);
    else
        audit_tell(audit, &finding, "a blob of this catalogue that no row names");
}

static void tell_database(void *context, const char *text)
{
    struct audit *audit = context;
    struct finding finding = {.kind = FINDING_DATABASE, .invariant = "P1", .fault = true};
    audit_tell(audit, &finding, "%s", text);
}

static enum status count_versions(struct audit *audit, struct err *err)
{
    struct catalogue *catalogue = audit->session->world.catalogue;
    struct catalogue_txn *txn = NULL;
    enum status status = catalogue->ops->read_begin(catalogue, &txn, err);
    if (status != STATUS_OK)
        return status;
    struct version_counts counts;
    status = catalogue->ops->count(txn, &counts, err);
    catalogue->ops->abort(txn);
    if (status == STATUS_OK)
        audit->versions_total = (uint64_t)(counts.pending + counts.ready + counts.condemned);
    return status;
}

enum status audit_run(struct session *session, const struct audit_options *options, struct audit_report *ret_report,
                      struct err *err)
{
    struct audit audit = {.session = session, .options = options};
    struct catalogue *catalogue = session->world.catalogue;
    enum status status = catalogue->ops->integrity(catalogue, tell_database, &audit, err);
    if (status == STATUS_OK)
        status = list_blobs(&audit, err);
    if (status == STATUS_OK)
        status = count_versions(&audit, err);
    static const enum version_state states[] = {VERSION_READY, VERSION_PENDING, VERSION_CONDEMNED};
    for (size_t i = 0; i < 3 && status == STATUS_OK; i++)
        status = check_versions(&audit, states[i], err);
    if (status == STATUS_OK)
        status = audit_names(&audit, err);
    struct audit_blob *blob, *next;
    if (status == STATUS_OK)
        HASH_ITER (hh, audit.blobs, blob, next) {
            check_unnamed(&audit, blob);
        }
    free_blobs(&audit);
    *ret_report = audit.report;
    return status;
}
