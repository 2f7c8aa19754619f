/* walk.h - listing the directory store: every blob in byte order of the names, and what is only staged.
 *
 * A walk holds the names of one folder a level, never all names. Blobs that come or go meanwhile may be shown or not.
 */
#ifndef READYFS_BLOB_WALK_H
#define READYFS_BLOB_WALK_H

#include "blob/blob.h"
#include "blob/shelf.h"

MUST_CHECK enum status walk_blobs(struct shelf *shelf, const struct call *call, const char *prefix, blob_list_fn *fn,
                                  void *context, struct err *err);

/* Fills what the file and its label tell of a blob that is open. */
void walk_facts(struct shelf *shelf, int fd, const char *name, const struct stat *facts, struct blob_facts *ret_facts);

#endif
