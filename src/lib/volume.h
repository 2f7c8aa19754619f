/* volume.h - what the files of lib/ share: the handles behind the public header, and reports turned into its errors. */
#ifndef READYFS_LIB_VOLUME_H
#define READYFS_LIB_VOLUME_H

#include "app/open.h"
#include "config/config.h"

#include <readyfs/readyfs.h>

struct readyfs_options {
    struct config config;
};

struct readyfs_volume {
    struct app *app; /* owned */
    enum readyfs_access access;
    char source[1024];
};

/* Writes the report of a call that ended with `status` into `error` (may be NULL); returns what a public call returns.
 */
int readyfs_result(enum status status, const struct err *err, struct readyfs_error *error);

/* A refusal of our own, for arguments. */
int readyfs_refuse(struct readyfs_error *error, enum status status, const char *message);

#endif
