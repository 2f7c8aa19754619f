/* test_sqlite_fuzz.c - goal: a damaged or hostile file is refused or read with errors, and never crashes a reader.
 * Method: a good file is made once; in 400 copies bytes are changed at places drawn from a seeded generator (the seed
 * is printed), and each copy is opened, read through every reading call, checked, and written to. Sanitizer builds give
 * this test its teeth.
 */
#include "unit/catalogue/place.h"

#include <stdlib.h>

#define COPIES 400

static uint64_t draw(uint64_t *state) /* splitmix64 (Steele, Lea, Flood: Fast splittable generators, 2014) */
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static void fill(struct place_fixture *f)
{
    struct catalogue_txn *txn = writing(f, DURABLE);
    uint64_t digests[600] = {1, 2, 3};
    for (int i = 0; i < 60; i++) {
        struct document_row document = {.mode = S_IFREG | 0644, .nlink = 1};
        OK(OPS->document_insert(txn, &document, NULL, &document.id, &f->err));
        struct version_row version = {.document = document.id,
                                      .number = 1,
                                      .session = 1,
                                      .state = VERSION_READY,
                                      .published = true,
                                      .digests = digests,
                                      .digest_count = i % 10 ? 4 : 600};
        (void)snprintf(version.blob, sizeof version.blob, "d/%02x/%030d", i, i);
        OK(OPS->version_insert(txn, &version, &document.version, &f->err));
        OK(OPS->document_update(txn, &document, &f->err));
        struct entry_row entry = {.dir = CATALOGUE_ROOT, .document = document.id, .reserved = i % 7 == 0};
        char name[16];
        int64_t cookie;
        OK(name_set(&entry.name, name, (size_t)snprintf(name, sizeof name, "name %d", i)));
        OK(OPS->entry_insert(txn, &entry, &cookie, &f->err));
        OK(OPS->holder_add(txn, cookie, 1, &f->err));
        OK(OPS->xattr_set(txn, document.id, "user.x", "value", 5, &f->err));
        struct change_row change = {.dir = CATALOGUE_ROOT, .name = entry.name, .document = document.id};
        OK(OPS->seq_next(txn, &change.seq, &f->err));
        OK(OPS->change_add(txn, &change, &f->err));
    }
    struct document_row link = {.mode = S_IFLNK | 0777, .nlink = 1};
    OK(OPS->document_insert(txn, &link, "target", &link.id, &f->err));
    struct session_row session = {.kind = SESSION_MOUNT, .place = "/mnt"};
    OK(OPS->session_insert(txn, &session, &session.id, &f->err));
    OK(OPS->outcome_put(txn, "id", "committed", 1, &f->err));
    OK(OPS->commit(txn, &f->err));
}

/* Ends loops over lists that a damaged file makes endless. */
#define PIECES_MAX 200

/* The status of each call is the file's business; that the call returns is ours. */
static void walk_entries(struct catalogue *catalogue, struct catalogue_txn *txn)
{
    struct entry_row rows[16];
    struct document_row documents[16];
    size_t count = 0;
    int64_t after = 0, ids[16];
    for (int piece = 0; piece < PIECES_MAX; piece++) {
        if (catalogue->ops->entry_list(txn, CATALOGUE_ROOT, after, rows, piece % 2 ? documents : NULL, 16, &count,
                                       NULL) != STATUS_OK ||
            !count)
            return;
        for (size_t i = 0; i < count; i++) {
            struct entry_row row;
            (void)!catalogue->ops->entry_get(txn, CATALOGUE_ROOT, &rows[i].name, &row, NULL);
            size_t n;
            (void)!catalogue->ops->holder_list(txn, rows[i].cookie, ids, 16, &n, NULL);
            (void)!catalogue->ops->entry_of(txn, rows[i].document, 0, &row, 1, &n, NULL);
        }
        after = rows[count - 1].cookie;
    }
}

static void walk_versions(struct catalogue *catalogue, struct catalogue_txn *txn)
{
    for (int which = 0; which <= VERSION_CONDEMNED; which++) {
        struct version_filter filter = {.state = (enum version_state)which, .with_digests = true};
        struct version_row rows[8];
        size_t count = 0;
        for (int piece = 0; piece < PIECES_MAX; piece++) {
            if (catalogue->ops->version_list(txn, &filter, rows, 8, &count, NULL) != STATUS_OK || !count)
                break;
            for (size_t i = 0; i < count; i++) {
                filter.after = rows[i].id;
                version_row_done(&rows[i]);
            }
        }
    }
}

static void walk_rest(struct catalogue *catalogue, struct catalogue_txn *txn)
{
    char text[LIMIT_TARGET_BYTES + 1];
    size_t count;
    struct session_row sessions[4];
    struct change_row changes[8];
    struct version_counts counts;
    for (int64_t id = 1; id < 65; id++) {
        struct document_row row;
        struct version_row version;
        (void)!catalogue->ops->document_get(txn, id, &row, NULL);
        (void)!catalogue->ops->document_target(txn, id, text, NULL);
        (void)!catalogue->ops->xattr_get(txn, id, "user.x", text, sizeof text, &count, NULL);
        (void)!catalogue->ops->xattr_list(txn, id, text, sizeof text, &count, NULL);
        if (catalogue->ops->version_get(txn, id, true, &version, NULL) == STATUS_OK)
            version_row_done(&version);
    }
    (void)!catalogue->ops->session_list(txn, 0, sessions, 4, &count, NULL);
    (void)!catalogue->ops->change_list(txn, 0, changes, 8, &count, NULL);
    (void)!catalogue->ops->count(txn, &counts, NULL);
    (void)!catalogue->ops->outcome_get(txn, "id", text, sizeof text, NULL);
}

static void ignore_finding(void *context, const char *finding)
{
    (void)finding;
    ++*(int *)context;
}

static void write_something(struct catalogue *catalogue)
{
    struct catalogue_txn *txn = NULL;
    if (catalogue->ops->write_begin(catalogue, ORDERED, DEADLINE_MS, &txn, NULL) != STATUS_OK)
        return;
    struct document_row row = {.mode = S_IFREG, .nlink = 1};
    int64_t id, seq;
    (void)!catalogue->ops->document_insert(txn, &row, NULL, &id, NULL);
    (void)!catalogue->ops->seq_next(txn, &seq, NULL);
    (void)!catalogue->ops->meta_set(txn, "k", "v", NULL);
    (void)!catalogue->ops->commit(txn, NULL);
}

/* Whether it could be opened. */
static bool use(struct place_fixture *f, int *findings)
{
    struct catalogue *catalogue = NULL;
    enum status status = open_plain(f, &catalogue);
    if (status != STATUS_OK) {
        assert_string_not_equal(f->err.message, "");
        return false;
    }
    struct catalogue_txn *txn = NULL;
    if (catalogue->ops->read_begin(catalogue, &txn, NULL) == STATUS_OK) {
        walk_entries(catalogue, txn);
        walk_versions(catalogue, txn);
        walk_rest(catalogue, txn);
        catalogue->ops->abort(txn);
    }
    (void)!catalogue->ops->integrity(catalogue, ignore_finding, findings, NULL);
    write_something(catalogue);
    catalogue = catalogue_close(catalogue);
    return true;
}

static char *read_good(const char *path, size_t *ret_len)
{
    struct stat file;
    assert_int_equal(stat(path, &file), 0);
    char *bytes = malloc((size_t)file.st_size);
    assert_non_null(bytes);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, bytes, (size_t)file.st_size), file.st_size);
    (void)close(fd);
    *ret_len = (size_t)file.st_size;
    return bytes;
}

static void write_copy(const char *path, const char *bytes, size_t len)
{
    char log[400];
    (void)snprintf(log, sizeof log, "%s-wal", path);
    (void)unlink(log);
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, len), len);
    (void)close(fd);
}

/* A few bytes anywhere; every fourth copy in the header or a page's own header, where they do most; some cut short. */
static size_t damage(char *bytes, size_t len, int which, uint64_t *state)
{
    int changes = 1 + (int)(draw(state) % 8);
    for (int i = 0; i < changes; i++) {
        size_t at = draw(state) % len;
        if (which % 4 == 0)
            at = at / 4096 * 4096 + draw(state) % 120;
        bytes[at < len ? at : len - 1] = (char)draw(state);
    }
    return which % 16 == 15 ? len - draw(state) % len : len;
}

static void test_damaged_files_never_crash_a_reader(void **state)
{
    struct place_fixture *f = *state;
    open_it(f);
    fill(f);
    close_it(f);
    size_t len = 0;
    AUTO_FREE char *good = read_good(f->path, &len);
    AUTO_FREE char *copy = malloc(len);
    assert_non_null(copy);
    const char *given = getenv("READYFS_TEST_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : 20240229;
    print_message("READYFS_TEST_SEED=%llu\n", (unsigned long long)seed);
    int opened = 0, findings = 0;
    (void)scratch_path(&f->scratch, "copy", f->path, sizeof f->path);
    for (int i = 0; i < COPIES; i++) {
        memcpy(copy, good, len);
        write_copy(f->path, copy, damage(copy, len, i, &seed));
        opened += use(f, &findings);
    }
    print_message("%d of %d could be opened, %d findings\n", opened, COPIES, findings);
    assert_true(opened > 0 && opened < COPIES);
    assert_true(findings > 0);
}

/* Well-formed pages with rows that only a hostile writer makes. */
static void test_hostile_rows_are_corrupt(void **state)
{
    struct place_fixture *f = *state;
    static const char *const rows[] = {
        "UPDATE version SET blob = printf('%.*c', 400, 'x') WHERE id = 1",
        "UPDATE version SET etag = printf('%.*c', 96, 'x') WHERE id = 1",
        "UPDATE version SET token = 'a' || char(0) || 'b' WHERE id = 1",
        "UPDATE version SET reason = printf('%.*c', 5000, 'x') WHERE id = 1",
        "UPDATE version SET digests = zeroblob(400008) WHERE id = 1",
        "UPDATE version SET digests = x'010203' WHERE id = 1",
        "UPDATE version SET state = 9 WHERE id = 1",
        "UPDATE version SET size_bytes = -1 WHERE id = 1",
        "UPDATE version SET block_bytes = 4294967296 WHERE id = 1",
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        open_it(f);
        fill(f);
        close_it(f);
        char sql[300];
        (void)snprintf(sql, sizeof sql, "PRAGMA ignore_check_constraints = ON; %s", rows[i]);
        assert_null(strstr(sql_outside(f->path, sql), "error"));
        open_it(f);
        struct catalogue_txn *txn = NULL;
        struct version_row row;
        OK(OPS->read_begin(f->catalogue, &txn, &f->err));
        REFUSED(CORRUPT, OPS->version_get(txn, 1, true, &row, &f->err));
        assert_non_null(strstr(f->err.message, "version"));
        OPS->abort(txn);
        close_it(f);
        assert_int_equal(unlink(f->path), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_damaged_files_never_crash_a_reader),
        TEST(test_hostile_rows_are_corrupt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
