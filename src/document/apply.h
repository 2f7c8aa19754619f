/* apply.h - operations inside a catalogue transaction: apply_op() and the files behind it. Private to document/. */
#ifndef READYFS_DOCUMENT_APPLY_H
#define READYFS_DOCUMENT_APPLY_H

#include "document/op.h"
#include "document/session_internal.h"

#define HOLDERS_MAX 256 /* sessions that may hold one reserved entry; far more than mounts of one host */

/* Applies one operation and writes its results into it (valid only once the transaction has committed). */
MUST_CHECK enum status apply_op(struct apply *apply, struct op *op, struct err *err);

/* By kind: names (apply_name.c, apply_rename.c), contents (apply_put.c), attributes (apply_attr.c). */
MUST_CHECK enum status apply_reserve(struct apply *apply, struct op *op, struct err *err);
MUST_CHECK enum status apply_remove(struct apply *apply, struct op *op, struct err *err);
MUST_CHECK enum status apply_link(struct apply *apply, struct op *op, struct err *err);
MUST_CHECK enum status apply_make(struct apply *apply, struct op *op, struct err *err); /* mkdir, symlink, mknod */
MUST_CHECK enum status apply_rmdir(struct apply *apply, struct op *op, struct err *err);
MUST_CHECK enum status apply_rename(struct apply *apply, struct op *op, struct err *err);
MUST_CHECK enum status apply_exchange(struct apply *apply, struct op *op, struct err *err);
MUST_CHECK enum status apply_put(struct apply *apply, struct op *op, struct err *err);
MUST_CHECK enum status apply_setattr(struct apply *apply, struct op *op, struct err *err);
MUST_CHECK enum status apply_xattr(struct apply *apply, struct op *op, struct err *err);

/* The directory with this id; NOT_FOUND when it was removed, NOT_DIRECTORY. */
MUST_CHECK enum status apply_directory(struct apply *apply, int64_t dir, struct document_row *ret_row, struct err *err);

/* The entry at dir/name as this session sees it: reserved ones of others are NOT_FOUND. */
MUST_CHECK enum status apply_entry(struct apply *apply, int64_t dir, const struct name *name, struct entry_row *ret_row,
                                   struct err *err);

/* Makes room at a name that must be free. EXISTS while a document or a living holder has it; dead holders are fenced.
 */
MUST_CHECK enum status apply_free_name(struct apply *apply, int64_t dir, const struct name *name, struct err *err);

/* Whether a directory has no entries left but those of dead holders, which are fenced. NOT_EMPTY otherwise. */
MUST_CHECK enum status apply_empty(struct apply *apply, int64_t dir, struct err *err);

/* Adds `by` to the link count of a directory (its subdirectories' ".."). */
MUST_CHECK enum status apply_subdirectories(struct apply *apply, int64_t dir, int by, struct err *err);

#endif
