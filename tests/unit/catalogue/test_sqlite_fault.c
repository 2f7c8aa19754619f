/* test_sqlite_fault.c - goal: whatever the disk does, a commit is told truthfully (done, refused, unknown), and after
 * an unknown one nothing is written until the log was rewritten (P6, P9). Method: a VFS that fails writes and syncs of
 * the log on command.
 */
#include "unit/catalogue/place.h"

#include "support/fault_vfs.h"

#include <stdlib.h>

static struct place_fixture *setup_of(void **state)
{
    fault_vfs_clear();
    struct place_fixture *f = *state;
    open_it(f);
    return f;
}

static int teardown(void **state)
{
    fault_vfs_clear();
    return place_teardown(state);
}

static void test_durable_commits_sync_and_ordered_ones_do_not(void **state)
{
    struct place_fixture *f = setup_of(state);
    OK(put(f, DURABLE, "k", "0")); /* the first one also syncs a new log's header */
    int before = fault_vfs_syncs();
    for (int i = 0; i < 5; i++)
        OK(put(f, ORDERED, "k", "1"));
    assert_int_equal(fault_vfs_syncs(), before);
    OK(put(f, DURABLE, "k", "2"));
    assert_int_equal(fault_vfs_syncs(), before + 1);
    OK(put(f, ORDERED, "k", "3"));
    assert_int_equal(fault_vfs_syncs(), before + 1);
    OK(OPS->sync(f->catalogue, &f->err)); /* P6: explicitly, since an empty transaction syncs nothing */
    assert_int_equal(fault_vfs_syncs(), before + 2);
}

/* P9, P6: the bytes are in the log, nobody knows whether they are on the disk. */
static void test_failed_sync_of_a_commit_is_unknown(void **state)
{
    struct place_fixture *f = setup_of(state);
    OK(put(f, DURABLE, "k", "before"));
    fault_vfs_set((struct fault){.call = FAULT_SYNC, .files = FAULT_LOG, .count = 1, .code = SQLITE_IOERR_FSYNC});
    REFUSED(UNKNOWN, put(f, DURABLE, "k", "after"));
    assert_int_equal(fault_vfs_failed(), 1);
    assert_int_equal(f->err.status, STATUS_UNKNOWN);
    assert_non_null(strstr(f->err.message, "not known"));
    assert_string_equal(get(f, "k"), "before");
    /* The next sync would succeed and prove nothing. */
    struct catalogue_txn *txn = NULL;
    REFUSED(IO, OPS->write_begin(f->catalogue, ORDERED, DEADLINE_MS, &txn, &f->err));
    REFUSED(IO, OPS->sync(f->catalogue, &f->err));
    OK(OPS->reopen(f->catalogue, &f->err));
    char seen[64];
    (void)snprintf(seen, sizeof seen, "%s", get(f, "k"));
    assert_true(!strcmp(seen, "before") || !strcmp(seen, "after"));
    OK(OPS->sync(f->catalogue, &f->err));
    OK(put(f, ORDERED, "other", "1"));
    close_it(f);
    open_it(f);
    assert_string_equal(get(f, "k"), seen); /* what the reopening has shown stays */
}

/* With another handle the log is not read anew, and the half-written commit must be gone from it for good. */
static void test_unknown_commit_beside_another_process_is_settled(void **state)
{
    struct place_fixture *f = setup_of(state);
    struct catalogue *other = NULL;
    OK(open_plain(f, &other));
    OK(put(f, DURABLE, "k", "before"));
    fault_vfs_set((struct fault){.call = FAULT_SYNC, .files = FAULT_LOG, .count = 1, .code = SQLITE_IOERR_FSYNC});
    REFUSED(UNKNOWN, put(f, DURABLE, "k", "after"));
    OK(OPS->reopen(f->catalogue, &f->err));
    assert_string_equal(get(f, "k"), "before");
    struct stat log;
    char path[400];
    (void)snprintf(path, sizeof path, "%s-wal", f->path);
    assert_int_equal(stat(path, &log), 0);
    assert_int_equal(log.st_size, 0);
    other = catalogue_close(other);
    OK(put(f, DURABLE, "k", "later"));
    assert_string_equal(get(f, "k"), "later");
}

static void test_lost_answer_of_a_sync_is_unknown(void **state)
{
    struct place_fixture *f = setup_of(state);
    OK(put(f, DURABLE, "k", "before"));
    fault_vfs_set((
        struct fault){.call = FAULT_SYNC, .files = FAULT_LOG, .count = 1, .code = SQLITE_IOERR_FSYNC, .applied = true});
    REFUSED(UNKNOWN, put(f, DURABLE, "k", "after"));
    OK(OPS->reopen(f->catalogue, &f->err));
    assert_string_equal(get(f, "k"), "after"); /* it was whole in the log, and the reopening reads the log */
}

static void test_failed_write_of_a_commit_is_unknown(void **state)
{
    struct place_fixture *f = setup_of(state);
    OK(put(f, DURABLE, "k", "before"));
    fault_vfs_set((struct fault){.call = FAULT_WRITE, .files = FAULT_LOG, .count = 1, .code = SQLITE_IOERR_WRITE});
    REFUSED(UNKNOWN, put(f, ORDERED, "k", "after"));
    OK(OPS->reopen(f->catalogue, &f->err));
    assert_string_equal(get(f, "k"), "before");
    OK(put(f, ORDERED, "k", "later"));
}

static void test_full_disk_refuses_a_commit(void **state)
{
    struct place_fixture *f = setup_of(state);
    OK(put(f, DURABLE, "k", "before"));
    for (int skip = 0; skip < 2; skip++) { /* the header of the one frame, its page */
        fault_vfs_set(
            (struct fault){.call = FAULT_WRITE, .files = FAULT_LOG, .skip = skip, .count = 1, .code = SQLITE_FULL});
        REFUSED(NO_SPACE, put(f, DURABLE, "k", "after"));
        assert_int_equal(fault_vfs_failed(), 1);
        assert_string_not_equal(f->err.hint, "");
        assert_string_equal(get(f, "k"), "before");
    }
    fault_vfs_clear();
    OK(put(f, DURABLE, "k", "later")); /* nothing is in doubt */
    assert_string_equal(get(f, "k"), "later");
}

/* A transaction larger than the cache reaches the log before its commit. SQLite then takes all of it back, and what
 * would follow must not become transactions of their own. */
static void test_full_disk_within_a_transaction_takes_it_back(void **state)
{
    struct place_fixture *f = setup_of(state);
    static uint64_t digests[LIMIT_BLOCKS];
    for (size_t i = 0; i < LIMIT_BLOCKS; i++)
        digests[i] = i * 0x9E3779B97F4A7C15u;
    struct catalogue_txn *txn = writing(f, DURABLE);
    OK(OPS->meta_set(txn, "k", "after", &f->err));
    fault_vfs_set((struct fault){.call = FAULT_WRITE, .files = FAULT_LOG, .count = -1, .code = SQLITE_FULL});
    enum status status = STATUS_OK;
    for (int i = 0; status == STATUS_OK && i < 100; i++) {
        struct version_row row = {.state = VERSION_PENDING, .session = 1, .digests = digests};
        row.digest_count = LIMIT_BLOCKS;
        (void)snprintf(row.blob, sizeof row.blob, "b%d", i);
        status = OPS->version_insert(txn, &row, &row.id, &f->err);
    }
    assert_int_equal(status, STATUS_NO_SPACE);
    fault_vfs_clear();
    if (sqlite3_get_autocommit(txn->connection->db)) {
        REFUSED(IO, OPS->meta_set(txn, "k", "alone", &f->err));
        REFUSED(IO, OPS->savepoint(txn, &f->err));
        REFUSED(IO, OPS->commit(txn, &f->err));
    } else {
        OPS->abort(txn);
    }
    assert_string_equal(get(f, "k"), "");
    struct version_counts counts;
    OK(OPS->read_begin(f->catalogue, &txn, &f->err));
    OK(OPS->count(txn, &counts, &f->err));
    assert_int_equal(counts.pending, 0);
    OPS->abort(txn);
    OK(put(f, DURABLE, "k", "later"));
}

/* "Who is dead": a session whose row may be there must look alive; when it is settled as failed, its id comes again. */
static void test_session_of_an_unknown_commit_looks_alive(void **state)
{
    struct place_fixture *f = setup_of(state);
    struct catalogue *other = NULL;
    OK(open_plain(f, &other));
    struct session_row row = {.kind = SESSION_MOUNT};
    for (int i = 0; i < 2; i++) {
        struct catalogue_txn *txn = writing(f, DURABLE);
        OK(OPS->session_insert(txn, &row, &row.id, &f->err));
        OK(OPS->lock_take(txn, row.id, &f->err));
        assert_int_equal(row.id, 1);
        REFUSED(BUSY, other->ops->lock_probe(other, row.id, &f->err));
        if (i == 0) {
            fault_vfs_set(
                (struct fault){.call = FAULT_WRITE, .files = FAULT_LOG, .count = 1, .code = SQLITE_IOERR_WRITE});
            REFUSED(UNKNOWN, OPS->commit(txn, &f->err));
            REFUSED(BUSY, other->ops->lock_probe(other, row.id, &f->err));
            OK(OPS->reopen(f->catalogue, &f->err));
        } else {
            OK(OPS->commit(txn, &f->err));
        }
    }
    REFUSED(BUSY, other->ops->lock_probe(other, row.id, &f->err));
    other = catalogue_close(other);
}

static void test_failed_explicit_sync_makes_the_catalogue_doubtful(void **state)
{
    struct place_fixture *f = setup_of(state);
    OK(put(f, ORDERED, "k", "v"));
    fault_vfs_set((struct fault){.call = FAULT_SYNC, .files = FAULT_LOG, .count = 1, .code = SQLITE_IOERR_FSYNC});
    REFUSED(IO, OPS->sync(f->catalogue, &f->err));
    REFUSED(IO, OPS->sync(f->catalogue, &f->err));
    assert_string_equal(get(f, "k"), "v"); /* reading goes on */
    OK(OPS->reopen(f->catalogue, &f->err));
    OK(OPS->sync(f->catalogue, &f->err));
    assert_string_equal(get(f, "k"), "v");
}

static void test_reopening_that_fails_leaves_the_doubt(void **state)
{
    struct place_fixture *f = setup_of(state);
    OK(put(f, ORDERED, "k", "v"));
    fault_vfs_set((struct fault){.call = FAULT_SYNC, .files = FAULT_LOG, .count = -1, .code = SQLITE_IOERR_FSYNC});
    REFUSED(IO, OPS->sync(f->catalogue, &f->err));
    REFUSED(IO, OPS->reopen(f->catalogue, &f->err));
    struct catalogue_txn *txn = NULL;
    REFUSED(IO, OPS->write_begin(f->catalogue, ORDERED, DEADLINE_MS, &txn, &f->err));
    assert_string_equal(get(f, "k"), "v");
    fault_vfs_set(
        (struct fault){.call = FAULT_TRUNCATE, .files = FAULT_LOG, .count = 1, .code = SQLITE_IOERR_TRUNCATE});
    REFUSED(IO, OPS->reopen(f->catalogue, &f->err));
    REFUSED(IO, OPS->sync(f->catalogue, &f->err));
    fault_vfs_clear();
    OK(OPS->reopen(f->catalogue, &f->err));
    OK(put(f, DURABLE, "k", "w"));
}

/* Fills the log until it is copied into the file. */
static enum status grow_log_from(struct place_fixture *f, int first)
{
    static uint64_t digests[LIMIT_BLOCKS];
    struct catalogue_txn *txn = writing(f, ORDERED);
    for (int i = 0; i < 2 + SQLITE_CHECKPOINT_FRAMES * 4096 / (LIMIT_BLOCKS * 8); i++) {
        struct version_row row = {.state = VERSION_PENDING, .session = 1, .digests = digests};
        row.digest_count = LIMIT_BLOCKS;
        (void)snprintf(row.blob, sizeof row.blob, "b%d", first + i);
        OK(OPS->version_insert(txn, &row, &row.id, &f->err));
    }
    return OPS->commit(txn, &f->err);
}

static enum status grow_log(struct place_fixture *f)
{
    return grow_log_from(f, 0);
}

static void test_long_log_is_copied_into_the_file(void **state)
{
    struct place_fixture *f = setup_of(state);
    struct stat before, after;
    assert_int_equal(stat(f->path, &before), 0);
    OK(grow_log(f));
    assert_int_equal(stat(f->path, &after), 0);
    assert_true(after.st_size > before.st_size + SQLITE_CHECKPOINT_FRAMES * 2048);
}

static struct catalogue_txn *reading(struct place_fixture *f)
{
    struct catalogue_txn *txn = NULL;
    OK(OPS->read_begin(f->catalogue, &txn, &f->err));
    return txn;
}

/* Readers that come and go may keep the log from being begun anew; a commit of metadata still waits for no disk. */
static void test_readers_do_not_make_each_commit_copy_the_log(void **state)
{
    struct place_fixture *f = setup_of(state);
    struct catalogue_txn *reader = reading(f);
    OK(grow_log(f));
    OPS->abort(reader);
    int before = fault_vfs_syncs();
    for (int i = 0; i < 5; i++) {
        reader = reading(f);
        OK(put(f, ORDERED, "k", "v"));
        OPS->abort(reader);
    }
    assert_int_equal(fault_vfs_syncs(), before);
    OK(grow_log_from(f, 1000)); /* but the log is not forgotten */
    assert_true(fault_vfs_syncs() > before);
}

static void test_failed_sync_of_a_checkpoint_is_noticed(void **state)
{
    struct place_fixture *f = setup_of(state);
    OK(put(f, DURABLE, "k", "v"));
    fault_vfs_set((struct fault){.call = FAULT_SYNC, .files = FAULT_LOG, .count = 1, .code = SQLITE_IOERR_FSYNC});
    OK(grow_log(f)); /* the commit itself was answered before */
    assert_int_equal(fault_vfs_failed(), 1);
    REFUSED(IO, OPS->sync(f->catalogue, &f->err));
    OK(OPS->reopen(f->catalogue, &f->err));
    OK(OPS->sync(f->catalogue, &f->err));
}

static void test_full_disk_at_a_checkpoint_harms_nothing(void **state)
{
    struct place_fixture *f = setup_of(state);
    fault_vfs_set((struct fault){.call = FAULT_WRITE, .files = FAULT_MAIN, .count = -1, .code = SQLITE_FULL});
    OK(grow_log(f));
    assert_true(fault_vfs_failed() > 0);
    OK(put(f, DURABLE, "k", "v"));
    fault_vfs_clear();
    close_it(f);
    open_it(f);
    assert_string_equal(get(f, "k"), "v");
}

static void test_full_disk_at_creation_leaves_no_file(void **state)
{
    struct place_fixture *f = *state;
    struct stat file;
    int places[] = {FAULT_MAIN, FAULT_LOG};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        fault_vfs_set((struct fault){.call = FAULT_WRITE, .files = places[i], .count = -1, .code = SQLITE_FULL});
        REFUSED(NO_SPACE, open_plain(f, &f->catalogue));
        assert_true(fault_vfs_failed() > 0);
        assert_non_null(strstr(f->err.message, f->path));
        assert_string_not_equal(f->err.hint, "");
        assert_int_equal(stat(f->path, &file), -1);
    }
    fault_vfs_clear();
    open_it(f);
}

static void test_unreadable_pages_are_errors(void **state)
{
    struct place_fixture *f = setup_of(state);
    OK(put(f, DURABLE, "k", "v"));
    close_it(f);
    fault_vfs_set((struct fault){.call = FAULT_READ, .files = FAULT_MAIN, .count = -1, .code = SQLITE_IOERR_READ});
    REFUSED(IO, open_plain(f, &f->catalogue));
    fault_vfs_clear();
    open_it(f);
    assert_string_equal(get(f, "k"), "v");
}

#define FAULTY(name) cmocka_unit_test_setup_teardown(name, place_setup, teardown)

int main(void)
{
    fault_vfs_install();
    const struct CMUnitTest tests[] = {
        FAULTY(test_durable_commits_sync_and_ordered_ones_do_not),
        FAULTY(test_failed_sync_of_a_commit_is_unknown),
        FAULTY(test_unknown_commit_beside_another_process_is_settled),
        FAULTY(test_lost_answer_of_a_sync_is_unknown),
        FAULTY(test_failed_write_of_a_commit_is_unknown),
        FAULTY(test_full_disk_refuses_a_commit),
        FAULTY(test_full_disk_within_a_transaction_takes_it_back),
        FAULTY(test_session_of_an_unknown_commit_looks_alive),
        FAULTY(test_failed_explicit_sync_makes_the_catalogue_doubtful),
        FAULTY(test_reopening_that_fails_leaves_the_doubt),
        FAULTY(test_long_log_is_copied_into_the_file),
        FAULTY(test_readers_do_not_make_each_commit_copy_the_log),
        FAULTY(test_failed_sync_of_a_checkpoint_is_noticed),
        FAULTY(test_full_disk_at_a_checkpoint_harms_nothing),
        FAULTY(test_full_disk_at_creation_leaves_no_file),
        FAULTY(test_unreadable_pages_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
