/* node.c - two hash tables over the same nodes: by number, by document. */
#include "fs/node.h"

#include "base/cleanup.h"

#include <string.h>
#include <sys/stat.h>

#define FIRST_BUCKETS 256

static size_t bucket_of(const struct nodes *nodes, uint64_t key)
{
    key *= 0x9e3779b97f4a7c15u; /* Fibonacci hashing (Knuth, TAOCP 3, 6.4) */
    return (size_t)(key >> 32) & (nodes->buckets - 1);
}

enum status nodes_init(struct nodes *nodes, struct err *err)
{
    *nodes = (struct nodes){.buckets = FIRST_BUCKETS, .next_number = 1};
    nodes->numbers = calloc(nodes->buckets, sizeof *nodes->numbers);
    nodes->documents = calloc(nodes->buckets, sizeof *nodes->documents);
    if (nodes->numbers && nodes->documents)
        return STATUS_OK;
    nodes_done(nodes);
    return err_set(err, STATUS_NO_MEMORY, "make the table of nodes: out of memory");
}

void nodes_done(struct nodes *nodes)
{
    for (size_t i = 0; nodes->numbers && i < nodes->buckets; i++) {
        for (struct node *node = nodes->numbers[i], *next; node; node = next) {
            next = node->by_number;
            pin_close(node->pin);
            free(node);
        }
    }
    free(nodes->numbers);
    free(nodes->documents);
    *nodes = (struct nodes){0};
}

static void chain(struct nodes *nodes, struct node *node)
{
    struct node **number = &nodes->numbers[bucket_of(nodes, node->number)];
    node->by_number = *number;
    *number = node;
    struct node **document = &nodes->documents[bucket_of(nodes, (uint64_t)node->document)];
    node->by_document = *document;
    *document = node;
}

/* Twice the buckets; without the memory for them the chains just stay longer. */
static void widen(struct nodes *nodes)
{
    struct nodes wide = {.buckets = nodes->buckets * 2};
    wide.numbers = calloc(wide.buckets, sizeof *wide.numbers);
    wide.documents = calloc(wide.buckets, sizeof *wide.documents);
    if (!wide.numbers || !wide.documents) {
        free(wide.numbers);
        free(wide.documents);
        return;
    }
    for (size_t i = 0; i < nodes->buckets; i++) {
        for (struct node *node = nodes->numbers[i], *next; node; node = next) {
            next = node->by_number;
            chain(&wide, node);
        }
    }
    free(nodes->numbers);
    free(nodes->documents);
    nodes->numbers = wide.numbers;
    nodes->documents = wide.documents;
    nodes->buckets = wide.buckets;
}

struct node *nodes_add(struct nodes *nodes, const struct document_row *row, int64_t version)
{
    struct node *node = calloc(1, sizeof *node);
    if (!node)
        return NULL;
    node->number = nodes->next_number++;
    node->document = row->id;
    node->version = version;
    node->row = *row;
    if (nodes->count >= nodes->buckets)
        widen(nodes);
    chain(nodes, node);
    nodes->count++;
    return node;
}

void nodes_drop(struct nodes *nodes, struct node *node)
{
    if (node->lookups || node->users)
        return;
    INVARIANT(!node->readers && !node->workspace && !node->pin);
    struct node **link = &nodes->numbers[bucket_of(nodes, node->number)];
    while (*link != node)
        link = &(*link)->by_number;
    *link = node->by_number;
    link = &nodes->documents[bucket_of(nodes, (uint64_t)node->document)];
    while (*link != node)
        link = &(*link)->by_document;
    *link = node->by_document;
    nodes->count--;
    free(node);
}

struct node *nodes_find(const struct nodes *nodes, uint64_t number)
{
    struct node *node = nodes->numbers[bucket_of(nodes, number)];
    while (node && node->number != number)
        node = node->by_number;
    return node;
}

struct node *nodes_next(const struct nodes *nodes, int64_t document, const struct node *node)
{
    struct node *next = node ? node->by_document : nodes->documents[bucket_of(nodes, (uint64_t)document)];
    while (next && next->document != document)
        next = next->by_document;
    return next;
}

struct node *nodes_of(const struct nodes *nodes, int64_t document, int64_t version)
{
    struct node *node = NULL;
    while ((node = nodes_next(nodes, document, node))) {
        bool of_workspace = version == 0 && S_ISREG(node->row.mode);
        if (node->version == version && !of_workspace)
            return node;
    }
    return NULL;
}

void node_grow(struct node *node, const struct document_row *row)
{
    INVARIANT(node->version && row->id == node->document);
    node->version = row->version;
    node->row = *row;
}
