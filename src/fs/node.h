/* node.h - the table of what the kernel calls inodes.
 *
 * A file has one node for each Ready version that the kernel knows, keyed by (document, version), and one for each
 * workspace; a directory, symlink or special file has one node, keyed by (document, 0). A node lives while the kernel
 * counts lookups of it, or somebody here uses it. Its number is never given twice. Everything is protected by the
 * table's lock, which is the caller's (struct fs); nodes_add is the one place that adds, nodes_drop the one that
 * removes.
 */
#ifndef READYFS_FS_NODE_H
#define READYFS_FS_NODE_H

#include "document/pin.h"

struct workspace;

struct node {
    uint64_t number;
    int64_t document;
    int64_t version;                      /* of a Ready file; 0 for all others */
    struct workspace *workspace;          /* borrowed: of a workspace's node, while that is open; else NULL */
    uint64_t lookups;                     /* what the kernel will forget */
    unsigned users;                       /* handles, wishes and the workspace */
    unsigned readers;                     /* handles that read through `pin` */
    uint64_t epoch;                       /* when it was last known to be the newest (struct fs.epoch) */
    struct pin *pin;                      /* owned, while readers > 0 */
    struct document_row row;              /* as last seen */
    struct node *by_number, *by_document; /* chains of the two tables */
};

struct nodes {
    struct node **numbers, **documents; /* heads of chains */
    size_t buckets;                     /* a power of two */
    uint64_t count, next_number;
};

MUST_CHECK enum status nodes_init(struct nodes *nodes, struct err *err);
void nodes_done(struct nodes *nodes); /* frees all nodes */

/* A new node with a number of its own; NULL when out of memory. The row's document and `version` are its key. */
struct node *nodes_add(struct nodes *nodes, const struct document_row *row, int64_t version);
/* Removes the node if the kernel has forgotten it and nobody uses it. */
void nodes_drop(struct nodes *nodes, struct node *node);

struct node *nodes_find(const struct nodes *nodes, uint64_t number);
/* The node of a Ready version, or of what is no file (version 0). Workspaces' nodes are not found so. */
struct node *nodes_of(const struct nodes *nodes, int64_t document, int64_t version);
/* All nodes of a document: begin with NULL, until NULL. */
struct node *nodes_next(const struct nodes *nodes, int64_t document, const struct node *node);
/* Gives a node of a Ready version the version that grew out of it by appending. */
void node_grow(struct node *node, const struct document_row *row);

#endif
