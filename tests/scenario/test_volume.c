/* test_volume.c - goal: a catalogue and a container that belong to each other find each other, also when many mounts
 * join at once; others, and copies from the past, are refused with a line that says why (P15).
 * links: catalogue blob host core document
 *
 * Method: catalogues copied, swapped and rolled back as files, stores emptied, answers of the control blob lost.
 */
#include "unit.h"

#include "catalogue/sqlite.h"
#include "document/settings.h"
#include "document/volume.h"
#include "host/entropy.h"
#include "support/client.h"
#include "support/scratch.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fixture {
    struct lab lab; /* has joined already */
    struct settings settings;
    struct err err;
};

static int setup(void **state)
{
    static struct fixture fixture;
    struct fixture *f = &fixture;
    *f = (struct fixture){.settings = lab_settings()};
    lab_open(&f->lab, "memory");
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    lab_done(&f->lab);
    return 0;
}

static enum status join(struct fixture *f, const struct world *world, bool accept_restore, bool read_only)
{
    const struct volume_options options = {.settings = &f->settings,
                                           .accept_restore = accept_restore,
                                           .read_only = read_only};
    err_clear(&f->err);
    return volume_join(world, &options, NULL, &f->err);
}

static struct world open_catalogue(struct fixture *f, const char *path)
{
    struct world world = f->lab.world;
    const struct sqlite_options options = {.path = path,
                                           .create = true,
                                           .clock = world.clock,
                                           .entropy = world.entropy};
    assert_int_equal(sqlite_open(&options, NULL, &world.catalogue, &f->err), STATUS_OK);
    return world;
}

static void close_catalogue(struct world *world)
{
    world->catalogue = catalogue_close(world->catalogue);
}

/* A copy of the lab's catalogue as it is now, made as one should: by the database itself. */
static void copy_catalogue(struct fixture *f, const char *path)
{
    sqlite3 *db = NULL;
    char text[400];
    (void)snprintf(text, sizeof text, "VACUUM INTO '%s'", path);
    assert_int_equal(sqlite3_open(f->lab.catalogue_path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void test_join_again_and_again(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 70; i++) /* more often than marks are kept */
        assert_int_equal(join(f, &f->lab.world, false, false), STATUS_OK);
    assert_int_equal(join(f, &f->lab.world, false, true), STATUS_OK);
    assert_int_equal(volume_mark(&f->lab.world, &f->settings, &f->err), STATUS_OK);
}

static void test_another_catalogue(void **state)
{
    struct fixture *f = *state;
    char path[160];
    (void)snprintf(path, sizeof path, "%s/another", f->lab.folder);
    struct world world = open_catalogue(f, path);
    for (int accept = 0; accept < 2; accept++) {
        assert_int_equal(join(f, &world, accept, false), STATUS_FOREIGN);
        assert_string_not_equal(f->err.message, "");
        assert_string_not_equal(f->err.hint, "");
    }
    const struct volume_options options = {.settings = &f->settings};
    assert_int_equal(volume_join(&world, &options, NULL, NULL), STATUS_FOREIGN); /* whether anyone listens or not */
    close_catalogue(&world);
}

/* Another container, or an emptied one. */
static void test_control_blob_gone(void **state)
{
    struct fixture *f = *state;
    char text[1024], etag[LIMIT_ETAG_BYTES];
    const struct call call = {0};
    struct blob_store *below = f->lab.blobs.below;
    if (below->ops->remove(below, &call, ".readyfs/volume", GUARD_NONE, NULL, NULL) != STATUS_OK)
        skip(); /* a store that keeps control texts apart */
    assert_int_equal(below->ops->control_read(below, &call, ".readyfs/volume", text, sizeof text, etag, NULL),
                     STATUS_NOT_FOUND);
    assert_int_equal(join(f, &f->lab.world, false, false), STATUS_FOREIGN);
    assert_int_equal(join(f, &f->lab.world, false, true), STATUS_FOREIGN);
    assert_int_equal(volume_mark(&f->lab.world, &f->settings, &f->err), STATUS_FOREIGN); /* nothing is deleted */
    assert_int_equal(join(f, &f->lab.world, true, false), STATUS_OK);
    assert_int_equal(join(f, &f->lab.world, false, false), STATUS_OK);
}

/* A copy made before the last mark is refused, its marks and sweeps too; on the user's word it goes on, and then the
 * one that it replaces is refused. */
static void test_restored_from_a_copy(void **state)
{
    struct fixture *f = *state;
    char path[160];
    (void)snprintf(path, sizeof path, "%s/copy", f->lab.folder);
    copy_catalogue(f, path);
    assert_int_equal(volume_mark(&f->lab.world, &f->settings, &f->err), STATUS_OK);
    struct world world = open_catalogue(f, path);
    assert_int_equal(join(f, &world, false, true), STATUS_FOREIGN);
    assert_non_null(strstr(f->err.message, "copy"));
    assert_non_null(strstr(f->err.hint, "accept_restore"));
    assert_int_equal(volume_mark(&world, &f->settings, &f->err), STATUS_FOREIGN);
    assert_int_equal(join(f, &world, true, false), STATUS_OK);
    assert_int_equal(join(f, &world, false, false), STATUS_OK);
    assert_int_equal(join(f, &f->lab.world, false, false), STATUS_FOREIGN);
    close_catalogue(&world);
}

/* ---- many at once ---- */

struct joiner {
    pthread_t thread;
    struct fixture *f;
    struct world world;
    enum status status;
    struct err err;
};

static void *join_and_mark(void *argument)
{
    struct joiner *joiner = argument;
    const struct volume_options options = {.settings = &joiner->f->settings};
    for (int i = 0; i < 10 && joiner->status == STATUS_OK; i++) {
        joiner->status = volume_join(&joiner->world, &options, NULL, &joiner->err);
        if (joiner->status == STATUS_BUSY) /* others wrote all the time: that is told, and harmless */
            joiner->status = STATUS_OK;
    }
    return NULL;
}

/* No mount of the right catalogue is ever told that it is an old copy. */
static void test_many_join_at_once(void **state)
{
    struct fixture *f = *state;
    struct joiner joiners[6] = {0};
    for (int i = 0; i < 6; i++) {
        joiners[i].f = f;
        joiners[i].world = open_catalogue(f, f->lab.catalogue_path);
        assert_int_equal(pthread_create(&joiners[i].thread, NULL, join_and_mark, &joiners[i]), 0);
    }
    for (int i = 0; i < 6; i++) {
        assert_int_equal(pthread_join(joiners[i].thread, NULL), 0);
        if (joiners[i].status != STATUS_OK)
            fail_msg("%s: %s", status_name(joiners[i].status), joiners[i].err.message);
        close_catalogue(&joiners[i].world);
    }
    assert_int_equal(join(f, &f->lab.world, false, false), STATUS_OK);
}

/* Another mount marks between the two looks of a joining one: the control blob is looked at first, so the mark that it
 * has is known. */
static struct fixture *marking;

static void mark_meanwhile(void *context, enum lab_call call, const char *name)
{
    unsigned *visits = context;
    (void)name;
    if (call != CALL_CONTROL || (*visits)++)
        return;
    assert_int_equal(volume_mark(&marking->lab.world, &marking->settings, &marking->err), STATUS_OK);
}

static void test_marked_meanwhile(void **state)
{
    struct fixture *f = *state;
    unsigned visits = 0;
    marking = f;
    struct world world = open_catalogue(f, f->lab.catalogue_path);
    f->lab.blobs.hook = mark_meanwhile;
    f->lab.blobs.hook_context = &visits;
    assert_int_equal(join(f, &world, false, true), STATUS_OK);
    visits = 0;
    assert_int_equal(join(f, &world, false, false), STATUS_OK);
    assert_true(visits > 1);
    f->lab.blobs.hook = NULL;
    close_catalogue(&world);
}

/* P9: the answer to a write of the control blob is lost, applied or not: read again, and right afterwards. */
static void test_lost_control_writes(void **state)
{
    struct fixture *f = *state;
    for (enum lab_fault fault = FAULT_LOST; fault <= FAULT_LOST_APPLIED; fault++)
        for (int after = 1; after < 3; after++) {
            f->lab.blobs.fault_call = CALL_CONTROL;
            f->lab.blobs.fault_after = 1; /* the read passes */
            f->lab.blobs.fault_times = after;
            f->lab.blobs.fault = fault;
            enum status status = join(f, &f->lab.world, false, false);
            f->lab.blobs.fault = FAULT_NONE;
            if (after == 1)
                assert_int_equal(status, STATUS_OK);
            assert_int_equal(join(f, &f->lab.world, false, false), STATUS_OK);
        }
}

/* A control blob that was damaged, or written by something else. */
static void test_damaged_control(void **state)
{
    struct fixture *f = *state;
    char text[1024], etag[LIMIT_ETAG_BYTES];
    const struct call call = {0};
    struct blob_store *below = f->lab.blobs.below;
    static const char *const damages[] = {"", "readyfs volume 2\n", "readyfs volume 1\ncatalogue \n", "\n\n\n"};
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        assert_int_equal(below->ops->control_read(below, &call, ".readyfs/volume", text, sizeof text, etag, NULL),
                         STATUS_OK);
        assert_int_equal(below->ops->control_write(below, &call, ".readyfs/volume", damages[i], etag, etag, NULL),
                         STATUS_OK);
        assert_int_equal(join(f, &f->lab.world, false, false), STATUS_FOREIGN);
        assert_int_equal(below->ops->control_write(below, &call, ".readyfs/volume", text, etag, etag, NULL), STATUS_OK);
    }
    assert_int_equal(join(f, &f->lab.world, false, false), STATUS_OK);
}

#define TRY(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TRY(test_join_again_and_again), TRY(test_another_catalogue), TRY(test_control_blob_gone),
        TRY(test_restored_from_a_copy), TRY(test_many_join_at_once), TRY(test_marked_meanwhile),
        TRY(test_lost_control_writes),  TRY(test_damaged_control),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
