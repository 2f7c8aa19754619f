/* settings.h - what the protocol may be told. Every value has a default in settings_default(); config/ checks ranges.
 */
#ifndef READYFS_DOCUMENT_SETTINGS_H
#define READYFS_DOCUMENT_SETTINGS_H

#include "base/limits.h"

#include <stdbool.h>
#include <stdint.h>

struct settings {
    char prefix[128];           /* of every blob name: "" or ending in '/' */
    uint32_t block_bytes;       /* base size of a block and largest single put: 4 KiB to 64 MiB, default 4 MiB */
    unsigned parallel;          /* block buffers in flight of one session: 1 to 64, default 6 */
    uint64_t read_cache_bytes;  /* blocks kept for readers of one session, default 24 MiB */
    unsigned read_ahead_blocks; /* fetched ahead of a sequential reader, 0 to 32, default 3 */
    int64_t deadline_ms;        /* without progress, default 60,000 */
    int64_t confirm_max_age_ms; /* of a blob's confirmation at publish, default 30,000 (P5) */
    int64_t late_after_ms;      /* T_late; negative: the store's own (P8) */
    unsigned intent_pool;       /* pre-committed Pending rows, 0 to 256, default 32 */
    bool conflict_fail;         /* a close onto a version that is not its base is refused (S11) */
    bool tags;                  /* false: the user said tags = off */
};

struct settings settings_default(void);

#endif
