/* pile.h - the staged blocks of a blob that the directory store does not have yet.
 *
 * A pile is one staged file in which each block lies where the blob will have it, so that a commit has nothing to copy.
 * A place belongs to the id that was staged there first: a block that another id overlaps (the same part of the file,
 * staged anew under its next generation) goes to a second staged file and is moved to its place by the commit that
 * names it. So a block once staged stays as it was (P2), whatever arrives late or twice, as on a service.
 *
 * Piles belong to one open store; those of a dead one die with its staging folder. Any thread; blocks of one pile are
 * written side by side, and a commit has a pile for itself.
 */
#ifndef READYFS_BLOB_PILE_H
#define READYFS_BLOB_PILE_H

#include "blob/blob.h"
#include "blob/staging.h"

#include <pthread.h>

struct pile;

struct piles {
    struct staging *staging; /* borrowed */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a writer or an owner has left a pile */
    struct pile *all;       /* protected by lock, as is all within but the staged files' bytes */
};

/* Where a block's bytes come from: memory, or a range of an open file. */
struct pile_source {
    const void *bytes; /* NULL: the file */
    int fd;
    uint64_t offset;
};

void piles_init(struct piles *piles, struct staging *staging);
/* Throws all piles away. */
void piles_done(struct piles *piles);

/* Writes one block, whose digest `*crc64` is, or becomes where the source is a file. NO_SPACE, INTERRUPTED, CORRUPT
 * (the source is too short), INVALID (the id was staged with other bytes). */
MUST_CHECK enum status pile_stage(struct piles *piles, const struct call *call, const char *name,
                                  const struct blob_block *block, const struct pile_source *source, uint64_t *crc64,
                                  struct err *err);

/* Takes a pile for oneself, once its writers have left; NULL where there is none. Ends with one of the next two. */
struct pile *pile_take(struct piles *piles, const char *name);
void pile_give_back(struct piles *piles, struct pile *pile);
void pile_end(struct piles *piles, struct pile *pile); /* throws it away; NULL is fine */

/* Makes the staged file of a taken pile exactly the listed blocks, one behind the other. INVALID, and nothing has
 * changed, where a block is not staged so. The staged file stays the pile's. */
MUST_CHECK enum status pile_arrange(struct pile *pile, const struct blob_block *blocks, size_t count,
                                    struct staged_file **ret_file, uint64_t *ret_len, uint64_t *ret_crc64,
                                    struct err *err);

/* Writes from memory in pieces, between which the call may be cancelled. 0, an errno, ECANCELED. */
MUST_CHECK int write_in_pieces(int fd, const void *bytes, size_t len, uint64_t offset, const struct call *call);

/* Whether the caller no longer waits. */
bool call_cancelled(const struct call *call);

#endif
