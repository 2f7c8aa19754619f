/* settle.c - looking at a blob whose state is not known, and recording what was seen. */
#include "document/settle.h"

#include <stdio.h>
#include <string.h>

enum sighting settle_look(struct session *session, const struct call *call, const char *blob, const char *token,
                          struct blob_facts *ret_facts, struct err *err)
{
    struct blob_store *blobs = session->world.blobs;
    struct blob_facts facts = {0};
    enum status status = blobs->ops->stat(blobs, call, blob, &facts, err);
    if (status == STATUS_NOT_FOUND)
        return SIGHT_ABSENT;
    if (status != STATUS_OK)
        return SIGHT_UNKNOWN;
    if (ret_facts)
        *ret_facts = facts;
    return facts.token[0] && strcmp(facts.token, token) == 0 ? SIGHT_OURS : SIGHT_FOREIGN;
}

struct new_etag {
    int64_t version;
    const char *etag;
};

static enum status apply_etag(struct apply *apply, void *context, struct err *err)
{
    const struct new_etag *wanted = context;
    struct version_row row;
    enum status status = ROWS(apply)->version_get(apply->txn, wanted->version, false, &row, err);
    if (status != STATUS_OK)
        return status;
    (void)snprintf(row.etag, sizeof row.etag, "%s", wanted->etag); /* same size as a store's ETag */
    return ROWS(apply)->version_update(apply->txn, &row, row.state, err);
}

enum status settle_etag(struct session *session, int64_t version, const char *etag, struct err *err)
{
    struct new_etag wanted = {version, etag};
    return commit_run(session, apply_etag, &wanted, ORDERED, NULL, err);
}

struct note {
    int64_t version, known_ns, new_ns;
};

static enum status apply_sent(struct apply *apply, void *context, struct err *err)
{
    struct note *note = context;
    struct version_row row;
    enum status status = ROWS(apply)->version_get(apply->txn, note->version, false, &row, err);
    if (status != STATUS_OK)
        return status;
    if (row.sent_utc_ns != note->known_ns)
        return err_set(err, STATUS_CONFLICT, "another sweeper is at it");
    row.clean = false;
    row.sent_utc_ns = note->new_ns = apply->now_ns > note->known_ns ? apply->now_ns : note->known_ns + 1;
    return ROWS(apply)->version_update(apply->txn, &row, row.state, err);
}

enum status settle_sent(struct session *session, int64_t version, int64_t *sent_utc_ns, struct err *err)
{
    struct note note = {.version = version, .known_ns = *sent_utc_ns};
    enum status status = commit_run(session, apply_sent, &note, DURABLE, NULL, err);
    if (status == STATUS_OK)
        *sent_utc_ns = note.new_ns;
    return status;
}

enum status settle_drop(struct apply *apply, const struct gone *gone, struct err *err)
{
    struct version_row row;
    enum status status = ROWS(apply)->version_get(apply->txn, gone->version, false, &row, err);
    if (status == STATUS_NOT_FOUND || (status == STATUS_OK && row.sent_utc_ns != gone->sent_utc_ns))
        return STATUS_OK; /* another sweeper was faster, or will do it */
    return status == STATUS_OK ? ROWS(apply)->version_delete(apply->txn, gone->version, err) : status;
}
