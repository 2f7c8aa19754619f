/* digest.c - CRC-64/NVME, its combination, and OpenSSL's digests behind one face.
 *
 * Where the processor can, most of a long text is folded away first (fold.h). The rest is computed by slicing: with
 * bytes b0..b15 that follow the state, the new state is the exclusive or of sixteen table entries, since a CRC is
 * linear (M. Kounavis, F. Berry: "Novel Table Lookup-Based Algorithms for High-Performance CRC Generation", IEEE
 * Transactions on Computers, 2008). Table k holds what a byte becomes that 8 * (k + 1) further bits follow; by the same
 * linearity its 256 entries are sums of eight, and these are x^64 to x^191 modulo the polynomial, written below. The
 * compiler builds the tables.
 */
#include "base/digest.h"

#include "base/fold.h"

#include <openssl/evp.h>
#include <string.h>

#define POLYNOMIAL       0x9a6c9329ac4bc9b5u
#define FOLD_WORTH_BYTES 128                 /* shorter texts are faster without */
#define ONE              0x8000000000000000u /* x^0: reflected, the highest bit is the lowest power */

#define BIT(n, bit, value) ((n) & (1 << (bit)) ? (uint64_t)(value) : 0)
#define ENTRY(n, a, b, c, d, e, f, g, h)                                                                               \
    BIT(n, 0, a) ^ BIT(n, 1, b) ^ BIT(n, 2, c) ^ BIT(n, 3, d) ^ BIT(n, 4, e) ^ BIT(n, 5, f) ^ BIT(n, 6, g) ^           \
        BIT(n, 7, h)
#define FOUR(n, ...)                                                                                                   \
    ENTRY(n, __VA_ARGS__), ENTRY((n) + 1, __VA_ARGS__), ENTRY((n) + 2, __VA_ARGS__), ENTRY((n) + 3, __VA_ARGS__)
#define SIXTEEN(n, ...)                                                                                                \
    FOUR(n, __VA_ARGS__), FOUR((n) + 4, __VA_ARGS__), FOUR((n) + 8, __VA_ARGS__), FOUR((n) + 12, __VA_ARGS__)
#define SIXTY_FOUR(n, ...)                                                                                             \
    SIXTEEN(n, __VA_ARGS__), SIXTEEN((n) + 16, __VA_ARGS__), SIXTEEN((n) + 32, __VA_ARGS__),                           \
        SIXTEEN((n) + 48, __VA_ARGS__)
#define ROW(...)                                                                                                       \
    {                                                                                                                  \
        SIXTY_FOUR(0, __VA_ARGS__), SIXTY_FOUR(64, __VA_ARGS__), SIXTY_FOUR(128, __VA_ARGS__),                         \
            SIXTY_FOUR(192, __VA_ARGS__)                                                                               \
    }

/* clang-format off */
static const uint64_t table[16][256] = {
    ROW(0x7f6ef0c830358979, 0xfedde190606b12f2, 0xc962e5739841b68f, 0xa61cecb46814fe75,
        0x78e0ff3b88be6f81, 0xf1c1fe77117cdf02, 0xd75adabd7a6e2d6f, 0x9a6c9329ac4bc9b5),
    ROW(0x8776a97d73bddf69, 0x3a3474a9bfec2db9, 0x7468e9537fd85b72, 0xe8d1d2a6ffb0b6e4,
        0xe57a831ea7f6fea3, 0xfe2c206e177a6e2d, 0xc881668f76634f31, 0xa5dbeb4db4510d09),
    ROW(0xff6e4e1f4e4038be, 0xca05ba6dc417e217, 0xa0d25288d0b85745, 0x757d8342f9e73de1,
        0xeafb0685f3ce7bc2, 0xe12f2b58bf0b64ef, 0xf68770e226815ab5, 0xd9d7c79715952601),
    ROW(0x8211147cbaf96306, 0x30fb0eaa2d655567, 0x61f61d545acaaace, 0xc3ec3aa8b595559c,
        0xb301530233bd3853, 0x52db80573fede3cd, 0xa5b700ae7fdbc79a, 0x7fb7270fa7201c5f),
    ROW(0x373d15f784905d1e, 0x6e7a2bef0920ba3c, 0xdcf457de12417478, 0x8d3189ef7c157b9b,
        0x2eba358da0bd645d, 0x5d746b1b417ac8ba, 0xbae8d63682f59174, 0x41088a3e5d7cb183),
    ROW(0xe9742a79ef04a5d4, 0xe63172a0869ed8c3, 0xf8bbc31255aa22ed, 0xc5aea077f3c3d6b1,
        0xbf8466bcbf103e09, 0x4bd1eb2a26b7ef79, 0x97a3d6544d6fdef2, 0x1b9e8afbc2482e8f),
    ROW(0xfc5d27f6bf353971, 0xcc6369be26fde189, 0xac1ff52f156c5079, 0x6ce6cc0d724f3399,
        0xd9cd981ae49e6732, 0x8742166691ab5d0f, 0x3a5d0a9e7bc12975, 0x74ba153cf78252ea),
    ROW(0x21e9761e252621ac, 0x43d2ec3c4a4c4358, 0x87a5d878949886b0, 0x3b9296a271a69e0b,
        0x77252d44e34d3c16, 0xee4a5a89c69a782c, 0xe84d9340d5a36333, 0xe44200d2f3d1550d),
    ROW(0x04f28def5347786c, 0x09e51bdea68ef0d8, 0x13ca37bd4d1de1b0, 0x27946f7a9a3bc360,
        0x4f28def5347786c0, 0x9e51bdea68ef0d80, 0x087a5d878949886b, 0x10f4bb0f129310d6),
    ROW(0x49e1df807414fdef, 0x93c3bf00e829fbde, 0x135e585288c464d7, 0x26bcb0a51188c9ae,
        0x4d79614a2311935c, 0x9af2c294462326b8, 0x013ca37bd4d1de1b, 0x027946f7a9a3bc36),
    ROW(0x52734ea3e726fc54, 0xa4e69d47ce4df8a8, 0x7d141cdcc40c623b, 0xfa2839b98818c476,
        0xc089552048a61b87, 0xb5cb8c13c9dba465, 0x5f4e3e74cb20dba1, 0xbe9c7ce99641b742),
    ROW(0x668ab3bbc976d29d, 0xcd15677792eda53a, 0xaef3e8bc7d4cd91f, 0x693ef72ba20e2155,
        0xd27dee57441c42aa, 0x9022fafdd0af163f, 0x149cd3a8f9c9bf15, 0x2939a751f3937e2a),
    ROW(0xf2fa1fae5f5c1165, 0xd12d190fe62fb1a1, 0x9683144c94c8f029, 0x19df0eca71067339,
        0x33be1d94e20ce672, 0x677c3b29c419cce4, 0xcef87653883399c8, 0xa929caf448f0a0fb),
    ROW(0x9065cb6e6d39918a, 0x1412b08f82e4b07f, 0x2825611f05c960fe, 0x504ac23e0b92c1fc,
        0xa095847c172583f8, 0x75f22eab76dc949b, 0xebe45d56edb92936, 0xe3119cfe83e5c107),
    ROW(0xc23dfbc6ca591ca3, 0xb0a2d1decc25aa2d, 0x559c85eec0dcc731, 0xab390bdd81b98e62,
        0x62ab31e85be48faf, 0xc55663d0b7c91f5e, 0xbe75e1f23705add7, 0x4832e5b7369cc8c5),
    ROW(0xeadc41fd2ba3d420, 0xe161a5a90fd03b2b, 0xf61a6d014737e53d, 0xd8edfc51d6f85911,
        0x8502def0f5672149, 0x3edc9bb2b259d1f9, 0x7db9376564b3a3f2, 0xfb726ecac96747e4),
};
/* clang-format on */

static uint64_t load(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* The eight bytes of `word`, the first of which 8 * (k + 1) further bits follow. */
static inline uint64_t slice(uint64_t word, unsigned k)
{
    return table[k][word & 255] ^ table[k - 1][word >> 8 & 255] ^ table[k - 2][word >> 16 & 255] ^
           table[k - 3][word >> 24 & 255] ^ table[k - 4][word >> 32 & 255] ^ table[k - 5][word >> 40 & 255] ^
           table[k - 6][word >> 48 & 255] ^ table[k - 7][word >> 56];
}

/* The inner state after `len` further bytes. */
static uint64_t advance(uint64_t state, const uint8_t *in, size_t len)
{
    for (; len >= 16; in += 16, len -= 16)
        state = slice(state ^ load(in), 15) ^ slice(load(in + 8), 7);
    for (; len; in++, len--)
        state = state >> 8 ^ table[0][(state ^ *in) & 255];
    return state;
}

uint64_t crc64(uint64_t crc, const void *bytes, size_t len)
{
    const uint8_t *in = bytes;
    size_t folded = len >= FOLD_WORTH_BYTES && fold_possible() ? len / FOLD_BYTES * FOLD_BYTES : 0;
    uint64_t state = ~crc;
    if (folded) {
        uint8_t rest[FOLD_REST_BYTES];
        fold(state, in, folded, rest);
        state = advance(0, rest, sizeof rest);
    }
    return ~advance(state, in + folded, len - folded);
}

/* a * b modulo the polynomial. */
static uint64_t multiply(uint64_t a, uint64_t b)
{
    uint64_t product = 0;
    for (uint64_t bit = ONE; bit; bit >>= 1) {
        product ^= a & bit ? b : 0;
        b = b >> 1 ^ (b & 1 ? POLYNOMIAL : 0);
    }
    return product;
}

/* A's CRC is moved past B's bits: multiplied by x^(8 * len_b), which repeated squaring finds. The all-ones start and
 * end values cancel out, since both sides carry them. */
uint64_t crc64_combine(uint64_t crc_a, uint64_t crc_b, uint64_t len_b)
{
    uint64_t shift = ONE, power = ONE >> 8; /* x^8 */
    for (; len_b; len_b >>= 1) {
        if (len_b & 1)
            shift = multiply(shift, power);
        power = multiply(power, power);
    }
    return multiply(shift, crc_a) ^ crc_b;
}

/* UNSUPPORTED where OpenSSL's configuration forbids the digest (MD5 under FIPS). */
static enum status digest(const char *name, const void *bytes, size_t len, uint8_t *ret_digest)
{
    return EVP_Q_digest(NULL, name, NULL, bytes, len, ret_digest, NULL) == 1 ? STATUS_OK : STATUS_UNSUPPORTED;
}

enum status md5(const void *bytes, size_t len, uint8_t ret_digest[MD5_BYTES])
{
    return digest("MD5", bytes, len, ret_digest);
}

enum status sha256(const void *bytes, size_t len, uint8_t ret_digest[SHA256_BYTES])
{
    return digest("SHA256", bytes, len, ret_digest);
}

enum status hmac_sha256(const void *key, size_t key_len, const void *bytes, size_t len,
                        uint8_t ret_digest[SHA256_BYTES])
{
    /* OpenSSL takes a NULL key for "the one set before", so an empty key must still point somewhere. */
    size_t ret_len = 0;
    uint8_t *done = EVP_Q_mac(NULL, "HMAC", NULL, "SHA256", NULL, key_len ? key : "", key_len, bytes, len, ret_digest,
                              SHA256_BYTES, &ret_len);
    return done && ret_len == SHA256_BYTES ? STATUS_OK : STATUS_UNSUPPORTED;
}
