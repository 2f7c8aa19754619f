/* say.c - speaking to people and to programs. */
#include "cli/say.h"

#include "base/text.h"
#include "host/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000LL

/* "readyfs: CONTEXT: message (hint)" */
static void say_line(const char *context, const char *message, const char *hint)
{
    (void)fprintf(stderr, "readyfs: %s%s%s%s%s%s\n", context ? context : "", context ? ": " : "", message,
                  hint[0] ? " (" : "", hint, hint[0] ? ")" : "");
}

int say_error(const char *context, const struct readyfs_error *error)
{
    say_line(context, error->message, error->hint);
    return error->exit_code;
}

int say_failure(const char *context, const struct err *err)
{
    say_line(context, err->message[0] ? err->message : status_text(err->status), err->hint);
    return status_exit_code(err->status);
}

void say_usage(const struct verb *verb, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args); /* may be cut */
    va_end(args);
    (void)fprintf(stderr, "readyfs%s%s: %s; try 'readyfs help%s%s'\n", verb ? " " : "", verb ? verb->name : "", text,
                  verb ? " " : "", verb ? verb->name : "");
}

const char *say_name(const char *bytes, size_t len, char ret_text[SAY_NAME_SIZE])
{
    AUTO_BUF struct buf quoted = {0};
    buf_init(&quoted, SAY_NAME_SIZE - 1);
    size_t shown = len < 256 ? len : 256; /* four times that, and the quotes, fit */
    if (quote_text(&quoted, bytes, shown) != STATUS_OK)
        buf_clear(&quoted); /* out of memory: the line goes without it */
    bool plain = shown == len && quoted.len == len + 2 && memcmp(quoted.bytes + 1, bytes, len) == 0;
    memcpy(ret_text, plain ? bytes : quoted.bytes, plain ? len : quoted.len);
    ret_text[plain ? len : quoted.len] = '\0';
    return ret_text;
}

const char *say_size(uint64_t bytes, char ret_text[SAY_TEXT_SIZE])
{
    static const char units[][4] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double amount = (double)bytes;
    size_t unit = 0;
    while (amount >= 1024 && unit + 1 < sizeof units / sizeof units[0]) {
        amount /= 1024;
        unit++;
    }
    (void)snprintf(ret_text, SAY_TEXT_SIZE, unit ? "%.1f %s" : "%.0f %s", amount, units[unit]);
    return ret_text;
}

const char *say_time(int64_t utc_ns, char ret_text[SAY_TEXT_SIZE])
{
    struct tm parts;
    time_t seconds = (time_t)(utc_ns / NS_PER_S);
    if (!utc_ns || !gmtime_r(&seconds, &parts) || !strftime(ret_text, SAY_TEXT_SIZE, "%Y-%m-%d %H:%M:%SZ", &parts))
        (void)snprintf(ret_text, SAY_TEXT_SIZE, "never");
    return ret_text;
}

const char *say_age(int64_t utc_ns, char ret_text[SAY_TEXT_SIZE])
{
    static const struct {
        int64_t seconds;
        const char *name;
    } units[] = {{86400, "day"}, {3600, "hour"}, {60, "minute"}, {1, "second"}};
    int64_t seconds = (clock_utc_ns(clock_system()) - utc_ns) / NS_PER_S;
    size_t unit = 0;
    if (seconds < 0)
        seconds = 0;
    while (unit + 1 < sizeof units / sizeof units[0] && seconds < 2 * units[unit].seconds)
        unit++;
    int64_t count = seconds / units[unit].seconds;
    (void)snprintf(ret_text, SAY_TEXT_SIZE, "%" PRId64 " %s%s", count, units[unit].name, count == 1 ? "" : "s");
    return ret_text;
}

void say_json_bytes(json_t *object, const char *key, const char *bytes, size_t len)
{
    char hex_key[64];
    AUTO_FREE char *digits = NULL;
    /* A failure to set, out of memory, makes the object incomplete: say_json() finds it again and fails. */
    if (utf8_valid(bytes, len) && !memchr(bytes, 0, len)) {
        (void)json_object_set_new(object, key, json_stringn(bytes, len));
        return;
    }
    digits = malloc(HEX_SIZE(len));
    if (!digits)
        return;
    hex_encode(bytes, len, digits);
    (void)snprintf(hex_key, sizeof hex_key, "%s_hex", key);
    (void)json_object_set_new(object, hex_key, json_string(digits));
}

const char *say_json_text(const json_t *object, const char *key, char ret_text[SAY_NAME_SIZE])
{
    char hex_key[64], bytes[512];
    const json_t *text = json_object_get(object, key);
    if (text)
        return say_name(json_string_value(text), json_string_length(text), ret_text);
    (void)snprintf(hex_key, sizeof hex_key, "%s_hex", key);
    const char *digits = json_string_value(json_object_get(object, hex_key));
    size_t len = digits ? strlen(digits) / 2 : 0;
    if (!digits || len > sizeof bytes || !hex_decode(digits, bytes, len))
        len = 0;
    return say_name(bytes, len, ret_text);
}

/* Quotes within quotes would have been escaped, and control bytes too. */
static bool is_quoted(const char *text, size_t len)
{
    bool plain = len >= 2 && len < SAY_NAME_SIZE && text[0] == '"' && text[len - 1] == '"';
    for (size_t i = 1; plain && i < len - 1; i++)
        plain = text[i] != '"' && (unsigned char)text[i] >= ' ' && text[i] != 0x7f;
    return plain;
}

const char *say_json_quoted(const json_t *object, const char *key, char ret_text[SAY_NAME_SIZE])
{
    const json_t *text = json_object_get(object, key);
    size_t len = json_string_length(text);
    if (!text || !is_quoted(json_string_value(text), len))
        return say_json_text(object, key, ret_text);
    memcpy(ret_text, json_string_value(text), len + 1);
    return ret_text;
}

int say_flush(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    (void)fprintf(stderr, "readyfs: stdout: %s\n", strerror(errno));
    return code ? code : 5;
}

int say_json(json_t *object, int code)
{
    int failed = object ? json_dumpf(object, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER) : -1;
    json_decref(object);
    if (failed) {
        (void)fprintf(stderr, "readyfs: the JSON could not be made or written\n");
        return code ? code : 5;
    }
    (void)putchar('\n'); /* a failure is seen by say_flush */
    return say_flush(code);
}

void progress_show(struct progress *progress, uint64_t done, uint64_t total)
{
    int64_t now_ms = clock_boot_ms(clock_system());
    if (!isatty(STDERR_FILENO) || (progress->shown && now_ms - progress->shown_ms < 100 && done != total))
        return;
    progress->shown = true;
    progress->shown_ms = now_ms;
    if (total)
        (void)fprintf(stderr, "\r\033[K%" PRIu64 " of %" PRIu64 " %s", done, total, progress->what);
    else
        (void)fprintf(stderr, "\r\033[K%" PRIu64 " %s", done, progress->what);
}

void progress_end(struct progress *progress)
{
    if (progress->shown)
        (void)fprintf(stderr, "\r\033[K");
    progress->shown = false;
}
