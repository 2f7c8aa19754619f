/* catalogue_suite_rows.c - goal and method as in catalogue_suite.c: documents, entries, attributes, the tables of
 * transactions over many documents. */
#include "conformance/catalogue_suite_fixture.h"

/* ---- a new catalogue ---- */

static void test_new_catalogue_has_root_and_ids(void **state)
{
    struct fixture *f = setup_of(state);
    struct catalogue_txn *txn = reading(f);
    struct document_row root;
    OK(OPS->document_get(txn, CATALOGUE_ROOT, &root, &f->err));
    assert_int_equal(root.id, CATALOGUE_ROOT);
    assert_int_equal(root.mode, S_IFDIR | 0755);
    assert_int_equal(root.uid, getuid());
    assert_int_equal(root.gid, getgid());
    assert_int_equal(root.parent, CATALOGUE_ROOT);
    char catalogue[64], incarnation[64], schema[64];
    OK(OPS->meta_get(txn, "catalogue", catalogue, sizeof catalogue, &f->err));
    OK(OPS->meta_get(txn, "incarnation", incarnation, sizeof incarnation, &f->err));
    OK(OPS->meta_get(txn, "schema", schema, sizeof schema, &f->err));
    assert_int_equal(strlen(catalogue), 32);
    assert_int_equal(strlen(incarnation), 32);
    assert_string_not_equal(catalogue, incarnation);
    assert_string_equal(schema, "1");
    take_back(f, txn);
}

/* ---- documents ---- */

static void test_document_keeps_every_column(void **state)
{
    struct fixture *f = setup_of(state);
    struct catalogue_txn *txn = writing(f);
    int64_t id = add_file(f, txn);
    struct document_row expected = a_file(), row;
    OK(OPS->document_get(txn, id, &row, &f->err));
    expected.id = id;
    assert_memory_equal(&row, &expected, sizeof row);
    row.mode = S_IFREG | 0600;
    row.nlink = 2;
    row.members = 5;
    OK(OPS->document_update(txn, &row, &f->err));
    expected = row;
    OK(OPS->document_get(txn, id, &row, &f->err));
    assert_memory_equal(&row, &expected, sizeof row);
    OK(OPS->document_delete(txn, id, &f->err));
    REFUSED(NOT_FOUND, OPS->document_get(txn, id, &row, &f->err));
    REFUSED(NOT_FOUND, OPS->document_delete(txn, id, &f->err));
    REFUSED(NOT_FOUND, OPS->document_update(txn, &expected, &f->err));
    commit(f, txn);
}

static void test_document_ids_are_never_reused(void **state)
{
    struct fixture *f = setup_of(state);
    struct catalogue_txn *txn = writing(f);
    int64_t first = add_file(f, txn);
    OK(OPS->document_delete(txn, first, &f->err));
    commit(f, txn);
    txn = writing(f);
    assert_true(add_file(f, txn) > first);
    commit(f, txn);
}

static void test_symlink_has_a_target(void **state)
{
    struct fixture *f = setup_of(state);
    char longest[LIMIT_TARGET_BYTES + 1], target[LIMIT_TARGET_BYTES + 1];
    memset(longest, 'x', LIMIT_TARGET_BYTES);
    longest[LIMIT_TARGET_BYTES] = '\0';
    struct document_row row = a_file();
    row.mode = S_IFLNK | 0777;
    struct catalogue_txn *txn = writing(f);
    int64_t id = 0;
    OK(OPS->document_insert(txn, &row, longest, &id, &f->err));
    OK(OPS->document_target(txn, id, target, &f->err));
    assert_string_equal(target, longest);
    REFUSED(NOT_FOUND, OPS->document_target(txn, add_file(f, txn), target, &f->err));
    REFUSED(NOT_FOUND, OPS->document_target(txn, 4711, target, &f->err));
    commit(f, txn);
}

static void test_document_shows_size_and_number_of_its_version(void **state)
{
    struct fixture *f = setup_of(state);
    struct catalogue_txn *txn = writing(f);
    int64_t id = add_file(f, txn);
    int64_t version = add_version(f, txn, "d/00/1", 0, 9);
    make_ready(f, txn, version, id, 4096);
    struct document_row row;
    OK(OPS->document_get(txn, id, &row, &f->err));
    assert_int_equal(row.version, version);
    assert_int_equal(row.size_bytes, 4096);
    assert_int_equal(row.version_number, 1);
    commit(f, txn);
}

/* ---- entries ---- */

static void test_entry_is_found_by_name_and_by_cookie(void **state)
{
    struct fixture *f = setup_of(state);
    struct catalogue_txn *txn = writing(f);
    int64_t id = add_file(f, txn);
    static const char bytes[] = "caf\xe9 \n\x01%#?"; /* not UTF-8 */
    int64_t cookie = add_entry(f, txn, CATALOGUE_ROOT, bytes, id);
    struct name name = named(bytes);
    struct entry_row row;
    OK(OPS->entry_get(txn, CATALOGUE_ROOT, &name, &row, &f->err));
    assert_int_equal(row.cookie, cookie);
    assert_int_equal(row.document, id);
    assert_false(row.reserved);
    assert_true(name_equal(&row.name, &name));
    row.reserved = true;
    row.name = named("other");
    OK(OPS->entry_update(txn, &row, &f->err));
    REFUSED(NOT_FOUND, OPS->entry_get(txn, CATALOGUE_ROOT, &name, &row, &f->err));
    OK(OPS->entry_at(txn, cookie, &row, &f->err));
    assert_true(row.reserved);
    assert_string_equal(row.name.bytes, "other");
    OK(OPS->entry_delete(txn, cookie, &f->err));
    REFUSED(NOT_FOUND, OPS->entry_at(txn, cookie, &row, &f->err));
    REFUSED(NOT_FOUND, OPS->entry_delete(txn, cookie, &f->err));
    REFUSED(NOT_FOUND, OPS->entry_update(txn, &row, &f->err));
    commit(f, txn);
}

static void test_names_are_unique_in_a_directory(void **state)
{
    struct fixture *f = setup_of(state);
    struct catalogue_txn *txn = writing(f);
    int64_t id = add_file(f, txn);
    (void)add_entry(f, txn, CATALOGUE_ROOT, "a", id);
    struct entry_row again = {.dir = CATALOGUE_ROOT, .name = named("a"), .document = id};
    int64_t cookie = 0;
    REFUSED(EXISTS, OPS->entry_insert(txn, &again, &cookie, &f->err));
    again.name = named("A");
    OK(OPS->entry_insert(txn, &again, &cookie, &f->err));
    again.name = named("a");
    again.cookie = cookie;
    REFUSED(EXISTS, OPS->entry_update(txn, &again, &f->err));
    commit(f, txn);
}

#define ENTRIES 100

static void test_listing_goes_on_after_a_cookie_and_survives_change(void **state)
{
    struct fixture *f = setup_of(state);
    struct catalogue_txn *txn = writing(f);
    int64_t cookies[ENTRIES];
    int64_t id = add_file(f, txn);
    for (int i = 0; i < ENTRIES; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "n%d", (i * 37) % ENTRIES);
        cookies[i] = add_entry(f, txn, CATALOGUE_ROOT, name, id);
        assert_true(i == 0 || cookies[i] > cookies[i - 1]);
    }
    struct entry_row rows[7];
    struct document_row documents[7];
    size_t count = 0, seen = 0;
    int64_t after = 0;
    do {
        OK(OPS->entry_list(txn, CATALOGUE_ROOT, after, rows, documents, 7, &count, &f->err));
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(rows[i].cookie, cookies[seen++]);
            assert_int_equal(documents[i].id, id);
        }
        if (count) {
            after = rows[count - 1].cookie;
            OK(OPS->entry_delete(txn, after, &f->err)); /* the place in the listing is still good */
        }
    } while (count);
    assert_int_equal(seen, ENTRIES);
    OK(OPS->entry_list(txn, CATALOGUE_ROOT, cookies[50], rows, NULL, 1, &count, &f->err));
    assert_int_equal(count, 1);
    assert_int_equal(rows[0].cookie, cookies[51]);
    commit(f, txn);
}

static void test_entries_of_a_document(void **state)
{
    struct fixture *f = setup_of(state);
    struct catalogue_txn *txn = writing(f);
    int64_t id = add_file(f, txn), another = add_file(f, txn);
    int64_t first = add_entry(f, txn, CATALOGUE_ROOT, "a", id);
    (void)add_entry(f, txn, CATALOGUE_ROOT, "b", another);
    int64_t second = add_entry(f, txn, CATALOGUE_ROOT, "c", id);
    struct entry_row rows[4];
    size_t count = 0;
    OK(OPS->entry_of(txn, id, 0, rows, 4, &count, &f->err));
    assert_int_equal(count, 2);
    assert_int_equal(rows[0].cookie, first);
    OK(OPS->entry_of(txn, id, first, rows, 4, &count, &f->err));
    assert_int_equal(count, 1);
    assert_int_equal(rows[0].cookie, second);
    commit(f, txn);
}

static void test_holders_of_reserved_entries(void **state)
{
    struct fixture *f = setup_of(state);
    struct catalogue_txn *txn = writing(f);
    int64_t cookie = add_entry(f, txn, CATALOGUE_ROOT, "a", add_file(f, txn));
    int64_t other = add_entry(f, txn, CATALOGUE_ROOT, "b", add_file(f, txn));
    OK(OPS->holder_add(txn, cookie, 5, &f->err));
    OK(OPS->holder_add(txn, cookie, 5, &f->err));
    OK(OPS->holder_add(txn, cookie, 3, &f->err));
    OK(OPS->holder_add(txn, other, 5, &f->err));
    int64_t ids[4];
    size_t count = 0;
    OK(OPS->holder_list(txn, cookie, ids, 4, &count, &f->err));
    assert_int_equal(count, 2);
    assert_int_equal(ids[0], 3);
    assert_int_equal(ids[1], 5);
    OK(OPS->holder_of(txn, 5, cookie, ids, 4, &count, &f->err));
    assert_int_equal(count, 1);
    assert_int_equal(ids[0], other);
    OK(OPS->holder_remove(txn, cookie, 3, &f->err));
    REFUSED(NOT_FOUND, OPS->holder_remove(txn, cookie, 3, &f->err));
    OK(OPS->entry_delete(txn, cookie, &f->err));
    OK(OPS->holder_of(txn, 5, 0, ids, 4, &count, &f->err));
    assert_int_equal(count, 1);
    commit(f, txn);
}

/* ---- extended attributes, claims, outcomes ---- */

static void test_xattrs(void **state)
{
    struct fixture *f = setup_of(state);
    struct catalogue_txn *txn = writing(f);
    int64_t id = add_file(f, txn);
    char value[16], names[64];
    size_t len;
    REFUSED(NOT_FOUND, OPS->xattr_get(txn, id, "user.a", value, sizeof value, &len, &f->err));
    OK(OPS->xattr_set(txn, id, "user.b", "v\0w", 3, &f->err));
    OK(OPS->xattr_set(txn, id, "user.a", "", 0, &f->err));
    OK(OPS->xattr_set(txn, id, "user.b", "12345", 5, &f->err));
    OK(OPS->xattr_get(txn, id, "user.b", value, sizeof value, &len, &f->err));
    assert_int_equal(len, 5);
    assert_memory_equal(value, "12345", 5);
    OK(OPS->xattr_get(txn, id, "user.b", NULL, 0, &len, &f->err));
    assert_int_equal(len, 5);
    REFUSED(RANGE, OPS->xattr_get(txn, id, "user.b", value, 4, &len, &f->err));
    OK(OPS->xattr_get(txn, id, "user.a", value, sizeof value, &len, &f->err));
    assert_int_equal(len, 0);
    OK(OPS->xattr_list(txn, id, NULL, 0, &len, &f->err));
    assert_int_equal(len, 14);
    REFUSED(RANGE, OPS->xattr_list(txn, id, names, 13, &len, &f->err));
    OK(OPS->xattr_list(txn, id, names, sizeof names, &len, &f->err));
    assert_memory_equal(names, "user.a\0user.b", 14);
    OK(OPS->xattr_remove(txn, id, "user.a", &f->err));
    REFUSED(NOT_FOUND, OPS->xattr_remove(txn, id, "user.a", &f->err));
    OK(OPS->document_delete(txn, id, &f->err));
    OK(OPS->xattr_list(txn, id, NULL, 0, &len, &f->err));
    assert_int_equal(len, 0);
    commit(f, txn);
}

static void test_claims_and_outcomes(void **state)
{
    struct fixture *f = setup_of(state);
    struct catalogue_txn *txn = writing(f);
    char outcome[16];
    OK(OPS->claim_check(txn, "d42", &f->err)); /* T7: nobody makes claims yet */
    REFUSED(NOT_FOUND, OPS->outcome_get(txn, "id", outcome, sizeof outcome, &f->err));
    OK(OPS->outcome_put(txn, "id", "committed", 5, &f->err));
    REFUSED(EXISTS, OPS->outcome_put(txn, "id", "failed", 6, &f->err)); /* T9: the first word stands */
    OK(OPS->outcome_get(txn, "id", outcome, sizeof outcome, &f->err));
    assert_string_equal(outcome, "committed");
    REFUSED(RANGE, OPS->outcome_get(txn, "id", outcome, 5, &f->err));
    commit(f, txn);
}

int suite_rows(const char *name)
{
    const struct CMUnitTest tests[] = {
        TEST(test_new_catalogue_has_root_and_ids),
        TEST(test_document_keeps_every_column),
        TEST(test_document_ids_are_never_reused),
        TEST(test_symlink_has_a_target),
        TEST(test_document_shows_size_and_number_of_its_version),
        TEST(test_entry_is_found_by_name_and_by_cookie),
        TEST(test_names_are_unique_in_a_directory),
        TEST(test_listing_goes_on_after_a_cookie_and_survives_change),
        TEST(test_entries_of_a_document),
        TEST(test_holders_of_reserved_entries),
        TEST(test_xattrs),
        TEST(test_claims_and_outcomes),
    };
    return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}
