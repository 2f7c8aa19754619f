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
