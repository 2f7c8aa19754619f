/* err.c - building an error report. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void err_clear(struct err *err)
{
    if (err)
        memset(err, 0, sizeof *err);
}

static void one_line(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = ' ';
}

enum status err_set(struct err *err, enum status status, const char *format, ...)
{
    if (!err)
        return status;
    err_clear(err);
    err->status = status;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(err->message, sizeof err->message, format, args); /* a long message is cut */
    va_end(args);
    one_line(err->message);
    return status;
}

enum status err_set_errno(struct err *err, int errno_value, const char *format, ...)
{
    enum status status = status_from_errno(errno_value);
    if (!err)
        return status;
    err_clear(err);
    err->status = status;
    va_list args;
    va_start(args, format);
    int used = vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    char text[128];
    const char *reason = strerror_r(errno_value, text, sizeof text);
    if (used >= 0 && (size_t)used < sizeof err->message)
        (void)snprintf(err->message + used, sizeof err->message - (size_t)used, ": %s", reason);
    one_line(err->message);
    return status;
}

enum status err_context(struct err *err, const char *format, ...)
{
    if (!err)
        return STATUS_IO;
    char context[sizeof err->message];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(context, sizeof context, format, args);
    va_end(args);
    char whole[sizeof err->message * 2 + 3];
    (void)snprintf(whole, sizeof whole, "%s: %s", context, err->message);
    whole[sizeof err->message - 1] = '\0';
    memcpy(err->message, whole, sizeof err->message);
    one_line(err->message);
    return err->status == STATUS_OK ? STATUS_IO : err->status;
}

enum status err_hint(struct err *err, const char *format, ...)
{
    if (!err)
        return STATUS_IO;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(err->hint, sizeof err->hint, format, args);
    va_end(args);
    one_line(err->hint);
    return err->status == STATUS_OK ? STATUS_IO : err->status;
}
