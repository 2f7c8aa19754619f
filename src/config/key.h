/* key.h - everything that can be set, in one table: name, type, range, default, where it may stand, one help line.
 *
 * A key has one spelling in the configuration file, in `--key=value` and in `-o key=value`; '-' and '_' in it are the
 * same. The table is what the parser, the help texts and the manual's list are made of. Pure, any thread.
 */
#ifndef READYFS_CONFIG_KEY_H
#define READYFS_CONFIG_KEY_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum key_type {
    KEY_SWITCH,   /* bool: on, yes, true, 1 or off, no, false, 0; the bare name means on */
    KEY_NUMBER,   /* int64_t */
    KEY_SIZE,     /* uint64_t bytes: a number with K, M, G or T (powers of 1024) behind it */
    KEY_DURATION, /* int64_t milliseconds: a number with ms, s, m, h or d behind it; seconds without one */
    KEY_OCTAL,    /* int64_t: permission bits, or -1 while not set */
    KEY_CHOICE,   /* int: the position in `choices` */
    KEY_TEXT,     /* char *, owned by the configuration; NULL while not set */
    KEY_PATH,     /* the same, made absolute against the working directory of the moment it is read */
    KEY_OPPOSITE, /* a switch that writes the opposite of what it is given (rw) */
    KEY_IGNORED,  /* accepted and dropped: what mount(8) and fstab say to themselves */
};

/* Where a key may stand. */
enum key_where {
    IN_FILE = 1,
    IN_ENVIRONMENT = 2,
    IN_ARGUMENTS = 4, /* --key=value, -o key=value */
    IN_CALL = 8,      /* readyfs_options_set() of the library */
};

/* Which verbs it concerns; for the help texts. Every key is accepted by every verb, so that one file serves all. */
enum key_group { GROUP_STORE, GROUP_CATALOGUE, GROUP_MOUNT, GROUP_TUNING, GROUP_NONE };

struct key {
    const char *name; /* with underscores */
    enum key_type type;
    enum key_group group;
    unsigned where;
    bool secret;                            /* its value is never shown, and never taken from the argument list */
    size_t offset;                          /* of the field in struct config */
    int64_t min, max;                       /* for numbers, sizes, durations (ms) and octals */
    const char *fallback;                   /* the default, as text; NULL: not set */
    const char *choices;                    /* "a|b|c" */
    const char *environment, *environment2; /* variables that set it, or NULL */
    const char *argument;                   /* what stands for the value in help texts: "FILE", "SIZE" */
    const char *help;
};

/* The key with that name in either spelling, NULL for none. Static. */
const struct key *key_find(const char *name, size_t len);

/* The i-th key of the table, NULL behind the last. */
const struct key *key_at(size_t index);

/* The position of a key in the table. */
size_t key_index(const struct key *key);

/* The name that is closest to a mistyped one, NULL where none is close. */
const char *key_suggest(const char *name, size_t len);

/* Reads `value` (NULL: the bare name stood there) as the key's type and writes the field at `key->offset` of `config`.
 * INVALID with a message that names the key and what it takes, and never the value of a secret. */
MUST_CHECK enum status key_read(const struct key *key, const char *value, void *config, struct err *err);

/* What a user typed, quoted for a message; more than 64 bytes are cut. */
#define KEY_QUOTE_SIZE 272
void key_quote(const char *text, char ret_text[KEY_QUOTE_SIZE]);

#endif
