/* test_crash.c - goal: wherever a mount dies, a document is as it was or as it should become, what was acknowledged is
 * there, and the sweeps of another mount leave nothing behind (the crash table of docs/PROTOCOL.md; P10, P11, P12).
 * links: catalogue blob host core document
 *
 * Method: a story of every kind of change is told once to count the calls that it makes to the store and the commits;
 * then again and again, with the mount dying before and after each single one of them.
 */
#include "unit.h"

#include "document/pin.h"
#include "document/single.h"
#include "document/sweep.h"
#include "document/txn.h"
#include "support/client.h"

#include <stdlib.h>
#include <string.h>

#define BIG 20000

enum step { REPLACE, CREATE_BIG, CREATE, REMOVE, APPEND, SWEEP, RENAME, MAKE, STEPS };

struct story {
    struct lab lab;
    struct client survivor, dying;
    char first[BIG + 1], second[BIG + 1001];
    enum status results[STEPS];
};

static void fill(char *text, size_t len, char from)
{
    for (size_t i = 0; i < len; i++)
        text[i] = (char)(from + (char)(i % 19));
    text[len] = '\0';
}

static void begin(struct story *story, const char *kind)
{
    struct settings settings = lab_settings();
    lab_open(&story->lab, kind);
    fill(story->first, BIG, 'a');
    fill(story->second, BIG + 1000, 'a');
    client_open(&story->survivor, &story->lab, &settings, SESSION_MOUNT);
    assert_int_equal(lab_put(story->survivor.session, CATALOGUE_ROOT, "kept", "kept", NULL), STATUS_OK);
    assert_int_equal(lab_put(story->survivor.session, CATALOGUE_ROOT, "a", "old", NULL), STATUS_OK);
    assert_int_equal(lab_put(story->survivor.session, CATALOGUE_ROOT, "gone", "to be removed", NULL), STATUS_OK);
    lab_sweep(story->survivor.session);
    client_open(&story->dying, &story->lab, &settings, SESSION_MOUNT);
}

/* The big document again, a little longer: what did not change is copied on the server where the store can. */
static enum status append(struct client *client, char *text)
{
    struct op reserve;
    enum status status = client_reserve(client, CATALOGUE_ROOT, "big", 0, &reserve);
    struct pin *pin = NULL;
    if (status == STATUS_OK)
        status = pin_open(client->session, reserve.ret_document.id, &pin, NULL);
    if (status != STATUS_OK)
        return status;
    struct upload *upload = NULL;
    const struct upload_source source = {lab_read_text, text};
    const struct upload_target target = {reserve.ret_document.id, &reserve.name};
    status = upload_begin(client->session, &target, &source, &upload, NULL);
    if (status == STATUS_OK)
        status = upload_unchanged(upload, pin, 0, BIG, NULL);
    if (status == STATUS_OK)
        status = upload_finish(upload, strlen(text), NULL);
    struct op op = {.kind = OP_PUT, .document = reserve.ret_document.id};
    op.put.upload = upload;
    op.put.base = pin_version(pin)->id;
    op.put.appends = true;
    if (status == STATUS_OK)
        status = single_publish(client->session, &op, NULL, NULL);
    else
        upload_abandon(upload, "it failed");
    pin_close(pin);
    return status;
}

static enum status sweep(struct client *client)
{
    const struct sweep_options options = {0};
    struct sweep_report report;
    enum status status = session_heartbeat(client->session, NULL);
    return status == STATUS_OK ? sweep_pass(client->session, &options, &report, NULL) : status;
}

static enum status make(struct client *client)
{
    struct op op = {.kind = OP_MKDIR, .dir = CATALOGUE_ROOT, .name = lab_name("dir"), .attr = {.mode = 0755}};
    return txn_run(client->session, &op, 1, ORDERED, NULL, NULL);
}

static void tell(struct story *story)
{
    struct client *client = &story->dying;
    enum status *results = story->results;
    results[REPLACE] = lab_put(client->session, CATALOGUE_ROOT, "a", "new", NULL);
    results[CREATE_BIG] = lab_put(client->session, CATALOGUE_ROOT, "big", story->first, NULL);
    results[CREATE] = lab_put(client->session, CATALOGUE_ROOT, "b", "b", NULL);
    results[REMOVE] = client_remove(client, CATALOGUE_ROOT, "gone");
    results[APPEND] = append(client, story->second);
    results[SWEEP] = sweep(client);
    results[RENAME] = client_rename(client, "b", "c", 0);
    results[MAKE] = make(client);
    client_close(client);
}

static bool shows(struct story *story, const char *name, const char *text)
{
    char *found = lab_get(story->survivor.session, CATALOGUE_ROOT, name);
    bool same = text ? found && strcmp(found, text) == 0 : !found;
    free(found);
    return same;
}

/* What was acknowledged is there; what was not is there whole or not at all. */
static void check(struct story *story)
{
    const enum status *results = story->results;
    client_expect(&story->survivor, "kept", "kept");
    bool new = shows(story, "a", "new");
    assert_true(new || (results[REPLACE] != STATUS_OK && shows(story, "a", "old")));
    bool second = shows(story, "big", story->second), first = shows(story, "big", story->first);
    if (results[APPEND] == STATUS_OK)
        assert_true(second);
    else if (results[CREATE_BIG] == STATUS_OK)
        assert_true(first || second);
    else
        assert_true(first || shows(story, "big", NULL));
    bool b = shows(story, "b", "b"), c = shows(story, "c", "b");
    assert_false(b && c);
    if (results[RENAME] == STATUS_OK)
        assert_true(c);
    else if (results[CREATE] == STATUS_OK)
        assert_true(b || c);
    if (results[REMOVE] == STATUS_OK)
        assert_true(shows(story, "gone", NULL));
    else
        assert_true(shows(story, "gone", "to be removed") || shows(story, "gone", NULL));
}

static void end(struct story *story)
{
    lab_sweep(story->survivor.session);
    check(story);
    client_expect_converged(&story->survivor, client_pool(&story->survivor));
    client_close(&story->survivor);
    lab_done(&story->lab);
}

/* Without a death: everything succeeds, and the number of calls is known. */
static unsigned tell_whole(const char *kind)
{
    struct story story;
    begin(&story, kind);
    tell(&story);
    for (int i = 0; i < STEPS; i++)
        assert_int_equal(story.results[i], STATUS_OK);
    unsigned calls = atomic_load(&story.dying.calls);
    end(&story);
    return calls;
}

static void die_at_each(const char *kind, enum port_fate fate)
{
    unsigned calls = tell_whole(kind);
    assert_true(calls > 20);
    for (unsigned i = 0; i < calls; i++) {
        struct story story;
        begin(&story, kind);
        client_fault(&story.dying, (struct port_fault){.call = PORT_ANY, .fate = fate, .skip = i});
        tell(&story);
        assert_true(atomic_load(&story.dying.dead));
        end(&story);
    }
}

static void test_dies_before_each_call_memory(void **state)
{
    (void)state;
    die_at_each("memory", FATE_DIES_BEFORE);
}

static void test_dies_after_each_call_memory(void **state)
{
    (void)state;
    die_at_each("memory", FATE_DIES_AFTER);
}

static void test_dies_before_each_call_directory(void **state)
{
    (void)state;
    die_at_each("directory", FATE_DIES_BEFORE);
}

static void test_dies_after_each_call_directory(void **state)
{
    (void)state;
    die_at_each("directory", FATE_DIES_AFTER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dies_before_each_call_memory),
        cmocka_unit_test(test_dies_after_each_call_memory),
        cmocka_unit_test(test_dies_before_each_call_directory),
        cmocka_unit_test(test_dies_after_each_call_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
