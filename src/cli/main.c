/* main.c - the table of verbs. Each has a file of its own, cmd_*.c. */
#include "cli/args.h"
#include "cli/say.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

const struct verb verbs[] = {
    {.name = "mount",
     .operands = "SOURCE DIR",
     .operands_min = 2,
     .operands_max = 2,
     .keys = true,
     .flags = mount_flags,
     .summary = "mount the documents of SOURCE at the directory DIR",
     .description = "A file that is written and closed under DIR is a document: its bytes lie in one blob, and it is\n"
                    "listed once they are stored and verified. The command returns when the mount is live, and the\n"
                    "daemon stays in the background. SOURCE is one of\n"
                    "    dir:PATH                                        blobs in a local folder, no server\n"
                    "    https://ACCOUNT.blob.core.windows.net/CONTAINER[/PREFIX]\n"
                    "    http://HOST:PORT/ACCOUNT/CONTAINER[/PREFIX]     an emulator or other endpoint\n"
                    "    az://CONTAINER[/PREFIX]                         account from the environment",
     .run = cmd_mount},
    {.name = "umount",
     .operands = "DIR",
     .operands_min = 1,
     .operands_max = 1,
     .keys = true,
     .flags = umount_flags,
     .summary = "unmount DIR after the uploads that run",
     .description = "Waits for running uploads, with progress on a terminal. What could not be published is kept in\n"
                    "the recovery folder, and the exit code is 7 then.",
     .run = cmd_umount},
    {.name = "status",
     .operands = "SOURCE|DIR",
     .operands_min = 1,
     .operands_max = 1,
     .keys = true,
     .flags = status_flags,
     .summary = "show counts, sessions, failures and warnings",
     .description = "Reads the catalogue alone, so that it works when the store does not.",
     .run = cmd_status},
    {.name = "ls",
     .operands = "SOURCE|DIR [PATH]",
     .operands_min = 1,
     .operands_max = 2,
     .keys = true,
     .flags = ls_flags,
     .summary = "list documents without a mount",
     .description = "PATH is a directory within the volume; its root by default.",
     .run = cmd_ls},
    {.name = "sweep",
     .operands = "SOURCE|DIR",
     .operands_min = 1,
     .operands_max = 1,
     .keys = true,
     .flags = sweep_flags,
     .summary = "clean up what crashes and replacements have left",
     .description = "Says what it did, and why it left what it left. A running mount is not disturbed.",
     .run = cmd_sweep},
    {.name = "fsck",
     .operands = "SOURCE|DIR",
     .operands_min = 1,
     .operands_max = 1,
     .keys = true,
     .flags = fsck_flags,
     .summary = "check every invariant, rows against blobs",
     .description = "Reads only, but for --repair, which removes blobs of this catalogue that no row names. The exit\n"
                    "code is 6 where faults were found and not repaired.",
     .run = cmd_fsck},
    {.name = "recover",
     .operands = "SOURCE|DIR",
     .operands_min = 1,
     .operands_max = 1,
     .keys = true,
     .flags = recover_flags,
     .summary = "list and save bytes that could not be published",
     .description = "They are what a program had written when its publishing failed, when it was killed, or when its\n"
                    "document was replaced or removed meanwhile.",
     .run = cmd_recover},
    {.name = "lifecycle-policy",
     .operands = "[SOURCE]",
     .operands_min = 0,
     .operands_max = 1,
     .keys = false,
     .flags = lifecycle_policy_flags,
     .summary = "print the second net as a lifecycle rule of the storage account",
     .description = "The rule goes to stdout as JSON, its limits to stderr.",
     .run = cmd_lifecycle_policy},
    {.name = "version",
     .operands = "",
     .flags = version_flags,
     .summary = "print the version",
     .description = "",
     .run = cmd_version},
    {.name = "help",
     .operands = "[VERB]",
     .operands_max = 1,
     .summary = "explain a verb and its options",
     .description = "",
     .run = cmd_help},
    {.name = NULL},
};

const struct verb *verb_find(const char *name)
{
    for (const struct verb *verb = verbs; verb->name; verb++)
        if (strcmp(verb->name, name) == 0)
            return verb;
    return NULL;
}

/* The customary spellings of two verbs. */
static const char *verb_name(const char *word)
{
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return "help";
    return strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0 ? "version" : word;
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

static int run(const struct verb *verb, int argc, char **argv)
{
    struct args args;
    if (asks_for_help(argc, argv)) {
        args = (struct args){.verb = verb, .operands = {verb->name}, .operand_count = 1};
        return cmd_help(&args);
    }
    int code = args_read(&args, verb, argc, argv, 2);
    if (code == 0)
        code = verb->run(&args);
    args_done(&args);
    return code;
}

int main(int argc, char **argv)
{
    char shown[SAY_NAME_SIZE];
    (void)signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of write, told like a full disk */
    if (argc < 2) {
        say_usage(NULL, "a verb is needed");
        return EXIT_USAGE;
    }
    const struct verb *verb = verb_find(verb_name(argv[1]));
    if (!verb) {
        say_usage(NULL, "unknown verb %s", say_name(argv[1], strlen(argv[1]), shown));
        return EXIT_USAGE;
    }
    return run(verb, argc, argv);
}
