/* fs.h - files as programs know them, over documents as the protocol knows them, without a FUSE type.
 *
 * The caller (fuse/) unpacks a request, calls one fs_x, and replies. Nodes are what the kernel calls inodes: every
 * Ready version that the kernel knows has one, every workspace (an open, unpublished document) has one, and all nodes
 * of a document show its id as st_ino (docs/internals/nodes.md tells why). A node's number is never given twice.
 * STATUS_STALE from lookup-like and open calls makes the kernel walk the path
 * again: that is how writers and readers are led to different nodes.
 *
 * All calls from any thread. Lock order: the table of nodes, a workspace, then document/'s session; no lock of fs/ is
 * held across a blob call or a notification. Calls that can wait for the store take the `struct fs_caller` of the
 * request, whose `cancelled` may be set by another thread (FUSE INTERRUPT with a fatal signal).
 */
#ifndef READYFS_FS_FS_H
#define READYFS_FS_FS_H

#include "document/view.h"

#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>

struct fs;
struct fs_handle;

#define FS_ROOT 1 /* the root's node */

/* How fs/ speaks to the kernel, and to the log. Called without any lock of fs/; `inval_*` go through one thread of
 * their own. */
struct fs_notify {
    void (*inval_entry)(void *context, uint64_t parent_node, const struct name *name);
    void (*inval_node)(void *context, uint64_t node, int64_t offset, int64_t len); /* offset -1: attributes only; len 0:
                                                                                      to the end */
    /* A failure that no program can be told any more (release, timer), and what was done about the bytes. */
    void (*report)(void *context, const char *event, const char *document, const struct err *err);
    void *context;
};

enum on_kill { ON_KILL_KEEP, ON_KILL_PUBLISH };

struct fs_options {
    const char *spool;                /* absolute folder of this session's spool files, 0700 */
    const char *recovery;             /* absolute folder for bytes that could not be published */
    uint64_t spool_max, recovery_max; /* bytes; 0: no limit */
    bool read_only;
    bool show_uid, show_gid; /* uid=, gid=: what is shown instead of what is stored */
    uid_t uid;
    gid_t gid;
    bool show_modes;                     /* file_mode=, dir_mode= or umask= were given */
    uint32_t file_mode, dir_mode, umask; /* file_mode/dir_mode 0: the stored one */
    int64_t append_publish_ms;           /* S7; 0: never by timer */
    enum on_kill on_kill;                /* S29 */
    uint64_t capacity;                   /* S20; 0: a large constant */
    bool large_listing_plain;            /* answer READDIR without attributes for huge directories */
    struct fs_notify notify;
};

MUST_CHECK enum status fs_open(struct view *view, const struct fs_options *options, struct fs **ret_fs,
                               struct err *err);

/* What `umount` waits for and tells. */
struct fs_activity {
    unsigned open_handles, dirty_workspaces, uploads;
    uint64_t bytes_unsent;
    uint64_t nodes, workspaces; /* for tests of leaks */
};
struct fs_activity fs_activity(struct fs *fs);

/* Ends the filesystem: unpublished bytes go to the recovery folder (each told through notify.report), nodes are freed.
 * `ret_kept`: how many could not be published. NULL is fine. */
void fs_close(struct fs *fs, unsigned *ret_kept);

/* Once a second or so: publishes appended workspaces (S7), syncs metadata (S15), forgets old wishes, writes access
 * times. The watcher: every 50 to 100 ms, whether other mounts have changed names (kernel-side invalidation). */
void fs_tick(struct fs *fs);
void fs_watch(struct fs *fs);

/* Moves what sessions that died have left in their spool folders, `spools`/SESSION, to the recovery folder; each is
 * told through notify.report. To be called once at a writable mount, after a sweep has fenced the dead. `ret_kept`: how
 * many. A failure leaves the rest for the next mount. */
MUST_CHECK enum status fs_adopt(struct fs *fs, const char *spools, unsigned *ret_kept, struct err *err);

struct fs_caller {
    pid_t tid; /* 0: outside our pid namespace */
    uid_t uid;
    gid_t gid;
    uint32_t umask;
    const atomic_bool *cancelled; /* NULL: cannot be */
};

struct fs_entry {
    uint64_t node; /* 0: a negative entry that may be cached for entry_timeout */
    uint64_t generation;
    struct stat stat;
    double attr_timeout, entry_timeout; /* seconds */
};

/* ---- names; each that returns an entry counts one lookup of its node ---- */
MUST_CHECK enum status fs_lookup(struct fs *fs, const struct fs_caller *caller, uint64_t parent, const char *name,
                                 struct fs_entry *ret_entry, struct err *err);
void fs_forget(struct fs *fs, uint64_t node, uint64_t count);
MUST_CHECK enum status fs_mkdir(struct fs *fs, const struct fs_caller *caller, uint64_t parent, const char *name,
                                uint32_t mode, struct fs_entry *ret_entry, struct err *err);
MUST_CHECK enum status fs_mknod(struct fs *fs, const struct fs_caller *caller, uint64_t parent, const char *name,
                                uint32_t mode, uint64_t rdev, struct fs_entry *ret_entry, struct err *err);
MUST_CHECK enum status fs_symlink(struct fs *fs, const struct fs_caller *caller, const char *target, uint64_t parent,
                                  const char *name, struct fs_entry *ret_entry, struct err *err);
MUST_CHECK enum status fs_link(struct fs *fs, const struct fs_caller *caller, uint64_t node, uint64_t parent,
                               const char *name, struct fs_entry *ret_entry, struct err *err);
MUST_CHECK enum status fs_unlink(struct fs *fs, const struct fs_caller *caller, uint64_t parent, const char *name,
                                 struct err *err);
MUST_CHECK enum status fs_rmdir(struct fs *fs, const struct fs_caller *caller, uint64_t parent, const char *name,
                                struct err *err);
/* flags: RENAME_NOREPLACE, RENAME_EXCHANGE of renameat2(2). */
MUST_CHECK enum status fs_rename(struct fs *fs, const struct fs_caller *caller, uint64_t parent, const char *name,
                                 uint64_t new_parent, const char *new_name, unsigned flags, struct err *err);
MUST_CHECK enum status fs_readlink(struct fs *fs, uint64_t node, char *ret_target /* LIMIT_TARGET_BYTES + 1 */,
                                   struct err *err);

/* ---- attributes ---- */
MUST_CHECK enum status fs_getattr(struct fs *fs, uint64_t node, struct fs_handle *handle /* or NULL */,
                                  struct stat *ret_stat, double *ret_timeout, struct err *err);

enum fs_set { /* which fields of the stat to set */
              FS_SET_MODE = 1,
              FS_SET_UID = 2,
              FS_SET_GID = 4,
              FS_SET_SIZE = 8,
              FS_SET_ATIME = 16,
              FS_SET_MTIME = 32,
              FS_SET_ATIME_NOW = 64,
              FS_SET_MTIME_NOW = 128,
              FS_SET_CTIME = 256,
              FS_SET_KILL_SUID = 512,
};
MUST_CHECK enum status fs_setattr(struct fs *fs, const struct fs_caller *caller, uint64_t node,
                                  struct fs_handle *handle, const struct stat *stat, unsigned set,
                                  struct stat *ret_stat, double *ret_timeout, struct err *err);
MUST_CHECK enum status fs_statfs(struct fs *fs, struct statvfs *ret_statvfs, struct err *err);
MUST_CHECK enum status fs_getxattr(struct fs *fs, uint64_t node, const char *name, void *ret_value, size_t capacity,
                                   size_t *ret_len, struct err *err);
MUST_CHECK enum status fs_setxattr(struct fs *fs, uint64_t node, const char *name, const void *value, size_t len,
                                   int flags, struct err *err);
MUST_CHECK enum status fs_listxattr(struct fs *fs, uint64_t node, char *ret_names, size_t capacity, size_t *ret_len,
                                    struct err *err);
MUST_CHECK enum status fs_removexattr(struct fs *fs, uint64_t node, const char *name, struct err *err);

/* ---- open files ---- */
struct fs_opened {
    struct fs_handle *handle;
    bool direct_io, keep_cache;
};
MUST_CHECK enum status fs_open_file(struct fs *fs, const struct fs_caller *caller, uint64_t node, int flags,
                                    struct fs_opened *ret_opened, struct err *err);
MUST_CHECK enum status fs_create(struct fs *fs, const struct fs_caller *caller, uint64_t parent, const char *name,
                                 uint32_t mode, int flags, struct fs_entry *ret_entry, struct fs_opened *ret_opened,
                                 struct err *err);
MUST_CHECK enum status fs_read(struct fs *fs, const struct fs_caller *caller, struct fs_handle *handle, uint64_t offset,
                               void *ret_bytes, size_t len, size_t *ret_len, struct err *err);
MUST_CHECK enum status fs_write(struct fs *fs, const struct fs_caller *caller, struct fs_handle *handle,
                                uint64_t offset, const void *bytes, size_t len, size_t *ret_len, struct err *err);
MUST_CHECK enum status fs_flush(struct fs *fs, const struct fs_caller *caller, struct fs_handle *handle,
                                struct err *err);
MUST_CHECK enum status fs_fsync(struct fs *fs, const struct fs_caller *caller, struct fs_handle *handle, bool data_only,
                                struct err *err);
/* Called from the request's header while the read loop still holds its receive lock: lookups and listings that come
 * later wait until this release is done (S6). Then fs_release, exactly once for each announced one. */
void fs_release_announce(struct fs *fs, struct fs_handle *handle);
void fs_release(struct fs *fs, const struct fs_caller *caller, struct fs_handle *handle);
MUST_CHECK enum status fs_fallocate(struct fs *fs, const struct fs_caller *caller, struct fs_handle *handle, int mode,
                                    uint64_t offset, uint64_t len, struct err *err);
MUST_CHECK enum status fs_lseek(struct fs *fs, struct fs_handle *handle, uint64_t offset, int whence,
                                uint64_t *ret_offset, struct err *err);

/* ---- directories ---- */
struct fs_item {
    const char *name;
    struct fs_entry entry; /* node 0 where attributes were not asked for; stat.st_ino and st_mode always set */
    int64_t offset;        /* to go on behind this item */
};
/* Returns false when the item did not fit: it will be asked for again. With attributes, an item that fitted has counted
 * one lookup of its node. */
typedef bool fs_item_fn(void *context, const struct fs_item *item);

MUST_CHECK enum status fs_opendir(struct fs *fs, const struct fs_caller *caller, uint64_t node,
                                  struct fs_handle **ret_handle, struct err *err);
MUST_CHECK enum status fs_readdir(struct fs *fs, const struct fs_caller *caller, struct fs_handle *handle,
                                  int64_t offset, bool attributes, fs_item_fn *fn, void *context, struct err *err);
void fs_releasedir(struct fs *fs, struct fs_handle *handle);
MUST_CHECK enum status fs_fsyncdir(struct fs *fs, struct fs_handle *handle, struct err *err);

#endif
