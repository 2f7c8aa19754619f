/* loop.c - receive with the baton, serve without it, or with the baton lent. */
#include "fuse/loop.h"

#include "base/cleanup.h"
#include "fs/fs.h"
#include "fuse/baton.h"

#include <errno.h>
#include <fuse_lowlevel.h>
#include <linux/fuse.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#define THREADS_MAX     64
#define IDLE_MAX        10
#define CROWD           2     /* so many in a row without waiting come from several programs */
#define SHORT_BYTES_MAX 65536 /* a request longer than this is worth another thread */

struct loop {
    struct fuse_session *session;
    struct fs *fs;
    int wake_fd; /* eventfd: readable once the loop is to stop */
    struct baton baton;
    unsigned crowd;        /* requests received in a row without waiting; the holder's */
    pthread_mutex_t mutex; /* protects what follows up to told; leaf */
    pthread_cond_t gone;
    unsigned threads, spare_count;
    void *spare[THREADS_MAX]; /* receive buffers that nobody uses, the warmest last */
    void (*on_end)(void *context);
    void *end_context;
    bool told;
    atomic_bool stopping, ended;
};

static void *serve(void *argument);

static int start_thread(struct loop *loop)
{
    (void)pthread_mutex_lock(&loop->mutex);
    bool full = loop->threads >= THREADS_MAX;
    loop->threads += !full;
    (void)pthread_mutex_unlock(&loop->mutex);
    if (full)
        return 0;
    pthread_t thread;
    int error = pthread_create(&thread, NULL, serve, loop);
    if (error == 0)
        return pthread_detach(thread);
    (void)pthread_mutex_lock(&loop->mutex);
    loop->threads--;
    (void)pthread_mutex_unlock(&loop->mutex);
    return error;
}

/* Until a request or the wish to stop is there. */
static void wait_readable(struct loop *loop)
{
    struct pollfd fds[] = {{.fd = fuse_session_fd(loop->session), .events = POLLIN},
                           {.fd = loop->wake_fd, .events = POLLIN}};
    (void)poll(fds, 2, -1); /* whatever woke it is looked at again */
}

static void announce(struct loop *loop, const struct fuse_buf *buf)
{
    struct fuse_in_header header;
    struct fuse_release_in release;
    if (buf->size < sizeof header + sizeof release)
        return;
    memcpy(&header, buf->mem, sizeof header);
    if (header.opcode != FUSE_RELEASE)
        return;
    memcpy(&release, (const char *)buf->mem + sizeof header, sizeof release);
    fs_release_announce(loop->fs, (struct fs_handle *)(uintptr_t)release.fh);
}

static void tell_end(struct loop *loop)
{
    (void)pthread_mutex_lock(&loop->mutex);
    void (*on_end)(void *) = loop->told ? NULL : loop->on_end;
    void *context = loop->end_context;
    loop->told |= on_end != NULL;
    (void)pthread_mutex_unlock(&loop->mutex);
    if (on_end)
        on_end(context);
}

/* A buffer is a mebibyte: threads that wait for their turn have none, so that as few are touched as requests are served
 * at once. */
static void take_buffer(struct loop *loop, struct fuse_buf *buf)
{
    (void)pthread_mutex_lock(&loop->mutex);
    buf->mem = loop->spare_count ? loop->spare[--loop->spare_count] : NULL; /* libfuse allocates one then */
    (void)pthread_mutex_unlock(&loop->mutex);
}

static void give_buffer(struct loop *loop, struct fuse_buf *buf)
{
    (void)pthread_mutex_lock(&loop->mutex);
    bool full = !buf->mem || loop->spare_count == THREADS_MAX;
    if (!full)
        loop->spare[loop->spare_count++] = TAKE(buf->mem);
    (void)pthread_mutex_unlock(&loop->mutex);
    free(buf->mem);
    buf->mem = NULL;
}

/* Whether serving it takes little time, as a rule: it is about names, attributes or a few bytes of the spool. A close
 * or a read may wait for the store. */
static bool is_short(const struct fuse_buf *buf)
{
    struct fuse_in_header header;
    if (buf->size < sizeof header || buf->size > SHORT_BYTES_MAX)
        return false;
    memcpy(&header, buf->mem, sizeof header);
    switch (header.opcode) {
    case FUSE_LOOKUP:
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_GETATTR:
    case FUSE_CREATE:
    case FUSE_MKDIR:
    case FUSE_UNLINK:
    case FUSE_WRITE:
    case FUSE_RELEASE:
    case FUSE_OPENDIR:
    case FUSE_READDIR:
    case FUSE_READDIRPLUS:
    case FUSE_RELEASEDIR: return true;
    default: return false;
    }
}

/* With the baton. False: the end. *ret_lend: the request is short, and there is no crowd. */
static bool receive(struct loop *loop, struct fuse_buf *buf, bool *ret_lend)
{
    loop->crowd++;
    take_buffer(loop, buf);
    while (!atomic_load(&loop->stopping) && !atomic_load(&loop->ended)) {
        int got = fuse_session_receive_buf(loop->session, buf);
        if (got > 0) {
            announce(loop, buf);
            *ret_lend = loop->crowd < CROWD && is_short(buf);
            return true;
        }
        if (got != -EAGAIN && got != -EINTR)
            break;
        loop->crowd = 0;
        wait_readable(loop);
    }
    atomic_store(&loop->ended, true);
    return false;
}

/* Receives and serves until the baton has gone on. False: the end. */
static bool hold(struct loop *loop, struct fuse_buf *buf)
{
    for (;;) {
        bool lend = false;
        if (!receive(loop, buf, &lend)) {
            baton_end(&loop->baton);
            tell_end(loop);
            return false;
        }
        uint64_t loan = lend ? baton_lend(&loop->baton) : 0;
        if (!loan && !baton_pass(&loop->baton))
            (void)start_thread(loop); /* without one more, the requests wait for those at work */
        fuse_session_process_buf(loop->session, buf);
        give_buffer(loop, buf);
        if (!loan || !baton_reclaim(&loop->baton, loan))
            return true;
    }
}

static void *serve(void *argument)
{
    struct loop *loop = argument;
    struct fuse_buf buf = {0};
    bool stays = true;
    while (stays && baton_take(&loop->baton))
        stays = hold(loop, &buf) && baton_waiting(&loop->baton) < IDLE_MAX;
    give_buffer(loop, &buf);
    (void)pthread_mutex_lock(&loop->mutex);
    if (--loop->threads == 0)
        (void)pthread_cond_broadcast(&loop->gone);
    (void)pthread_mutex_unlock(&loop->mutex);
    return NULL;
}

enum status loop_open(struct fuse_session *session, struct fs *fs, struct loop **ret_loop, struct err *err)
{
    AUTO_FREE struct loop *loop = calloc(1, sizeof *loop);
    if (!loop)
        return err_set(err, STATUS_NO_MEMORY, "out of memory");
    loop->session = session;
    loop->fs = fs;
    loop->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (loop->wake_fd < 0)
        return err_set_errno(err, errno, "eventfd");
    baton_init(&loop->baton);
    (void)pthread_mutex_init(&loop->mutex, NULL);
    (void)pthread_cond_init(&loop->gone, NULL);
    int error = start_thread(loop);
    if (error != 0) {
        (void)close(loop->wake_fd);
        return err_set_errno(err, error, "start a thread");
    }
    *ret_loop = TAKE(loop);
    return STATUS_OK;
}

bool loop_ended(struct loop *loop)
{
    return atomic_load(&loop->ended);
}

void loop_on_end(struct loop *loop, void (*ended)(void *context), void *context)
{
    (void)pthread_mutex_lock(&loop->mutex);
    loop->on_end = ended;
    loop->end_context = context;
    (void)pthread_mutex_unlock(&loop->mutex);
    if (loop_ended(loop))
        tell_end(loop);
}

bool loop_pending(struct loop *loop)
{
    struct pollfd fd = {.fd = fuse_session_fd(loop->session), .events = POLLIN};
    return poll(&fd, 1, 0) > 0 && (fd.revents & POLLIN) && !(fd.revents & POLLERR);
}

void loop_stop(struct loop *loop)
{
    atomic_store(&loop->stopping, true);
    (void)eventfd_write(loop->wake_fd, 1); /* fails only when it is readable already */
}

void loop_close(struct loop *loop)
{
    if (!loop)
        return;
    loop_stop(loop);
    (void)pthread_mutex_lock(&loop->mutex);
    while (loop->threads > 0)
        (void)pthread_cond_wait(&loop->gone, &loop->mutex);
    (void)pthread_mutex_unlock(&loop->mutex);
    while (loop->spare_count)
        free(loop->spare[--loop->spare_count]);
    baton_done(&loop->baton);
    (void)pthread_mutex_destroy(&loop->mutex);
    (void)pthread_cond_destroy(&loop->gone);
    (void)close(loop->wake_fd);
    free(loop);
}
