/* cleanup.c - the end of a program that has found itself to be wrong. */
#include "base/cleanup.h"

#include <stdio.h>

void invariant_broken(const char *what, const char *file, int line)
{
    (void)fprintf(stderr, "readyfs: broken invariant: %s (%s:%d)\n", what, file, line);
    abort();
}
