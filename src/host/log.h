/* log.h - one logger for the daemon and the command line.
 *
 * A line is an event, then key=value pairs ("publish_failed name=\"a b\" reason=..."); the caller builds it, quotes
 * what users have named (quote_text()), and leaves out keys and signatures. Libraries do not log: only fuse/ and cli/
 * speak, once per failure. Any thread; lines never mix.
 */
#ifndef READYFS_HOST_LOG_H
#define READYFS_HOST_LOG_H

#include "base/err.h"
#include "host/clock.h"

#include <stdbool.h>

enum log_level {
    LEVEL_ERROR, /* something was lost or refused */
    LEVEL_WARN,  /* it went on otherwise; the line says how */
    LEVEL_INFO,  /* what an operator wants to know of a healthy mount */
    LEVEL_DEBUG,
};

enum log_sink {
    SINK_STDERR, /* with the time in UTC, as of `clock` */
    SINK_SYSLOG, /* syslog(3), facility daemon; the journal reads it too */
};

struct log;

/* `ident` names the program in syslog and is borrowed for the life of the log; `clock` too. One process has at most one
 * log with SINK_SYSLOG at a time. NO_MEMORY. */
MUST_CHECK enum status log_open(enum log_sink sink, const char *ident, enum log_level level, struct clock *clock,
                                struct log **ret_log, struct err *err);

/* NULL is fine. Returns NULL. */
struct log *log_close(struct log *log);

/* From now on lines up to `level` are written. Any thread, also while others log. */
void log_set_level(struct log *log, enum log_level level);

/* Whether a line of this level would be written: for callers whose line is dear to build. */
bool log_wants(struct log *log, enum log_level level);

/* Writes a line; line breaks and other control bytes in it become spaces, and what exceeds 2,000 bytes is cut. A NULL
 * log writes nothing. A line that cannot be written is lost, since there is nobody to tell. */
void log_line(struct log *log, enum log_level level, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* "error", "warn", "info", "debug" and back; false for anything else. */
const char *log_level_name(enum log_level level);
MUST_CHECK bool log_level_parse(const char *text, enum log_level *ret_level);

#endif
