/* audit.c - every invariant checked, rows against blobs. The container is listed first and the rows are looked up
 * afterwards (P13): what a running mount makes or removes in between is looked at twice before it is called a fault. */
#include "document/audit_internal.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "core/plan.h"
#include "document/settle.h"
#include "document/volume.h"

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

static const char *put_text(char **at, const char *text, size_t len)
{
    char *copy = *at;
    memcpy(copy, text, len + 1);
    *at += len + 1;
    return copy;
}

static struct audit_blob *new_blob(const struct audit *audit, const struct blob_listing *item)
{
    size_t name_len = strlen(item->name), etag_len = strlen(item->etag), token_len = strlen(item->facts.token);
    struct audit_blob *blob = calloc(1, sizeof *blob + name_len + etag_len + token_len + 3);
    if (!blob)
        return NULL;
    char *at = blob->text;
    blob->name = put_text(&at, item->name, name_len);
    blob->etag = put_text(&at, item->etag, etag_len);
    blob->token = put_text(&at, item->facts.token, token_len);
    blob->size_bytes = item->size_bytes;
    blob->document = item->facts.document;
    blob->version = item->facts.version;
    blob->modified_utc_ns = item->modified_utc_ns;
    blob->tag = item->tag;
    blob->uncommitted = item->uncommitted;
    blob->ours = strcmp(item->facts.catalogue, audit->session->catalogue_id) == 0;
    return blob;
}

static bool take_blob(void *context, const struct blob_listing *item)
{
    struct audit *audit = context;
    struct audit_blob *blob = new_blob(audit, item);
    if (!blob) {
        audit->out_of_memory = true;
        return false;
    }
    HASH_ADD_KEYPTR(hh, audit->blobs, blob->name, strlen(blob->name), blob);
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
    return read_version(audit, row->id, &now) == STATUS_OK && now.state == row->state && now.tag_due == row->tag_due &&
           strcmp(now.etag, row->etag) == 0;
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

/* What the store says of a Ready version's blob: the listing where it agrees with the row, else a look, since the
 * listing is older than the row. */
static enum status observe(struct audit *audit, const struct version_row *row, struct blob_facts *ret_facts,
                           struct err *err)
{
    const struct audit_blob *listed = find_blob(audit, row->blob);
    if (listed && !listed->uncommitted && listed->size_bytes == row->size_bytes &&
        strcmp(listed->token, row->token) == 0 && strcmp(listed->etag, row->etag) == 0) {
        *ret_facts = (struct blob_facts){.size_bytes = row->size_bytes};
        memcpy(ret_facts->etag, row->etag, sizeof ret_facts->etag);
        memcpy(ret_facts->token, row->token, sizeof ret_facts->token);
        return STATUS_OK;
    }
    struct blob_store *blobs = audit->session->world.blobs;
    struct call call = {.deadline_ms = audit->session->settings.deadline_ms};
    return blobs->ops->stat(blobs, &call, row->blob, ret_facts, err);
}

/* Whether the digests in the row are as many as the blocks, and make up that of the whole (P4). */
static bool digests_fit(const struct version_row *row)
{
    struct plan plan = {.block_bytes = row->block_bytes};
    if (!row->block_bytes || row->size_bytes > plan_size_max(&plan))
        return false;
    uint32_t count = plan_count(&plan, row->size_bytes);
    if (row->digest_count != count)
        return false;
    uint64_t crc = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t left = row->size_bytes - plan_offset(&plan, i);
        uint64_t len = plan_length(&plan, i);
        crc = crc64_combine(crc, row->digests[i], len < left ? len : left);
    }
    return crc == row->crc64;
}

/* Reads one block under the ETag that the blob has now. False: told, or its version is not Ready any more. */
static bool verify_block(struct audit *audit, const struct version_row *row, const char *etag, uint32_t index)
{
    struct plan plan = {.block_bytes = row->block_bytes};
    struct blob_store *blobs = audit->session->world.blobs;
    struct call call = {.deadline_ms = audit->session->settings.deadline_ms};
    uint64_t offset = plan_offset(&plan, index);
    uint64_t len = plan_length(&plan, index);
    if (len > row->size_bytes - offset)
        len = row->size_bytes - offset;
    AUTO_FREE char *bytes = malloc(len);
    struct err err = {0};
    enum status status = bytes ? blobs->ops->read(blobs, &call, row->blob, etag, offset, bytes, len, &err)
                               : err_set(&err, STATUS_NO_MEMORY, "out of memory");
    bool right = status == STATUS_OK && crc64(0, bytes, len) == row->digests[index];
    audit->report.bytes_verified += right ? len : 0;
    if (right || !still(audit, row))
        return right;
    struct finding finding = about(row, status == STATUS_OK ? FINDING_WRONG_DATA : FINDING_UNREADABLE, "P4", true);
    if (status == STATUS_OK)
        audit_tell(audit, &finding, "block %u has other bytes than were written", index);
    else
        audit_tell(audit, &finding, "block %u cannot be read: %s", index, err.message);
    return false;
}

static void verify_bytes(struct audit *audit, const struct version_row *row, const char *etag)
{
    struct finding finding = about(row, FINDING_ROWS, "P4", true);
    if (!digests_fit(row)) {
        audit_tell(audit, &finding, "its digests do not fit its size or each other");
        return;
    }
    for (uint32_t i = 0; i < row->digest_count; i++)
        if (!verify_block(audit, row, etag, i))
            return;
}

/* P5: exactly one Ready version for a document, which names it. */
static void check_owner(struct audit *audit, const struct version_row *row)
{
    struct catalogue *catalogue = audit->session->world.catalogue;
    struct catalogue_txn *txn = NULL;
    struct document_row document = {0};
    if (catalogue->ops->read_begin(catalogue, &txn, NULL) != STATUS_OK)
        return;
    enum status status = catalogue->ops->document_get(txn, row->document, &document, NULL);
    catalogue->ops->abort(txn);
    bool named = status == STATUS_OK && document.version == row->id;
    bool known = status == STATUS_OK || status == STATUS_NOT_FOUND;
    struct finding finding = about(row, FINDING_ROWS, "P5", true);
    if (!named && known && still(audit, row))
        audit_tell(audit, &finding, "it is Ready, but document %lld does not name it", (long long)row->document);
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

/* What the store says against what the row says. True: it is our blob, of the right length. */
static bool check_facts(struct audit *audit, const struct version_row *row, const struct blob_facts *facts)
{
    struct finding finding = about(row, FINDING_FOREIGN_BLOB, "P2", true);
    if (strcmp(facts->token, row->token) != 0) {
        audit_tell(audit, &finding, "its blob was written by somebody else");
        return false;
    }
    if (facts->size_bytes != row->size_bytes) {
        finding = about(row, FINDING_WRONG_SIZE, "P4", true);
        audit_tell(audit, &finding, "its blob has %llu bytes, %llu were written", (unsigned long long)facts->size_bytes,
                   (unsigned long long)row->size_bytes);
        return false;
    }
    if (strcmp(facts->etag, row->etag) != 0) {
        finding = about(row, FINDING_WRONG_ETAG, "P7", true);
        audit_tell(audit, &finding, "its blob was touched: the ETag is another than recorded");
    }
    return true;
}

static void check_ready(struct audit *audit, const struct version_row *row)
{
    struct blob_facts facts = {0};
    struct err err = {0};
    check_owner(audit, row);
    enum status status = observe(audit, row, &facts, &err);
    if (!still(audit, row))
        return; /* replaced meanwhile, or its ETag was recorded anew */
    struct finding finding = about(row, FINDING_MISSING_BLOB, "P12", true);
    if (status == STATUS_NOT_FOUND) {
        audit_tell(audit, &finding, "its blob is missing");
    } else if (status != STATUS_OK) {
        finding.kind = FINDING_UNREADABLE;
        audit_tell(audit, &finding, "its blob cannot be looked at: %s", err.message);
    } else if (check_facts(audit, row, &facts)) {
        check_tag(audit, row);
        if (audit->options->data)
            verify_bytes(audit, row, facts.etag);
    }
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

/* Whether the name is one that we generate (core/id.h). */
static bool generated_name(const struct audit *audit, const char *name)
{
    size_t prefix = strlen(audit->session->settings.prefix);
    const char *at = name + prefix;
    const char *digits = "0123456789abcdef";
    return strncmp(name, audit->session->settings.prefix, prefix) == 0 && strncmp(at, "d/", 2) == 0 &&
           strspn(at + 2, digits) == 2 && at[4] == '/' && strspn(at + 5, digits) == ID_TEXT_SIZE - 1 &&
           at[4 + ID_TEXT_SIZE] == '\0';
}

/* Whether it is somebody's copy of a blob of ours: a tool that copies a blob takes the metadata along. */
static bool copy_of_another(struct audit *audit, const struct audit_blob *blob)
{
    struct version_row row;
    return blob->version && read_version(audit, blob->version, &row) == STATUS_OK && strcmp(row.blob, blob->name) != 0;
}

/* P15: a copy of the catalogue made before this repair is known as old afterwards. */
static enum status mark(struct audit *audit, struct err *err)
{
    if (audit->marked)
        return STATUS_OK;
    enum status status = volume_mark(&audit->session->world, &audit->session->settings, err);
    audit->marked = status == STATUS_OK;
    return status;
}

/* Removes an orphan whose metadata name this catalogue (P13), under its ETag. */
static void repair_orphan(struct audit *audit, const struct audit_blob *blob, struct finding *finding)
{
    struct session *session = audit->session;
    int64_t age_ms = (clock_utc_ns(session->world.clock) - blob->modified_utc_ns) / 1000000;
    if (!blob->modified_utc_ns || age_ms < audit->options->grace_ms) {
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
    enum status status = mark(audit, &err);
    if (status == STATUS_OK)
        status = blobs->ops->remove(blobs, &call, blob->name, GUARD_ETAG, blob->etag, &err);
    finding->repaired = status == STATUS_OK || status == STATUS_NOT_FOUND;
    if (finding->repaired)
        audit_tell(audit, finding, "no row named it; removed");
    else
        audit_tell(audit, finding, "no row names it; removing it failed: %s", err.message);
}

/* A sweep beside the audit removes blobs that were listed, and their rows before they were read. */
static bool gone_by_now(struct audit *audit, const char *blob)
{
    struct blob_store *blobs = audit->session->world.blobs;
    struct call call = {.deadline_ms = audit->session->settings.deadline_ms};
    struct blob_facts facts;
    return blobs->ops->stat(blobs, &call, blob, &facts, NULL) == STATUS_NOT_FOUND;
}

static void check_unnamed(struct audit *audit, struct audit_blob *blob)
{
    if (blob->named || blob->uncommitted || named_by_now(audit, blob->name))
        return;
    if (!blob->ours || !generated_name(audit, blob->name) || copy_of_another(audit, blob)) {
        audit->report.foreign_blobs++;
        return;
    }
    if (gone_by_now(audit, blob->name))
        return;
    struct finding finding = {.kind = FINDING_ORPHAN,
                              .invariant = "P12",
                              .fault = true,
                              .document = blob->document,
                              .version = blob->version,
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
