/* wish.c - a short list: there is one for each thread that is between its two tries. */
#include "fs/wish.h"

#include "base/cleanup.h"
#include "fs/workspace.h"

bool wish_add(struct fs *fs, pid_t tid, int64_t document, struct workspace *workspace, bool writes)
{
    struct wish *wish = calloc(1, sizeof *wish);
    if (!wish)
        return false;
    *wish = (struct wish){
        .next = fs->wishes,
        .tid = tid,
        .document = document,
        .writes = writes,
        .workspace = workspace,
        .until_boot_ms = fs_boot_ms(fs) + WISH_LIFE_MS,
    };
    fs->wishes = wish;
    return true;
}

struct wish *wish_find(struct fs *fs, pid_t tid, int64_t document)
{
    for (struct wish *wish = tid ? fs->wishes : NULL; wish; wish = wish->next)
        if (wish->tid == tid && wish->document == document)
            return wish;
    return NULL;
}

bool wish_any(struct fs *fs, pid_t tid)
{
    for (const struct wish *wish = tid ? fs->wishes : NULL; wish; wish = wish->next)
        if (wish->tid == tid)
            return true;
    return false;
}

void wish_looked(struct fs *fs, struct wish *wish, struct node *node)
{
    if (wish->node == node)
        return;
    node->users++;
    if (wish->node) {
        wish->node->users--;
        nodes_drop(&fs->nodes, wish->node);
    }
    wish->node = node;
}

struct wish *wish_take(struct fs *fs, struct wish *wish)
{
    struct wish **link = &fs->wishes;
    while (*link != wish)
        link = &(*link)->next;
    *link = wish->next;
    wish->next = NULL;
    return wish;
}

struct wish *wish_take_old(struct fs *fs, int64_t boot_ms)
{
    struct wish *old = NULL;
    for (struct wish **link = &fs->wishes; *link;) {
        struct wish *wish = *link;
        if (wish->until_boot_ms > boot_ms) {
            link = &wish->next;
            continue;
        }
        *link = wish->next;
        wish->next = old;
        old = wish;
    }
    return old;
}

void wish_free(struct fs *fs, struct wish *wishes)
{
    while (wishes) {
        struct wish *wish = wishes;
        wishes = wish->next;
        if (wish->node) {
            fs_lock(fs);
            wish->node->users--;
            nodes_drop(&fs->nodes, wish->node);
            fs_unlock(fs);
        }
        if (wish->workspace)
            workspace_let_go(wish->workspace);
        pin_close(wish->pin);
        free(wish);
    }
}
