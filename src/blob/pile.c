/* pile.c - staged blocks: where each lies, who writes, and putting them in order. */
#define HASH_NONFATAL_OOM 1 /* seen by the handle that stays without a table */

#include "blob/pile.h"

#include "base/digest.h"
#include "host/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <uthash.h>

#define PIECE_BYTES (1024 * 1024)

struct pile_block {
    char id[BLOCK_ID_TEXT_SIZE];
    uint64_t offset, len; /* in the blob */
    uint64_t aside;       /* where it lies in the second staged file, unless it is at its place */
    bool at_place;
    bool whole; /* written to the end */
    uint64_t crc64;
    UT_hash_handle hh;
};

struct pile {
    char name[LIMIT_BLOB_NAME_BYTES];
    struct staged_file file, second;
    uint64_t second_len;
    unsigned writers;
    bool taken;
    struct pile_block *blocks;  /* by id, owned */
    struct pile_block **placed; /* those at their place, by offset */
    size_t placed_count, placed_room;
    UT_hash_handle hh;
};

bool call_cancelled(const struct call *call)
{
    return call && call->cancelled && atomic_load(call->cancelled);
}

int write_in_pieces(int fd, const void *bytes, size_t len, uint64_t offset, const struct call *call)
{
    const char *in = bytes;
    while (len) {
        size_t piece = len < PIECE_BYTES ? len : PIECE_BYTES;
        if (call_cancelled(call))
            return ECANCELED;
        int failure = file_write_all(fd, in, piece, (off_t)offset);
        if (failure)
            return failure;
        in += piece;
        offset += piece;
        len -= piece;
    }
    return 0;
}

/* One piece through memory, for file systems that cannot copy by themselves. */
static int copy_piece(int from_fd, uint64_t from, int to_fd, uint64_t to, size_t len)
{
    size_t got = 0;
    AUTO_FREE char *piece = malloc(len);
    if (!piece)
        return ENOMEM;
    int failure = file_read_all(from_fd, piece, len, (off_t)from, &got);
    if (failure)
        return failure;
    return got < len ? ENODATA : file_write_all(to_fd, piece, len, (off_t)to);
}

static bool cannot_copy(int failure)
{
    return failure == EXDEV || failure == EOPNOTSUPP || failure == ENOSYS || failure == EINVAL;
}

/* Copies len bytes between open files, by reference where the file system can. 0, an errno, ECANCELED where the call is
 * cancelled, ENODATA where the source ends too early. */
static int copy_between(int from_fd, uint64_t from, int to_fd, uint64_t to, uint64_t len, const struct call *call)
{
    while (len) {
        size_t piece = len < PIECE_BYTES ? (size_t)len : PIECE_BYTES;
        loff_t in = (loff_t)from, out = (loff_t)to;
        if (call_cancelled(call))
            return ECANCELED;
        ssize_t done = copy_file_range(from_fd, &in, to_fd, &out, piece, 0);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0 && cannot_copy(errno)) {
            int failure = copy_piece(from_fd, from, to_fd, to, piece);
            if (failure)
                return failure;
            done = (ssize_t)piece;
        }
        if (done <= 0)
            return done < 0 ? errno : ENODATA;
        from += (uint64_t)done;
        to += (uint64_t)done;
        len -= (uint64_t)done;
    }
    return 0;
}

/* The digest of what was copied, read back from the copy. */
static int digest_of(int fd, uint64_t offset, uint64_t len, const struct call *call, uint64_t *ret_crc64)
{
    AUTO_FREE char *piece = malloc(PIECE_BYTES);
    if (!piece)
        return ENOMEM;
    *ret_crc64 = 0;
    while (len) {
        size_t want = len < PIECE_BYTES ? (size_t)len : PIECE_BYTES, got = 0;
        int failure = call_cancelled(call) ? ECANCELED : file_read_all(fd, piece, want, (off_t)offset, &got);
        if (failure || got < want)
            return failure ? failure : EIO;
        *ret_crc64 = crc64(*ret_crc64, piece, got);
        offset += got;
        len -= got;
    }
    return 0;
}

/* ---- where blocks lie ---- */

/* How many placed blocks begin before `offset`. */
static size_t placed_before(const struct pile *pile, uint64_t offset)
{
    size_t low = 0, high = pile->placed_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pile->placed[middle]->offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Whether placed[i] and the range have a byte in common. */
static bool overlaps(const struct pile *pile, size_t i, uint64_t offset, uint64_t len)
{
    const struct pile_block *block = pile->placed[i];
    return block->offset < offset + len && offset < block->offset + block->len;
}

static bool place_taken(const struct pile *pile, uint64_t offset, uint64_t len)
{
    size_t at = placed_before(pile, offset);
    return (at > 0 && overlaps(pile, at - 1, offset, len)) ||
           (at < pile->placed_count && overlaps(pile, at, offset, len));
}

/* Makes sure that one more can be placed. */
static int reserve_place(struct pile *pile)
{
    if (pile->placed_count < pile->placed_room)
        return 0;
    size_t room = pile->placed_room ? 2 * pile->placed_room : 16;
    struct pile_block **placed = realloc(pile->placed, room * sizeof(struct pile_block *));
    if (!placed)
        return ENOMEM;
    pile->placed = placed;
    pile->placed_room = room;
    return 0;
}

static void put_at_place(struct pile *pile, struct pile_block *block)
{
    size_t at = placed_before(pile, block->offset);
    memmove(pile->placed + at + 1, pile->placed + at, (pile->placed_count - at) * sizeof(struct pile_block *));
    pile->placed[at] = block;
    pile->placed_count++;
    block->at_place = true;
}

static void drop_block(struct pile *pile, struct pile_block *block)
{
    HASH_DEL(pile->blocks, block);
    free(block);
}

/* Drops the placed blocks that have a byte of the range. */
static void clear_place(struct pile *pile, uint64_t offset, uint64_t len)
{
    size_t kept = 0;
    for (size_t i = 0; i < pile->placed_count; i++) {
        if (overlaps(pile, i, offset, len))
            drop_block(pile, pile->placed[i]);
        else
            pile->placed[kept++] = pile->placed[i];
    }
    pile->placed_count = kept;
}

/* Chooses where a new block goes. 0 or an errno. */
static int choose_place(struct piles *piles, struct pile *pile, struct pile_block *block)
{
    int failure = reserve_place(pile);
    if (failure)
        return failure;
    if (!place_taken(pile, block->offset, block->len)) {
        put_at_place(pile, block);
        return 0;
    }
    failure = pile->second.staging ? 0 : staged_file_open(piles->staging, NULL, &pile->second);
    block->aside = pile->second_len;
    pile->second_len += failure ? 0 : block->len;
    return failure;
}

static struct pile_block *find_block(const struct pile *pile, const char *id)
{
    struct pile_block *block = NULL;
    HASH_FIND_STR(pile->blocks, id, block);
    return block;
}

static int add_block(struct piles *piles, struct pile *pile, const struct blob_block *what,
                     struct pile_block **ret_block)
{
    AUTO_FREE struct pile_block *block = calloc(1, sizeof *block);
    if (!block)
        return ENOMEM;
    (void)snprintf(block->id, sizeof block->id, "%s", what->id);
    block->offset = what->offset;
    block->len = what->len;
    HASH_ADD_STR(pile->blocks, id, block);
    if (!block->hh.tbl)
        return ENOMEM;
    int failure = choose_place(piles, pile, block);
    if (failure)
        HASH_DEL(pile->blocks, block);
    else
        *ret_block = TAKE(block);
    return failure;
}

/* ---- piles and who is in them ---- */

void piles_init(struct piles *piles, struct staging *staging)
{
    *piles = (struct piles){.staging = staging};
    (void)pthread_mutex_init(&piles->lock, NULL);
    (void)pthread_cond_init(&piles->changed, NULL);
}

static void free_pile(struct pile *pile)
{
    struct pile_block *block, *next;
    HASH_ITER (hh, pile->blocks, block, next) {
        drop_block(pile, block);
    }
    staged_file_close(&pile->file);
    staged_file_close(&pile->second);
    free(pile->placed);
    free(pile);
}

void piles_done(struct piles *piles)
{
    struct pile *pile, *next;
    HASH_ITER (hh, piles->all, pile, next) {
        HASH_DEL(piles->all, pile);
        free_pile(pile);
    }
    (void)pthread_cond_destroy(&piles->changed);
    (void)pthread_mutex_destroy(&piles->lock);
}

static int add_pile(struct piles *piles, const char *name, struct pile **ret_pile)
{
    AUTO_FREE struct pile *pile = calloc(1, sizeof *pile);
    if (!pile)
        return ENOMEM;
    (void)snprintf(pile->name, sizeof pile->name, "%s", name);
    pile->file = pile->second = (struct staged_file)NO_STAGED_FILE;
    int failure = staged_file_open(piles->staging, name, &pile->file);
    if (failure)
        return failure;
    HASH_ADD_STR(piles->all, name, pile);
    if (!pile->hh.tbl) {
        staged_file_close(&pile->file);
        return ENOMEM;
    }
    *ret_pile = TAKE(pile);
    return 0;
}

/* The pile, once nobody has it for himself; NULL where there is none. The caller holds the lock. */
static struct pile *find_free(struct piles *piles, const char *name)
{
    struct pile *pile = NULL;
    HASH_FIND_STR(piles->all, name, pile);
    while (pile && pile->taken) {
        (void)pthread_cond_wait(&piles->changed, &piles->lock);
        HASH_FIND_STR(piles->all, name, pile);
    }
    return pile;
}

struct pile *pile_take(struct piles *piles, const char *name)
{
    (void)pthread_mutex_lock(&piles->lock);
    struct pile *pile = find_free(piles, name);
    if (pile)
        pile->taken = true; /* nobody new comes in; those within are waited for */
    while (pile && pile->writers)
        (void)pthread_cond_wait(&piles->changed, &piles->lock);
    (void)pthread_mutex_unlock(&piles->lock);
    return pile;
}

void pile_give_back(struct piles *piles, struct pile *pile)
{
    (void)pthread_mutex_lock(&piles->lock);
    pile->taken = false;
    (void)pthread_cond_broadcast(&piles->changed);
    (void)pthread_mutex_unlock(&piles->lock);
}

void pile_end(struct piles *piles, struct pile *pile)
{
    if (!pile)
        return;
    (void)pthread_mutex_lock(&piles->lock);
    HASH_DEL(piles->all, pile);
    staged_file_unname(&pile->file); /* a late block may begin a new pile of that name */
    (void)pthread_cond_broadcast(&piles->changed);
    (void)pthread_mutex_unlock(&piles->lock);
    free_pile(pile);
}

/* ---- staging ---- */

/* A writer's way in: the pile and the block, both made where they are missing. */
static enum status enter(struct piles *piles, const char *name, const struct blob_block *what, struct pile **ret_pile,
                         struct pile_block **ret_block, struct err *err)
{
    struct pile *pile = find_free(piles, name);
    int failure = pile ? 0 : add_pile(piles, name, &pile);
    struct pile_block *block = failure ? NULL : find_block(pile, what->id);
    if (block && (block->len != what->len || block->offset != what->offset))
        return err_set(err, STATUS_INVALID, "stage a block of '%s': its id was staged for another range", name);
    if (!failure && !block)
        failure = add_block(piles, pile, what, &block);
    if (failure)
        return err_set_errno(err, failure, "stage a block of '%s'", name);
    pile->writers++;
    *ret_pile = pile;
    *ret_block = block;
    return STATUS_OK;
}

static void leave(struct piles *piles, struct pile *pile, struct pile_block *block, bool written, uint64_t crc)
{
    (void)pthread_mutex_lock(&piles->lock);
    if (written) {
        block->whole = true;
        block->crc64 = crc;
    }
    pile->writers--;
    (void)pthread_cond_broadcast(&piles->changed);
    (void)pthread_mutex_unlock(&piles->lock);
}

static int transfer(const struct pile *pile, const struct pile_block *block, const struct call *call,
                    const struct pile_source *source, uint64_t *crc)
{
    int fd = block->at_place ? pile->file.fd : pile->second.fd;
    uint64_t at = block->at_place ? block->offset : block->aside;
    int failure = source->bytes ? write_in_pieces(fd, source->bytes, block->len, at, call)
                                : copy_between(source->fd, source->offset, fd, at, block->len, call);
    if (!failure && !source->bytes)
        failure = digest_of(fd, at, block->len, call, crc);
    if (!failure) /* the disk may begin now; the commit's fsync then has less to wait for, and tells of errors */
        (void)sync_file_range(fd, (off_t)at, (off_t)block->len, SYNC_FILE_RANGE_WRITE);
    return failure;
}

static enum status tell(int failure, const char *name, struct err *err)
{
    if (failure == ECANCELED)
        return err_set(err, STATUS_INTERRUPTED, "stage a block of '%s': cancelled", name);
    if (failure == ENODATA)
        return err_set(err, STATUS_CORRUPT, "stage a block of '%s': the source is too short", name);
    return err_set_errno(err, failure, "stage a block of '%s'", name);
}

enum status pile_stage(struct piles *piles, const struct call *call, const char *name, const struct blob_block *block,
                       const struct pile_source *source, uint64_t *crc64, struct err *err)
{
    struct pile *pile = NULL;
    struct pile_block *own = NULL;
    bool already = false;
    (void)pthread_mutex_lock(&piles->lock);
    enum status status = enter(piles, name, block, &pile, &own, err);
    INVARIANT(status != STATUS_OK || (pile && own));
    if (status == STATUS_OK && own->whole && source->bytes) {
        already = own->crc64 == *crc64;
        status = already ? STATUS_OK : err_set(err, STATUS_INVALID, "stage a block of '%s': other bytes (P2)", name);
        pile->writers--;
        (void)pthread_cond_broadcast(&piles->changed);
    }
    (void)pthread_mutex_unlock(&piles->lock);
    if (status != STATUS_OK || already)
        return status;
    int failure = transfer(pile, own, call, source, crc64);
    leave(piles, pile, own, !failure, *crc64);
    return failure ? tell(failure, name, err) : STATUS_OK;
}

/* ---- arranging ---- */

static enum status check_list(const struct pile *pile, const struct blob_block *blocks, size_t count, uint64_t *ret_len,
                              uint64_t *ret_crc64, struct err *err)
{
    uint64_t len = 0, crc = 0;
    for (size_t i = 0; i < count; i++) {
        const struct pile_block *block = find_block(pile, blocks[i].id);
        if (!block || !block->whole)
            return err_set(err, STATUS_INVALID, "commit '%s': block %zu is not staged", pile->name, i);
        if (block->len != blocks[i].len || block->offset != len)
            return err_set(err, STATUS_INVALID, "commit '%s': block %zu was staged for another range", pile->name, i);
        crc = crc64_combine(crc, block->crc64, block->len);
        len += block->len;
    }
    *ret_len = len;
    *ret_crc64 = crc;
    return STATUS_OK;
}

/* Brings a block that lies aside to its place. Whoever lies there is not on the list, whose blocks do not overlap. */
static int bring(struct pile *pile, struct pile_block *block)
{
    if (block->at_place)
        return 0;
    int failure = reserve_place(pile);
    if (failure)
        return failure;
    clear_place(pile, block->offset, block->len);
    failure = copy_between(pile->second.fd, block->aside, pile->file.fd, block->offset, block->len, NULL);
    if (!failure)
        put_at_place(pile, block);
    return failure;
}

enum status pile_arrange(struct pile *pile, const struct blob_block *blocks, size_t count,
                         struct staged_file **ret_file, uint64_t *ret_len, uint64_t *ret_crc64, struct err *err)
{
    uint64_t len = 0;
    enum status status = check_list(pile, blocks, count, &len, ret_crc64, err);
    if (status != STATUS_OK)
        return status;
    int failure = 0;
    for (size_t i = 0; i < count && !failure; i++)
        failure = bring(pile, find_block(pile, blocks[i].id));
    if (!failure) {
        clear_place(pile, len, UINT64_MAX - len);
        failure = ftruncate(pile->file.fd, (off_t)len) ? errno : 0;
    }
    if (failure)
        return err_set_errno(err, failure, "commit '%s'", pile->name);
    *ret_file = &pile->file;
    *ret_len = len;
    return STATUS_OK;
}
