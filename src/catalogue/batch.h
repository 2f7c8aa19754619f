/* batch.h - the pages of a commit written to SQLite's log at once.
 *
 * SQLite appends each page of a commit to its log by two writes, the frame's header and the page: some fifty for a
 * document. A batch is a VFS that gathers what is appended and writes it when the commit's last page comes, so that the
 * writer learns of a failure where it would have learned of it anyway, and no reader can look for a page before it is
 * there. Whatever does not look like a frame at the log's end is written at once, behind what was gathered before.
 * The frame's layout is part of SQLite's file format (sqlite.org/fileformat2.html, 4.1).
 *
 * Only the writer's connection is opened with it; all calls about other files go to the VFS below, which is the default
 * one at the time of batch_open.
 */
#ifndef READYFS_CATALOGUE_BATCH_H
#define READYFS_CATALOGUE_BATCH_H

#include "base/err.h"

struct batch;

/* Registers a VFS of its own name. NO_MEMORY. */
MUST_CHECK enum status batch_open(struct batch **ret_batch, struct err *err);

/* No connection uses it any more. NULL is fine. Returns NULL. */
struct batch *batch_close(struct batch *batch);

/* For sqlite3_open_v2. */
const char *batch_name(const struct batch *batch);

#endif
