/* volume.h - a catalogue and a container that belong to each other: both carry the other's id (P15).
 *
 * The control blob PREFIX/.readyfs/volume holds the catalogue's id, its incarnation and a random mark. A catalogue that
 * does not know the mark is another one, or one restored from an older copy, and is refused. Each join and each sweep
 * that deletes commits a new mark durably, then writes it under the control blob's ETag.
 */
#ifndef READYFS_DOCUMENT_VOLUME_H
#define READYFS_DOCUMENT_VOLUME_H

#include "document/settings.h"
#include "document/world.h"

#include "base/err.h"

#include <stdbool.h>

struct volume_options {
    const struct settings *settings;
    bool read_only; /* compare only: no new mark is written, no control blob created */
    bool
        accept_restore; /* the user says that this catalogue, restored from a copy, is now the truth: new incarnation */
};

/* FOREIGN, with one line that says what belongs to what and what to do; NOT_FOUND: read_only and no control blob. */
MUST_CHECK enum status volume_join(const struct world *world, const struct volume_options *options, bool *ret_created,
                                   struct err *err);

/* A new mark, durable in the catalogue first. Before each sweep that deletes. */
MUST_CHECK enum status volume_mark(const struct world *world, const struct settings *settings, struct err *err);

#endif
