/* log.c - one line, one write. */
#include "host/log.h"

#include "base/cleanup.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>

#define LINE_BYTES 2001

struct log {
    enum log_sink sink;
    struct clock *clock;
    atomic_int level;
};

static const struct {
    const char *name;
    int priority;
} levels[] = {
    [LEVEL_ERROR] = {"error", LOG_ERR},
    [LEVEL_WARN] = {"warn", LOG_WARNING},
    [LEVEL_INFO] = {"info", LOG_INFO},
    [LEVEL_DEBUG] = {"debug", LOG_DEBUG},
};

const char *log_level_name(enum log_level level)
{
    return levels[level].name;
}

bool log_level_parse(const char *text, enum log_level *ret_level)
{
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        if (strcmp(text, levels[i].name) == 0) {
            *ret_level = (enum log_level)i;
            return true;
        }
    }
    return false;
}

enum status log_open(enum log_sink sink, const char *ident, enum log_level level, struct clock *clock,
                     struct log **ret_log, struct err *err)
{
    struct log *log = calloc(1, sizeof *log);
    if (!log)
        return err_set(err, STATUS_NO_MEMORY, "log: out of memory");
    log->sink = sink;
    log->clock = clock;
    atomic_init(&log->level, (int)level);
    if (sink == SINK_SYSLOG)
        openlog(ident, LOG_PID, LOG_DAEMON);
    *ret_log = log;
    return STATUS_OK;
}

struct log *log_close(struct log *log)
{
    if (log && log->sink == SINK_SYSLOG)
        closelog();
    free(log);
    return NULL;
}

void log_set_level(struct log *log, enum log_level level)
{
    atomic_store(&log->level, (int)level);
}

bool log_wants(struct log *log, enum log_level level)
{
    return log && (int)level <= atomic_load(&log->level);
}

static void one_line(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = ' ';
}

/* Prefix and text go out in one write, so that lines of several threads or processes do not mix. */
static void write_stderr(struct log *log, enum log_level level, const char *text)
{
    int64_t now_ns = clock_utc_ns(log->clock);
    time_t seconds = (time_t)(now_ns / 1000000000);
    struct tm utc = {0};
    char line[LINE_BYTES + 64], date[32];
    (void)gmtime_r(&seconds, &utc); /* fails only for years beyond an int */
    (void)strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc);
    int len = snprintf(line, sizeof line, "%s.%03dZ %s %s\n", date, (int)(now_ns / 1000000 % 1000),
                       log_level_name(level), text);
    if (len > 0 && write(STDERR_FILENO, line, (size_t)len) < 0)
        return; /* there is nobody left to tell */
}

void log_line(struct log *log, enum log_level level, const char *format, ...)
{
    if (!log_wants(log, level))
        return;
    char text[LINE_BYTES];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (len < 0)
        return;
    one_line(text);
    if (log->sink == SINK_SYSLOG)
        syslog(levels[level].priority, "%s", text);
    else
        write_stderr(log, level, text);
}
