/* test_batch.c - goal: what is gathered reaches the log by the end of each commit, whole and in order, in few writes,
 * and a failure to write fails the commit. Method: SQLite itself over a batch over a VFS that counts and fails; after
 * each commit another connection and a copy of the files, as a crash would leave them, are asked. */
#include "catalogue/batch.h"

#include "support/fault_vfs.h"
#include "support/scratch.h"
#include "unit.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fixture {
    struct scratch scratch;
    struct batch *batch;
    char path[300];
    sqlite3 *writer, *reader;
};

static void run(sqlite3 *db, const char *sql)
{
    char *message = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
}

static int64_t number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    int64_t value = sqlite3_column_int64(stmt, 0);
    assert_int_equal(sqlite3_finalize(stmt), SQLITE_OK);
    return value;
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    scratch_init(&f->scratch);
    (void)scratch_path(&f->scratch, "db", f->path, sizeof f->path);
    assert_int_equal(batch_open(&f->batch, NULL), STATUS_OK);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_EXRESCODE;
    assert_int_equal(sqlite3_open_v2(f->path, &f->writer, flags, batch_name(f->batch)), SQLITE_OK);
    run(f->writer, "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = NORMAL;"
                   "CREATE TABLE t (id INTEGER PRIMARY KEY, bytes BLOB)");
    assert_int_equal(sqlite3_open_v2(f->path, &f->reader, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    fault_vfs_clear();
    assert_int_equal(sqlite3_close(f->reader), SQLITE_OK);
    assert_int_equal(sqlite3_close(f->writer), SQLITE_OK);
    f->batch = batch_close(f->batch);
    scratch_done(&f->scratch);
    free(f);
    return 0;
}

static void copy(const char *from, const char *to)
{
    static char bytes[1 << 20];
    int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(in >= 0 && out >= 0);
    ssize_t got;
    while ((got = read(in, bytes, sizeof bytes)) > 0)
        assert_int_equal(write(out, bytes, (size_t)got), got);
    assert_int_equal(close(in) | close(out), 0);
}

/* What is on the disk now holds `rows` rows and no damage. */
static void expect_on_disk(struct fixture *f, int64_t rows)
{
    char log[310], copied[310], copied_log[320];
    sqlite3 *db = NULL;
    (void)snprintf(log, sizeof log, "%s-wal", f->path);
    (void)snprintf(copied, sizeof copied, "%s.copy", f->path);
    (void)snprintf(copied_log, sizeof copied_log, "%s-wal", copied);
    copy(f->path, copied);
    copy(log, copied_log);
    assert_int_equal(sqlite3_open_v2(copied, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(number(db, "SELECT count(*) FROM t"), rows);
    assert_int_equal(number(db, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"), 0);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void expect(struct fixture *f, int64_t rows)
{
    assert_int_equal(number(f->reader, "SELECT count(*) FROM t"), rows);
    expect_on_disk(f, rows);
}

static void insert(struct fixture *f, int rows)
{
    char sql[200];
    (void)snprintf(sql, sizeof sql,
                   "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
                   " INSERT INTO t(bytes) SELECT randomblob(3000) FROM n",
                   rows);
    run(f->writer, sql);
}

static void count_writes(void)
{
    fault_vfs_set((struct fault){.call = FAULT_WRITE, .files = FAULT_LOG, .count = -1, .code = SQLITE_OK});
}

static void a_commit_is_one_write(void **state)
{
    struct fixture *f = *state;
    insert(f, 1);
    count_writes();
    insert(f, 10); /* ten pages and some */
    assert_int_equal(fault_vfs_failed(), 1);
    fault_vfs_clear();
    expect(f, 11);
}

static void every_commit_is_on_the_disk(void **state)
{
    struct fixture *f = *state;
    for (int i = 1; i <= 20; i++) {
        insert(f, 1);
        expect(f, i);
    }
}

static void a_log_that_begins_anew(void **state)
{
    struct fixture *f = *state;
    insert(f, 20);
    run(f->writer, "PRAGMA wal_checkpoint(RESTART)");
    insert(f, 3);
    expect(f, 23);
    run(f->writer, "PRAGMA wal_checkpoint(TRUNCATE)");
    insert(f, 2);
    expect(f, 25);
    insert(f, 1);
    expect(f, 26);
}

/* Another connection writes in between: the log goes on where this one did not leave it. */
static void another_writer_in_between(void **state)
{
    struct fixture *f = *state;
    for (int i = 1; i <= 10; i++) {
        insert(f, 1);
        run(f->reader, "INSERT INTO t(bytes) VALUES (randomblob(9000))");
        expect(f, 2 * i);
    }
}

/* A transaction larger than the cache writes pages before its commit, reads them again, and writes some of them twice.
 */
static void a_transaction_that_spills(void **state)
{
    struct fixture *f = *state;
    char sql[200];
    run(f->writer, "PRAGMA cache_size = 10");
    insert(f, 500);
    expect(f, 500);
    run(f->writer, "BEGIN");
    for (int from = 1; from <= 500; from += 20) {
        (void)snprintf(sql, sizeof sql, "UPDATE t SET bytes = randomblob(2900) WHERE id BETWEEN %d AND %d", from,
                       from + 19);
        run(f->writer, sql);
        (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM t WHERE id >= %d AND substr(hex(bytes), 5800) <> ''",
                       from);
        assert_int_equal(number(f->writer, sql), 501 - from); /* what was written last is read next */
    }
    run(f->writer, "UPDATE t SET bytes = randomblob(2000); DELETE FROM t WHERE id % 2");
    assert_int_equal(number(f->reader, "SELECT count(*) FROM t"), 500);
    assert_int_equal(number(f->writer, "SELECT count(*) FROM t WHERE length(bytes) = 2000"), 250);
    run(f->writer, "COMMIT");
    expect(f, 250);
    run(f->writer, "BEGIN; DELETE FROM t");
    run(f->writer, "ROLLBACK");
    insert(f, 1);
    expect(f, 251);
}

static void a_full_disk_refuses_the_commit(void **state)
{
    struct fixture *f = *state;
    insert(f, 5);
    for (int skip = 0; skip < 2; skip++) {
        fault_vfs_set(
            (struct fault){.call = FAULT_WRITE, .files = FAULT_LOG, .skip = skip, .count = -1, .code = SQLITE_FULL});
        run(f->writer, "BEGIN");
        for (int i = 0; i < 60 * skip; i++) /* more than is gathered: the first write is no commit's */
            if (sqlite3_exec(f->writer, "INSERT INTO t(bytes) VALUES (randomblob(3000))", NULL, NULL, NULL))
                break;
        (void)sqlite3_exec(f->writer, "INSERT INTO t(bytes) VALUES (1)", NULL, NULL, NULL); /* the commit tells */
        assert_int_not_equal(sqlite3_exec(f->writer, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
        fault_vfs_clear();
        if (!sqlite3_get_autocommit(f->writer))
            run(f->writer, "ROLLBACK");
        expect(f, 5);
    }
    insert(f, 1);
    expect(f, 6);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_commit_is_one_write),     TEST(every_commit_is_on_the_disk), TEST(a_log_that_begins_anew),
        TEST(another_writer_in_between), TEST(a_transaction_that_spills),   TEST(a_full_disk_refuses_the_commit),
    };
    fault_vfs_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
