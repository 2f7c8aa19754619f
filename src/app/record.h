/* record.h - the record of a live mount in the runtime directory: how a verb finds the catalogue behind a DIR, and the
 * socket of the process that serves it.
 *
 * A record is a small text file RUNTIME/HASH.mount, HASH being that of the mount point, with the socket HASH.socket and
 * the lock HASH.lock beside it. The process that serves the mount holds the lock from before it mounts until it ends,
 * however it ends; the record outlives a crash on purpose: a mount with a record whose lock is free is a dead one of
 * our own. Nothing here touches the mounted filesystem, which may hang. Any thread.
 */
#ifndef READYFS_APP_RECORD_H
#define READYFS_APP_RECORD_H

#include "app/place.h"
#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

struct lock;

struct record {
    char point[PLACE_SIZE];     /* the mount point, absolute and canonical */
    char catalogue[PLACE_SIZE]; /* the SQLite file */
    char source[1024];          /* canonical SOURCE, without a secret */
    int64_t session;
    pid_t pid;
    bool read_only;
};

/* RUNTIME/HASH.SUFFIX of a mount point: "mount", "socket" or "lock". NAME_TOO_LONG. */
MUST_CHECK enum status record_path(const char *runtime, const char *point, const char *suffix,
                                   char ret_path[PLACE_SIZE], struct err *err);

/* Makes the runtime directory where it is missing, and writes the record, replacing an older one of the same point. */
MUST_CHECK enum status record_write(const char *runtime, const struct record *record, struct err *err);

/* Opens the lock of a mount point and takes it if it is free; makes the runtime directory. BUSY, without a message: a
 * process serves that mount point, or is about to; the lock is then open, to wait for it. Close it in each case. */
MUST_CHECK enum status record_lock(const char *runtime, const char *point, struct lock *ret_lock, struct err *err);

/* Removes it and the socket beside it; what is not there is fine. */
void record_remove(const char *runtime, const char *point);

/* The record of the mount point `point` (canonical), whether or not anything is mounted there. NOT_FOUND without a
 * message; CORRUPT. */
MUST_CHECK enum status record_read(const char *runtime, const char *point, struct record *ret_record, struct err *err);

/* The record of what is mounted at `dir` (as a user types it). NOT_FOUND with a line where nothing is mounted there;
 * INVALID where it is not a readyfs mount, or none that this user has a record of. */
MUST_CHECK enum status record_find(const char *runtime, const char *dir, struct record *ret_record, struct err *err);

#endif
