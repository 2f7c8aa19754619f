/* test_digest.c - goal: the digests are those of the standards, for every length and split.
 * Method: published values, and for the CRC a second implementation that takes one bit at a time. */
#include "base/digest.h"

#include "base/text.h"

#include "unit.h"

#include <stdlib.h>
#include <string.h>

static uint64_t bitwise(const uint8_t *bytes, size_t len)
{
    uint64_t crc = ~0ull;
    for (size_t i = 0; i < len; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x9A6C9329AC4BC9B5ull : 0);
    }
    return ~crc;
}

/* Bytes that repeat late: a multiplicative generator (Knuth's MMIX constants). */
static void fill(uint8_t *bytes, size_t len)
{
    uint64_t x = 88172645463325252ull;
    for (size_t i = 0; i < len; i++) {
        x = x * 6364136223846793005ull + 1442695040888963407ull;
        bytes[i] = (uint8_t)(x >> 56);
    }
}

static void crc_known_values(void **state)
{
    (void)state;
    assert_true(crc64(0, "", 0) == 0);
    assert_true(crc64(0, "123456789", 9) == 0xAE8B14860A799888ull);
    uint64_t crc = crc64(0, "hello", 5);
    uint8_t little[8];
    char text[BASE64_SIZE(8)];
    for (unsigned i = 0; i < 8; i++)
        little[i] = (uint8_t)(crc >> 8 * i);
    base64_encode(little, sizeof little, text);
    assert_string_equal(text, "V0JSBnCFdzM="); /* what the service says */
}

static void crc_of_every_length_and_alignment(void **state)
{
    (void)state;
    uint8_t bytes[320];
    fill(bytes, sizeof bytes);
    for (size_t at = 0; at < 16; at++)
        for (size_t len = 0; len + at <= sizeof bytes; len++)
            assert_true(crc64(0, bytes + at, len) == bitwise(bytes + at, len));
}

static void crc_continues_and_combines(void **state)
{
    (void)state;
    uint8_t bytes[777];
    fill(bytes, sizeof bytes);
    uint64_t whole = bitwise(bytes, sizeof bytes);
    for (size_t cut = 0; cut <= sizeof bytes; cut++) {
        uint64_t a = crc64(0, bytes, cut), b = crc64(0, bytes + cut, sizeof bytes - cut);
        assert_true(crc64(a, bytes + cut, sizeof bytes - cut) == whole);
        assert_true(crc64_combine(a, b, sizeof bytes - cut) == whole);
    }
}

/* Lengths beyond 32 bits cannot be computed here byte by byte, but two roads to the same text must meet. */
static void crc_combines_long_lengths(void **state)
{
    (void)state;
    uint8_t piece[4096];
    fill(piece, sizeof piece);
    uint64_t head = crc64(0, "head", 4), half = crc64(0, piece, sizeof piece), len = sizeof piece;
    for (; len < 1ull << 40; len *= 2)
        half = crc64_combine(half, half, len);
    uint64_t whole = crc64_combine(half, half, len);
    uint64_t one_road = crc64_combine(crc64_combine(head, half, len), half, len);
    assert_true(crc64_combine(head, whole, 2 * len) == one_road);
    assert_true(one_road != head);
}

static void assert_digest(const uint8_t *digest, size_t len, const char *expected)
{
    char text[HEX_SIZE(32)];
    hex_encode(digest, len, text);
    assert_string_equal(text, expected);
}

static void md5_known_values(void **state)
{
    (void)state;
    uint8_t out[MD5_BYTES];
    assert_int_equal(md5("", 0, out), STATUS_OK);
    assert_digest(out, sizeof out, "d41d8cd98f00b204e9800998ecf8427e");
    assert_int_equal(md5("message digest", 14, out), STATUS_OK);
    assert_digest(out, sizeof out, "f96b697d7cb7938d525a2f31aaf161d0");
}

static void sha256_known_values(void **state)
{
    (void)state;
    uint8_t out[SHA256_BYTES];
    assert_int_equal(sha256("", 0, out), STATUS_OK);
    assert_digest(out, sizeof out, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_int_equal(sha256("abc", 3, out), STATUS_OK);
    assert_digest(out, sizeof out, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void hmac_known_values(void **state)
{
    (void)state;
    uint8_t out[SHA256_BYTES], long_key[131];
    memset(long_key, 0xaa, sizeof long_key);
    assert_int_equal(hmac_sha256("Jefe", 4, "what do ya want for nothing?", 28, out), STATUS_OK); /* RFC 4231, 4.3 */
    assert_digest(out, sizeof out, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    static const char message[] = "Test Using Larger Than Block-Size Key - Hash Key First"; /* RFC 4231, 4.7 */
    assert_int_equal(hmac_sha256(long_key, sizeof long_key, message, sizeof message - 1, out), STATUS_OK);
    assert_digest(out, sizeof out, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    assert_int_equal(hmac_sha256(NULL, 0, "", 0, out), STATUS_OK);
    assert_digest(out, sizeof out, "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crc_known_values),           cmocka_unit_test(crc_of_every_length_and_alignment),
        cmocka_unit_test(crc_continues_and_combines), cmocka_unit_test(crc_combines_long_lengths),
        cmocka_unit_test(md5_known_values),           cmocka_unit_test(sha256_known_values),
        cmocka_unit_test(hmac_known_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
