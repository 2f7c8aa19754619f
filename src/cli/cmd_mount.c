/* cmd_mount.c - readyfs mount SOURCE DIR. The one verb that goes past the public interface: a mount is no call of the
 * library yet. */
#include "cli/args.h"
#include "cli/say.h"

#include "fuse/mount.h"
#include "lib/options.h"

enum { FLAG_FOREGROUND };
const struct flag mount_flags[] = {
    {.letter = 'f', .name = "foreground", .help = "stay in the foreground, log to stderr"},
    {.name = NULL},
};

int cmd_mount(struct args *args)
{
    struct err err = {0};
    struct readyfs_error error;
    if (args_flag(args, FLAG_FOREGROUND) && readyfs_options_argument(args->options, "--foreground", NULL, &error))
        return say_error(NULL, &error);
    enum status status = readyfs_options_source(args->options, args->operands[0], &err);
    if (status == STATUS_OK)
        status = mount_run(readyfs_options_config(args->options), args->operands[1], &err);
    return status == STATUS_OK ? 0 : say_failure("mount", &err);
}
