/* plan.c - offsets and lengths of blocks whose size grows in three rungs. */
#include "core/plan.h"

#include "base/cleanup.h"
#include "base/limits.h"

#include <stddef.h>

/* A rung: its first block, where that begins, and how long its blocks are; offset and length in units of the base. */
static const struct rung {
    uint32_t index;
    uint64_t offset, length;
} rungs[] = {
    {0, 0, 1},
    {PLAN_RUNG_BLOCKS, PLAN_RUNG_BLOCKS, 4},
    {2 * PLAN_RUNG_BLOCKS, 5ull * PLAN_RUNG_BLOCKS, 16},
};

#define RUNGS (sizeof rungs / sizeof *rungs)

static const struct rung *rung_of_index(uint32_t index)
{
    size_t i = RUNGS - 1;
    while (rungs[i].index > index)
        i--;
    return &rungs[i];
}

uint64_t plan_offset(const struct plan *plan, uint32_t index)
{
    INVARIANT(index <= LIMIT_BLOCKS);
    const struct rung *rung = rung_of_index(index);
    return (rung->offset + (index - rung->index) * rung->length) * plan->block_bytes;
}

uint64_t plan_length(const struct plan *plan, uint32_t index)
{
    INVARIANT(index <= LIMIT_BLOCKS);
    return rung_of_index(index)->length * plan->block_bytes;
}

uint32_t plan_index(const struct plan *plan, uint64_t offset)
{
    uint64_t units = offset / plan->block_bytes;
    size_t i = RUNGS - 1;
    while (rungs[i].offset > units)
        i--;
    uint64_t index = rungs[i].index + (units - rungs[i].offset) / rungs[i].length;
    INVARIANT(index <= UINT32_MAX);
    return (uint32_t)index;
}

uint32_t plan_count(const struct plan *plan, uint64_t size)
{
    return size ? plan_index(plan, size - 1) + 1 : 0;
}

uint64_t plan_size_max(const struct plan *plan)
{
    return plan_offset(plan, LIMIT_BLOCKS);
}
