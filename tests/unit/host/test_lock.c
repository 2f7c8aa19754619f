/* test_lock.c - goal: one holder at a time among processes and threads; a waiter gets the lock from a holder that comes
 * and goes, and gives up at its deadline; a killed holder lets go.
 * Method: forked children that tell by pipes where they are; no test asserts how long anything takes. */
#include "host/lock.h"

#include "support/scratch.h"
#include "unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONG_MS 60000

static struct scratch scratch;

static int set_up(void **state)
{
    (void)state;
    scratch_init(&scratch);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    scratch_done(&scratch);
    return 0;
}

static struct lock open_lock(void)
{
    struct lock lock = LOCK_CLOSED;
    assert_int_equal(lock_open(scratch.fd, "lock", true, &lock, NULL), STATUS_OK);
    return lock;
}

/* A child that takes the lock, says so, and holds it until it is told to end or is killed. */
static pid_t holding_child(int *ret_say)
{
    int told[2], say[2];
    char byte;
    assert_int_equal(pipe2(told, O_CLOEXEC), 0);
    assert_int_equal(pipe2(say, O_CLOEXEC), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct lock lock = LOCK_CLOSED;
        (void)close(say[1]);
        bool ready = lock_open(scratch.fd, "lock", true, &lock, NULL) == STATUS_OK &&
                     lock_try(&lock, NULL) == STATUS_OK && write(told[1], "x", 1) == 1;
        _exit(ready && read(say[0], &byte, 1) >= 0 ? 0 : 1);
    }
    (void)close(told[1]);
    (void)close(say[0]);
    assert_int_equal(read(told[0], &byte, 1), 1);
    (void)close(told[0]);
    *ret_say = say[1];
    return child;
}

static void excludes_within_a_process(void **state)
{
    (void)state;
    AUTO_LOCK struct lock a = open_lock(), b = open_lock();
    assert_int_equal(lock_try(&a, NULL), STATUS_OK);
    assert_int_equal(lock_try(&a, NULL), STATUS_OK); /* again is fine */
    assert_int_equal(lock_try(&b, NULL), STATUS_BUSY);
    lock_release(&a);
    assert_int_equal(lock_try(&b, NULL), STATUS_OK);
    lock_release(&a); /* not its lock: nothing happens */
    assert_int_equal(lock_try(&a, NULL), STATUS_BUSY);
    lock_close(&b);
    lock_close(&b);
    assert_int_equal(lock_try(&a, NULL), STATUS_OK);
}

static void open_tells_errors(void **state)
{
    (void)state;
    struct lock lock = LOCK_CLOSED;
    struct err err = {0};
    assert_int_equal(lock_open(scratch.fd, "absent", false, &lock, &err), STATUS_NOT_FOUND);
    assert_int_equal(lock_open(scratch.fd, "no/lock", true, &lock, &err), STATUS_NOT_FOUND);
    lock_close(&lock);
}

static void a_killed_holder_lets_go(void **state)
{
    (void)state;
    int say = -1;
    AUTO_LOCK struct lock lock = open_lock();
    pid_t child = holding_child(&say);
    assert_int_equal(lock_try(&lock, NULL), STATUS_BUSY);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(lock_wait(&lock, LONG_MS, NULL), STATUS_OK);
    assert_int_equal(waitpid(child, NULL, 0), child);
    (void)close(say);
}

static void a_wait_ends_at_its_deadline(void **state)
{
    (void)state;
    int say = -1;
    struct err err = {0};
    AUTO_LOCK struct lock lock = open_lock();
    pid_t child = holding_child(&say);
    for (int64_t timeout_ms = -1; timeout_ms <= 40; timeout_ms = timeout_ms * 2 + 2)
        assert_int_equal(lock_wait(&lock, timeout_ms, &err), STATUS_TIMEOUT);
    (void)close(say); /* the child ends */
    assert_int_equal(lock_wait(&lock, LONG_MS, NULL), STATUS_OK);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

struct waiter {
    struct lock lock;
    atomic_int thread_id;
    enum status waited;
};

static void *wait_and_release(void *argument)
{
    struct waiter *waiter = argument;
    atomic_store(&waiter->thread_id, gettid());
    waiter->waited = lock_wait(&waiter->lock, LONG_MS, NULL);
    lock_release(&waiter->lock);
    return NULL;
}

/* Returns once the thread sleeps in the kernel, which it has no reason to do but the lock. */
static void until_it_waits(const struct waiter *waiter)
{
    char path[64], text[256], kind = 0;
    while (kind != 'S') {
        (void)sched_yield();
        (void)snprintf(path, sizeof path, "/proc/self/task/%d/stat", atomic_load(&waiter->thread_id));
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t len = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
        text[len > 0 ? len : 0] = '\0';
        const char *behind_name = strrchr(text, ')'); /* "tid (name) state ..." */
        kind = behind_name ? behind_name[2] : 0;
        if (fd >= 0)
            (void)close(fd);
    }
}

static void a_lock_that_was_waited_for_can_be_released(void **state)
{
    (void)state;
    pthread_t thread;
    struct waiter waiter = {.lock = open_lock()};
    AUTO_LOCK struct lock lock = open_lock();
    assert_int_equal(lock_try(&lock, NULL), STATUS_OK);
    assert_int_equal(pthread_create(&thread, NULL, wait_and_release, &waiter), 0);
    until_it_waits(&waiter);
    lock_release(&lock);
    (void)pthread_join(thread, NULL);
    assert_int_equal(waiter.waited, STATUS_OK);
    assert_int_equal(lock_try(&lock, NULL), STATUS_OK); /* the waiter has let go, though its file is still open */
    lock_close(&waiter.lock);
}

/* The signal of an ended wait reaches nobody later, and the caller's signal mask is as before. */
static void a_wait_leaves_no_trace(void **state)
{
    (void)state;
    int say = -1;
    AUTO_LOCK struct lock lock = open_lock();
    pid_t child = holding_child(&say);
    sigset_t all, after, pending;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, NULL);
    for (int i = 0; i < 10; i++)
        assert_int_equal(lock_wait(&lock, 3, NULL), STATUS_TIMEOUT);
    (void)pthread_sigmask(SIG_BLOCK, NULL, &after);
    (void)sigpending(&pending);
    (void)pthread_sigmask(SIG_UNBLOCK, &all, NULL);
    for (int signal = SIGRTMIN; signal <= SIGRTMAX; signal++) {
        assert_true(sigismember(&after, signal));
        assert_false(sigismember(&pending, signal));
    }
    (void)close(say);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

/* A neighbour that takes the lock, holds it nearly always, and lets go only for an instant: pollers never meet that. */
static void *come_and_go(void *argument)
{
    atomic_bool *stop = argument;
    struct lock lock = LOCK_CLOSED;
    if (lock_open(scratch.fd, "lock", true, &lock, NULL) != STATUS_OK)
        return NULL;
    while (!atomic_load(stop)) {
        if (lock_wait(&lock, LONG_MS, NULL) == STATUS_OK)
            lock_release(&lock);
    }
    lock_close(&lock);
    return NULL;
}

static void a_waiter_is_not_starved(void **state)
{
    (void)state;
    pthread_t busy;
    atomic_bool stop = false;
    AUTO_LOCK struct lock lock = open_lock();
    assert_int_equal(pthread_create(&busy, NULL, come_and_go, &stop), 0);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(lock_wait(&lock, LONG_MS, NULL), STATUS_OK);
        lock_release(&lock);
    }
    atomic_store(&stop, true);
    (void)pthread_join(busy, NULL);
}

struct counting {
    int times;
    int *counter; /* protected by the file's lock alone */
    atomic_int *failures;
};

static void *count_under_lock(void *argument)
{
    struct counting *work = argument;
    struct lock lock = LOCK_CLOSED;
    if (lock_open(scratch.fd, "lock", true, &lock, NULL) != STATUS_OK)
        return NULL;
    for (int i = 0; i < work->times; i++) {
        if (lock_wait(&lock, LONG_MS, NULL) != STATUS_OK)
            atomic_fetch_add(work->failures, 1);
        int seen = __atomic_load_n(work->counter, __ATOMIC_RELAXED);
        (void)sched_yield();
        __atomic_store_n(work->counter, seen + 1, __ATOMIC_RELAXED);
        lock_release(&lock);
    }
    lock_close(&lock);
    return NULL;
}

static void threads_count_without_loss(void **state)
{
    (void)state;
    int counter = 0;
    atomic_int failures = 0;
    pthread_t threads[4];
    struct counting work = {.times = 200, .counter = &counter, .failures = &failures};
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_under_lock, &work), 0);
    for (int i = 0; i < 4; i++)
        (void)pthread_join(threads[i], NULL);
    assert_int_equal(failures, 0);
    assert_int_equal(counter, 800);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(excludes_within_a_process, set_up, tear_down),
        cmocka_unit_test_setup_teardown(open_tells_errors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_killed_holder_lets_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_wait_ends_at_its_deadline, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_lock_that_was_waited_for_can_be_released, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_wait_leaves_no_trace, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_waiter_is_not_starved, set_up, tear_down),
        cmocka_unit_test_setup_teardown(threads_count_without_loss, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
