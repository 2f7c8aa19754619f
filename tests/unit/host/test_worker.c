/* test_worker.c - goal: every accepted job runs exactly once, the queue has its bound, the end runs what is queued.
 * Method: jobs that count, and jobs that hold the workers at a gate while the queue fills. */
#include "host/worker.h"

#include "unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

static void count_one(void *argument)
{
    atomic_fetch_add((atomic_int *)argument, 1);
}

struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool open;   /* protected by lock */
    int arrived; /* protected by lock */
};

#define GATE_CLOSED                                                                                                    \
    {                                                                                                                  \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, 0                                                  \
    }

static void pass_gate(void *argument)
{
    struct gate *gate = argument;
    (void)pthread_mutex_lock(&gate->lock);
    gate->arrived++;
    (void)pthread_cond_broadcast(&gate->changed);
    while (!gate->open)
        (void)pthread_cond_wait(&gate->changed, &gate->lock);
    (void)pthread_mutex_unlock(&gate->lock);
}

static void wait_arrived(struct gate *gate, int count)
{
    (void)pthread_mutex_lock(&gate->lock);
    while (gate->arrived < count)
        (void)pthread_cond_wait(&gate->changed, &gate->lock);
    (void)pthread_mutex_unlock(&gate->lock);
}

static void open_gate(struct gate *gate)
{
    (void)pthread_mutex_lock(&gate->lock);
    gate->open = true;
    (void)pthread_cond_broadcast(&gate->changed);
    (void)pthread_mutex_unlock(&gate->lock);
}

static void every_job_runs_once(void **state)
{
    (void)state;
    struct workers *workers = NULL;
    atomic_int ran = 0;
    int accepted = 0;
    assert_int_equal(workers_open(4, &workers, NULL), STATUS_OK);
    for (int i = 0; i < 10000; i++)
        accepted += workers_submit(workers, count_one, &ran);
    workers_close(workers);
    assert_true(accepted > 0);
    assert_int_equal(ran, accepted);
}

static void the_queue_is_bounded(void **state)
{
    (void)state;
    struct workers *workers = NULL;
    struct gate gate = GATE_CLOSED;
    atomic_int ran = 0;
    assert_int_equal(workers_open(2, &workers, NULL), STATUS_OK);
    assert_true(workers_submit(workers, pass_gate, &gate));
    assert_true(workers_submit(workers, pass_gate, &gate));
    wait_arrived(&gate, 2); /* both workers are held, the queue is empty: that they run side by side is shown too */
    for (int i = 0; i < 32; i++)
        assert_true(workers_submit(workers, count_one, &ran));
    assert_false(workers_submit(workers, count_one, &ran));
    open_gate(&gate);
    workers_close(workers); /* runs what is queued */
    assert_int_equal(ran, 32);
}

static void opens_at_its_limits(void **state)
{
    (void)state;
    struct workers *workers = NULL;
    assert_int_equal(workers_open(1, &workers, NULL), STATUS_OK);
    workers_close(workers);
    assert_int_equal(workers_open(64, &workers, NULL), STATUS_OK);
    workers_close(workers);
    workers_close(NULL);
}

static void inline_runs_at_once(void **state)
{
    (void)state;
    atomic_int ran = 0;
    assert_true(workers_submit(workers_inline(), count_one, &ran));
    assert_int_equal(ran, 1);
    workers_close(workers_inline());
    assert_true(workers_submit(workers_inline(), count_one, &ran));
    assert_int_equal(ran, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_job_runs_once),
        cmocka_unit_test(the_queue_is_bounded),
        cmocka_unit_test(opens_at_its_limits),
        cmocka_unit_test(inline_runs_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
