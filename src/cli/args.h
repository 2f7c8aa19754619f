/* args.h - the words behind a verb: flags, keys and operands, in any order, `--` ending all but operands.
 *
 *     --key=value   --key value   --switch   --no-abbreviations   -o key=value,...   -f   -la
 *
 * A mistake is one line on stderr and exit code 2. One thread.
 */
#ifndef READYFS_CLI_ARGS_H
#define READYFS_CLI_ARGS_H

#include "cli/verb.h"

#define OPERANDS_MAX 3

struct args {
    const struct verb *verb;
    struct readyfs_options *options; /* owned: keys as given, then file and environment */
    bool given[FLAGS_MAX];
    const char *values[FLAGS_MAX]; /* of flags that take one; borrowed from argv */
    const char *operands[OPERANDS_MAX];
    int operand_count;
};

/* Reads argv[first...] for `verb` and loads file and environment. 0: go on; else the exit code, one line having been
 * said. args_done() in any case. */
int args_read(struct args *args, const struct verb *verb, int argc, char **argv, int first);
void args_done(struct args *args);

/* Whether the verb's flag at this position of its list was given. */
bool args_flag(const struct args *args, int position);

/* The value of a flag as a whole number from min to max, `fallback` where it was not given. False, after one line on
 * stderr, for anything else. */
bool args_number(const struct args *args, int position, uint64_t min, uint64_t max, uint64_t fallback,
                 uint64_t *ret_number);

#endif
