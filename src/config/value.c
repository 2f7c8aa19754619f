/* value.c - the reading of a value as its key's type. */
#include "config/key.h"

#include "base/buf.h"
#include "base/text.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

struct unit {
    const char *name;
    int64_t factor;
};

static const struct unit size_units[] = {
    {"", 1},          {"K", 1LL << 10},   {"KiB", 1LL << 10}, {"M", 1LL << 20},   {"MiB", 1LL << 20},
    {"G", 1LL << 30}, {"GiB", 1LL << 30}, {"T", 1LL << 40},   {"TiB", 1LL << 40}, {NULL, 0},
};
static const struct unit duration_units[] = {
    {"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}, {NULL, 0},
};
static const struct unit plain_units[] = {{"", 1}, {NULL, 0}};

/* Digits with a unit behind them, from key->min to key->max. */
static bool read_number(const struct key *key, const char *value, const struct unit *units, int64_t *ret_number)
{
    char digits[24];
    size_t len = strspn(value, "0123456789");
    uint64_t number = 0;
    int64_t product = 0;
    if (!len || len >= sizeof digits)
        return false;
    memcpy(digits, value, len);
    digits[len] = '\0';
    while (units->name && strcasecmp(units->name, value + len) != 0)
        units++;
    if (!units->name || !parse_uint64(digits, 0, INT64_MAX, &number) ||
        __builtin_mul_overflow((int64_t)number, units->factor, &product))
        return false;
    *ret_number = product;
    return product >= key->min && product <= key->max;
}

static bool read_octal(const struct key *key, const char *value, int64_t *ret_bits)
{
    int64_t bits = 0;
    size_t len = strlen(value);
    if (!len || len > 5 || strspn(value, "01234567") != len)
        return false;
    for (; *value; value++)
        bits = bits * 8 + (*value - '0');
    *ret_bits = bits;
    return bits >= key->min && bits <= key->max;
}

static bool read_switch(const char *value, bool *ret_on)
{
    static const char *const words[] = {"off", "on", "no", "yes", "false", "true", "0", "1"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcasecmp(value, words[i]) == 0) {
            *ret_on = i & 1;
            return true;
        }
    }
    return false;
}

static bool read_choice(const struct key *key, const char *value, int *ret_position)
{
    const char *choice = key->choices;
    for (int position = 0;; position++) {
        size_t len = strcspn(choice, "|");
        if (strlen(value) == len && strncmp(choice, value, len) == 0) {
            *ret_position = position;
            return true;
        }
        if (!choice[len])
            return false;
        choice += len + 1;
    }
}

/* Replaces the text at `field`; a secret that stood there is wiped. */
static bool set_text(char **field, const char *value)
{
    char *copy = strdup(value);
    if (!copy)
        return false;
    if (*field)
        explicit_bzero(*field, strlen(*field));
    free(*field);
    *field = copy;
    return true;
}

static enum status read_text(const struct key *key, const char *value, char **field, struct err *err)
{
    AUTO_FREE char *here = NULL, *absolute = NULL;
    if (!*value)
        return err_set(err, STATUS_INVALID, "%s: needs a value", key->name);
    if (key->type == KEY_PATH && value[0] != '/') {
        here = get_current_dir_name();
        if (!here)
            return err_set_errno(err, errno, "%s: the working directory", key->name);
        if (asprintf(&absolute, "%s/%s", here, value) < 0)
            return err_set(err, STATUS_NO_MEMORY, "out of memory");
        value = absolute;
    }
    return set_text(field, value) ? STATUS_OK : err_set(err, STATUS_NO_MEMORY, "out of memory");
}

/* "a size from 4K to 64M" as people write it. */
static void amount_text(const struct unit *units, int64_t amount, char *ret_text, size_t capacity)
{
    const struct unit *best = units;
    for (const struct unit *unit = units; unit->name; unit++)
        if (amount && amount % unit->factor == 0 &&
            (unit->factor > best->factor || (unit->factor == best->factor && !*best->name)))
            best = unit;
    (void)snprintf(ret_text, capacity, "%lld%s", (long long)(amount / best->factor), amount ? best->name : "");
}

void key_quote(const char *text, char ret_text[KEY_QUOTE_SIZE])
{
    AUTO_BUF struct buf quoted = {0};
    buf_init(&quoted, KEY_QUOTE_SIZE - 1);
    if (quote_text(&quoted, text, strnlen(text, 64)) != STATUS_OK)
        buf_clear(&quoted); /* out of memory: the message goes without it */
    memcpy(ret_text, quoted.bytes, quoted.len + 1);
}

static enum status refuse(const struct key *key, const char *value, const char *kind, struct err *err)
{
    char low[32], high[32], shown[KEY_QUOTE_SIZE];
    const struct unit *units = key->type == KEY_SIZE       ? size_units
                               : key->type == KEY_DURATION ? duration_units
                                                           : plain_units;
    key_quote(value, shown);
    if (key->type == KEY_CHOICE || key->type == KEY_SWITCH || key->type == KEY_OPPOSITE)
        return err_set(err, STATUS_INVALID, "%s: %s is not one of %s", key->name, shown, kind);
    if (key->type == KEY_OCTAL)
        return err_set(err, STATUS_INVALID, "%s: %s is not an octal mode up to %03llo", key->name, shown,
                       (unsigned long long)key->max);
    amount_text(units, key->min, low, sizeof low);
    amount_text(units, key->max, high, sizeof high);
    if (key->max == INT64_MAX)
        return err_set(err, STATUS_INVALID, "%s: %s is not %s", key->name, shown, kind);
    return err_set(err, STATUS_INVALID, "%s: %s is not %s from %s to %s", key->name, shown, kind, low, high);
}

/* Numbers of all kinds, which a value must be given for. */
static enum status read_amount(const struct key *key, const char *value, void *field, struct err *err)
{
    int64_t number = 0;
    bool good = false;
    const char *kind = "a number";
    switch (key->type) {
    case KEY_SIZE:
        kind = "a size (as 64M)";
        good = read_number(key, value, size_units, &number);
        break;
    case KEY_DURATION:
        kind = "a time (as 30s)";
        good = read_number(key, value, duration_units, &number);
        break;
    case KEY_OCTAL: good = read_octal(key, value, &number); break;
    default: good = read_number(key, value, plain_units, &number); break;
    }
    if (!good)
        return refuse(key, value, kind, err);
    memcpy(field, &number, sizeof number); /* int64_t and uint64_t alike: no value here is negative */
    return STATUS_OK;
}

enum status key_read(const struct key *key, const char *value, void *config, struct err *err)
{
    void *field = (char *)config + key->offset;
    bool on = true;
    switch (key->type) {
    case KEY_IGNORED: return STATUS_OK;
    case KEY_SWITCH:
    case KEY_OPPOSITE:
        if (value && !read_switch(value, &on))
            return refuse(key, value, "on, off", err);
        *(bool *)field = on == (key->type == KEY_SWITCH);
        return STATUS_OK;
    default: break;
    }
    if (!value)
        return err_set(err, STATUS_INVALID, "%s: needs a value: %s=%s", key->name, key->name,
                       key->choices ? key->choices : key->argument);
    switch (key->type) {
    case KEY_CHOICE: return read_choice(key, value, field) ? STATUS_OK : refuse(key, value, key->choices, err);
    case KEY_TEXT:
    case KEY_PATH: return read_text(key, value, field, err);
    default: return read_amount(key, value, field, err);
    }
}
