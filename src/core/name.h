/* name.h - one path component: 1 to 255 bytes without '/' and NUL, in any encoding (S13). Pure. */
#ifndef READYFS_CORE_NAME_H
#define READYFS_CORE_NAME_H

#include "base/err.h"
#include "base/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct name {
    uint8_t len;                      /* 1 to 255 */
    char bytes[LIMIT_NAME_BYTES + 1]; /* NUL-terminated for convenience */
};

/* NAME_TOO_LONG past 255 bytes; INVALID for an empty name, ".", "..", or one with '/' or NUL. */
MUST_CHECK enum status name_set(struct name *ret_name, const void *bytes, size_t len);

bool name_equal(const struct name *a, const struct name *b);

/* The Content-Type that the name's extension says, "application/octet-stream" where it says nothing. Static. */
const char *name_content_type(const struct name *name);

#endif
