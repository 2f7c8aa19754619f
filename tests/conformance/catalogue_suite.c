/* catalogue_suite.c - goal: any backend of the catalogue keeps the contract of catalogue.h. Method: each test opens a
 * fresh catalogue through the backend's own opening and speaks to the port alone; what two processes would see is seen
 * by two handles. Nothing is timed: threads are joined, and a number that must move is read until it does or the test's
 * limit ends it.
 */
#include "unit.h"

#include "conformance/catalogue_suite.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define DEADLINE_MS 60000

static const struct catalogue_backend *backend;

struct fixture {
    struct catalogue *catalogue;
    struct catalogue *other;       /* a second handle, opened by the tests that want one */
    struct catalogue_txn *open[4]; /* on f->catalogue; those that a failed test leaves are ended by the teardown */
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
        enum status status_ = (call);                                                                                  \
        if (status_ != STATUS_##expected)                                                                              \
            fail_msg("%s: %s, not %s", #call, status_name(status_), #expected);                                        \
    } while (0)
#define OPS (f->catalogue->ops)

static struct fixture *setup_of(void **state)
{
    return *state;
}

static int setup(void **state)
{
    static struct fixture fixture;
    fixture = (struct fixture){0};
    backend->fresh(backend->context);
    if (backend->open(backend->context, &fixture.catalogue, &fixture.err) != STATUS_OK) {
        print_error("open: %s\n", fixture.err.message);
        return -1;
    }
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof f->open / sizeof *f->open; i++)
        f->catalogue->ops->abort(f->open[i]);
    f->other = catalogue_close(f->other);
    f->catalogue = catalogue_close(f->catalogue);
    return 0;
}

static struct catalogue *other_of(struct fixture *f)
{
    if (!f->other)
        OK(backend->open(backend->context, &f->other, &f->err));
    return f->other;
}

/* ---- short forms ---- */

static struct catalogue_txn *opened(struct fixture *f, struct catalogue_txn *before, struct catalogue_txn *after)
{
    for (size_t i = 0; i < sizeof f->open / sizeof *f->open; i++)
        if (f->open[i] == before) {
            f->open[i] = after;
            return after;
        }
    fail_msg("a transaction that is not open, or too many");
    return NULL;
}

static struct catalogue_txn *writing(struct fixture *f)
{
    struct catalogue_txn *txn = NULL;
    OK(OPS->write_begin(f->catalogue, ORDERED, DEADLINE_MS, &txn, &f->err));
    return opened(f, NULL, txn);
}

static struct catalogue_txn *reading(struct fixture *f)
{
    struct catalogue_txn *txn = NULL;
    OK(OPS->read_begin(f->catalogue, &txn, &f->err));
    return opened(f, NULL, txn);
}

static void commit(struct fixture *f, struct catalogue_txn *txn)
{
    (void)opened(f, txn, NULL);
    OK(OPS->commit(txn, &f->err));
}

static void take_back(struct fixture *f, struct catalogue_txn *txn)
{
    (void)opened(f, txn, NULL);
    OPS->abort(txn);
}

static struct name named(const char *text)
{
    struct name name;
    assert_int_equal(name_set(&name, text, strlen(text)), STATUS_OK);
    return name;
}

static struct document_row a_file(void)
{
    return (struct document_row){.mode = S_IFREG | 0640,
                                 .uid = 1000,
                                 .gid = UINT32_MAX,
                                 .nlink = 1,
                                 .rdev = UINT64_MAX,
                                 .atime_ns = -1,
                                 .mtime_ns = INT64_MAX,
                                 .ctime_ns = 1234567890123456789,
                                 .btime_ns = 4};
}

static int64_t add_file(struct fixture *f, struct catalogue_txn *txn)
{
    struct document_row row = a_file();
    int64_t id = 0;
    OK(OPS->document_insert(txn, &row, NULL, &id, &f->err));
    assert_true(id > CATALOGUE_ROOT);
    return id;
}

static int64_t add_entry(struct fixture *f, struct catalogue_txn *txn, int64_t dir, const char *name, int64_t document)
{
    struct entry_row row = {.dir = dir, .name = named(name), .document = document};
    int64_t cookie = 0;
    OK(OPS->entry_insert(txn, &row, &cookie, &f->err));
    assert_true(cookie > 0);
    return cookie;
}

static struct version_row a_version(const char *blob, int64_t document, int64_t session)
{
    struct version_row row = {.document = document,
                              .session = session,
                              .state = VERSION_PENDING,
                              .token = "0123456789abcdef0123456789abcdef",
                              .block_bytes = 4096,
                              .created_utc_ns = 77};
    (void)snprintf(row.blob, sizeof row.blob, "%s", blob);
    return row;
}

static int64_t add_version(struct fixture *f, struct catalogue_txn *txn, const char *blob, int64_t document,
                           int64_t session)
{
    struct version_row row = a_version(blob, document, session);
    int64_t id = 0;
    OK(OPS->version_insert(txn, &row, &id, &f->err));
    return id;
}

/* Pending to Ready, as a publish does it. */
static void make_ready(struct fixture *f, struct catalogue_txn *txn, int64_t version, int64_t document, uint64_t size)
{
    struct version_row row;
    OK(OPS->version_get(txn, version, false, &row, &f->err));
    row.state = VERSION_READY;
    row.published = true;
    row.number = 1;
    row.document = document;
    row.size_bytes = size;
    row.tag_due = true;
    OK(OPS->version_update(txn, &row, VERSION_PENDING, &f->err));
    struct document_row owner;
    OK(OPS->document_get(txn, document, &owner, &f->err));
    owner.version = version;
    OK(OPS->document_update(txn, &owner, &f->err));
}

static void make_condemned(struct fixture *f, struct catalogue_txn *txn, int64_t version)
{
    struct version_row row;
    OK(OPS->version_get(txn, version, false, &row, &f->err));
    enum version_state before = row.state;
    row.state = VERSION_CONDEMNED;
    OK(OPS->seq_next(txn, &row.condemned_seq, &f->err));
    (void)snprintf(row.reason, sizeof row.reason, "replaced");
    OK(OPS->version_update(txn, &row, before, &f->err));
}

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
    OK(OPS->reopen(f->catalogue, &f->err));
    assert_int_not_equal(moved(f, f->catalogue), here); /* whoever reopens looks at everything anew */
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
    OK(backend->open(backend->context, &f->catalogue, &f->err));
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int catalogue_suite_run(const struct catalogue_backend *which)
{
    backend = which;
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
        TEST(test_version_keeps_every_column),
        TEST(test_digests_stay_unless_given),
        TEST(test_the_largest_version_is_read_back),
        TEST(test_version_update_is_guarded_by_the_state),
        TEST(test_illegal_moves_are_refused),
        TEST(test_blob_names_are_unique),
        TEST(test_versions_are_listed_by_filter),
        TEST(test_counts_of_an_empty_catalogue),
        TEST(test_session_keeps_every_column),
        TEST(test_session_lock_proves_life),
        TEST(test_closing_lets_go_of_session_locks),
        TEST(test_lock_of_an_aborted_session_is_gone),
        TEST(test_sequence_counts_in_commit_order),
        TEST(test_change_log_gives_whole_commits),
        TEST(test_change_log_says_what_it_has_forgotten),
        TEST(test_meta_keeps_values),
        TEST(test_xattrs),
        TEST(test_claims_and_outcomes),
        TEST(test_abort_takes_everything_back),
        TEST(test_reader_sees_one_snapshot),
        TEST(test_savepoint_is_taken_back_alone),
        TEST(test_one_writer_at_a_time),
        TEST(test_data_version_moves_with_each_commit),
        TEST(test_commits_survive_reopening_and_syncing),
        TEST(test_a_sound_catalogue_has_no_findings),
        TEST(test_writers_beside_each_other_lose_nothing),
    };
    int failed = cmocka_run_group_tests_name(which->name, tests, NULL, NULL);
    which->done(which->context);
    return failed;
}
