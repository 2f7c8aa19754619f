/* schema.c - the tables as SQL, and reading what a file holds. */
#include "catalogue/schema.h"

#include "base/cleanup.h"
#include "catalogue/catalogue.h"
#include "catalogue/sqlite_query.h"

#include <stdio.h>

/* Nanoseconds since 1970 as ISO 8601 text. SQL's % keeps the sign, so times before 1970 are lifted first. */
#define FRACTION(ns) "((" ns " % 1000000000 + 1000000000) % 1000000000)"
#define ISO(ns)                                                                                                        \
    "strftime('%Y-%m-%dT%H:%M:%S', (" ns " - " FRACTION(ns) ") / 1000000000, 'unixepoch')"                             \
                                                            " || printf('.%09dZ', " FRACTION(ns) ")"

#define KIND(mode)                                                                                                     \
    "CASE " mode " & 61440 WHEN 32768 THEN 'file' WHEN 16384 THEN 'directory' WHEN 40960 THEN 'symlink'"               \
    " WHEN 4096 THEN 'fifo' WHEN 49152 THEN 'socket' WHEN 8192 THEN 'character device'"                                \
    " WHEN 24576 THEN 'block device' END"

/* clang-format off */
static const char documents_1[] =
    "CREATE TABLE document ("
    "  id       INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  mode     INTEGER NOT NULL CHECK (mode BETWEEN 0 AND 4294967295),"
    "  uid      INTEGER NOT NULL CHECK (uid BETWEEN 0 AND 4294967295),"
    "  gid      INTEGER NOT NULL CHECK (gid BETWEEN 0 AND 4294967295),"
    "  nlink    INTEGER NOT NULL CHECK (nlink BETWEEN 0 AND 4294967295),"
    "  rdev     INTEGER NOT NULL,"
    "  atime_ns INTEGER NOT NULL,"
    "  mtime_ns INTEGER NOT NULL,"
    "  ctime_ns INTEGER NOT NULL,"
    "  btime_ns INTEGER NOT NULL,"
    "  target   BLOB CHECK (target IS NULL OR (mode & 61440 = 40960 AND length(target) BETWEEN 1 AND 4095)),"
    "  version  INTEGER CHECK (version IS NULL OR mode & 61440 = 32768),"
    "  parent   INTEGER CHECK (parent IS NULL OR mode & 61440 = 16384),"
    "  members  INTEGER NOT NULL"
    ") STRICT;"
    "CREATE TABLE entry ("
    "  cookie   INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  dir      INTEGER NOT NULL REFERENCES document(id) DEFERRABLE INITIALLY DEFERRED,"
    "  name     BLOB NOT NULL CHECK (length(name) BETWEEN 1 AND 255),"
    "  utf8     INTEGER NOT NULL CHECK (utf8 IN (0, 1)),"
    "  document INTEGER NOT NULL REFERENCES document(id) DEFERRABLE INITIALLY DEFERRED,"
    "  reserved INTEGER NOT NULL CHECK (reserved IN (0, 1)),"
    "  UNIQUE (dir, name)"
    ") STRICT;"
    "CREATE INDEX entry_listing ON entry(dir, cookie);"
    "CREATE INDEX entry_document ON entry(document);"
    "CREATE TABLE holder ("
    "  entry    INTEGER NOT NULL REFERENCES entry(cookie) ON DELETE CASCADE,"
    "  session  INTEGER NOT NULL,"
    "  PRIMARY KEY (entry, session)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE INDEX holder_session ON holder(session, entry);"
    "CREATE TABLE xattr ("
    "  document INTEGER NOT NULL REFERENCES document(id) ON DELETE CASCADE,"
    "  name     BLOB NOT NULL CHECK (length(name) BETWEEN 1 AND 255),"
    "  value    BLOB NOT NULL CHECK (length(value) <= 65536),"
    "  PRIMARY KEY (document, name)"
    ") STRICT;";

/* The two triggers are the arrows of core/state.h: what has no arrow there cannot be written. */
static const char versions_1[] =
    "CREATE TABLE version ("
    "  id             INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  document       INTEGER,"
    "  number         INTEGER NOT NULL CHECK (number >= 0),"
    "  session        INTEGER NOT NULL,"
    "  state          INTEGER NOT NULL CHECK (state IN (1, 2, 3)),"
    "  published      INTEGER NOT NULL CHECK (published IN (0, 1)),"
    "  clean          INTEGER NOT NULL CHECK (clean IN (0, 1)),"
    "  tag_due        INTEGER NOT NULL CHECK (tag_due IN (0, 1)),"
    "  blob           TEXT NOT NULL UNIQUE CHECK (length(blob) > 0),"
    "  token          TEXT NOT NULL,"
    "  etag           TEXT NOT NULL,"
    "  size_bytes     INTEGER NOT NULL CHECK (size_bytes >= 0),"
    "  crc64          INTEGER NOT NULL,"
    "  block_bytes    INTEGER NOT NULL CHECK (block_bytes BETWEEN 0 AND 4294967295),"
    "  condemned_seq  INTEGER NOT NULL CHECK (condemned_seq >= 0),"
    "  append_of      INTEGER,"
    "  sent_utc_ns    INTEGER NOT NULL,"
    "  created_utc_ns INTEGER NOT NULL,"
    "  reason         TEXT NOT NULL,"
    "  digests        BLOB CHECK (digests IS NULL OR (length(digests) % 8 = 0 AND length(digests) <= 400000)),"
    "  CHECK (state <> 2 OR (published = 1 AND number > 0 AND document IS NOT NULL)),"
    "  CHECK ((state = 3) = (condemned_seq > 0))"
    ") STRICT;"
    "CREATE INDEX version_pending ON version(session) WHERE state = 1;"
    "CREATE INDEX version_condemned ON version(id) WHERE state = 3;"
    "CREATE INDEX version_tag_due ON version(id) WHERE tag_due = 1;"
    "CREATE TRIGGER version_moves BEFORE UPDATE OF state ON version"
    "  WHEN NEW.state < OLD.state"
    "  BEGIN SELECT RAISE(ABORT, 'a version never goes back to an earlier state'); END;"
    "CREATE TRIGGER version_goes BEFORE DELETE ON version"
    "  WHEN OLD.state <> 3"
    "  BEGIN SELECT RAISE(ABORT, 'only a Condemned version is dropped (P7)'); END;";

static const char sessions_1[] =
    "CREATE TABLE session ("
    "  id               INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  kind             INTEGER NOT NULL CHECK (kind IN (1, 2, 3)),"
    "  started_utc_ns   INTEGER NOT NULL,"
    "  heartbeat_utc_ns INTEGER NOT NULL,"
    "  horizon          INTEGER NOT NULL,"
    "  seen_seq         INTEGER NOT NULL,"
    "  fenced_utc_ns    INTEGER NOT NULL,"
    "  pid              INTEGER NOT NULL,"
    "  group_number     INTEGER NOT NULL,"
    "  group_failed     INTEGER NOT NULL CHECK (group_failed IN (0, 1)),"
    "  place            TEXT NOT NULL,"
    "  result           TEXT NOT NULL"
    ") STRICT;"
    "CREATE TABLE sequence ("
    "  one      INTEGER PRIMARY KEY CHECK (one = 1),"
    "  now      INTEGER NOT NULL CHECK (now >= 0),"
    "  pruned   INTEGER NOT NULL CHECK (pruned BETWEEN 0 AND now)"
    ") STRICT;"
    "INSERT INTO sequence VALUES (1, 0, 0);"
    "CREATE TABLE change ("
    "  id       INTEGER PRIMARY KEY,"
    "  seq      INTEGER NOT NULL CHECK (seq > 0),"
    "  dir      INTEGER,"
    "  name     BLOB CHECK ((name IS NULL) = (dir IS NULL)),"
    "  document INTEGER NOT NULL"
    ") STRICT;"
    "CREATE INDEX change_seq ON change(seq);"
    "CREATE TABLE meta ("
    "  key      TEXT PRIMARY KEY,"
    "  value    TEXT NOT NULL"
    ") STRICT, WITHOUT ROWID;";

static const char transactions_1[] =
    "CREATE TABLE claim ("
    "  object          TEXT NOT NULL,"
    "  txn             TEXT NOT NULL,"
    "  mode            INTEGER NOT NULL,"
    "  change          BLOB,"
    "  coordinator     TEXT NOT NULL,"
    "  incarnation     TEXT NOT NULL,"
    "  deadline_utc_ns INTEGER NOT NULL,"
    "  decision        INTEGER NOT NULL,"
    "  PRIMARY KEY (object, txn)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE INDEX claim_txn ON claim(txn);"
    "CREATE TABLE outcome ("
    "  id       TEXT PRIMARY KEY,"
    "  outcome  TEXT NOT NULL,"
    "  utc_ns   INTEGER NOT NULL"
    ") STRICT, WITHOUT ROWID;"
    "CREATE INDEX outcome_age ON outcome(utc_ns);";

static const char views_1[] =
    "CREATE VIEW documents AS"
    "  SELECT d.id, 'Ready' AS status, v.blob AS blob_name, v.size_bytes AS size,"
    "         printf('%016x', v.crc64) AS digest, v.number AS version, v.etag,"
    "         " ISO("d.btime_ns") " AS created_utc, " ISO("d.mtime_ns") " AS modified_utc,"
    "         " ISO("v.created_utc_ns") " AS version_utc,"
    "         d.mode & 4095 AS permissions, d.uid, d.gid, d.nlink, v.block_bytes AS block_size"
    "    FROM document d JOIN version v ON v.id = d.version AND v.state = 2;"
    "CREATE VIEW versions AS"
    "  SELECT v.id, v.document, CASE v.state WHEN 1 THEN 'Pending' WHEN 2 THEN 'Ready' ELSE 'Condemned' END AS status,"
    "         v.blob AS blob_name, v.size_bytes AS size, printf('%016x', v.crc64) AS digest, v.number AS version,"
    "         v.session, v.tag_due, " ISO("v.created_utc_ns") " AS version_utc, v.reason"
    "    FROM version v;"
    "CREATE VIEW names AS"
    "  SELECT e.dir, CASE e.utf8 WHEN 1 THEN CAST(e.name AS TEXT) END AS name, lower(hex(e.name)) AS name_hex,"
    "         e.name AS name_bytes, e.document, " KIND("d.mode") " AS kind"
    "    FROM entry e LEFT JOIN document d ON d.id = e.document"
    "   WHERE e.reserved = 0;";
/* clang-format on */

static const char *const schema_1[] = {documents_1, versions_1, sessions_1, transactions_1, views_1, NULL};
static const char *const *const migrations[] = {schema_1};
_Static_assert(sizeof migrations / sizeof *migrations == CATALOGUE_SCHEMA, "one migration for each schema");

const struct schema schema_current = {.migrations = migrations, .count = CATALOGUE_SCHEMA};

static const char *const objects[] = {
    "document", "entry", "holder",  "xattr",     "version",  "session", "sequence",      "change",
    "meta",     "claim", "outcome", "documents", "versions", "names",   "version_moves", "version_goes",
};

/* One number, from a pragma or a count. */
static enum status number(sqlite3 *db, const char *sql, const char *text, int64_t *ret_number, struct err *err)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
    if (code == SQLITE_OK && text)
        code = sqlite3_bind_text(stmt, 1, text, -1, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = sqlite3_step(stmt);
    if (code == SQLITE_ROW)
        *ret_number = sqlite3_column_int64(stmt, 0);
    enum status status = code == SQLITE_ROW ? STATUS_OK : query_failure(db, code, "read its header", err);
    (void)sqlite3_finalize(stmt); /* repeats what step has said */
    return status;
}

static enum status objects_there(sqlite3 *db, struct err *err)
{
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
        int64_t found = 0;
        enum status status =
            number(db, "SELECT count(*) FROM main.sqlite_schema WHERE name = ?1", objects[i], &found, err);
        if (status != STATUS_OK)
            return status;
        if (found != 1)
            return err_set(err, STATUS_CORRUPT, "it has no '%s'", objects[i]);
    }
    return STATUS_OK;
}

static enum status ours(int64_t application, int64_t version, const struct schema *schema, struct err *err)
{
    if (application == SCHEMA_APPLICATION_ID && version >= 1 && version <= schema->count)
        return STATUS_OK;
    if (application == SCHEMA_APPLICATION_ID && version > schema->count) {
        (void)err_set(err, STATUS_NEWER, "it has schema %lld, this readyfs knows up to %d", (long long)version,
                      schema->count);
        (void)err_hint(err, "use the newer readyfs that has written it"); /* returns the same status */
        return STATUS_NEWER;
    }
    (void)err_set(err, STATUS_CORRUPT, "it is a database of another program");
    (void)err_hint(err, "name another file with --catalogue"); /* returns the same status */
    return STATUS_CORRUPT;
}

enum status schema_look(sqlite3 *db, const struct schema *schema, enum schema_state *ret_state, struct err *err)
{
    int64_t application = 0, version = 0, count = 0;
    enum status status = number(db, "PRAGMA main.application_id", NULL, &application, err);
    if (status == STATUS_OK)
        status = number(db, "PRAGMA main.user_version", NULL, &version, err);
    if (status == STATUS_OK)
        status = number(db, "SELECT count(*) FROM main.sqlite_schema", NULL, &count, err);
    if (status != STATUS_OK)
        return status;
    if (application == 0 && version == 0 && count == 0) {
        *ret_state = SCHEMA_EMPTY;
        return STATUS_OK;
    }
    status = ours(application, version, schema, err);
    if (status != STATUS_OK)
        return status;
    *ret_state = version < schema->count ? SCHEMA_OLDER : SCHEMA_CURRENT;
    return objects_there(db, err);
}

static enum status run(sqlite3 *db, const char *sql, int number_of_schema, struct err *err)
{
    int code = sqlite3_exec(db, sql, NULL, NULL, NULL);
    if (code == SQLITE_OK)
        return STATUS_OK;
    (void)query_failure(db, code, "change the tables", err); /* the context below returns the same status */
    return err_context(err, "to schema %d", number_of_schema);
}

enum status schema_migrate(sqlite3 *db, const struct schema *schema, struct err *err)
{
    int64_t version = 0;
    enum status status = number(db, "PRAGMA main.user_version", NULL, &version, err);
    INVARIANT(status != STATUS_OK || (version >= 0 && version <= schema->count));
    for (; status == STATUS_OK && version < schema->count; version++)
        for (const char *const *sql = schema->migrations[version]; status == STATUS_OK && *sql; sql++)
            status = run(db, *sql, (int)version + 1, err);
    if (status != STATUS_OK)
        return status;
    char marks[128];
    (void)snprintf(marks, sizeof marks, "PRAGMA main.application_id = %d; PRAGMA main.user_version = %d",
                   SCHEMA_APPLICATION_ID, schema->count);
    return run(db, marks, schema->count, err);
}
