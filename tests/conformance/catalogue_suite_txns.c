/* catalogue_suite_txns.c - goal and method as in catalogue_suite.c: what transactions promise to each other. */
#include "conformance/catalogue_suite_fixture.h"

#include <pthread.h>

/* ---- transactions ---- */

static bool entry_there(struct fixture *f, struct catalogue_txn *txn, const char *text)
{
    struct name name = named(text);
    struct entry_row row;
    enum status status = OPS->entry_get(txn, CATALOGUE_ROOT, &name, &row, &f->err);
    assert_true(status == STATUS_OK || status == STATUS_NOT_FOUND);
    return status == STATUS_OK;
}

static void test_abort_takes_everything_back(void **state)
{
    struct fixture *f = setup_of(state);
    struct catalogue_txn *txn = writing(f);
    (void)add_entry(f, txn, CATALOGUE_ROOT, "a", add_file(f, txn));
    assert_true(entry_there(f, txn, "a")); /* its own writes */
    take_back(f, txn);
    txn = reading(f);
    assert_false(entry_there(f, txn, "a"));
    take_back(f, txn);
    OPS->abort(NULL);
}

static void test_reader_sees_one_snapshot(void **state)
{
    struct fixture *f = setup_of(state);
    struct catalogue_txn *reader = reading(f);
    struct catalogue_txn *writer = writing(f);
    (void)add_entry(f, writer, CATALOGUE_ROOT, "a", add_file(f, writer));
    assert_false(entry_there(f, reader, "a"));
    commit(f, writer);
    assert_false(entry_there(f, reader, "a")); /* begun before the commit */
    struct catalogue_txn *later = reading(f);
    assert_true(entry_there(f, later, "a"));
    take_back(f, later);
    commit(f, reader);
}

static void test_savepoint_is_taken_back_alone(void **state)
{
    struct fixture *f = setup_of(state);
    struct catalogue_txn *txn = writing(f);
    static const char *const names[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++) {
        OK(OPS->savepoint(txn, &f->err));
        (void)add_entry(f, txn, CATALOGUE_ROOT, names[i], add_file(f, txn));
        if (i == 1)
            OK(OPS->savepoint_rollback(txn, &f->err));
        else
            OK(OPS->savepoint_release(txn, &f->err));
    }
    commit(f, txn);
    txn = reading(f);
    assert_true(entry_there(f, txn, "a"));
    assert_false(entry_there(f, txn, "b"));
    assert_true(entry_there(f, txn, "c"));
    take_back(f, txn);
}

static void test_one_writer_at_a_time(void **state)
{
    struct fixture *f = setup_of(state);
    struct catalogue *other = other_of(f);
    struct catalogue_txn *txn = writing(f), *second = NULL;
    REFUSED(BUSY, other->ops->write_begin(other, ORDERED, 1, &second, &f->err));
    REFUSED(BUSY, OPS->write_begin(f->catalogue, ORDERED, 1, &second, &f->err));
    assert_string_not_equal(f->err.message, "");
    commit(f, txn);
    OK(other->ops->write_begin(other, ORDERED, 1, &second, &f->err));
    other->ops->abort(second);
}

static uint64_t moved(struct fixture *f, struct catalogue *catalogue)
{
    uint64_t version = 0;
    OK(catalogue->ops->data_version(catalogue, &version, &f->err));
    return version;
}

static void test_data_version_moves_with_each_commit(void **state)
{
    struct fixture *f = setup_of(state);
    struct catalogue *other = other_of(f);
    uint64_t here = moved(f, f->catalogue), there = moved(f, other);
    OK(OPS->reopen(f->catalogue, &f->err));
    assert_int_not_equal(moved(f, f->catalogue), here); /* whoever reopens looks at everything anew */
    here = moved(f, f->catalogue);
    assert_int_equal(moved(f, f->catalogue), here);
    struct catalogue_txn *txn = writing(f);
    OK(OPS->meta_set(txn, "k", "v", &f->err));
    commit(f, txn);
    assert_int_not_equal(moved(f, f->catalogue), here);
    assert_int_not_equal(moved(f, other), there);
    here = moved(f, f->catalogue);
    txn = writing(f);
    OK(OPS->meta_set(txn, "k", "w", &f->err));
    take_back(f, txn);
    assert_int_equal(moved(f, f->catalogue), here);
}

static void test_commits_survive_reopening_and_syncing(void **state)
{
    struct fixture *f = setup_of(state);
    OK(OPS->sync(f->catalogue, &f->err));
    struct catalogue_txn *txn = NULL;
    OK(OPS->write_begin(f->catalogue, DURABLE, DEADLINE_MS, &txn, &f->err));
    (void)opened(f, NULL, txn);
    (void)add_entry(f, txn, CATALOGUE_ROOT, "a", add_file(f, txn));
    commit(f, txn);
    txn = writing(f);
    (void)add_entry(f, txn, CATALOGUE_ROOT, "b", add_file(f, txn));
    commit(f, txn);
    OK(OPS->sync(f->catalogue, &f->err));
    OK(OPS->reopen(f->catalogue, &f->err));
    OK(OPS->check_place(f->catalogue, &f->err));
    txn = reading(f);
    assert_true(entry_there(f, txn, "a"));
    assert_true(entry_there(f, txn, "b"));
    REFUSED(BUSY, OPS->reopen(f->catalogue, &f->err)); /* under an open transaction */
    take_back(f, txn);
    f->catalogue = catalogue_close(f->catalogue);
    OK(suite_open(&f->catalogue, &f->err));
    txn = reading(f);
    assert_true(entry_there(f, txn, "a"));
    take_back(f, txn);
}

static void count_finding(void *context, const char *finding)
{
    print_message("finding: %s\n", finding);
    ++*(int *)context;
}

static void test_a_sound_catalogue_has_no_findings(void **state)
{
    struct fixture *f = setup_of(state);
    struct catalogue_txn *txn = writing(f);
    (void)add_entry(f, txn, CATALOGUE_ROOT, "a", add_file(f, txn));
    commit(f, txn);
    int findings = 0;
    OK(OPS->integrity(f->catalogue, count_finding, &findings, &f->err));
    assert_int_equal(findings, 0);
}

/* ---- threads ---- */

#define ROUNDS 200

struct worker {
    pthread_t thread;
    struct catalogue *catalogue;
    int done;
    struct err err;
};

static int64_t counter_of(struct worker *worker, struct catalogue_txn *txn)
{
    char text[24];
    long long value = 0;
    if (worker->catalogue->ops->meta_get(txn, "counter", text, sizeof text, &worker->err) != STATUS_OK)
        return -1;
    return !text[0] || sscanf(text, "%lld", &value) == 1 ? value : -1;
}

static enum status increment(struct worker *worker)
{
    const struct catalogue_ops *ops = worker->catalogue->ops;
    struct catalogue_txn *txn = NULL;
    enum status status = ops->write_begin(worker->catalogue, ORDERED, DEADLINE_MS, &txn, &worker->err);
    if (status != STATUS_OK)
        return status;
    char text[24];
    (void)snprintf(text, sizeof text, "%lld", (long long)counter_of(worker, txn) + 1);
    status = ops->meta_set(txn, "counter", text, &worker->err);
    if (status == STATUS_OK)
        return ops->commit(txn, &worker->err);
    ops->abort(txn);
    return status;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    while (worker->done < ROUNDS && increment(worker) == STATUS_OK)
        worker->done++;
    return NULL;
}

static void *watch(void *argument)
{
    struct worker *worker = argument;
    const struct catalogue_ops *ops = worker->catalogue->ops;
    int64_t last = 0;
    while (last < 4 * ROUNDS) {
        struct catalogue_txn *txn = NULL;
        if (ops->read_begin(worker->catalogue, &txn, &worker->err) != STATUS_OK)
            return NULL;
        int64_t now = counter_of(worker, txn);
        ops->abort(txn);
        if (now < last)
            return NULL;
        last = now;
    }
    worker->done = 1;
    return NULL;
}

/* Two threads on each of two handles: no increment is lost, nobody is refused; readers never see a step back. */
static void test_writers_beside_each_other_lose_nothing(void **state)
{
    struct fixture *f = setup_of(state);
    struct worker workers[4] = {0}, watcher = {.catalogue = f->catalogue};
    for (int i = 0; i < 4; i++) {
        workers[i].catalogue = i % 2 ? f->catalogue : other_of(f);
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    assert_int_equal(pthread_create(&watcher.thread, NULL, watch, &watcher), 0);
    bool failed = false;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        if (workers[i].done != ROUNDS) {
            print_error("worker %d: %d: %s\n", i, workers[i].done, workers[i].err.message);
            failed = true;
        }
    }
    if (failed)
        (void)pthread_cancel(watcher.thread);
    assert_int_equal(pthread_join(watcher.thread, NULL), 0);
    assert_false(failed);
    assert_int_equal(watcher.done, 1);
    struct catalogue_txn *txn = reading(f);
    assert_int_equal(counter_of(&watcher, txn), 4 * ROUNDS);
    take_back(f, txn);
}

int suite_txns(const char *name)
{
    const struct CMUnitTest tests[] = {
        TEST(test_abort_takes_everything_back),         TEST(test_reader_sees_one_snapshot),
        TEST(test_savepoint_is_taken_back_alone),       TEST(test_one_writer_at_a_time),
        TEST(test_data_version_moves_with_each_commit), TEST(test_commits_survive_reopening_and_syncing),
        TEST(test_a_sound_catalogue_has_no_findings),   TEST(test_writers_beside_each_other_lose_nothing),
    };
    return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}
