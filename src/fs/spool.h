/* spool.h - local files that hold what programs wrote until it is published.
 *
 * A spool file is sparse: byte n of the content lies at byte n of the file, where it was written at all. Beside
 * NUMBER.data stands NUMBER.info with lines "key=value" that say whose bytes these are, and, where a base lies
 * underneath, a line for each range that is not the base's: so a later mount finds the bytes of a session that died and
 * can put the whole content together (adopt.h). Nothing is synced here: what is lost with the machine was not
 * published.
 *
 * The folder's limit counts the bytes that files hold, not their holes. A spool file is counted by its holders; when
 * the last one lets go, both files are deleted, or emptied and kept for the next one: making and deleting two files for
 * each document is what a copy of many small ones would spend most of its time on. Any thread; writes to one file are
 * its owner's to order.
 */
#ifndef READYFS_FS_SPOOL_H
#define READYFS_FS_SPOOL_H

#include "base/err.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spool;

struct spools {
    char *folder; /* owned */
    int fd;
    uint64_t bytes_max; /* 0: no limit */
    atomic_uint_fast64_t bytes_used;
    atomic_uint next;
    pthread_mutex_t lock; /* protects the next two; leaf */
    struct spool *spares; /* empty files */
    unsigned spare_count;
};

/* Makes the folder if it is not there. */
MUST_CHECK enum status spools_init(struct spools *spools, const char *folder, uint64_t bytes_max, struct err *err);
void spools_done(struct spools *spools); /* takes the folder away if it is empty */

/* Takes `bytes` of the limit, or NO_SPACE; gives them back. */
MUST_CHECK enum status spools_charge(struct spools *spools, uint64_t bytes, struct err *err);
void spools_credit(struct spools *spools, uint64_t bytes);

struct spool_about {
    int64_t document;
    int64_t base;     /* the version underneath; 0 for none, -1 for one that was being published */
    const char *name; /* the document's last name component; "" where it is not known */
};

MUST_CHECK enum status spool_new(struct spools *spools, const struct spool_about *about, struct spool **ret_spool,
                                 struct err *err);
/* The files of a session that died, by the name of the info file. *ret_size: of the data file. NOT_FOUND. */
MUST_CHECK enum status spool_open(struct spools *spools, const char *info, struct spool **ret_spool, uint64_t *ret_size,
                                  struct err *err);
/* Its files stay when it is dropped. */
void spool_leave(struct spool *spool);
struct spool *spool_ref(struct spool *spool);
void spool_drop(struct spool *spool); /* NULL is fine */

MUST_CHECK enum status spool_write(struct spool *spool, uint64_t offset, const void *bytes, size_t len,
                                   struct err *err);
/* Exactly len bytes; what was never written reads as zeros. */
MUST_CHECK enum status spool_read(struct spool *spool, uint64_t offset, void *ret_bytes, size_t len, struct err *err);
void spool_punch(struct spool *spool, uint64_t offset, uint64_t len); /* frees the disk; it reads as zeros then */
MUST_CHECK enum status spool_resize(struct spool *spool, uint64_t size, struct err *err);

/* Notes in the info file that a range is no longer the base's: 'w' written, 'z' zero; 's': `offset` is the size; 'g':
 * the range left the spool. But for 'g' only where there is a base; a failure to note costs a later recovery precision,
 * not this writer its bytes. */
void spool_note(struct spool *spool, char what, uint64_t offset, uint64_t len);

/* The data file, for moving it away (recover.h): folder and name. */
int spool_folder(const struct spool *spool);
const char *spool_file(const struct spool *spool);

#endif
