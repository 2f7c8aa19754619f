/* settings.c - the defaults. */
#include "document/settings.h"

struct settings settings_default(void)
{
    return (struct settings){
        .prefix = "",
        .block_bytes = 4u << 20,
        .parallel = 6,
        .read_cache_bytes = 24u << 20,
        .read_ahead_blocks = 3,
        .deadline_ms = 60000,
        .confirm_max_age_ms = 30000,
        .late_after_ms = -1,
        .intent_pool = 32,
        .conflict_fail = false,
        .tags = true,
    };
}
