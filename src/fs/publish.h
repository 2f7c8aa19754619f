/* publish.h - a workspace becomes the document's Ready version, or its bytes are kept for people.
 *
 * One publish of a workspace at a time, the others queue up. Its draft is frozen first, so that writes which arrive
 * during the upload begin the next version (S7). Any thread; no lock may be held.
 */
#ifndef READYFS_FS_PUBLISH_H
#define READYFS_FS_PUBLISH_H

#include "fs/workspace.h"

enum publish_why {
    PUBLISH_FLUSH,    /* close of a descriptor, fsync: what was written */
    PUBLISH_RELEASE,  /* the last descriptor: whatever is unpublished, an empty new file too */
    PUBLISH_NAME,     /* the file is moved onto another's name: as if by fsync, empty or not (S14) */
    PUBLISH_TRUNCATE, /* truncate by path */
    PUBLISH_TIMER,    /* appended to some time ago (S7) */
};

/* OK: what was there is Ready, or there was nothing to do, or the document was unlinked here (S17). Otherwise the
 * document is as it was and the workspace still holds the bytes (P10). `cancelled` may be NULL. */
MUST_CHECK enum status publish(struct workspace *workspace, enum publish_why why, const atomic_bool *cancelled,
                               struct err *err);

/* Moves the unpublished bytes into the recovery folder and tells it, and the reason, through notify.report. The
 * workspace is ending: nobody else uses it. `told_already`: where there are no bytes nothing is told. */
void publish_keep(struct workspace *workspace, const char *event, const struct err *reason, bool told_already);

/* Cancels the uploads whose requests are no longer waited for. */
void publish_look_for_cancelled(struct fs *fs);

#endif
