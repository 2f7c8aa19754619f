/* walk.c - a sorted walk over the blob folders, merged with the names of staged uploads. */
#include "blob/walk.h"

#include "blob/label.h"
#include "blob/pile.h"
#include "blob/staging.h"
#include "host/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The entries of one folder. A folder's name ends in '/', so that plain comparison orders whole paths. */
struct names {
    char **texts; /* owned, as is each */
    size_t count, room;
};

static void names_free(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->texts[i]);
    free(names->texts);
    *names = (struct names){0};
}

#define AUTO_NAMES CLEANUP(names_free)

static int names_add(struct names *names, const char *before, const char *name, const char *behind)
{
    if (names->count == names->room) {
        size_t room = names->room ? 2 * names->room : 64;
        char **texts = realloc(names->texts, room * sizeof *texts);
        if (!texts)
            return ENOMEM;
        names->texts = texts;
        names->room = room;
    }
    char *text = NULL;
    if (asprintf(&text, "%s%s%s", before, name, behind) < 0)
        return ENOMEM;
    names->texts[names->count++] = text;
    return 0;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void names_sort(struct names *names)
{
    if (names->count)
        qsort(names->texts, names->count, sizeof *names->texts, compare);
}

/* 'd', 'f', or 0 for what is neither. */
static char kind_of(int dir_fd, const struct dirent *entry)
{
    struct stat facts;
    if (entry->d_type == DT_DIR || entry->d_type == DT_REG)
        return entry->d_type == DT_DIR ? 'd' : 'f';
    if (entry->d_type != DT_UNKNOWN || fstatat(dir_fd, entry->d_name, &facts, AT_SYMLINK_NOFOLLOW))
        return 0;
    return S_ISDIR(facts.st_mode) ? 'd' : S_ISREG(facts.st_mode) ? 'f' : 0;
}

/* Adds the entries of the folder at `path` (below `root_fd`), each with `before` before its name. ENOENT is none. */
static int read_folder(int root_fd, const char *path, const char *before, struct names *names)
{
    int fd = openat(root_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    int failure = dir ? 0 : errno;
    if (!dir && fd >= 0)
        (void)close(fd); /* the failure is told */
    if (!dir)
        return failure == ENOENT ? 0 : failure;
    errno = 0;
    for (struct dirent *entry; !failure && (entry = readdir(dir)); errno = 0) {
        bool self = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
        char kind = self ? 0 : kind_of(fd, entry);
        if (kind)
            failure = names_add(names, before, entry->d_name, kind == 'd' ? "/" : "");
    }
    failure = failure ? failure : errno;
    (void)closedir(dir);
    return failure;
}

/* Turns the folders among `names` (paths below `root_fd`) into the files in them, until there are only files. */
static int flatten(int root_fd, struct names *names)
{
    for (size_t i = 0; i < names->count;) {
        char *path = names->texts[i];
        if (path[strlen(path) - 1] != '/') {
            i++;
            continue;
        }
        names->texts[i] = names->texts[--names->count];
        int failure = read_folder(root_fd, path, path, names);
        free(path);
        if (failure && failure != ENOENT)
            return failure;
    }
    return 0;
}

/* The names of all staged uploads, sorted. */
static int read_uploads(struct shelf *shelf, struct names *ret_names)
{
    AUTO_NAMES struct names stores = {0};
    int failure = read_folder(shelf->fd, STAGING_FOLDER, STAGING_FOLDER "/", &stores);
    for (size_t i = 0; i < stores.count && !failure; i++) {
        char path[512];
        AUTO_NAMES struct names uploads = {0};
        int len = snprintf(path, sizeof path, "%s" STAGING_BLOCKS "/", stores.texts[i]);
        if (stores.texts[i][strlen(stores.texts[i]) - 1] != '/' || len >= (int)sizeof path)
            continue;
        failure = read_folder(shelf->fd, path, path, &uploads);
        failure = failure ? failure : flatten(shelf->fd, &uploads);
        for (size_t k = 0; k < uploads.count && !failure; k++)
            failure = names_add(ret_names, "", uploads.texts[k] + len, "");
    }
    names_sort(ret_names);
    return failure;
}

struct walk {
    struct shelf *shelf;
    const struct call *call;
    const char *prefix;
    blob_list_fn *fn;
    void *context;
    struct names uploads;
    size_t next_upload;
    bool ended; /* the callback wants no more */
};

static bool has_prefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static void show_upload(struct walk *walk, const char *name)
{
    bool there = false;
    if (shelf_has(walk->shelf, name, &there) || there)
        return; /* a late block of a blob that is there: its pile goes with the store */
    struct blob_listing item = {.name = name, .etag = "", .uncommitted = true};
    walk->ended = !walk->fn(walk->context, &item);
}

/* Shows the staged uploads whose names come before `name`; all that are left where it is NULL. */
static void show_uploads_before(struct walk *walk, const char *name)
{
    while (!walk->ended && walk->next_upload < walk->uploads.count) {
        const char *upload = walk->uploads.texts[walk->next_upload];
        if (name && strcmp(upload, name) >= 0)
            return;
        walk->next_upload++;
        if (has_prefix(upload, walk->prefix))
            show_upload(walk, upload);
    }
}

static void read_label_beside(struct shelf *shelf, const char *name, struct blob_facts *facts)
{
    char path[LIMIT_BLOB_NAME_BYTES + 8];
    AUTO_BUF struct buf text;
    buf_init(&text, LABEL_TEXT_MAX);
    (void)snprintf(path, sizeof path, "%s" LABEL_SUFFIX, name);
    if (file_read(shelf->fd, path, &text, NULL) == STATUS_OK)
        label_parse(text.bytes, facts);
}

void walk_facts(struct shelf *shelf, int fd, const char *name, const struct stat *facts, struct blob_facts *ret_facts)
{
    *ret_facts = (struct blob_facts){
        .size_bytes = (uint64_t)facts->st_size,
        .modified_utc_ns = (int64_t)facts->st_mtim.tv_sec * 1000000000 + facts->st_mtim.tv_nsec,
    };
    shelf_etag(facts, ret_facts->etag);
    if (!label_detect(fd, ret_facts))
        read_label_beside(shelf, name, ret_facts);
}

static int show_blob(struct walk *walk, const char *name)
{
    AUTO_FD int fd = -1;
    struct stat facts;
    if (!shelf_name_valid(name) || !has_prefix(name, walk->prefix))
        return 0;
    show_uploads_before(walk, name);
    int failure = walk->ended ? 0 : shelf_find(walk->shelf, name, &fd, &facts);
    if (walk->ended || failure)
        return failure == ENOENT ? 0 : failure;
    struct blob_listing item = {.name = name};
    walk_facts(walk->shelf, fd, name, &facts, &item.facts);
    item.size_bytes = item.facts.size_bytes;
    item.etag = item.facts.etag;
    item.modified_utc_ns = item.facts.modified_utc_ns;
    walk->ended = !walk->fn(walk->context, &item);
    return 0;
}

/* Shows what is in the folder `path` ("" or ending in '/'). Folders that cannot hold the prefix are left out. */
static int walk_folder(struct walk *walk, const char *path)
{
    AUTO_NAMES struct names names = {0};
    int failure = read_folder(walk->shelf->fd, *path ? path : ".", path, &names);
    names_sort(&names);
    for (size_t i = 0; i < names.count && !failure && !walk->ended; i++) {
        const char *name = names.texts[i];
        bool folder = name[strlen(name) - 1] == '/';
        if (call_cancelled(walk->call))
            return ECANCELED;
        if (!folder)
            failure = show_blob(walk, name);
        else if (strlen(name) < LIMIT_BLOB_NAME_BYTES && strcmp(name, STAGING_FOLDER "/") != 0 &&
                 (has_prefix(name, walk->prefix) || has_prefix(walk->prefix, name)))
            failure = walk_folder(walk, name);
    }
    return failure;
}

enum status walk_blobs(struct shelf *shelf, const struct call *call, const char *prefix, blob_list_fn *fn,
                       void *context, struct err *err)
{
    struct walk walk = {.shelf = shelf, .call = call, .prefix = prefix, .fn = fn, .context = context};
    int failure = read_uploads(shelf, &walk.uploads);
    failure = failure ? failure : walk_folder(&walk, "");
    if (!failure)
        show_uploads_before(&walk, NULL);
    names_free(&walk.uploads);
    if (failure == ECANCELED)
        return err_set(err, STATUS_INTERRUPTED, "list blobs: cancelled");
    return failure ? err_set_errno(err, failure, "list blobs") : STATUS_OK;
}
