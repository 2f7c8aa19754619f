/* test_sqlite_open.c - goal: whatever lies at the path, opening it ends in a sound catalogue or in one clear line with
 * nothing changed. Method: each kind of wrong file, folder and right is put there, and the folder is compared before
 * and after.
 */
#include "unit/catalogue/place.h"

#include <stdlib.h>

static void write_file(const char *path, const void *bytes, size_t len)
{
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, len), len);
    assert_int_equal(close(fd), 0);
}

/* The refusal names the path on one line, and changes nothing in the folder. */
#define REFUSED_CLEARLY(expected, f)                                                                                   \
    do {                                                                                                               \
        size_t before_ = scratch_count((f)->scratch.path, 1);                                                          \
        struct catalogue *catalogue_ = NULL;                                                                           \
        REFUSED(expected, open_plain((f), &catalogue_));                                                               \
        assert_non_null(strstr((f)->err.message, (f)->path));                                                          \
        assert_int_equal(scratch_count((f)->scratch.path, 1), before_);                                                \
    } while (0)

static void test_creation_is_private_and_said_once(void **state)
{
    struct place_fixture *f = *state;
    struct sqlite_options options = options_of(f);
    bool created = false;
    OK(sqlite_open(&options, &created, &f->catalogue, &f->err));
    assert_true(created);
    static const struct {
        const char *suffix;
        mode_t mode;
    } places[] = {{"", 0600}, {".d", 0700}, {".d/sessions", 0700}, {".d/writer", 0600}, {".d/queue", 0600}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char path[400];
        struct stat facts;
        (void)snprintf(path, sizeof path, "%s%s", f->path, places[i].suffix);
        assert_int_equal(stat(path, &facts), 0);
        assert_int_equal(facts.st_mode & 07777, places[i].mode);
    }
    close_it(f);
    OK(sqlite_open(&options, &created, &f->catalogue, &f->err));
    assert_false(created);
}

static void test_ids_of_two_catalogues_differ(void **state)
{
    struct place_fixture *f = *state;
    char first[64];
    open_it(f);
    (void)snprintf(first, sizeof first, "%s", get(f, "catalogue"));
    close_it(f);
    (void)scratch_path(&f->scratch, "another", f->path, sizeof f->path);
    open_it(f);
    assert_string_not_equal(get(f, "catalogue"), first);
}

static void test_absent_file_is_not_found(void **state)
{
    struct place_fixture *f = *state;
    struct sqlite_options options = options_of(f);
    options.create = false;
    REFUSED(NOT_FOUND, sqlite_open(&options, NULL, &f->catalogue, &f->err));
    assert_non_null(strstr(f->err.message, f->path));
    assert_string_not_equal(f->err.hint, "");
    options.read_only = options.create = true;
    REFUSED(NOT_FOUND, sqlite_open(&options, NULL, &f->catalogue, &f->err));
    assert_int_equal(scratch_count(f->scratch.path, 1), 0);
}

static void test_unusable_paths_are_refused(void **state)
{
    struct place_fixture *f = *state;
    char path[sizeof f->path];
    (void)scratch_path(&f->scratch, "missing/catalogue", f->path, sizeof f->path);
    REFUSED_CLEARLY(NOT_FOUND, f);
    (void)scratch_path(&f->scratch, "missing/", f->path, sizeof f->path);
    REFUSED_CLEARLY(INVALID, f);
    (void)scratch_path(&f->scratch, "link", f->path, sizeof f->path);
    assert_int_equal(symlink("nowhere", f->path), 0);
    REFUSED_CLEARLY(INVALID, f);
    (void)snprintf(f->path, sizeof f->path, "relative");
    REFUSED_CLEARLY(INVALID, f);
    (void)scratch_path(&f->scratch, "file", path, sizeof path);
    write_file(path, "x", 1);
    (void)scratch_path(&f->scratch, "file/catalogue", f->path, sizeof f->path);
    REFUSED_CLEARLY(NOT_DIRECTORY, f);
    (void)scratch_path(&f->scratch, ".", f->path, sizeof f->path);
    struct catalogue *catalogue = NULL;
    REFUSED(IS_DIRECTORY, open_plain(f, &catalogue));
}

static void test_too_long_path_is_refused(void **state)
{
    struct place_fixture *f = *state;
    char path[1024], name[201];
    memset(name, 'n', 200);
    name[200] = '\0';
    (void)snprintf(path, sizeof path, "%s/%s", f->scratch.path, name);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/%s/%s", f->scratch.path, name, name);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/%s/%s/%s", f->scratch.path, name, name, name);
    struct sqlite_options options = options_of(f);
    options.path = path;
    REFUSED(NAME_TOO_LONG, sqlite_open(&options, NULL, &f->catalogue, &f->err));
}

static void test_files_that_are_no_catalogue_are_refused(void **state)
{
    struct place_fixture *f = *state;
    char text[8192];
    memset(text, 'x', sizeof text);
    write_file(f->path, text, sizeof text);
    REFUSED_CLEARLY(CORRUPT, f);
    assert_string_not_equal(f->err.hint, "");
    write_file(f->path, "short", 5);
    REFUSED_CLEARLY(CORRUPT, f);
    assert_int_equal(unlink(f->path), 0);
    (void)sql_outside(f->path, "CREATE TABLE theirs (x)");
    REFUSED_CLEARLY(CORRUPT, f);
    assert_non_null(strstr(f->err.message, "another program"));
    assert_int_equal(unlink(f->path), 0);
    (void)sql_outside(f->path, "PRAGMA application_id = 7; PRAGMA user_version = 1");
    REFUSED_CLEARLY(CORRUPT, f);
    assert_int_equal(unlink(f->path), 0);
    assert_int_equal(mkfifo(f->path, 0600), 0);
    REFUSED_CLEARLY(INVALID, f);
}

static void test_catalogue_without_its_rows_is_refused(void **state)
{
    struct place_fixture *f = *state;
    static const char *const damages[] = {
        "DROP VIEW documents",
        "DROP TRIGGER version_goes",
        "DROP TABLE claim",
        "DELETE FROM sequence",
        "DELETE FROM document",
        "DELETE FROM meta WHERE key = 'catalogue'",
        "UPDATE document SET mode = 33188, parent = NULL",
    };
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        open_it(f);
        close_it(f);
        (void)sql_outside(f->path, damages[i]);
        struct catalogue *catalogue = NULL;
        REFUSED(CORRUPT, open_plain(f, &catalogue));
        assert_non_null(strstr(f->err.message, f->path));
        assert_int_equal(unlink(f->path), 0);
    }
}

/* Two names would have two logs. */
static void test_hard_linked_file_is_refused(void **state)
{
    struct place_fixture *f = *state;
    char path[sizeof f->path];
    open_it(f);
    close_it(f);
    assert_int_equal(link(f->path, scratch_path(&f->scratch, "second", path, sizeof path)), 0);
    REFUSED_CLEARLY(INVALID, f);
    assert_string_not_equal(f->err.hint, "");
}

/* Whoever comes by another name must meet the others at the same gate. */
static void test_symbolic_link_leads_to_the_same_gate(void **state)
{
    struct place_fixture *f = *state;
    char path[sizeof f->path];
    open_it(f);
    assert_int_equal(symlink(f->path, scratch_path(&f->scratch, "link", path, sizeof path)), 0);
    struct sqlite_options options = options_of(f);
    options.path = path;
    struct catalogue *other = NULL;
    OK(sqlite_open(&options, NULL, &other, &f->err));
    struct catalogue_txn *txn = writing(f, ORDERED), *second = NULL;
    REFUSED(BUSY, other->ops->write_begin(other, ORDERED, 1, &second, &f->err));
    OPS->abort(txn);
    other = catalogue_close(other);
    (void)snprintf(path, sizeof path, "%s/link.d", f->scratch.path);
    assert_int_equal(access(path, F_OK), -1);
}

static void test_creation_that_a_crash_has_ended_is_completed(void **state)
{
    struct place_fixture *f = *state;
    write_file(f->path, "", 0); /* after the file was made */
    struct sqlite_options options = options_of(f);
    options.create = false;
    REFUSED(NOT_FOUND, sqlite_open(&options, NULL, &f->catalogue, &f->err));
    open_it(f);
    assert_int_equal(strlen(get(f, "catalogue")), 32);
    close_it(f);
    assert_int_equal(unlink(f->path), 0);
    (void)sql_outside(f->path, "PRAGMA journal_mode = WAL"); /* after the log was chosen */
    open_it(f);
    assert_int_equal(strlen(get(f, "catalogue")), 32);
}

static void test_file_taken_away_is_noticed(void **state)
{
    struct place_fixture *f = *state;
    open_it(f);
    OK(OPS->check_place(f->catalogue, &f->err));
    char moved[400];
    (void)snprintf(moved, sizeof moved, "%s.moved", f->path);
    assert_int_equal(rename(f->path, moved), 0);
    REFUSED(IO, OPS->check_place(f->catalogue, &f->err));
    assert_non_null(strstr(f->err.message, "removed"));
    write_file(f->path, "", 0);
    REFUSED(IO, OPS->check_place(f->catalogue, &f->err));
    assert_non_null(strstr(f->err.message, "replaced"));
    REFUSED(IO, OPS->reopen(f->catalogue, &f->err));
    assert_int_equal(rename(moved, f->path), 0);
    OK(OPS->check_place(f->catalogue, &f->err));
    OK(OPS->reopen(f->catalogue, &f->err));
}

static void test_reading_only(void **state)
{
    struct place_fixture *f = *state;
    open_it(f);
    OK(put(f, DURABLE, "k", "v"));
    struct sqlite_options options = options_of(f);
    options.read_only = true;
    struct catalogue *reader = NULL;
    OK(sqlite_open(&options, NULL, &reader, &f->err));
    struct catalogue_txn *txn = NULL;
    REFUSED(READ_ONLY, reader->ops->write_begin(reader, ORDERED, DEADLINE_MS, &txn, &f->err));
    REFUSED(READ_ONLY, reader->ops->lock_probe(reader, 1, &f->err));
    char value[8];
    OK(reader->ops->read_begin(reader, &txn, &f->err));
    OK(reader->ops->meta_get(txn, "k", value, sizeof value, &f->err));
    assert_string_equal(value, "v");
    reader->ops->abort(txn);
    reader = catalogue_close(reader);
}

/* What a user without rights meets there: 0, or the number of the step that went wrong. */
static int try_without_rights(struct place_fixture *f)
{
    struct sqlite_options options = options_of(f);
    char value[8] = "";
    struct catalogue_txn *txn = NULL;
    if (sqlite_open(&options, NULL, &f->catalogue, &f->err) != STATUS_ACCESS || !strstr(f->err.message, f->path))
        return 1;
    options.read_only = true; /* nobody can make a log there, so nobody needs one */
    if (sqlite_open(&options, NULL, &f->catalogue, &f->err) != STATUS_OK)
        return 2;
    if (OPS->read_begin(f->catalogue, &txn, &f->err) != STATUS_OK)
        return 3;
    enum status status = OPS->meta_get(txn, "k", value, sizeof value, &f->err);
    OPS->abort(txn);
    close_it(f);
    if (status != STATUS_OK || strcmp(value, "v"))
        return 4;
    if (chmod(f->path, 0))
        return 5;
    return sqlite_open(&options, NULL, &f->catalogue, &f->err) == STATUS_ACCESS ? 0 : 6;
}

/* Modes do not bind root, so root becomes nobody for this. */
static void test_read_only_place(void **state)
{
    struct place_fixture *f = *state;
    open_it(f);
    OK(put(f, DURABLE, "k", "v"));
    close_it(f);
    assert_int_equal(chmod(f->path, 0400), 0);
    assert_int_equal(chmod(f->scratch.path, 0500), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(f->path, 65534, 65534), 0);
        assert_int_equal(chown(f->scratch.path, 65534, 65534), 0);
    }
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        bool able = (geteuid() || (!setgid(65534) && !setuid(65534))) && !access(f->path, R_OK);
        _exit(able ? try_without_rights(f) : 77);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        print_message("skipped: root cannot become another user here, or that user not come here\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_catalogue_locked_by_another_program(void **state)
{
    struct place_fixture *f = *state;
    open_it(f);
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open_v2(f->path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    struct catalogue_txn *txn = NULL;
    REFUSED(BUSY, OPS->write_begin(f->catalogue, ORDERED, 20, &txn, &f->err));
    assert_string_not_equal(f->err.hint, "");
    assert_string_equal(get(f, "schema"), "1"); /* readers do not wait */
    assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    OK(put(f, ORDERED, "k", "v"));
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_creation_is_private_and_said_once),
        TEST(test_ids_of_two_catalogues_differ),
        TEST(test_absent_file_is_not_found),
        TEST(test_unusable_paths_are_refused),
        TEST(test_too_long_path_is_refused),
        TEST(test_files_that_are_no_catalogue_are_refused),
        TEST(test_catalogue_without_its_rows_is_refused),
        TEST(test_hard_linked_file_is_refused),
        TEST(test_symbolic_link_leads_to_the_same_gate),
        TEST(test_creation_that_a_crash_has_ended_is_completed),
        TEST(test_file_taken_away_is_noticed),
        TEST(test_reading_only),
        TEST(test_read_only_place),
        TEST(test_catalogue_locked_by_another_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
