/* test_schema.c - goal: the file keeps docs/CATALOGUE.md, and older files are migrated or refused, never half of it.
 * Method: the file is read as another program reads it, with plain SQL; migrations are tried with a list of the test's
 * own behind the real one.
 */
#include "unit/catalogue/place.h"

static void fill(struct place_fixture *f)
{
    struct catalogue_txn *txn = writing(f, DURABLE);
    struct document_row document = {
        .mode = S_IFREG | 0640, .uid = 5, .gid = 6, .nlink = 1, .btime_ns = 1500000000, .mtime_ns = -1};
    struct document_row folder = {.mode = S_IFDIR | 0755, .nlink = 2, .parent = CATALOGUE_ROOT};
    OK(OPS->document_insert(txn, &document, NULL, &document.id, &f->err));
    OK(OPS->document_insert(txn, &folder, NULL, &folder.id, &f->err));
    struct entry_row entry = {.dir = CATALOGUE_ROOT, .document = folder.id};
    int64_t cookie;
    OK(name_set(&entry.name, "docs", 4));
    OK(OPS->entry_insert(txn, &entry, &cookie, &f->err));
    entry = (struct entry_row){.dir = folder.id, .document = document.id};
    OK(name_set(&entry.name, "caf\xc3\xa9", 5));
    OK(OPS->entry_insert(txn, &entry, &cookie, &f->err));
    OK(name_set(&entry.name, "caf\xe9", 4)); /* the same in Latin 1: not UTF-8 */
    OK(OPS->entry_insert(txn, &entry, &cookie, &f->err));
    entry.reserved = true;
    OK(name_set(&entry.name, "hidden", 6));
    OK(OPS->entry_insert(txn, &entry, &cookie, &f->err));
    uint64_t digests[2] = {0x0102030405060708, 2};
    struct version_row version = {.document = document.id,
                                  .number = 3,
                                  .session = 1,
                                  .state = VERSION_READY,
                                  .published = true,
                                  .blob = "p/d/00/ff",
                                  .etag = "\"e\"",
                                  .size_bytes = 8192,
                                  .crc64 = 0xAE8B14860A799888,
                                  .block_bytes = 4096,
                                  .created_utc_ns = 1000000000,
                                  .digests = digests,
                                  .digest_count = 2};
    OK(OPS->version_insert(txn, &version, &document.version, &f->err));
    OK(OPS->document_update(txn, &document, &f->err));
    version = (struct version_row){.session = 1, .state = VERSION_PENDING, .blob = "p/d/00/ee"};
    OK(OPS->version_insert(txn, &version, &version.id, &f->err));
    OK(OPS->commit(txn, &f->err));
}

#define SQL(expected, sql) assert_string_equal(sql_outside(f->path, sql), expected)

static void test_file_is_marked(void **state)
{
    struct place_fixture *f = *state;
    open_it(f);
    SQL("1382303315", "PRAGMA application_id"); /* "RdFS" */
    SQL("1", "PRAGMA user_version");
    SQL("wal", "PRAGMA journal_mode");
    SQL("4096", "PRAGMA page_size");
    SQL("UTF-8", "PRAGMA encoding");
    SQL("1", "SELECT value FROM meta WHERE key = 'schema'");
    SQL("20", "SELECT length(value) FROM meta WHERE key = 'created'");
}

static void test_tables_are_strict_and_all_there(void **state)
{
    struct place_fixture *f = *state;
    open_it(f);
    SQL("0", "SELECT count(*) FROM pragma_table_list"
             " WHERE schema = 'main' AND type = 'table' AND strict = 0 AND name NOT LIKE 'sqlite_%'");
    SQL("change,claim,document,entry,holder,meta,outcome,sequence,session,version,xattr",
        "SELECT group_concat(name) FROM (SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'"
        " AND name NOT LIKE 'sqlite_%' ORDER BY name)");
    SQL("error: cannot store TEXT value in INTEGER column document.uid", "UPDATE document SET uid = 'root'");
}

static void test_view_documents(void **state)
{
    struct place_fixture *f = *state;
    open_it(f);
    fill(f);
    SQL("1", "SELECT count(*) FROM documents");
    SQL("2,Ready,p/d/00/ff,8192,ae8b14860a799888,3,\"e\"",
        "SELECT concat_all FROM (SELECT id || ',' || status || ',' || blob_name || ',' || size || ',' || digest || ','"
        " || version || ',' || etag AS concat_all FROM documents)");
    SQL("1970-01-01T00:00:01.500000000Z", "SELECT created_utc FROM documents");
    SQL("1969-12-31T23:59:59.999999999Z", "SELECT modified_utc FROM documents");
    SQL("1970-01-01T00:00:01.000000000Z", "SELECT version_utc FROM documents");
    SQL("416", "SELECT permissions FROM documents"); /* 0640 */
    SQL("Ready,Pending", "SELECT group_concat(status) FROM (SELECT status FROM versions ORDER BY id)");
    /* Little endian, 8 bytes a block. */
    SQL("08070605040302010200000000000000", "SELECT hex(digests) FROM version WHERE state = 2");
}

static void test_view_names(void **state)
{
    struct place_fixture *f = *state;
    open_it(f);
    fill(f);
    SQL("3", "SELECT count(*) FROM names");
    SQL("directory", "SELECT kind FROM names WHERE dir = 1 AND name = 'docs'");
    SQL("file", "SELECT kind FROM names WHERE name = 'caf\xc3\xa9'");
    SQL("NULL", "SELECT name FROM names WHERE name_hex = '636166e9'");
}

/* The query of docs/CATALOGUE.md. */
#define WALK(path)                                                                                                     \
    "WITH RECURSIVE part(n, name) AS (SELECT key, CAST(value AS BLOB) FROM json_each('" path "')),"                    \
    " walk(n, document) AS (SELECT 0, 1 UNION ALL SELECT walk.n + 1, names.document FROM walk"                         \
    " CROSS JOIN part ON part.n = walk.n CROSS JOIN names ON names.dir = walk.document AND names.name_bytes = "        \
    "part.name)"                                                                                                       \
    " SELECT documents.blob_name FROM walk JOIN documents ON documents.id = walk.document"                             \
    " WHERE walk.n = (SELECT count(*) FROM part)"

static bool plan_has(struct place_fixture *f, const char *sql, const char *text)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    char explain[1024];
    (void)snprintf(explain, sizeof explain, "EXPLAIN QUERY PLAN %s", sql);
    assert_int_equal(sqlite3_open_v2(f->path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, explain, -1, &stmt, NULL), SQLITE_OK);
    bool found = false;
    while (sqlite3_step(stmt) == SQLITE_ROW)
        found |= strstr((const char *)sqlite3_column_text(stmt, 3), text) != NULL;
    (void)sqlite3_finalize(stmt);
    (void)sqlite3_close(db);
    return found;
}

static void test_documented_query_walks_one_path(void **state)
{
    struct place_fixture *f = *state;
    open_it(f);
    fill(f);
    SQL("p/d/00/ff", WALK("[\"docs\", \"caf\xc3\xa9\"]"));
    SQL("", WALK("[\"docs\", \"hidden\"]"));
    SQL("", WALK("[\"docs\"]"));
    SQL("", WALK("[\"nowhere\", \"caf\xc3\xa9\"]"));
    /* By index, not through all names. */
    assert_true(plan_has(f, WALK("[\"docs\"]"), "entry_1 (dir=? AND name=?)"));
}

/* A second net that stands in the file itself, for whoever writes to it by hand. */
static void test_constraints_hold_against_other_programs(void **state)
{
    struct place_fixture *f = *state;
    open_it(f);
    fill(f);
    SQL("error: a version never goes back to an earlier state", "UPDATE version SET state = 1 WHERE state = 2");
    SQL("error: only a Condemned version is dropped (P7)", "DELETE FROM version WHERE state = 2");
    assert_non_null(strstr(sql_outside(f->path, "UPDATE version SET state = 3 WHERE state = 2"), "CHECK"));
    assert_non_null(strstr(sql_outside(f->path, "UPDATE version SET number = 0 WHERE state = 2"), "CHECK"));
    assert_non_null(strstr(sql_outside(f->path, "UPDATE version SET digests = x'00'"), "CHECK"));
    assert_non_null(strstr(sql_outside(f->path, "UPDATE entry SET name = x''"), "CHECK"));
    assert_non_null(strstr(sql_outside(f->path, "INSERT INTO sequence VALUES (2, 0, 0)"), "CHECK"));
}

/* An entry that leads nowhere is refused by the commit, whatever the order within it was. */
static void test_dangling_entries_are_refused(void **state)
{
    struct place_fixture *f = *state;
    open_it(f);
    fill(f);
    struct catalogue_txn *txn = writing(f, ORDERED);
    OK(OPS->document_delete(txn, 2, &f->err));
    REFUSED(INVALID, OPS->commit(txn, &f->err));
    assert_non_null(strstr(f->err.message, "FOREIGN KEY"));
    OK(put(f, ORDERED, "k", "v")); /* refused, not unknown */
    SQL("2", "SELECT count(*) FROM entry WHERE document = 2 AND reserved = 0");
}

/* ---- migrations ---- */

static const char *const second[] = {"CREATE TABLE extra (id INTEGER PRIMARY KEY) STRICT;",
                                     "INSERT INTO extra SELECT id FROM document;", NULL};
static const char *const broken[] = {"CREATE TABLE extra (id INTEGER PRIMARY KEY) STRICT;",
                                     "INSERT INTO nowhere VALUES (1);", NULL};

static enum status open_with(struct place_fixture *f, const char *const *next, struct catalogue **ret_catalogue)
{
    const char *const *const list[] = {schema_current.migrations[0], next};
    const struct schema schema = {.migrations = list, .count = 2};
    struct sqlite_options options = options_of(f);
    bool created = true;
    enum status status = sqlite_open_schema(&options, &schema, &created, ret_catalogue, &f->err);
    if (status != STATUS_OK)
        return status;
    assert_false(created);
    *ret_catalogue = catalogue_close(*ret_catalogue);
    return STATUS_OK;
}

static void test_older_file_is_migrated_once(void **state)
{
    struct place_fixture *f = *state;
    open_it(f);
    fill(f);
    close_it(f);
    struct catalogue *catalogue = NULL;
    for (int i = 0; i < 2; i++) {
        OK(open_with(f, second, &catalogue));
        SQL("2", "PRAGMA user_version");
        SQL("2", "SELECT value FROM meta WHERE key = 'schema'");
        SQL("3", "SELECT count(*) FROM extra"); /* a second run would have failed */
        SQL("1", "SELECT count(*) FROM documents");
    }
    /* Now it is newer than what this program knows. */
    REFUSED(NEWER, open_plain(f, &catalogue));
    assert_non_null(strstr(f->err.message, "schema 2"));
    assert_string_not_equal(f->err.hint, "");
}

static void test_migration_that_fails_changes_nothing(void **state)
{
    struct place_fixture *f = *state;
    open_it(f);
    close_it(f);
    struct catalogue *catalogue = NULL;
    assert_int_not_equal(open_with(f, broken, &catalogue), STATUS_OK);
    assert_non_null(strstr(f->err.message, "nowhere"));
    SQL("1", "PRAGMA user_version");
    SQL("0", "SELECT count(*) FROM sqlite_schema WHERE name = 'extra'");
    open_it(f);
}

static void test_migration_waits_for_no_living_session(void **state)
{
    struct place_fixture *f = *state;
    open_it(f);
    struct session_row session = {.kind = SESSION_MOUNT};
    struct catalogue_txn *txn = writing(f, DURABLE);
    OK(OPS->session_insert(txn, &session, &session.id, &f->err));
    OK(OPS->lock_take(txn, session.id, &f->err));
    OK(OPS->commit(txn, &f->err));
    struct catalogue *catalogue = NULL;
    REFUSED(BUSY, open_with(f, second, &catalogue));
    assert_non_null(strstr(f->err.message, "session 1 is alive"));
    assert_string_not_equal(f->err.hint, "");
    SQL("1", "PRAGMA user_version");
    close_it(f); /* the lock file stays, as after a crash */
    OK(open_with(f, second, &catalogue));
    SQL("2", "PRAGMA user_version");
}

static void test_reader_does_not_migrate(void **state)
{
    struct place_fixture *f = *state;
    open_it(f);
    close_it(f);
    const char *const *const list[] = {schema_current.migrations[0], second};
    const struct schema schema = {.migrations = list, .count = 2};
    struct sqlite_options options = options_of(f);
    options.read_only = true;
    struct catalogue *catalogue = NULL;
    REFUSED(READ_ONLY, sqlite_open_schema(&options, &schema, NULL, &catalogue, &f->err));
    SQL("1", "PRAGMA user_version");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_file_is_marked),
        TEST(test_tables_are_strict_and_all_there),
        TEST(test_view_documents),
        TEST(test_view_names),
        TEST(test_documented_query_walks_one_path),
        TEST(test_constraints_hold_against_other_programs),
        TEST(test_dangling_entries_are_refused),
        TEST(test_older_file_is_migrated_once),
        TEST(test_migration_that_fails_changes_nothing),
        TEST(test_migration_waits_for_no_living_session),
        TEST(test_reader_does_not_migrate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
