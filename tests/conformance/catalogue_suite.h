/* catalogue_suite.h - what every backend of catalogue/catalogue.h must do, against the port alone. */
#ifndef READYFS_TESTS_CATALOGUE_SUITE_H
#define READYFS_TESTS_CATALOGUE_SUITE_H

#include "catalogue/catalogue.h"

/* A backend under test. Each test begins with fresh(), which forgets the catalogue of the test before, and opens it
 * with open(), sometimes more than once: two handles of one catalogue are as two processes. */
struct catalogue_backend {
    const char *name;
    void (*fresh)(void *context);
    void (*done)(void *context); /* removes what the last test has left */
    enum status (*open)(void *context, struct catalogue **ret_catalogue, struct err *err);
    void *context;
};

/* Runs the suite; how many tests failed. */
int catalogue_suite_run(const struct catalogue_backend *backend);

#endif
