/* place.c - the paths, after the XDG Base Directory Specification. */
#include "app/place.h"

#include "app/account.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/text.h"
#include "config/config.h"
#include "host/file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SLUG_BYTES 48

static enum status join(char ret_path[PLACE_SIZE], struct err *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static enum status join(char ret_path[PLACE_SIZE], struct err *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = vsnprintf(ret_path, PLACE_SIZE, format, args);
    va_end(args);
    return len < PLACE_SIZE ? STATUS_OK : err_set(err, STATUS_NAME_TOO_LONG, "%.64s...: path is too long", ret_path);
}

/* An absolute path in the environment; anything else there is invalid and counts as unset. */
static const char *from_environment(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] == '/' ? value : NULL;
}

static enum status home(char ret_path[PLACE_SIZE], struct err *err)
{
    const char *named = from_environment("HOME");
    struct passwd entry, *found = NULL;
    char text[4096];
    if (named)
        return join(ret_path, err, "%s", named);
    if (getpwuid_r(geteuid(), &entry, text, sizeof text, &found) || !found || found->pw_dir[0] != '/') {
        (void)err_set(err, STATUS_INVALID, "the home directory is not known");
        (void)err_hint(err, "set HOME, or name the file with --catalogue");
        return STATUS_INVALID;
    }
    return join(ret_path, err, "%s", found->pw_dir);
}

/* Where state lies: root's in /var/lib, another user's where XDG says. */
static enum status state_folder(char ret_path[PLACE_SIZE], struct err *err)
{
    char below[PLACE_SIZE];
    const char *state = from_environment("XDG_STATE_HOME");
    if (state)
        return join(ret_path, err, "%s/readyfs", state);
    if (geteuid() == 0)
        return join(ret_path, err, "/var/lib/readyfs");
    enum status status = home(below, err);
    return status == STATUS_OK ? join(ret_path, err, "%s/.local/state/readyfs", below) : status;
}

/* The end of SOURCE with what is not a letter or digit as '-': enough for a person to know it by. */
static void slug(const char *text, char ret_slug[SLUG_BYTES])
{
    size_t len = strlen(text), used = 0;
    for (const char *at = len < SLUG_BYTES ? text : text + len - SLUG_BYTES + 1; *at; at++) {
        bool plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9');
        if (plain || (used && ret_slug[used - 1] != '-'))
            ret_slug[used++] = plain ? *at : '-';
    }
    while (used && ret_slug[used - 1] == '-')
        used--;
    ret_slug[used] = '\0';
}

static enum status default_catalogue(const struct config *config, char ret_path[PLACE_SIZE], struct err *err)
{
    uint8_t digest[SHA256_BYTES];
    char name[SLUG_BYTES], hash[HEX_SIZE(5)], folder[PLACE_SIZE];
    char identity[ACCOUNT_IDENTITY_SIZE];
    enum status status = account_identity(config, identity, err);
    if (status == STATUS_OK)
        status = state_folder(folder, err);
    if (status == STATUS_OK && sha256(identity, strlen(identity), digest) != STATUS_OK)
        status = err_set(err, STATUS_NO_MEMORY, "out of memory");
    if (status != STATUS_OK)
        return status;
    slug(identity, name);
    hex_encode(digest, 5, hash);
    return join(ret_path, err, "%s/%s-%s.sqlite", folder, name, hash);
}

enum status places_find(const struct config *config, struct places *ret_places, struct err *err)
{
    struct places *places = ret_places;
    enum status status = config->catalogue ? join(places->catalogue, err, "%s", config->catalogue)
                                           : default_catalogue(config, places->catalogue, err);
    if (status == STATUS_OK)
        status = join(places->folder, err, "%s.d", places->catalogue);
    if (status == STATUS_OK)
        status = join(places->spool, err, "%s/spool", places->folder);
    if (status == STATUS_OK)
        status = join(places->recovery, err, "%s/recovery", places->folder);
    return status;
}

enum status places_make(const struct places *places, struct err *err)
{
    enum status status = place_make_folder(places->spool, err);
    return status == STATUS_OK ? place_make_folder(places->recovery, err) : status;
}

enum status places_session_spool(const struct places *places, int64_t session, char ret_path[PLACE_SIZE],
                                 struct err *err)
{
    enum status status = join(ret_path, err, "%s/%" PRId64, places->spool, session);
    return status == STATUS_OK ? place_make_folder(ret_path, err) : status;
}

enum status place_runtime(const char *runtime_dir, char ret_path[PLACE_SIZE], struct err *err)
{
    char below[PLACE_SIZE];
    const char *runtime = from_environment("XDG_RUNTIME_DIR");
    if (runtime_dir)
        return join(ret_path, err, "%s", runtime_dir);
    if (geteuid() == 0)
        return join(ret_path, err, "/run/readyfs");
    if (runtime)
        return join(ret_path, err, "%s/readyfs", runtime);
    enum status status = state_folder(below, err); /* never /tmp, where others could be first */
    return status == STATUS_OK ? join(ret_path, err, "%s/run", below) : status;
}

enum status place_make_folder(const char *path, struct err *err)
{
    return file_make_directory(AT_FDCWD, path, err);
}
