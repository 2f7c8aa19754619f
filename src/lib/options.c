/* options.c - the public face of config/. */
#include "lib/options.h"

#include "config/key.h"
#include "lib/volume.h"

extern char **environ;

int readyfs_options_new(struct readyfs_options **ret_options, struct readyfs_error *error)
{
    struct readyfs_options *options = calloc(1, sizeof *options);
    if (!options)
        return readyfs_refuse(error, STATUS_NO_MEMORY, "out of memory");
    config_init(&options->config);
    *ret_options = options;
    return 0;
}

void readyfs_options_free(struct readyfs_options *options)
{
    if (!options)
        return;
    config_done(&options->config);
    free(options);
}

int readyfs_options_set(struct readyfs_options *options, const char *key, const char *value,
                        struct readyfs_error *error)
{
    struct err err = {0};
    struct config_origin origin = {.rank = RANK_CALL, .name = "options"};
    return readyfs_result(config_set(&options->config, &origin, key, value, &err), &err, error);
}

int readyfs_options_file(struct readyfs_options *options, const char *path, struct readyfs_error *error)
{
    struct err err = {0};
    return readyfs_result(config_file(&options->config, path, &err), &err, error);
}

int readyfs_options_environment(struct readyfs_options *options, struct readyfs_error *error)
{
    struct err err = {0};
    return readyfs_result(config_environment(&options->config, environ, &err), &err, error);
}

int readyfs_options_argument(struct readyfs_options *options, const char *option, const char *value,
                             struct readyfs_error *error)
{
    struct err err = {0};
    struct config_origin origin = {.rank = RANK_ARGUMENT, .name = option};
    const char *key = option;
    while (*key == '-')
        key++;
    return readyfs_result(config_set(&options->config, &origin, key, value, &err), &err, error);
}

int readyfs_options_list(struct readyfs_options *options, const char *list, struct readyfs_error *error)
{
    struct err err = {0};
    return readyfs_result(config_options(&options->config, list, &err), &err, error);
}

int readyfs_options_load(struct readyfs_options *options, struct readyfs_error *error)
{
    struct err err = {0};
    return readyfs_result(config_load(&options->config, environ, &err), &err, error);
}

struct config *readyfs_options_config(struct readyfs_options *options)
{
    return &options->config;
}

const char *readyfs_options_runtime_dir(const struct readyfs_options *options)
{
    return options->config.runtime_dir;
}

enum status readyfs_options_source(struct readyfs_options *options, const char *source, struct err *err)
{
    return config_source(&options->config, source, err);
}

static const char *argument_text(const struct key *key)
{
    switch (key->type) {
    case KEY_SWITCH:
    case KEY_OPPOSITE:
    case KEY_IGNORED: return NULL;
    case KEY_CHOICE: return key->choices;
    default: return key->argument;
    }
}

static void describe(const struct key *key, struct readyfs_key *ret_key)
{
    static const char *const groups[] = {
        [GROUP_STORE] = "store", [GROUP_CATALOGUE] = "catalogue", [GROUP_MOUNT] = "mount", [GROUP_TUNING] = "tuning"};
    *ret_key = (struct readyfs_key){
        .name = key->name,
        .argument = argument_text(key),
        .fallback = key->fallback,
        .environment = key->environment,
        .help = key->help,
        .group = key->group == GROUP_NONE ? NULL : groups[key->group],
        .secret = key->secret,
    };
}

bool readyfs_key_at(size_t index, struct readyfs_key *ret_key)
{
    const struct key *key = key_at(index);
    if (key)
        describe(key, ret_key);
    return key != NULL;
}

bool readyfs_key_find(const char *name, size_t len, struct readyfs_key *ret_key)
{
    const struct key *key = key_find(name, len);
    if (key)
        describe(key, ret_key);
    return key != NULL;
}

const char *readyfs_key_suggest(const char *name, size_t len)
{
    return key_suggest(name, len);
}
