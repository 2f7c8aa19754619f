/* memory.c - blobs in two hash tables under one lock.
 *
 * It behaves as the real service where the emulator does otherwise: a put or a commit drops whatever else was staged
 * for its name, and staged blocks alone are no obstacle to a put. Removing a name that has only staged blocks is
 * NOT_FOUND and leaves them; unstage is the way to throw them away. Nothing is ever late or unknown here; decorators
 * bring that.
 */
#include "blob/memory.h"

#include "base/cleanup.h"
#include "base/digest.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <uthash.h>

struct content {
    char name[LIMIT_BLOB_NAME_BYTES];
    struct blob_facts facts;
    enum blob_tag tag;
    char *bytes; /* owned */
    UT_hash_handle hh;
};

struct staged {
    char id[BLOCK_ID_TEXT_SIZE];
    size_t len;
    uint64_t crc64;
    char *bytes; /* owned */
    UT_hash_handle hh;
};

struct upload {
    char name[LIMIT_BLOB_NAME_BYTES];
    struct staged *blocks;
    UT_hash_handle hh;
};

struct memory {
    struct blob_store store;
    pthread_mutex_t lock;
    uint64_t changes;         /* protected by lock: makes ETags */
    struct content *contents; /* protected by lock */
    struct upload *uploads;   /* protected by lock */
};

static struct memory *lock_memory(struct blob_store *store)
{
    struct memory *memory = (struct memory *)store;
    (void)pthread_mutex_lock(&memory->lock);
    return memory;
}

static void unlock_memory(struct memory *const *memory)
{
    (void)pthread_mutex_unlock(&(*memory)->lock);
}

/* Takes the lock until the scope ends. */
#define LOCKED_MEMORY(store) CLEANUP(unlock_memory) struct memory *memory = lock_memory(store)

static bool cancelled(const struct call *call)
{
    return call && call->cancelled && atomic_load(call->cancelled);
}

static enum status no_memory(struct err *err)
{
    return err_set(err, STATUS_NO_MEMORY, "memory store: out of memory");
}

static struct content *find_content(struct memory *memory, const char *name)
{
    struct content *content = NULL;
    HASH_FIND_STR(memory->contents, name, content);
    return content;
}

static struct upload *find_upload(struct memory *memory, const char *name)
{
    struct upload *upload = NULL;
    HASH_FIND_STR(memory->uploads, name, upload);
    return upload;
}

static void drop_content(struct memory *memory, struct content *content)
{
    HASH_DEL(memory->contents, content);
    free(content->bytes);
    free(content);
}

static void drop_upload(struct memory *memory, struct upload *upload)
{
    if (!upload)
        return;
    struct staged *block, *next;
    HASH_ITER (hh, upload->blocks, block, next) {
        HASH_DEL(upload->blocks, block);
        free(block->bytes);
        free(block);
    }
    HASH_DEL(memory->uploads, upload);
    free(upload);
}

static void new_etag(struct memory *memory, char ret_etag[LIMIT_ETAG_BYTES])
{
    (void)snprintf(ret_etag, LIMIT_ETAG_BYTES, "\"m%" PRIx64 "\"", ++memory->changes);
}

static void set_about(struct content *content, const struct blob_about *about)
{
    struct blob_facts *facts = &content->facts;
    (void)snprintf(facts->token, sizeof facts->token, "%s", about->token ? about->token : "");
    (void)snprintf(facts->catalogue, sizeof facts->catalogue, "%s", about->catalogue ? about->catalogue : "");
    facts->document = about->document;
    facts->version = about->version;
    content->tag = about->pending ? TAG_PENDING : TAG_UNKNOWN;
}

/* Adds a blob, whose bytes it takes over on success. */
static enum status add_content(struct memory *memory, const char *name, char *bytes, size_t len, uint64_t crc,
                               const struct blob_about *about, struct err *err)
{
    struct content *content = calloc(1, sizeof *content);
    if (!content)
        return no_memory(err);
    (void)snprintf(content->name, sizeof content->name, "%s", name);
    content->bytes = bytes;
    content->facts = (struct blob_facts){.size_bytes = len, .has_crc64 = true, .crc64 = crc};
    new_etag(memory, content->facts.etag);
    if (about)
        set_about(content, about);
    HASH_ADD_STR(memory->contents, name, content);
    drop_upload(memory, find_upload(memory, name));
    return STATUS_OK;
}

static enum status refuse_existing(const char *name, struct err *err)
{
    return err_set(err, STATUS_EXISTS, "blob '%s' exists already", name);
}

static enum status refuse_cancelled(struct err *err)
{
    return err_set(err, STATUS_INTERRUPTED, "cancelled");
}

/* A copy that is never NULL for lack of bytes. */
static char *copy_bytes(const void *bytes, size_t len)
{
    char *copy = malloc(len ? len : 1);
    if (copy && len)
        memcpy(copy, bytes, len);
    return copy;
}

static struct blob_capabilities memory_capabilities(struct blob_store *store)
{
    (void)store;
    return (struct blob_capabilities){.tags = true, .stage_from = true, .kind = "memory"};
}

static enum status memory_put(struct blob_store *store, const struct call *call, const char *name, const void *bytes,
                              size_t len, uint64_t crc, const struct blob_about *about, struct blob_facts *ret_facts,
                              struct err *err)
{
    if (cancelled(call))
        return refuse_cancelled(err);
    if (crc64(0, bytes, len) != crc)
        return err_set(err, STATUS_CORRUPT, "blob '%s': the bytes are not those of the digest", name);
    LOCKED_MEMORY(store);
    if (find_content(memory, name))
        return refuse_existing(name, err);
    AUTO_FREE char *copy = copy_bytes(bytes, len);
    enum status status = copy ? add_content(memory, name, copy, len, crc, about, err) : no_memory(err);
    if (status != STATUS_OK)
        return status;
    (void)TAKE(copy);
    *ret_facts = find_content(memory, name)->facts;
    return STATUS_OK;
}

static struct upload *find_or_add_upload(struct memory *memory, const char *name)
{
    struct upload *upload = find_upload(memory, name);
    if (upload)
        return upload;
    upload = calloc(1, sizeof *upload);
    if (!upload)
        return NULL;
    (void)snprintf(upload->name, sizeof upload->name, "%s", name);
    HASH_ADD_STR(memory->uploads, name, upload);
    return upload;
}

/* Adds or replaces a staged block; takes the bytes over on success. */
static enum status add_block(struct memory *memory, const char *name, const struct blob_block *what, char *bytes,
                             uint64_t crc, struct err *err)
{
    struct upload *upload = find_or_add_upload(memory, name);
    struct staged *block = NULL;
    if (!upload)
        return no_memory(err);
    HASH_FIND_STR(upload->blocks, what->id, block);
    if (!block) {
        block = calloc(1, sizeof *block);
        if (!block)
            return no_memory(err);
        (void)snprintf(block->id, sizeof block->id, "%s", what->id);
        HASH_ADD_STR(upload->blocks, id, block);
    }
    free(block->bytes);
    block->bytes = bytes;
    block->len = what->len;
    block->crc64 = crc;
    return STATUS_OK;
}

static enum status memory_stage(struct blob_store *store, const struct call *call, const char *name,
                                const struct blob_block *block, const void *bytes, uint64_t crc, struct err *err)
{
    if (cancelled(call))
        return refuse_cancelled(err);
    if (crc64(0, bytes, block->len) != crc)
        return err_set(err, STATUS_CORRUPT, "a block of '%s': the bytes are not those of the digest", name);
    LOCKED_MEMORY(store);
    AUTO_FREE char *copy = copy_bytes(bytes, block->len);
    enum status status = copy ? add_block(memory, name, block, copy, crc, err) : no_memory(err);
    if (status == STATUS_OK)
        (void)TAKE(copy);
    return status;
}

/* The source, if it has the ETag and the range. */
static enum status find_source(struct memory *memory, const char *source, const char *etag, uint64_t offset,
                               uint64_t len, struct content **ret_content, struct err *err)
{
    struct content *content = find_content(memory, source);
    if (!content)
        return err_set(err, STATUS_NOT_FOUND, "blob '%s' does not exist", source);
    if (strcmp(content->facts.etag, etag) != 0)
        return err_set(err, STATUS_CONDITION, "blob '%s' has another ETag", source);
    if (offset > content->facts.size_bytes || len > content->facts.size_bytes - offset)
        return err_set(err, STATUS_CORRUPT, "blob '%s' is shorter than recorded", source);
    *ret_content = content;
    return STATUS_OK;
}

static enum status memory_stage_from(struct blob_store *store, const struct call *call, const char *name,
                                     const struct blob_block *block, const char *source, const char *source_etag,
                                     uint64_t source_offset, uint64_t *ret_crc64, struct err *err)
{
    if (cancelled(call))
        return refuse_cancelled(err);
    LOCKED_MEMORY(store);
    struct content *content = NULL;
    enum status status = find_source(memory, source, source_etag, source_offset, block->len, &content, err);
    if (status != STATUS_OK)
        return status;
    AUTO_FREE char *copy = copy_bytes(content->bytes + source_offset, block->len);
    if (!copy)
        return no_memory(err);
    uint64_t crc = crc64(0, copy, block->len);
    status = add_block(memory, name, block, copy, crc, err);
    if (status != STATUS_OK)
        return status;
    (void)TAKE(copy);
    *ret_crc64 = crc;
    return STATUS_OK;
}

/* The whole made of the listed blocks, with its length and digest; NULL and INVALID where one is not staged so. */
static char *join_blocks(struct upload *upload, const struct blob_block *blocks, size_t count, size_t *ret_len,
                         uint64_t *ret_crc, struct err *err)
{
    size_t len = 0;
    for (size_t i = 0; i < count; i++)
        len += blocks[i].len;
    AUTO_FREE char *whole = malloc(len ? len : 1);
    if (!whole)
        return (void)no_memory(err), NULL;
    *ret_len = len;
    *ret_crc = 0;
    len = 0;
    for (size_t i = 0; i < count; i++) {
        struct staged *block = NULL;
        if (upload)
            HASH_FIND_STR(upload->blocks, blocks[i].id, block);
        if (!block || block->len != blocks[i].len || blocks[i].offset != len) {
            (void)err_set(err, STATUS_INVALID, "block %zu of the list was not staged so", i);
            return NULL;
        }
        memcpy(whole + len, block->bytes, block->len);
        *ret_crc = crc64_combine(*ret_crc, block->crc64, block->len);
        len += block->len;
    }
    return TAKE(whole);
}

static enum status memory_commit(struct blob_store *store, const struct call *call, const char *name,
                                 const struct blob_block *blocks, size_t count, const struct blob_about *about,
                                 struct blob_facts *ret_facts, struct err *err)
{
    if (cancelled(call))
        return refuse_cancelled(err);
    LOCKED_MEMORY(store);
    struct err mine = {0};
    size_t len = 0;
    uint64_t crc = 0;
    if (find_content(memory, name))
        return refuse_existing(name, err);
    AUTO_FREE char *whole = join_blocks(find_upload(memory, name), blocks, count, &len, &crc, &mine);
    if (!whole)
        return err_set(err, mine.status, "commit '%s': %s", name, mine.message);
    enum status status = add_content(memory, name, whole, len, crc, about, err);
    if (status != STATUS_OK)
        return status;
    (void)TAKE(whole);
    *ret_facts = find_content(memory, name)->facts;
    return STATUS_OK;
}

static enum status memory_unstage(struct blob_store *store, const struct call *call, const char *name,
                                  const struct blob_about *about, struct err *err)
{
    (void)call; /* it cannot wait */
    (void)about;
    LOCKED_MEMORY(store);
    drop_upload(memory, find_upload(memory, name));
    return find_content(memory, name) ? refuse_existing(name, err) : STATUS_OK;
}

static enum status refuse_absent(const char *name, struct err *err)
{
    return err_set(err, STATUS_NOT_FOUND, "blob '%s' does not exist", name);
}

static enum status memory_stat(struct blob_store *store, const struct call *call, const char *name,
                               struct blob_facts *ret_facts, struct err *err)
{
    (void)call; /* it cannot wait */
    LOCKED_MEMORY(store);
    struct content *content = find_content(memory, name);
    if (!content)
        return refuse_absent(name, err);
    *ret_facts = content->facts;
    return STATUS_OK;
}

static enum status memory_read(struct blob_store *store, const struct call *call, const char *name, const char *etag,
                               uint64_t offset, void *ret_bytes, size_t len, struct err *err)
{
    if (cancelled(call))
        return refuse_cancelled(err);
    LOCKED_MEMORY(store);
    struct content *content = NULL;
    enum status status = find_source(memory, name, etag, offset, len, &content, err);
    if (status == STATUS_OK)
        memcpy(ret_bytes, content->bytes + offset, len);
    return status;
}

static bool guard_holds(const struct content *content, enum blob_guard guard, const char *etag)
{
    switch (guard) {
    case GUARD_TAG_PENDING: return content->tag == TAG_PENDING;
    case GUARD_ETAG: return strcmp(content->facts.etag, etag) == 0;
    case GUARD_NONE: return true;
    }
    return false;
}

static enum status memory_remove(struct blob_store *store, const struct call *call, const char *name,
                                 enum blob_guard guard, const char *etag, struct err *err)
{
    if (cancelled(call))
        return refuse_cancelled(err);
    LOCKED_MEMORY(store);
    struct content *content = find_content(memory, name);
    if (!content)
        return refuse_absent(name, err);
    if (!guard_holds(content, guard, etag))
        return err_set(err, STATUS_CONDITION, "remove '%s': the guard does not hold", name);
    drop_content(memory, content);
    return STATUS_OK;
}

static enum status memory_tag_committed(struct blob_store *store, const struct call *call, const char *name,
                                        int64_t number, struct err *err)
{
    (void)call; /* it cannot wait */
    (void)number;
    LOCKED_MEMORY(store);
    struct content *content = find_content(memory, name);
    if (!content)
        return refuse_absent(name, err);
    content->tag = TAG_COMMITTED; /* the ETag stays, as on the service */
    return STATUS_OK;
}

static enum status memory_tag_get(struct blob_store *store, const struct call *call, const char *name,
                                  enum blob_tag *ret_tag, struct err *err)
{
    (void)call; /* it cannot wait */
    LOCKED_MEMORY(store);
    struct content *content = find_content(memory, name);
    if (!content)
        return refuse_absent(name, err);
    *ret_tag = content->tag;
    return STATUS_OK;
}

/* One line of a listing, with the name by value: the callback runs without the lock. */
struct line {
    char name[LIMIT_BLOB_NAME_BYTES];
    struct blob_facts facts;
    enum blob_tag tag;
    bool uncommitted;
};

static int compare_lines(const void *a, const void *b)
{
    return strcmp(((const struct line *)a)->name, ((const struct line *)b)->name);
}

/* A sorted copy of what the store holds under the prefix; NULL when out of memory. */
static struct line *copy_lines(struct memory *memory, const char *prefix, size_t *ret_count)
{
    size_t count = 0, prefix_len = strlen(prefix);
    struct line *lines = calloc((size_t)HASH_COUNT(memory->contents) + HASH_COUNT(memory->uploads) + 1, sizeof *lines);
    if (!lines)
        return NULL;
    for (struct content *content = memory->contents; content; content = content->hh.next) {
        if (strncmp(content->name, prefix, prefix_len) != 0)
            continue;
        struct line *line = &lines[count++];
        *line = (struct line){.facts = content->facts, .tag = content->tag};
        memcpy(line->name, content->name, sizeof line->name);
    }
    for (struct upload *upload = memory->uploads; upload; upload = upload->hh.next) {
        if (strncmp(upload->name, prefix, prefix_len) != 0 || find_content(memory, upload->name))
            continue;
        struct line *line = &lines[count++];
        *line = (struct line){.uncommitted = true};
        memcpy(line->name, upload->name, sizeof line->name);
    }
    qsort(lines, count, sizeof *lines, compare_lines);
    *ret_count = count;
    return lines;
}

static struct line *lock_and_copy_lines(struct blob_store *store, const char *prefix, size_t *ret_count)
{
    LOCKED_MEMORY(store);
    return copy_lines(memory, prefix, ret_count);
}

static enum status memory_list(struct blob_store *store, const struct call *call, const char *prefix, blob_list_fn *fn,
                               void *context, struct err *err)
{
    size_t count = 0;
    AUTO_FREE struct line *lines = lock_and_copy_lines(store, prefix, &count);
    if (!lines)
        return no_memory(err);
    for (size_t i = 0; i < count; i++) {
        if (cancelled(call))
            return refuse_cancelled(err);
        struct blob_listing item = {.name = lines[i].name,
                                    .size_bytes = lines[i].facts.size_bytes,
                                    .etag = lines[i].facts.etag,
                                    .uncommitted = lines[i].uncommitted,
                                    .facts = lines[i].facts,
                                    .tag = lines[i].tag};
        if (!fn(context, &item))
            break;
    }
    return STATUS_OK;
}

static enum status memory_control_read(struct blob_store *store, const struct call *call, const char *name,
                                       char *ret_text, size_t capacity, char ret_etag[LIMIT_ETAG_BYTES],
                                       struct err *err)
{
    (void)call; /* it cannot wait */
    LOCKED_MEMORY(store);
    struct content *content = find_content(memory, name);
    if (!content)
        return refuse_absent(name, err);
    if (content->facts.size_bytes >= capacity)
        return err_set(err, STATUS_CORRUPT, "control blob '%s' is too long", name);
    memcpy(ret_text, content->bytes, content->facts.size_bytes);
    ret_text[content->facts.size_bytes] = '\0';
    memcpy(ret_etag, content->facts.etag, LIMIT_ETAG_BYTES);
    return STATUS_OK;
}

static enum status memory_control_write(struct blob_store *store, const struct call *call, const char *name,
                                        const char *text, const char *etag, char ret_etag[LIMIT_ETAG_BYTES],
                                        struct err *err)
{
    (void)call; /* it cannot wait */
    LOCKED_MEMORY(store);
    struct content *before = find_content(memory, name);
    if (before && !etag)
        return refuse_existing(name, err);
    if (etag && (!before || strcmp(before->facts.etag, etag) != 0))
        return err_set(err, STATUS_CONDITION, "control blob '%s' has changed", name);
    size_t len = strlen(text);
    AUTO_FREE char *copy = copy_bytes(text, len);
    if (!copy)
        return no_memory(err);
    if (before)
        drop_content(memory, before);
    enum status status = add_content(memory, name, copy, len, crc64(0, text, len), NULL, err);
    if (status != STATUS_OK)
        return status;
    (void)TAKE(copy);
    memcpy(ret_etag, find_content(memory, name)->facts.etag, LIMIT_ETAG_BYTES);
    return STATUS_OK;
}

static void memory_close(struct blob_store *store)
{
    struct memory *memory = (struct memory *)store;
    struct content *content, *next;
    struct upload *upload, *next_upload;
    HASH_ITER (hh, memory->contents, content, next) {
        drop_content(memory, content);
    }
    HASH_ITER (hh, memory->uploads, upload, next_upload) {
        drop_upload(memory, upload);
    }
    (void)pthread_mutex_destroy(&memory->lock);
    free(memory);
}

static const struct blob_ops ops = {
    .capabilities = memory_capabilities,
    .put = memory_put,
    .stage = memory_stage,
    .stage_from = memory_stage_from,
    .commit = memory_commit,
    .unstage = memory_unstage,
    .stat = memory_stat,
    .read = memory_read,
    .remove = memory_remove,
    .tag_committed = memory_tag_committed,
    .tag_get = memory_tag_get,
    .list = memory_list,
    .control_read = memory_control_read,
    .control_write = memory_control_write,
    .close = memory_close,
};

enum status memory_open(struct blob_store **ret_store, struct err *err)
{
    struct memory *memory = calloc(1, sizeof *memory);
    if (!memory)
        return no_memory(err);
    memory->store.ops = &ops;
    (void)pthread_mutex_init(&memory->lock, NULL);
    *ret_store = &memory->store;
    return STATUS_OK;
}
