/* scratch.c - a fresh folder for one test. */
#include "support/scratch.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void give_up(const char *what)
{
    perror(what);
    exit(99);
}

void scratch_init(struct scratch *scratch)
{
    const char *parent = getenv("TMPDIR");
    (void)snprintf(scratch->path, sizeof scratch->path, "%s/readyfs-test-XXXXXX", parent && *parent ? parent : "/tmp");
    if (!mkdtemp(scratch->path))
        give_up(scratch->path);
    scratch->fd = open(scratch->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (scratch->fd < 0)
        give_up(scratch->path);
}

static int open_up(const char *path, const struct stat *facts, int type, struct FTW *at)
{
    (void)facts;
    (void)at;
    if (type == FTW_D || type == FTW_DNR)
        (void)chmod(path, 0700); /* a test may have locked it */
    return 0;
}

static int take_away(const char *path, const struct stat *facts, int type, struct FTW *at)
{
    (void)facts;
    (void)type;
    (void)at;
    return remove(path);
}

void scratch_done(struct scratch *scratch)
{
    (void)close(scratch->fd);
    (void)nftw(scratch->path, open_up, 16, FTW_PHYS);
    if (nftw(scratch->path, take_away, 16, FTW_DEPTH | FTW_PHYS))
        give_up(scratch->path);
}

const char *scratch_path(const struct scratch *scratch, const char *name, char *ret_path, size_t size)
{
    (void)snprintf(ret_path, size, "%s/%s", scratch->path, name);
    return ret_path;
}

size_t scratch_count(const char *path, int deep)
{
    DIR *dir = opendir(path);
    if (!dir)
        return 0;
    size_t count = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        char below[1024];
        (void)snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
        count += 1 + (deep && entry->d_type == DT_DIR ? scratch_count(below, deep) : 0);
    }
    (void)closedir(dir);
    return count;
}
