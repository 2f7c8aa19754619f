/* test_own.c - goal: a mount knows its own commits in the change log, also those whose numbers are noted only after the
 * change could be read. Method: numbers noted and asked for; a watcher that settles while a commit runs. */
#include "fs/own.h"

#include "unit.h"

#include <stdatomic.h>
#include <string.h>

static void note(struct own *own, int64_t seq)
{
    struct own_commit commit = {.seq = seq};
    own_end(own, own_begin(own), &commit);
}

static void knows_what_was_noted(void **state)
{
    (void)state;
    struct own own;
    struct name name;
    assert_int_equal(own_init(&own, NULL), STATUS_OK);
    assert_int_equal(name_set(&name, "a", 1), STATUS_OK);
    note(&own, 5);
    note(&own, 0); /* nothing was committed */
    note(&own, 9);
    assert_true(own_has(&own, 5, 1, &name));
    assert_true(own_has(&own, 9, 0, &name));
    assert_false(own_has(&own, 0, 1, &name));
    assert_false(own_has(&own, 7, 1, &name));
    own_forget(&own, 5);
    assert_false(own_has(&own, 5, 1, &name));
    assert_true(own_has(&own, 9, 1, &name));
    own_done(&own);
}

static void knows_one_name_of_a_publish(void **state)
{
    (void)state;
    struct own own;
    struct name name, link;
    assert_int_equal(own_init(&own, NULL), STATUS_OK);
    assert_int_equal(name_set(&name, "name", 4), STATUS_OK);
    assert_int_equal(name_set(&link, "link", 4), STATUS_OK);
    struct own_commit commit = {.seq = 3, .dir = 1, .name_key = own_name_key(&name)};
    own_end(&own, own_begin(&own), &commit);
    assert_true(own_has(&own, 3, 1, &name));
    assert_false(own_has(&own, 3, 1, &link));
    assert_false(own_has(&own, 3, 2, &name));
    own_done(&own);
}

static void forgets_the_oldest_when_nobody_asks(void **state)
{
    (void)state;
    struct own own;
    struct name name = {.len = 0};
    assert_int_equal(own_init(&own, NULL), STATUS_OK);
    for (int64_t seq = 1; seq <= OWN_MAX + 10; seq++)
        note(&own, seq);
    assert_false(own_has(&own, 10, 1, &name));
    assert_true(own_has(&own, 11, 1, &name));
    assert_true(own_has(&own, OWN_MAX + 10, 1, &name));
    own_done(&own);
}

struct race {
    struct own own;
    atomic_bool has, ended;
};

static void *watch(void *argument)
{
    struct race *race = argument;
    struct name name = {.len = 0};
    own_settle(&race->own);
    race->has = own_has(&race->own, 42, 1, &name);
    race->ended = true;
    return NULL;
}

/* Until so many threads wait in own_settle, or one no longer does. */
static void await_settlers(struct race *race, unsigned count)
{
    for (bool wait = true; wait;) {
        pthread_mutex_lock(&race->own.lock);
        wait = race->own.settlers < count && !race->ended;
        pthread_mutex_unlock(&race->own.lock);
    }
}

/* The watcher has read the change of a commit whose number is not noted yet. */
static void waits_for_commits_that_run(void **state)
{
    (void)state;
    struct race race = {.has = false};
    pthread_t thread;
    assert_int_equal(own_init(&race.own, NULL), STATUS_OK);
    unsigned epoch = own_begin(&race.own);
    assert_int_equal(pthread_create(&thread, NULL, watch, &race), 0);
    await_settlers(&race, 1);
    struct own_commit commit = {.seq = 42};
    own_end(&race.own, epoch, &commit);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(race.has);
    own_done(&race.own);
}

/* A close and the watcher wait at once: who comes second waits for the same commit, not only for what began since. */
static void each_of_two_waits_for_commits_that_run(void **state)
{
    (void)state;
    struct race race = {.has = false};
    pthread_t first, second;
    assert_int_equal(own_init(&race.own, NULL), STATUS_OK);
    unsigned epoch = own_begin(&race.own);
    assert_int_equal(pthread_create(&first, NULL, watch, &race), 0);
    await_settlers(&race, 1);
    assert_int_equal(pthread_create(&second, NULL, watch, &race), 0);
    await_settlers(&race, 2);
    assert_false(race.ended);
    struct own_commit commit = {.seq = 42};
    own_end(&race.own, epoch, &commit);
    assert_int_equal(pthread_join(first, NULL), 0);
    assert_int_equal(pthread_join(second, NULL), 0);
    assert_true(race.has);
    own_done(&race.own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_what_was_noted),
        cmocka_unit_test(knows_one_name_of_a_publish),
        cmocka_unit_test(forgets_the_oldest_when_nobody_asks),
        cmocka_unit_test(waits_for_commits_that_run),
        cmocka_unit_test(each_of_two_waits_for_commits_that_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
