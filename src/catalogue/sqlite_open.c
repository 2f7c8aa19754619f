/* sqlite_open.c - from a path to a catalogue that is sound: look, create or migrate inside the gate, check.
 *
 * Nothing is changed, neither the file nor its folder, before the file was found to be ours, empty or absent. Creation
 * is one transaction; what a crash leaves of it is an empty database, which the next one completes.
 */
#include "catalogue/sqlite_internal.h"

#include "base/text.h"
#include "core/id.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What one opening carries along. */
struct opening {
    struct sqlite_catalogue *catalogue;
    const struct schema *schema;
    bool create;
    bool created;
    enum schema_state state;
};

/* ---- looking ---- */

/* SQLite falls back to reading without a word where the file cannot be written, and makes its log in the folder. */
static enum status writable(const struct place *place, struct connection *connection, struct err *err)
{
    if (sqlite3_db_readonly(connection->db, "main") == 1) {
        int reason = faccessat(AT_FDCWD, place->path, W_OK, AT_EACCESS) ? errno : EACCES;
        return err_set_errno(err, reason, "it cannot be written");
    }
    AUTO_FREE char *folder = strndup(place->path, (size_t)(strrchr(place->path, '/') - place->path) + 1);
    if (!folder)
        return err_set(err, STATUS_NO_MEMORY, "out of memory");
    if (faccessat(AT_FDCWD, folder, W_OK, AT_EACCESS))
        return err_set_errno(err, errno, "its folder cannot be written");
    return STATUS_OK;
}

static enum status look_with(struct opening *opening, struct err *err)
{
    struct sqlite_catalogue *catalogue = opening->catalogue;
    struct connection *connection;
    enum status status = connection_open(&catalogue->place, CONNECTION_LOOK, &connection, err);
    if (status != STATUS_OK)
        return status;
    status = catalogue->read_only ? STATUS_OK : writable(&catalogue->place, connection, err);
    if (status == STATUS_OK)
        status = schema_look(connection->db, opening->schema, &opening->state, err);
    (void)connection_close(connection, false); /* returns NULL */
    return status == STATUS_OK ? STATUS_OK : err_context(err, "catalogue '%s'", catalogue->place.path);
}

static bool log_is_empty(const struct place *place)
{
    char path[1024];
    (void)snprintf(path, sizeof path, "%s-wal", place->path); /* place_init() has bounded it */
    struct stat log;
    return stat(path, &log) ? errno == ENOENT : log.st_size == 0;
}

/* A reader that may write neither the file nor its folder cannot have a log; where there is none, it needs none. */
static enum status look_read_only(struct opening *opening, struct err *err)
{
    struct place *place = &opening->catalogue->place;
    enum status status = look_with(opening, err);
    bool refused = status == STATUS_ACCESS || status == STATUS_READ_ONLY || status == STATUS_IO;
    if (!refused || !log_is_empty(place))
        return status;
    place->immutable = true;
    err_clear(err);
    return look_with(opening, err);
}

/* NOT_FOUND: there is no file, or an empty one (opening->state is SCHEMA_EMPTY then). */
static enum status look(struct opening *opening, struct err *err)
{
    opening->state = SCHEMA_EMPTY;
    enum status status = place_inspect(&opening->catalogue->place, err);
    if (status != STATUS_OK)
        return status;
    status = opening->catalogue->read_only ? look_read_only(opening, err) : look_with(opening, err);
    if (status == STATUS_NOT_FOUND) /* gone since the look before */
        return err_set(err, STATUS_IO, "catalogue '%s': it was removed while it was opened",
                       opening->catalogue->place.path);
    if (status == STATUS_OK && opening->state == SCHEMA_EMPTY)
        return err_set(err, STATUS_NOT_FOUND, "catalogue '%s': the file is empty", opening->catalogue->place.path);
    return status;
}

/* ---- creating and migrating, inside the gate ---- */

static void random_id(struct sqlite_catalogue *catalogue, char ret_text[ID_TEXT_SIZE])
{
    uint8_t bytes[ID_BYTES];
    entropy_fill(catalogue->entropy, bytes, sizeof bytes);
    hex_encode(bytes, sizeof bytes, ret_text);
}

static enum status set_meta(struct connection *connection, const char *key, const char *value, struct err *err)
{
    static const char sql[] = "INSERT INTO meta (key, value) VALUES (?1, ?2)"
                              " ON CONFLICT (key) DO UPDATE SET value = excluded.value";
    AUTO_QUERY struct query query;
    query_begin(&query, connection->db, &connection->statements, sql, err);
    query_text(&query, key);
    query_text(&query, value);
    return query_run(&query, NULL);
}

static enum status set_created(struct connection *connection, int64_t now_ns, struct err *err)
{
    static const char sql[] = "INSERT INTO meta (key, value)"
                              " VALUES ('created', strftime('%Y-%m-%dT%H:%M:%SZ', ?1 / 1000000000, 'unixepoch'))";
    AUTO_QUERY struct query query;
    query_begin(&query, connection->db, &connection->statements, sql, err);
    query_int(&query, now_ns);
    return query_run(&query, NULL);
}

static enum status insert_root(struct connection *connection, int64_t now_ns, struct err *err)
{
    static const char sql[] = "INSERT INTO document (id, mode, uid, gid, nlink, rdev, atime_ns, mtime_ns, ctime_ns, "
                              "btime_ns, parent, members)"
                              " VALUES (?1, ?2, ?3, ?4, 2, 0, ?5, ?5, ?5, ?5, ?1, 0)";
    AUTO_QUERY struct query query;
    query_begin(&query, connection->db, &connection->statements, sql, err);
    query_int(&query, CATALOGUE_ROOT);
    query_int(&query, S_IFDIR | 0755);
    query_int(&query, getuid());
    query_int(&query, getgid());
    query_int(&query, now_ns);
    return query_run(&query, NULL);
}

static enum status fill_new(struct sqlite_catalogue *catalogue, struct connection *connection, struct err *err)
{
    int64_t now_ns = clock_utc_ns(catalogue->clock);
    char id[ID_TEXT_SIZE], incarnation[ID_TEXT_SIZE];
    random_id(catalogue, id);
    random_id(catalogue, incarnation);
    enum status status = insert_root(connection, now_ns, err);
    if (status == STATUS_OK)
        status = set_meta(connection, "catalogue", id, err);
    if (status == STATUS_OK)
        status = set_meta(connection, "incarnation", incarnation, err);
    if (status == STATUS_OK)
        status = set_created(connection, now_ns, err);
    return status;
}

static enum status migrate(struct opening *opening, struct connection *connection, struct err *err)
{
    char number[16];
    (void)snprintf(number, sizeof number, "%d", opening->schema->count);
    enum status status = schema_migrate(connection->db, opening->schema, err);
    if (status == STATUS_OK && opening->state == SCHEMA_EMPTY)
        status = fill_new(opening->catalogue, connection, err);
    if (status == STATUS_OK)
        status = set_meta(connection, "schema", number, err);
    return status;
}

/* One durable transaction. */
static enum status build(struct opening *opening, struct connection *connection, struct err *err)
{
    enum status status = connection_run(connection, "PRAGMA synchronous = FULL; BEGIN IMMEDIATE", err);
    if (status != STATUS_OK)
        return status;
    status = migrate(opening, connection, err);
    if (status == STATUS_OK)
        status = connection_run(connection, "COMMIT", err);
    if (!sqlite3_get_autocommit(connection->db))
        (void)sqlite3_exec(connection->db, "ROLLBACK", NULL, NULL, NULL); /* closing rolls back too */
    return status;
}

static enum status use_log(struct connection *connection, struct err *err)
{
    static const char sql[] = "PRAGMA main.journal_mode = WAL";
    AUTO_QUERY struct query query;
    query_begin(&query, connection->db, &connection->statements, sql, err);
    enum status status = query_step(&query);
    char mode[16] = "";
    if (status == STATUS_OK) {
        query_column_text(&query, mode, sizeof mode);
        status = query_read(&query, "journal_mode");
    }
    if (status != STATUS_OK || !strcmp(mode, "wal"))
        return status;
    (void)err_set(err, STATUS_UNSUPPORTED, "its file system cannot hold a write-ahead log");
    (void)err_hint(err, "keep the catalogue on a local file system");
    return STATUS_UNSUPPORTED;
}

static enum status build_on_a_connection(struct opening *opening, struct err *err)
{
    struct connection *connection;
    enum status status = connection_open(&opening->catalogue->place, CONNECTION_WRITE, &connection, err);
    if (status != STATUS_OK)
        return status;
    status = use_log(connection, err);
    if (status == STATUS_OK)
        status = build(opening, connection, err);
    (void)connection_close(connection, false); /* returns NULL */
    if (status == STATUS_OK)
        status = place_sync(&opening->catalogue->place, err);
    return status;
}

static enum status create_inside(struct opening *opening, bool file_there, struct err *err)
{
    struct place *place = &opening->catalogue->place;
    enum status status = file_there ? STATUS_OK : place_create_file(place, err);
    if (status != STATUS_OK)
        return status;
    status = build_on_a_connection(opening, err);
    if (status != STATUS_OK && !file_there)
        place_remove_file(place);
    opening->created = status == STATUS_OK;
    return status == STATUS_OK ? STATUS_OK : err_context(err, "create catalogue '%s'", place->path);
}

static enum status migrate_inside(struct opening *opening, struct err *err)
{
    enum status status = sqlite_locks_all_dead(opening->catalogue, err);
    if (status == STATUS_BUSY)
        (void)err_hint(err, "unmount what uses the catalogue; then the next mount migrates it");
    if (status == STATUS_OK)
        status = build_on_a_connection(opening, err);
    return status == STATUS_OK ? STATUS_OK : err_context(err, "migrate catalogue '%s'", opening->catalogue->place.path);
}

/* Looks again, since another process may have been faster. */
static enum status complete_inside(struct opening *opening, struct err *err)
{
    enum status status = look(opening, err);
    bool absent = status == STATUS_NOT_FOUND;
    if (!absent && status != STATUS_OK)
        return status;
    if (absent && !opening->create)
        return status;
    if (absent) {
        struct stat file;
        err_clear(err);
        return create_inside(opening, stat(opening->catalogue->place.path, &file) == 0, err);
    }
    return opening->state == SCHEMA_OLDER ? migrate_inside(opening, err) : STATUS_OK;
}

/* ---- opening ---- */

static enum status open_for_reading(struct opening *opening, struct err *err)
{
    enum status status = look(opening, err);
    if (status != STATUS_OK || opening->state == SCHEMA_CURRENT)
        return status;
    (void)err_set(err, STATUS_READ_ONLY, "catalogue '%s': it has an older schema", opening->catalogue->place.path);
    (void)err_hint(err, "a writable mount migrates it");
    return STATUS_READ_ONLY;
}

static enum status open_for_writing(struct opening *opening, struct err *err)
{
    struct sqlite_catalogue *catalogue = opening->catalogue;
    enum status status = look(opening, err);
    if (status == STATUS_NOT_FOUND && opening->create) {
        err_clear(err);
        status = STATUS_OK;
    }
    if (status == STATUS_OK)
        status = place_make(&catalogue->place, &catalogue->gate, err);
    if (status == STATUS_OK && opening->state != SCHEMA_CURRENT) {
        status = gate_take(catalogue->gate, SQLITE_OPEN_GATE_MS, err);
        if (status != STATUS_OK)
            return status;
        status = complete_inside(opening, err);
        gate_leave(catalogue->gate);
    }
    if (status == STATUS_OK)
        status = connection_open(&catalogue->place, CONNECTION_WRITE, &catalogue->writer, err);
    return status == STATUS_OK ? use_log(catalogue->writer, err) : status;
}

/* The file that the path leads to is the one that SQLite has open. */
static enum status remember(struct sqlite_catalogue *catalogue, struct err *err)
{
    enum status status = place_remember(&catalogue->place, err);
    int moved = 0;
    if (status == STATUS_OK && catalogue->writer)
        (void)sqlite3_file_control(catalogue->writer->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved); /* stays 0 */
    if (moved)
        return err_set(err, STATUS_IO, "catalogue '%s': it was replaced while it was opened", catalogue->place.path);
    return status;
}

/* What every user of a catalogue leans on. */
static enum status check_rows(struct catalogue_txn *txn, struct err *err)
{
    struct document_row root;
    char id[ID_TEXT_SIZE];
    int64_t seq;
    enum status status = sqlite_document_get(txn, CATALOGUE_ROOT, &root, err);
    if (status == STATUS_NOT_FOUND || (status == STATUS_OK && !S_ISDIR(root.mode)))
        return err_set(err, STATUS_CORRUPT, "it has no root directory");
    if (status == STATUS_OK)
        status = sqlite_meta_get(txn, "catalogue", id, sizeof id, err);
    if (status == STATUS_RANGE || (status == STATUS_OK && strlen(id) != ID_TEXT_SIZE - 1))
        return err_set(err, STATUS_CORRUPT, "it has no id");
    if (status == STATUS_OK)
        status = sqlite_seq_now(txn, &seq, err);
    return status;
}

static enum status check(struct sqlite_catalogue *catalogue, struct err *err)
{
    struct catalogue_txn *txn;
    enum status status = sqlite_read_begin(&catalogue->port, &txn, err);
    if (status == STATUS_OK) {
        status = check_rows(txn, err);
        sqlite_abort(txn);
    }
    if (status != STATUS_OK)
        (void)err_context(err, "catalogue '%s'", catalogue->place.path); /* returns the same status */
    return status;
}

enum status opening_run(struct sqlite_catalogue *catalogue, const struct schema *schema, bool create, bool *ret_created,
                        struct err *err)
{
    catalogue->schema = schema;
    struct opening opening = {.catalogue = catalogue, .schema = schema, .create = create};
    enum status status = catalogue->read_only ? open_for_reading(&opening, err) : open_for_writing(&opening, err);
    if (status == STATUS_NOT_FOUND)
        (void)err_hint(err, "the first writable mount creates it"); /* returns the same status */
    if (status == STATUS_OK)
        status = remember(catalogue, err);
    if (status == STATUS_OK)
        status = check(catalogue, err);
    if (status == STATUS_OK)
        *ret_created = opening.created;
    return status;
}
