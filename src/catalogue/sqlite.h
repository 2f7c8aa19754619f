/* sqlite.h - the catalogue in one SQLite file, for many processes of one host. */
#ifndef READYFS_CATALOGUE_SQLITE_H
#define READYFS_CATALOGUE_SQLITE_H

#include "catalogue/catalogue.h"
#include "host/clock.h"
#include "host/entropy.h"

struct sqlite_options {
    const char *path;    /* absolute; the places beside it are path + ".d/" (sessions/, writer, queue) */
    bool create;         /* make it if it is not there; else NOT_FOUND */
    bool read_only;      /* no writes at all; write_begin is READ_ONLY */
    struct clock *clock; /* borrowed */
    struct entropy *entropy;
};

/* Opens, creates (schema of CATALOGUE_SCHEMA, root directory owned by the caller's uid and gid with mode 0755, a fresh
 * catalogue id and incarnation in meta) or migrates. Call it after the daemon has forked. NEWER, CORRUPT (not a
 * database, damaged, or another program's), ACCESS, NO_SPACE, BUSY (migration beside a living session). `ret_created`
 * may be NULL. */
MUST_CHECK enum status sqlite_open(const struct sqlite_options *options, bool *ret_created,
                                   struct catalogue **ret_catalogue, struct err *err);

#endif
