/* catalogue.c - what the port does for every backend. */
#include "catalogue/catalogue.h"

#include <stdlib.h>

void version_row_done(struct version_row *row)
{
    free(row->digests);
    row->digests = NULL;
    row->digest_count = 0;
}

struct catalogue *catalogue_close(struct catalogue *catalogue)
{
    if (catalogue)
        catalogue->ops->close(catalogue);
    return NULL;
}
