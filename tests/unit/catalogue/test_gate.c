/* links: host */
/* test_gate.c - goal: one writer at a time in the whole machine, and each in its turn. Method: threads and forked
 * processes at one gate; order is made visible by what they write down while they are inside.
 */
#include "unit.h"

#include "base/cleanup.h"
#include "catalogue/gate.h"
#include "support/scratch.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define DEADLINE_MS 60000

struct fixture {
    struct scratch scratch;
    struct gate *gate;
    struct err err;
};

static int setup(void **state)
{
    static struct fixture fixture;
    fixture = (struct fixture){0};
    scratch_init(&fixture.scratch);
    if (gate_open(fixture.scratch.fd, &fixture.gate, &fixture.err) != STATUS_OK)
        return -1;
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    f->gate = gate_close(f->gate);
    scratch_done(&f->scratch);
    return 0;
}

static void test_deadline_passes_for_thread_and_process_alike(void **state)
{
    struct fixture *f = *state;
    struct gate *other = NULL;
    assert_int_equal(gate_open(f->scratch.fd, &other, &f->err), STATUS_OK);
    assert_int_equal(gate_take(f->gate, 0, &f->err), STATUS_OK);
    assert_int_equal(gate_take(f->gate, 5, &f->err), STATUS_BUSY);
    assert_non_null(strstr(f->err.message, "5 ms"));
    assert_int_equal(gate_take(other, 0, &f->err), STATUS_BUSY);
    assert_int_equal(gate_take(other, 5, &f->err), STATUS_BUSY);
    gate_leave(f->gate);
    assert_int_equal(gate_take(other, 0, &f->err), STATUS_OK);
    assert_int_equal(gate_take(f->gate, 5, &f->err), STATUS_BUSY);
    gate_leave(other);
    assert_int_equal(gate_take(f->gate, 0, &f->err), STATUS_OK);
    gate_leave(f->gate);
    other = gate_close(other);
    assert_null(gate_close(NULL));
}

/* ---- threads ---- */

#define THREADS 8

struct crowd {
    struct gate *gate;
    atomic_int waiting; /* threads that have said that they will take the gate */
    int next;           /* protected by the gate */
    int order[THREADS];
    atomic_bool inside;
};

struct one {
    pthread_t thread;
    struct crowd *crowd;
    int number;
    enum status status;
};

static void *take_in_turn(void *argument)
{
    struct one *one = argument;
    struct crowd *crowd = one->crowd;
    atomic_fetch_add(&crowd->waiting, 1);
    one->status = gate_take(crowd->gate, DEADLINE_MS, NULL);
    if (one->status != STATUS_OK)
        return NULL;
    if (atomic_exchange(&crowd->inside, true))
        one->status = STATUS_CONFLICT; /* two inside */
    crowd->order[crowd->next++] = one->number;
    atomic_store(&crowd->inside, false);
    gate_leave(crowd->gate);
    return NULL;
}

static void test_threads_enter_one_by_one(void **state)
{
    struct fixture *f = *state;
    struct crowd crowd = {.gate = f->gate};
    struct one ones[THREADS];
    assert_int_equal(gate_take(f->gate, 0, &f->err), STATUS_OK);
    for (int i = 0; i < THREADS; i++) {
        ones[i] = (struct one){.crowd = &crowd, .number = i};
        assert_int_equal(pthread_create(&ones[i].thread, NULL, take_in_turn, &ones[i]), 0);
    }
    while (atomic_load(&crowd.waiting) < THREADS)
        (void)sched_yield();
    gate_leave(f->gate);
    int seen[THREADS] = {0};
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(ones[i].thread, NULL), 0);
    assert_int_equal(crowd.next, THREADS);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(ones[i].status, STATUS_OK);
        seen[crowd.order[i]]++;
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(seen[i], 1);
}

/* ---- processes ---- */

#define TURNS 300

struct shared {
    volatile int inside; /* counted without a lock of its own: the gate is its lock */
    atomic_int entered;
};

static struct shared *share(void)
{
    struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(shared, MAP_FAILED);
    return shared;
}

static void wait_for_child(pid_t child)
{
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void take_turns(int fd, struct shared *shared)
{
    struct gate *gate = NULL;
    if (gate_open(fd, &gate, NULL) != STATUS_OK)
        _exit(1);
    for (int i = 0; i < TURNS; i++) {
        if (gate_take(gate, DEADLINE_MS, NULL) != STATUS_OK)
            _exit(2);
        int before = shared->inside;
        (void)sched_yield(); /* gives a second one the chance to be inside too */
        shared->inside = before + 1;
        gate_leave(gate);
    }
    _exit(0);
}

static void test_processes_exclude_each_other(void **state)
{
    struct fixture *f = *state;
    struct shared *shared = share();
    pid_t children[3];
    for (int i = 0; i < 3; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0)
            take_turns(f->scratch.fd, shared);
    }
    for (int i = 0; i < 3; i++)
        wait_for_child(children[i]);
    assert_int_equal(shared->inside, 3 * TURNS);
    (void)munmap(shared, sizeof *shared);
}

/* Whether the kernel has somebody waiting for a lock on the file. */
static bool somebody_waits_for(const struct scratch *scratch, const char *name)
{
    struct stat file;
    assert_int_equal(fstatat(scratch->fd, name, &file, 0), 0);
    char inode[32], line[256];
    (void)snprintf(inode, sizeof inode, ":%llu ", (unsigned long long)file.st_ino);
    FILE *locks = fopen("/proc/locks", "re");
    assert_non_null(locks);
    bool found = false;
    while (fgets(line, sizeof line, locks))
        found |= strstr(line, "->") && strstr(line, inode);
    (void)fclose(locks);
    return found;
}

/* Whoever leaves and comes back at once must not overtake the one who waits, however fast it is. */
static void test_who_comes_back_does_not_overtake(void **state)
{
    struct fixture *f = *state;
    struct shared *shared = share();
    for (int i = 1; i <= 20; i++) {
        assert_int_equal(gate_take(f->gate, DEADLINE_MS, &f->err), STATUS_OK);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            struct gate *gate = NULL;
            if (gate_open(f->scratch.fd, &gate, NULL) != STATUS_OK || gate_take(gate, DEADLINE_MS, NULL) != STATUS_OK)
                _exit(1);
            atomic_fetch_add(&shared->entered, 1);
            gate_leave(gate);
            _exit(0);
        }
        while (!somebody_waits_for(&f->scratch, "writer"))
            (void)sched_yield();
        gate_leave(f->gate);
        assert_int_equal(gate_take(f->gate, DEADLINE_MS, &f->err), STATUS_OK);
        assert_int_equal(atomic_load(&shared->entered), i);
        gate_leave(f->gate);
        wait_for_child(child);
    }
    (void)munmap(shared, sizeof *shared);
}

static void test_gate_of_a_killed_process_is_free(void **state)
{
    struct fixture *f = *state;
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct gate *gate = NULL;
        if (gate_open(f->scratch.fd, &gate, NULL) != STATUS_OK || gate_take(gate, DEADLINE_MS, NULL) != STATUS_OK ||
            write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            (void)pause();
    }
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(gate_take(f->gate, 0, &f->err), STATUS_BUSY);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(gate_take(f->gate, DEADLINE_MS, &f->err), STATUS_OK);
    gate_leave(f->gate);
    assert_int_equal(waitpid(child, NULL, 0), child);
    (void)close(ready[0]);
    (void)close(ready[1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_deadline_passes_for_thread_and_process_alike),
        TEST(test_threads_enter_one_by_one),
        TEST(test_processes_exclude_each_other),
        TEST(test_who_comes_back_does_not_overtake),
        TEST(test_gate_of_a_killed_process_is_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
