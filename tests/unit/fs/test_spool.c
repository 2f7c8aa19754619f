/* test_spool.c - goal: a spool file that is used again holds nothing of its last holder, and bytes that were moved to
 * the recovery folder are nobody's to empty. Method: real files in a fresh folder. */
#include "fs/spool.h"

#include "support/scratch.h"
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct fixture {
    struct scratch scratch;
    char folder[300];
    struct spools spools;
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    if (!fixture)
        return -1;
    scratch_init(&fixture->scratch);
    (void)scratch_path(&fixture->scratch, "spool", fixture->folder, sizeof fixture->folder);
    *state = fixture;
    return spools_init(&fixture->spools, fixture->folder, 0, NULL) == STATUS_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    spools_done(&fixture->spools);
    scratch_done(&fixture->scratch);
    free(fixture);
    return 0;
}

static struct spool *new_spool(struct fixture *fixture, int64_t base, const char *name)
{
    struct spool *spool = NULL;
    const struct spool_about about = {.document = 7, .base = base, .name = name};
    assert_int_equal(spool_new(&fixture->spools, &about, &spool, NULL), STATUS_OK);
    return spool;
}

static off_t size_of(const struct spool *spool)
{
    struct stat facts;
    assert_int_equal(fstatat(spool_folder(spool), spool_file(spool), &facts, 0), 0);
    return facts.st_size;
}

/* What a later mount would read of it. */
static void read_info(struct fixture *fixture, const struct spool *spool, char ret_text[512])
{
    char path[400];
    const char *data = spool_file(spool);
    (void)snprintf(path, sizeof path, "%s/%.*s.info", fixture->folder, (int)strcspn(data, "."), data);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    size_t len = fread(ret_text, 1, 511, file);
    ret_text[len] = '\0';
    (void)fclose(file); /* it was read only */
}

static void a_file_used_again_is_empty(void **state)
{
    struct fixture *fixture = *state;
    char first[32], info[512], bytes[8];
    struct spool *spool = new_spool(fixture, 5, "a name that is longer than the next");
    (void)snprintf(first, sizeof first, "%s", spool_file(spool));
    assert_int_equal(spool_write(spool, 100, "secret", 6, NULL), STATUS_OK);
    spool_note(spool, 'w', 100, 6);
    read_info(fixture, spool, info);
    assert_non_null(strstr(info, "w=100 6"));
    spool_drop(spool);

    spool = new_spool(fixture, 0, "b");
    assert_string_equal(spool_file(spool), first);
    assert_int_equal(size_of(spool), 0);
    assert_int_equal(spool_read(spool, 100, bytes, 6, NULL), STATUS_OK);
    assert_memory_equal(bytes, "\0\0\0\0\0\0", 6);
    spool_note(spool, 'w', 0, 1); /* without a base nothing needs to be noted */
    read_info(fixture, spool, info);
    assert_string_equal(info, "document=7\nbase=0\nname=\"b\"\n");
    spool_note(spool, 'g', 0, 1); /* but for what left the spool */
    read_info(fixture, spool, info);
    assert_non_null(strstr(info, "g=0 1"));
    spool_drop(spool);
}

static void what_is_held_is_not_used_again(void **state)
{
    struct fixture *fixture = *state;
    struct spool *first = new_spool(fixture, 0, "a"), *held = spool_ref(first);
    spool_drop(first);
    struct spool *second = new_spool(fixture, 0, "b");
    assert_string_not_equal(spool_file(held), spool_file(second));
    spool_drop(held);
    spool_drop(second);
}

static void what_was_moved_away_stays_whole(void **state)
{
    struct fixture *fixture = *state;
    struct spool *spool = new_spool(fixture, 0, "a");
    char kept[300], bytes[8] = "";
    (void)scratch_path(&fixture->scratch, "kept", kept, sizeof kept);
    assert_int_equal(spool_write(spool, 0, "bytes", 5, NULL), STATUS_OK);
    assert_int_equal(renameat(spool_folder(spool), spool_file(spool), AT_FDCWD, kept), 0);
    spool_drop(spool);
    int fd = open(kept, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, bytes, sizeof bytes), 5);
    (void)close(fd); /* it was read only */
    assert_string_equal(bytes, "bytes");
    assert_int_equal(scratch_count(fixture->folder, 0), 0); /* its description is gone */
}

static void what_is_to_stay_stays(void **state)
{
    struct fixture *fixture = *state;
    struct spool *spool = new_spool(fixture, 0, "a");
    assert_int_equal(spool_write(spool, 0, "bytes", 5, NULL), STATUS_OK);
    spool_leave(spool);
    spool_drop(spool);
    spools_done(&fixture->spools);
    assert_int_equal(scratch_count(fixture->folder, 0), 2);
    assert_int_equal(spools_init(&fixture->spools, fixture->folder, 0, NULL), STATUS_OK);
}

static void not_too_many_are_kept(void **state)
{
    enum { MANY = 100 };
    struct fixture *fixture = *state;
    struct spool *spools[MANY];
    for (int i = 0; i < MANY; i++)
        spools[i] = new_spool(fixture, 0, "a");
    assert_int_equal(scratch_count(fixture->folder, 0), 2 * MANY);
    for (int i = 0; i < MANY; i++)
        spool_drop(spools[i]);
    assert_in_range(scratch_count(fixture->folder, 0), 2, MANY);
    spools_done(&fixture->spools);
    assert_int_equal(access(fixture->folder, F_OK), -1); /* nothing is left of it */
    assert_int_equal(spools_init(&fixture->spools, fixture->folder, 0, NULL), STATUS_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_used_again_is_empty), TEST(what_is_held_is_not_used_again), TEST(what_was_moved_away_stays_whole),
        TEST(what_is_to_stay_stays),      TEST(not_too_many_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
