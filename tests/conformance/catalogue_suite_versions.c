/* catalogue_suite_versions.c - goal and method as in catalogue_suite.c: versions, their states and their counts. */
#include "conformance/catalogue_suite_fixture.h"

/* ---- versions ---- */

static void assert_versions_equal(const struct version_row *a, const struct version_row *b)
{
    struct version_row x = *a, y = *b;
    x.digests = y.digests = NULL;
    x.digest_count = y.digest_count = 0;
    assert_string_equal(x.blob, y.blob);
    assert_string_equal(x.token, y.token);
    assert_string_equal(x.etag, y.etag);
    assert_string_equal(x.reason, y.reason);
    memset(x.blob, 0, sizeof x.blob + sizeof x.token + sizeof x.etag);
    memset(y.blob, 0, sizeof y.blob + sizeof y.token + sizeof y.etag);
    memset(x.reason, 0, sizeof x.reason);
    memset(y.reason, 0, sizeof y.reason);
    assert_int_equal(x.id, y.id);
    assert_int_equal(x.document, y.document);
    assert_int_equal(x.number, y.number);
    assert_int_equal(x.session, y.session);
    assert_int_equal(x.state, y.state);
    assert_int_equal(x.published, y.published);
    assert_int_equal(x.clean, y.clean);
    assert_int_equal(x.tag_due, y.tag_due);
    assert_int_equal(x.size_bytes, y.size_bytes);
    assert_int_equal(x.crc64, y.crc64);
    assert_int_equal(x.block_bytes, y.block_bytes);
    assert_int_equal(x.condemned_seq, y.condemned_seq);
    assert_int_equal(x.append_of, y.append_of);
    assert_int_equal(x.sent_utc_ns, y.sent_utc_ns);
    assert_int_equal(x.created_utc_ns, y.created_utc_ns);
}

static void test_version_keeps_every_column(void **state)
{
    struct fixture *f = setup_of(state);
    struct catalogue_txn *txn = writing(f);
    struct version_row row = a_version("prefix/d/ab/0123", 0, 3), read;
    OK(OPS->version_insert(txn, &row, &row.id, &f->err));
    OK(OPS->version_get(txn, row.id, true, &read, &f->err));
    assert_versions_equal(&read, &row);
    assert_null(read.digests);
    uint64_t digests[3] = {1, UINT64_MAX, 0x0102030405060708};
    row.document = add_file(f, txn);
    row.number = INT64_MAX;
    row.state = VERSION_READY;
    row.published = row.clean = row.tag_due = true;
    (void)snprintf(row.etag, sizeof row.etag, "\"0x8D\"");
    row.size_bytes = INT64_MAX;
    row.crc64 = UINT64_MAX;
    row.block_bytes = UINT32_MAX;
    row.append_of = 12;
    row.sent_utc_ns = -5;
    row.digests = digests;
    row.digest_count = 3;
    OK(OPS->version_update(txn, &row, VERSION_PENDING, &f->err));
    OK(OPS->version_of_blob(txn, "prefix/d/ab/0123", &read, &f->err));
    assert_versions_equal(&read, &row);
    assert_null(read.digests);
    OK(OPS->version_get(txn, row.id, true, &read, &f->err));
    assert_versions_equal(&read, &row);
    assert_int_equal(read.digest_count, 3);
    assert_memory_equal(read.digests, digests, sizeof digests);
    version_row_done(&read);
    commit(f, txn);
}

static void test_digests_stay_unless_given(void **state)
{
    struct fixture *f = setup_of(state);
    struct catalogue_txn *txn = writing(f);
    uint64_t digests[2] = {7, 8};
    struct version_row row = a_version("b", 0, 3), read;
    row.digests = digests;
    row.digest_count = 2;
    OK(OPS->version_insert(txn, &row, &row.id, &f->err));
    row.digests = NULL;
    row.digest_count = 0;
    row.clean = true;
    OK(OPS->version_update(txn, &row, VERSION_PENDING, &f->err));
    OK(OPS->version_get(txn, row.id, true, &read, &f->err));
    assert_true(read.clean);
    assert_int_equal(read.digest_count, 2);
    assert_int_equal(read.digests[1], 8);
    version_row_done(&read);
    row.digests = digests; /* an empty list is a list */
    OK(OPS->version_update(txn, &row, VERSION_PENDING, &f->err));
    OK(OPS->version_get(txn, row.id, true, &read, &f->err));
    assert_int_equal(read.digest_count, 0);
    assert_non_null(read.digests);
    version_row_done(&read);
    commit(f, txn);
}

static void test_the_largest_version_is_read_back(void **state)
{
    struct fixture *f = setup_of(state);
    struct catalogue_txn *txn = writing(f);
    static uint64_t digests[LIMIT_BLOCKS];
    for (size_t i = 0; i < LIMIT_BLOCKS; i++)
        digests[i] = i * 0x9E3779B97F4A7C15u;
    char blob[LIMIT_BLOB_NAME_BYTES];
    memset(blob, 'b', sizeof blob - 1);
    blob[sizeof blob - 1] = '\0';
    struct version_row row = a_version(blob, 0, 3), read;
    row.digests = digests;
    row.digest_count = LIMIT_BLOCKS;
    OK(OPS->version_insert(txn, &row, &row.id, &f->err));
    commit(f, txn);
    txn = reading(f);
    OK(OPS->version_get(txn, row.id, true, &read, &f->err));
    assert_string_equal(read.blob, blob);
    assert_int_equal(read.digest_count, LIMIT_BLOCKS);
    assert_memory_equal(read.digests, digests, sizeof digests);
    version_row_done(&read);
    take_back(f, txn);
}

/* P5, P9: the state decides, not what somebody has read before. */
static void test_version_update_is_guarded_by_the_state(void **state)
{
    struct fixture *f = setup_of(state);
    struct catalogue_txn *txn = writing(f);
    int64_t document = add_file(f, txn);
    struct version_row row = a_version("b", 0, 3), read;
    OK(OPS->version_insert(txn, &row, &row.id, &f->err));
    struct version_row stale = row;
    make_ready(f, txn, row.id, document, 1);
    stale.state = VERSION_CONDEMNED;
    stale.condemned_seq = 1;
    REFUSED(CONDITION, OPS->version_update(txn, &stale, VERSION_PENDING, &f->err));
    assert_string_not_equal(f->err.message, "");
    OK(OPS->version_get(txn, row.id, false, &read, &f->err));
    assert_int_equal(read.state, VERSION_READY);
    stale.id = 4711;
    REFUSED(NOT_FOUND, OPS->version_update(txn, &stale, VERSION_PENDING, &f->err));
    commit(f, txn);
}

/* The arrows of core/state.h, held by the backend as a second net. */
static void test_illegal_moves_are_refused(void **state)
{
    struct fixture *f = setup_of(state);
    struct catalogue_txn *txn = writing(f);
    int64_t document = add_file(f, txn);
    int64_t id = add_version(f, txn, "b", 0, 3);
    REFUSED(INVALID, OPS->version_delete(txn, id, &f->err)); /* P7: Pending, then Condemned, then gone */
    struct version_row row;
    OK(OPS->version_get(txn, id, false, &row, &f->err));
    row.state = VERSION_CONDEMNED; /* without the number of its commit: P14 could not wait for it */
    REFUSED(INVALID, OPS->version_update(txn, &row, VERSION_PENDING, &f->err));
    make_ready(f, txn, id, document, 1);
    REFUSED(INVALID, OPS->version_delete(txn, id, &f->err)); /* P6 */
    OK(OPS->version_get(txn, id, false, &row, &f->err));
    row.state = VERSION_PENDING;
    REFUSED(INVALID, OPS->version_update(txn, &row, VERSION_READY, &f->err));
    make_condemned(f, txn, id);
    OK(OPS->version_get(txn, id, false, &row, &f->err));
    row.state = VERSION_READY;
    row.condemned_seq = 0;
    REFUSED(INVALID, OPS->version_update(txn, &row, VERSION_CONDEMNED, &f->err));
    OK(OPS->version_delete(txn, id, &f->err));
    REFUSED(NOT_FOUND, OPS->version_delete(txn, id, &f->err));
    commit(f, txn);
}

/* P2: a name is never given twice. */
static void test_blob_names_are_unique(void **state)
{
    struct fixture *f = setup_of(state);
    struct catalogue_txn *txn = writing(f);
    (void)add_version(f, txn, "b", 0, 3);
    struct version_row row = a_version("b", 0, 3);
    int64_t id;
    REFUSED(EXISTS, OPS->version_insert(txn, &row, &id, &f->err));
    REFUSED(NOT_FOUND, OPS->version_of_blob(txn, "B", &row, &f->err));
    commit(f, txn);
}

static size_t listed(struct fixture *f, struct catalogue_txn *txn, struct version_filter filter)
{
    struct version_row rows[3];
    size_t total = 0, count;
    do {
        OK(OPS->version_list(txn, &filter, rows, 3, &count, &f->err));
        for (size_t i = 0; i < count; i++) {
            assert_true(rows[i].id > filter.after);
            assert_true(!filter.state || rows[i].state == filter.state);
            assert_true(!filter.session || rows[i].session == filter.session);
            assert_true(!filter.tag_due || rows[i].tag_due);
            assert_int_equal(rows[i].digests != NULL, filter.with_digests);
            filter.after = rows[i].id;
            version_row_done(&rows[i]);
        }
        total += count;
    } while (count);
    return total;
}

static void test_versions_are_listed_by_filter(void **state)
{
    struct fixture *f = setup_of(state);
    struct catalogue_txn *txn = writing(f);
    uint64_t digest = 1;
    for (int i = 0; i < 30; i++) {
        char blob[16];
        (void)snprintf(blob, sizeof blob, "b%d", i);
        struct version_row row = a_version(blob, 0, 1 + i % 2);
        row.digests = &digest;
        row.digest_count = 1;
        OK(OPS->version_insert(txn, &row, &row.id, &f->err));
        if (i % 3 == 1)
            make_ready(f, txn, row.id, add_file(f, txn), 10);
        if (i % 3 == 2)
            make_condemned(f, txn, row.id);
    }
    for (int with = 0; with < 2; with++) {
        struct version_filter filter = {.with_digests = with};
        assert_int_equal(listed(f, txn, filter), 30);
        for (int which = VERSION_PENDING; which <= VERSION_CONDEMNED; which++) {
            filter = (struct version_filter){.state = (enum version_state)which, .with_digests = with};
            assert_int_equal(listed(f, txn, filter), 10);
            filter.session = 1;
            assert_int_equal(listed(f, txn, filter), 5);
            filter.tag_due = true;
            assert_int_equal(listed(f, txn, filter), which == VERSION_READY ? 5 : 0);
        }
        filter = (struct version_filter){.tag_due = true, .with_digests = with};
        assert_int_equal(listed(f, txn, filter), 10);
        filter = (struct version_filter){.session = 2, .with_digests = with};
        assert_int_equal(listed(f, txn, filter), 15);
    }
    struct version_counts counts;
    OK(OPS->count(txn, &counts, &f->err));
    assert_int_equal(counts.pending, 10);
    assert_int_equal(counts.ready, 10);
    assert_int_equal(counts.condemned, 10);
    assert_int_equal(counts.tags_due, 10);
    assert_int_equal(counts.ready_bytes, 100);
    assert_int_equal(counts.documents, 10);
    assert_int_equal(counts.directories, 1);
    assert_int_equal(counts.others, 0);
    assert_int_equal(counts.oldest_pending_utc_ns, 77);
    assert_int_equal(counts.oldest_condemned_utc_ns, 77);
    commit(f, txn);
}

static void test_counts_of_an_empty_catalogue(void **state)
{
    struct fixture *f = setup_of(state);
    struct catalogue_txn *txn = reading(f);
    struct version_counts counts, none = {.directories = 1};
    OK(OPS->count(txn, &counts, &f->err));
    assert_memory_equal(&counts, &none, sizeof counts);
    take_back(f, txn);
}

int suite_versions(const char *name)
{
    const struct CMUnitTest tests[] = {
        TEST(test_version_keeps_every_column),       TEST(test_digests_stay_unless_given),
        TEST(test_the_largest_version_is_read_back), TEST(test_version_update_is_guarded_by_the_state),
        TEST(test_illegal_moves_are_refused),        TEST(test_blob_names_are_unique),
        TEST(test_versions_are_listed_by_filter),    TEST(test_counts_of_an_empty_catalogue),
    };
    return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}
