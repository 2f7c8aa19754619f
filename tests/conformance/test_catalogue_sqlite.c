/* links: catalogue */
/* test_catalogue_sqlite.c - goal: the SQLite backend keeps the contract of the port. Method: the suite, on a fresh file
 * in a scratch folder for each test. */
#include "unit.h"

#include "catalogue/sqlite.h"
#include "conformance/catalogue_suite.h"
#include "support/scratch.h"

struct place {
    struct scratch scratch;
    bool made;
};

static void done(void *context)
{
    struct place *place = context;
    if (place->made)
        scratch_done(&place->scratch);
    place->made = false;
}

static void fresh(void *context)
{
    struct place *place = context;
    done(place);
    scratch_init(&place->scratch);
    place->made = true;
}

static enum status open_one(void *context, struct catalogue **ret_catalogue, struct err *err)
{
    struct place *place = context;
    char path[320];
    const struct sqlite_options options = {
        .path = scratch_path(&place->scratch, "catalogue", path, sizeof path),
        .create = true,
        .clock = clock_system(),
        .entropy = entropy_system(),
    };
    return sqlite_open(&options, NULL, ret_catalogue, err);
}

int main(void)
{
    struct place place = {.made = false};
    const struct catalogue_backend backend = {
        .name = "catalogue in SQLite",
        .fresh = fresh,
        .done = done,
        .open = open_one,
        .context = &place,
    };
    return catalogue_suite_run(&backend);
}
