/* plan.h - how a file is cut into blocks. Pure.
 *
 * A file of at most one block goes up in one exchange; a longer one in blocks, several at once, while the program still
 * writes, so its length is not known when the first block leaves. The size of a block therefore depends on its index
 * alone: the first 8192 blocks have the base size, the next 8192 four times, all later ones sixteen times that. With 4
 * MiB that reaches 32 GiB, 160 GiB and 2.2 TiB, within the 50,000 blocks of a blob.
 */
#ifndef READYFS_CORE_PLAN_H
#define READYFS_CORE_PLAN_H

#include <stdint.h>

#define PLAN_RUNG_BLOCKS 8192u

struct plan {
    uint32_t block_bytes; /* base size: 4 KiB to 64 MiB (tests use small ones) */
};

/* Where block `index` begins, and how long a full block of that index is, in bytes. index <= LIMIT_BLOCKS. */
uint64_t plan_offset(const struct plan *plan, uint32_t index);
uint64_t plan_length(const struct plan *plan, uint32_t index);

/* The block that holds byte `offset`. */
uint32_t plan_index(const struct plan *plan, uint64_t offset);

/* How many blocks a file of `size` bytes has (0 for an empty one). */
uint32_t plan_count(const struct plan *plan, uint64_t size);

/* The largest file in bytes. */
uint64_t plan_size_max(const struct plan *plan);

#endif
