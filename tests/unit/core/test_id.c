/* test_id.c - goal: generated names have their form and their limit, and block ids are all different and of one length
 * (P2).
 * Method: known bytes, every prefix length around the limit, ids of many indexes and generations. */
#include "core/id.h"

#include "base/text.h"

#include "unit.h"

#include <stdio.h>
#include <string.h>

static const uint8_t random_bytes[ID_BYTES] = {0xab, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xff};

static void names(void **state)
{
    (void)state;
    char text[ID_TEXT_SIZE], name[LIMIT_BLOB_NAME_BYTES];
    id_text(random_bytes, text);
    assert_string_equal(text, "ab0102030405060708090a0b0c0d0eff");
    assert_int_equal(id_blob_name("", random_bytes, name), STATUS_OK);
    assert_string_equal(name, "d/ab/ab0102030405060708090a0b0c0d0eff");
    assert_int_equal(id_blob_name("team/a/", random_bytes, name), STATUS_OK);
    assert_string_equal(name, "team/a/d/ab/ab0102030405060708090a0b0c0d0eff");
}

static void the_limit(void **state)
{
    (void)state;
    char prefix[LIMIT_BLOB_NAME_BYTES + 1], name[LIMIT_BLOB_NAME_BYTES] = "untouched";
    for (size_t len = LIMIT_BLOB_NAME_BYTES - 50; len <= LIMIT_BLOB_NAME_BYTES; len++) {
        memset(prefix, 'p', len);
        prefix[len] = '\0';
        bool fits = len + 37 < LIMIT_BLOB_NAME_BYTES;
        (void)snprintf(name, sizeof name, "untouched");
        assert_int_equal(id_blob_name(prefix, random_bytes, name), fits ? STATUS_OK : STATUS_NAME_TOO_LONG);
        if (fits)
            assert_int_equal(strlen(name), len + 37);
        else
            assert_string_equal(name, "untouched");
    }
}

static void block_ids_differ_and_have_one_length(void **state)
{
    (void)state;
    static const uint32_t values[] = {0, 1, 255, 256, 49999, 65536, UINT32_MAX};
    enum { N = sizeof values / sizeof *values };
    static char ids[N * N][BLOCK_ID_TEXT_SIZE];
    for (size_t i = 0; i < N * N; i++) {
        id_block(random_bytes, values[i / N], values[i % N], ids[i]);
        assert_int_equal(strlen(ids[i]), BLOCK_ID_TEXT_SIZE - 1);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(ids[i], ids[k]);
    }
    uint8_t bytes[32], other[ID_BYTES] = {0};
    size_t len = 0;
    char id[BLOCK_ID_TEXT_SIZE];
    id_block(random_bytes, 0x01020304, 5, id);
    assert_true(base64_decode(id, bytes, sizeof bytes, &len));
    assert_int_equal(len, 32);
    assert_memory_equal(bytes, random_bytes, ID_BYTES);
    assert_memory_equal(bytes + ID_BYTES, "\1\2\3\4\0\0\0\5", 8);
    id_block(other, 0, 0, id);
    assert_string_not_equal(id, ids[0]); /* another upload, another id */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(the_limit),
        cmocka_unit_test(block_ids_differ_and_have_one_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
