/* directory.h - blobs as files of a local folder: the embedded default, no server. */
#ifndef READYFS_BLOB_DIRECTORY_H
#define READYFS_BLOB_DIRECTORY_H

#include "blob/blob.h"

/* Opens the folder at absolute `path`, which must exist unless `create`, and removes what dead processes have left in
 * its staging folder. One that cannot be written is opened all the same, and writes are then refused with READ_ONLY or
 * ACCESS. ETags last as long as the files: in a copy of the folder, or where the device has another number after a
 * reboot, each blob has a new one and its old token (P7 says what follows). ACCESS, NOT_FOUND, NOT_DIRECTORY, NO_SPACE.
 */
MUST_CHECK enum status directory_open(const char *path, bool create, struct blob_store **ret_store, struct err *err);

#endif
