/* fold.c - folding a length onto its last sixteen bytes. */
#include "base/fold.h"

#include "base/cleanup.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define WITH_MULTIPLICATION __attribute__((target("pclmul,sse2")))

/* What x^575, x^511, x^191 and x^127 leave modulo the polynomial, reflected. The product of two reflected numbers is
 * one bit short of the place that it should have, hence 511 and not 512. */
#define X_575 0x0c32cdb31e18a84aLL
#define X_511 0x62242240ace5045aLL
#define X_191 ((long long)0xeadc41fd2ba3d420ull)
#define X_127 0x21e9761e252621acLL

bool fold_possible(void)
{
    return __builtin_cpu_supports("pclmul");
}

WITH_MULTIPLICATION static inline __m128i onto(__m128i value, __m128i powers, __m128i next)
{
    __m128i early = _mm_clmulepi64_si128(value, powers, 0x00), late = _mm_clmulepi64_si128(value, powers, 0x11);
    return _mm_xor_si128(_mm_xor_si128(early, late), next);
}

WITH_MULTIPLICATION static inline __m128i load(const uint8_t *bytes)
{
    return _mm_loadu_si128((const __m128i_u *)bytes);
}

WITH_MULTIPLICATION void fold(uint64_t state, const void *bytes, size_t len, uint8_t ret_rest[FOLD_REST_BYTES])
{
    INVARIANT(len && len % FOLD_BYTES == 0);
    const __m128i far = _mm_set_epi64x(X_511, X_575), near = _mm_set_epi64x(X_127, X_191);
    const uint8_t *in = bytes;
    __m128i a = _mm_xor_si128(load(in), _mm_set_epi64x(0, (long long)state));
    __m128i b = load(in + 16), c = load(in + 32), d = load(in + 48);
    for (in += FOLD_BYTES, len -= FOLD_BYTES; len; in += FOLD_BYTES, len -= FOLD_BYTES) {
        a = onto(a, far, load(in));
        b = onto(b, far, load(in + 16));
        c = onto(c, far, load(in + 32));
        d = onto(d, far, load(in + 48));
    }
    _mm_storeu_si128((__m128i_u *)ret_rest, onto(onto(onto(a, near, b), near, c), near, d));
}

#else

bool fold_possible(void)
{
    return false;
}

void fold(uint64_t state, const void *bytes, size_t len, uint8_t ret_rest[FOLD_REST_BYTES])
{
    (void)state, (void)bytes, (void)len, (void)ret_rest;
    INVARIANT(fold_possible());
}

#endif
