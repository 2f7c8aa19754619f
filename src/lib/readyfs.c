/* readyfs.c - the public interface: errors, opening and closing. */
#include "lib/volume.h"

#include "app/record.h"

#include <stdio.h>
#include <string.h>

const char *readyfs_version(void)
{
    return READYFS_VERSION;
}

int readyfs_result(enum status status, const struct err *err, struct readyfs_error *error)
{
    if (status == STATUS_OK)
        return 0;
    if (error) {
        *error = (struct readyfs_error){.name = status_name(status),
                                        .errno_value = status_errno(status),
                                        .exit_code = status_exit_code(status),
                                        .http_status = err->http_status};
        const char *message = err->message[0] ? err->message : status_text(status);
        (void)snprintf(error->message, sizeof error->message, "%s", message); /* of the same size */
        (void)snprintf(error->hint, sizeof error->hint, "%s", err->hint);
    }
    return status_errno(status);
}

int readyfs_refuse(struct readyfs_error *error, enum status status, const char *message)
{
    struct err err = {0};
    return readyfs_result(err_set(&err, status, "%s", message), &err, error);
}

/* A mount point: its record says which catalogue and SOURCE are behind it. */
static enum status find_mount(struct config *config, const char *dir, struct err *err)
{
    char runtime[PLACE_SIZE];
    struct record record;
    struct config_origin origin = {.rank = RANK_CALL, .name = "record of the mount"};
    enum status status = place_runtime(config->runtime_dir, runtime, err);
    if (status == STATUS_OK)
        status = record_find(runtime, dir, &record, err);
    if (status == STATUS_OK)
        status = config_source(config, record.source, err);
    if (status == STATUS_OK)
        status = config_set(config, &origin, "catalogue", record.catalogue, err);
    return status;
}

static enum status open_place(struct readyfs_volume *volume, struct config *config, const char *place, struct err *err)
{
    struct app_options options = {.kind = SESSION_VERB,
                                  .place = "library",
                                  .offline = volume->access == READYFS_CATALOGUE};
    enum status status = source_looks_like(place) ? config_source(config, place, err) : find_mount(config, place, err);
    if (status == STATUS_OK)
        status = app_open(config, &options, &volume->app, err);
    if (status == STATUS_OK)
        memcpy(volume->source, config->source.text, sizeof volume->source);
    return status;
}

int readyfs_open(const char *place, const struct readyfs_options *options, enum readyfs_access access,
                 struct readyfs_volume **ret_volume, struct readyfs_error *error)
{
    struct err err = {0};
    struct config config;
    struct readyfs_volume *volume = calloc(1, sizeof *volume);
    if (!volume)
        return readyfs_refuse(error, STATUS_NO_MEMORY, "out of memory");
    volume->access = access;
    enum status status = STATUS_OK;
    if (options)
        status = config_copy(&options->config, &config, &err);
    else
        config_init(&config);
    if (status == STATUS_OK) {
        status = open_place(volume, &config, place, &err);
        config_done(&config);
    }
    if (status == STATUS_OK)
        *ret_volume = volume;
    else
        free(volume);
    return readyfs_result(status, &err, error);
}

void readyfs_close(struct readyfs_volume *volume)
{
    if (!volume)
        return;
    app_close(volume->app, "ended");
    free(volume);
}
