/* test_baton.c - goal: one thread at a time may receive, a short loan costs nobody a wake-up, a long one is taken away,
 * and at the end everybody is let go. Method: threads that wait for each other's events; which of two outcomes of a
 * race came about is asked, and that it is one of them. */
#include "fuse/baton.h"

#include "unit.h"

#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>

#define THREADS 6
#define ROUNDS  2000

static struct baton baton;
static atomic_int holders;

static int set_up(void **state)
{
    (void)state;
    baton_init(&baton);
    atomic_store(&holders, 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    baton_done(&baton);
    return 0;
}

/* ---- alone ---- */

static void nobody_to_lend_to(void **state)
{
    (void)state;
    assert_true(baton_take(&baton));
    assert_int_equal(baton_lend(&baton), 0);
    assert_false(baton_pass(&baton));
    assert_true(baton_take(&baton));
}

/* ---- with another that waits ---- */

struct other {
    pthread_t thread;
    sem_t got, go_on;
    bool taken;
};

static void *wait_for_it(void *argument)
{
    struct other *other = argument;
    other->taken = baton_take(&baton);
    (void)sem_post(&other->got);
    (void)sem_wait(&other->go_on);
    return NULL;
}

/* Starts a thread that waits, and returns when it does: it watches then. */
static void start(struct other *other)
{
    assert_int_equal(sem_init(&other->got, 0, 0), 0);
    assert_int_equal(sem_init(&other->go_on, 0, 0), 0);
    assert_int_equal(pthread_create(&other->thread, NULL, wait_for_it, other), 0);
    while (!baton_waiting(&baton))
        (void)sched_yield();
}

static void join(struct other *other)
{
    assert_int_equal(sem_post(&other->go_on), 0);
    assert_int_equal(pthread_join(other->thread, NULL), 0);
    (void)sem_destroy(&other->got);
    (void)sem_destroy(&other->go_on);
}

static void passing_wakes_who_waits(void **state)
{
    (void)state;
    struct other other;
    assert_true(baton_take(&baton));
    start(&other);
    assert_true(baton_pass(&baton));
    assert_int_equal(sem_wait(&other.got), 0);
    assert_true(other.taken);
    join(&other);
}

static void a_long_loan_is_taken_away(void **state)
{
    (void)state;
    struct other other;
    assert_true(baton_take(&baton));
    start(&other);
    uint64_t loan = baton_lend(&baton);
    assert_true(loan > 0);
    assert_int_equal(sem_wait(&other.got), 0);
    assert_true(other.taken);
    assert_false(baton_reclaim(&baton, loan));
    join(&other);
}

static void a_watcher_that_dozes_wakes_for_a_loan(void **state)
{
    (void)state;
    struct other other;
    assert_true(baton_take(&baton));
    start(&other);
    while (!atomic_load(&baton.dozing))
        (void)sched_yield();
    uint64_t loan = baton_lend(&baton);
    assert_int_equal(sem_wait(&other.got), 0);
    assert_false(baton_reclaim(&baton, loan));
    join(&other);
}

/* The number of a loan is good once: it must not take back what another has lent since. */
static void an_old_loan_takes_nothing_back(void **state)
{
    (void)state;
    struct other first, second;
    assert_true(baton_take(&baton));
    start(&first);
    uint64_t old = baton_lend(&baton);
    assert_int_equal(sem_wait(&first.got), 0); /* it holds the baton now, and this thread lends it on its behalf */
    start(&second);
    uint64_t loan = baton_lend(&baton);
    assert_true(loan > old);
    assert_false(baton_reclaim(&baton, old));
    bool kept = baton_reclaim(&baton, loan); /* unless `second` was faster */
    if (kept)
        assert_true(baton_pass(&baton));
    assert_int_equal(sem_wait(&second.got), 0);
    assert_true(second.taken);
    join(&first);
    join(&second);
}

static void the_end_lets_all_go(void **state)
{
    (void)state;
    struct other others[4];
    assert_true(baton_take(&baton));
    for (unsigned i = 0; i < 4; i++) {
        start(&others[i]);
        while (baton_waiting(&baton) < i + 1)
            (void)sched_yield();
    }
    baton_end(&baton);
    assert_false(baton_take(&baton));
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(sem_wait(&others[i].got), 0);
        assert_false(others[i].taken);
        join(&others[i]);
    }
}

/* ---- many ---- */

static void hold_once(void)
{
    assert_int_equal(atomic_fetch_add(&holders, 1), 0);
    assert_int_equal(atomic_fetch_sub(&holders, 1), 1);
}

/* Takes, holds, and then lends for a while or passes on. */
static void *run(void *argument)
{
    unsigned seed = *(unsigned *)argument;
    for (int i = 0; i < ROUNDS; i++) {
        assert_true(baton_take(&baton));
        uint64_t loan;
        do {
            hold_once();
            seed = seed * 1664525u + 1013904223u;
            loan = seed >> 24 < 128 ? baton_lend(&baton) : 0;
            for (unsigned wait = seed >> 8 & 255; loan && wait; wait--)
                (void)sched_yield();
        } while (loan && baton_reclaim(&baton, loan));
        if (!loan)
            (void)baton_pass(&baton); /* whether somebody waits is the loop's concern */
    }
    return NULL;
}

static void one_at_a_time(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    unsigned seeds[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        seeds[i] = i + 1;
        assert_int_equal(pthread_create(&threads[i], NULL, run, &seeds[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nobody_to_lend_to),
        TEST(passing_wakes_who_waits),
        TEST(a_long_loan_is_taken_away),
        TEST(a_watcher_that_dozes_wakes_for_a_loan),
        TEST(an_old_loan_takes_nothing_back),
        TEST(the_end_lets_all_go),
        TEST(one_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
