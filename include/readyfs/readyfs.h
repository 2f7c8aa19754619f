/* readyfs.h - the public C interface of readyfs: look at a volume, sweep it, audit it, get kept bytes back.
 *
 * NOT YET STABLE: names, structs and numbers may change with any release before 1.0; there is no promise of a binary
 * interface. Link libreadyfs_lib and what it names.
 *
 * A volume is a catalogue (one SQLite file) and the blobs that it names. It is opened by SOURCE
 *
 *     dir:/srv/blobs   https://ACCOUNT.blob.core.windows.net/CONTAINER[/PREFIX]
 *     http://HOST:PORT/ACCOUNT/CONTAINER[/PREFIX]   az://CONTAINER[/PREFIX]
 *
 * or by the directory on which it is mounted, and may be mounted by any number of processes of this machine meanwhile.
 *
 * Results. Calls that can fail return 0, or a positive errno value and fill `error`, which may be NULL. Outputs named
 * ret_ are written on success only. Text handed to a callback lives until the callback returns; a callback must not
 * call into the same volume. Names of files are bytes in any encoding, without '/' and NUL.
 *
 * Threads. A handle is used by one thread at a time; different handles are independent. The library writes nothing to
 * stdout or stderr, installs no signal handlers and never exits; it may start threads, which readyfs_close() joins.
 * Open a volume after forking, not before.
 *
 * Units. Sizes are bytes, times are nanoseconds since 1970-01-01 UTC, 0 meaning never or none.
 */
#ifndef READYFS_READYFS_H
#define READYFS_READYFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors ---- */

struct readyfs_error {
    const char *name;  /* "NOT_FOUND", "UNREACHABLE" ...; static, stable for programs */
    int errno_value;   /* the same that the call returned */
    int exit_code;     /* what the command line exits with */
    int http_status;   /* of the service, 0 where none answered */
    char message[768]; /* one line, without a full stop, without secrets */
    char hint[320];    /* what can be done about it; "" where nothing can be said */
};

/* "0.1.0". Static. Any thread. */
const char *readyfs_version(void);

/* ---- options ---- */

struct readyfs_options;

/* Every key at its default. ENOMEM. Free it with readyfs_options_free(). */
int readyfs_options_new(struct readyfs_options **ret_options, struct readyfs_error *error);

/* Wipes secrets and frees. NULL is fine. */
void readyfs_options_free(struct readyfs_options *options);

/* Sets one key of readyfs(1); `value` NULL switches a switch on. Stronger than file and environment, in whatever order
 * they are read. Secrets (account_key, sas_token, connection_string) are taken here. EINVAL: unknown key or bad value.
 */
int readyfs_options_set(struct readyfs_options *options, const char *key, const char *value,
                        struct readyfs_error *error);

/* Reads a file of `key = value` lines. EINVAL with file and line; ENOENT; EACCES, also where it holds a secret and
 * others can read it. */
int readyfs_options_file(struct readyfs_options *options, const char *path, struct readyfs_error *error);

/* Reads the customary variables (AZURE_STORAGE_ACCOUNT ...), stronger than a file. No other thread may change the
 * environment meanwhile. */
int readyfs_options_environment(struct readyfs_options *options, struct readyfs_error *error);

/* As a command line sets it: `option` is "--KEY" as it was typed (named in messages), "-" and "_" alike. Refuses
 * secrets, since everybody can read argument lists. EINVAL. */
int readyfs_options_argument(struct readyfs_options *options, const char *option, const char *value,
                             struct readyfs_error *error);

/* The list behind `-o`: KEY[=VALUE],... with "\\," for a comma within a value. Refuses secrets too. EINVAL. */
int readyfs_options_list(struct readyfs_options *options, const char *list, struct readyfs_error *error);

/* The file that the key `config` names, if it does, then the environment: what a program calls after its arguments. */
int readyfs_options_load(struct readyfs_options *options, struct readyfs_error *error);

/* One key as help texts show it. All static. */
struct readyfs_key {
    const char *name;
    const char *argument;    /* "SIZE", "on|off" ...; NULL for a switch, whose bare name means on */
    const char *fallback;    /* the default; NULL: none */
    const char *environment; /* the variable that sets it, NULL for none */
    const char *help;        /* one line */
    const char *group;       /* "store", "catalogue", "mount", "tuning"; NULL: not worth showing */
    bool secret;             /* not taken from a command line */
};

/* The key at `index`, counted from 0; false behind the last. Any thread. */
bool readyfs_key_at(size_t index, struct readyfs_key *ret_key);

/* The key called `name` (`len` bytes), "-" and "_" alike; false where there is none. Any thread. */
bool readyfs_key_find(const char *name, size_t len, struct readyfs_key *ret_key);

/* The key whose name is closest to a mistyped one, NULL where none is close. Any thread. */
const char *readyfs_key_suggest(const char *name, size_t len);

/* ---- volumes ---- */

struct readyfs_volume;

enum readyfs_access {
    READYFS_CATALOGUE, /* the catalogue alone: makes no exchange with the store, so that it works when the store does
                          not */
    READYFS_STORE,     /* both: checks that the store can be reached and belongs to the catalogue */
};

/* Opens the volume at `place`, a SOURCE or the mount point of a live mount (found in the kernel's list of mounts, never
 * by looking at the directory). The catalogue must exist. Registers a session in it, which readyfs_close() ends.
 * `options` is borrowed for the call; NULL means defaults. ENOENT: no catalogue, or nothing mounted there; EIO:
 * unreachable, damaged, of another container, of a newer readyfs (readyfs_error.name tells which); EACCES: credentials;
 * EINVAL: SOURCE or options malformed. */
int readyfs_open(const char *place, const struct readyfs_options *options, enum readyfs_access access,
                 struct readyfs_volume **ret_volume, struct readyfs_error *error);

/* Ends the session and frees. NULL is fine. */
void readyfs_close(struct readyfs_volume *volume);

/* ---- status ---- */

struct readyfs_status {
    char source[1024];
    char catalogue[4096]; /* the SQLite file */
    char catalogue_id[40];
    int64_t documents, directories, others; /* others: symlinks and special files */
    uint64_t ready_bytes;
    int64_t pooled;                                       /* of the Pending ones: names set aside for the next files */
    int64_t pending, ready, condemned;                    /* versions by state */
    int64_t tags_due;                                     /* Ready versions whose tag is still to be flipped */
    int64_t oldest_pending, oldest_condemned, last_sweep; /* times */
    int64_t kept_files;                                   /* in the recovery folder */
    uint64_t kept_bytes;
};

struct readyfs_session {
    int64_t id;
    const char *kind;  /* "mount", "read-only mount", "verb" */
    const char *state; /* "alive"; "dead": its process is gone, a sweep will say so; "fenced"; "ended" */
    int64_t started, heartbeat;
    int64_t pid;        /* as it said; may have been reused */
    const char *place;  /* mount point or verb */
    const char *result; /* how it ended, "" while it runs */
};

struct readyfs_status_calls {
    void (*session)(void *context, const struct readyfs_session *session); /* mounts, and verbs that run; may be NULL */
    void (*warning)(void *context, const char *text);                      /* what somebody should look at; one line */
    void *context;
};

/* Reads the catalogue alone; changes nothing. */
int readyfs_status(struct readyfs_volume *volume, const struct readyfs_status_calls *calls,
                   struct readyfs_status *ret_status, struct readyfs_error *error);

/* ---- documents ---- */

struct readyfs_entry {
    char name[256]; /* NUL-terminated; name_len counts its bytes */
    size_t name_len;
    int64_t document; /* its id, which is st_ino under a mount */
    uint32_t mode;    /* type and permission bits as in stat(2) */
    uint32_t uid, gid, nlink;
    uint64_t size;
    int64_t mtime, ctime;
    int64_t number; /* of the Ready version: counts up with each publish; 0 for what has no content */
    char blob[320]; /* the blob's name; "" for what has none */
};

/* Lists what is published in the directory `path` ("" or "/" is the root; components between '/'; no symlink is
 * followed) in an order that survives change: an entry that is there throughout comes exactly once. Start with *cursor
 * 0; each call fills up to `capacity` entries and moves the cursor on; *ret_count < capacity means the end. ENOENT,
 * ENOTDIR, ENAMETOOLONG. Changes nothing. */
int readyfs_ls(struct readyfs_volume *volume, const char *path, int64_t *cursor, struct readyfs_entry *ret_entries,
               size_t capacity, size_t *ret_count, struct readyfs_error *error);

/* The target of the symbolic link `document`; ret_target has 4096 bytes. EINVAL for anything else. */
int readyfs_readlink(struct readyfs_volume *volume, int64_t document, char *ret_target, struct readyfs_error *error);

struct readyfs_version {
    int64_t id, document, session;
    const char *state; /* "Pending", "Ready", "Condemned"; static */
    char blob[320];
    uint64_t size;
    int64_t created;
    char reason[96]; /* why it was condemned */
    bool pooled;     /* a name set aside for the next file: no document, no bytes */
};

/* Every version, with those that no listing shows. Cursor as above. */
int readyfs_versions(struct readyfs_volume *volume, int64_t *cursor, struct readyfs_version *ret_versions,
                     size_t capacity, size_t *ret_count, struct readyfs_error *error);

/* Some path that leads to a document, "" where none does (it was removed): bytes with '/' between components, cut to
 * fit `capacity`. */
int readyfs_path(struct readyfs_volume *volume, int64_t document, char *ret_path, size_t capacity,
                 struct readyfs_error *error);

/* ---- sweep ---- */

struct readyfs_sweep_note {
    int64_t version, document;
    const char *blob;
    const char *state;  /* of the version when it was looked at */
    const char *action; /* "condemn", "delete", "drop", "flip tag", "wait", "report", "keep", "look" */
    const char *reason;
    const char *error; /* NULL where nothing failed */
};

struct readyfs_sweep_options {
    bool dry_run;
    unsigned versions_max;                                              /* looked at; 0: all */
    void (*note)(void *context, const struct readyfs_sweep_note *note); /* may be NULL */
    void *context;
};

struct readyfs_sweep_report {
    unsigned sessions_fenced, condemned, deleted, dropped, flipped, waiting, reported, failed;
    bool more; /* versions_max ended it before the work did */
};

/* One sweep: fences dead sessions, condemns what they left, deletes the blobs that nothing can need any more. A running
 * mount is not disturbed. Needs READYFS_STORE. Repeating it does no harm. */
int readyfs_sweep(struct readyfs_volume *volume, const struct readyfs_sweep_options *options,
                  struct readyfs_sweep_report *ret_report, struct readyfs_error *error);

/* ---- audit ---- */

struct readyfs_finding {
    const char *kind;      /* "missing_blob", "orphan" ...; stable */
    const char *invariant; /* "P12": docs/PROTOCOL.md */
    bool fault;            /* false: told for completeness */
    bool repaired;
    int64_t version, document;
    const char *blob; /* "" for none */
    const char *text; /* one line */
};

struct readyfs_fsck_options {
    bool data;       /* read every byte and compare digests */
    bool repair;     /* delete orphans: blobs whose metadata name this catalogue and that no row names */
    bool dry_run;    /* with repair: say only */
    int64_t grace_s; /* how old an orphan must be to be deleted */
    void (*finding)(void *context, const struct readyfs_finding *finding); /* may be NULL, like the next */
    void (*progress)(void *context, uint64_t done, uint64_t total);
    void *context;
};

struct readyfs_fsck_report {
    uint64_t documents, versions, blobs, foreign_blobs, faults, repaired, bytes_verified;
};

/* Checks every invariant, rows against blobs. Reads only, but for `repair`. Needs READYFS_STORE. 0 also where faults
 * were found: look at the report. */
int readyfs_fsck(struct readyfs_volume *volume, const struct readyfs_fsck_options *options,
                 struct readyfs_fsck_report *ret_report, struct readyfs_error *error);

/* ---- bytes that could not be published ---- */

struct readyfs_kept {
    const char *id;     /* names it for readyfs_recover_save() */
    const char *name;   /* of the document, as far as it is known; quoted text */
    const char *reason; /* why it was not published */
    int64_t kept_at;
    uint64_t size;
    uint64_t missing; /* bytes of it that could not be kept, and read as zeros */
};

/* Calls fn for everything in the recovery folder, oldest first. */
int readyfs_recover_list(struct readyfs_volume *volume, void (*fn)(void *context, const struct readyfs_kept *kept),
                         void *context, struct readyfs_error *error);

/* Copies the bytes of `id` into a new file at `path`, synced; the kept ones stay until the folder's limit drops them.
 * EEXIST where something is at `path`. */
int readyfs_recover_save(struct readyfs_volume *volume, const char *id, const char *path, struct readyfs_error *error);

/* ---- lifecycle ---- */

/* The second net: a lifecycle rule of Azure Storage (JSON) that deletes blobs still tagged state=pending after `days`
 * (1 to 99999). `source` (NULL: none) narrows it to its container and prefix. free() the text. */
int readyfs_lifecycle_policy(const char *source, unsigned days, char **ret_json, struct readyfs_error *error);

#ifdef __cplusplus
}
#endif

#endif
