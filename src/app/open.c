/* open.c - building a world out of concrete backends, and taking it down in the opposite order. */
#include "app/open.h"

#include "app/account.h"
#include "blob/azure/check.h"
#include "blob/azure/http_curl.h"
#include "blob/azure/store.h"
#include "blob/directory.h"
#include "blob/memory.h"
#include "catalogue/sqlite.h"
#include "config/config.h"
#include "document/volume.h"
#include "host/clock.h"
#include "host/entropy.h"
#include "host/worker.h"

#include <stdio.h>
#include <string.h>

static struct settings settings_of(const struct config *config)
{
    struct settings settings = settings_default();
    memcpy(settings.prefix, config->source.prefix, sizeof settings.prefix);
    settings.block_bytes = (uint32_t)config->block_size; /* the key's range is within */
    settings.parallel = (unsigned)config->parallel;
    settings.read_cache_bytes = config->cache_max;
    settings.read_ahead_blocks = (unsigned)config->read_ahead;
    settings.deadline_ms = config->deadline_ms;
    settings.confirm_max_age_ms = config->confirm_max_age_ms;
    settings.late_after_ms = config->late_after_ms;
    settings.conflict_fail = config->conflict == CONFIG_CONFLICT_FAIL;
    settings.tags = config->tags;
    return settings;
}

_Static_assert(sizeof((struct settings *)0)->prefix == sizeof((struct source *)0)->prefix, "a prefix fits");

static enum status open_catalogue(struct app *app, const struct app_options *options, struct err *err)
{
    struct sqlite_options sqlite = {
        .path = app->places.catalogue,
        .create = options->create,
        .clock = app->world.clock,
        .entropy = app->world.entropy,
    };
    enum status status = options->create ? places_make(&app->places, err) : STATUS_OK;
    if (status == STATUS_OK)
        status = sqlite_open(&sqlite, &app->created, &app->world.catalogue, err);
    if (status == STATUS_NOT_FOUND && !options->create) {
        (void)err_set(err, STATUS_NOT_FOUND, "there is no catalogue at %s", app->places.catalogue);
        (void)err_hint(err, "readyfs mount makes one; --catalogue names another");
    }
    return status;
}

/* An address whose secrets are in order; nothing is sent yet. */
static enum status open_azure(const struct config *config, const struct app *app, struct blob_store **ret_store,
                              struct err *err)
{
    AUTO_CREDENTIAL struct credential credential = {0};
    char url[ACCOUNT_URL_SIZE];
    struct azure_options azure = {.container = config->source.container,
                                  .credential = &credential,
                                  .tags = config->tags,
                                  .deadline_ms = config->deadline_ms,
                                  .late_after_ms =
                                      config->late_after_ms < 0 ? AZURE_LATE_COMPUTED : config->late_after_ms,
                                  .request_bytes_max = config->block_size,
                                  .clock = app->world.clock,
                                  .entropy = app->world.entropy};
    struct http_curl_options curl = {.ca_file = config->ca_file, .clock = app->world.clock};
    struct http *http = NULL;
    enum status status = account_url(config, url, err);
    if (status == STATUS_OK)
        status = endpoint_parse(url, &azure.endpoint, err);
    if (status == STATUS_OK)
        status = account_credential(config, &azure.endpoint, &credential, err);
    if (status == STATUS_OK)
        status = http_curl_open(&curl, &http, err);
    if (status == STATUS_OK)
        status = azure_open(&azure, http, ret_store, err);
    if (status != STATUS_OK)
        (void)http_close(http);
    return status;
}

/* S27: the service, asked once, so that a mount that cannot work does not begin. */
static enum status check_azure(const struct config *config, const struct app_options *options, struct blob_store *store,
                               struct err *err)
{
    struct azure_check check = {
        .prefix = config->source.prefix,
        .create_container = options->create && config->create_container,
        .read_only = !options->create,
    };
    return azure_check(store, &check, err);
}

static enum status open_store(struct app *app, const struct config *config, const struct app_options *options,
                              struct err *err)
{
    struct blob_store *store = NULL;
    enum status status = STATUS_OK;
    /* A folder that is missing beside a catalogue that is there is a disk that is not mounted: not to be made anew. */
    bool first = access(app->places.catalogue, F_OK) != 0;
    bool create = options->create && (first || config->create_container);
    if (options->offline)
        status = memory_open(&store, err); /* stands in for the store that nobody asks */
    else if (config->source.kind == SOURCE_DIRECTORY)
        status = directory_open(config->source.path, create, &store, err);
    else
        status = open_azure(config, app, &store, err);
    if (status == STATUS_NOT_FOUND && config->source.kind == SOURCE_DIRECTORY)
        (void)err_hint(err, "is its disk mounted? to begin anew there, use --create-container");
    if (status == STATUS_OK && config->source.kind == SOURCE_AZURE && !options->offline)
        status = check_azure(config, options, store, err);
    if (status == STATUS_NOT_FOUND) {
        status = STATUS_UNREACHABLE; /* a folder or container that is not there is a store that cannot be used */
        if (err)
            err->status = status;
    }
    if (status != STATUS_OK) {
        (void)blob_close(store);
        return status;
    }
    app->world.blobs = store;
    return STATUS_OK;
}

/* P15: only a container that the catalogue knows is worked with. */
static enum status join(struct app *app, const struct config *config, const struct app_options *options,
                        struct err *err)
{
    bool created = false;
    struct volume_options volume = {
        .settings = &app->settings,
        .read_only = !options->create,
        .accept_restore = config->accept_restore,
    };
    return options->offline ? STATUS_OK : volume_join(&app->world, &volume, &created, err);
}

static enum status open_all(struct app *app, const struct config *config, const struct app_options *options,
                            struct err *err)
{
    struct session_options session = {.kind = options->kind, .place = options->place, .settings = app->settings};
    enum status status = account_identity(config, app->source, err);
    if (status == STATUS_OK)
        status = places_find(config, &app->places, err);
    if (status == STATUS_OK)
        status = open_store(app, config, options, err); /* first: no catalogue is made for a store that does not work */
    if (status == STATUS_OK)
        status = open_catalogue(app, options, err);
    if (status == STATUS_OK)
        status = workers_open((unsigned)config->parallel, &app->world.workers, err);
    if (status == STATUS_OK)
        status = join(app, config, options, err);
    if (status == STATUS_OK)
        status = session_open(&app->world, &session, &app->session, err);
    return status;
}

enum status app_open(const struct config *config, const struct app_options *options, struct app **ret_app,
                     struct err *err)
{
    struct app *app = calloc(1, sizeof *app);
    if (!app)
        return err_set(err, STATUS_NO_MEMORY, "out of memory");
    app->world.clock = clock_system();
    app->world.entropy = entropy_system();
    app->settings = settings_of(config);
    enum status status = open_all(app, config, options, err);
    if (status == STATUS_OK)
        *ret_app = app;
    else
        app_close(app, "could not start");
    return status;
}

void app_close(struct app *app, const char *result)
{
    if (!app)
        return;
    session_close(app->session, result);
    workers_close(app->world.workers); /* before what its work uses */
    (void)blob_close(app->world.blobs);
    (void)catalogue_close(app->world.catalogue);
    free(app);
}
