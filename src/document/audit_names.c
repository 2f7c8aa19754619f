/* audit_names.c - the tree of names, walked from the root in one snapshot a directory. */
#include "base/cleanup.h"
#include "document/audit_internal.h"

#include <sys/stat.h>

#define BATCH 64

/* The directories still to be walked. */
struct stack {
    int64_t *ids;
    size_t count, capacity;
};

static enum status push(struct stack *stack, int64_t id, struct err *err)
{
    if (stack->count == stack->capacity) {
        size_t capacity = stack->capacity ? stack->capacity * 2 : 256;
        int64_t *ids = realloc(stack->ids, capacity * sizeof *ids);
        if (!ids)
            return err_set(err, STATUS_NO_MEMORY, "walk the names: out of memory");
        stack->ids = ids;
        stack->capacity = capacity;
    }
    stack->ids[stack->count++] = id;
    return STATUS_OK;
}

static struct finding rows_finding(int64_t document, const char *invariant)
{
    return (struct finding){.kind = FINDING_ROWS, .invariant = invariant, .fault = true, .document = document};
}

static void check_version_row(struct audit *audit, struct catalogue_txn *txn, const struct document_row *document)
{
    if (!document->version)
        return;
    struct version_row version;
    struct finding finding = rows_finding(document->id, "P5");
    enum status status =
        audit->session->world.catalogue->ops->version_get(txn, document->version, false, &version, NULL);
    if (status != STATUS_OK)
        audit_tell(audit, &finding, "it names version %lld, whose row is lost", (long long)document->version);
    else if (version.state != VERSION_READY || version.document != document->id)
        audit_tell(audit, &finding, "it names version %lld, which is %s and belongs to document %lld",
                   (long long)version.id, version_state_name(version.state), (long long)version.document);
}

static void check_links(struct audit *audit, struct catalogue_txn *txn, const struct document_row *document)
{
    struct entry_row entries[BATCH];
    int64_t after = 0;
    uint32_t names = 0;
    size_t count = BATCH;
    while (count == BATCH) {
        if (audit->session->world.catalogue->ops->entry_of(txn, document->id, after, entries, BATCH, &count, NULL) !=
            STATUS_OK)
            return;
        names += (uint32_t)count;
        after = count ? entries[count - 1].cookie : after;
    }
    struct finding finding = rows_finding(document->id, "S15");
    if (names != document->nlink)
        audit_tell(audit, &finding, "it has %u names, but its link count says %u", names, document->nlink);
}

/* S4, S12: a reserved name leads to what was never published, and lives as long as a session holds it. */
static void check_reservation(struct audit *audit, struct catalogue_txn *txn, const struct entry_row *entry,
                              const struct document_row *document)
{
    int64_t holder[1];
    size_t count = 0;
    struct catalogue *catalogue = audit->session->world.catalogue;
    enum status status = catalogue->ops->holder_list(txn, entry->cookie, holder, 1, &count, NULL);
    struct finding finding = rows_finding(document->id, "S12");
    if (status == STATUS_OK && !count)
        audit_tell(audit, &finding, "its name is reserved, but no session holds it");
    if (document->version)
        audit_tell(audit, &finding, "its name is reserved, but it was published");
}

static enum status check_entry(struct audit *audit, struct catalogue_txn *txn, const struct entry_row *entry,
                               struct stack *stack, uint32_t *subdirectories, struct err *err)
{
    struct document_row document;
    enum status status = audit->session->world.catalogue->ops->document_get(txn, entry->document, &document, err);
    struct finding finding = rows_finding(entry->document, "S1");
    if (status == STATUS_NOT_FOUND) {
        audit_tell(audit, &finding, "a name in directory %lld leads to it, but its row is lost", (long long)entry->dir);
        return STATUS_OK;
    }
    if (status != STATUS_OK)
        return status;
    audit->report.documents++;
    if (S_ISDIR(document.mode)) {
        ++*subdirectories;
        if (document.parent != entry->dir)
            audit_tell(audit, &finding, "its parent is said to be %lld, but it lies in %lld",
                       (long long)document.parent, (long long)entry->dir);
        return push(stack, document.id, err);
    }
    if (S_ISREG(document.mode) && !document.version && !entry->reserved)
        audit_tell(audit, &finding, "it is listed, but was never published");
    if (entry->reserved)
        check_reservation(audit, txn, entry, &document);
    check_version_row(audit, txn, &document);
    check_links(audit, txn, &document);
    return STATUS_OK;
}

static enum status check_entries(struct audit *audit, struct catalogue_txn *txn, int64_t dir, struct stack *stack,
                                 uint32_t *ret_subdirectories, struct err *err)
{
    struct entry_row entries[BATCH];
    int64_t after = 0;
    size_t count = BATCH;
    *ret_subdirectories = 0;
    while (count == BATCH) {
        enum status status =
            audit->session->world.catalogue->ops->entry_list(txn, dir, after, entries, NULL, BATCH, &count, err);
        for (size_t i = 0; i < count && status == STATUS_OK; i++) {
            after = entries[i].cookie;
            status = check_entry(audit, txn, &entries[i], stack, ret_subdirectories, err);
        }
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static enum status check_directory(struct audit *audit, int64_t dir, struct stack *stack, struct err *err)
{
    struct catalogue *catalogue = audit->session->world.catalogue;
    struct catalogue_txn *txn = NULL;
    enum status status = catalogue->ops->read_begin(catalogue, &txn, err);
    if (status != STATUS_OK)
        return status;
    struct document_row row;
    uint32_t subdirectories = 0;
    status = catalogue->ops->document_get(txn, dir, &row, err);
    if (status == STATUS_OK)
        status = check_entries(audit, txn, dir, stack, &subdirectories, err);
    catalogue->ops->abort(txn);
    if (status == STATUS_NOT_FOUND)
        return STATUS_OK; /* removed since its parent was walked */
    struct finding finding = rows_finding(dir, "S15");
    if (status == STATUS_OK && row.nlink != subdirectories + 2)
        audit_tell(audit, &finding, "the directory has %u subdirectories, but its link count says %u", subdirectories,
                   row.nlink);
    return status;
}

enum status audit_names(struct audit *audit, struct err *err)
{
    struct stack stack = {0};
    enum status status = push(&stack, CATALOGUE_ROOT, err);
    while (stack.count && status == STATUS_OK)
        status = check_directory(audit, stack.ids[--stack.count], &stack, err);
    free(stack.ids);
    return status;
}
