/* key.c - the table, and the reading of each type. */
#include "config/key.h"

#include "base/text.h"
#include "config/config.h"

#include <limits.h>
#include <string.h>
#include <strings.h>

#define ANYWHERE  (IN_FILE | IN_ARGUMENTS | IN_CALL)
#define WITH_ENV  (ANYWHERE | IN_ENVIRONMENT)
#define AT(field) offsetof(struct config, field)
#define KIB       1024LL
#define MIB       (1024 * KIB)
#define GIB       (1024 * MIB)
#define SECOND    1000LL
#define MINUTE    (60 * SECOND)
#define DAY       (24 * 60 * MINUTE)

#define TEXT_KEY(n, t, g, w, f, a, h)                                                                                  \
    {                                                                                                                  \
        .name = n, .type = t, .group = g, .where = w, .offset = AT(f), .argument = a, .help = h                        \
    }
#define IGNORED_KEY(n)                                                                                                 \
    {                                                                                                                  \
        .name = n, .type = KEY_IGNORED, .group = GROUP_NONE, .where = ANYWHERE, .help = "accepted, without effect"     \
    }

static const struct key keys[] = {
    /* the store */
    {.name = "account",
     .type = KEY_TEXT,
     .group = GROUP_STORE,
     .where = WITH_ENV,
     .offset = AT(account),
     .environment = "AZURE_STORAGE_ACCOUNT",
     .argument = "NAME",
     .help = "storage account, for az:// sources"},
    {.name = "endpoint",
     .type = KEY_TEXT,
     .group = GROUP_STORE,
     .where = WITH_ENV,
     .offset = AT(endpoint),
     .environment = "AZURE_STORAGE_BLOB_ENDPOINT",
     .argument = "URL",
     .help = "blob endpoint of the account, for az:// sources"},
    {.name = "account_key",
     .type = KEY_TEXT,
     .group = GROUP_STORE,
     .where = WITH_ENV & ~(unsigned)IN_ARGUMENTS,
     .secret = true,
     .offset = AT(account_key),
     .environment = "AZURE_STORAGE_ACCESS_KEY",
     .environment2 = "AZURE_STORAGE_KEY",
     .argument = "KEY",
     .help = "shared key of the account"},
    {.name = "sas_token",
     .type = KEY_TEXT,
     .group = GROUP_STORE,
     .where = WITH_ENV & ~(unsigned)IN_ARGUMENTS,
     .secret = true,
     .offset = AT(sas_token),
     .environment = "AZURE_STORAGE_SAS_TOKEN",
     .argument = "TOKEN",
     .help = "shared access signature"},
    {.name = "connection_string",
     .type = KEY_TEXT,
     .group = GROUP_STORE,
     .where = WITH_ENV & ~(unsigned)IN_ARGUMENTS,
     .secret = true,
     .offset = AT(connection_string),
     .environment = "AZURE_STORAGE_CONNECTION_STRING",
     .argument = "TEXT",
     .help = "connection string: account, key or SAS, endpoint"},
    {.name = "ca_file",
     .type = KEY_PATH,
     .group = GROUP_STORE,
     .where = WITH_ENV,
     .offset = AT(ca_file),
     .environment = "CURL_CA_BUNDLE",
     .environment2 = "SSL_CERT_FILE",
     .argument = "FILE",
     .help = "certificates to trust instead of the system's"},
    {.name = "create_container",
     .type = KEY_SWITCH,
     .group = GROUP_STORE,
     .where = ANYWHERE,
     .offset = AT(create_container),
     .fallback = "off",
     .help = "make the container (or folder) if it is missing"},
    {.name = "tags",
     .type = KEY_SWITCH,
     .group = GROUP_STORE,
     .where = ANYWHERE,
     .offset = AT(tags),
     .fallback = "on",
     .help = "mark blobs with the index tag `state`; off where the account has no tags"},
    {.name = "deadline",
     .type = KEY_DURATION,
     .group = GROUP_STORE,
     .where = ANYWHERE,
     .offset = AT(deadline_ms),
     .min = SECOND,
     .max = DAY,
     .fallback = "60s",
     .argument = "TIME",
     .help = "how long a request may make no progress"},
    {.name = "late_after",
     .type = KEY_DURATION,
     .group = GROUP_STORE,
     .where = ANYWHERE,
     .offset = AT(late_after_ms),
     .min = 0,
     .max = 30 * DAY,
     .argument = "TIME",
     .help = "how late a lost request may still be carried out; default: the store's own"},
    /* the catalogue */
    TEXT_KEY("catalogue", KEY_PATH, GROUP_CATALOGUE, ANYWHERE, catalogue, "FILE",
             "the SQLite file; default: derived from SOURCE"),
    TEXT_KEY("config", KEY_PATH, GROUP_CATALOGUE, IN_ARGUMENTS | IN_CALL, file, "FILE",
             "read keys from this file, a `key = value` a line"),
    TEXT_KEY("runtime_dir", KEY_PATH, GROUP_CATALOGUE, ANYWHERE, runtime_dir, "DIR",
             "records of live mounts; default: readyfs under $XDG_RUNTIME_DIR, root: /run/readyfs"),
    {.name = "accept_restore",
     .type = KEY_SWITCH,
     .group = GROUP_CATALOGUE,
     .where = IN_ARGUMENTS | IN_CALL,
     .offset = AT(accept_restore),
     .fallback = "off",
     .help = "this catalogue was restored from a copy and is now the truth"},
    {.name = "spool_max",
     .type = KEY_SIZE,
     .group = GROUP_CATALOGUE,
     .where = ANYWHERE,
     .offset = AT(spool_max),
     .min = 0,
     .max = LLONG_MAX,
     .fallback = "16G",
     .argument = "SIZE",
     .help = "limit of what is written and not yet published; 0: none"},
    {.name = "recovery_max",
     .type = KEY_SIZE,
     .group = GROUP_CATALOGUE,
     .where = ANYWHERE,
     .offset = AT(recovery_max),
     .min = 0,
     .max = LLONG_MAX,
     .fallback = "1G",
     .argument = "SIZE",
     .help = "limit of the recovery folder, oldest dropped first; 0: none"},
    /* the mount */
    {.name = "allow_other",
     .type = KEY_SWITCH,
     .group = GROUP_MOUNT,
     .where = ANYWHERE,
     .offset = AT(allow_other),
     .fallback = "off",
     .help = "let other users in (needs user_allow_other in /etc/fuse.conf)"},
    {.name = "ro",
     .type = KEY_SWITCH,
     .group = GROUP_MOUNT,
     .where = ANYWHERE,
     .offset = AT(read_only),
     .fallback = "off",
     .help = "read only; does not sweep"},
    {.name = "rw",
     .type = KEY_OPPOSITE,
     .group = GROUP_NONE,
     .where = ANYWHERE,
     .offset = AT(read_only),
     .fallback = "on",
     .help = "read and write"},
    {.name = "uid",
     .type = KEY_NUMBER,
     .group = GROUP_MOUNT,
     .where = ANYWHERE,
     .offset = AT(uid),
     .min = 0,
     .max = UINT_MAX - 1LL,
     .argument = "NUMBER",
     .help = "show this owner instead of the stored one"},
    {.name = "gid",
     .type = KEY_NUMBER,
     .group = GROUP_MOUNT,
     .where = ANYWHERE,
     .offset = AT(gid),
     .min = 0,
     .max = UINT_MAX - 1LL,
     .argument = "NUMBER",
     .help = "show this group instead of the stored one"},
    {.name = "umask",
     .type = KEY_OCTAL,
     .group = GROUP_MOUNT,
     .where = ANYWHERE,
     .offset = AT(umask),
     .min = 0,
     .max = 0777,
     .argument = "OCTAL",
     .help = "hide these permission bits"},
    {.name = "file_mode",
     .type = KEY_OCTAL,
     .group = GROUP_MOUNT,
     .where = ANYWHERE,
     .offset = AT(file_mode),
     .min = 0,
     .max = 07777,
     .argument = "OCTAL",
     .help = "show this mode for files"},
    {.name = "dir_mode",
     .type = KEY_OCTAL,
     .group = GROUP_MOUNT,
     .where = ANYWHERE,
     .offset = AT(dir_mode),
     .min = 0,
     .max = 07777,
     .argument = "OCTAL",
     .help = "show this mode for directories"},
    {.name = "nonempty",
     .type = KEY_SWITCH,
     .group = GROUP_MOUNT,
     .where = ANYWHERE,
     .offset = AT(nonempty),
     .fallback = "off",
     .help = "mount over a directory that is not empty"},
    {.name = "noexec",
     .type = KEY_SWITCH,
     .group = GROUP_MOUNT,
     .where = ANYWHERE,
     .offset = AT(noexec),
     .fallback = "off",
     .help = "let no program be started from the mount"},
    {.name = "exec",
     .type = KEY_OPPOSITE,
     .group = GROUP_NONE,
     .where = ANYWHERE,
     .offset = AT(noexec),
     .fallback = "on",
     .help = "let programs be started from the mount"},
    {.name = "foreground",
     .type = KEY_SWITCH,
     .group = GROUP_NONE,
     .where = ANYWHERE,
     .offset = AT(foreground),
     .fallback = "off",
     .help = "stay in the foreground, log to stderr (-f)"},
    {.name = "log_level",
     .type = KEY_CHOICE,
     .group = GROUP_MOUNT,
     .where = ANYWHERE,
     .offset = AT(log_level),
     .choices = "error|warning|info|debug",
     .fallback = "info",
     .help = "what the daemon logs"},
    {.name = "capacity",
     .type = KEY_SIZE,
     .group = GROUP_MOUNT,
     .where = ANYWHERE,
     .offset = AT(capacity),
     .min = 0,
     .max = LLONG_MAX,
     .fallback = "0",
     .argument = "SIZE",
     .help = "the size that df shows; 0: a large one"},
    {.name = "on_kill",
     .type = KEY_CHOICE,
     .group = GROUP_MOUNT,
     .where = ANYWHERE,
     .offset = AT(on_kill),
     .choices = "keep|publish",
     .fallback = "keep",
     .help = "what a killed program had written: keep it in the recovery folder, or publish it"},
    {.name = "conflict",
     .type = KEY_CHOICE,
     .group = GROUP_MOUNT,
     .where = ANYWHERE,
     .offset = AT(conflict),
     .choices = "last|fail",
     .fallback = "last",
     .help = "two writers of one document: the last close wins, or the later one fails"},
    {.name = "append_publish",
     .type = KEY_DURATION,
     .group = GROUP_MOUNT,
     .where = ANYWHERE,
     .offset = AT(append_publish_ms),
     .min = 0,
     .max = DAY,
     .fallback = "5s",
     .argument = "TIME",
     .help = "publish an open file that was only appended to after this long; 0: never"},
    {.name = "heartbeat",
     .type = KEY_DURATION,
     .group = GROUP_MOUNT,
     .where = ANYWHERE,
     .offset = AT(heartbeat_ms),
     .min = 100,
     .max = 10 * MINUTE,
     .fallback = "2s",
     .argument = "TIME",
     .help = "how often a session says how far its readers are"},
    {.name = "sweep_every",
     .type = KEY_DURATION,
     .group = GROUP_MOUNT,
     .where = ANYWHERE,
     .offset = AT(sweep_every_ms),
     .min = SECOND,
     .max = 30 * DAY,
     .fallback = "60s",
     .argument = "TIME",
     .help = "how often a mount sweeps, besides after commits"},
    /* tuning */
    {.name = "block_size",
     .type = KEY_SIZE,
     .group = GROUP_TUNING,
     .where = ANYWHERE,
     .offset = AT(block_size),
     .min = 4 * KIB,
     .max = 64 * MIB,
     .fallback = "4M",
     .argument = "SIZE",
     .help = "size of a block, and of the largest upload in one request"},
    {.name = "parallel",
     .type = KEY_NUMBER,
     .group = GROUP_TUNING,
     .where = ANYWHERE,
     .offset = AT(parallel),
     .min = 1,
     .max = 64,
     .fallback = "6",
     .argument = "NUMBER",
     .help = "blocks in flight at once"},
    {.name = "read_ahead",
     .type = KEY_NUMBER,
     .group = GROUP_TUNING,
     .where = ANYWHERE,
     .offset = AT(read_ahead),
     .min = 0,
     .max = 32,
     .fallback = "3",
     .argument = "NUMBER",
     .help = "blocks fetched ahead of a sequential reader"},
    {.name = "cache_max",
     .type = KEY_SIZE,
     .group = GROUP_TUNING,
     .where = ANYWHERE,
     .offset = AT(cache_max),
     .min = 0,
     .max = 64 * GIB,
     .fallback = "24M",
     .argument = "SIZE",
     .help = "memory for blocks kept for readers"},
    {.name = "confirm_max_age",
     .type = KEY_DURATION,
     .group = GROUP_TUNING,
     .where = ANYWHERE,
     .offset = AT(confirm_max_age_ms),
     .min = 0,
     .max = DAY,
     .fallback = "30s",
     .argument = "TIME",
     .help = "look at a blob again before publishing when its confirmation is older"},
    /* what mount(8) and fstab(5) say to themselves; nosuid, nodev and default_permissions always hold */
    IGNORED_KEY("defaults"),
    IGNORED_KEY("_netdev"),
    IGNORED_KEY("nofail"),
    IGNORED_KEY("auto"),
    IGNORED_KEY("noauto"),
    IGNORED_KEY("user"),
    IGNORED_KEY("nouser"),
    IGNORED_KEY("users"),
    IGNORED_KEY("group"),
    IGNORED_KEY("owner"),
    IGNORED_KEY("suid"),
    IGNORED_KEY("nosuid"),
    IGNORED_KEY("dev"),
    IGNORED_KEY("nodev"),
    IGNORED_KEY("async"),
    IGNORED_KEY("atime"),
    IGNORED_KEY("noatime"),
    IGNORED_KEY("relatime"),
    IGNORED_KEY("norelatime"),
    IGNORED_KEY("strictatime"),
    IGNORED_KEY("diratime"),
    IGNORED_KEY("nodiratime"),
    IGNORED_KEY("lazytime"),
    IGNORED_KEY("nolazytime"),
    IGNORED_KEY("comment"),
    IGNORED_KEY("default_permissions"),
    IGNORED_KEY("x_*"),
};

#define KEY_TOTAL (sizeof keys / sizeof keys[0])
_Static_assert(KEY_TOTAL <= CONFIG_KEYS_MAX, "struct config has a rank for each key");

/* '-' and '_' are one; a name of the table that ends in '*' stands for all that begin like it. */
static bool same_name(const char *known, const char *name, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (known[i] == '*')
            return true;
        if (known[i] != (name[i] == '-' ? '_' : name[i]))
            return false;
    }
    return known[len] == '\0';
}

const struct key *key_find(const char *name, size_t len)
{
    for (size_t i = 0; i < KEY_TOTAL; i++)
        if (same_name(keys[i].name, name, len))
            return &keys[i];
    return NULL;
}

const struct key *key_at(size_t index)
{
    return index < KEY_TOTAL ? &keys[index] : NULL;
}

size_t key_index(const struct key *key)
{
    return (size_t)(key - keys);
}

/* Levenshtein's distance with a bound on lengths; `b` is a name of the table. */
static size_t distance(const char *a, size_t a_len, const char *b)
{
    size_t b_len = strlen(b), row[64];
    if (a_len > 40 || b_len >= 64)
        return SIZE_MAX;
    for (size_t j = 0; j <= b_len; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t change = diagonal + ((a[i - 1] == '-' ? '_' : a[i - 1]) != b[j - 1]);
            diagonal = row[j];
            size_t least = row[j] < row[j - 1] ? row[j] : row[j - 1];
            row[j] = least + 1 < change ? least + 1 : change;
        }
    }
    return row[b_len];
}

const char *key_suggest(const char *name, size_t len)
{
    const char *best = NULL;
    size_t best_distance = len < 5 ? 2 : 3;
    for (size_t i = 0; i < KEY_TOTAL; i++) {
        size_t away = keys[i].type == KEY_IGNORED ? SIZE_MAX : distance(name, len, keys[i].name);
        if (away < best_distance) {
            best_distance = away;
            best = keys[i].name;
        }
    }
    return best;
}
