/* directory.c - blobs as files of a local folder.
 *
 * A blob is written as a staged file without a name of its own (staging.h), labelled (label.h), synced, and then linked
 * to its name, which succeeds once (shelf.h). Blocks of an upload collect in one staged file (pile.h). So a name shows
 * nothing or the whole (P4), no call ends with an unknown outcome, and a crash leaves staged files alone, which the
 * next opening removes.
 *
 * A delete under an ETag looks first and unlinks then; between the two nothing can take the blob's place, since names
 * are never reused (P2) and a name that exists is never linked again (P3). At worst another process has deleted the
 * same blob in between, which is NOT_FOUND.
 */
#include "blob/directory.h"

#include "base/digest.h"
#include "blob/label.h"
#include "blob/pile.h"
#include "blob/shelf.h"
#include "blob/staging.h"
#include "blob/walk.h"
#include "host/file.h"
#include "host/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONTROL_LOCK    ".control.lock"
#define CONTROL_WAIT_MS 60000
#define CONTROL_MAX     65536

struct directory {
    struct blob_store store;
    struct shelf shelf;
    struct staging staging;
    struct piles piles;
};

static struct directory *directory_of(struct blob_store *store)
{
    return (struct directory *)store;
}

static enum status refuse_name(const char *name, struct err *err)
{
    return err_set(err, STATUS_INVALID, "'%s' cannot be a blob's name here", name);
}

static enum status tell(int failure, const char *what, const char *name, struct err *err)
{
    if (failure == ECANCELED)
        return err_set(err, STATUS_INTERRUPTED, "%s '%s': cancelled", what, name);
    return err_set_errno(err, failure, "%s '%s'", what, name);
}

static struct blob_capabilities directory_capabilities(struct blob_store *store)
{
    (void)store;
    return (struct blob_capabilities){.stage_from = true, .kind = "directory"};
}

/* ---- creating ---- */

/* Puts the label into a file beside the blob, before the blob is there: whoever sees the blob sees whose it is. Its
 * name is claimed like the blob's, and given up where the blob then cannot be made. */
static enum status label_beside(struct directory *directory, const char *name, const struct blob_about *about,
                                uint64_t crc, struct err *err)
{
    char path[LIMIT_BLOB_NAME_BYTES + 8];
    AUTO_STAGED_FILE struct staged_file file = NO_STAGED_FILE;
    AUTO_BUF struct buf text;
    buf_init(&text, LABEL_TEXT_MAX);
    (void)snprintf(path, sizeof path, "%s" LABEL_SUFFIX, name);
    enum status status = label_print(&text, about, crc);
    if (status != STATUS_OK)
        return err_set(err, status, "label '%s'", name);
    int failure = staged_file_open(&directory->staging, NULL, &file);
    failure = failure ? failure : file_write_all(file.fd, text.bytes, text.len, 0);
    if (!failure && fsync(file.fd))
        failure = errno;
    failure = failure ? failure : shelf_link(&directory->shelf, directory->staging.fd, file.name, path);
    return failure ? tell(failure, "label", name, err) : STATUS_OK;
}

static void unlabel_beside(struct directory *directory, const char *name)
{
    char path[LIMIT_BLOB_NAME_BYTES + 8];
    (void)snprintf(path, sizeof path, "%s" LABEL_SUFFIX, name);
    (void)unlinkat(directory->shelf.fd, path, 0); /* one that stays is in nobody's way: the name is never used again */
}

/* Labels the complete staged file, syncs it and gives it its name. */
static enum status publish(struct directory *directory, const struct staged_file *file, const char *name,
                           const struct blob_about *about, uint64_t crc, struct blob_facts *ret_facts, struct err *err)
{
    int failure = label_attach(file->fd, about, crc);
    bool beside = failure == ENOTSUP;
    struct stat facts;
    if (failure && !beside)
        return tell(failure, "label", name, err);
    if (fsync(file->fd) || fstat(file->fd, &facts))
        return tell(errno, "write", name, err);
    enum status status = beside ? label_beside(directory, name, about, crc, err) : STATUS_OK;
    if (status != STATUS_OK)
        return status;
    failure = shelf_link(&directory->shelf, directory->staging.fd, file->name, name);
    if (failure && beside)
        unlabel_beside(directory, name);
    if (failure)
        return tell(failure, "create", name, err);
    walk_facts(&directory->shelf, file->fd, name, &facts, ret_facts);
    return STATUS_OK;
}

/* Refuses early what the link would refuse at the end, for the sake of the bytes. */
static enum status refuse_existing(struct directory *directory, const char *name, struct err *err)
{
    bool there = false;
    int failure = shelf_name_valid(name) ? shelf_has(&directory->shelf, name, &there) : EINVAL;
    if (failure == EINVAL)
        return refuse_name(name, err);
    if (failure)
        return tell(failure, "look at", name, err);
    return there ? tell(EEXIST, "create", name, err) : STATUS_OK;
}

static enum status directory_put(struct blob_store *store, const struct call *call, const char *name, const void *bytes,
                                 size_t len, uint64_t crc, const struct blob_about *about, struct blob_facts *ret_facts,
                                 struct err *err)
{
    struct directory *directory = directory_of(store);
    AUTO_STAGED_FILE struct staged_file file = NO_STAGED_FILE;
    if (call_cancelled(call))
        return tell(ECANCELED, "create", name, err);
    if (crc64(0, bytes, len) != crc)
        return err_set(err, STATUS_CORRUPT, "create '%s': the bytes are not those of the digest", name);
    enum status status = refuse_existing(directory, name, err);
    if (status != STATUS_OK)
        return status;
    int failure = staged_file_open(&directory->staging, NULL, &file);
    failure = failure ? failure : write_in_pieces(file.fd, bytes, len, 0, call);
    if (failure)
        return tell(failure, "create", name, err);
    return publish(directory, &file, name, about, crc, ret_facts, err);
}

static enum status directory_stage(struct blob_store *store, const struct call *call, const char *name,
                                   const struct blob_block *block, const void *bytes, uint64_t crc, struct err *err)
{
    struct directory *directory = directory_of(store);
    struct pile_source source = {.bytes = bytes, .fd = -1};
    if (!shelf_name_valid(name))
        return refuse_name(name, err);
    if (call_cancelled(call))
        return tell(ECANCELED, "stage a block of", name, err);
    if (!block->len || crc64(0, bytes, block->len) != crc)
        return err_set(err, block->len ? STATUS_CORRUPT : STATUS_INVALID,
                       "stage a block of '%s': the bytes are not those of the digest", name);
    return pile_stage(&directory->piles, call, name, block, &source, &crc, err);
}

/* Opens a blob that must have the ETag. */
static enum status open_pinned(struct directory *directory, const char *name, const char *etag, int *ret_fd,
                               struct err *err)
{
    AUTO_FD int fd = -1;
    struct stat facts;
    char is[LIMIT_ETAG_BYTES];
    int failure = shelf_find(&directory->shelf, name, &fd, &facts);
    if (failure)
        return tell(failure, "open", name, err);
    shelf_etag(&facts, is);
    if (strcmp(is, etag) != 0)
        return err_set(err, STATUS_CONDITION, "'%s' has another ETag", name);
    *ret_fd = fd;
    fd = -1;
    return STATUS_OK;
}

/* Whether the open blob still has the ETag: who reads a file that somebody changes beside us must not take it for the
 * blob. */
static enum status still_pinned(int fd, const char *name, const char *etag, struct err *err)
{
    struct stat facts;
    char is[LIMIT_ETAG_BYTES];
    if (fstat(fd, &facts))
        return tell(errno, "read", name, err);
    shelf_etag(&facts, is);
    return strcmp(is, etag) == 0 ? STATUS_OK
                                 : err_set(err, STATUS_CONDITION, "'%s' was changed while it was read", name);
}

static enum status directory_stage_from(struct blob_store *store, const struct call *call, const char *name,
                                        const struct blob_block *block, const char *source_name,
                                        const char *source_etag, uint64_t source_offset, uint64_t *ret_crc64,
                                        struct err *err)
{
    struct directory *directory = directory_of(store);
    AUTO_FD int fd = -1;
    uint64_t crc = 0;
    if (!shelf_name_valid(name) || !block->len)
        return refuse_name(name, err);
    enum status status = open_pinned(directory, source_name, source_etag, &fd, err);
    if (status != STATUS_OK)
        return status;
    struct pile_source source = {.fd = fd, .offset = source_offset};
    status = pile_stage(&directory->piles, call, name, block, &source, &crc, err);
    if (status == STATUS_OK)
        status = still_pinned(fd, source_name, source_etag, err);
    if (status == STATUS_OK)
        *ret_crc64 = crc;
    return status;
}

/* Commits a pile that the caller has taken. */
static enum status commit_pile(struct directory *directory, struct pile *pile, const char *name,
                               const struct blob_block *blocks, size_t count, const struct blob_about *about,
                               struct blob_facts *ret_facts, struct err *err)
{
    struct staged_file *file = NULL;
    uint64_t len = 0, crc = 0;
    enum status status = refuse_existing(directory, name, err);
    if (status == STATUS_OK)
        status = pile_arrange(pile, blocks, count, &file, &len, &crc, err);
    if (status == STATUS_OK)
        status = publish(directory, file, name, about, crc, ret_facts, err);
    return status;
}

static enum status directory_commit(struct blob_store *store, const struct call *call, const char *name,
                                    const struct blob_block *blocks, size_t count, const struct blob_about *about,
                                    struct blob_facts *ret_facts, struct err *err)
{
    struct directory *directory = directory_of(store);
    if (call_cancelled(call))
        return tell(ECANCELED, "commit", name, err);
    struct pile *pile = pile_take(&directory->piles, name);
    if (!pile && !count)
        return directory_put(store, call, name, "", 0, 0, about, ret_facts, err);
    enum status status = pile ? commit_pile(directory, pile, name, blocks, count, about, ret_facts, err)
                              : refuse_existing(directory, name, err);
    if (!pile)
        return status == STATUS_OK ? err_set(err, STATUS_INVALID, "commit '%s': nothing is staged", name) : status;
    if (status == STATUS_OK)
        pile_end(&directory->piles, pile);
    else
        pile_give_back(&directory->piles, pile);
    return status;
}

static enum status directory_unstage(struct blob_store *store, const struct call *call, const char *name,
                                     const struct blob_about *about, struct err *err)
{
    (void)call; /* it waits for writers alone, who have their own call */
    (void)about;
    struct directory *directory = directory_of(store);
    pile_end(&directory->piles, pile_take(&directory->piles, name));
    return refuse_existing(directory, name, err);
}

/* ---- looking and reading ---- */

static enum status directory_stat(struct blob_store *store, const struct call *call, const char *name,
                                  struct blob_facts *ret_facts, struct err *err)
{
    (void)call; /* a local look is not waited for */
    struct directory *directory = directory_of(store);
    AUTO_FD int fd = -1;
    struct stat facts;
    int failure = shelf_find(&directory->shelf, name, &fd, &facts);
    if (failure)
        return tell(failure, "look at", name, err);
    walk_facts(&directory->shelf, fd, name, &facts, ret_facts);
    return STATUS_OK;
}

static enum status directory_read(struct blob_store *store, const struct call *call, const char *name, const char *etag,
                                  uint64_t offset, void *ret_bytes, size_t len, struct err *err)
{
    AUTO_FD int fd = -1;
    size_t got = 0;
    if (call_cancelled(call))
        return tell(ECANCELED, "read", name, err);
    enum status status = open_pinned(directory_of(store), name, etag, &fd, err);
    if (status != STATUS_OK)
        return status;
    int failure = offset > INT64_MAX - len ? 0 : file_read_all(fd, ret_bytes, len, (off_t)offset, &got);
    if (failure)
        return tell(failure, "read", name, err);
    status = still_pinned(fd, name, etag, err);
    if (status == STATUS_OK && got < len)
        return err_set(err, STATUS_CORRUPT, "read '%s': %zu bytes at %" PRIu64 " instead of %zu", name, got, offset,
                       len);
    return status;
}

static enum status directory_list(struct blob_store *store, const struct call *call, const char *prefix,
                                  blob_list_fn *fn, void *context, struct err *err)
{
    return walk_blobs(&directory_of(store)->shelf, call, prefix, fn, context, err);
}

/* ---- deleting ---- */

static enum status directory_remove(struct blob_store *store, const struct call *call, const char *name,
                                    enum blob_guard guard, const char *etag, struct err *err)
{
    struct directory *directory = directory_of(store);
    AUTO_FD int fd = -1;
    if (guard == GUARD_TAG_PENDING)
        return err_set(err, STATUS_INVALID, "remove '%s': a folder has no tags to guard it by", name);
    if (!shelf_name_valid(name))
        return refuse_name(name, err);
    if (call_cancelled(call))
        return tell(ECANCELED, "remove", name, err);
    enum status status = guard == GUARD_ETAG ? open_pinned(directory, name, etag, &fd, err) : STATUS_OK;
    if (status != STATUS_OK && status != STATUS_NOT_FOUND)
        return status;
    int failure = shelf_unlink(&directory->shelf, name); /* NOT_FOUND too is made to last */
    if (failure == EPERM)
        return err_set(err, STATUS_LEASED, "remove '%s': the file is immutable or the folder does not let go of it",
                       name);
    if (failure)
        return tell(failure, "remove", name, err);
    unlabel_beside(directory, name);
    return STATUS_OK;
}

/* ---- tags ---- */

static enum status directory_tag_committed(struct blob_store *store, const struct call *call, const char *name,
                                           int64_t number, struct err *err)
{
    (void)store;
    (void)call;
    (void)number;
    return err_set(err, STATUS_UNSUPPORTED, "tag '%s': a folder has no tags", name);
}

static enum status directory_tag_get(struct blob_store *store, const struct call *call, const char *name,
                                     enum blob_tag *ret_tag, struct err *err)
{
    (void)ret_tag;
    return directory_tag_committed(store, call, name, 0, err);
}

/* ---- the control blob ---- */

/* Unlike blobs it is overwritten, and an inode may come back within one tick of the file system's clock: its digest
 * belongs to its ETag. */
static enum status control_load(struct directory *directory, const char *name, struct buf *text,
                                char ret_etag[LIMIT_ETAG_BYTES], struct err *err)
{
    AUTO_FD int fd = -1;
    struct stat facts;
    size_t len = 0;
    int failure = shelf_find(&directory->shelf, name, &fd, &facts);
    AUTO_FREE char *bytes = failure ? NULL : malloc(CONTROL_MAX + 1);
    if (!failure)
        failure = bytes ? file_read_all(fd, bytes, CONTROL_MAX + 1, 0, &len) : ENOMEM;
    if (failure)
        return tell(failure, "read the control blob", name, err);
    enum status status = buf_append(text, bytes, len);
    if (status != STATUS_OK)
        return err_set(err, STATUS_CORRUPT, "the control blob '%s' is too long", name);
    (void)snprintf(ret_etag, LIMIT_ETAG_BYTES, "\"%" PRIx64 ":%" PRIx64 ":%zx\"", (uint64_t)facts.st_ino,
                   crc64(0, bytes, len), len);
    return STATUS_OK;
}

static enum status directory_control_read(struct blob_store *store, const struct call *call, const char *name,
                                          char *ret_text, size_t capacity, char ret_etag[LIMIT_ETAG_BYTES],
                                          struct err *err)
{
    (void)call; /* a local look is not waited for */
    char etag[LIMIT_ETAG_BYTES];
    AUTO_BUF struct buf text;
    buf_init(&text, CONTROL_MAX);
    enum status status = control_load(directory_of(store), name, &text, etag, err);
    if (status != STATUS_OK)
        return status;
    if (text.len >= capacity)
        return err_set(err, STATUS_CORRUPT, "the control blob '%s' is too long", name);
    memcpy(ret_text, text.bytes, text.len + 1);
    memcpy(ret_etag, etag, sizeof etag);
    return STATUS_OK;
}

/* Whether the control blob is what the writer believes. The caller holds the lock. */
static enum status control_expect(struct directory *directory, const char *name, const char *etag, struct err *err)
{
    char is[LIMIT_ETAG_BYTES];
    AUTO_BUF struct buf text;
    buf_init(&text, CONTROL_MAX);
    enum status status = control_load(directory, name, &text, is, err);
    if (status == STATUS_NOT_FOUND)
        return etag ? err_set(err, STATUS_CONDITION, "the control blob '%s' is gone", name) : STATUS_OK;
    if (status != STATUS_OK)
        return status;
    if (!etag)
        return err_set(err, STATUS_EXISTS, "the control blob '%s' exists already", name);
    return strcmp(is, etag) == 0 ? STATUS_OK
                                 : err_set(err, STATUS_CONDITION, "the control blob '%s' has changed", name);
}

static enum status control_replace(struct directory *directory, const char *name, const char *text, struct err *err)
{
    AUTO_STAGED_FILE struct staged_file file = NO_STAGED_FILE;
    int failure = staged_file_open(&directory->staging, NULL, &file);
    failure = failure ? failure : file_write_all(file.fd, text, strlen(text), 0);
    if (!failure && fsync(file.fd))
        failure = errno;
    failure = failure ? failure : shelf_replace(&directory->shelf, directory->staging.fd, file.name, name);
    return failure ? tell(failure, "write the control blob", name, err) : STATUS_OK;
}

static enum status directory_control_write(struct blob_store *store, const struct call *call, const char *name,
                                           const char *text, const char *etag, char ret_etag[LIMIT_ETAG_BYTES],
                                           struct err *err)
{
    struct directory *directory = directory_of(store);
    AUTO_LOCK struct lock lock = LOCK_CLOSED;
    AUTO_BUF struct buf back;
    buf_init(&back, CONTROL_MAX);
    if (!shelf_name_valid(name))
        return refuse_name(name, err);
    enum status status = lock_open(directory->shelf.fd, CONTROL_LOCK, true, &lock, err);
    if (status == STATUS_OK)
        status = lock_wait(&lock, call && call->deadline_ms ? call->deadline_ms : CONTROL_WAIT_MS, err);
    if (status == STATUS_OK)
        status = control_expect(directory, name, etag, err);
    if (status == STATUS_OK)
        status = control_replace(directory, name, text, err);
    if (status == STATUS_OK)
        status = control_load(directory, name, &back, ret_etag, err);
    return status;
}

/* ---- opening ---- */

static void directory_close(struct blob_store *store)
{
    struct directory *directory = directory_of(store);
    piles_done(&directory->piles);
    staging_close(&directory->staging);
    shelf_close(&directory->shelf);
    free(directory);
}

static const struct blob_ops ops = {
    .capabilities = directory_capabilities,
    .put = directory_put,
    .stage = directory_stage,
    .stage_from = directory_stage_from,
    .commit = directory_commit,
    .unstage = directory_unstage,
    .stat = directory_stat,
    .read = directory_read,
    .remove = directory_remove,
    .tag_committed = directory_tag_committed,
    .tag_get = directory_tag_get,
    .list = directory_list,
    .control_read = directory_control_read,
    .control_write = directory_control_write,
    .close = directory_close,
};

enum status directory_open(const char *path, bool create, struct blob_store **ret_store, struct err *err)
{
    AUTO_FREE struct directory *directory = calloc(1, sizeof *directory);
    if (!directory)
        return err_set(err, STATUS_NO_MEMORY, "open '%s': out of memory", path);
    enum status status = shelf_open(path, create, &directory->shelf, err);
    if (status != STATUS_OK)
        return status;
    status = staging_open(directory->shelf.fd, &directory->staging, err);
    if (status != STATUS_OK) {
        shelf_close(&directory->shelf);
        return status;
    }
    piles_init(&directory->piles, &directory->staging);
    directory->store.ops = &ops;
    *ret_store = &TAKE(directory)->store;
    return STATUS_OK;
}
