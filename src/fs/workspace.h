/* workspace.h - a document that is open and not published: what its writers have made of it so far.
 *
 * Writers of one document on a mount share its newest workspace (S5). It has a node of its own, a draft that is written
 * to, and, while it is being published, the frozen draft under that. It lives while handles or wishes hold it.
 *
 * Two locks: fields of the first group are protected by the table's lock (fs->lock), those of the second by `lock`,
 * which may be taken while the table's is held. Neither is held while bytes go to the store.
 */
#ifndef READYFS_FS_WORKSPACE_H
#define READYFS_FS_WORKSPACE_H

#include "fs/draft.h"
#include "fs/filesystem.h"

struct workspace {
    struct fs *fs;
    int64_t document;
    uint64_t number; /* the newest has the highest */

    /* protected by the table's lock */
    struct node *node;
    unsigned holders;          /* handles, wishes, and whoever is at it just now */
    struct fs_handle *handles; /* those that are open on it */
    bool fresh;                /* begun for an O_TRUNC whose OPEN has not arrived: nobody else joins it */
    bool ending;               /* its bytes are being given up: nobody joins it any more */
    bool unwalked;             /* opened past the kernel's node: publishing must be told for its name too */
    int64_t dir;               /* where it was opened, 0 where not known; for S6 and for messages */
    atomic_bool poisoned;      /* written under `lock`, read under either */

    pthread_mutex_t lock;
    pthread_cond_t changed; /* a publish ended, a stream's users are gone */
    /* protected by lock */
    struct name name;     /* written before others know the workspace, and by rename */
    struct draft *top;    /* owned: what is written to */
    struct draft *frozen; /* owned: what is being published, else NULL */
    int64_t base;         /* the version that it began from or has published, 0 for none */
    bool owes_new;        /* the document was never Ready: its last release publishes */
    bool owes_truncated;  /* opened with O_TRUNC: likewise */
    bool dirty;           /* written to since the last publish */
    bool append_only;     /* and only through O_APPEND */
    bool killed;          /* a program was killed while it had this open for writing (S29) */
    bool failed;          /* the last publish failed, and its program was told */
    bool timer_failed;    /* the timer's publish failed, and it was not written to since */
    bool unlinked;        /* the last name was removed here: nothing will be published (S17) */
    bool written;         /* mtime_ns and mode count: it was written to or its times were set */
    struct err poison;    /* why a write failed (S9), or why publishing did */
    int64_t mtime_ns, ctime_ns, written_boot_ms;
    uid_t writer; /* whose write may end set-id bits; 0: root's, or none */
};

/* What a new workspace begins with. */
struct workspace_start {
    int64_t document;
    int64_t dir;
    const struct name *name;        /* NULL where not known */
    const struct document_row *row; /* where the caller has just read it, else NULL */
    uint64_t removals;              /* with `row`: fs->removals from before it was read */
    bool truncate;                  /* begin empty, whatever there is */
    bool fresh;
};

/* Begins a workspace and its node, held once by the caller. NOT_FOUND: no such document any more. */
MUST_CHECK enum status workspace_begin(struct fs *fs, const struct workspace_start *start,
                                       struct workspace **ret_workspace, struct err *err);

/* The workspace that a writer of the document is led to, held: the newest, or one of its own where it truncates or
 * there is none. NOT_FOUND: no such document any more. */
MUST_CHECK enum status workspace_for(struct fs *fs, int64_t document, bool truncates, struct workspace **ret_workspace,
                                     struct err *err);

/* The newest that there is, whatever its state: what the name of an unpublished file leads to; or NULL. Table lock
 * held.
 */
struct workspace *workspace_any(struct fs *fs, int64_t document);

/* Holding and letting go. The last to let go abandons what is left: publish or keep it before (publish.h). */
void workspace_hold(struct workspace *workspace); /* table lock held */
void workspace_let_go(struct workspace *workspace);

/* The size, times and mode that it has; the row is the document's. Lock not held. */
void workspace_show(struct workspace *workspace, struct document_row *row);

/* Whether something would be published at the last release. */
bool workspace_owes(struct workspace *workspace);

struct workspace_write {
    uint64_t offset;
    const void *bytes;
    size_t len;
    bool append; /* the descriptor has O_APPEND */
    bool at_end; /* the kernel's idea of the end is another node's: write at ours */
    uid_t uid;
};
MUST_CHECK enum status workspace_write(struct workspace *workspace, const struct workspace_write *write,
                                       struct err *err);
MUST_CHECK enum status workspace_read(struct workspace *workspace, uint64_t offset, void *ret_bytes, size_t len,
                                      size_t *ret_len, const atomic_bool *cancelled, struct err *err);
MUST_CHECK enum status workspace_resize(struct workspace *workspace, uint64_t size, uid_t uid, struct err *err);
/* fallocate(2): modes 0, KEEP_SIZE, PUNCH_HOLE, ZERO_RANGE; UNSUPPORTED for others. */
MUST_CHECK enum status workspace_allocate(struct workspace *workspace, int mode, uint64_t offset, uint64_t len,
                                          uid_t uid, struct err *err);
MUST_CHECK enum status workspace_seek(struct workspace *workspace, uint64_t offset, bool hole, uint64_t *ret_offset,
                                      struct err *err);

/* Every workspace of the document takes these times (utimens sets workspace and Ready version alike), or its end. Table
 * lock held. */
void workspaces_set_times(struct fs *fs, int64_t document, const struct attr_change *change, int64_t now_ns);
void workspaces_unlinked(struct fs *fs, int64_t document);
void workspaces_renamed(struct fs *fs, int64_t document, int64_t dir, const struct name *name);

#endif
