/* wish.c - a short list: there is one for each thread that is between its two tries. */
#include "fs/wish.h"

#include "base/cleanup.h"
#include "fs/workspace.h"

#include <string.h>

struct wish *wish_find(struct fs *fs, pid_t tid)
{
    struct wish *wish = tid ? fs->wishes : NULL;
    while (wish && wish->tid != tid)
        wish = wish->next;
    return wish;
}

struct wish *wish_take(struct fs *fs, pid_t tid)
{
    struct wish **link = &fs->wishes;
    while (tid && *link && (*link)->tid != tid)
        link = &(*link)->next;
    struct wish *wish = tid ? *link : NULL;
    if (!wish)
        return NULL;
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

enum status wish_note(struct fs *fs, const struct wish *wish, struct err *err)
{
    struct wish *noted = malloc(sizeof *noted);
    if (!noted)
        return err_set(err, STATUS_NO_MEMORY, "open a file: out of memory");
    *noted = *wish;
    noted->until_boot_ms = fs_boot_ms(fs) + WISH_LIFE_MS;
    fs_lock(fs);
    struct wish *before = wish_take(fs, wish->tid);
    noted->next = fs->wishes;
    fs->wishes = noted;
    fs_unlock(fs);
    wish_free(fs, before);
    return STATUS_OK;
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

/* What the wish has held so far, and holds no longer. */
static void let_go(struct fs *fs, const struct wish *wish)
{
    if (wish->node) {
        fs_lock(fs);
        wish->node->users--;
        nodes_drop(&fs->nodes, wish->node);
        fs_unlock(fs);
    }
    if (wish->workspace)
        workspace_let_go(wish->workspace);
    pin_close(wish->pin);
}

void wish_free(struct fs *fs, struct wish *wishes)
{
    while (wishes) {
        struct wish *wish = wishes;
        wishes = wish->next;
        let_go(fs, wish);
        free(wish);
    }
}

static bool is_at(const struct wish *wish, int64_t dir, const struct name *name)
{
    return wish->dir == dir && wish->name.len == name->len && memcmp(wish->name.bytes, name->bytes, name->len) == 0;
}

void wish_pass(struct fs *fs, pid_t tid, int64_t dir, const struct name *name, bool found)
{
    struct wish *ended = NULL;
    fs_lock(fs);
    struct wish *wish = wish_find(fs, tid);
    if (wish && wish->dir && !is_at(wish, dir, name)) {
        ended = wish_take(fs, tid);
    } else if (wish) {
        wish->dir = dir;
        wish->name = *name;
        wish->missed = !found;
    }
    fs_unlock(fs);
    wish_free(fs, ended);
}

void wish_end(struct fs *fs, pid_t tid)
{
    fs_lock(fs);
    struct wish *ended = wish_take(fs, tid);
    fs_unlock(fs);
    wish_free(fs, ended);
}

/* Where the document's reader or writer is to be led. What cannot be had the OPEN will find out. */
static enum status promise(struct fs *fs, const struct document_row *row, struct wish *wish)
{
    if (wish->writes)
        return workspace_for(fs, row->id, wish->truncates, &wish->workspace, NULL);
    if (row->version)
        return pin_open(fs->session, row->id, &wish->pin, NULL);
    fs_lock(fs);
    wish->workspace = workspace_any(fs, row->id);
    if (wish->workspace)
        workspace_hold(wish->workspace);
    fs_unlock(fs);
    return STATUS_OK;
}

bool wish_lead(struct fs *fs, pid_t tid, const struct document_row *row)
{
    struct wish led = {.document = row->id}, before = {.document = 0};
    fs_lock(fs);
    const struct wish *wish = wish_find(fs, tid);
    bool leads = !wish || (wish->document == row->id && wish->workspace);
    if (!leads) {
        led.writes = wish->writes;
        led.truncates = wish->truncates;
    }
    fs_unlock(fs);
    if (leads)
        return true;
    if (promise(fs, row, &led) == STATUS_NOT_FOUND)
        return false;
    fs_lock(fs);
    struct wish *noted = wish_find(fs, tid);
    if (noted) {
        before = *noted;
        noted->document = led.document;
        noted->workspace = TAKE(led.workspace);
        noted->pin = TAKE(led.pin);
        noted->node = NULL;
    }
    fs_unlock(fs);
    let_go(fs, &before);
    let_go(fs, &led); /* the wish has ended meanwhile */
    return true;
}
