/* place.h - for the tests of this folder: a catalogue in a scratch folder, and short forms of the port's calls. */
#ifndef READYFS_TESTS_UNIT_CATALOGUE_PLACE_H
#define READYFS_TESTS_UNIT_CATALOGUE_PLACE_H

#include "unit.h"

#include "catalogue/sqlite_internal.h"
#include "support/scratch.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define DEADLINE_MS 60000

struct place_fixture {
    struct scratch scratch;
    char path[320]; /* of the catalogue's file, which is not made yet */
    struct catalogue *catalogue;
    struct err err;
};

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        enum status status_ = (call);                                                                                  \
        if (status_ != STATUS_OK)                                                                                      \
            fail_msg("%s: %s: %s", #call, status_name(status_), f->err.message);                                       \
    } while (0)
#define REFUSED(expected, call)                                                                                        \
    do {                                                                                                               \
        err_clear(&f->err);                                                                                            \
        enum status status_ = (call);                                                                                  \
        if (status_ != STATUS_##expected)                                                                              \
            fail_msg("%s: %s, not %s: %s", #call, status_name(status_), #expected, f->err.message);                    \
    } while (0)
#define OPS (f->catalogue->ops)

static inline int place_setup(void **state)
{
    static struct place_fixture fixture;
    fixture = (struct place_fixture){0};
    scratch_init(&fixture.scratch);
    (void)scratch_path(&fixture.scratch, "catalogue", fixture.path, sizeof fixture.path);
    *state = &fixture;
    return 0;
}

static inline int place_teardown(void **state)
{
    struct place_fixture *f = *state;
    f->catalogue = catalogue_close(f->catalogue);
    scratch_done(&f->scratch);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)

static inline struct sqlite_options options_of(const struct place_fixture *f)
{
    return (
        struct sqlite_options){.path = f->path, .create = true, .clock = clock_system(), .entropy = entropy_system()};
}

static inline enum status open_plain(struct place_fixture *f, struct catalogue **ret_catalogue)
{
    struct sqlite_options options = options_of(f);
    return sqlite_open(&options, NULL, ret_catalogue, &f->err);
}

/* f->catalogue, opened or created. */
static inline void open_it(struct place_fixture *f)
{
    OK(open_plain(f, &f->catalogue));
}

static inline void close_it(struct place_fixture *f)
{
    f->catalogue = catalogue_close(f->catalogue);
}

static inline struct catalogue_txn *writing(struct place_fixture *f, enum durability durability)
{
    struct catalogue_txn *txn = NULL;
    OK(OPS->write_begin(f->catalogue, durability, DEADLINE_MS, &txn, &f->err));
    return txn;
}

/* Sets a key in a transaction of its own and returns how its commit ended. */
static inline enum status put(struct place_fixture *f, enum durability durability, const char *key, const char *value)
{
    struct catalogue_txn *txn = writing(f, durability);
    OK(OPS->meta_set(txn, key, value, &f->err));
    return OPS->commit(txn, &f->err);
}

/* The value of a key as a new reader sees it; static. */
static inline const char *get(struct place_fixture *f, const char *key)
{
    static char value[64];
    struct catalogue_txn *txn = NULL;
    OK(OPS->read_begin(f->catalogue, &txn, &f->err));
    OK(OPS->meta_get(txn, key, value, sizeof value, &f->err));
    OPS->abort(txn);
    return value;
}

/* Runs SQL from outside, as another program would. The first column of the last row, in a static buffer. */
static inline const char *sql_outside(const char *path, const char *sql)
{
    static char value[512];
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    value[0] = '\0';
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL), SQLITE_OK);
    for (const char *rest = sql; *rest;) {
        if (sqlite3_prepare_v2(db, rest, -1, &stmt, &rest) != SQLITE_OK)
            fail_msg("%s: %s", sql, sqlite3_errmsg(db));
        int code;
        while ((code = sqlite3_step(stmt)) == SQLITE_ROW)
            (void)snprintf(value, sizeof value, "%s",
                           sqlite3_column_type(stmt, 0) == SQLITE_NULL ? "NULL"
                                                                       : (const char *)sqlite3_column_text(stmt, 0));
        if (code != SQLITE_DONE)
            (void)snprintf(value, sizeof value, "error: %s", sqlite3_errmsg(db));
        (void)sqlite3_finalize(stmt);
    }
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return value;
}

#endif
