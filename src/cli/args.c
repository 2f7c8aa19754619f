/* args.c - the parser of the command line. */
#include "cli/args.h"

#include "base/text.h"
#include "cli/say.h"

#include <string.h>

/* What is left to be read. */
struct words {
    struct args *args;
    int argc, at;
    char **argv;
};

static bool same_name(const char *known, const char *given, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!known[i] || known[i] != (given[i] == '_' ? '-' : given[i]))
            return false;
    return !known[len];
}

/* The position of a flag of the verb by its letter or its name; -1 for none. */
static int find_flag(const struct verb *verb, char letter, const char *name, size_t len)
{
    for (int i = 0; verb->flags && verb->flags[i].name; i++)
        if (letter ? verb->flags[i].letter == letter : same_name(verb->flags[i].name, name, len))
            return i;
    return -1;
}

/* The value behind '=' or in the next word. */
static const char *take_value(struct words *words, const char *option, const char *attached)
{
    if (attached)
        return attached;
    if (words->at < words->argc)
        return words->argv[words->at++];
    say_usage(words->args->verb, "%s needs a value", option);
    return NULL;
}

static bool set_flag(struct words *words, int position, const char *option, const char *attached)
{
    struct args *args = words->args;
    const struct flag *flag = &args->verb->flags[position];
    args->given[position] = true;
    if (flag->argument) {
        args->values[position] = take_value(words, option, attached);
        return args->values[position] != NULL;
    }
    if (attached)
        say_usage(args->verb, "%.*s takes no value", (int)strcspn(option, "="), option);
    return !attached;
}

static bool set_key(struct words *words, const char *option, size_t name_len, const char *attached)
{
    struct readyfs_key key;
    struct readyfs_error error;
    char name[80];
    const struct verb *verb = words->args->verb;
    char shown[SAY_NAME_SIZE];
    (void)snprintf(name, sizeof name, "%.70s", say_name(option, name_len + 2, shown));
    if (!verb->keys || !readyfs_key_find(option + 2, name_len, &key)) {
        const char *close = verb->keys ? readyfs_key_suggest(option + 2, name_len) : NULL;
        if (close)
            say_usage(verb, "unknown option %s, did you mean --%s?", name, close);
        else
            say_usage(verb, "unknown option %s", name);
        return false;
    }
    const char *value = attached;
    if (!value && key.argument && !key.secret && !(value = take_value(words, name, NULL)))
        return false;
    if (readyfs_options_argument(words->args->options, name, value, &error)) {
        say_error(NULL, &error);
        return false;
    }
    return true;
}

static bool read_long(struct words *words, const char *word)
{
    const char *equals = strchr(word, '='), *name = word + 2;
    size_t len = equals ? (size_t)(equals - name) : strlen(name);
    int position = find_flag(words->args->verb, 0, name, len);
    if (position >= 0)
        return set_flag(words, position, word, equals ? equals + 1 : NULL);
    return set_key(words, word, len, equals ? equals + 1 : NULL);
}

static bool read_list(struct words *words, const char *attached)
{
    struct readyfs_error error;
    const char *list = take_value(words, "-o", attached);
    if (!list)
        return false;
    if (readyfs_options_list(words->args->options, list, &error)) {
        say_error(NULL, &error);
        return false;
    }
    return true;
}

/* -f, -la, -oro, -o ro */
static bool read_letters(struct words *words, const char *word)
{
    const struct verb *verb = words->args->verb;
    for (const char *letter = word + 1; *letter; letter++) {
        char option[] = {'-', *letter, '\0'};
        if (*letter == 'o' && verb->keys)
            return read_list(words, letter[1] ? letter + 1 : NULL);
        int position = find_flag(verb, *letter, NULL, 0);
        if (position < 0) {
            say_usage(verb, "unknown option -%c", *letter >= ' ' && *letter < 0x7f ? *letter : '?');
            return false;
        }
        bool valued = verb->flags[position].argument != NULL;
        if (!set_flag(words, position, option, valued && letter[1] ? letter + 1 : NULL))
            return false;
        if (valued)
            return true;
    }
    return true;
}

static bool add_operand(struct args *args, const char *word)
{
    if (args->operand_count == args->verb->operands_max) {
        char shown[SAY_NAME_SIZE];
        say_usage(args->verb, "one argument too many: %s", say_name(word, strlen(word), shown));
        return false;
    }
    args->operands[args->operand_count++] = word;
    return true;
}

static bool read_words(struct words *words)
{
    bool operands_only = false;
    while (words->at < words->argc) {
        const char *word = words->argv[words->at++];
        bool good = true;
        if (operands_only || word[0] != '-' || !word[1])
            good = add_operand(words->args, word);
        else if (strcmp(word, "--") == 0)
            operands_only = true;
        else
            good = word[1] == '-' ? read_long(words, word) : read_letters(words, word);
        if (!good)
            return false;
    }
    return true;
}

int args_read(struct args *args, const struct verb *verb, int argc, char **argv, int first)
{
    struct readyfs_error error;
    struct words words = {.args = args, .argc = argc, .at = first, .argv = argv};
    *args = (struct args){.verb = verb};
    if (readyfs_options_new(&args->options, &error))
        return say_error(NULL, &error);
    if (!read_words(&words))
        return EXIT_USAGE;
    if (args->operand_count < verb->operands_min) {
        say_usage(verb, "needs %s", verb->operands);
        return EXIT_USAGE;
    }
    if (verb->keys && readyfs_options_load(args->options, &error))
        return say_error(NULL, &error);
    return 0;
}

void args_done(struct args *args)
{
    readyfs_options_free(args->options);
    args->options = NULL;
}

bool args_flag(const struct args *args, int position)
{
    return args->given[position];
}

bool args_number(const struct args *args, int position, uint64_t min, uint64_t max, uint64_t fallback,
                 uint64_t *ret_number)
{
    const char *value = args->values[position];
    *ret_number = fallback;
    if (!value || parse_uint64(value, min, max, ret_number))
        return true;
    say_usage(args->verb, "--%s takes a number from %llu to %llu", args->verb->flags[position].name,
              (unsigned long long)min, (unsigned long long)max);
    return false;
}
