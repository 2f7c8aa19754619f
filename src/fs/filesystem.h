/* filesystem.h - what the files of fs/ share: struct fs, its one lock, and small helpers around it. Private to fs/.
 *
 * `lock` is the table's lock: it protects nodes, wishes, handles' places in lists, and which workspaces there are. It
 * may be held while a workspace's lock or the session's is taken, never the other way round, and never across a call
 * that waits for catalogue, store or kernel.
 */
#ifndef READYFS_FS_FILESYSTEM_H
#define READYFS_FS_FILESYSTEM_H

#include "document/view.h"
#include "document/world.h"
#include "fs/fs.h"
#include "fs/node.h"
#include "fs/own.h"
#include "fs/recover.h"
#include "fs/spool.h"
#include "host/clock.h"

#include <pthread.h>

/* How long the kernel may believe what it was told without asking. The watcher corrects it within a tenth of a second;
 * this heals what a race with the watcher may leave. */
#define TIMEOUT_LONG_S     30.0
#define TIMEOUT_NEGATIVE_S 1.0
#define TIMEOUT_CREATED_S  1.0

#define PAGE_BYTES 4096ull /* of the kernel's page cache */

/* How often a name is looked up anew because what it led to was removed before it could be opened. */
#define LOOKS_MAX 100

struct wish;
struct workspace;

#define ATIMES_MAX 512 /* reads between two ticks whose access times are written */

struct atime {
    int64_t document, ns;
};

/* A publish under way, so that a fatal signal can end it. */
struct publishing {
    struct publishing *next;
    struct workspace *workspace;
    struct upload *upload;        /* NULL while it waits for its turn */
    const atomic_bool *cancelled; /* of the request; NULL for none */
};

struct fs {
    struct view *view;
    struct session *session;
    struct fs_options options; /* its strings are owned */
    struct spools spools;
    struct recovery recovery;
    struct own own;
    atomic_uint_fast64_t removals; /* counts the documents whose last name was removed here */
    atomic_uint_fast64_t changes;  /* counts whatever may make an answer on its way old */

    pthread_mutex_t lock;
    pthread_cond_t released; /* an announced release is done */
    /* protected by lock */
    struct nodes nodes;
    struct wish *wishes;
    struct fs_handle *open;      /* all handles */
    struct fs_handle *announced; /* whose releases are announced */
    uint64_t tickets;            /* of announced releases */
    unsigned handles, workspaces;
    uint64_t next_workspace;
    uint64_t epoch, epoch_seen; /* counts what session_moved told; its memory */
    struct publishing *publishing;
    struct atime atimes[ATIMES_MAX];
    size_t atime_count;
    int64_t synced_boot_ms;

    /* the watcher's alone */
    uint64_t watch_seen;
    int64_t watch_seq;
};

static inline void fs_lock(struct fs *fs)
{
    pthread_mutex_lock(&fs->lock);
}

static inline void fs_unlock(struct fs *fs)
{
    pthread_mutex_unlock(&fs->lock);
}

static inline int64_t fs_now_ns(struct fs *fs)
{
    return clock_utc_ns(session_world(fs->session)->clock);
}

static inline int64_t fs_boot_ms(struct fs *fs)
{
    return clock_boot_ms(session_world(fs->session)->clock);
}

/* The node, its document and version; STALE for a number that is not known. */
struct node_key {
    uint64_t number;
    int64_t document, version;
    uint32_t mode;
};
MUST_CHECK enum status fs_key(struct fs *fs, uint64_t node, struct node_key *ret_key, struct err *err);

/* READ_ONLY on a read-only mount. */
MUST_CHECK enum status fs_writable(const struct fs *fs, struct err *err);

/* Applies operations, ordered, and remembers that they were ours. */
MUST_CHECK enum status fs_apply(struct fs *fs, struct op *ops, size_t count, struct err *err);

/* Puts "what 'name'" before the message, with a message where there was none. */
enum status fs_fail(struct fs *fs, enum status status, const char *what, int64_t document, struct err *err);

/* Tells the kernel that the attributes of all nodes of a document but `except` are old. Without locks. */
void fs_tell_others(struct fs *fs, int64_t document, uint64_t except);

/* Whether the document has a workspace here: then the kernel must ask each time. Lock held. */
bool fs_has_workspace(const struct fs *fs, int64_t document);

/* The node of a Ready version or of what is no file, made at need; NULL when out of memory. Lock held. */
struct node *fs_node_of(struct fs *fs, const struct document_row *row);

/* Fills an entry for the node and counts a lookup. `changes`: fs->changes before the row was read. Lock held. */
void fs_fill_entry(struct fs *fs, struct node *node, const struct document_row *row, uint64_t changes,
                   struct fs_entry *ret_entry);

/* The nodes of the document keep its row, so that a document that is removed can still be shown to its descriptors. */
void fs_note_row(struct fs *fs, const struct document_row *row);

/* Waits for the releases in directory `dir` that were announced before this call (S6). */
void fs_wait_released(struct fs *fs, int64_t dir);

#endif
