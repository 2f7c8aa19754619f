/* status.c - the list of status.h as tables. */
#include "base/status.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>

struct status_row {
    const char *name;
    const char *text;
    int errno_value;
    int exit_code;
    enum outcome outcome;
};

static const struct status_row rows[STATUS_COUNT] = {
#define X(name, text, errno_, exit_, outcome_) [STATUS_##name] = {#name, text, errno_, exit_, OUTCOME_##outcome_},
    STATUS_LIST(X)
#undef X
};

static const struct status_row *row_of(enum status status)
{
    assert((size_t)status < STATUS_COUNT);
    return &rows[status];
}

const char *status_text(enum status status)
{
    return row_of(status)->text;
}

const char *status_name(enum status status)
{
    return row_of(status)->name;
}

int status_errno(enum status status)
{
    return row_of(status)->errno_value;
}

int status_exit_code(enum status status)
{
    return row_of(status)->exit_code;
}

enum outcome status_outcome(enum status status)
{
    return row_of(status)->outcome;
}

enum status status_from_errno(int errno_value)
{
    switch (errno_value) {
    case 0: return STATUS_OK;
    case ENOENT: return STATUS_NOT_FOUND;
    case EEXIST: return STATUS_EXISTS;
    case EACCES: return STATUS_ACCESS;
    case EPERM: return STATUS_PERMISSION;
    case ENOTDIR: return STATUS_NOT_DIRECTORY;
    case EISDIR: return STATUS_IS_DIRECTORY;
    case ENOTEMPTY: return STATUS_NOT_EMPTY;
    case ENAMETOOLONG: return STATUS_NAME_TOO_LONG;
    case EMLINK: return STATUS_TOO_MANY_LINKS;
    case EFBIG: return STATUS_TOO_LARGE;
    case EINVAL: return STATUS_INVALID;
    case ENODATA: return STATUS_NO_DATA;
    case ERANGE: return STATUS_RANGE;
    case ENOTSUP: return STATUS_UNSUPPORTED;
    case EROFS: return STATUS_READ_ONLY;
    case ENOSPC: return STATUS_NO_SPACE;
    case EDQUOT: return STATUS_QUOTA;
    case EBUSY: return STATUS_BUSY;
    case ETIMEDOUT: return STATUS_TIMEOUT;
    case EINTR: return STATUS_INTERRUPTED;
    case ENOMEM: return STATUS_NO_MEMORY;
    case ESTALE: return STATUS_STALE;
    default: return STATUS_IO;
    }
}
