/* label.h - what a blob in a folder says of itself: whose it is and what it was when it was published.
 *
 * A label is a handful of extended attributes (user.readyfs.token and others) on the file, or, where the file system
 * has none, the same as lines of text in a file beside it. Nothing of it is a secret; the document's name is in hex.
 */
#ifndef READYFS_BLOB_LABEL_H
#define READYFS_BLOB_LABEL_H

#include "base/buf.h"
#include "blob/blob.h"

#define LABEL_SUFFIX   ".about" /* of the file beside */
#define LABEL_TEXT_MAX 4096

/* Sets the attributes. 0 or an errno; ENOTSUP where the file system has none. */
MUST_CHECK int label_attach(int fd, const struct blob_about *about, uint64_t crc64);

/* Fills what the attributes tell into `facts`, the rest stays; false where there is no token among them. */
bool label_detect(int fd, struct blob_facts *facts);

/* The same as lines "key=value". INVALID for a value with a line break. */
MUST_CHECK enum status label_print(struct buf *buf, const struct blob_about *about, uint64_t crc64);
void label_parse(const char *text, struct blob_facts *facts);

#endif
