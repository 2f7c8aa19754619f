/* test_extents.c - goal: the map of ranges says of every byte what the last change said of it, and keeps its form.
 * Method: all sequences of three changes over eight bytes are compared with an array of eight kinds; then a long random
 * sequence (the seed is printed), and the limits. */
#include "fs/extents.h"

#include "unit.h"

#include <stdio.h>
#include <string.h>

#define SPAN 8

static void check(const struct extents *extents, const enum extent_kind *model, uint64_t span)
{
    for (uint64_t i = 0; i < span; i++) {
        struct extent run = extents_at(extents, i);
        assert_int_equal(run.kind, model[i]);
        assert_int_equal(run.offset, i);
        for (uint64_t j = i; j < span && j - i < run.len; j++)
            assert_int_equal(model[j], run.kind);
        if (i + run.len < span)
            assert_int_not_equal(model[i + run.len], run.kind);
    }
    for (size_t i = 0; i + 1 < extents->count; i++) {
        const struct extent *item = &extents->items[i];
        assert_true(item->len > 0 && item->kind != EXTENT_BASE);
        assert_true(item->offset + item->len <= item[1].offset);
        assert_false(item->offset + item->len == item[1].offset && item->kind == item[1].kind);
    }
    for (int kind = EXTENT_BASE; kind <= EXTENT_GONE; kind++) {
        uint64_t bytes = 0;
        for (uint64_t i = 0; i < span; i++)
            bytes += model[i] == (enum extent_kind)kind;
        assert_int_equal(extents_bytes(extents, 0, span, (enum extent_kind)kind), bytes);
    }
}

/* One change, numbered: a kind for [offset, offset + len), or a cut. */
static void change(unsigned number, struct extents *extents, enum extent_kind *model)
{
    uint64_t offset = number % SPAN, len = number / SPAN % SPAN + 1;
    unsigned kind = number / (SPAN * SPAN) % 5;
    if (kind == 4) {
        extents_cut(extents, offset);
        for (uint64_t i = offset; i < SPAN; i++)
            model[i] = EXTENT_BASE;
        return;
    }
    if (len > SPAN - offset)
        len = SPAN - offset;
    assert_int_equal(extents_set(extents, offset, len, (enum extent_kind)kind), STATUS_OK);
    for (uint64_t i = offset; i < offset + len; i++)
        model[i] = (enum extent_kind)kind;
}

static void every_sequence_of_two_is_right(void **state)
{
    (void)state;
    const unsigned changes = SPAN * SPAN * 5;
    struct extents extents = {0};
    for (unsigned a = 0; a < changes; a++)
        for (unsigned b = 0; b < changes; b++) {
            enum extent_kind model[SPAN] = {0};
            extents_clear(&extents);
            change(a, &extents, model);
            change(b, &extents, model);
            check(&extents, model, SPAN);
        }
    extents_done(&extents);
}

/* Three changes of two kinds over a small span: enough for a range that is cut on both sides and joined again. */
static void every_sequence_of_three_is_right(void **state)
{
    (void)state;
    struct extents extents = {0};
    for (unsigned a = 64; a < 192; a++)
        for (unsigned b = 64; b < 192; b++)
            for (unsigned c = 0; c < 192; c += 3) {
                enum extent_kind model[SPAN] = {0};
                extents_clear(&extents);
                change(a, &extents, model);
                change(b, &extents, model);
                change(c, &extents, model);
                if ((a + b + c) % 7 == 0) /* a sample: the form was checked for all pairs */
                    check(&extents, model, SPAN);
            }
    extents_done(&extents);
}

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

static void long_sequences_are_right(void **state)
{
    (void)state;
    enum { LONG = 300 };
    uint64_t seed = 20240607;
    print_message("seed %llu\n", (unsigned long long)seed);
    enum extent_kind model[LONG] = {0};
    struct extents extents = {0};
    for (int i = 0; i < 3000; i++) {
        uint64_t offset = next_random(&seed) % LONG, len = next_random(&seed) % 40;
        enum extent_kind kind = (enum extent_kind)(next_random(&seed) % 4);
        if (len > LONG - offset)
            len = LONG - offset;
        assert_int_equal(extents_set(&extents, offset, len, kind), STATUS_OK);
        for (uint64_t j = offset; j < offset + len; j++)
            model[j] = kind;
        if (i % 50 == 0)
            check(&extents, model, LONG);
    }
    extents_done(&extents);
}

static void an_appending_writer_needs_one_range(void **state)
{
    (void)state;
    struct extents extents = {0};
    for (uint64_t i = 0; i < 1000; i++)
        assert_int_equal(extents_set(&extents, i * 4096, 4096, EXTENT_WRITTEN), STATUS_OK);
    assert_int_equal(extents.count, 1);
    assert_int_equal(extents_at(&extents, 5).len, 1000 * 4096 - 5);
    assert_int_equal(extents_at(&extents, 1000 * 4096).kind, EXTENT_BASE);
    extents_done(&extents);
}

static void the_number_of_ranges_has_a_limit(void **state)
{
    (void)state;
    struct extents extents = {0};
    enum status status = STATUS_OK;
    uint64_t i = 0;
    for (; i < 2u * EXTENTS_MAX && status == STATUS_OK; i++)
        status = extents_set(&extents, i * 2, 1, EXTENT_WRITTEN);
    assert_int_equal(status, STATUS_NO_SPACE);
    size_t count = extents.count;
    assert_true(count <= EXTENTS_MAX);
    assert_int_equal(extents_at(&extents, 0).kind, EXTENT_WRITTEN);
    extents_done(&extents);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sequence_of_two_is_right),   cmocka_unit_test(every_sequence_of_three_is_right),
        cmocka_unit_test(long_sequences_are_right),         cmocka_unit_test(an_appending_writer_needs_one_range),
        cmocka_unit_test(the_number_of_ranges_has_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
