/* status.h - every way a call can end, in one list.
 *
 * Each line carries the name, a text for people, the errno that a program on the mount sees, the exit code of the
 * command line, and the outcome class. Nothing else in the project maps errors. "Unknown" is a class of its own: a
 * conditional upload or a COMMIT may have happened or not, and only settling it (P9) makes it one of the others.
 */
#ifndef READYFS_BASE_STATUS_H
#define READYFS_BASE_STATUS_H

/* Did the call take effect? */
enum outcome {
    OUTCOME_DONE,    /* yes */
    OUTCOME_REFUSED, /* no, and it never will */
    OUTCOME_UNKNOWN, /* nobody here can tell; settle before going on */
};

/* X(name, text, errno, exit code, outcome) */
#define STATUS_LIST(X)                                                                                                 \
    X(OK, "done", 0, 0, DONE)                                                                                          \
    X(UNKNOWN, "the outcome is not known", EIO, 5, UNKNOWN)                                                            \
    X(IO, "input/output error", EIO, 5, REFUSED)                                                                       \
    X(CORRUPT, "stored data is not what was recorded", EIO, 6, REFUSED)                                                \
    X(NOT_FOUND, "does not exist", ENOENT, 1, REFUSED)                                                                 \
    X(EXISTS, "exists already", EEXIST, 1, REFUSED)                                                                    \
    X(CONDITION, "a condition of the request did not hold", ESTALE, 1, REFUSED)                                        \
    X(CONFLICT, "somebody else changed it first", ESTALE, 1, REFUSED)                                                  \
    X(STALE, "it was removed or replaced meanwhile", ESTALE, 1, REFUSED)                                               \
    X(FENCED, "this session was declared dead by another", ESTALE, 4, REFUSED)                                         \
    X(NOT_DIRECTORY, "is not a directory", ENOTDIR, 1, REFUSED)                                                        \
    X(IS_DIRECTORY, "is a directory", EISDIR, 1, REFUSED)                                                              \
    X(NOT_EMPTY, "directory is not empty", ENOTEMPTY, 1, REFUSED)                                                      \
    X(NAME_TOO_LONG, "name is too long", ENAMETOOLONG, 1, REFUSED)                                                     \
    X(TOO_MANY_LINKS, "too many links", EMLINK, 1, REFUSED)                                                            \
    X(TOO_LARGE, "file is too large", EFBIG, 1, REFUSED)                                                               \
    X(INVALID, "invalid argument", EINVAL, 1, REFUSED)                                                                 \
    X(NO_DATA, "no such attribute", ENODATA, 1, REFUSED)                                                               \
    X(RANGE, "buffer is too small", ERANGE, 1, REFUSED)                                                                \
    X(BEYOND_END, "nothing lies there", ENXIO, 1, REFUSED)                                                             \
    X(UNSUPPORTED, "is not supported", ENOTSUP, 1, REFUSED)                                                            \
    X(PERMISSION, "operation not permitted", EPERM, 1, REFUSED)                                                        \
    X(ACCESS, "permission denied", EACCES, 4, REFUSED)                                                                 \
    X(READ_ONLY, "read-only", EROFS, 1, REFUSED)                                                                       \
    X(NO_SPACE, "no space left", ENOSPC, 5, REFUSED)                                                                   \
    X(QUOTA, "quota exceeded", EDQUOT, 5, REFUSED)                                                                     \
    X(BUSY, "busy", EBUSY, 4, REFUSED)                                                                                 \
    X(THROTTLED, "the service asks to slow down", EIO, 5, REFUSED)                                                     \
    X(TIMEOUT, "deadline passed without progress", ETIMEDOUT, 5, REFUSED)                                              \
    X(INTERRUPTED, "interrupted", EINTR, 5, REFUSED)                                                                   \
    X(NO_MEMORY, "out of memory", ENOMEM, 5, REFUSED)                                                                  \
    X(UNREACHABLE, "the store cannot be reached", EIO, 4, REFUSED)                                                     \
    X(AUTHENTICATION, "the store refused the credentials", EACCES, 4, REFUSED)                                         \
    X(CLOCK_SKEW, "the clock of this machine is wrong", EACCES, 4, REFUSED)                                            \
    X(LEASED, "the blob is leased, immutable or has snapshots", EBUSY, 1, REFUSED)                                     \
    X(FOREIGN, "belongs to another catalogue or container", EIO, 4, REFUSED)                                           \
    X(NEWER, "was written by a newer readyfs", EIO, 4, REFUSED)                                                        \
    X(USAGE, "wrong usage", EINVAL, 2, REFUSED)                                                                        \
    X(MOUNT, "cannot mount", EIO, 3, REFUSED)                                                                          \
    X(UNFINISHED, "some work could not be finished", EIO, 7, REFUSED)

enum status {
#define X(name, text, errno_, exit_, outcome_) STATUS_##name,
    STATUS_LIST(X)
#undef X
        STATUS_COUNT
};

/* The text for people: static, never NULL. */
const char *status_text(enum status status);

/* The name as in the list above ("NOT_FOUND"), for programs and logs. */
const char *status_name(enum status status);

/* What a program on the mount sees: a positive errno, 0 for OK. */
int status_errno(enum status status);

/* What the command line exits with (docs/man/readyfs.1 lists them). */
int status_exit_code(enum status status);

/* Whether the call took effect. */
enum outcome status_outcome(enum status status);

/* The status for an errno of a system call; IO for those without a line of their own. */
enum status status_from_errno(int errno_value);

#endif
