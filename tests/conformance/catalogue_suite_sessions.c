/* catalogue_suite_sessions.c - goal and method as in catalogue_suite.c: sessions and their locks, the sequence, the
 * change log, the values by key. */
#include "conformance/catalogue_suite_fixture.h"

/* ---- sessions ---- */

static struct session_row a_session(void)
{
    struct session_row row = {.kind = SESSION_MOUNT,
                              .started_utc_ns = 1,
                              .heartbeat_utc_ns = 2,
                              .horizon = 3,
                              .seen_seq = 4,
                              .pid = 5,
                              .group_number = 6,
                              .group_failed = true};
    (void)snprintf(row.place, sizeof row.place, "/mnt/caf\xe9");
    return row;
}

static void test_session_keeps_every_column(void **state)
{
    struct fixture *f = setup_of(state);
    struct catalogue_txn *txn = writing(f);
    struct session_row row = a_session(), read;
    OK(OPS->session_insert(txn, &row, &row.id, &f->err));
    OK(OPS->session_get(txn, row.id, &read, &f->err));
    assert_int_equal(read.kind, row.kind);
    assert_memory_equal(&read.started_utc_ns, &row.started_utc_ns,
                        offsetof(struct session_row, group_failed) - offsetof(struct session_row, started_utc_ns));
    assert_int_equal(read.group_failed, row.group_failed);
    assert_string_equal(read.place, row.place);
    assert_string_equal(read.result, "");
    row.fenced_utc_ns = 99;
    row.kind = SESSION_VERB;
    memset(row.place, 'p', sizeof row.place - 1);
    memset(row.result, 'r', sizeof row.result - 1);
    row.place[sizeof row.place - 1] = row.result[sizeof row.result - 1] = '\0';
    OK(OPS->session_update(txn, &row, &f->err));
    struct session_row second = a_session(), rows[2];
    OK(OPS->session_insert(txn, &second, &second.id, &f->err));
    size_t count;
    OK(OPS->session_list(txn, 0, rows, 2, &count, &f->err));
    assert_int_equal(count, 2);
    assert_int_equal(rows[0].fenced_utc_ns, 99);
    assert_string_equal(rows[0].result, row.result);
    OK(OPS->session_list(txn, rows[0].id, rows, 2, &count, &f->err));
    assert_int_equal(count, 1);
    assert_int_equal(rows[0].id, second.id);
    OK(OPS->session_delete(txn, second.id, &f->err));
    REFUSED(NOT_FOUND, OPS->session_delete(txn, second.id, &f->err));
    REFUSED(NOT_FOUND, OPS->session_get(txn, second.id, &read, &f->err));
    REFUSED(NOT_FOUND, OPS->session_update(txn, &second, &f->err));
    int64_t id;
    OK(OPS->session_insert(txn, &second, &id, &f->err));
    assert_true(id > second.id);
    commit(f, txn);
}

/* "Who is dead": whoever can take the lock knows that its owner is gone. */
static void test_session_lock_proves_life(void **state)
{
    struct fixture *f = setup_of(state);
    struct catalogue *other = other_of(f);
    struct catalogue_txn *txn = writing(f);
    struct session_row row = a_session();
    OK(OPS->session_insert(txn, &row, &row.id, &f->err));
    OK(OPS->lock_take(txn, row.id, &f->err));
    commit(f, txn);
    REFUSED(BUSY, OPS->lock_probe(f->catalogue, row.id, &f->err)); /* our own */
    REFUSED(BUSY, other->ops->lock_probe(other, row.id, &f->err)); /* seen by another */
    REFUSED(BUSY, other->ops->lock_probe(other, row.id, &f->err)); /* the probes have not harmed it */
    OK(other->ops->lock_probe(other, row.id + 1000, &f->err));     /* never was */
    OPS->lock_release(f->catalogue, row.id);
    OK(other->ops->lock_probe(other, row.id, &f->err));
    REFUSED(BUSY, OPS->lock_probe(f->catalogue, row.id, &f->err)); /* the finder holds it until the burial */
    struct catalogue_txn *burial = NULL;
    OK(other->ops->write_begin(other, DURABLE, DEADLINE_MS, &burial, &f->err));
    OK(other->ops->session_get(burial, row.id, &row, &f->err));
    row.fenced_utc_ns = 1;
    OK(other->ops->session_update(burial, &row, &f->err));
    other->ops->lock_bury(burial, row.id);
    OK(other->ops->commit(burial, &f->err));
    OK(OPS->lock_probe(f->catalogue, row.id, &f->err));
    OPS->lock_release(f->catalogue, row.id);
}

static void test_closing_lets_go_of_session_locks(void **state)
{
    struct fixture *f = setup_of(state);
    struct catalogue *other = other_of(f);
    struct catalogue_txn *txn = NULL;
    struct session_row row = a_session();
    OK(other->ops->write_begin(other, ORDERED, DEADLINE_MS, &txn, &f->err));
    OK(other->ops->session_insert(txn, &row, &row.id, &f->err));
    OK(other->ops->lock_take(txn, row.id, &f->err));
    OK(other->ops->commit(txn, &f->err));
    REFUSED(BUSY, OPS->lock_probe(f->catalogue, row.id, &f->err));
    f->other = catalogue_close(f->other);
    OK(OPS->lock_probe(f->catalogue, row.id, &f->err));
    OPS->lock_release(f->catalogue, row.id);
}

static void test_lock_of_an_aborted_session_is_gone(void **state)
{
    struct fixture *f = setup_of(state);
    struct session_row row = a_session();
    for (int i = 0; i < 2; i++) { /* the id comes again, since nobody has ever seen it */
        struct catalogue_txn *txn = writing(f);
        OK(OPS->session_insert(txn, &row, &row.id, &f->err));
        OK(OPS->lock_take(txn, row.id, &f->err));
        take_back(f, txn);
        OK(OPS->lock_probe(f->catalogue, row.id, &f->err));
        OPS->lock_release(f->catalogue, row.id);
    }
}

/* ---- sequence, change log, meta ---- */

static void test_sequence_counts_in_commit_order(void **state)
{
    struct fixture *f = setup_of(state);
    int64_t now, first, second, lost;
    struct catalogue_txn *txn = writing(f);
    OK(OPS->seq_now(txn, &now, &f->err));
    OK(OPS->seq_next(txn, &first, &f->err));
    OK(OPS->seq_next(txn, &second, &f->err));
    assert_int_equal(first, now + 1);
    assert_int_equal(second, now + 2);
    commit(f, txn);
    txn = writing(f);
    OK(OPS->seq_next(txn, &lost, &f->err));
    take_back(f, txn);
    txn = reading(f);
    OK(OPS->seq_now(txn, &now, &f->err));
    assert_int_equal(now, second);
    take_back(f, txn);
}

static void add_change(struct fixture *f, struct catalogue_txn *txn, int64_t seq, const char *name)
{
    struct change_row row = {.seq = seq, .document = 7};
    if (name) {
        row.dir = CATALOGUE_ROOT;
        row.name = named(name);
    }
    OK(OPS->change_add(txn, &row, &f->err));
}

static void test_change_log_gives_whole_commits(void **state)
{
    struct fixture *f = setup_of(state);
    struct catalogue_txn *txn = writing(f);
    int64_t a, b, c;
    OK(OPS->seq_next(txn, &a, &f->err));
    add_change(f, txn, a, "one");
    OK(OPS->seq_next(txn, &b, &f->err));
    add_change(f, txn, b, "two");
    add_change(f, txn, b, "three");
    OK(OPS->seq_next(txn, &c, &f->err));
    add_change(f, txn, c, NULL);
    struct change_row rows[4];
    size_t count;
    OK(OPS->change_list(txn, 0, rows, 4, &count, &f->err));
    assert_int_equal(count, 4);
    assert_string_equal(rows[2].name.bytes, "three");
    assert_int_equal(rows[3].dir, 0);
    assert_int_equal(rows[3].name.len, 0);
    assert_int_equal(rows[3].document, 7);
    OK(OPS->change_list(txn, 0, rows, 2, &count, &f->err)); /* half of the second commit would be lost for good */
    assert_int_equal(count, 1);
    OK(OPS->change_list(txn, rows[0].seq, rows, 2, &count, &f->err));
    assert_int_equal(count, 2);
    assert_int_equal(rows[1].seq, b);
    OK(OPS->change_list(txn, b, rows, 2, &count, &f->err));
    assert_int_equal(count, 1);
    OK(OPS->change_list(txn, c, rows, 2, &count, &f->err));
    assert_int_equal(count, 0);
    REFUSED(RANGE, OPS->change_list(txn, a, rows, 1, &count, &f->err));
    commit(f, txn);
}

static void test_change_log_says_what_it_has_forgotten(void **state)
{
    struct fixture *f = setup_of(state);
    struct catalogue_txn *txn = writing(f);
    int64_t seq = 0;
    for (int i = 0; i < 5; i++) {
        OK(OPS->seq_next(txn, &seq, &f->err));
        add_change(f, txn, seq, "n");
    }
    struct change_row rows[8];
    size_t count;
    OK(OPS->change_prune(txn, 3, &f->err));
    OK(OPS->change_prune(txn, 2, &f->err)); /* takes nothing back */
    REFUSED(RANGE, OPS->change_list(txn, 2, rows, 8, &count, &f->err));
    OK(OPS->change_list(txn, 3, rows, 8, &count, &f->err));
    assert_int_equal(count, 2);
    REFUSED(RANGE, OPS->change_list(txn, seq + 1, rows, 8, &count, &f->err)); /* of a newer copy */
    OK(OPS->change_prune(txn, seq + 100, &f->err));
    OK(OPS->change_list(txn, seq, rows, 8, &count, &f->err));
    assert_int_equal(count, 0);
    commit(f, txn);
}

static void test_meta_keeps_values(void **state)
{
    struct fixture *f = setup_of(state);
    struct catalogue_txn *txn = writing(f);
    char value[8];
    OK(OPS->meta_get(txn, "container", value, sizeof value, &f->err));
    assert_string_equal(value, "");
    OK(OPS->meta_set(txn, "container", "1234567", &f->err));
    OK(OPS->meta_get(txn, "container", value, sizeof value, &f->err));
    assert_string_equal(value, "1234567");
    OK(OPS->meta_set(txn, "container", "12345678", &f->err));
    REFUSED(RANGE, OPS->meta_get(txn, "container", value, sizeof value, &f->err));
    commit(f, txn);
}

int suite_sessions(const char *name)
{
    const struct CMUnitTest tests[] = {
        TEST(test_session_keeps_every_column),
        TEST(test_session_lock_proves_life),
        TEST(test_closing_lets_go_of_session_locks),
        TEST(test_lock_of_an_aborted_session_is_gone),
        TEST(test_sequence_counts_in_commit_order),
        TEST(test_change_log_gives_whole_commits),
        TEST(test_change_log_says_what_it_has_forgotten),
        TEST(test_meta_keeps_values),
    };
    return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}
