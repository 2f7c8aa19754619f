/* test_sqlite_process.c - goal: many processes on one catalogue lose nothing, whoever of them is killed whenever.
 * Method: forked children that open the catalogue themselves, and SIGKILL at chosen points; the parent waits for words
 * through a pipe, never for time.
 */
#include "unit/catalogue/place.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>

struct child {
    pid_t pid;
    int words; /* the reading end of its pipe */
};

/* In the child: says one byte to the parent. */
static void say(int fd, char word)
{
    if (write(fd, &word, 1) != 1)
        _exit(90);
}

static struct child start(struct place_fixture *f, void (*run)(struct place_fixture *f, int words))
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct child child = {.pid = fork(), .words = ends[0]};
    assert_true(child.pid >= 0);
    if (child.pid == 0) {
        (void)close(ends[0]);
        f->catalogue = NULL; /* a child opens its own */
        run(f, ends[1]);
        _exit(0);
    }
    (void)close(ends[1]);
    return child;
}

static void expect_word(const struct child *child, char word)
{
    char heard = 0;
    assert_int_equal(read(child->words, &heard, 1), 1);
    assert_int_equal(heard, word);
}

static int end_of(struct child *child)
{
    int status = 0;
    assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
    (void)close(child->words);
    return status;
}

static void kill_it(struct child *child)
{
    assert_int_equal(kill(child->pid, SIGKILL), 0);
    int status = end_of(child);
    assert_true(WIFSIGNALED(status));
}

static void child_opens(struct place_fixture *f)
{
    if (open_plain(f, &f->catalogue) != STATUS_OK)
        _exit(91);
}

static struct catalogue_txn *child_writes(struct place_fixture *f, const char *key, const char *value)
{
    struct catalogue_txn *txn = NULL;
    if (OPS->write_begin(f->catalogue, DURABLE, DEADLINE_MS, &txn, &f->err) != STATUS_OK ||
        OPS->meta_set(txn, key, value, &f->err) != STATUS_OK)
        _exit(92);
    return txn;
}

/* ---- killed ---- */

static void commit_and_wait(struct place_fixture *f, int words)
{
    child_opens(f);
    if (OPS->commit(child_writes(f, "committed", "yes"), &f->err) != STATUS_OK)
        _exit(93);
    say(words, 'c');
    (void)child_writes(f, "uncommitted", "yes");
    say(words, 'w');
    for (;;)
        (void)pause();
}

static void test_killed_between_commit_and_close(void **state)
{
    struct place_fixture *f = *state;
    struct child child = start(f, commit_and_wait);
    expect_word(&child, 'c');
    expect_word(&child, 'w');
    kill_it(&child); /* inside the gate, with a transaction open */
    open_it(f);
    assert_string_equal(get(f, "committed"), "yes");
    assert_string_equal(get(f, "uncommitted"), "");
    OK(put(f, DURABLE, "later", "yes")); /* the gate is free */
}

static void test_others_go_on_after_a_kill(void **state)
{
    struct place_fixture *f = *state;
    open_it(f);
    struct child child = start(f, commit_and_wait);
    expect_word(&child, 'c');
    expect_word(&child, 'w');
    struct catalogue_txn *txn = NULL;
    REFUSED(BUSY, OPS->write_begin(f->catalogue, ORDERED, 10, &txn, &f->err));
    kill_it(&child);
    OK(put(f, DURABLE, "later", "yes"));
    assert_string_equal(get(f, "committed"), "yes");
    assert_string_equal(get(f, "uncommitted"), "");
}

static void create_and_die(struct place_fixture *f, int words)
{
    say(words, 'c');
    child_opens(f);
    say(words, 'o');
}

/* A creation that is killed anywhere leaves what the next opening completes. */
static void test_killed_while_creating(void **state)
{
    struct place_fixture *f = *state;
    for (int i = 0; i < 30; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "c%d", i);
        (void)scratch_path(&f->scratch, name, f->path, sizeof f->path);
        struct child child = start(f, create_and_die);
        expect_word(&child, 'c');
        for (int turn = 0; turn < i * 20; turn++)
            (void)sched_yield(); /* later and later; where it hits does not matter */
        (void)kill(child.pid, SIGKILL);
        (void)end_of(&child);
        open_it(f);
        assert_int_equal(strlen(get(f, "catalogue")), 32);
        close_it(f);
    }
}

/* ---- beside each other ---- */

#define PROCESSES 3
#define COMMITS   60

static void count_up(struct place_fixture *f, int words)
{
    child_opens(f); /* one of them creates it */
    for (int i = 0; i < COMMITS; i++) {
        struct catalogue_txn *txn = NULL;
        char value[24];
        long long count = 0;
        enum durability durability = i % 10 ? ORDERED : DURABLE;
        if (OPS->write_begin(f->catalogue, durability, DEADLINE_MS, &txn, &f->err) != STATUS_OK ||
            OPS->meta_get(txn, "count", value, sizeof value, &f->err) != STATUS_OK ||
            (value[0] && sscanf(value, "%lld", &count) != 1))
            _exit(94);
        (void)snprintf(value, sizeof value, "%lld", count + 1);
        if (OPS->meta_set(txn, "count", value, &f->err) != STATUS_OK || OPS->commit(txn, &f->err) != STATUS_OK)
            _exit(95);
    }
    say(words, 'd');
    close_it(f);
}

static void test_processes_create_and_count_together(void **state)
{
    struct place_fixture *f = *state;
    struct child children[PROCESSES];
    for (int i = 0; i < PROCESSES; i++)
        children[i] = start(f, count_up);
    for (int i = 0; i < PROCESSES; i++) {
        int status = end_of(&children[i]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    open_it(f);
    char expected[24];
    (void)snprintf(expected, sizeof expected, "%d", PROCESSES * COMMITS);
    assert_string_equal(get(f, "count"), expected);
}

/* ---- who is dead ---- */

static int64_t session_begin(struct place_fixture *f)
{
    struct session_row row = {.kind = SESSION_MOUNT};
    struct catalogue_txn *txn = NULL;
    if (OPS->write_begin(f->catalogue, DURABLE, DEADLINE_MS, &txn, &f->err) != STATUS_OK ||
        OPS->session_insert(txn, &row, &row.id, &f->err) != STATUS_OK ||
        OPS->lock_take(txn, row.id, &f->err) != STATUS_OK || OPS->commit(txn, &f->err) != STATUS_OK)
        return 0;
    return row.id;
}

static void live(struct place_fixture *f, int words)
{
    child_opens(f);
    say(words, (char)session_begin(f));
    for (;;)
        (void)pause();
}

static void fence_and_bury(struct place_fixture *f, int64_t session)
{
    struct catalogue_txn *txn = writing(f, DURABLE);
    struct session_row row;
    OK(OPS->session_get(txn, session, &row, &f->err));
    row.fenced_utc_ns = 1;
    OK(OPS->session_update(txn, &row, &f->err));
    OPS->lock_bury(txn, session);
    OK(OPS->commit(txn, &f->err));
}

/* P11: the session of a killed process is dead at once, a living one never. */
static void test_session_of_a_killed_process_is_dead(void **state)
{
    struct place_fixture *f = *state;
    open_it(f);
    int64_t ours = session_begin(f);
    assert_int_equal(ours, 1);
    struct child child = start(f, live);
    expect_word(&child, 2);
    REFUSED(BUSY, OPS->lock_probe(f->catalogue, 2, &f->err));
    kill_it(&child);
    OK(OPS->lock_probe(f->catalogue, 2, &f->err));
    REFUSED(BUSY, OPS->lock_probe(f->catalogue, ours, &f->err)); /* probing ours must not let go of it */
    char path[400];
    (void)snprintf(path, sizeof path, "%s.d/sessions", f->path);
    assert_int_equal(scratch_count(path, 0), 2);
    fence_and_bury(f, 2);
    assert_int_equal(scratch_count(path, 0), 1);
    OK(OPS->lock_probe(f->catalogue, 2, &f->err)); /* without its file too */
    child = start(f, live);
    expect_word(&child, 3); /* ids do not come again */
    kill_it(&child);
}

static void probe_parent(struct place_fixture *f, int words)
{
    child_opens(f);
    say(words, OPS->lock_probe(f->catalogue, 1, &f->err) == STATUS_BUSY ? 'b' : 'd');
    close_it(f);
    say(words, 'e');
}

static void test_living_session_is_seen_by_another_process(void **state)
{
    struct place_fixture *f = *state;
    open_it(f);
    assert_int_equal(session_begin(f), 1);
    for (int i = 0; i < 2; i++) { /* the first probe has not harmed the lock */
        struct child child = start(f, probe_parent);
        expect_word(&child, 'b');
        expect_word(&child, 'e');
        (void)end_of(&child);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_killed_between_commit_and_close),
        TEST(test_others_go_on_after_a_kill),
        TEST(test_killed_while_creating),
        TEST(test_processes_create_and_count_together),
        TEST(test_session_of_a_killed_process_is_dead),
        TEST(test_living_session_is_seen_by_another_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
