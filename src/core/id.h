/* id.h - generated names: 128 random bits in lower-case hex, never derived from a path, never reused (P2). Pure. */
#ifndef READYFS_CORE_ID_H
#define READYFS_CORE_ID_H

#include "base/err.h"
#include "base/limits.h"

#include <stdint.h>

#define ID_BYTES           16
#define ID_TEXT_SIZE       33 /* 32 digits and NUL */
#define BLOCK_ID_TEXT_SIZE 45 /* base64 of 32 bytes, and NUL */

/* 32 hex digits of 16 random bytes. */
void id_text(const uint8_t random[ID_BYTES], char ret_text[ID_TEXT_SIZE]);

/* PREFIX + "d/" + 2 digits + "/" + 32 digits: the first two spread a local folder over 256 subfolders. `prefix` is ""
 * or ends in '/'. NAME_TOO_LONG where it does not fit LIMIT_BLOB_NAME_BYTES. */
MUST_CHECK enum status id_blob_name(const char *prefix, const uint8_t random[ID_BYTES],
                                    char ret_name[LIMIT_BLOB_NAME_BYTES]);

/* A block's id: base64 of 16 bytes of the upload's own randomness, the block's index and how often that index was
 * staged, so that all ids have one length and none ever carries different bytes (P2). */
void id_block(const uint8_t upload[ID_BYTES], uint32_t index, uint32_t generation, char ret_id[BLOCK_ID_TEXT_SIZE]);

#endif
