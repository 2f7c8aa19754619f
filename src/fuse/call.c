/* call.c - the one place where a status becomes an errno and a line in the log. */
#include "fuse/call.h"

#include "base/buf.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LINE_BYTES_MAX 4096

static void interrupted(fuse_req_t req, void *data)
{
    (void)req;
    struct call *call = data;
    interrupts_add(&call->ops->interrupts, &call->wait);
}

void call_begin(struct call *call, fuse_req_t req, const char *event, uint64_t node, const char *name)
{
    const struct fuse_ctx *ctx = fuse_req_ctx(req);
    call->req = req;
    call->ops = fuse_req_userdata(req);
    call->fs = call->ops->fs;
    call->event = event;
    call->node = node;
    call->name = name;
    wait_init(&call->wait, ctx->pid);
    call->caller = (struct fs_caller){.tid = ctx->pid,
                                      .uid = ctx->uid,
                                      .gid = ctx->gid,
                                      .umask = (uint32_t)ctx->umask,
                                      .cancelled = &call->wait.cancelled};
    err_clear(&call->err);
    fuse_req_interrupt_func(req, interrupted, call);
}

/* Answers that programs ask for and get in any filesystem, and the one that sends the kernel round again. */
static bool is_answer(enum status status, const struct err *err)
{
    switch (status) {
    case STATUS_NOT_FOUND:
    case STATUS_EXISTS:
    case STATUS_NOT_DIRECTORY:
    case STATUS_IS_DIRECTORY:
    case STATUS_NOT_EMPTY:
    case STATUS_NAME_TOO_LONG:
    case STATUS_TOO_MANY_LINKS:
    case STATUS_INVALID:
    case STATUS_NO_DATA:
    case STATUS_RANGE:
    case STATUS_UNSUPPORTED:
    case STATUS_PERMISSION:
    case STATUS_READ_ONLY:
    case STATUS_INTERRUPTED: return true;
    case STATUS_STALE: return err->message[0] == '\0';
    case STATUS_ACCESS: return err->http_status == 0;
    default: return false;
    }
}

static enum status append_quoted(struct buf *buf, const char *key, const char *text)
{
    if (!text || !*text)
        return STATUS_OK;
    enum status status = buf_printf(buf, " %s=", key);
    return status == STATUS_OK ? quote_text(buf, text, strlen(text)) : status;
}

void call_report(struct log *log, enum log_level level, const char *event, const char *document, const struct err *err)
{
    if (!log_wants(log, level))
        return;
    AUTO_BUF struct buf line;
    buf_init(&line, LINE_BYTES_MAX);
    enum status status = buf_printf(&line, "%s", event);
    if (status == STATUS_OK && document && *document == '"')
        status = buf_printf(&line, " document=%s", document);
    else if (status == STATUS_OK)
        status = append_quoted(&line, "document", document);
    if (status == STATUS_OK)
        status = buf_printf(&line, " status=%s errno=%s", status_name(err->status),
                            strerrorname_np(status_errno(err->status)));
    if (status == STATUS_OK && err->http_status)
        status = buf_printf(&line, " http=%d", err->http_status);
    if (status == STATUS_OK)
        status = append_quoted(&line, "code", err->service_code);
    if (status == STATUS_OK)
        status = append_quoted(&line, "request_id", err->request_id);
    if (status == STATUS_OK)
        status = append_quoted(&line, "reason", err->message[0] ? err->message : status_text(err->status));
    if (status == STATUS_OK)
        status = append_quoted(&line, "hint", err->hint);
    (void)status; /* what did not fit is cut, as by the log itself */
    log_line(log, level, "%s", line.bytes);
}

static void trace(const struct call *call, enum status status)
{
    if (!log_wants(call->ops->log, LEVEL_DEBUG))
        return;
    AUTO_BUF struct buf name;
    buf_init(&name, LINE_BYTES_MAX);
    (void)append_quoted(&name, "name", call->name); /* a name that does not fit is left out */
    log_line(call->ops->log, LEVEL_DEBUG, "%s node=%" PRIu64 "%s tid=%d status=%s", call->event, call->node, name.bytes,
             (int)call->caller.tid, status_name(status));
}

static void tell(const struct call *call, enum log_level level)
{
    if (!log_wants(call->ops->log, level))
        return;
    char event[64];
    AUTO_BUF struct buf name;
    buf_init(&name, LINE_BYTES_MAX);
    (void)snprintf(event, sizeof event, "%s_failed", call->event);
    if (call->name && quote_text(&name, call->name, strlen(call->name)) != STATUS_OK)
        buf_clear(&name); /* a name that does not fit is left out */
    call_report(call->ops->log, level, event, name.bytes, &call->err);
}

bool call_end(struct call *call, enum status status)
{
    fuse_req_interrupt_func(call->req, NULL, NULL); /* waits for a callback that runs */
    interrupts_remove(&call->ops->interrupts, &call->wait);
    trace(call, status);
    if (status == STATUS_OK)
        return true;
    call->err.status = status;
    tell(call, is_answer(status, &call->err) ? LEVEL_DEBUG : LEVEL_WARN);
    (void)fuse_reply_err(call->req, status_errno(status)); /* the kernel may have gone meanwhile */
    return false;
}
