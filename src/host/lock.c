/* lock.c - OFD locks with a queue and a deadline.
 *
 * The kernel has a blocking form (F_OFD_SETLKW) that queues its waiters, and no form with a timeout. Polling the other
 * form starves: a holder that lets go for a microsecond is never caught in it. So the wait blocks in the kernel, and a
 * timer of the calling thread alone ends it with a signal whose handler does nothing: fcntl then returns EINTR, as the
 * handler was installed without SA_RESTART. The timer repeats, because its first signal could be handled just before
 * fcntl has begun to wait; one of the next ones finds it waiting.
 */
#include "host/lock.h"

#include "host/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

#define REPEAT_MS 10

static int wake_signal(void)
{
    return SIGRTMIN + 5;
}

static int64_t boot_ms(void)
{
    return clock_boot_ms(clock_system());
}

static struct flock whole_file(short type)
{
    return (struct flock){.l_type = type, .l_whence = SEEK_SET};
}

enum status lock_open(int dir_fd, const char *path, bool create, struct lock *ret_lock, struct err *err)
{
    int fd = openat(dir_fd, path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | (create ? O_CREAT : 0), 0600);
    if (fd < 0)
        return err_set_errno(err, errno, "open lock file '%s'", path);
    *ret_lock = (struct lock){.fd = fd};
    return STATUS_OK;
}

enum status lock_try(struct lock *lock, struct err *err)
{
    struct flock wish = whole_file(F_WRLCK);
    if (fcntl(lock->fd, F_OFD_SETLK, &wish) == 0) {
        lock->held = true;
        return STATUS_OK;
    }
    if (errno == EAGAIN || errno == EACCES)
        return STATUS_BUSY;
    return err_set_errno(err, errno, "take a file lock");
}

static void woken(int signal)
{
    (void)signal;
}

/* A timer that signals this thread first after `delay_ms` and then again and again. */
static int timer_start(int64_t delay_ms, timer_t *ret_timer)
{
    struct sigaction action = {.sa_handler = woken};
    (void)sigemptyset(&action.sa_mask);
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = wake_signal()};
    event.sigev_notify_thread_id = gettid();
    struct itimerspec times = {
        .it_value = {.tv_sec = delay_ms / 1000, .tv_nsec = delay_ms % 1000 * 1000000},
        .it_interval = {.tv_nsec = REPEAT_MS * 1000000},
    };
    if (sigaction(wake_signal(), &action, NULL) || timer_create(CLOCK_BOOTTIME, &event, ret_timer))
        return errno;
    if (timer_settime(*ret_timer, 0, &times, NULL) == 0)
        return 0;
    int failure = errno;
    (void)timer_delete(*ret_timer);
    return failure;
}

/* Blocks until the lock is ours or `deadline_ms` has come. 0, ETIMEDOUT, or what went wrong. */
static int block(int fd, int64_t deadline_ms)
{
    struct flock wish = whole_file(F_WRLCK);
    while (fcntl(fd, F_OFD_SETLKW, &wish)) {
        if (errno != EINTR)
            return errno;
        if (boot_ms() >= deadline_ms)
            return ETIMEDOUT;
    }
    return 0;
}

static int block_with_timer(int fd, int64_t deadline_ms)
{
    int64_t left_ms = deadline_ms - boot_ms();
    if (left_ms <= 0)
        return ETIMEDOUT;
    sigset_t ours, before;
    (void)sigemptyset(&ours);
    (void)sigaddset(&ours, wake_signal());
    (void)pthread_sigmask(SIG_UNBLOCK, &ours, &before);
    timer_t timer;
    int failure = timer_start(left_ms, &timer);
    if (!failure) {
        failure = block(fd, deadline_ms);
        /* A signal still pending is delivered before the mask is put back, since returning from this call delivers. */
        (void)timer_delete(timer);
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failure;
}

enum status lock_wait(struct lock *lock, int64_t timeout_ms, struct err *err)
{
    int64_t deadline_ms = boot_ms() + timeout_ms;
    enum status status = lock_try(lock, err);
    if (status != STATUS_BUSY)
        return status;
    int failure = block_with_timer(lock->fd, deadline_ms);
    if (failure == ETIMEDOUT)
        return err_set(err, STATUS_TIMEOUT, "waited %lld ms for a file lock", (long long)timeout_ms);
    if (failure)
        return err_set_errno(err, failure, "wait for a file lock");
    lock->held = true;
    return STATUS_OK;
}

void lock_release(struct lock *lock)
{
    if (!lock->held)
        return;
    struct flock wish = whole_file(F_UNLCK);
    /* Unlocking the whole range needs no memory and cannot fail on an open descriptor. */
    INVARIANT(fcntl(lock->fd, F_OFD_SETLK, &wish) == 0);
    lock->held = false;
}

void lock_close(struct lock *lock)
{
    lock_release(lock);
    if (lock->fd >= 0)
        (void)close(lock->fd); /* nothing is written through it */
    lock->fd = -1;
}
