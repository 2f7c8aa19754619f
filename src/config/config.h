/* config.h - text to a checked struct: configuration file, environment, `--key=value` and `-o key=value`.
 *
 * The command line wins over the environment, which wins over the file, in whatever order they are read. Every mistake
 * is one line that names its source ("/etc/readyfs.conf:12: ..."). Secrets come from the environment or from a file
 * that nobody else can read, never from the argument list. Reads the environment and files, changes nothing; a struct
 * config belongs to one thread until it is complete, then any number may read it.
 */
#ifndef READYFS_CONFIG_CONFIG_H
#define READYFS_CONFIG_CONFIG_H

#include "base/err.h"
#include "config/source.h"

#include <stdbool.h>
#include <stdint.h>

#define CONFIG_KEYS_MAX 96

enum config_on_kill { CONFIG_KILL_KEEP, CONFIG_KILL_PUBLISH };
enum config_conflict { CONFIG_CONFLICT_LAST, CONFIG_CONFLICT_FAIL };
enum config_log_level { CONFIG_LOG_ERROR, CONFIG_LOG_WARNING, CONFIG_LOG_INFO, CONFIG_LOG_DEBUG };

/* Where a value stood, in the order of precedence. */
enum config_rank { RANK_DEFAULT, RANK_FILE, RANK_ENVIRONMENT, RANK_ARGUMENT, RANK_CALL };

struct config {
    struct source source; /* config_source() */
    char *file;           /* `config`: the configuration file, NULL for none; read by config_load() */

    /* the store; texts are owned, NULL while not set */
    char *account, *endpoint, *ca_file;
    char *account_key, *sas_token, *connection_string; /* secrets: wiped by config_done() */
    bool tags, create_container;
    int64_t late_after_ms; /* -1: the store's own (P8) */
    int64_t deadline_ms;   /* without progress */

    /* the catalogue and its places */
    char *catalogue, *runtime_dir; /* NULL: derived from SOURCE (app/place.h) */
    bool accept_restore;
    uint64_t spool_max, recovery_max; /* bytes; 0: no limit */

    /* the mount */
    bool allow_other, read_only, nonempty, noexec, foreground;
    int64_t uid, gid;                   /* -1: as stored */
    int64_t umask, file_mode, dir_mode; /* -1: as stored */
    uint64_t capacity;                  /* bytes; 0: a large constant */
    int on_kill, conflict, log_level;   /* enums above */
    int64_t append_publish_ms;          /* 0: never by timer */
    int64_t heartbeat_ms, sweep_every_ms;

    /* tuning */
    uint64_t block_size, cache_max; /* bytes */
    int64_t parallel, read_ahead;
    int64_t confirm_max_age_ms;

    uint8_t rank[CONFIG_KEYS_MAX]; /* enum config_rank of each key, by key_index() */
};

/* Every key at its default. */
void config_init(struct config *config);

/* A deep copy into `ret_copy`, which config_done() frees. NO_MEMORY. */
MUST_CHECK enum status config_copy(const struct config *config, struct config *ret_copy, struct err *err);

/* Wipes the secrets and frees; may be called twice. */
void config_done(struct config *config);

/* Where a value was read: `name` is a file, a variable, or an option as the user typed it. */
struct config_origin {
    enum config_rank rank;
    const char *name;
    int line; /* of a file; 0 elsewhere */
};

/* Sets one key. `value` NULL: the bare name stood there. An unknown key, a bad value, or a secret in the argument list
 * is USAGE with one line; a value that something stronger has set already is checked and dropped. */
MUST_CHECK enum status config_set(struct config *config, const struct config_origin *origin, const char *key,
                                  const char *value, struct err *err);

/* `key=value` lines, '#' or ';' begins a comment line, [readyfs] may stand above. NOT_FOUND, ACCESS; ACCESS too where
 * it holds a secret and others than its owner may read it, or it is not the caller's or root's. */
MUST_CHECK enum status config_file(struct config *config, const char *path, struct err *err);

/* The customary variables (AZURE_STORAGE_ACCOUNT ...). `environment` is environ. */
MUST_CHECK enum status config_environment(struct config *config, char *const *environment, struct err *err);

/* A list as behind `-o`: key[=value],... ; '\,' is a comma and '\\' a backslash within a value. */
MUST_CHECK enum status config_options(struct config *config, const char *list, struct err *err);

/* Reads what has not been named on the command line: the file of the key `config`, then the environment. */
MUST_CHECK enum status config_load(struct config *config, char *const *environment, struct err *err);

/* The SOURCE argument (source.h), then what it needs of the other keys: call it last. USAGE. */
MUST_CHECK enum status config_source(struct config *config, const char *text, struct err *err);

#endif
