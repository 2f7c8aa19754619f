/* fold.h - CRC-64/NVME by carry-less multiplication, for processors that have it. Private to base/ (digest.c).
 *
 * A CRC is a remainder modulo a polynomial, so sixty-four bytes may be folded onto the sixty-four behind them, by
 * multiplication with what x^512 leaves, without changing it (V. Gopal and others: "Fast CRC Computation for Generic
 * Polynomials Using PCLMULQDQ Instruction", Intel, 2009). What remains of any length are sixteen bytes. Pure. */
#ifndef READYFS_BASE_FOLD_H
#define READYFS_BASE_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FOLD_BYTES      64 /* a length is folded in pieces of this many bytes */
#define FOLD_REST_BYTES 16

/* Whether this processor can. */
bool fold_possible(void);

/* Folds `len` bytes, a multiple of FOLD_BYTES and not 0, that follow the inner state `state` (inverted, as the loop of
 * a CRC holds it). `ret_rest` gets bytes that leave, from an inner state of 0, the state that the folded ones leave
 * from `state`. Only where fold_possible(). */
void fold(uint64_t state, const void *bytes, size_t len, uint8_t ret_rest[FOLD_REST_BYTES]);

#endif
