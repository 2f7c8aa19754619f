/* unmount.c - asking a mount's process to end, and waiting for it. */
#include "fuse/unmount.h"

#include "app/record.h"
#include "base/text.h"
#include "fuse/attach.h"
#include "fuse/control.h"
#include "host/clock.h"
#include "host/lock.h"
#include "host/mountinfo.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_MS 10000 /* the control thread never waits for the filesystem */
#define LOOK_MS   100
#define BUSY_MS   2000  /* a file may be open for a moment: an indexer, a shell that looks */
#define FORCE_MS  30000 /* for the process to put away what was not published */

struct target {
    struct record record;
    char runtime[PLACE_SIZE];
    unsigned device_minor;
    struct lock lock;
    int fd; /* to the process */
};

static void target_done(struct target *target)
{
    cleanup_fd(&target->fd);
    lock_close(&target->lock);
}

static enum status find(struct target *target, const char *dir, const char *runtime_dir, struct err *err)
{
    struct mountinfo mount;
    enum status status = place_runtime(runtime_dir, target->runtime, err);
    if (status == STATUS_OK)
        status = record_find(target->runtime, dir, &target->record, err);
    if (status == STATUS_OK)
        status = mountinfo_find(target->record.point, &mount, err);
    if (status == STATUS_OK)
        target->device_minor = mount.device_minor;
    return status;
}

/* Nobody holds the lock: the process has died, its mount is still there. */
static enum status detach_dead(struct target *target, struct err *err)
{
    enum status status = attach_unmount(target->record.point, UNMOUNT_LAZILY, err);
    if (status == STATUS_OK)
        record_remove(target->runtime, target->record.point);
    return status;
}

static uint64_t field(const char *line, const char *name)
{
    const char *place = strstr(line, name);
    return place ? strtoull(place + strlen(name), NULL, 10) : 0;
}

static enum status look(struct target *target, const struct unmount_options *options,
                        struct unmount_progress *ret_progress, bool *ret_busy, struct err *err)
{
    char line[CONTROL_LINE_SIZE];
    enum status status = control_ask(target->fd, "progress", line, ANSWER_MS, err);
    if (status != STATUS_OK)
        return status;
    *ret_progress = (struct unmount_progress){.handles = (unsigned)field(line, "handles="),
                                              .dirty = (unsigned)field(line, "dirty="),
                                              .uploads = (unsigned)field(line, "uploads="),
                                              .unsent_bytes = field(line, "unsent=")};
    *ret_busy = ret_progress->uploads > 0 || field(line, "pending=") > 0;
    if (options->progress)
        options->progress(options->context, ret_progress);
    return STATUS_OK;
}

static enum status refuse_busy(const struct unmount_progress *progress, const char *point, struct err *err)
{
    (void)err_set(err, STATUS_BUSY, "%s is in use: %u open file%s, %u of them with unpublished changes", point,
                  progress->handles, progress->handles == 1 ? "" : "s", progress->dirty);
    (void)err_hint(err, "end the programs that use it (fuser -m %s names them), or use --force", point);
    return STATUS_BUSY;
}

/* While uploads run the files are open, so the kernel would refuse; then it is asked until it has refused for a while
 * without any upload. */
static enum status unmount_when_quiet(struct target *target, const struct unmount_options *options, struct err *err)
{
    struct clock *clock = clock_system();
    int64_t quiet_since_ms = clock_boot_ms(clock);
    for (;;) {
        struct unmount_progress progress;
        bool busy;
        enum status status = look(target, options, &progress, &busy, err);
        if (status != STATUS_OK)
            return status;
        if (!busy)
            status = attach_unmount(target->record.point, UNMOUNT_GENTLY, err);
        if (!busy && status != STATUS_BUSY)
            return status;
        int64_t now_ms = clock_boot_ms(clock);
        if (busy)
            quiet_since_ms = now_ms;
        if (now_ms - quiet_since_ms > BUSY_MS)
            return refuse_busy(&progress, target->record.point, err);
        clock_wait_ms(clock, LOOK_MS);
    }
}

/* The process is told as well: where the kernel gives no way to end the connection, it ends it itself. */
static enum status unmount_by_force(struct target *target, struct err *err)
{
    struct err ignored;
    bool aborted = attach_abort(target->device_minor, &ignored) == STATUS_OK;
    enum status status = attach_unmount(target->record.point, UNMOUNT_BY_FORCE, err);
    if (!aborted)
        (void)kill(target->record.pid, SIGTERM);            /* it lives, since it holds the lock */
    return status == STATUS_NOT_FOUND ? STATUS_OK : status; /* on its way out already */
}

/* A mount namespace that was made while this was mounted (a container, a service with a tree of names of its own) holds
 * a copy, and the kernel tells the process of the end of the last one alone. Where nobody has a file open there, the
 * process is asked to end; where somebody has, they are waited for. A process that is on its way out already answers
 * nothing or that all is quiet, and takes no harm from being asked. */
static void end_copies(const struct target *target)
{
    struct err ignored;
    char path[PLACE_SIZE], line[CONTROL_LINE_SIZE];
    AUTO_FD int fd = -1;
    enum status status = record_path(target->runtime, target->record.point, "socket", path, &ignored);
    if (status == STATUS_OK)
        status = control_connect(path, &fd, &ignored);
    if (status == STATUS_OK)
        status = control_ask(fd, "progress", line, ANSWER_MS, &ignored);
    bool quiet =
        status == STATUS_OK && !field(line, "handles=") && !field(line, "uploads=") && !field(line, "pending=");
    if (quiet)
        (void)kill(target->record.pid, SIGTERM); /* it lives, since it has answered */
}

/* The last line says how it went; after it the process lets go of its lock. */
static enum status await_end(struct target *target, bool force, struct err *err)
{
    char line[CONTROL_LINE_SIZE];
    enum status status;
    int64_t waited_ms = 0;
    do {
        status = control_await(target->fd, line, LOOK_MS * 10, err);
        waited_ms += LOOK_MS * 10;
        if (status == STATUS_TIMEOUT && !force)
            end_copies(target);
    } while (status == STATUS_TIMEOUT && !(force && waited_ms >= FORCE_MS));
    if (status == STATUS_TIMEOUT)
        (void)err_hint(err, "its process %d still lives; end it with kill", (int)target->record.pid);
    if (status != STATUS_OK)
        return status;
    status = lock_wait(&target->lock, ANSWER_MS, err); /* it has said its last word, but is still there */
    if (status != STATUS_OK)
        return status;
    uint64_t kept = field(line, "kept=");
    if (kept == 0)
        return STATUS_OK;
    (void)err_set(err, STATUS_UNFINISHED,
                  "%llu document%s could not be published; the bytes are in the recovery folder",
                  (unsigned long long)kept, kept == 1 ? "" : "s");
    (void)err_hint(err, "readyfs recover --list shows them, --save brings them back");
    return STATUS_UNFINISHED;
}

static enum status unmount_live(struct target *target, const struct unmount_options *options, struct err *err)
{
    char path[PLACE_SIZE], line[CONTROL_LINE_SIZE];
    enum status status = record_path(target->runtime, target->record.point, "socket", path, err);
    if (status == STATUS_OK)
        status = control_connect(path, &target->fd, err);
    if (status == STATUS_OK)
        status = control_ask(target->fd, "drain", line, ANSWER_MS, err);
    if (status != STATUS_OK && !options->force) {
        (void)err_hint(err, "its process %d does not answer; --force takes the mount down all the same",
                       (int)target->record.pid);
        return err_context(err, "unmount %s", target->record.point);
    }
    bool answers = status == STATUS_OK;
    status = options->force ? unmount_by_force(target, err) : unmount_when_quiet(target, options, err);
    if (status != STATUS_OK)
        return status;
    return answers ? await_end(target, options->force, err) : lock_wait(&target->lock, FORCE_MS, err);
}

enum status unmount_run(const char *dir, const struct unmount_options *options, struct err *err)
{
    AUTO_FREE struct target *target = calloc(1, sizeof *target);
    if (!target)
        return err_set(err, STATUS_NO_MEMORY, "out of memory");
    target->fd = -1;
    target->lock = (struct lock)LOCK_CLOSED;
    enum status status = find(target, dir, options->runtime_dir, err);
    if (status == STATUS_OK)
        status = record_lock(target->runtime, target->record.point, &target->lock, err);
    if (status == STATUS_OK)
        status = detach_dead(target, err);
    else if (status == STATUS_BUSY)
        status = unmount_live(target, options, err);
    target_done(target);
    return status;
}
