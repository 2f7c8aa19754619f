/* verb.h - the verbs of the command line, and what they are given. */
#ifndef READYFS_CLI_VERB_H
#define READYFS_CLI_VERB_H

#include <readyfs/readyfs.h>

#include <stdbool.h>

/* A flag of one verb. Beside its own flags every verb takes the keys that config/ knows, -o and --json where it has it.
 */
struct flag {
    char letter;          /* 0 for none */
    const char *name;     /* "dry-run"; NULL ends a list */
    const char *argument; /* what stands for its value in the help; NULL: takes none */
    const char *help;
};

#define FLAGS_MAX 8

struct args;

struct verb {
    const char *name;
    const char *operands; /* "SOURCE DIR", for the help */
    int operands_min, operands_max;
    const char *summary;           /* one line */
    const char *description;       /* paragraphs */
    const struct flag *flags;      /* NULL: none; a flag's position is its number for args_flag() */
    bool keys;                     /* takes the keys of the configuration */
    int (*run)(struct args *args); /* returns the exit code */
};

/* The table, ended by a row without a name. */
extern const struct verb verbs[];

/* The verb called `name`, NULL for none. */
const struct verb *verb_find(const char *name);

int cmd_mount(struct args *args);
int cmd_umount(struct args *args);
int cmd_status(struct args *args);
int cmd_ls(struct args *args);
int cmd_sweep(struct args *args);
int cmd_fsck(struct args *args);
int cmd_recover(struct args *args);
int cmd_lifecycle_policy(struct args *args);
int cmd_version(struct args *args);
int cmd_help(struct args *args);

extern const struct flag mount_flags[], umount_flags[], status_flags[], ls_flags[], sweep_flags[], fsck_flags[],
    recover_flags[], lifecycle_policy_flags[], version_flags[];

#endif
