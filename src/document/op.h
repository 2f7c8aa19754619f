/* op.h - the operation alphabet: all that can be done to documents and names, in one struct.
 *
 * An operation is staged in a transaction (txn.h) and applied by one function within a catalogue transaction. Which
 * fields count stands beside each kind. Results are written when the transaction has committed.
 */
#ifndef READYFS_DOCUMENT_OP_H
#define READYFS_DOCUMENT_OP_H

#include "catalogue/catalogue.h"

enum op_kind {
    OP_RESERVE =
        1, /* O_CREAT: dir, name, attr (mode with S_IFREG, uid, gid), flags OP_EXCLUSIVE. Makes document and reserved
              entry, or joins one, or finds a document: ret_created, ret_document. IS_DIRECTORY is not checked: look
              at ret_document.mode. EXISTS with OP_EXCLUSIVE. Holds the name for this session (S12). */
    OP_ABANDON, /* document: this session no longer holds its unpublished document; the last holder's leaving removes it
                 */
    OP_PUT,     /* put: a confirmed upload becomes the document's Ready version (P5). See struct op_put. */
    OP_REMOVE,  /* dir, name: unlink. ret_document: as it is afterwards (nlink 0: its row is gone) */
    OP_LINK,    /* document -> dir2, name2 */
    OP_RENAME,  /* dir, name -> dir2, name2; flags OP_NOREPLACE. ret_document: what moved; ret_other: what it replaced
                   (id 0: nothing), as it is afterwards */
    OP_EXCHANGE, /* dir, name <-> dir2, name2. ret_document, ret_other: what now stands at dir2/name2 and dir/name */
    OP_MKDIR,    /* dir, name, attr (mode, uid, gid). ret_document */
    OP_RMDIR,    /* dir, name. ret_document */
    OP_SYMLINK,  /* dir, name, target, attr (uid, gid). ret_document */
    OP_MKNOD, /* dir, name, attr (mode with type, uid, gid), rdev. FIFO, socket, device: Ready at once. ret_document */
    OP_SETATTR,  /* document, attr with mask. Never the size: that is a new version. ret_document */
    OP_SETXATTR, /* document, xattr_name, xattr_value, xattr_len; flags OP_EXCLUSIVE (create only), OP_REPLACE (replace
                    only) */
    OP_REMOVEXATTR, /* document, xattr_name */
};

enum op_flags {
    OP_EXCLUSIVE = 1,
    OP_NOREPLACE = 2,
    OP_REPLACE = 4,
    OP_INVISIBLE = 8, /* OP_SETATTR: leave ctime alone (atime of a read) */
};

enum attr_mask {
    ATTR_MODE = 1,
    ATTR_UID = 2,
    ATTR_GID = 4,
    ATTR_ATIME = 8,
    ATTR_MTIME = 16,
    ATTR_CTIME = 32, /* else "now" wherever POSIX changes it */
};

struct attr_change {
    unsigned mask;
    uint32_t mode, uid, gid;
    int64_t atime_ns, mtime_ns, ctime_ns;
};

struct upload;

struct op_put {
    struct upload *upload;   /* finished and confirmed (upload_finish) */
    int64_t base;            /* the version that the writer began from, 0 for none */
    bool compare_base;       /* refuse with CONFLICT where the document has moved on (conflict = fail, CAS) */
    bool appends;            /* the new version is the base plus a tail */
    struct attr_change attr; /* mtime, ctime, mode (suid bits cleared by writing) as the writer left them */
    enum status
        ret_status; /* OK, CONFLICT, STALE: the document is gone; then the version is Condemned by this commit */
    int64_t ret_number;
    bool ret_takes_node; /* the replaced version was the base, and this one only appends to it (append_of) */
};

struct op {
    enum op_kind kind;
    unsigned flags;
    int64_t dir, dir2, document;
    struct name name, name2;
    struct attr_change attr;
    uint64_t rdev;
    const char *target; /* borrowed until the transaction ends, like the next ones */
    const char *xattr_name;
    const void *xattr_value;
    size_t xattr_len;
    struct op_put put;

    struct document_row ret_document, ret_other;
    bool ret_created;
};

#endif
