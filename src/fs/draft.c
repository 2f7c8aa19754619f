/* draft.c - base, extents and spool as one content. */
#include "fs/draft.h"

#include "base/cleanup.h"
#include "document/pin.h"

#include <inttypes.h>
#include <string.h>

#define STEP_BYTES 131072

enum status draft_new(const struct draft_origin *origin, struct pin *base, struct draft **ret_draft, struct err *err)
{
    struct draft *draft = calloc(1, sizeof *draft);
    if (!draft) {
        pin_close(base);
        return err_set(err, STATUS_NO_MEMORY, "open a document: out of memory");
    }
    *draft = (struct draft){
        .lock = origin->lock,
        .changed = origin->changed,
        .spools = origin->spools,
        .document = origin->document,
        .name = origin->name,
        .plan.block_bytes = origin->block_bytes,
        .base = base,
        .size = base ? pin_version(base)->size_bytes : 0,
    };
    *ret_draft = draft;
    return STATUS_OK;
}

enum status draft_above(struct draft *below, struct draft **ret_draft, struct err *err)
{
    struct draft_origin origin = {
        .lock = below->lock,
        .changed = below->changed,
        .spools = below->spools,
        .document = below->document,
        .name = below->name,
        .block_bytes = below->plan.block_bytes,
    };
    struct draft *draft = NULL;
    enum status status = draft_new(&origin, NULL, &draft, err);
    if (status != STATUS_OK)
        return status;
    draft->below = below;
    draft->size = below->size;
    draft->read_back = below->read_back;
    *ret_draft = draft;
    return STATUS_OK;
}

void draft_free(struct draft *draft)
{
    if (!draft)
        return;
    upload_abandon(draft->stream.upload, "its content was given up");
    extents_done(&draft->stream.handed);
    extents_done(&draft->extents);
    spools_credit(draft->spools, draft->charged);
    spool_drop(draft->spool);
    pin_close(draft->base);
    free(draft);
}

/* ---- reading ---- */

enum run_kind { RUN_ZERO, RUN_SPOOL, RUN_PIN, RUN_GONE };

/* Bytes that come from one place; the place is held. */
struct run {
    enum run_kind kind;
    size_t len;
    struct spool *spool;
    struct pin *pin;
};

static struct run find_run(struct draft *draft, uint64_t offset, size_t len)
{
    struct extent extent = extents_at(&draft->extents, offset);
    struct run run = {.len = extent.len < len ? (size_t)extent.len : len};
    switch (extent.kind) {
    case EXTENT_WRITTEN:
        run.kind = RUN_SPOOL;
        run.spool = spool_ref(draft->spool);
        break;
    case EXTENT_GONE: run.kind = RUN_GONE; break;
    case EXTENT_ZERO: run.kind = RUN_ZERO; break;
    case EXTENT_BASE:
        if (draft->below)
            return find_run(draft->below, offset, run.len);
        run.kind = draft->base ? RUN_PIN : RUN_ZERO;
        run.pin = draft->base ? pin_ref(draft->base) : NULL;
        break;
    }
    return run;
}

static enum status read_run(const struct run *run, uint64_t offset, char *ret_bytes, const atomic_bool *cancelled,
                            struct err *err)
{
    size_t got = 0;
    enum status status = STATUS_OK;
    switch (run->kind) {
    case RUN_ZERO: memset(ret_bytes, 0, run->len); break;
    case RUN_GONE:
        return err_set(err, STATUS_IO, "bytes of a file larger than spool_max cannot be read before it is closed");
    case RUN_SPOOL: return spool_read(run->spool, offset, ret_bytes, run->len, err);
    case RUN_PIN:
        status = pin_read(run->pin, offset, ret_bytes, run->len, &got, cancelled, err);
        if (status == STATUS_OK)
            memset(ret_bytes + got, 0, run->len - got);
        break;
    }
    return status;
}

enum status draft_read(struct draft *draft, uint64_t offset, void *ret_bytes, size_t len, size_t *ret_len,
                       const atomic_bool *cancelled, struct err *err)
{
    size_t done = 0;
    enum status status = STATUS_OK;
    while (done < len && status == STATUS_OK) {
        pthread_mutex_lock(draft->lock);
        uint64_t at = offset + done;
        uint64_t left = at < draft->size ? draft->size - at : 0;
        size_t part = len - done < left ? len - done : (size_t)left;
        struct run run = {0};
        if (part)
            run = find_run(draft, at, part);
        pthread_mutex_unlock(draft->lock);
        if (!part)
            break;
        status = read_run(&run, at, (char *)ret_bytes + done, cancelled, err);
        spool_drop(run.spool);
        pin_close(run.pin);
        done += run.len;
    }
    *ret_len = status == STATUS_OK ? done : 0;
    return status;
}

/* ---- changing ---- */

static enum status have_spool(struct draft *draft, struct err *err)
{
    if (draft->spool)
        return STATUS_OK;
    struct spool_about about = {
        .document = draft->document,
        .base = draft->below  ? -1
                : draft->base ? pin_version(draft->base)->id
                              : 0,
        .name = draft->name->len ? draft->name->bytes : "",
    };
    enum status status = spool_new(draft->spools, &about, &draft->spool, err);
    if (status == STATUS_OK)
        spool_note(draft->spool, 's', draft->size, 0);
    return status;
}

/* A block is sent as a whole: none of its other bytes may have left the spool. */
static enum status check_gone(const struct draft *draft, uint64_t offset, uint64_t len, struct err *err)
{
    if (!draft->gone || !len)
        return STATUS_OK;
    uint64_t from = plan_offset(&draft->plan, plan_index(&draft->plan, offset));
    uint32_t last = plan_index(&draft->plan, offset + len - 1);
    uint64_t to = plan_offset(&draft->plan, last) + plan_length(&draft->plan, last);
    uint64_t around = extents_bytes(&draft->extents, from, to - from, EXTENT_GONE);
    uint64_t inside = extents_bytes(&draft->extents, offset, len, EXTENT_GONE);
    if (around == inside)
        return STATUS_OK;
    (void)err_set(err, STATUS_NO_SPACE, "changed bytes of a file larger than spool_max after they were sent");
    return err_hint(err, "raise spool_max above the size of the file");
}

/* What [offset, offset + len) takes of the spool is given back. */
static void credit_range(struct draft *draft, uint64_t offset, uint64_t len)
{
    uint64_t bytes = extents_bytes(&draft->extents, offset, len, EXTENT_WRITTEN);
    draft->gone -= extents_bytes(&draft->extents, offset, len, EXTENT_GONE);
    draft->charged -= bytes;
    spools_credit(draft->spools, bytes);
}

static enum status set_extent(struct draft *draft, uint64_t offset, uint64_t len, enum extent_kind kind,
                              struct err *err)
{
    enum status status = extents_set(&draft->extents, offset, len, kind);
    return status == STATUS_OK ? status : err_set(err, status, "the file was changed in too many places");
}

static enum status grow_to(struct draft *draft, uint64_t size, struct err *err)
{
    if (size <= draft->size)
        return STATUS_OK;
    enum status status = set_extent(draft, draft->size, size - draft->size, EXTENT_ZERO, err);
    if (status != STATUS_OK)
        return status;
    if (draft->spool)
        spool_note(draft->spool, 'z', draft->size, size - draft->size);
    draft->size = size;
    return STATUS_OK;
}

static enum status check_size(const struct draft *draft, uint64_t offset, uint64_t len, struct err *err)
{
    uint64_t max = plan_size_max(&draft->plan);
    if (offset <= max && len <= max - offset)
        return STATUS_OK;
    return err_set(err, STATUS_TOO_LARGE, "a document has at most %" PRIu64 " bytes", max);
}

enum status draft_write(struct draft *draft, uint64_t offset, const void *bytes, size_t len, struct err *err)
{
    enum status status = check_size(draft, offset, len, err);
    if (status == STATUS_OK)
        status = check_gone(draft, offset, len, err);
    if (status != STATUS_OK || !len)
        return status;
    uint64_t fresh = len - extents_bytes(&draft->extents, offset, len, EXTENT_WRITTEN);
    status = spools_charge(draft->spools, fresh, err);
    if (status != STATUS_OK)
        return status;
    draft->charged += fresh;
    status = have_spool(draft, err);
    if (status == STATUS_OK)
        status = grow_to(draft, offset, err);
    if (status == STATUS_OK)
        status = spool_write(draft->spool, offset, bytes, len, err);
    if (status != STATUS_OK)
        return status; /* the charge is given back with the draft: it is of no more use */
    if (fresh)
        spool_note(draft->spool, 'w', offset, len);
    draft->gone -= extents_bytes(&draft->extents, offset, len, EXTENT_GONE);
    status = set_extent(draft, offset, len, EXTENT_WRITTEN, err);
    if (offset + len > draft->size)
        draft->size = offset + len;
    return status;
}

enum status draft_resize(struct draft *draft, uint64_t size, struct err *err)
{
    enum status status = check_size(draft, size, 0, err);
    if (status != STATUS_OK || size == draft->size)
        return status;
    if (size < draft->size) {
        status = check_gone(draft, size, draft->size - size, err);
        if (status != STATUS_OK)
            return status;
        credit_range(draft, size, draft->size - size);
        extents_cut(&draft->extents, size);
        draft->size = size;
    } else {
        status = grow_to(draft, size, err);
    }
    if (status != STATUS_OK || !draft->spool)
        return status;
    spool_note(draft->spool, 's', size, 0);
    return spool_resize(draft->spool, size, err);
}

enum status draft_zero(struct draft *draft, uint64_t offset, uint64_t len, struct err *err)
{
    enum status status = check_gone(draft, offset, len, err);
    if (status != STATUS_OK || !len)
        return status;
    credit_range(draft, offset, len);
    status = set_extent(draft, offset, len, EXTENT_ZERO, err);
    if (status != STATUS_OK || !draft->spool)
        return status;
    spool_punch(draft->spool, offset, len);
    spool_note(draft->spool, 'z', offset, len);
    return STATUS_OK;
}

static enum status merge_written(struct draft *lower, const struct draft *upper, const struct extent *item,
                                 struct err *err)
{
    AUTO_FREE char *bytes = malloc(STEP_BYTES);
    enum status status = bytes ? STATUS_OK : err_set(err, STATUS_NO_MEMORY, "join two drafts: out of memory");
    for (uint64_t done = 0; done < item->len && status == STATUS_OK;) {
        size_t part = item->len - done < STEP_BYTES ? (size_t)(item->len - done) : STEP_BYTES;
        status = spool_read(upper->spool, item->offset + done, bytes, part, err);
        if (status == STATUS_OK)
            status = draft_write(lower, item->offset + done, bytes, part, err);
        done += part;
    }
    return status;
}

enum status draft_merge(struct draft *lower, struct draft *upper, struct err *err)
{
    enum status status = upper->size < lower->size ? draft_resize(lower, upper->size, err) : STATUS_OK;
    for (size_t i = 0; i < upper->extents.count && status == STATUS_OK; i++) {
        const struct extent *item = &upper->extents.items[i];
        if (item->kind == EXTENT_WRITTEN) {
            status = merge_written(lower, upper, item, err);
        } else if (item->kind == EXTENT_ZERO) {
            status = grow_to(lower, item->offset + item->len, err);
            if (status == STATUS_OK)
                status = draft_zero(lower, item->offset, item->len, err);
        } else {
            status = err_set(err, STATUS_NO_SPACE, "bytes that had left the spool are lost");
        }
    }
    return status == STATUS_OK ? draft_resize(lower, upper->size, err) : status;
}

/* ---- asking ---- */

bool draft_appends(const struct draft *draft)
{
    if (!draft->base || draft->below)
        return false;
    uint64_t size = pin_version(draft->base)->size_bytes;
    struct extent first = extents_at(&draft->extents, 0);
    return draft->size >= size && (size == 0 || (first.kind == EXTENT_BASE && first.len >= size));
}

enum status draft_seek(const struct draft *draft, uint64_t offset, bool hole, uint64_t *ret_offset)
{
    if (offset >= draft->size)
        return STATUS_BEYOND_END;
    while (offset < draft->size) {
        struct extent extent = extents_at(&draft->extents, offset);
        if ((extent.kind == EXTENT_ZERO) == hole) {
            *ret_offset = offset;
            return STATUS_OK;
        }
        if (extent.len >= draft->size - offset)
            break;
        offset += extent.len;
    }
    *ret_offset = draft->size; /* every file ends with a hole */
    return hole ? STATUS_OK : STATUS_BEYOND_END;
}

uint64_t draft_let_go(struct draft *draft, uint64_t end)
{
    uint64_t freed = 0;
    for (uint64_t at = 0; at < end;) {
        struct extent extent = extents_at(&draft->extents, at);
        uint64_t len = extent.len < end - at ? extent.len : end - at;
        if (extent.kind == EXTENT_WRITTEN) {
            if (extents_set(&draft->extents, at, len, EXTENT_GONE) != STATUS_OK)
                break; /* it stays in the spool */
            spool_note(draft->spool, 'g', at, len);
            spool_punch(draft->spool, at, len);
            freed += len;
        }
        at += len;
    }
    draft->gone += freed;
    draft->charged -= freed;
    spools_credit(draft->spools, freed);
    return freed;
}

/* ---- keeping ---- */

/* Copies a range of the base into the spool file. Returns how many bytes could not be had. */
static uint64_t fetch_base(struct draft *draft, uint64_t offset, uint64_t len, char *bytes)
{
    for (uint64_t done = 0; done < len;) {
        size_t part = len - done < STEP_BYTES ? (size_t)(len - done) : STEP_BYTES;
        size_t got = 0;
        enum status status = pin_read(draft->base, offset + done, bytes, part, &got, NULL, NULL);
        if (status == STATUS_OK && got)
            status = spool_write(draft->spool, offset + done, bytes, got, NULL);
        if (status != STATUS_OK || got < part)
            return len - done; /* one wait for a store that does not answer is enough */
        done += part;
    }
    return 0;
}

/* The whole content for people, unless the base alone would fill the folder. */
static uint64_t complete(struct draft *draft, uint64_t bytes_max)
{
    AUTO_FREE char *bytes = malloc(STEP_BYTES);
    uint64_t wanted = extents_bytes(&draft->extents, 0, draft->size, EXTENT_BASE);
    uint64_t missing = draft->gone;
    bool fetch = draft->base && bytes && (!bytes_max || wanted <= bytes_max);
    for (uint64_t at = 0; draft->base && at < draft->size;) {
        struct extent extent = extents_at(&draft->extents, at);
        uint64_t len = extent.len < draft->size - at ? extent.len : draft->size - at;
        if (extent.kind == EXTENT_BASE) {
            uint64_t lost = fetch ? fetch_base(draft, at, len, bytes) : len;
            fetch = fetch && !lost;
            missing += lost;
        }
        at += len;
    }
    return missing;
}

enum status draft_keep(struct draft *draft, const struct recovery *recovery, struct recover_item *item, bool *ret_kept,
                       struct err *err)
{
    *ret_kept = false;
    if (!draft->spool || !draft->size)
        return STATUS_OK;
    item->missing_bytes = complete(draft, recovery->bytes_max);
    item->base = draft->base ? pin_version(draft->base)->id : 0;
    enum status status = spool_resize(draft->spool, draft->size, err);
    if (status == STATUS_OK)
        status = recover_keep(recovery, spool_folder(draft->spool), spool_file(draft->spool), item, err);
    *ret_kept = status == STATUS_OK;
    return status;
}
