/* config.c - reading every source of settings into one struct, the strongest winning. */
#include "config/config.h"

#include "base/buf.h"
#include "base/text.h"
#include "config/key.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_BYTES_MAX (256u * 1024)

void config_init(struct config *config)
{
    *config = (struct config){.late_after_ms = -1, .uid = -1, .gid = -1, .umask = -1, .file_mode = -1, .dir_mode = -1};
    for (size_t i = 0; key_at(i); i++) {
        const struct key *key = key_at(i);
        enum status status = key->fallback ? key_read(key, key->fallback, config, NULL) : STATUS_OK;
        INVARIANT(status == STATUS_OK); /* the table's defaults are within its own ranges */
    }
}

/* The field of a key whose value is text, NULL for all others. */
static char **text_of(struct config *config, const struct key *key)
{
    if (key->type != KEY_TEXT && key->type != KEY_PATH)
        return NULL;
    return (char **)(void *)((char *)config + key->offset);
}

enum status config_copy(const struct config *config, struct config *ret_copy, struct err *err)
{
    struct config copy = *config;
    bool complete = true;
    for (size_t i = 0; key_at(i); i++) {
        char **text = text_of(&copy, key_at(i));
        if (!text || !*text)
            continue;
        *text = strdup(*text); /* the struct's copy has lent us the original's pointer until here */
        complete = complete && *text;
    }
    *ret_copy = copy;
    if (complete)
        return STATUS_OK;
    config_done(ret_copy);
    return err_set(err, STATUS_NO_MEMORY, "out of memory");
}

void config_done(struct config *config)
{
    for (size_t i = 0; key_at(i); i++) {
        char **text = text_of(config, key_at(i));
        if (!text)
            continue;
        if (*text)
            explicit_bzero(*text, strlen(*text));
        free(*text);
        *text = NULL;
    }
}

/* "FILE:LINE: " or "OPTION: " before a refusal, whose status becomes USAGE. */
static enum status blame(const struct config_origin *origin, struct err *err)
{
    if (err)
        err->status = STATUS_USAGE;
    if (origin->line)
        (void)err_context(err, "%s:%d", origin->name, origin->line);
    else
        (void)err_context(err, "%s", origin->name);
    return STATUS_USAGE;
}

static unsigned place_of(enum config_rank rank)
{
    switch (rank) {
    case RANK_FILE: return IN_FILE;
    case RANK_ENVIRONMENT: return IN_ENVIRONMENT;
    case RANK_ARGUMENT: return IN_ARGUMENTS;
    default: return IN_CALL;
    }
}

static enum status refuse_unknown(const char *key, struct err *err)
{
    char shown[KEY_QUOTE_SIZE];
    const char *close = key_suggest(key, strlen(key));
    key_quote(key, shown);
    if (close)
        return err_set(err, STATUS_USAGE, "unknown key %s, did you mean \"%s\"?", shown, close);
    return err_set(err, STATUS_USAGE, "unknown key %s", shown);
}

static enum status refuse_place(const struct key *key, enum config_rank rank, struct err *err)
{
    if (!key->secret)
        return err_set(err, STATUS_USAGE, "%s cannot be set here", key->name);
    (void)err_hint(err, "set %s in the environment, or %s in a configuration file with mode 0600", key->environment,
                   key->name);
    return err_set(err, STATUS_USAGE, "%s is a secret and is not taken from %s: use %s in the environment or a file",
                   key->name, rank == RANK_ARGUMENT ? "the command line, which everybody can read" : "here",
                   key->environment);
}

/* The key that `key` names, if it may stand where it stands. */
static enum status find(const struct config_origin *origin, const char *key, const struct key **ret_key,
                        struct err *err)
{
    const struct key *known = key_find(key, strlen(key));
    if (!known) {
        (void)refuse_unknown(key, err);
        return blame(origin, err);
    }
    if (!(known->where & place_of(origin->rank))) {
        (void)refuse_place(known, origin->rank, err);
        return blame(origin, err);
    }
    *ret_key = known;
    return STATUS_OK;
}

/* The rank of a switch and of its opposite is one: they write one field. */
static size_t rank_index(const struct key *key)
{
    for (size_t i = 0; key->type == KEY_OPPOSITE && key_at(i); i++)
        if (key_at(i)->type == KEY_SWITCH && key_at(i)->offset == key->offset)
            return i;
    return key_index(key);
}

enum status config_set(struct config *config, const struct config_origin *origin, const char *key, const char *value,
                       struct err *err)
{
    const struct key *known = NULL;
    enum status status = find(origin, key, &known, err);
    if (status != STATUS_OK)
        return status;
    uint8_t *rank = &config->rank[rank_index(known)];
    if (*rank > origin->rank) {
        struct config unused;
        config_init(&unused);
        status = key_read(known, value, &unused, err);
        config_done(&unused);
    } else {
        status = key_read(known, value, config, err);
        *rank = (uint8_t)origin->rank;
    }
    return status == STATUS_OK ? STATUS_OK : blame(origin, err);
}

static char *trim(char *text)
{
    size_t len = strlen(text);
    while (len && strchr(" \t\r", text[len - 1]))
        text[--len] = '\0';
    return text + strspn(text, " \t");
}

struct file {
    struct config *config;
    struct config_origin origin;
    bool is_private; /* nobody but its owner, who is the caller or root, can read it */
};

static enum status refuse_public(const struct file *file, const char *key, struct err *err)
{
    (void)err_set(err, STATUS_ACCESS, "%s:%d: %s stands in a file that others can read or own", file->origin.name,
                  file->origin.line, key);
    (void)err_hint(err, "chmod 600 %s", file->origin.name);
    return STATUS_ACCESS;
}

static enum status read_line(struct file *file, char *line, struct err *err)
{
    line = trim(line);
    if (!*line || *line == '#' || *line == ';' || strcmp(line, "[readyfs]") == 0)
        return STATUS_OK;
    char *equals = strchr(line, '=');
    if (*line == '[' || !equals) {
        (void)err_set(err, STATUS_USAGE, *line == '[' ? "only the section [readyfs] is known" : "expected key = value");
        return blame(&file->origin, err);
    }
    *equals = '\0';
    char *key = trim(line), *value = trim(equals + 1);
    const struct key *known = key_find(key, strlen(key));
    if (known && known->secret && !file->is_private)
        return refuse_public(file, known->name, err);
    return config_set(file->config, &file->origin, key, value, err);
}

static enum status read_lines(struct file *file, char *text, struct err *err)
{
    enum status status = STATUS_OK;
    while (text && status == STATUS_OK) {
        char *line = strsep(&text, "\n");
        file->origin.line++;
        status = read_line(file, line, err);
    }
    return status;
}

/* The whole file as text. */
static enum status slurp(int fd, const char *path, struct buf *buf, struct err *err)
{
    char chunk[4096];
    ssize_t got = 0;
    while ((got = read(fd, chunk, sizeof chunk)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set_errno(err, errno, "%s", path);
        if (memchr(chunk, 0, (size_t)got))
            return err_set(err, STATUS_USAGE, "%s: is not a text file", path);
        enum status status = buf_append(buf, chunk, (size_t)got);
        if (status != STATUS_OK)
            return err_set(err, STATUS_USAGE, "%s: is longer than %u bytes", path, FILE_BYTES_MAX);
    }
    return STATUS_OK;
}

enum status config_file(struct config *config, const char *path, struct err *err)
{
    struct stat facts;
    AUTO_BUF struct buf text = {0};
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    buf_init(&text, FILE_BYTES_MAX);
    if (fd < 0 || fstat(fd, &facts))
        return err_set_errno(err, errno, "configuration file %s", path);
    enum status status = slurp(fd, path, &text, err);
    struct file file = {
        .config = config,
        .origin = {.rank = RANK_FILE, .name = path},
        .is_private = !(facts.st_mode & 077) && (facts.st_uid == geteuid() || facts.st_uid == 0),
    };
    if (status == STATUS_OK)
        status = read_lines(&file, text.bytes, err);
    if (text.capacity)
        explicit_bzero(text.bytes, text.capacity);
    return status;
}

/* The value of a variable, NULL where it is unset or empty. */
static const char *variable(char *const *environment, const char *name)
{
    size_t len = name ? strlen(name) : 0;
    for (; name && *environment; environment++)
        if (strncmp(*environment, name, len) == 0 && (*environment)[len] == '=')
            return (*environment)[len + 1] ? *environment + len + 1 : NULL;
    return NULL;
}

enum status config_environment(struct config *config, char *const *environment, struct err *err)
{
    for (size_t i = 0; key_at(i); i++) {
        const struct key *key = key_at(i);
        const char *name = key->environment, *value = variable(environment, name);
        if (!value) {
            name = key->environment2;
            value = variable(environment, name);
        }
        if (!value)
            continue;
        struct config_origin origin = {.rank = RANK_ENVIRONMENT, .name = name};
        enum status status = config_set(config, &origin, key->name, value, err);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* Cuts the next item off `*list`, with its escapes taken out; NULL at the end. */
static char *next_option(char **list)
{
    char *item = *list, *out = item, *in = item;
    if (!item)
        return NULL;
    while (*in && *in != ',') {
        if (*in == '\\' && (in[1] == ',' || in[1] == '\\'))
            in++;
        *out++ = *in++;
    }
    *list = *in ? in + 1 : NULL;
    *out = '\0';
    return item;
}

enum status config_options(struct config *config, const char *list, struct err *err)
{
    AUTO_FREE char *copy = strdup(list);
    struct config_origin origin = {.rank = RANK_ARGUMENT, .name = "-o"};
    if (!copy)
        return err_set(err, STATUS_NO_MEMORY, "out of memory");
    char *rest = copy, *item = NULL;
    while ((item = next_option(&rest))) {
        char *value = strchr(item, '=');
        if (!*item)
            continue;
        if (value)
            *value++ = '\0';
        enum status status = config_set(config, &origin, item, value, err);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

enum status config_load(struct config *config, char *const *environment, struct err *err)
{
    enum status status = config->file ? config_file(config, config->file, err) : STATUS_OK;
    return status == STATUS_OK ? config_environment(config, environment, err) : status;
}

enum status config_source(struct config *config, const char *text, struct err *err)
{
    enum status status = source_parse(text, &config->source, err);
    if (status != STATUS_OK)
        return status;
    if (config->source.kind == SOURCE_AZURE && !config->source.endpoint[0] && !config->account &&
        !config->connection_string && !config->endpoint) {
        (void)err_set(err, STATUS_USAGE, "%s names no account", text);
        (void)err_hint(err, "set AZURE_STORAGE_ACCOUNT or AZURE_STORAGE_CONNECTION_STRING, or use "
                            "https://ACCOUNT.blob.core.windows.net/CONTAINER");
        return STATUS_USAGE;
    }
    return STATUS_OK;
}
