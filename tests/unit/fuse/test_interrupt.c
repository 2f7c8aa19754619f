/* test_interrupt.c - goal: a wait is cancelled by a fatal signal of its program and by no other (S23).
 * Method: a child process in which a timer's signal is pending; what a kill does, only a mount can show (S23's test).
 */
#include "fuse/interrupt.h"

#include "unit.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child in which SIGALRM is pending and blocked. */
static pid_t child_with_alarm(void)
{
    pid_t child = fork();
    if (child == 0) {
        sigset_t set;
        (void)sigemptyset(&set);
        (void)sigaddset(&set, SIGALRM);
        (void)sigprocmask(SIG_BLOCK, &set, NULL);
        (void)raise(SIGALRM);
        (void)raise(SIGSTOP);
        for (;;)
            (void)pause();
    }
    int code;
    assert_int_equal(waitpid(child, &code, WUNTRACED), child);
    assert_true(WIFSTOPPED(code));
    return child;
}

static void a_timer_is_no_end(void **state)
{
    (void)state;
    struct interrupts interrupts;
    struct wait wait;
    pid_t child = child_with_alarm();
    interrupts_init(&interrupts);
    wait_init(&wait, child);
    interrupts_add(&interrupts, &wait);
    interrupts_look(&interrupts);
    assert_false(atomic_load(&wait.cancelled));
    assert_true(wait.listed);
    interrupts_add(&interrupts, &wait); /* once more: it stands there once */
    interrupts_remove(&interrupts, &wait);
    assert_null(interrupts.first);
    interrupts_done(&interrupts);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void removes_from_any_place(void **state)
{
    (void)state;
    struct interrupts interrupts;
    struct wait waits[3];
    interrupts_init(&interrupts);
    for (size_t i = 0; i < 3; i++) {
        wait_init(&waits[i], getpid());
        interrupts_add(&interrupts, &waits[i]);
    }
    interrupts_remove(&interrupts, &waits[1]);
    assert_ptr_equal(interrupts.first, &waits[2]);
    assert_ptr_equal(waits[2].next, &waits[0]);
    assert_ptr_equal(waits[0].prev, &waits[2]);
    interrupts_remove(&interrupts, &waits[2]);
    interrupts_remove(&interrupts, &waits[0]);
    interrupts_remove(&interrupts, &waits[0]);
    assert_null(interrupts.first);
    wait_init(&waits[0], 0); /* outside our pid namespace: nobody can say */
    interrupts_add(&interrupts, &waits[0]);
    assert_null(interrupts.first);
    interrupts_done(&interrupts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_timer_is_no_end),
        cmocka_unit_test(removes_from_any_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
