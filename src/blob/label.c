/* label.c - labels as attributes and as text; one list of keys for both. */
#include "blob/label.h"

#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>

#define ATTRIBUTE "user.readyfs."

/* The token stands first: a blob is ours by its token. */
static const char *const keys[] = {"token", "catalogue", "document", "version", "name", "type", "crc64"};
#define KEYS (sizeof keys / sizeof *keys)

/* The value of keys[i], "" for none; numbers are written to `number`. */
static const char *value_of(const struct blob_about *about, uint64_t crc64, size_t i, char number[32])
{
    const char *texts[] = {about->token,    about->catalogue,    number, number,
                           about->name_hex, about->content_type, number};
    if (i == 2 || i == 3)
        (void)snprintf(number, 32, "%" PRId64, i == 2 ? about->document : about->version);
    if (i == 6)
        (void)snprintf(number, 32, "%016" PRIx64, crc64);
    return texts[i] ? texts[i] : "";
}

int label_attach(int fd, const struct blob_about *about, uint64_t crc64)
{
    for (size_t i = 0; i < KEYS; i++) {
        char attribute[32], number[32];
        const char *value = value_of(about, crc64, i, number);
        (void)snprintf(attribute, sizeof attribute, ATTRIBUTE "%s", keys[i]);
        if (*value && fsetxattr(fd, attribute, value, strlen(value), 0))
            return errno;
    }
    return 0;
}

static void set_text(char *ret_text, size_t size, const char *value)
{
    if (strlen(value) < size)
        (void)snprintf(ret_text, size, "%s", value);
}

static int64_t number_of(const char *value)
{
    uint64_t number = 0;
    return parse_uint64(value, 0, INT64_MAX, &number) ? (int64_t)number : 0;
}

static void set_crc64(struct blob_facts *facts, const char *value)
{
    uint8_t bytes[8];
    if (!hex_decode(value, bytes, sizeof bytes))
        return;
    facts->crc64 = 0;
    for (size_t i = 0; i < sizeof bytes; i++)
        facts->crc64 = facts->crc64 << 8 | bytes[i];
    facts->has_crc64 = true;
}

/* Takes one pair in; unknown keys and damaged values tell nothing. */
static void take_in(struct blob_facts *facts, const char *key, const char *value)
{
    if (strcmp(key, "token") == 0)
        set_text(facts->token, sizeof facts->token, value);
    else if (strcmp(key, "catalogue") == 0)
        set_text(facts->catalogue, sizeof facts->catalogue, value);
    else if (strcmp(key, "document") == 0)
        facts->document = number_of(value);
    else if (strcmp(key, "version") == 0)
        facts->version = number_of(value);
    else if (strcmp(key, "crc64") == 0)
        set_crc64(facts, value);
}

bool label_detect(int fd, struct blob_facts *facts)
{
    for (size_t i = 0; i < KEYS; i++) {
        char attribute[32], value[64];
        (void)snprintf(attribute, sizeof attribute, ATTRIBUTE "%s", keys[i]);
        if (strcmp(keys[i], "name") == 0 || strcmp(keys[i], "type") == 0)
            continue; /* for rebuilding a catalogue, which reads them by itself */
        ssize_t len = fgetxattr(fd, attribute, value, sizeof value - 1);
        if (len < 0 && i == 0)
            return false;
        value[len < 0 ? 0 : len] = '\0';
        take_in(facts, keys[i], value);
    }
    return facts->token[0] != '\0';
}

enum status label_print(struct buf *buf, const struct blob_about *about, uint64_t crc64)
{
    for (size_t i = 0; i < KEYS; i++) {
        char number[32];
        const char *value = value_of(about, crc64, i, number);
        if (strchr(value, '\n'))
            return STATUS_INVALID;
        enum status status = *value ? buf_printf(buf, "%s=%s\n", keys[i], value) : STATUS_OK;
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

void label_parse(const char *text, struct blob_facts *facts)
{
    while (*text) {
        char line[LABEL_TEXT_MAX];
        size_t len = strcspn(text, "\n");
        (void)snprintf(line, sizeof line, "%.*s", (int)(len < sizeof line ? len : 0), text);
        char *equals = strchr(line, '=');
        if (equals) {
            *equals = '\0';
            take_in(facts, line, equals + 1);
        }
        text += len + (text[len] == '\n');
    }
}
