/* blob_suite_fixture.h - what the files of the suite share. */
#ifndef READYFS_TESTS_BLOB_SUITE_FIXTURE_H
#define READYFS_TESTS_BLOB_SUITE_FIXTURE_H

#include "conformance/blob_suite.h"
#include "unit.h"

#define MIB   (1024 * 1024)
#define RACES 8

struct fixture {
    const struct blob_suite *suite;
    struct blob_store *store;
    struct blob_capabilities can;
    char name[LIMIT_BLOB_NAME_BYTES]; /* a fresh blob name */
    char token[ID_TEXT_SIZE];         /* a fresh token */
    uint8_t upload[ID_BYTES];         /* a fresh upload's randomness, for block ids */
    struct blob_about about;          /* with that token, pending */
};

/* Fails the running test unless the call was OK, and says why it was not. */
#define assert_ok(call)                                                                                                \
    do {                                                                                                               \
        struct err err = {0};                                                                                          \
        enum status status_ = (call);                                                                                  \
        if (status_ != STATUS_OK)                                                                                      \
            fail_msg("%s: %s: %s", #call, status_name(status_), err.message);                                          \
    } while (0)

/* Fails unless the call ended with this status, and with a message where that is a refusal and not a mere answer. */
#define assert_status(expected, call)                                                                                  \
    do {                                                                                                               \
        struct err err = {0};                                                                                          \
        enum status status_ = (call);                                                                                  \
        if (status_ != (expected))                                                                                     \
            fail_msg("%s: %s instead of %s: %s", #call, status_name(status_), status_name(expected), err.message);     \
        if (status_ != STATUS_NOT_FOUND)                                                                               \
            assert_true(err.status == status_ && err.message[0] != '\0');                                              \
    } while (0)

/* A fresh blob name, and a fresh token. */
void suite_name(const struct fixture *fixture, char ret_name[LIMIT_BLOB_NAME_BYTES]);
void suite_token(char ret_token[ID_TEXT_SIZE]);

/* Bytes that differ everywhere and with `seed`. */
void suite_fill(void *bytes, size_t len, uint64_t seed);

/* A block at `offset` with the id of (upload, index, generation). */
struct blob_block suite_block(const struct fixture *fixture, uint32_t index, uint32_t generation, uint64_t offset,
                              uint64_t len);

/* The calls, with the fixture's store, no limits, and the right digest. */
enum status suite_put(const struct fixture *fixture, const char *name, const void *bytes, size_t len,
                      struct blob_facts *ret_facts, struct err *err);
enum status suite_stage(const struct fixture *fixture, const char *name, const struct blob_block *block,
                        const void *bytes, struct err *err);
enum status suite_commit(const struct fixture *fixture, const char *name, const struct blob_block *blocks, size_t count,
                         struct blob_facts *ret_facts, struct err *err);
enum status suite_stat(const struct fixture *fixture, const char *name, struct blob_facts *ret_facts, struct err *err);
enum status suite_unstage(const struct fixture *fixture, const char *name, struct err *err);
enum status suite_remove(const struct fixture *fixture, const char *name, struct err *err);

/* The blob has exactly these bytes. */
void suite_assert_content(const struct fixture *fixture, const char *name, const void *bytes, size_t len);

/* There is no blob. */
void suite_assert_absent(const struct fixture *fixture, const char *name);

/* How often the listing of exactly this name shows it, as committed or as uncommitted. */
struct suite_seen {
    unsigned committed, uncommitted;
};
struct suite_seen suite_list_one(const struct fixture *fixture, const char *name);

/* Runs `run` in RACES threads at once, each with its own number. */
void suite_race(void (*run)(void *context, unsigned number), void *context);

/* The tests, by file. */
#define BLOB_SUITE_CREATE(X)                                                                                           \
    X(capabilities_are_consistent)                                                                                     \
    X(put_creates_only_what_is_absent)                                                                                 \
    X(commit_creates_only_what_is_absent)                                                                              \
    X(racing_puts_have_one_winner)                                                                                     \
    X(racing_commits_have_one_winner)                                                                                  \
    X(a_wrong_digest_stores_nothing)                                                                                   \
    X(about_comes_back)                                                                                                \
    X(every_size_reads_back)                                                                                           \
    X(ranges_are_exact)                                                                                                \
    X(reads_are_pinned_to_an_etag)                                                                                     \
    X(empty_blobs)                                                                                                     \
    X(cancelled_calls_do_nothing)
#define BLOB_SUITE_BLOCKS(X)                                                                                           \
    X(blocks_in_any_order_of_arrival)                                                                                  \
    X(a_block_may_be_staged_twice)                                                                                     \
    X(a_missing_block_refuses_the_list)                                                                                \
    X(a_newer_generation_replaces)                                                                                     \
    X(an_older_generation_may_be_named)                                                                                \
    X(blocks_not_named_are_dropped)                                                                                    \
    X(a_refused_commit_leaves_the_blob_alone)                                                                          \
    X(unstage_throws_blocks_away)                                                                                      \
    X(twelve_mebibytes_in_three_blocks)                                                                                \
    X(stage_from_copies_ranges)                                                                                        \
    X(stage_from_wants_the_etag)
#define BLOB_SUITE_KEEP(X)                                                                                             \
    X(remove_guarded_by_etag)                                                                                          \
    X(remove_without_guard)                                                                                            \
    X(remove_guarded_by_tag)                                                                                           \
    X(remove_of_what_is_absent)                                                                                        \
    X(tags_flip_and_leave_the_etag)                                                                                    \
    X(a_removed_blob_is_nowhere)                                                                                       \
    X(list_shows_each_blob_once)                                                                                       \
    X(list_ends_when_told)                                                                                             \
    X(list_shows_uncommitted)                                                                                          \
    X(control_is_compare_and_set)                                                                                      \
    X(control_must_fit)                                                                                                \
    X(control_races_lose_nothing)

#define X(name) void name(void **state);
BLOB_SUITE_CREATE(X)
BLOB_SUITE_BLOCKS(X)
BLOB_SUITE_KEEP(X)
#undef X

#endif
