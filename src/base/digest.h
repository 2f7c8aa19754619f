/* digest.h - the digests that readyfs computes.
 *
 * CRC-64/NVME (reflected, polynomial 0x9A6C9329AC4BC9B5, init and xorout all ones, check value 0xAE8B14860A799888 for
 * "123456789"; NVM Express NVM Command Set Specification, 5.2.1.3.4) is what Azure Storage calls crc64. It is the
 * digest of every block and of the whole, because that of a whole combines from those of its parts. MD5 and HMAC-SHA256
 * are OpenSSL's. Pure, any thread.
 */
#ifndef READYFS_BASE_DIGEST_H
#define READYFS_BASE_DIGEST_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define MD5_BYTES    16
#define SHA256_BYTES 32

/* The CRC of bytes that follow those whose CRC is `crc`; start with 0. */
uint64_t crc64(uint64_t crc, const void *bytes, size_t len);

/* The CRC of A followed by B, from crc(A), crc(B) and B's length in bytes. O(log len). */
uint64_t crc64_combine(uint64_t crc_a, uint64_t crc_b, uint64_t len_b);

MUST_CHECK enum status md5(const void *bytes, size_t len, uint8_t ret_digest[MD5_BYTES]);
MUST_CHECK enum status hmac_sha256(const void *key, size_t key_len, const void *bytes, size_t len,
                                   uint8_t ret_digest[SHA256_BYTES]);
MUST_CHECK enum status sha256(const void *bytes, size_t len, uint8_t ret_digest[SHA256_BYTES]);

#endif
