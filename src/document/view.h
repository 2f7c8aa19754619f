/* view.h - what a filesystem sees of the documents, and how it changes them: read through, stage, commit.
 *
 * fs/ talks to a view, never to single commits: the view of a mount commits each batch at once; a view inside a
 * transaction stages it. Reserved names (S4) are shown to the sessions that hold them and to nobody else. All calls
 * from any thread. NOT_FOUND without a message is an answer.
 */
#ifndef READYFS_DOCUMENT_VIEW_H
#define READYFS_DOCUMENT_VIEW_H

#include "document/op.h"
#include "document/session.h"

struct view;

/* A view that commits at once. Borrows the session. */
MUST_CHECK enum status view_open(struct session *session, struct view **ret_view, struct err *err);
void view_close(struct view *view); /* NULL is fine */
struct session *view_session(struct view *view);

/* The document at dir/name. `ret_reserved` (may be NULL): it was never published. */
MUST_CHECK enum status view_lookup(struct view *view, int64_t dir, const struct name *name,
                                   struct document_row *ret_document, bool *ret_reserved, struct err *err);

MUST_CHECK enum status view_document(struct view *view, int64_t id, struct document_row *ret_document, struct err *err);

/* ret_target has LIMIT_TARGET_BYTES + 1 bytes. */
MUST_CHECK enum status view_target(struct view *view, int64_t id, char *ret_target, struct err *err);

struct view_item {
    struct entry_row entry;
    struct document_row document;
};

/* Listed entries (no reserved ones, whoever holds them: S1) with a cookie greater than `after`, at most `capacity`;
 * *ret_count < capacity means the end. */
MUST_CHECK enum status view_list(struct view *view, int64_t dir, int64_t after, struct view_item *ret_items,
                                 size_t capacity, size_t *ret_count, struct err *err);

/* Some name of a document, for messages and recovery: "dir/name" as far as it can be told, quoted and cut to fit. */
void view_describe(struct view *view, int64_t document, char *ret_text, size_t capacity);

MUST_CHECK enum status view_xattr_get(struct view *view, int64_t document, const char *name, void *ret_value,
                                      size_t capacity, size_t *ret_len, struct err *err);
MUST_CHECK enum status view_xattr_list(struct view *view, int64_t document, char *ret_names, size_t capacity,
                                       size_t *ret_len, struct err *err);

/* Applies the operations, all or none. `ret_seq` may be NULL. */
MUST_CHECK enum status view_apply(struct view *view, struct op *ops, size_t count, enum durability durability,
                                  int64_t *ret_seq, struct err *err);

struct view_change {
    int64_t seq; /* the commit's number, so that a session can tell its own */
    int64_t dir; /* 0: only the document changed */
    struct name name;
    int64_t document;
};

/* What other sessions and this one changed after `*seq`, in order, commit by commit; moves *seq on. `ret_all` true: the
 * log has a gap, forget everything. At most `capacity`; call again until *ret_count is 0. Calling it with a number says
 * that everything up to it was used: the heartbeat tells so, and the log is pruned behind it. One follower a session.
 */
MUST_CHECK enum status view_changes(struct view *view, int64_t *seq, struct view_change *ret_changes, size_t capacity,
                                    size_t *ret_count, bool *ret_all, struct err *err);

struct view_usage {
    uint64_t ready_bytes;
    uint64_t documents; /* of every kind */
};

MUST_CHECK enum status view_usage(struct view *view, struct view_usage *ret_usage, struct err *err);

#endif
