/* watch.c - what is done from time to time: other mounts' changes told to the kernel, appended files published, access
 * times written, old wishes forgotten. */
#include "base/cleanup.h"
#include "fs/handle.h"
#include "fs/publish.h"
#include "fs/wish.h"

#include <string.h>

#define BATCH   64
#define SYNC_MS 1000

/* ---- the watcher ---- */

/* The node that the kernel has for a directory; 0 where it has none and so no names in it. */
static uint64_t directory_node(struct fs *fs, int64_t dir)
{
    fs_lock(fs);
    const struct node *node = nodes_of(&fs->nodes, dir, 0);
    uint64_t number = node ? node->number : 0;
    fs_unlock(fs);
    return number;
}

/* A version that is open here, and that another mount has only appended to, grows for its readers. Returns the node,
 * the old pin to close after the kernel was told, and where its whole pages end. */
static uint64_t grow(struct fs *fs, struct pin *pin, struct pin **ret_old, int64_t *ret_offset)
{
    const struct version_row *version = pin_version(pin);
    uint64_t number = 0;
    fs_lock(fs);
    struct node *node = version->append_of ? nodes_of(&fs->nodes, version->document, version->append_of) : NULL;
    if (node && node->readers && !nodes_of(&fs->nodes, version->document, version->id)) {
        *ret_old = node->pin;
        *ret_offset = (int64_t)(node->row.size_bytes / PAGE_BYTES * PAGE_BYTES);
        node->pin = pin_ref(pin);
        node_grow(node, pin_document(pin));
        number = node->number;
    }
    fs_unlock(fs);
    return number;
}

static bool is_read_here(struct fs *fs, int64_t document)
{
    bool read = false;
    struct node *node = NULL;
    fs_lock(fs);
    while (!read && (node = nodes_next(&fs->nodes, document, node)))
        read = node->readers > 0;
    fs_unlock(fs);
    return read;
}

static void tell_document(struct fs *fs, int64_t document)
{
    const struct fs_notify *notify = &fs->options.notify;
    struct pin *pin = NULL, *old = NULL;
    int64_t offset = 0;
    fs_tell_others(fs, document, UINT64_MAX);
    if (!is_read_here(fs, document) || pin_open(fs->session, document, &pin, NULL) != STATUS_OK)
        return;
    uint64_t number = grow(fs, pin, &old, &offset);
    if (number)
        notify->inval_node(notify->context, number, offset, 0);
    pin_close(old);
    pin_close(pin);
}

static void tell_change(struct fs *fs, const struct view_change *change)
{
    const struct fs_notify *notify = &fs->options.notify;
    uint64_t parent = change->dir ? directory_node(fs, change->dir) : 0;
    if (parent) {
        notify->inval_entry(notify->context, parent, &change->name);
        notify->inval_node(notify->context, parent, -1, 0);
    }
    if (change->document)
        tell_document(fs, change->document);
}

/* The change log has a gap: whatever the kernel knows may be old. Names that are no longer listed heal by timeout. */
static void tell_directory(struct fs *fs, int64_t dir, uint64_t number)
{
    const struct fs_notify *notify = &fs->options.notify;
    struct view_item *items = calloc(BATCH, sizeof *items);
    int64_t after = 0;
    size_t count = items ? BATCH : 0;
    while (count == BATCH && view_list(fs->view, dir, after, items, BATCH, &count, NULL) == STATUS_OK) {
        for (size_t i = 0; i < count; i++) {
            after = items[i].entry.cookie;
            notify->inval_entry(notify->context, number, &items[i].entry.name);
        }
    }
    free(items);
}

struct known {
    uint64_t number;
    int64_t directory; /* 0 for what is none */
};

static void tell_all(struct fs *fs)
{
    fs_lock(fs);
    size_t count = 0, capacity = fs->nodes.count;
    struct known *known = calloc(capacity + 1, sizeof *known);
    for (size_t i = 0; known && i < fs->nodes.buckets; i++)
        for (const struct node *node = fs->nodes.numbers[i]; node && count < capacity; node = node->by_number)
            known[count++] = (struct known){node->number, S_ISDIR(node->row.mode) ? node->document : 0};
    fs_unlock(fs);
    for (size_t i = 0; i < count; i++) {
        if (known[i].directory)
            tell_directory(fs, known[i].directory, known[i].number);
        fs->options.notify.inval_node(fs->options.notify.context, known[i].number, -1, 0);
    }
    free(known);
}

static void moved(struct fs *fs)
{
    fs_lock(fs);
    fs->epoch++;
    fs_unlock(fs);
    atomic_fetch_add(&fs->changes, 1);
}

void fs_watch(struct fs *fs)
{
    struct view_change changes[BATCH];
    size_t count = 0;
    bool all = false;
    publish_look_for_cancelled(fs);
    if (!session_moved(fs->session, &fs->watch_seen))
        return;
    do {
        if (view_changes(fs->view, &fs->watch_seq, changes, BATCH, &count, &all, NULL) != STATUS_OK) {
            fs->watch_seen = 0; /* the next round tries again */
            return;
        }
        if (count || all) {
            own_settle(&fs->own);
            moved(fs); /* before the kernel is told: answers that are on their way must not be kept for long */
        }
        for (size_t i = 0; i < count && !all; i++)
            if (!own_has(&fs->own, changes[i].seq, changes[i].dir, &changes[i].name))
                tell_change(fs, &changes[i]);
        if (all)
            tell_all(fs);
    } while (count || all);
    own_forget(&fs->own, fs->watch_seq);
}

/* ---- once a second ---- */

/* A workspace that only appends and has rested long enough, held; NULL where there is none. */
static struct workspace *find_appended(struct fs *fs, int64_t boot_ms)
{
    struct workspace *found = NULL;
    fs_lock(fs);
    for (size_t i = 0; fs->workspaces && !found && i < fs->nodes.buckets; i++) {
        for (const struct node *node = fs->nodes.numbers[i]; node && !found; node = node->by_number) {
            struct workspace *each = node->workspace;
            if (!each)
                continue;
            pthread_mutex_lock(&each->lock);
            bool rests = each->dirty && each->append_only && !each->killed && !each->unlinked && !each->frozen &&
                         !each->timer_failed && !atomic_load(&each->poisoned) && each->written_boot_ms <= boot_ms;
            pthread_mutex_unlock(&each->lock);
            if (rests)
                found = each;
        }
    }
    if (found)
        workspace_hold(found);
    fs_unlock(fs);
    return found;
}

static void publish_appended(struct fs *fs)
{
    if (!fs->options.append_publish_ms)
        return;
    int64_t boot_ms = fs_boot_ms(fs) - fs->options.append_publish_ms;
    for (struct workspace *each = find_appended(fs, boot_ms); each; each = find_appended(fs, boot_ms)) {
        struct err err = {0};
        if (publish(each, PUBLISH_TIMER, NULL, &err) != STATUS_OK) {
            pthread_mutex_lock(&each->lock);
            each->timer_failed = true; /* until it is written to again: its close tries and tells */
            pthread_mutex_unlock(&each->lock);
            char name[512];
            view_describe(fs->view, each->document, name, sizeof name);
            fs->options.notify.report(fs->options.notify.context, "append_not_published", name, &err);
        }
        workspace_let_go(each);
    }
}

static void write_one_by_one(struct fs *fs, struct op *ops, size_t count)
{
    for (size_t i = 0; i < count; i++)
        IGNORE(fs_apply(fs, &ops[i], 1,
                        NULL)); /* a removed document needs no access time; others are lost, as relatime may */
}

static void write_atimes(struct fs *fs)
{
    struct atime atimes[ATIMES_MAX];
    fs_lock(fs);
    size_t count = fs->atime_count;
    memcpy(atimes, fs->atimes, count * sizeof *atimes);
    fs->atime_count = 0;
    fs_unlock(fs);
    if (!count)
        return;
    struct op *ops = calloc(count, sizeof *ops);
    for (size_t i = 0; ops && i < count; i++)
        ops[i] = (struct op){
            .kind = OP_SETATTR,
            .flags = OP_INVISIBLE,
            .document = atimes[i].document,
            .attr = {.mask = ATTR_ATIME, .atime_ns = atimes[i].ns},
        };
    if (ops && fs_apply(fs, ops, count, NULL) != STATUS_OK)
        write_one_by_one(fs, ops, count);
    free(ops);
}

void fs_tick(struct fs *fs)
{
    int64_t now_ms = fs_boot_ms(fs);
    fs_lock(fs);
    struct wish *old = wish_take_old(fs, now_ms);
    bool sync = now_ms - fs->synced_boot_ms >= SYNC_MS;
    if (sync)
        fs->synced_boot_ms = now_ms;
    fs_unlock(fs);
    wish_free(fs, old);
    if (fs->options.read_only)
        return;
    write_atimes(fs);
    if (sync)
        IGNORE(session_sync(fs->session, NULL)); /* S15; a program that wants to know calls fsync */
    publish_appended(fs);
}
