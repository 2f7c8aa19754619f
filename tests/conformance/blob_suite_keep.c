/* blob_suite_keep.c - what becomes of a blob later: guards, tags, listing; and the control blob (P7, P12, P13, P15). */
#include "conformance/blob_suite_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum status remove_guarded(const struct fixture *fixture, const char *name, enum blob_guard guard,
                                  const char *etag, struct err *err)
{
    const struct call call = {0};
    return fixture->store->ops->remove(fixture->store, &call, name, guard, etag, err);
}

void remove_guarded_by_etag(void **state)
{
    const struct fixture *fixture = *state;
    struct blob_facts facts, other;
    char other_name[LIMIT_BLOB_NAME_BYTES];
    suite_name(fixture, other_name);
    assert_ok(suite_put(fixture, fixture->name, "hello", 5, &facts, &err));
    assert_ok(suite_put(fixture, other_name, "hello", 5, &other, &err));
    assert_status(STATUS_CONDITION, remove_guarded(fixture, fixture->name, GUARD_ETAG, other.etag, &err));
    suite_assert_content(fixture, fixture->name, "hello", 5);
    assert_ok(remove_guarded(fixture, fixture->name, GUARD_ETAG, facts.etag, &err));
    suite_assert_absent(fixture, fixture->name);
    suite_assert_content(fixture, other_name, "hello", 5);
}

void remove_without_guard(void **state)
{
    const struct fixture *fixture = *state;
    struct blob_facts facts;
    assert_ok(suite_put(fixture, fixture->name, "hello", 5, &facts, &err));
    assert_ok(remove_guarded(fixture, fixture->name, GUARD_NONE, NULL, &err));
    suite_assert_absent(fixture, fixture->name);
}

void remove_guarded_by_tag(void **state)
{
    const struct fixture *fixture = *state;
    const struct call call = {0};
    struct blob_facts facts;
    char pending[LIMIT_BLOB_NAME_BYTES];
    suite_name(fixture, pending);
    assert_ok(suite_put(fixture, pending, "hello", 5, &facts, &err));
    if (!fixture->can.tags) {
        assert_status(STATUS_INVALID, remove_guarded(fixture, pending, GUARD_TAG_PENDING, NULL, &err));
        suite_assert_content(fixture, pending, "hello", 5);
        return;
    }
    assert_ok(suite_put(fixture, fixture->name, "world", 5, &facts, &err));
    assert_ok(fixture->store->ops->tag_committed(fixture->store, &call, fixture->name, 1, &err));
    assert_status(STATUS_CONDITION, remove_guarded(fixture, fixture->name, GUARD_TAG_PENDING, NULL, &err));
    suite_assert_content(fixture, fixture->name, "world", 5);
    assert_ok(remove_guarded(fixture, pending, GUARD_TAG_PENDING, NULL, &err));
    suite_assert_absent(fixture, pending);
}

void remove_of_what_is_absent(void **state)
{
    const struct fixture *fixture = *state;
    struct blob_facts facts;
    char never[LIMIT_BLOB_NAME_BYTES];
    suite_name(fixture, never);
    assert_ok(suite_put(fixture, fixture->name, "hello", 5, &facts, &err));
    assert_status(STATUS_NOT_FOUND, remove_guarded(fixture, never, GUARD_NONE, NULL, &err));
    assert_status(STATUS_NOT_FOUND, remove_guarded(fixture, never, GUARD_ETAG, facts.etag, &err));
    assert_ok(remove_guarded(fixture, fixture->name, GUARD_ETAG, facts.etag, &err));
    assert_status(STATUS_NOT_FOUND, remove_guarded(fixture, fixture->name, GUARD_ETAG, facts.etag, &err));
}

void tags_flip_and_leave_the_etag(void **state)
{
    const struct fixture *fixture = *state;
    struct blob_store *store = fixture->store;
    const struct call call = {0};
    struct blob_facts facts, after;
    enum blob_tag tag = TAG_UNKNOWN;
    assert_ok(suite_put(fixture, fixture->name, "hello", 5, &facts, &err));
    if (!fixture->can.tags) {
        assert_status(STATUS_UNSUPPORTED, store->ops->tag_committed(store, &call, fixture->name, 1, &err));
        assert_status(STATUS_UNSUPPORTED, store->ops->tag_get(store, &call, fixture->name, &tag, &err));
        return;
    }
    assert_ok(store->ops->tag_get(store, &call, fixture->name, &tag, &err));
    assert_int_equal(tag, TAG_PENDING);
    for (int i = 0; i < 2; i++) { /* twice is as once */
        assert_ok(store->ops->tag_committed(store, &call, fixture->name, 41, &err));
        assert_ok(store->ops->tag_get(store, &call, fixture->name, &tag, &err));
        assert_int_equal(tag, TAG_COMMITTED);
    }
    assert_ok(suite_stat(fixture, fixture->name, &after, &err));
    assert_string_equal(after.etag, facts.etag);
    assert_ok(suite_remove(fixture, fixture->name, &err));
    assert_status(STATUS_NOT_FOUND, store->ops->tag_committed(store, &call, fixture->name, 42, &err));
    assert_status(STATUS_NOT_FOUND, store->ops->tag_get(store, &call, fixture->name, &tag, &err));
}

void a_removed_blob_is_nowhere(void **state)
{
    const struct fixture *fixture = *state;
    struct blob_facts facts;
    assert_ok(suite_put(fixture, fixture->name, "hello", 5, &facts, &err));
    assert_int_equal(suite_list_one(fixture, fixture->name).committed, 1);
    assert_ok(suite_remove(fixture, fixture->name, &err));
    suite_assert_absent(fixture, fixture->name);
    struct suite_seen seen = suite_list_one(fixture, fixture->name);
    assert_int_equal(seen.committed + seen.uncommitted, 0);
}

#define LISTED 23

/* The blobs of a listing test: their names share a prefix of their own. */
struct shelf {
    char prefix[LIMIT_BLOB_NAME_BYTES];
    char names[LISTED][LIMIT_BLOB_NAME_BYTES];
    struct blob_facts facts[LISTED];
    char tokens[LISTED][ID_TEXT_SIZE];
    unsigned seen[LISTED];
    unsigned strangers, calls, last;
    bool wrong;
};

static void fill_shelf(const struct fixture *before, struct shelf *shelf)
{
    struct fixture fixture = *before;
    char random[ID_TEXT_SIZE];
    suite_token(random);
    int len = snprintf(shelf->prefix, sizeof shelf->prefix, "%s%s", fixture.suite->prefix, random);
    assert_in_range(len, 1, 200);
    for (unsigned i = 0; i < LISTED; i++) {
        /* Folders and names that sort differently with and without their slash. */
        (void)snprintf(shelf->names[i], LIMIT_BLOB_NAME_BYTES, "%.200s%s%02u", shelf->prefix,
                       i % 3 == 0   ? "/a/"
                       : i % 3 == 1 ? "/a."
                                    : "-b/c/",
                       i);
        suite_token(shelf->tokens[i]);
        fixture.about.token = shelf->tokens[i];
        fixture.about.version = i + 1;
        assert_ok(
            suite_put(&fixture, shelf->names[i], "0123456789abcdefghijklmnopqrstuvwxyz", i, &shelf->facts[i], &err));
    }
    /* A neighbour that has not the prefix but nearly. */
    char neighbour[LIMIT_BLOB_NAME_BYTES];
    suite_name(&fixture, neighbour);
    assert_ok(suite_put(&fixture, neighbour, "x", 1, &(struct blob_facts){0}, &err));
}

static bool count_item(void *context, const struct blob_listing *item)
{
    struct shelf *shelf = context;
    shelf->calls++;
    for (unsigned i = 0; i < LISTED; i++) {
        if (strcmp(item->name, shelf->names[i]) != 0)
            continue;
        shelf->seen[i]++;
        shelf->wrong |= item->uncommitted || item->size_bytes != i || strcmp(item->etag, shelf->facts[i].etag) != 0;
        shelf->wrong |= item->facts.token[0] && strcmp(item->facts.token, shelf->tokens[i]) != 0;
        shelf->wrong |= item->facts.version && item->facts.version != i + 1;
        return shelf->calls != shelf->last;
    }
    shelf->strangers++;
    return true;
}

void list_shows_each_blob_once(void **state)
{
    const struct fixture *fixture = *state;
    const struct call call = {0};
    static struct shelf shelf;
    shelf = (struct shelf){0};
    fill_shelf(fixture, &shelf);
    assert_ok(fixture->store->ops->list(fixture->store, &call, shelf.prefix, count_item, &shelf, &err));
    for (unsigned i = 0; i < LISTED; i++)
        assert_int_equal(shelf.seen[i], 1);
    assert_int_equal(shelf.strangers, 0);
    assert_false(shelf.wrong);
    /* A longer prefix, which ends in the middle of a name, shows fewer. */
    char part[LIMIT_BLOB_NAME_BYTES + 8];
    (void)snprintf(part, sizeof part, "%s/a.0", shelf.prefix);
    shelf.calls = 0;
    assert_ok(fixture->store->ops->list(fixture->store, &call, part, count_item, &shelf, &err));
    assert_int_equal(shelf.calls, 3); /* 01, 04, 07 */
}

void list_ends_when_told(void **state)
{
    const struct fixture *fixture = *state;
    const struct call call = {0};
    static struct shelf shelf;
    shelf = (struct shelf){.last = 5};
    fill_shelf(fixture, &shelf);
    assert_ok(fixture->store->ops->list(fixture->store, &call, shelf.prefix, count_item, &shelf, &err));
    assert_int_equal(shelf.calls, 5);
}

void list_shows_uncommitted(void **state)
{
    const struct fixture *fixture = *state;
    struct blob_facts facts;
    struct blob_block block = suite_block(fixture, 0, 0, 0, 5);
    assert_ok(suite_stage(fixture, fixture->name, &block, "hello", &err));
    struct suite_seen seen = suite_list_one(fixture, fixture->name);
    assert_int_equal(seen.uncommitted, 1);
    assert_int_equal(seen.committed, 0);
    assert_ok(suite_commit(fixture, fixture->name, &block, 1, &facts, &err));
    seen = suite_list_one(fixture, fixture->name);
    assert_int_equal(seen.uncommitted, 0);
    assert_int_equal(seen.committed, 1);
}

static void control_name(const struct fixture *fixture, char ret_name[LIMIT_BLOB_NAME_BYTES])
{
    char random[ID_TEXT_SIZE];
    suite_token(random);
    (void)snprintf(ret_name, LIMIT_BLOB_NAME_BYTES, "%s%s/.readyfs/volume", fixture->suite->prefix, random);
}

void control_is_compare_and_set(void **state)
{
    const struct fixture *fixture = *state;
    const struct blob_ops *ops = fixture->store->ops;
    struct blob_store *store = fixture->store;
    const struct call call = {0};
    char name[LIMIT_BLOB_NAME_BYTES], text[64];
    char first[LIMIT_ETAG_BYTES], second[LIMIT_ETAG_BYTES], read[LIMIT_ETAG_BYTES];
    control_name(fixture, name);
    assert_status(STATUS_NOT_FOUND, ops->control_read(store, &call, name, text, sizeof text, read, &err));
    assert_status(STATUS_CONDITION, ops->control_write(store, &call, name, "zero", "\"0x1\"", first, &err));
    assert_ok(ops->control_write(store, &call, name, "one", NULL, first, &err));
    assert_status(STATUS_EXISTS, ops->control_write(store, &call, name, "two", NULL, second, &err));
    assert_ok(ops->control_read(store, &call, name, text, sizeof text, read, &err));
    assert_string_equal(text, "one");
    assert_string_equal(read, first);
    assert_ok(ops->control_write(store, &call, name, "second", first, second, &err));
    assert_string_not_equal(first, second);
    assert_status(STATUS_CONDITION, ops->control_write(store, &call, name, "third", first, read, &err));
    assert_ok(ops->control_read(store, &call, name, text, sizeof text, read, &err));
    assert_string_equal(text, "second");
    assert_string_equal(read, second);
}

void control_must_fit(void **state)
{
    const struct fixture *fixture = *state;
    const struct blob_ops *ops = fixture->store->ops;
    struct blob_store *store = fixture->store;
    const struct call call = {0};
    char name[LIMIT_BLOB_NAME_BYTES], text[11], etag[LIMIT_ETAG_BYTES];
    control_name(fixture, name);
    assert_ok(ops->control_write(store, &call, name, "0123456789", NULL, etag, &err));
    assert_ok(ops->control_read(store, &call, name, text, 11, etag, &err));
    assert_string_equal(text, "0123456789");
    assert_status(STATUS_CORRUPT, ops->control_read(store, &call, name, text, 10, etag, &err));
    assert_status(STATUS_CORRUPT, ops->control_read(store, &call, name, text, 4, etag, &err));
}

struct counters {
    const struct fixture *fixture;
    char name[LIMIT_BLOB_NAME_BYTES];
    enum status results[RACES];
};

/* Counts the number in the control blob up by one. */
static enum status count_up(struct counters *counters)
{
    struct blob_store *store = counters->fixture->store;
    const struct call call = {0};
    char text[32], etag[LIMIT_ETAG_BYTES], next[LIMIT_ETAG_BYTES];
    enum status status;
    do {
        status = store->ops->control_read(store, &call, counters->name, text, sizeof text, etag, NULL);
        if (status != STATUS_OK)
            return status;
        (void)snprintf(text, sizeof text, "%ld", strtol(text, NULL, 10) + 1);
        status = store->ops->control_write(store, &call, counters->name, text, etag, next, NULL);
    } while (status == STATUS_CONDITION);
    return status;
}

static void count_three(void *context, unsigned number)
{
    struct counters *counters = context;
    for (int i = 0; i < 3 && counters->results[number] == STATUS_OK; i++)
        counters->results[number] = count_up(counters);
}

void control_races_lose_nothing(void **state)
{
    const struct fixture *fixture = *state;
    struct blob_store *store = fixture->store;
    const struct call call = {0};
    struct counters counters = {.fixture = fixture};
    char text[32], etag[LIMIT_ETAG_BYTES];
    control_name(fixture, counters.name);
    assert_ok(store->ops->control_write(store, &call, counters.name, "0", NULL, etag, &err));
    suite_race(count_three, &counters);
    for (unsigned i = 0; i < RACES; i++)
        assert_int_equal(counters.results[i], STATUS_OK);
    assert_ok(store->ops->control_read(store, &call, counters.name, text, sizeof text, etag, &err));
    assert_string_equal(text, "24");
}
