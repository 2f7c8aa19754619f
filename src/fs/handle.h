/* handle.h - open files and directories, and releases that have been announced but not done (S6).
 *
 * A handle is made by an open and ends with its release. It reads through its node's pin (a Ready version; all its
 * readers see it grow together), through a pin of its own (opened past the kernel's node), or through a workspace.
 */
#ifndef READYFS_FS_HANDLE_H
#define READYFS_FS_HANDLE_H

#include "fs/filesystem.h"

struct cursor;

struct fs_handle {
    struct node *node;           /* that the kernel has it open on; counted in users */
    struct workspace *workspace; /* held; NULL for a reader of a Ready version and for a directory */
    struct pin *pin;             /* owned: of a reader that was let past its node; else NULL */
    struct cursor *cursor;       /* owned: of a directory */
    bool reads_node;             /* counted in node->readers */
    bool writes, append, direct; /* opened for writing; with O_APPEND; past the kernel's page cache */
    pid_t tgid;                  /* the process that opened it for writing */

    /* protected by the table's lock */
    struct fs_handle *prev_open, *next_open; /* of all handles */
    struct fs_handle *prev, *next;           /* of the workspace's handles */
    bool announced;
    uint64_t ticket; /* of the announced release */
    int64_t dir;     /* which listings wait for it; 0: all */
    struct fs_handle *next_announced;
};

/* A handle on the node, counted. NULL when out of memory. Table lock held. */
struct fs_handle *handle_new(struct fs *fs, struct node *node);

/* The handle reads and writes the workspace, whose hold it takes over from the caller. Table lock held. */
void handle_join(struct fs_handle *handle, struct workspace *workspace);

/* Takes it out of its workspace's list, before the last of them publishes. Whether no other is left. Lock held. */
bool handle_leave(struct fs_handle *handle);

/* Ends a handle; takes the lock itself. */
void handle_free(struct fs *fs, struct fs_handle *handle);

/* Whether the process has the workspace open for writing (rule b of exact open). Table lock held. */
bool handle_writer(const struct workspace *workspace, pid_t tgid);

/* The release is done: those that wait for it may go on. */
void handle_released(struct fs *fs, struct fs_handle *handle);

#endif
