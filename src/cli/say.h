/* say.h - what the command line says, and how: one line for a failure, names that cannot harm a terminal, numbers that
 * people read, JSON that any program reads. */
#ifndef READYFS_CLI_SAY_H
#define READYFS_CLI_SAY_H

#include "base/err.h"
#include "cli/verb.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXIT_USAGE 2

/* "readyfs: CONTEXT: message (hint)" on stderr; `context` may be NULL. Returns the error's exit code. */
int say_error(const char *context, const struct readyfs_error *error);

/* The same for a report of the layers below. */
int say_failure(const char *context, const struct err *err);

/* "readyfs VERB: message; try 'readyfs help VERB'" on stderr. */
void say_usage(const struct verb *verb, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Bytes as they may be printed: as they are where they are harmless UTF-8, else in quotes with escapes. */
#define SAY_NAME_SIZE 1100
const char *say_name(const char *bytes, size_t len, char ret_text[SAY_NAME_SIZE]);

/* "12.3 MiB", "2026-01-02 03:04:05Z" ("never" for 0), "3 minutes". The buffers have SAY_TEXT_SIZE bytes. */
#define SAY_TEXT_SIZE 40
const char *say_size(uint64_t bytes, char ret_text[SAY_TEXT_SIZE]);
const char *say_time(int64_t utc_ns, char ret_text[SAY_TEXT_SIZE]);
const char *say_age(int64_t utc_ns, char ret_text[SAY_TEXT_SIZE]);

/* Sets `key` to the bytes as a string where they are UTF-8, else KEY_hex to their digits. */
void say_json_bytes(json_t *object, const char *key, const char *bytes, size_t len);

/* The bytes that were set so, as they may be printed; "" where there are none. */
const char *say_json_text(const json_t *object, const char *key, char ret_text[SAY_NAME_SIZE]);

/* The same for what was quoted when it was written down, as the names in the recovery folder are: not quoted twice. */
const char *say_json_quoted(const json_t *object, const char *key, char ret_text[SAY_NAME_SIZE]);

/* Prints the object on stdout with a line feed and releases it. Returns `code`, or another where stdout is broken. */
int say_json(json_t *object, int code);

/* Flushes stdout; a full disk or a closed pipe is a failure of the verb. Returns `code`, or another. */
int say_flush(int code);

/* Progress on stderr, if that is a terminal: "done of total WHAT", rewritten in place. */
struct progress {
    const char *what;
    int64_t shown_ms;
    bool shown;
};
void progress_show(struct progress *progress, uint64_t done, uint64_t total);
void progress_end(struct progress *progress);

#endif
