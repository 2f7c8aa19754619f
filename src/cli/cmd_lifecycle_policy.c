/* cmd_lifecycle_policy.c - readyfs lifecycle-policy [SOURCE]: the rule on stdout, what one must know of it on stderr.
 */
#include "cli/args.h"
#include "cli/say.h"

#include <stdio.h>
#include <stdlib.h>

#define DAYS 30

enum { FLAG_DAYS };
const struct flag lifecycle_policy_flags[] = {
    {.name = "days", .argument = "NUMBER", .help = "how old an abandoned upload must be to be deleted [30]"},
    {.name = NULL},
};

static void print_limits(unsigned days)
{
    (void)fprintf(
        stderr,
        "# A second net: the service deletes blobs that still carry the index tag state=pending after %u days.\n"
        "# readyfs needs no such rule: its sweeper removes abandoned uploads. The rule helps where no host runs any "
        "more.\n"
        "# Limits:\n"
        "# - A document that was published is tagged committed soon after; a host that goes down in between leaves a "
        "Ready\n"
        "#   document tagged pending until the next mount or sweep. So mount or sweep more often than every %u days, "
        "and\n"
        "#   switch on soft delete for blobs with a longer retention, so that a mistake can be undone.\n"
        "# - Accounts with a hierarchical namespace have no index tags, and with tags = off nothing is tagged: no "
        "rule.\n"
        "# - A rule runs about once a day and takes effect up to a day after it was set.\n"
        "# Setting a policy replaces the account's whole policy: merge the rule with those that are there.\n"
        "#   az storage account management-policy create --account-name NAME --resource-group GROUP --policy @FILE\n",
        days, days);
}

int cmd_lifecycle_policy(struct args *args)
{
    struct readyfs_error error;
    char *json = NULL;
    uint64_t days = DAYS;
    if (!args_number(args, FLAG_DAYS, 1, 99999, DAYS, &days))
        return EXIT_USAGE;
    const char *source = args->operand_count ? args->operands[0] : NULL;
    if (readyfs_lifecycle_policy(source, (unsigned)days, &json, &error))
        return say_error("lifecycle-policy", &error);
    print_limits((unsigned)days);
    (void)fputs(json, stdout); /* a failure is seen by say_flush */
    free(json);
    return say_flush(0);
}
