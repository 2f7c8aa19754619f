/* test_recover.c - goal: the recovery folder keeps bytes whole, says whose they were, drops the oldest for the newest,
 * and never leads out of itself. Method: a fresh folder, files with known bytes, limits that two of them do not fit. */
#include "fs/recover.h"

#include "support/scratch.h"
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct bench {
    struct scratch scratch;
    char folder[256];
    unsigned dropped;
    char last_dropped[RECOVER_ID_SIZE];
};

static void note_dropped(void *context, const struct recover_item *item)
{
    struct bench *bench = context;
    bench->dropped++;
    (void)snprintf(bench->last_dropped, sizeof bench->last_dropped, "%s", item->id);
}

static int begin(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);
    scratch_init(&bench->scratch);
    (void)scratch_path(&bench->scratch, "recovery", bench->folder, sizeof bench->folder);
    *state = bench;
    return 0;
}

static int end(void **state)
{
    struct bench *bench = *state;
    scratch_done(&bench->scratch);
    free(bench);
    return 0;
}

static void make_file(struct bench *bench, const char *name, char byte, size_t len)
{
    char *bytes = malloc(len + 1);
    memset(bytes, byte, len);
    int fd = openat(bench->scratch.fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, len), len);
    (void)close(fd);
    free(bytes);
}

static struct recover_item keep(struct bench *bench, uint64_t bytes_max, int64_t utc_ns, char byte, size_t len)
{
    struct recovery recovery = {bench->folder, bytes_max, note_dropped, bench};
    struct recover_item item = {.document = 7, .base = 3, .utc_ns = utc_ns, .missing_bytes = 2};
    struct err err = {0};
    (void)snprintf(item.name, sizeof item.name, "\"dir/na=me\"");
    (void)snprintf(item.reason, sizeof item.reason, "publish \"x\": 503 = busy");
    make_file(bench, "file", byte, len);
    enum status status = recover_keep(&recovery, bench->scratch.fd, "file", &item, &err);
    if (status != STATUS_OK)
        fail_msg("keep: %s", err.message);
    assert_int_not_equal(faccessat(bench->scratch.fd, "file", F_OK, 0), 0);
    return item;
}

struct found {
    struct recover_item items[8];
    size_t count;
};

static void note_found(void *context, const struct recover_item *item)
{
    struct found *found = context;
    assert_true(found->count < 8);
    found->items[found->count++] = *item;
}

static void list(struct bench *bench, struct found *found)
{
    struct err err = {0};
    found->count = 0;
    assert_int_equal(recover_list(bench->folder, note_found, found, &err), STATUS_OK);
}

static void keeps_bytes_and_says_whose(void **state)
{
    struct bench *bench = *state;
    static struct found found;
    struct err err = {0};
    char bytes[16];
    int fd = -1;
    list(bench, &found);
    assert_int_equal(found.count, 0);
    struct recover_item item = keep(bench, 0, 1500000000000000000, 'x', 10);
    list(bench, &found);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.items[0].id, item.id);
    assert_string_equal(found.items[0].name, "\"dir/na=me\"");
    assert_string_equal(found.items[0].reason, "publish \"x\": 503 = busy");
    assert_int_equal(found.items[0].document, 7);
    assert_int_equal(found.items[0].base, 3);
    assert_int_equal(found.items[0].utc_ns, 1500000000000000000);
    assert_int_equal(found.items[0].size_bytes, 10);
    assert_int_equal(found.items[0].missing_bytes, 2);
    assert_int_equal(recover_open(bench->folder, item.id, &fd, &err), STATUS_OK);
    assert_int_equal(read(fd, bytes, sizeof bytes), 10);
    assert_memory_equal(bytes, "xxxxxxxxxx", 10);
    (void)close(fd);
}

static void lists_the_oldest_first_and_gives_each_an_id(void **state)
{
    struct bench *bench = *state;
    static struct found found;
    (void)keep(bench, 0, 2000, 'b', 2);
    (void)keep(bench, 0, 1000, 'a', 1);
    (void)keep(bench, 0, 1500000000000000000, 'd', 4);
    (void)keep(bench, 0, 2000, 'c', 3); /* the same moment, the same document */
    list(bench, &found);
    assert_int_equal(found.count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(found.items[i].size_bytes, i + 1);
}

static void drops_the_oldest_and_keeps_the_newest(void **state)
{
    struct bench *bench = *state;
    static struct found found;
    struct recover_item first = keep(bench, 100000, 1000, 'a', 40960);
    (void)keep(bench, 100000, 2000, 'b', 40960);
    assert_int_equal(bench->dropped, 0);
    (void)keep(bench, 100000, 3000, 'c', 40960);
    assert_int_equal(bench->dropped, 1);
    assert_string_equal(bench->last_dropped, first.id);
    (void)keep(bench, 100000, 4000, 'd', 409600); /* larger than the folder: all others go, it stays */
    assert_int_equal(bench->dropped, 3);
    list(bench, &found);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.items[0].size_bytes, 409600);
}

static void an_id_never_leads_out_of_the_folder(void **state)
{
    struct bench *bench = *state;
    struct err err = {0};
    int fd = -1;
    (void)keep(bench, 0, 1000, 'a', 1);
    make_file(bench, "secret.data", 's', 5);
    assert_int_equal(recover_open(bench->folder, "../secret", &fd, &err), STATUS_INVALID);
    assert_int_equal(recover_open(bench->folder, "", &fd, &err), STATUS_INVALID);
    assert_int_equal(recover_open(bench->folder, "1-2-3", &fd, &err), STATUS_NOT_FOUND);
}

/* A crash between the two renames leaves data without a description: listed all the same. */
static void data_without_a_description_is_listed(void **state)
{
    struct bench *bench = *state;
    static struct found found;
    char path[400];
    struct recover_item item = keep(bench, 0, 1000, 'a', 9);
    (void)snprintf(path, sizeof path, "%s/%s.info", bench->folder, item.id);
    assert_int_equal(unlink(path), 0);
    list(bench, &found);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.items[0].size_bytes, 9);
    assert_int_equal(found.items[0].utc_ns, 1000);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(keeps_bytes_and_says_whose),
        TEST(lists_the_oldest_first_and_gives_each_an_id),
        TEST(drops_the_oldest_and_keeps_the_newest),
        TEST(an_id_never_leads_out_of_the_folder),
        TEST(data_without_a_description_is_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
