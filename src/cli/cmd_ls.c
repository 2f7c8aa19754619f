/* cmd_ls.c - readyfs ls [-l] [-R] [--all] SOURCE|DIR [PATH]. Names go to people escaped, to programs as JSON. */
#include "cli/args.h"
#include "cli/say.h"
#include "cli/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define BATCH      64
#define PATH_BYTES 4096

enum { FLAG_LONG, FLAG_RECURSIVE, FLAG_ALL, FLAG_JSON };
const struct flag ls_flags[] = {
    {.letter = 'l', .name = "long", .help = "mode, owner, size, time, version and blob of each"},
    {.letter = 'R', .name = "recursive", .help = "directories within directories too"},
    {.letter = 'a', .name = "all", .help = "then Pending and Condemned versions with their blobs"},
    {.name = "json", .help = "print JSON"},
    {.name = NULL},
};

struct listing {
    const struct args *args;
    struct readyfs_volume *volume;
    json_t *entries, *versions; /* NULL unless JSON was asked for */
    struct readyfs_error error;
};

static void mode_text(uint32_t mode, char ret_text[12])
{
    static const char types[] = "?pc?d?b?-?l?s???", bits[] = "rwxrwxrwx";
    ret_text[0] = types[mode >> 12 & 15];
    for (int i = 0; i < 9; i++)
        ret_text[i + 1] = mode & (0400u >> i) ? bits[i] : '-';
    if (mode & S_ISUID)
        ret_text[3] = mode & 0100 ? 's' : 'S';
    if (mode & S_ISGID)
        ret_text[6] = mode & 0010 ? 's' : 'S';
    if (mode & S_ISVTX)
        ret_text[9] = mode & 0001 ? 't' : 'T';
    ret_text[10] = '\0';
}

static const char *kind_text(uint32_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFDIR: return "directory";
    case S_IFREG: return "file";
    case S_IFLNK: return "symlink";
    case S_IFIFO: return "fifo";
    case S_IFSOCK: return "socket";
    default: return "device";
    }
}

/* A symlink's target, "" for all others. */
static int target_of(struct listing *listing, const struct readyfs_entry *entry, char ret_target[PATH_BYTES])
{
    ret_target[0] = '\0';
    if (!S_ISLNK(entry->mode))
        return 0;
    return readyfs_readlink(listing->volume, entry->document, ret_target, &listing->error);
}

static void add_json(struct listing *listing, const char *path, const struct readyfs_entry *entry, const char *target)
{
    json_t *row = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s}", "kind", kind_text(entry->mode),
                            "document", (json_int_t)entry->document, "mode", (json_int_t)(entry->mode & 07777), "uid",
                            (json_int_t)entry->uid, "gid", (json_int_t)entry->gid, "nlink", (json_int_t)entry->nlink,
                            "size", (json_int_t)entry->size, "mtime_ns", (json_int_t)entry->mtime, "ctime_ns",
                            (json_int_t)entry->ctime, "version", (json_int_t)entry->number, "blob", entry->blob);
    say_json_bytes(row, "path", path, strlen(path));
    say_json_bytes(row, "name", entry->name, entry->name_len);
    if (target[0])
        say_json_bytes(row, "target", target, strlen(target));
    (void)json_array_append_new(listing->entries, row);
}

static void print_entry(const struct listing *listing, const char *path, const struct readyfs_entry *entry,
                        const char *target)
{
    char shown[SAY_NAME_SIZE], shown_target[SAY_NAME_SIZE], mode[12], when[SAY_TEXT_SIZE];
    bool recursive = args_flag(listing->args, FLAG_RECURSIVE);
    const char *name = recursive ? path : entry->name;
    (void)say_name(name, recursive ? strlen(path) : entry->name_len, shown);
    if (!args_flag(listing->args, FLAG_LONG)) {
        (void)printf("%s%s\n", shown, S_ISDIR(entry->mode) ? "/" : "");
        return;
    }
    mode_text(entry->mode, mode);
    (void)printf("%s %3" PRIu32 " %5" PRIu32 " %5" PRIu32 " %12" PRIu64 " %s %s%s%s", mode, entry->nlink, entry->uid,
                 entry->gid, entry->size, say_time(entry->mtime, when), shown, target[0] ? " -> " : "",
                 target[0] ? say_name(target, strlen(target), shown_target) : "");
    if (entry->blob[0])
        (void)printf("  [version %" PRId64 ", %s]", entry->number, entry->blob);
    (void)putchar('\n');
}

static int list_directory(struct listing *listing, const char *path);

/* One entry, and what is below it. */
static int list_entry(struct listing *listing, const char *parent, const struct readyfs_entry *entry)
{
    char path[PATH_BYTES], target[PATH_BYTES];
    int len = snprintf(path, sizeof path, "%s%s%s", parent, parent[0] ? "/" : "", entry->name);
    if (len >= (int)sizeof path) {
        listing->error = (struct readyfs_error){.message = "a path is too long to be listed", .exit_code = 1};
        return 1;
    }
    int failed = target_of(listing, entry, target);
    if (failed)
        return failed;
    if (listing->entries)
        add_json(listing, path, entry, target);
    else
        print_entry(listing, path, entry, target);
    return S_ISDIR(entry->mode) && args_flag(listing->args, FLAG_RECURSIVE) ? list_directory(listing, path) : 0;
}

/* Calls itself through list_entry, no deeper than a path is long. */
static int list_directory(struct listing *listing, const char *path)
{
    struct readyfs_entry entries[BATCH];
    int64_t cursor = 0;
    size_t count = BATCH;
    while (count == BATCH) {
        int failed = readyfs_ls(listing->volume, path, &cursor, entries, BATCH, &count, &listing->error);
        for (size_t i = 0; i < count && !failed; i++)
            failed = list_entry(listing, path, &entries[i]);
        if (failed)
            return failed;
    }
    return 0;
}

static int show_version(struct listing *listing, struct table *table, const struct readyfs_version *version)
{
    char path[PATH_BYTES], shown[SAY_NAME_SIZE], id[SAY_TEXT_SIZE], size[SAY_TEXT_SIZE], session[SAY_TEXT_SIZE];
    if (readyfs_path(listing->volume, version->document, path, sizeof path, &listing->error))
        return 1;
    if (listing->versions) {
        json_t *row = json_pack("{s:I, s:I, s:I, s:s, s:s, s:I, s:I, s:s}", "version", (json_int_t)version->id,
                                "document", (json_int_t)version->document, "session", (json_int_t)version->session,
                                "state", version->state, "blob", version->blob, "size", (json_int_t)version->size,
                                "created_ns", (json_int_t)version->created, "reason", version->reason);
        say_json_bytes(row, "path", path, strlen(path));
        (void)json_array_append_new(listing->versions, row);
        return 0;
    }
    (void)snprintf(id, sizeof id, "%" PRId64, version->id);
    (void)snprintf(session, sizeof session, "%" PRId64, version->session);
    table_row(table, (const char *const[]){version->state, id, session, say_size(version->size, size), version->blob,
                                           version->reason, say_name(path, strlen(path), shown)});
    return 0;
}

/* What no listing shows; names that are merely set aside are counted. */
static int list_versions(struct listing *listing)
{
    struct readyfs_version versions[BATCH];
    int64_t cursor = 0;
    size_t count = BATCH, pooled = 0;
    struct table *table =
        listing->versions
            ? NULL
            : table_new((const char *const[]){"STATE", "VERSION", "SESSION", "SIZE", "BLOB", "REASON", "NAME", NULL});
    int failed = 0;
    while (count == BATCH && !failed) {
        failed = readyfs_versions(listing->volume, &cursor, versions, BATCH, &count, &listing->error);
        for (size_t i = 0; i < count && !failed; i++) {
            pooled += versions[i].pooled;
            if (!versions[i].pooled && strcmp(versions[i].state, "Ready") != 0)
                failed = show_version(listing, table, &versions[i]);
        }
    }
    if (listing->versions)
        return failed;
    table_print(table);
    (void)printf("%zu names set aside for the next files\n", pooled);
    return failed;
}

static int list(struct listing *listing)
{
    const char *path = listing->args->operand_count > 1 ? listing->args->operands[1] : "";
    int failed = readyfs_open(listing->args->operands[0], listing->args->options, READYFS_CATALOGUE, &listing->volume,
                              &listing->error);
    if (failed)
        return failed;
    while (*path == '/')
        path++;
    failed = list_directory(listing, path);
    if (!failed && args_flag(listing->args, FLAG_ALL))
        failed = list_versions(listing);
    readyfs_close(listing->volume);
    return failed;
}

int cmd_ls(struct args *args)
{
    bool json = args_flag(args, FLAG_JSON);
    struct listing listing = {.args = args,
                              .entries = json ? json_array() : NULL,
                              .versions = json && args_flag(args, FLAG_ALL) ? json_array() : NULL};
    json_t *whole = json ? json_object() : NULL;
    int code = list(&listing) ? say_error("ls", &listing.error) : 0;
    if (json && !code) {
        (void)json_object_set(whole, "entries", listing.entries);
        if (listing.versions)
            (void)json_object_set(whole, "versions", listing.versions);
        code = say_json(json_incref(whole), 0);
    }
    json_decref(whole);
    json_decref(listing.entries);
    json_decref(listing.versions);
    return say_flush(code);
}
