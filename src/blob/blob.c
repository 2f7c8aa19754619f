/* blob.c - the end of a store. */
#include "blob/blob.h"

struct blob_store *blob_close(struct blob_store *store)
{
    if (store)
        store->ops->close(store);
    return NULL;
}
