/* schema.h - the tables of a catalogue as numbered migrations, and what a file turns out to be.
 *
 * docs/CATALOGUE.md is the contract that this SQL keeps towards programs that read the file. Migration n takes a file
 * of schema n - 1 to schema n; schema 0 is an empty file. A published migration is never edited; the next one is added.
 */
#ifndef READYFS_CATALOGUE_SCHEMA_H
#define READYFS_CATALOGUE_SCHEMA_H

#include "base/err.h"

#include <sqlite3.h>
#include <stddef.h>

#define SCHEMA_APPLICATION_ID 0x52644653 /* "RdFS", in the file's header */

struct schema {
    const char *const *const *migrations; /* lists of SQL texts, each with NULL behind; list n makes schema n + 1 */
    int count;                            /* the newest schema */
};

/* The project's own list; `count` is CATALOGUE_SCHEMA. */
extern const struct schema schema_current;

enum schema_state {
    SCHEMA_EMPTY,   /* no table, no mark: new, or a creation that a crash has ended */
    SCHEMA_CURRENT, /* ours, complete */
    SCHEMA_OLDER,   /* ours, to be migrated */
};

/* What the file is. NEWER for one of a later schema; CORRUPT, with a message, for another program's, for one that is no
 * database and for one of ours without its tables. Reads only. */
MUST_CHECK enum status schema_look(sqlite3 *db, const struct schema *schema, enum schema_state *ret_state,
                                   struct err *err);

/* Runs the missing migrations. Inside a write transaction of the caller, who commits or takes back. */
MUST_CHECK enum status schema_migrate(sqlite3 *db, const struct schema *schema, struct err *err);

#endif
