/* open.h - from a configuration to a world: the only file that names concrete backends.
 *
 * Usage: app_open, work through `session` and `world`, app_close. Open it after the daemon has forked, for SQLite's
 * connections and kernel locks do not survive a fork.
 */
#ifndef READYFS_APP_OPEN_H
#define READYFS_APP_OPEN_H

#include "app/place.h"
#include "base/err.h"
#include "catalogue/catalogue.h"
#include "document/session.h"
#include "document/world.h"

#include <stdbool.h>

struct config;

struct app_options {
    enum session_kind kind; /* SESSION_MOUNT, SESSION_MOUNT_RO or SESSION_VERB */
    const char *place;      /* mount point or verb, for people */
    bool create;  /* make catalogue, folder and control blob where they are not there: the mount that writes */
    bool offline; /* the catalogue alone is needed: the store is not opened, and `world.blobs` is empty */
};

struct app {
    struct world world;      /* owned backends */
    struct session *session; /* owned */
    struct settings settings;
    struct places places;
    char source[1024]; /* the canonical SOURCE with its account, without a secret */
    bool created;      /* this call made the catalogue */
};

/* Opens the catalogue, the store (with the start-up check of its service), joins both (P15) and begins a session. On
 * failure everything is closed again and `err` holds one line that says what and how to mend it (S27): NOT_FOUND for a
 * catalogue that is not there, FOREIGN, NEWER, CORRUPT, UNREACHABLE (a folder or container that is not there too),
 * AUTHENTICATION, CLOCK_SKEW, ACCESS ... `config` is borrowed for the call. */
MUST_CHECK enum status app_open(const struct config *config, const struct app_options *options, struct app **ret_app,
                                struct err *err);

/* Ends the session with `result` (how it went, for people), closes the backends, frees. NULL is fine. */
void app_close(struct app *app, const char *result);

#endif
