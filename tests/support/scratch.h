/* scratch.h - a fresh folder for one test, under TMPDIR or /tmp, removed with everything in it. */
#ifndef READYFS_TESTS_SCRATCH_H
#define READYFS_TESTS_SCRATCH_H

#include <stddef.h>

struct scratch {
    char path[256]; /* absolute */
    int fd;         /* the folder, open */
};

/* Makes the folder; ends the test program where it cannot. */
void scratch_init(struct scratch *scratch);

/* Removes it. */
void scratch_done(struct scratch *scratch);

/* The path of `name` in it, in a buffer of the caller's. */
const char *scratch_path(const struct scratch *scratch, const char *name, char *ret_path, size_t size);

/* How many entries the folder at `path` has, without "." and "..", all levels below counted too where `deep`. */
size_t scratch_count(const char *path, int deep);

#endif
