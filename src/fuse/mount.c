/* mount.c - the order in which a mount is built, and taken down. */
#include "fuse/mount.h"

#include "app/open.h"
#include "app/record.h"
#include "config/config.h"
#include "document/view.h"
#include "fs/fs.h"
#include "fuse/attach.h"
#include "fuse/background.h"
#include "fuse/call.h"
#include "fuse/control.h"
#include "fuse/daemon.h"
#include "fuse/loop.h"
#include "fuse/mountpoint.h"
#include "fuse/notifier.h"
#include "fuse/ops.h"
#include "host/log.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FIRST_SWEEP_MS 2000 /* the mount is not held up longer by what a crash has left (S25) */
#define LAST_SWEEP_MS  5000 /* what an orderly end spends on leaving no work behind */
#define LIVE_MS        10000
#define GRACE_MS       5000 /* for the end of a connection that has been unmounted */
#define LOOK_MS        50

struct mount {
    const struct config *config;
    struct daemon daemon;
    struct signals signals;
    struct log *log;
    struct mountpoint point;
    struct app *app;
    struct view *view;
    struct fs *fs;
    struct ops ops;
    struct fuse_session *session;
    struct notifier *notifier;
    struct background *background;
    struct control *control;
    struct loop *loop;
    bool attached;
    unsigned device_minor; /* of the mount, 0: not known */
    char spool[PLACE_SIZE];
    unsigned kept; /* documents that could not be published */

    pthread_mutex_t mutex; /* protects what follows; leaf */
    pthread_cond_t changed;
    bool live, terminate, ended;
    pthread_mutex_t serving; /* protects served; held by the control thread while it asks fs and loop */
    bool served;
};

/* ---- what others tell ---- */

static void set_flag(struct mount *mount, bool *flag)
{
    (void)pthread_mutex_lock(&mount->mutex);
    *flag = true;
    (void)pthread_cond_broadcast(&mount->changed);
    (void)pthread_mutex_unlock(&mount->mutex);
}

static void on_live(void *context)
{
    struct mount *mount = context;
    set_flag(mount, &mount->live);
}

static void on_end(void *context)
{
    struct mount *mount = context;
    set_flag(mount, &mount->ended);
}

static void on_terminate(void *context)
{
    struct mount *mount = context;
    set_flag(mount, &mount->terminate);
}

/* Waits for either flag; at most `timeout_ms` where that is not negative. */
static void await_either(struct mount *mount, const bool *one, const bool *other, int64_t timeout_ms)
{
    struct timespec until;
    int error = 0;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += timeout_ms % 1000 * 1000000;
    until.tv_sec += timeout_ms / 1000 + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)pthread_mutex_lock(&mount->mutex);
    while (!*one && !*other && error == 0)
        error = timeout_ms < 0 ? pthread_cond_wait(&mount->changed, &mount->mutex)
                               : pthread_cond_timedwait(&mount->changed, &mount->mutex, &until);
    (void)pthread_mutex_unlock(&mount->mutex);
}

static bool get_flag(struct mount *mount, const bool *flag)
{
    (void)pthread_mutex_lock(&mount->mutex);
    bool set = *flag;
    (void)pthread_mutex_unlock(&mount->mutex);
    return set;
}

static void on_inval_entry(void *context, uint64_t parent_node, const struct name *name)
{
    struct mount *mount = context;
    notifier_entry(mount->notifier, parent_node, name);
}

static void on_inval_node(void *context, uint64_t node, int64_t offset, int64_t len)
{
    struct mount *mount = context;
    notifier_node(mount->notifier, node, offset, len);
}

static void on_report(void *context, const char *event, const char *document, const struct err *err)
{
    struct mount *mount = context;
    call_report(mount->log, LEVEL_ERROR, event, document, err);
}

static void on_progress(void *context, char ret_line[CONTROL_LINE_SIZE])
{
    struct mount *mount = context;
    struct fs_activity activity = {0};
    (void)pthread_mutex_lock(&mount->serving);
    if (mount->served)
        activity = fs_activity(mount->fs);
    bool pending = mount->served && loop_pending(mount->loop);
    (void)pthread_mutex_unlock(&mount->serving);
    (void)snprintf(ret_line, CONTROL_LINE_SIZE, "handles=%u dirty=%u uploads=%u unsent=%" PRIu64 " pending=%d",
                   activity.open_handles, activity.dirty_workspaces, activity.uploads, activity.bytes_unsent,
                   pending ? 1 : 0);
}

static void set_served(struct mount *mount, bool served)
{
    (void)pthread_mutex_lock(&mount->serving);
    mount->served = served;
    (void)pthread_mutex_unlock(&mount->serving);
}

static bool on_log_level(void *context, const char *text)
{
    struct mount *mount = context;
    enum log_level level;
    if (!log_level_parse(text, &level))
        return false;
    log_set_level(mount->log, level);
    return true;
}

/* ---- building ---- */

static enum log_level level_of(const struct config *config)
{
    switch ((enum config_log_level)config->log_level) {
    case CONFIG_LOG_ERROR: return LEVEL_ERROR;
    case CONFIG_LOG_WARNING: return LEVEL_WARN;
    case CONFIG_LOG_INFO: return LEVEL_INFO;
    case CONFIG_LOG_DEBUG: return LEVEL_DEBUG;
    }
    return LEVEL_INFO;
}

static enum status open_log(struct mount *mount, struct err *err)
{
    enum log_sink sink = mount->config->foreground ? SINK_STDERR : SINK_SYSLOG;
    return log_open(sink, "readyfs", level_of(mount->config), clock_system(), &mount->log, err);
}

/* What the user should see too when the log goes elsewhere: the terminal is left only when the mount is live. */
static void tell_user(const struct mount *mount, const char *what, const char *path)
{
    if (!mount->config->foreground)
        (void)fprintf(stderr, "readyfs: %s %s\n", what, path);
}

/* A mount over its own blobs or catalogue would wait for itself. */
static enum status check_places(const struct mount *mount, struct err *err)
{
    struct places places;
    const struct source *source = &mount->config->source;
    enum status status = places_find(mount->config, &places, err);
    if (status == STATUS_OK && source->kind == SOURCE_DIRECTORY)
        status = mountpoint_apart(&mount->point, "the folder of the blobs", source->path, err);
    if (status == STATUS_OK)
        status = mountpoint_apart(&mount->point, "the catalogue", places.catalogue, err);
    if (status == STATUS_OK)
        status = mountpoint_apart(&mount->point, "the catalogue's folder", places.folder, err);
    return status;
}

static enum status claim_point(struct mount *mount, const char *dir, struct err *err)
{
    char runtime[PLACE_SIZE];
    struct mountpoint_rules rules = {.allow_other = mount->config->allow_other, .nonempty = mount->config->nonempty};
    enum status status = place_runtime(mount->config->runtime_dir, runtime, err);
    if (status == STATUS_OK)
        status = mountpoint_init(&mount->point, dir, runtime, err);
    if (status == STATUS_OK)
        status = mountpoint_check(&mount->point, &rules, err);
    if (status == STATUS_OK)
        status = check_places(mount, err);
    if (status != STATUS_OK)
        return status;
    if (mount->point.detached)
        log_line(mount->log, LEVEL_WARN, "dead_mount_detached dir=\"%s\"", mount->point.path);
    if (mount->point.not_empty) {
        log_line(mount->log, LEVEL_WARN, "mounted_over_files dir=\"%s\": what lies there is hidden", mount->point.path);
        tell_user(mount, "the mount hides what lies in", mount->point.path);
    }
    return STATUS_OK;
}

static enum status open_app(struct mount *mount, struct err *err)
{
    struct app_options options = {
        .kind = mount->config->read_only ? SESSION_MOUNT_RO : SESSION_MOUNT,
        .place = mount->point.path,
        .create = !mount->config->read_only,
    };
    enum status status = app_open(mount->config, &options, &mount->app, err);
    if (status == STATUS_OK && mount->app->created) {
        log_line(mount->log, LEVEL_INFO, "catalogue_created file=\"%s\"", mount->app->places.catalogue);
        tell_user(mount, "made the catalogue", mount->app->places.catalogue);
    }
    return status == STATUS_OK ? view_open(mount->app->session, &mount->view, err) : status;
}

static struct fs_options fs_options_of(struct mount *mount)
{
    const struct config *config = mount->config;
    return (struct fs_options){
        .spool = mount->spool,
        .recovery = mount->app->places.recovery,
        .spool_max = config->spool_max,
        .recovery_max = config->recovery_max,
        .read_only = config->read_only,
        .show_uid = config->uid >= 0,
        .show_gid = config->gid >= 0,
        .uid = config->uid >= 0 ? (uid_t)config->uid : 0,
        .gid = config->gid >= 0 ? (gid_t)config->gid : 0,
        .show_modes = config->umask >= 0 || config->file_mode >= 0 || config->dir_mode >= 0,
        .file_mode = config->file_mode >= 0 ? (uint32_t)config->file_mode : 0,
        .dir_mode = config->dir_mode >= 0 ? (uint32_t)config->dir_mode : 0,
        .umask = config->umask >= 0 ? (uint32_t)config->umask : 0,
        .append_publish_ms = config->append_publish_ms,
        .on_kill = config->on_kill == CONFIG_KILL_PUBLISH ? ON_KILL_PUBLISH : ON_KILL_KEEP,
        .capacity = config->capacity,
        .large_listing_plain = true,
        .notify = {.inval_entry = on_inval_entry, .inval_node = on_inval_node, .report = on_report, .context = mount},
    };
}

/* libfuse's own lines are for debugging: what matters of them is said by us. */
static void drop_fuse_log(enum fuse_log_level level, const char *format, va_list args)
{
    (void)level;
    (void)format;
    (void)args;
}

static enum status new_session(struct mount *mount, struct err *err)
{
    char name[] = "readyfs";
    char *arguments[] = {name, NULL};
    struct fuse_args args = FUSE_ARGS_INIT(1, arguments);
    fuse_set_log_func(drop_fuse_log);
    mount->ops.log = mount->log;
    mount->ops.live = on_live;
    mount->ops.context = mount;
    interrupts_init(&mount->ops.interrupts);
    mount->session = fuse_session_new(&args, &ops_table, sizeof ops_table, &mount->ops);
    fuse_opt_free_args(&args);
    if (!mount->session)
        return err_set(err, STATUS_MOUNT, "cannot begin a FUSE session");
    return notifier_open(mount->session, mount->log, &mount->notifier, err);
}

static enum status open_fs(struct mount *mount, struct err *err)
{
    enum status status = places_session_spool(&mount->app->places, session_id(mount->app->session), mount->spool, err);
    if (status != STATUS_OK)
        return status;
    struct fs_options options = fs_options_of(mount);
    status = fs_open(mount->view, &options, &mount->fs, err);
    mount->ops.fs = mount->fs;
    return status;
}

/* What dead sessions left in their spools; the first sweep has fenced them. What fails is left for the next mount. */
static void adopt(struct mount *mount)
{
    unsigned kept = 0;
    struct err err = {0};
    if (!mount->config->read_only && fs_adopt(mount->fs, mount->app->places.spool, &kept, &err) != STATUS_OK)
        call_report(mount->log, LEVEL_WARN, "spool_left_for_next_mount", mount->app->places.spool, &err);
}

static enum status start_background(struct mount *mount, struct err *err)
{
    struct background_options options = {
        .fs = mount->fs,
        .session = mount->app->session,
        .notifier = mount->notifier,
        .interrupts = &mount->ops.interrupts,
        .log = mount->log,
        .heartbeat_ms = mount->config->heartbeat_ms,
        .sweep_every_ms = mount->config->sweep_every_ms,
        .read_only = mount->config->read_only,
    };
    enum status status = background_open(&options, &mount->background, err);
    if (status != STATUS_OK)
        return status;
    background_first_sweep(mount->background, FIRST_SWEEP_MS);
    adopt(mount);
    return STATUS_OK;
}

static enum status write_record(struct mount *mount, struct err *err)
{
    AUTO_FREE struct record *record = calloc(1, sizeof *record);
    if (!record)
        return err_set(err, STATUS_NO_MEMORY, "out of memory");
    (void)snprintf(record->point, sizeof record->point, "%s", mount->point.path);
    (void)snprintf(record->catalogue, sizeof record->catalogue, "%s", mount->app->places.catalogue);
    (void)snprintf(record->source, sizeof record->source, "%s", mount->app->source);
    record->session = session_id(mount->app->session);
    record->pid = getpid();
    record->read_only = mount->config->read_only;
    return record_write(mount->point.runtime, record, err);
}

static enum status attach(struct mount *mount, struct err *err)
{
    struct attach_options options = {.source = mount->app->source,
                                     .allow_other = mount->config->allow_other,
                                     .read_only = mount->config->read_only,
                                     .noexec = mount->config->noexec};
    struct mountinfo where;
    int fd;
    enum status status = write_record(mount, err);
    if (status == STATUS_OK)
        status = attach_mount(mount->point.path, &options, &fd, err);
    if (status != STATUS_OK)
        return status;
    mount->attached = true;
    if (mountinfo_find(mount->point.path, &where, NULL) == STATUS_OK)
        mount->device_minor = where.device_minor;
    char path[32];
    (void)snprintf(path, sizeof path, "/dev/fd/%d", fd);
    if (fuse_session_mount(mount->session, path) != 0)
        return err_set(err, STATUS_MOUNT, "cannot mount at %s: libfuse refused the descriptor", mount->point.path);
    return STATUS_OK;
}

static enum status serve(struct mount *mount, struct err *err)
{
    char path[PLACE_SIZE];
    struct control_handler handler = {.progress = on_progress, .set_log_level = on_log_level, .context = mount};
    enum status status = loop_open(mount->session, mount->fs, &mount->loop, err);
    if (status != STATUS_OK)
        return status;
    loop_on_end(mount->loop, on_end, mount);
    set_served(mount, true);
    status = record_path(mount->point.runtime, mount->point.path, "socket", path, err);
    if (status == STATUS_OK)
        status = control_open(path, &handler, &mount->control, err);
    if (status != STATUS_OK)
        return status;
    await_either(mount, &mount->live, &mount->ended, LIVE_MS);
    return get_flag(mount, &mount->live)
               ? STATUS_OK
               : err_set(err, STATUS_MOUNT, "cannot mount at %s: the kernel does not answer", mount->point.path);
}

/* In this order: what can be refused comes before the mount is seen by anybody. */
static enum status build(struct mount *mount, const char *dir, struct err *err)
{
    enum status status = claim_point(mount, dir, err);
    if (status == STATUS_OK)
        status = open_app(mount, err);
    if (status == STATUS_OK)
        status = new_session(mount, err);
    if (status == STATUS_OK)
        status = open_fs(mount, err);
    if (status == STATUS_OK)
        status = start_background(mount, err);
    if (status == STATUS_OK) {
        signals_arm(&mount->signals); /* from here on there is something to take down */
        status = attach(mount, err);
    }
    return status == STATUS_OK ? serve(mount, err) : status;
}

/* ---- taking down ---- */

/* Closes and releases that have begun are waited for; each ends by itself at the deadline at the latest. */
static void await_uploads(struct mount *mount)
{
    int64_t until_ms = clock_boot_ms(clock_system()) + mount->config->deadline_ms + GRACE_MS;
    unsigned told = 0;
    for (;;) {
        struct fs_activity activity = fs_activity(mount->fs);
        bool busy = activity.uploads > 0 || loop_pending(mount->loop);
        if (!busy || get_flag(mount, &mount->ended) || clock_boot_ms(clock_system()) > until_ms)
            return;
        if (activity.uploads != told)
            log_line(mount->log, LEVEL_INFO, "stopping uploads=%u unsent=%" PRIu64, activity.uploads,
                     activity.bytes_unsent);
        told = activity.uploads;
        await_either(mount, &mount->ended, &mount->ended, LOOK_MS);
    }
}

/* Out of the tree of names at once. Where that fails, a dead mount stays, which the next one detaches. */
static void detach(struct mount *mount)
{
    struct err err;
    if (mount->attached && attach_unmount(mount->point.path, UNMOUNT_BY_FORCE, &err) != STATUS_OK)
        call_report(mount->log, LEVEL_ERROR, "detach_failed", NULL, &err);
}

/* SIGTERM. Programs that hold files open would hold the mount for ever: it leaves the tree of names at once and its
 * connection ends; what they had not closed goes to the recovery folder. */
static void terminate(struct mount *mount)
{
    struct err err;
    daemon_stopping();
    await_uploads(mount);
    enum status status = attach_unmount(mount->point.path, UNMOUNT_GENTLY, &err);
    if (status == STATUS_OK)
        return await_either(mount, &mount->ended, &mount->ended, GRACE_MS);
    if (status == STATUS_BUSY)
        log_line(mount->log, LEVEL_WARN, "stopping_in_use dir=\"%s\" handles=%u dirty=%u: programs lose it now",
                 mount->point.path, fs_activity(mount->fs).open_handles, fs_activity(mount->fs).dirty_workspaces);
    if (status != STATUS_NOT_FOUND)
        detach(mount);
}

static void await_end(struct mount *mount)
{
    await_either(mount, &mount->ended, &mount->terminate, -1);
    if (!get_flag(mount, &mount->ended))
        terminate(mount);
}

static bool is_connected(const struct mount *mount)
{
    struct pollfd fd = {.fd = fuse_session_fd(mount->session), .events = POLLIN};
    return poll(&fd, 1, 0) >= 0 && !(fd.revents & (POLLERR | POLLNVAL));
}

/* The connection ends before the threads that may wait in the kernel for it are joined. The number of one that has
 * ended already may be another mount's by now. */
static void end_connection(struct mount *mount)
{
    struct err err;
    if (mount->loop)
        loop_stop(mount->loop);
    loop_close(mount->loop);
    mount->loop = NULL;
    if (mount->device_minor && is_connected(mount) && attach_abort(mount->device_minor, &err) != STATUS_OK)
        call_report(mount->log, LEVEL_DEBUG, "abort_failed", NULL, &err); /* the descriptor's end has to do */
}

static void take_down(struct mount *mount)
{
    char last_line[CONTROL_LINE_SIZE];
    set_served(mount, false);
    end_connection(mount);
    background_stop(mount->background);
    fs_close(mount->fs, &mount->kept);
    if (mount->background)
        background_last_sweep(mount->background, LAST_SWEEP_MS);
    background_close(mount->background);
    notifier_close(mount->notifier);
    view_close(mount->view);
    if (mount->session) {
        fuse_session_destroy(mount->session);
        interrupts_done(&mount->ops.interrupts);
    }
    (void)snprintf(last_line, sizeof last_line, "ended kept=%u", mount->kept);
    app_close(mount->app, last_line);
    control_close(mount->control, last_line);
    if (mount->point.lock.held)
        record_remove(mount->point.runtime, mount->point.path);
    mountpoint_done(&mount->point);
}

static enum status result_of(const struct mount *mount, struct err *err)
{
    if (mount->kept == 0)
        return STATUS_OK;
    (void)err_set(err, STATUS_UNFINISHED, "%u document%s could not be published; the bytes are in the recovery folder",
                  mount->kept, mount->kept == 1 ? "" : "s");
    (void)err_hint(err, "readyfs recover --list shows them, --save brings them back");
    return STATUS_UNFINISHED;
}

static enum status run(struct mount *mount, const char *dir, struct err *err)
{
    enum status status = open_log(mount, err);
    if (status == STATUS_OK)
        status = build(mount, dir, err);
    if (status != STATUS_OK) {
        detach(mount);
        take_down(mount);
        daemon_fail(&mount->daemon, err);
        return status;
    }
    log_line(mount->log, LEVEL_INFO, "mounted dir=\"%s\" source=\"%s\" session=%" PRId64, mount->point.path,
             mount->app->source, session_id(mount->app->session));
    daemon_live(&mount->daemon);
    await_end(mount);
    take_down(mount);
    log_line(mount->log, mount->kept ? LEVEL_WARN : LEVEL_INFO, "unmounted dir=\"%s\" kept=%u", mount->point.path,
             mount->kept);
    return result_of(mount, err);
}

static enum status run_and_free(struct mount *mount, const char *dir, struct err *err)
{
    pthread_condattr_t attr;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&mount->changed, &attr);
    (void)pthread_condattr_destroy(&attr);
    (void)pthread_mutex_init(&mount->mutex, NULL);
    (void)pthread_mutex_init(&mount->serving, NULL);
    mount->point.lock = (struct lock)LOCK_CLOSED;
    daemon_prepare();
    enum status status = signals_open(&mount->signals, on_terminate, mount, err);
    if (status == STATUS_OK) {
        status = run(mount, dir, err);
        signals_close(&mount->signals);
    }
    (void)log_close(mount->log);
    (void)pthread_cond_destroy(&mount->changed);
    (void)pthread_mutex_destroy(&mount->mutex);
    (void)pthread_mutex_destroy(&mount->serving);
    return status;
}

enum status mount_run(const struct config *config, const char *dir, struct err *err)
{
    AUTO_FREE struct mount *mount = calloc(1, sizeof *mount);
    bool parent = false;
    if (!mount)
        return err_set(err, STATUS_NO_MEMORY, "out of memory");
    mount->config = config;
    enum status status = daemon_fork(config->foreground, &mount->daemon, &parent, err);
    if (status != STATUS_OK || parent)
        return status;
    status = run_and_free(mount, dir, err);
    if (!config->foreground)
        exit(status_exit_code(status)); /* the parent has answered the user */
    return status;
}
