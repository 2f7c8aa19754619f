/* extents.h - which ranges of an unpublished content come from where.
 *
 * A map from byte ranges to kinds. What is not in it comes from the base (the version that the writer began from). The
 * ranges are sorted, do not overlap, and neighbours of one kind are one range. Pure: no I/O, no lock, no clock.
 */
#ifndef READYFS_FS_EXTENTS_H
#define READYFS_FS_EXTENTS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXTENTS_MAX (1u << 20) /* ranges of one content; a program that needs more gets NO_SPACE */

enum extent_kind {
    EXTENT_BASE,    /* unchanged */
    EXTENT_WRITTEN, /* in the spool */
    EXTENT_ZERO,    /* a hole, or growth by truncate */
    EXTENT_GONE,    /* written, uploaded, and no longer in the spool: it cannot be read back before it is published */
};

struct extent {
    uint64_t offset, len; /* bytes */
    enum extent_kind kind;
};

struct extents {
    struct extent *items; /* owned */
    size_t count, capacity;
};

void extents_done(struct extents *extents);  /* frees; a zeroed struct is an empty map */
void extents_clear(struct extents *extents); /* everything is the base's again */

/* Gives [offset, offset + len) a kind; EXTENT_BASE takes the range out of the map. offset + len must not overflow.
 * NO_MEMORY or NO_SPACE (EXTENTS_MAX) leave the map as it was. */
MUST_CHECK enum status extents_set(struct extents *extents, uint64_t offset, uint64_t len, enum extent_kind kind);

/* Takes everything at and behind `size` out of the map. */
void extents_cut(struct extents *extents, uint64_t size);

/* The range that holds `offset`, beginning there; a BASE range behind the last one ends at UINT64_MAX. */
struct extent extents_at(const struct extents *extents, uint64_t offset);

/* How many bytes of [offset, offset + len) have this kind. */
uint64_t extents_bytes(const struct extents *extents, uint64_t offset, uint64_t len, enum extent_kind kind);

#endif
