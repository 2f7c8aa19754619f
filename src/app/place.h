/* place.h - where things lie on this machine: the catalogue, its folder, spool, recovery, the runtime directory.
 *
 *     CATALOGUE                  the SQLite file; by default under $XDG_STATE_HOME/readyfs (root: /var/lib/readyfs),
 *                                named after SOURCE: a readable part and a hash
 *     CATALOGUE.d/               0700
 *         sessions/ writer queue the catalogue's own
 *         spool/SESSION/         what a session's programs have written and not yet published
 *         recovery/              bytes that could not be published
 *     RUNTIME/                   records and sockets of live mounts: $XDG_RUNTIME_DIR/readyfs (root: /run/readyfs)
 */
#ifndef READYFS_APP_PLACE_H
#define READYFS_APP_PLACE_H

#include "base/err.h"

#include <stdint.h>

#define PLACE_SIZE 4096

struct config;

struct places {
    char catalogue[PLACE_SIZE];
    char folder[PLACE_SIZE]; /* CATALOGUE.d */
    char spool[PLACE_SIZE];  /* of all sessions */
    char recovery[PLACE_SIZE];
};

/* Works the paths out; touches nothing. NAME_TOO_LONG; INVALID where no home directory is known. */
MUST_CHECK enum status places_find(const struct config *config, struct places *ret_places, struct err *err);

/* Makes the catalogue's parent folders (0700 for those that are missing) and its folder with spool and recovery. */
MUST_CHECK enum status places_make(const struct places *places, struct err *err);

/* spool/SESSION, made with mode 0700. */
MUST_CHECK enum status places_session_spool(const struct places *places, int64_t session, char ret_path[PLACE_SIZE],
                                            struct err *err);

/* The runtime directory: `runtime_dir` of the configuration (NULL: none was set), else the customary one. Does not make
 * it. */
MUST_CHECK enum status place_runtime(const char *runtime_dir, char ret_path[PLACE_SIZE], struct err *err);

/* Makes `path` and the parents that are missing, each with mode 0700. */
MUST_CHECK enum status place_make_folder(const char *path, struct err *err);

#endif
