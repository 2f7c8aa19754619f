/* source.c - the parser of SOURCE. */
#include "config/source.h"

#include "base/buf.h"
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FORMS                                                                                                          \
    "dir:PATH, https://ACCOUNT.blob.core.windows.net/CONTAINER[/PREFIX], http://HOST:PORT/ACCOUNT/CONTAINER[/PREFIX] " \
    "or az://CONTAINER[/PREFIX]"

bool source_looks_like(const char *text)
{
    return strncmp(text, "dir:", 4) == 0 || strstr(text, "://") != NULL;
}

static enum status refuse(struct err *err, const char *problem)
{
    (void)err_set(err, STATUS_USAGE, "SOURCE: %s", problem);
    (void)err_hint(err, "SOURCE is one of " FORMS);
    return STATUS_USAGE;
}

/* Appends `text` cut into parts at '/', without "", "." and "..", each after a '/'. */
static enum status clean_path(char *text, struct buf *ret_path)
{
    enum status status = STATUS_OK;
    char *part = NULL;
    while ((part = strsep(&text, "/")) && status == STATUS_OK) {
        if (!*part || strcmp(part, ".") == 0)
            continue;
        if (strcmp(part, "..") == 0) {
            char *last = ret_path->len ? strrchr(ret_path->bytes, '/') : NULL;
            buf_cut(ret_path, last ? (size_t)(last - ret_path->bytes) : 0);
            continue;
        }
        status = buf_append_text(ret_path, "/");
        if (status == STATUS_OK)
            status = buf_append_text(ret_path, part);
    }
    return status;
}

static enum status parse_directory(const char *path, struct source *source, struct err *err)
{
    AUTO_FREE char *here = path[0] == '/' ? strdup("") : get_current_dir_name();
    AUTO_FREE char *whole = NULL;
    AUTO_BUF struct buf clean = {0};
    buf_init(&clean, sizeof source->path - 1);
    if (!*path)
        return refuse(err, "dir: needs a path");
    if (!here)
        return err_set_errno(err, errno, "the working directory");
    if (asprintf(&whole, "%s/%s", here, path) < 0)
        return err_set(err, STATUS_NO_MEMORY, "out of memory");
    if (clean_path(whole, &clean) != STATUS_OK || clean.len + 8 >= sizeof source->path)
        return refuse(err, "the path is too long");
    (void)snprintf(source->path, sizeof source->path, "%s", clean.len ? clean.bytes : "/");
    (void)snprintf(source->text, sizeof source->text, "dir:%.1000s", source->path);
    source->kind = SOURCE_DIRECTORY;
    return STATUS_OK;
}

static bool made_of(const char *text, const char *others)
{
    for (; *text; text++)
        if (!(*text >= 'a' && *text <= 'z') && !(*text >= '0' && *text <= '9') && !strchr(others, *text))
            return false;
    return true;
}

/* 3 to 63 lower-case letters, digits and single hyphens (naming rules of Azure Storage). */
static bool container_valid(const char *name)
{
    size_t len = strlen(name);
    if (strcmp(name, "$root") == 0)
        return true;
    return len >= 3 && len <= 63 && made_of(name, "-") && name[0] != '-' && name[len - 1] != '-' && !strstr(name, "--");
}

/* What stays the same in a URL whether it is escaped or not; the service drops a '.' at the end of a part. */
static bool prefix_valid(const char *prefix)
{
    for (const char *at = prefix; *at; at++)
        if (!isalnum((unsigned char)*at) && !strchr("-._/", *at))
            return false;
    return prefix[0] != '/' && !strstr(prefix, "//") && !strstr(prefix, "./") && prefix[strlen(prefix) - 1] != '.';
}

/* CONTAINER[/PREFIX] at `text`, which is taken apart. */
static enum status parse_place(char *text, struct source *source, struct err *err)
{
    char *prefix = strchr(text, '/');
    if (prefix)
        *prefix++ = '\0';
    size_t len = prefix ? strlen(prefix) : 0;
    if (!*text)
        return refuse(err, "no container is named");
    if (!container_valid(text))
        return refuse(err, "a container's name has 3 to 63 lower-case letters, digits and hyphens");
    while (len && prefix[len - 1] == '/')
        prefix[--len] = '\0';
    if (len && (len + 2 > sizeof source->prefix || !prefix_valid(prefix)))
        return refuse(
            err, "a prefix has at most 126 letters, digits and -._ between single slashes, and no part ends in '.'");
    (void)snprintf(source->container, sizeof source->container, "%s", text);
    if (len)
        (void)snprintf(source->prefix, sizeof source->prefix, "%.126s/", prefix);
    source->kind = SOURCE_AZURE;
    return STATUS_OK;
}

/* An address, or a name without a dot: no account can stand in front of it. */
static bool host_is_bare(const char *host)
{
    size_t len = strcspn(host, ":");
    return host[0] == '[' || strspn(host, "0123456789.") == len || !memchr(host, '.', len);
}

static bool account_valid(const char *name)
{
    size_t len = strlen(name);
    return len >= 3 && len <= 24 && made_of(name, "");
}

/* HOST[:PORT]: no more than what a host's name, an address and a port are made of. */
static bool host_valid(const char *host)
{
    const char *port = strrchr(host, ':');
    uint64_t number = 0;
    if (host[0] == '[')
        port = strchr(host, ']') ? strchr(host, ']') + 1 : "x";
    if (port && *port && (*port != ':' || !parse_uint64(port + 1, 1, 65535, &number)))
        return false;
    size_t len = port ? (size_t)(port - host) : strlen(host);
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)host[i]) && !strchr("-.", host[i]) && !(host[0] == '[' && strchr("[]:", host[i])))
            return false;
    return len > 0 && len < 250;
}

/* http://HOST:PORT/ACCOUNT/CONTAINER[/PREFIX] */
static enum status parse_path_style(const char *scheme, const char *host, char *path, struct source *source,
                                    struct err *err)
{
    char *rest = strchr(path, '/');
    if (rest)
        *rest++ = '\0';
    if (!account_valid(path))
        return refuse(err, "an account's name (the first part of the path) has 3 to 24 lower-case letters and digits");
    (void)snprintf(source->account, sizeof source->account, "%s", path);
    (void)snprintf(source->endpoint, sizeof source->endpoint, "%s://%s/%s", scheme, host, path);
    static char nothing[1];
    return parse_place(rest ? rest : nothing, source, err);
}

/* https://ACCOUNT.HOST/CONTAINER[/PREFIX]; a domain of one's own tells no account. */
static enum status parse_host_style(const char *scheme, const char *host, char *path, struct source *source,
                                    struct err *err)
{
    size_t len = strcspn(host, ".");
    if (strstr(host, ".blob."))
        (void)snprintf(source->account, sizeof source->account, "%.*s", (int)(len < 63 ? len : 63), host);
    if (source->account[0] && !account_valid(source->account))
        return refuse(err, "the host's name does not begin with an account of 3 to 24 lower-case letters and digits");
    (void)snprintf(source->endpoint, sizeof source->endpoint, "%s://%s", scheme, host);
    return parse_place(path, source, err);
}

static enum status parse_url(const char *scheme, char *rest, struct source *source, struct err *err)
{
    char *path = strchr(rest, '/');
    static char nothing[1];
    if (path)
        *path++ = '\0';
    else
        path = nothing;
    if (!host_valid(rest))
        return refuse(err, "the host is malformed");
    bool http = strcmp(scheme, "http") == 0;
    if (host_is_bare(rest) || (http && !strstr(rest, ".blob.")))
        return parse_path_style(scheme, rest, path, source, err);
    return parse_host_style(scheme, rest, path, source, err);
}

/* Secrets hide in a user part and in a query; neither may stand in an argument list. */
static enum status refuse_secrets(const char *rest, struct err *err)
{
    size_t host = strcspn(rest, "/?#");
    if (memchr(rest, '@', host))
        return refuse(err,
                      "a user name or password does not belong into an argument: set AZURE_STORAGE_ACCESS_KEY or a "
                      "configuration file");
    if (strchr(rest, '?'))
        return refuse(err, "a query (a SAS) does not belong into an argument: set AZURE_STORAGE_SAS_TOKEN or a "
                           "configuration file");
    return strchr(rest, '#') ? refuse(err, "a URL with '#' names no container") : STATUS_OK;
}

static enum status parse_azure(const char *scheme, const char *text, struct source *source, struct err *err)
{
    AUTO_FREE char *rest = strdup(text);
    if (!rest)
        return err_set(err, STATUS_NO_MEMORY, "out of memory");
    enum status status = refuse_secrets(rest, err);
    if (status != STATUS_OK)
        return status;
    bool az = strcmp(scheme, "az") == 0;
    status = az ? parse_place(rest, source, err) : parse_url(scheme, rest, source, err);
    if (status == STATUS_OK)
        (void)snprintf(source->text, sizeof source->text, "%s/%s%s%.*s", az ? "az:/" : source->endpoint,
                       source->container, source->prefix[0] ? "/" : "",
                       source->prefix[0] ? (int)strlen(source->prefix) - 1 : 0, source->prefix);
    return status;
}

enum status source_parse(const char *text, struct source *ret_source, struct err *err)
{
    static const char *const schemes[] = {"https", "http", "az"};
    struct source source = {0};
    enum status status = STATUS_USAGE;
    if (strlen(text) >= 1000)
        return refuse(err, "is too long");
    if (strncmp(text, "dir:", 4) == 0) {
        status = parse_directory(text + 4, &source, err);
    } else {
        size_t i = 0, len = strcspn(text, ":");
        while (i < 3 &&
               (strlen(schemes[i]) != len || strncmp(text, schemes[i], len) != 0 || strncmp(text + len, "://", 3) != 0))
            i++;
        status =
            i == 3 ? refuse(err, "has no scheme that is known") : parse_azure(schemes[i], text + len + 3, &source, err);
    }
    if (status == STATUS_OK)
        *ret_source = source;
    return status;
}
