/* cmd_help.c - readyfs help [VERB], readyfs version. */
#include "cli/args.h"
#include "cli/say.h"

#include <stdio.h>
#include <string.h>

#define COLUMN 32 /* where the explanation of an option begins */

const struct flag version_flags[] = {{.name = NULL}};

int cmd_version(struct args *args)
{
    (void)args;
    (void)printf("readyfs %s\n", readyfs_version()); /* failures are seen by say_flush */
    return say_flush(0);
}

static int list_verbs(void)
{
    (void)printf("readyfs: a file written and closed is a document in block-blob storage, shown when it is whole.\n\n"
                 "usage: readyfs VERB [options] ...\n\n");
    for (const struct verb *verb = verbs; verb->name; verb++)
        (void)printf("  %-17s %s\n", verb->name, verb->summary);
    (void)printf("\n'readyfs help VERB' explains one with its options; readyfs(1) tells all.\n");
    return say_flush(0);
}

/* The left column, then the text from COLUMN on. */
static void option_line(const char *left, const char *text)
{
    if (strlen(left) + 2 > COLUMN)
        (void)printf("  %s\n%*s%s\n", left, COLUMN + 2, "", text);
    else
        (void)printf("  %-*s%s\n", COLUMN, left, text);
}

static void list_flags(const struct verb *verb)
{
    char left[80];
    for (const struct flag *flag = verb->flags; flag && flag->name; flag++) {
        char letter[8] = "";
        if (flag->letter)
            (void)snprintf(letter, sizeof letter, "-%c, ", flag->letter);
        (void)snprintf(left, sizeof left, "%s--%s%s%s", letter, flag->name, flag->argument ? "=" : "",
                       flag->argument ? flag->argument : "");
        option_line(left, flag->help);
    }
}

static void list_key(const struct readyfs_key *key)
{
    char left[80], text[256];
    size_t used = 0;
    const char *argument = key->argument;
    if (!argument && key->fallback && strcmp(key->fallback, "on") == 0)
        argument = "on|off"; /* a switch that is on has to be given a value to make a difference */
    if (key->secret)
        (void)snprintf(left, sizeof left, "  %s", key->environment);
    else
        (void)snprintf(left, sizeof left, "--%s%s%s", key->name, argument ? "=" : "", argument ? argument : "");
    for (char *at = left; !key->secret && *at && *at != '='; at++)
        if (*at == '_')
            *at = '-';
    used = (size_t)snprintf(text, sizeof text, "%s", key->help);
    if (key->fallback && strcmp(key->fallback, "off") != 0 && used < sizeof text)
        (void)snprintf(text + used, sizeof text - used, " [%s]", key->fallback);
    option_line(left, text);
}

static void list_keys(const char *group, const char *title)
{
    struct readyfs_key key;
    (void)printf("\n%s\n", title);
    for (size_t i = 0; readyfs_key_at(i, &key); i++)
        if (key.group && strcmp(key.group, group) == 0)
            list_key(&key);
}

static void explain(const struct verb *verb)
{
    (void)printf("usage: readyfs %s%s%s%s\n\n%s.\n", verb->name, verb->flags || verb->keys ? " [options]" : "",
                 verb->operands[0] ? " " : "", verb->operands, verb->summary);
    if (verb->description[0])
        (void)printf("%s\n", verb->description);
    if (verb->flags && verb->flags->name)
        (void)printf("\noptions\n");
    list_flags(verb);
    if (!verb->keys)
        return;
    list_keys("store", "the store (names in capitals are variables of the environment, or keys of a file: secrets)");
    list_keys("catalogue", "catalogue and places");
    if (strcmp(verb->name, "mount") == 0) {
        list_keys("mount", "the mount");
        list_keys("tuning", "tuning");
    }
    (void)printf("\nEach --key=value may stand as key=value behind -o, or in the file named by --config; the command\n"
                 "line wins over the environment, which wins over the file.\n");
}

int cmd_help(struct args *args)
{
    if (!args->operand_count)
        return list_verbs();
    const struct verb *verb = verb_find(args->operands[0]);
    if (!verb) {
        char shown[SAY_NAME_SIZE];
        say_usage(NULL, "unknown verb %s", say_name(args->operands[0], strlen(args->operands[0]), shown));
        return EXIT_USAGE;
    }
    explain(verb);
    return say_flush(0);
}
