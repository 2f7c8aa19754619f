/* id.c - generated names. */
#include "core/id.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

void id_text(const uint8_t random[ID_BYTES], char ret_text[ID_TEXT_SIZE])
{
    hex_encode(random, ID_BYTES, ret_text);
}

enum status id_blob_name(const char *prefix, const uint8_t random[ID_BYTES], char ret_name[LIMIT_BLOB_NAME_BYTES])
{
    char text[ID_TEXT_SIZE], name[LIMIT_BLOB_NAME_BYTES];
    id_text(random, text);
    int len = snprintf(name, sizeof name, "%sd/%.2s/%s", prefix, text, text);
    if (len < 0 || len >= LIMIT_BLOB_NAME_BYTES)
        return STATUS_NAME_TOO_LONG;
    memcpy(ret_name, name, (size_t)len + 1);
    return STATUS_OK;
}

static void put_big_endian(uint8_t *out, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++)
        out[i] = (uint8_t)(value >> (24 - 8 * i));
}

/* 16 bytes of the upload, 4 of the index, 4 of the generation, 8 zeros: room for later, at a length that never changes.
 */
void id_block(const uint8_t upload[ID_BYTES], uint32_t index, uint32_t generation, char ret_id[BLOCK_ID_TEXT_SIZE])
{
    uint8_t bytes[32] = {0};
    memcpy(bytes, upload, ID_BYTES);
    put_big_endian(bytes + ID_BYTES, index);
    put_big_endian(bytes + ID_BYTES + 4, generation);
    base64_encode(bytes, sizeof bytes, ret_id);
}
