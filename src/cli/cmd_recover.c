/* cmd_recover.c - readyfs recover --list|--save DIR SOURCE|DIR. */
#include "cli/args.h"
#include "cli/say.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { FLAG_LIST, FLAG_SAVE, FLAG_JSON };
const struct flag recover_flags[] = {
    {.name = "list", .help = "name, reason and time of each"},
    {.name = "save", .argument = "DIR", .help = "copy each into a file of its own in DIR, which is made if missing"},
    {.name = "json", .help = "print JSON"},
    {.name = NULL},
};

static void take_kept(void *context, const struct readyfs_kept *kept)
{
    json_t *rows = context;
    json_t *row = json_pack("{s:I, s:I, s:I}", "kept_at_ns", (json_int_t)kept->kept_at, "size", (json_int_t)kept->size,
                            "missing", (json_int_t)kept->missing);
    say_json_bytes(row, "id", kept->id, strlen(kept->id));
    say_json_bytes(row, "name", kept->name, strlen(kept->name));
    say_json_bytes(row, "reason", kept->reason, strlen(kept->reason));
    (void)json_array_append_new(rows, row);
}

static void show(const json_t *rows)
{
    size_t i = 0;
    const json_t *row = NULL;
    char name[SAY_NAME_SIZE], reason[SAY_NAME_SIZE], when[SAY_TEXT_SIZE], size[SAY_TEXT_SIZE];
    json_array_foreach(rows, i, row)
    {
        (void)printf("%s  %10s  %s: %s", say_time(json_integer_value(json_object_get(row, "kept_at_ns")), when),
                     say_size((uint64_t)json_integer_value(json_object_get(row, "size")), size),
                     say_json_quoted(row, "name", name), say_json_text(row, "reason", reason));
        if (json_object_get(row, "saved"))
            (void)printf("  -> %s", say_json_text(row, "saved", name));
        (void)putchar('\n');
    }
    (void)printf("%zu kept\n", i);
}

/* Into DIR under the kept one's id: the document's name could be anything, and two could be alike. */
static int save_one(struct readyfs_volume *volume, json_t *row, const char *dir)
{
    char path[4096];
    struct readyfs_error error;
    const char *id = json_string_value(json_object_get(row, "id"));
    if (!id || snprintf(path, sizeof path, "%s/%s", dir, id) >= (int)sizeof path) {
        (void)fprintf(stderr, "readyfs: recover: the path is too long\n");
        return 1;
    }
    if (readyfs_recover_save(volume, id, path, &error))
        return say_error("recover", &error);
    say_json_bytes(row, "saved", path, strlen(path));
    return 0;
}

static int save(struct readyfs_volume *volume, const json_t *rows, const char *dir)
{
    size_t i = 0;
    json_t *row = NULL;
    int code = 0;
    if (mkdir(dir, 0700) && errno != EEXIST) {
        (void)fprintf(stderr, "readyfs: recover: %s: %s\n", dir, strerror(errno));
        return 1;
    }
    json_array_foreach(rows, i, row)
    {
        int failed = save_one(volume, row, dir);
        code = failed ? failed : code; /* the others are saved all the same */
    }
    return code;
}

int cmd_recover(struct args *args)
{
    struct readyfs_volume *volume = NULL;
    struct readyfs_error error;
    int code = 0;
    if (!args_flag(args, FLAG_LIST) && !args_flag(args, FLAG_SAVE)) {
        say_usage(args->verb, "needs --list or --save DIR");
        return EXIT_USAGE;
    }
    json_t *rows = json_array();
    bool failed = readyfs_open(args->operands[0], args->options, READYFS_CATALOGUE, &volume, &error) ||
                  readyfs_recover_list(volume, take_kept, rows, &error);
    if (failed)
        code = say_error("recover", &error);
    else if (args_flag(args, FLAG_SAVE))
        code = save(volume, rows, args->values[FLAG_SAVE]);
    readyfs_close(volume);
    if (!failed && args_flag(args, FLAG_JSON))
        code = say_json(json_pack("{s:O}", "kept", rows), code);
    else if (!failed)
        show(rows);
    json_decref(rows);
    return say_flush(code);
}
