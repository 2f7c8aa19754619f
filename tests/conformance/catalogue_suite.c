/* catalogue_suite.c - goal: any backend of the catalogue keeps the contract of catalogue.h. Method: each test opens a
 * fresh catalogue through the backend's own opening and speaks to the port alone; what two processes would see is seen
 * by two handles. Nothing is timed: threads are joined.
 */
#include "conformance/catalogue_suite_fixture.h"

static const struct catalogue_backend *backend; /* under test: cmocka's setups take no argument */

int suite_setup(void **state)
{
    static struct fixture fixture;
    fixture = (struct fixture){0};
    backend->fresh(backend->context);
    if (suite_open(&fixture.catalogue, &fixture.err) != STATUS_OK) {
        print_error("open: %s\n", fixture.err.message);
        return -1;
    }
    *state = &fixture;
    return 0;
}

int suite_teardown(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof f->open / sizeof *f->open; i++)
        OPS->abort(f->open[i]);
    f->other = catalogue_close(f->other);
    f->catalogue = catalogue_close(f->catalogue);
    return 0;
}

enum status suite_open(struct catalogue **ret_catalogue, struct err *err)
{
    return backend->open(backend->context, ret_catalogue, err);
}

int catalogue_suite_run(const struct catalogue_backend *which)
{
    backend = which;
    int failed = suite_rows(which->name);
    failed += suite_versions(which->name);
    failed += suite_sessions(which->name);
    failed += suite_txns(which->name);
    which->done(which->context);
    return failed;
}
