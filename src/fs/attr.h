/* attr.h - attributes as programs see them and as the catalogue keeps them. Pure.
 *
 * The kernel checks permissions (default_permissions); what it leaves to us stands here: what is shown instead of what
 * is stored, set-id bits that end with a write or a chown, and relatime.
 */
#ifndef READYFS_FS_ATTR_H
#define READYFS_FS_ATTR_H

#include "fs/fs.h"

/* The row as stat(2) shows it, with the mount's own owner and modes where the options say so (S16: st_ino is the
 * document's id). */
void attr_stat(const struct document_row *row, const struct fs_options *options, struct stat *ret_stat);

/* What setattr asks for, but for the size. `row`: the document as it is; a change of owner ends its set-id bits. */
struct attr_change attr_change_of(const struct document_row *row, const struct stat *stat, unsigned set,
                                  int64_t now_ns);

/* Whether the mount allows it: PERMISSION where what would be changed is not what is shown. */
MUST_CHECK enum status attr_allowed(const struct fs_options *options, unsigned set, struct err *err);

/* The mode after a write or truncate by `uid`: without set-user-id, and without set-group-id of an executable, unless
 * root wrote (chmod(2), NOTES). */
uint32_t attr_mode_written(uint32_t mode, uid_t uid);

/* Whether reading the document now moves its atime: the rule of relatime (mount(8)). */
bool attr_wants_atime(const struct document_row *row, int64_t now_ns);

/* Nanoseconds since 1970, which reach from 1677 to 2262; a time beyond is taken for the nearest of these, as
 * utimensat(2) lets filesystems do. */
int64_t attr_ns(struct timespec time);
struct timespec attr_time(int64_t ns);

#endif
