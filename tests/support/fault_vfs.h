/* fault_vfs.h - an SQLite VFS over the system's own that fails calls on command and counts what is synced.
 *
 * Installed as the default, it lies under every connection that the program opens afterwards, so production code needs
 * no hook. One fault at a time; any thread.
 */
#ifndef READYFS_TESTS_FAULT_VFS_H
#define READYFS_TESTS_FAULT_VFS_H

#include <stdbool.h>

enum fault_call { FAULT_NOTHING, FAULT_WRITE, FAULT_SYNC, FAULT_READ, FAULT_TRUNCATE };
enum fault_file { FAULT_LOG = 1, FAULT_MAIN = 2 }; /* the write-ahead log, the database file; may be added */

struct fault {
    enum fault_call call;
    int files;
    int skip;     /* calls that are let through first */
    int count;    /* calls that fail then; -1 for all */
    int code;     /* what SQLite is told: SQLITE_FULL, SQLITE_IOERR_FSYNC ... */
    bool applied; /* the call is done all the same: the answer alone is lost */
};

/* Once in a program, before the first connection. */
void fault_vfs_install(void);

void fault_vfs_set(struct fault fault);
void fault_vfs_clear(void);

/* How many calls the fault has failed so far. */
int fault_vfs_failed(void);

/* Syncs of log and database file since the program began. */
int fault_vfs_syncs(void);

#endif
