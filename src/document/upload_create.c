/* upload_create.c - making the blob, once and for certain: a conditional create (P3), and a look where its answer was
 * lost (P9). */
#include "document/upload_internal.h"

#include "core/backoff.h"
#include "document/settle.h"

#define LOOK_MS 10000 /* what a look may take at the end of the deadline, in milliseconds */

static struct blob_about about_of(const struct upload *upload)
{
    return (struct blob_about){.catalogue = upload->session->catalogue_id,
                               .document = upload->document,
                               .version = upload->intent->version,
                               .token = upload->intent->token,
                               .name_hex = upload->name_hex[0] ? upload->name_hex : NULL,
                               .content_type = upload->content_type,
                               .pending = session_has_tags(upload->session)};
}

static enum status create_once(struct upload *upload, const struct creation *creation, struct err *err)
{
    enum status status = upload_before_sending(upload, err);
    if (status != STATUS_OK)
        return status;
    struct blob_store *blobs = upload->session->world.blobs;
    const struct call call = {.deadline_ms = upload->session->settings.deadline_ms, .cancelled = &upload->cancelled};
    struct blob_about about = about_of(upload);
    struct blob_facts facts = {0};
    const char *blob = upload->intent->blob;
    status = creation->blocks
                 ? blobs->ops->commit(blobs, &call, blob, creation->blocks, upload->count, &about, &facts, err)
                 : blobs->ops->put(blobs, &call, blob, creation->bytes, upload->size, upload->crc, &about, &facts, err);
    upload_after_sending(upload, status);
    if (status == STATUS_OK)
        upload->facts = facts;
    return status;
}

/* P4: what the store tells of the blob is what the program wrote. */
static enum status compare(const struct upload *upload, const struct blob_facts *facts, struct err *err)
{
    if (facts->size_bytes != upload->size || (facts->has_crc64 && facts->crc64 != upload->crc))
        return err_set(err, STATUS_CORRUPT, "blob %s is not what was sent", upload->intent->blob);
    return STATUS_OK;
}

/* P9: a blob is there, or may be. Ours is success, another's a refusal; absent is still unknown. */
static enum status look_for_ours(struct upload *upload, int64_t deadline_ms, struct err *err)
{
    const struct call call = {.deadline_ms = deadline_ms, .cancelled = &upload->cancelled};
    struct blob_facts facts;
    switch (settle_look(upload->session, &call, upload->intent->blob, upload->intent->token, &facts, err)) {
    case SIGHT_OURS: break;
    case SIGHT_FOREIGN: return err_set(err, STATUS_CORRUPT, "another's blob lies under %s", upload->intent->blob);
    case SIGHT_ABSENT: return err_set(err, STATUS_UNKNOWN, "blob %s may still arrive", upload->intent->blob);
    case SIGHT_NOT_TAKEN:
    case SIGHT_UNKNOWN: return STATUS_UNKNOWN;
    }
    enum status status = compare(upload, &facts, err);
    if (status == STATUS_OK)
        upload->facts = facts;
    return status;
}

static void pause_before(struct upload *upload, unsigned attempt)
{
    static const struct backoff pace = {.first_ms = 200, .max_ms = 5000};
    uint64_t random = 0;
    entropy_fill(upload->session->world.entropy, &random, sizeof random);
    clock_wait_ms(upload->session->world.clock, backoff_wait_ms(&pace, attempt, 0, random));
}

/* The same create again is harmless: the name takes one content, once (P2, P3). */
static enum status create(struct upload *upload, const struct creation *creation, struct err *err)
{
    struct clock *clock = upload->session->world.clock;
    int64_t give_up_ms = clock_boot_ms(clock) + upload->session->settings.deadline_ms;
    for (unsigned attempt = 1;; attempt++) {
        enum status status = create_once(upload, creation, err);
        if (status == STATUS_OK)
            return compare(upload, &upload->facts, err);
        if (status != STATUS_EXISTS && status_outcome(status) != OUTCOME_UNKNOWN)
            return status;
        int64_t left_ms = give_up_ms - clock_boot_ms(clock);
        struct err seen = {0};
        enum status look = look_for_ours(upload, left_ms > LOOK_MS ? left_ms : LOOK_MS, &seen);
        if (look != STATUS_UNKNOWN || status == STATUS_EXISTS)
            *err = seen;
        if (look != STATUS_UNKNOWN)
            return look;
        if (atomic_load(&upload->cancelled) || left_ms <= 0)
            break;
        pause_before(upload, attempt);
    }
    err->status = STATUS_UNKNOWN; /* its text stays: why nobody knows */
    return STATUS_UNKNOWN;
}

enum status upload_create(struct upload *upload, const struct creation *creation, struct err *err)
{
    struct err own = {0};
    enum status status = create(upload, creation, err ? err : &own);
    if (status == STATUS_OK)
        upload->confirmed_boot_ms = clock_boot_ms(upload->session->world.clock);
    return status;
}

bool upload_is_fresh(const struct upload *upload)
{
    int64_t age_ms = clock_boot_ms(upload->session->world.clock) - upload->confirmed_boot_ms;
    return age_ms <= upload->session->settings.confirm_max_age_ms;
}

enum status upload_confirm(struct upload *upload, struct err *err)
{
    if (upload_is_fresh(upload))
        return STATUS_OK;
    int64_t now_ms = clock_boot_ms(upload->session->world.clock); /* before the look: what it tells may be as old */
    enum status status = look_for_ours(upload, upload->session->settings.deadline_ms, err);
    if (status == STATUS_UNKNOWN)
        return err_set(err, STATUS_IO, "blob %s could not be confirmed before it was published", upload->intent->blob);
    if (status == STATUS_OK)
        upload->confirmed_boot_ms = now_ms;
    return status;
}
