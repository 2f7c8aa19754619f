/* directory.h - blobs as files of a local folder: the embedded default, no server. */
#ifndef READYFS_BLOB_DIRECTORY_H
#define READYFS_BLOB_DIRECTORY_H

#include "blob/blob.h"

/* Opens the folder at absolute `path`, which must exist unless `create`. ACCESS, NOT_FOUND, NOT_DIRECTORY, NO_SPACE. */
MUST_CHECK enum status directory_open(const char *path, bool create, struct blob_store **ret_store, struct err *err);

#endif
