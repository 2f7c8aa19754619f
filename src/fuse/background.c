/* background.c - four periodic jobs and their threads. */
#include "fuse/background.h"

#include "document/session.h"
#include "document/sweep.h"
#include "fs/fs.h"
#include "fuse/call.h"
#include "fuse/interrupt.h"
#include "fuse/notifier.h"
#include "host/clock.h"
#include "host/log.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#define TICK_MS            1000
#define WATCH_MS           50
#define SWEEP_LOOK_MS      1000 /* how often the sweeper asks whether there is something to do */
#define SWEEP_BUSY_MS      30000
#define SWEEP_VERSIONS     256   /* dealt with in one pass */
#define SWEEP_VERSIONS_MAX 16384 /* in one that follows on others which left something */
#define JOBS               4

struct job {
    struct background *background;
    void (*run)(struct background *background);
    int64_t period_ms;
    pthread_t thread;
    bool started;
};

struct background {
    struct background_options options;
    struct job jobs[JOBS];
    pthread_mutex_t mutex; /* protects stop and swept_once; leaf */
    pthread_cond_t changed;
    bool stop, swept_once;
    atomic_bool ending; /* a sweep that is under way ends soon */

    /* each of one job's thread alone */
    bool heartbeat_failed, fenced;
    bool sweep_more, sweep_failed;
    unsigned versions_max; /* of the next pass */
    bool sweep_presses;    /* programs have not paused for long: the next pass does not wait for them */
    int64_t looked_seq, swept_seq, swept_at_ms, sweep_took_ms, quiet_at_ms;
};

static struct timespec moment_in(int64_t duration_ms)
{
    struct timespec moment;
    (void)clock_gettime(CLOCK_MONOTONIC, &moment);
    moment.tv_sec += duration_ms / 1000;
    moment.tv_nsec += duration_ms % 1000 * 1000000;
    if (moment.tv_nsec >= 1000000000) {
        moment.tv_sec++;
        moment.tv_nsec -= 1000000000;
    }
    return moment;
}

/* False: the end. */
static bool wait_period(struct background *background, int64_t period_ms)
{
    struct timespec until = moment_in(period_ms);
    int error = 0;
    (void)pthread_mutex_lock(&background->mutex);
    while (!background->stop && error == 0)
        error = pthread_cond_timedwait(&background->changed, &background->mutex, &until);
    bool stop = background->stop;
    (void)pthread_mutex_unlock(&background->mutex);
    return !stop;
}

static void *run_job(void *argument)
{
    struct job *job = argument;
    do
        job->run(job->background);
    while (wait_period(job->background, job->period_ms));
    return NULL;
}

/* ---- the jobs ---- */

static void tick(struct background *background)
{
    fs_tick(background->options.fs);
}

static void watch(struct background *background)
{
    notifier_be_patient(background->options.notifier);
    interrupts_look(background->options.interrupts);
    fs_watch(background->options.fs);
}

/* One line when it begins to fail and one when it works again. */
static void heartbeat(struct background *background)
{
    struct err err;
    err_clear(&err);
    if (background->fenced)
        return;
    enum status status = session_heartbeat(background->options.session, &err);
    background->fenced = status == STATUS_FENCED;
    if (background->fenced)
        (void)err_hint(&err, "nothing can be written any more; unmount and mount again");
    if (status != STATUS_OK && !background->heartbeat_failed)
        call_report(background->options.log, LEVEL_ERROR, "heartbeat_failed", NULL, &err);
    if (status == STATUS_OK && background->heartbeat_failed)
        log_line(background->options.log, LEVEL_INFO, "heartbeat_recovered");
    background->heartbeat_failed = status != STATUS_OK;
}

static void note_sweep(void *context, const struct sweep_note *note)
{
    struct background *background = context;
    if (note->err)
        log_line(background->options.log, LEVEL_WARN,
                 "sweep_note version=%" PRId64 " document=%" PRId64 " blob=%s reason=\"%s\" error=\"%s\"; the next "
                 "pass tries again",
                 note->version, note->document, note->blob, note->reason, note->err->message);
    else
        log_line(background->options.log, LEVEL_DEBUG,
                 "sweep_note version=%" PRId64 " document=%" PRId64 " blob=%s reason=\"%s\"", note->version,
                 note->document, note->blob, note->reason);
}

static void tell_sweep(struct background *background, const struct sweep_report *report)
{
    unsigned done = report->sessions_fenced + report->condemned + report->deleted + report->dropped + report->flipped +
                    report->failed;
    log_line(background->options.log, done || !background->swept_once ? LEVEL_INFO : LEVEL_DEBUG,
             "sweep fenced=%u condemned=%u deleted=%u dropped=%u flipped=%u waiting=%u failed=%u more=%s",
             report->sessions_fenced, report->condemned, report->deleted, report->dropped, report->flipped,
             report->waiting, report->failed, report->more ? "yes" : "no");
}

/* Once a look has passed without a commit, if there were some or the last pass left something; and from time to time.
 * Programs which never pause do not put it off for ever: after SWEEP_BUSY_MS it works beside them, for a quarter of the
 * time at most, so that what they replace does not pile up. */
static bool sweep_is_due(struct background *background)
{
    const struct background_options *options = &background->options;
    int64_t now_ms = clock_boot_ms(session_world(options->session)->clock);
    int64_t seq = session_known_seq(options->session);
    bool quiet = seq == background->looked_seq && session_busy(options->session) == 0;
    bool work = background->sweep_more || seq != background->swept_seq;
    background->looked_seq = seq;
    if (quiet || !background->swept_once)
        background->quiet_at_ms = now_ms;
    background->sweep_presses = now_ms - background->quiet_at_ms >= SWEEP_BUSY_MS;
    int64_t rested_ms = now_ms - background->swept_at_ms;
    if (!background->swept_once || rested_ms >= options->sweep_every_ms)
        return true;
    return work && (quiet || (background->sweep_presses && rested_ms >= 3 * background->sweep_took_ms));
}

static void swept(struct background *background)
{
    (void)pthread_mutex_lock(&background->mutex);
    background->swept_once = true;
    (void)pthread_cond_broadcast(&background->changed);
    (void)pthread_mutex_unlock(&background->mutex);
}

/* Each pass that leaves something is followed by a larger one: looks are too far apart for small ones to keep up with
 * programs that write hundreds of files a second. */
static void note_left(struct background *background, bool more)
{
    background->sweep_more = more;
    if (!more)
        background->versions_max = SWEEP_VERSIONS;
    else if (background->versions_max < SWEEP_VERSIONS_MAX)
        background->versions_max *= 2;
}

static void sweep(struct background *background)
{
    const struct background_options *options = &background->options;
    if (options->read_only || !sweep_is_due(background))
        return;
    struct sweep_options how = {.versions_max = background->versions_max,
                                .patient = !background->sweep_presses,
                                .cancelled = &background->ending,
                                .note = note_sweep,
                                .context = background};
    struct sweep_report report = {0};
    struct err err;
    struct clock *clock = session_world(options->session)->clock;
    int64_t began_ms = clock_boot_ms(clock);
    err_clear(&err);
    enum status status = sweep_pass(options->session, &how, &report, &err);
    if (status == STATUS_OK)
        tell_sweep(background, &report);
    else if (!background->sweep_failed)
        call_report(options->log, LEVEL_WARN, "sweep_failed", NULL, &err);
    background->sweep_failed = status != STATUS_OK;
    note_left(background, status == STATUS_OK && report.more);
    background->swept_seq = session_known_seq(options->session);
    background->swept_at_ms = clock_boot_ms(clock);
    background->sweep_took_ms = background->swept_at_ms - began_ms;
    swept(background);
}

/* ---- beginning and end ---- */

static enum status start_jobs(struct background *background, struct err *err)
{
    for (size_t i = 0; i < JOBS; i++) {
        struct job *job = &background->jobs[i];
        int error = pthread_create(&job->thread, NULL, run_job, job);
        if (error != 0)
            return err_set_errno(err, error, "start a thread");
        job->started = true;
    }
    return STATUS_OK;
}

enum status background_open(const struct background_options *options, struct background **ret_background,
                            struct err *err)
{
    struct background *background = calloc(1, sizeof *background);
    if (!background)
        return err_set(err, STATUS_NO_MEMORY, "out of memory");
    background->options = *options;
    background->versions_max = SWEEP_VERSIONS;
    background->jobs[0] = (struct job){.background = background, .run = tick, .period_ms = TICK_MS};
    background->jobs[1] = (struct job){.background = background, .run = watch, .period_ms = WATCH_MS};
    background->jobs[2] = (struct job){.background = background, .run = heartbeat, .period_ms = options->heartbeat_ms};
    background->jobs[3] = (struct job){.background = background, .run = sweep, .period_ms = SWEEP_LOOK_MS};
    pthread_condattr_t attr;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&background->changed, &attr);
    (void)pthread_condattr_destroy(&attr);
    (void)pthread_mutex_init(&background->mutex, NULL);
    enum status status = start_jobs(background, err);
    if (status == STATUS_OK)
        *ret_background = background;
    else
        background_close(background);
    return status;
}

void background_first_sweep(struct background *background, int64_t timeout_ms)
{
    if (background->options.read_only)
        return;
    struct timespec until = moment_in(timeout_ms);
    int error = 0;
    (void)pthread_mutex_lock(&background->mutex);
    while (!background->swept_once && error == 0)
        error = pthread_cond_timedwait(&background->changed, &background->mutex, &until);
    (void)pthread_mutex_unlock(&background->mutex);
}

void background_last_sweep(struct background *background, int64_t duration_ms)
{
    struct session *session = background->options.session;
    int64_t until_ms = clock_boot_ms(session_world(session)->clock) + duration_ms;
    struct sweep_options how = {.versions_max = SWEEP_VERSIONS, .note = note_sweep, .context = background};
    struct sweep_report report = {.more = !background->options.read_only};
    unsigned done = 1;
    while (report.more && done && clock_boot_ms(session_world(session)->clock) < until_ms) {
        struct err err;
        err_clear(&err);
        if (sweep_pass(session, &how, &report, &err) != STATUS_OK) {
            call_report(background->options.log, LEVEL_WARN, "sweep_failed", NULL, &err);
            return; /* the next mount sweeps */
        }
        tell_sweep(background, &report);
        done = report.sessions_fenced + report.condemned + report.deleted + report.dropped + report.flipped;
    }
}

void background_stop(struct background *background)
{
    if (!background)
        return;
    atomic_store(&background->ending, true);
    (void)pthread_mutex_lock(&background->mutex);
    background->stop = true;
    (void)pthread_cond_broadcast(&background->changed);
    (void)pthread_mutex_unlock(&background->mutex);
    for (size_t i = 0; i < JOBS; i++) {
        if (background->jobs[i].started)
            (void)pthread_join(background->jobs[i].thread, NULL);
        background->jobs[i].started = false;
    }
}

void background_close(struct background *background)
{
    if (!background)
        return;
    background_stop(background);
    (void)pthread_cond_destroy(&background->changed);
    (void)pthread_mutex_destroy(&background->mutex);
    free(background);
}
