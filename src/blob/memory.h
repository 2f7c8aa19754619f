/* memory.h - blobs in memory, with tags and server-side copies: for tests and simulation, reviewed like the others. */
#ifndef READYFS_BLOB_MEMORY_H
#define READYFS_BLOB_MEMORY_H

#include "blob/blob.h"

MUST_CHECK enum status memory_open(struct blob_store **ret_store, struct err *err);

#endif
