/* limits.h - the fixed limits that more than one file must keep. Those of one file stand at its head; what users may
 * set stands in config/. */
#ifndef READYFS_BASE_LIMITS_H
#define READYFS_BASE_LIMITS_H

#define LIMIT_NAME_BYTES        255                 /* one path component (NAME_MAX) */
#define LIMIT_TARGET_BYTES      4095                /* a symlink's target (PATH_MAX - 1) */
#define LIMIT_LINKS             65000               /* hard links of one document */
#define LIMIT_BLOB_NAME_BYTES   320                 /* prefix and generated name, with NUL */
#define LIMIT_TOKEN_BYTES       36                  /* 128 random bits in hex, with NUL, rounded up */
#define LIMIT_ETAG_BYTES        96                  /* an ETag with its quotes, with NUL */
#define LIMIT_BLOCKS            50000               /* blocks of one blob (Azure: storage scale targets) */
#define LIMIT_XATTR_NAME_BYTES  255                 /* XATTR_NAME_MAX */
#define LIMIT_XATTR_VALUE_BYTES 65536               /* XATTR_SIZE_MAX */
#define LIMIT_XML_BYTES         (16u * 1024 * 1024) /* one answer of the service that is read whole */
#define LIMIT_ERROR_BODY_BYTES  (64u * 1024)        /* an error body */
#define LIMIT_GROUP_MEMBERS     64                  /* transactions that share one durable commit */

#endif
