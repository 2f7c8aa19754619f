/* catalogue_suite_fixture.h - what the files of the suite share: one open catalogue a test, and short forms of the
 * port's calls, which end the test where they fail. */
#ifndef READYFS_TESTS_CATALOGUE_SUITE_FIXTURE_H
#define READYFS_TESTS_CATALOGUE_SUITE_FIXTURE_H

#include "unit.h"

#include "conformance/catalogue_suite.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define DEADLINE_MS 60000

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

int suite_setup(void **state);
int suite_teardown(void **state);
#define TEST(name) cmocka_unit_test_setup_teardown(name, suite_setup, suite_teardown)

/* One more handle of the backend under test. */
MUST_CHECK enum status suite_open(struct catalogue **ret_catalogue, struct err *err);

/* Each runs its part; how many tests failed. */
int suite_rows(const char *name);
int suite_versions(const char *name);
int suite_sessions(const char *name);
int suite_txns(const char *name);

static inline struct fixture *setup_of(void **state)
{
    return *state;
}

static inline struct catalogue *other_of(struct fixture *f)
{
    if (!f->other)
        OK(suite_open(&f->other, &f->err));
    return f->other;
}

/* ---- short forms ---- */

static inline struct catalogue_txn *opened(struct fixture *f, struct catalogue_txn *before, struct catalogue_txn *after)
{
    for (size_t i = 0; i < sizeof f->open / sizeof *f->open; i++)
        if (f->open[i] == before) {
            f->open[i] = after;
            return after;
        }
    fail_msg("a transaction that is not open, or too many");
    return NULL;
}

static inline struct catalogue_txn *writing(struct fixture *f)
{
    struct catalogue_txn *txn = NULL;
    OK(OPS->write_begin(f->catalogue, ORDERED, DEADLINE_MS, &txn, &f->err));
    return opened(f, NULL, txn);
}

static inline struct catalogue_txn *reading(struct fixture *f)
{
    struct catalogue_txn *txn = NULL;
    OK(OPS->read_begin(f->catalogue, &txn, &f->err));
    return opened(f, NULL, txn);
}

static inline void commit(struct fixture *f, struct catalogue_txn *txn)
{
    (void)opened(f, txn, NULL);
    OK(OPS->commit(txn, &f->err));
}

static inline void take_back(struct fixture *f, struct catalogue_txn *txn)
{
    (void)opened(f, txn, NULL);
    OPS->abort(txn);
}

static inline struct name named(const char *text)
{
    struct name name;
    assert_int_equal(name_set(&name, text, strlen(text)), STATUS_OK);
    return name;
}

static inline struct document_row a_file(void)
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

static inline int64_t add_file(struct fixture *f, struct catalogue_txn *txn)
{
    struct document_row row = a_file();
    int64_t id = 0;
    OK(OPS->document_insert(txn, &row, NULL, &id, &f->err));
    assert_true(id > CATALOGUE_ROOT);
    return id;
}

static inline int64_t add_entry(struct fixture *f, struct catalogue_txn *txn, int64_t dir, const char *name,
                                int64_t document)
{
    struct entry_row row = {.dir = dir, .name = named(name), .document = document};
    int64_t cookie = 0;
    OK(OPS->entry_insert(txn, &row, &cookie, &f->err));
    assert_true(cookie > 0);
    return cookie;
}

static inline struct version_row a_version(const char *blob, int64_t document, int64_t session)
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

static inline int64_t add_version(struct fixture *f, struct catalogue_txn *txn, const char *blob, int64_t document,
                                  int64_t session)
{
    struct version_row row = a_version(blob, document, session);
    int64_t id = 0;
    OK(OPS->version_insert(txn, &row, &id, &f->err));
    return id;
}

/* Pending to Ready, as a publish does it. */
static inline void make_ready(struct fixture *f, struct catalogue_txn *txn, int64_t version, int64_t document,
                              uint64_t size)
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

static inline void make_condemned(struct fixture *f, struct catalogue_txn *txn, int64_t version)
{
    struct version_row row;
    OK(OPS->version_get(txn, version, false, &row, &f->err));
    enum version_state before = row.state;
    row.state = VERSION_CONDEMNED;
    OK(OPS->seq_next(txn, &row.condemned_seq, &f->err));
    (void)snprintf(row.reason, sizeof row.reason, "replaced");
    OK(OPS->version_update(txn, &row, before, &f->err));
}

#endif
