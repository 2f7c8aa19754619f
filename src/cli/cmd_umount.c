/* cmd_umount.c - readyfs umount DIR [--force]. */
#include "cli/args.h"
#include "cli/say.h"

#include "fuse/unmount.h"
#include "lib/options.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum { FLAG_FORCE };
const struct flag umount_flags[] = {
    {.name = "force", .help = "whatever programs are doing: they lose the mount, what they had not closed is kept"},
    {.name = NULL},
};

/* What is waited for, rewritten in place; a log file gets no such lines. */
static void show(void *context, const struct unmount_progress *progress)
{
    bool *shown = context;
    char size[SAY_TEXT_SIZE];
    if (!isatty(STDERR_FILENO) || (!progress->uploads && !progress->dirty))
        return;
    *shown = true;
    (void)fprintf(stderr, "\r\033[Kwaiting for %u uploads, %s to send", progress->uploads,
                  say_size(progress->unsent_bytes, size));
}

int cmd_umount(struct args *args)
{
    struct err err = {0};
    bool shown = false;
    struct unmount_options options = {
        .runtime_dir = readyfs_options_runtime_dir(args->options),
        .force = args_flag(args, FLAG_FORCE),
        .progress = show,
        .context = &shown,
    };
    enum status status = unmount_run(args->operands[0], &options, &err);
    if (shown)
        (void)fprintf(stderr, "\r\033[K");
    return status == STATUS_OK ? 0 : say_failure("umount", &err);
}
