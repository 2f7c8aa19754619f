/* sqlite_rows.h - columns of rows that more than one statement reads, and how a row is read off them. */
#ifndef READYFS_CATALOGUE_SQLITE_ROWS_H
#define READYFS_CATALOGUE_SQLITE_ROWS_H

#include "catalogue/sqlite_internal.h"

/* Of a document as `d`, with size and number from its Ready version as `v`. */
#define DOCUMENT_COLUMNS                                                                                               \
    "d.id, d.mode, d.uid, d.gid, d.nlink, d.rdev, d.atime_ns, d.mtime_ns, d.ctime_ns, d.btime_ns, d.version,"          \
    " d.parent, d.members, coalesce(v.size_bytes, length(d.target), 0), coalesce(v.number, 0)"
#define DOCUMENT_JOIN "LEFT JOIN version v ON v.id = d.version"

/* Reads DOCUMENT_COLUMNS, from the query's current column on. */
void document_read(struct query *query, struct document_row *ret_row);

#endif
