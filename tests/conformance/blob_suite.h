/* blob_suite.h - what every blob store must do, whatever lies behind it: the contract of blob/blob.h as tests.
 *
 * A backend's own test program gives a way to open its store and calls blob_suite_run(). What a store can do is read
 * from its capabilities; tests of what it lacks check that it refuses. */
#ifndef READYFS_TESTS_BLOB_SUITE_H
#define READYFS_TESTS_BLOB_SUITE_H

#include "blob/blob.h"

struct blob_suite {
    const char *title;  /* "directory": the name of the group in the output */
    const char *prefix; /* of all blob names: "" or ends in '/', at most 100 bytes */
    /* Opens a store, which the suite closes. Called for each test; what earlier tests left under the prefix may still
     * be there or not. */
    enum status (*open)(void *context, struct blob_store **ret_store, struct err *err);
    void *context;
};

/* Runs all tests; returns how many failed. */
int blob_suite_run(const struct blob_suite *suite);

#endif
