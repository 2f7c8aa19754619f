/* test_procfs.c - goal: a killed program is told from one that closes or exits (S29), and a thread's process is found.
 * Method: texts of stat and status with awkward command names; the rule's truth table; then this process itself. */
#include "fs/procfs.h"

#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BETWEEN                                                                                                        \
    " 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 " \
    "47 48 49 50 51 "

static void reads_stat(void **state)
{
    (void)state;
    struct procfs_stat stat;
    assert_true(procfs_parse_stat("17 (cat) S 4 5 6 7 8 4194308" BETWEEN "9\n", &stat));
    assert_int_equal(stat.flags, 4194308);
    assert_int_equal(stat.exit_code, 9);
    assert_true(procfs_parse_stat("17 (a) S 1 (b) 2) R 4 5 6 7 8 4" BETWEEN "15\n", &stat));
    assert_int_equal(stat.flags, 4);
    assert_int_equal(stat.exit_code, 15);
    assert_false(procfs_parse_stat("", &stat));
    assert_false(procfs_parse_stat("17 (cat) S 4 5", &stat));
    assert_false(procfs_parse_stat("17 (cat) S 4 5 6 7 8 4" BETWEEN "\n", &stat));
}

static void knows_the_killed(void **state)
{
    (void)state;
    const struct {
        uint32_t flags, exit_code;
        bool readable, killed;
    } rows[] = {
        {0x4, 9, true, true},     {0x4, 0x8b, true, true}, {0x4, 0x0100, true, false}, {0x4, 0, true, false},
        {0x404, 0, true, false},  {0x404, 0, false, true}, {0x4, 0, false, false},     {0x400, 9, true, false},
        {0x400, 0, false, false}, {0, 0, true, false},     {0x4, 2, false, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct procfs_stat stat = {rows[i].flags, rows[i].exit_code};
        assert_int_equal(procfs_is_killed(&stat, rows[i].readable), rows[i].killed);
    }
}

static void reads_status(void **state)
{
    (void)state;
    const char *text = "Name:\tTgid:\nTgid:\t123\nPid:\t124\nSigPnd:\t0000000000000100\nShdPnd:\tzz\n";
    uint64_t value = 0;
    assert_true(procfs_parse_status(text, "Tgid", 10, &value));
    assert_int_equal(value, 123);
    assert_true(procfs_parse_status(text, "SigPnd", 16, &value));
    assert_int_equal(value, 0x100);
    assert_false(procfs_parse_status(text, "Uid", 10, &value));
    assert_false(procfs_parse_status("", "Uid", 10, &value));
}

static void *report_tid(void *argument)
{
    pid_t *tids = argument;
    tids[0] = (pid_t)syscall(SYS_gettid);
    tids[1] = procfs_tgid(tids[0]);
    return NULL;
}

static void finds_the_process_of_a_thread(void **state)
{
    (void)state;
    assert_int_equal(procfs_tgid(getpid()), getpid());
    pid_t tids[2] = {0};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, report_tid, tids), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_not_equal(tids[0], getpid());
    assert_int_equal(tids[1], getpid());
    assert_int_equal(procfs_tgid(0), 0);
    assert_int_equal(procfs_tgid(-1), 0);
}

static void the_living_are_not_killed(void **state)
{
    (void)state;
    assert_false(procfs_killed(getpid()));
    assert_false(procfs_killed(0));
    assert_false(procfs_fatal_pending(getpid()));
    assert_false(procfs_fatal_pending(0));
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    assert_int_equal(sigprocmask(SIG_BLOCK, &set, &before), 0);
    assert_int_equal(kill(getpid(), SIGALRM), 0);
    assert_false(procfs_fatal_pending(getpid())); /* a timer is not fatal */
    int number = 0;
    assert_int_equal(sigwait(&set, &number), 0);
    assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_stat),
        cmocka_unit_test(knows_the_killed),
        cmocka_unit_test(reads_status),
        cmocka_unit_test(finds_the_process_of_a_thread),
        cmocka_unit_test(the_living_are_not_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
