/* ops.c - one function for each request. */
#include "fuse/ops.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>

#define WRITE_BYTES_MAX (1u << 20)
#define BACKGROUND_MAX  1024 /* fewer, and the kernel itself holds RELEASE back (S6) */

static struct fs_handle *handle_of(const struct fuse_file_info *file)
{
    return file ? (struct fs_handle *)(uintptr_t)file->fh : NULL;
}

static void wish(struct fuse_conn_info *conn, unsigned capability)
{
    conn->want |= conn->capable & capability;
}

/* Writes come through at once: the kernel's write-back would break appends and pin stale sizes. What a node's cache
 * holds is right until fs/ says otherwise, so the kernel is not to guess from times and sizes (EXPLICIT). */
static void ops_init(void *userdata, struct fuse_conn_info *conn)
{
    struct ops *ops = userdata;
    conn->want = 0;
    wish(conn, FUSE_CAP_ASYNC_READ | FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_ASYNC_DIO);
    wish(conn, FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO | FUSE_CAP_CACHE_SYMLINKS);
    wish(conn, FUSE_CAP_EXPLICIT_INVAL_DATA);
    conn->max_write = WRITE_BYTES_MAX;
    conn->max_background = BACKGROUND_MAX;
    conn->congestion_threshold = BACKGROUND_MAX / 4 * 3;
    ops->live(ops->context);
}

static struct fuse_entry_param entry_param(const struct fs_entry *entry)
{
    return (struct fuse_entry_param){.ino = entry->node,
                                     .generation = entry->generation,
                                     .attr = entry->stat,
                                     .attr_timeout = entry->attr_timeout,
                                     .entry_timeout = entry->entry_timeout};
}

static void reply_entry(struct call *call, const struct fs_entry *entry)
{
    struct fuse_entry_param param = entry_param(entry);
    if (fuse_reply_entry(call->req, &param) == -ENOENT && entry->node)
        fs_forget(call->fs, entry->node, 1); /* the request was given up: the kernel has not counted it */
}

/* ---- names ---- */

static void ops_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    struct call call;
    struct fs_entry entry;
    call_begin(&call, req, "lookup", parent, name);
    if (call_end(&call, fs_lookup(call.fs, &call.caller, parent, name, &entry, &call.err)))
        reply_entry(&call, &entry);
}

static void ops_forget(fuse_req_t req, fuse_ino_t node, uint64_t count)
{
    struct ops *ops = fuse_req_userdata(req);
    fs_forget(ops->fs, node, count);
    fuse_reply_none(req);
}

static void ops_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
    struct ops *ops = fuse_req_userdata(req);
    for (size_t i = 0; i < count; i++)
        fs_forget(ops->fs, forgets[i].ino, forgets[i].nlookup);
    fuse_reply_none(req);
}

static void ops_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
    struct call call;
    struct fs_entry entry;
    call_begin(&call, req, "mkdir", parent, name);
    if (call_end(&call, fs_mkdir(call.fs, &call.caller, parent, name, mode, &entry, &call.err)))
        reply_entry(&call, &entry);
}

static void ops_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev)
{
    struct call call;
    struct fs_entry entry;
    call_begin(&call, req, "mknod", parent, name);
    if (call_end(&call, fs_mknod(call.fs, &call.caller, parent, name, mode, rdev, &entry, &call.err)))
        reply_entry(&call, &entry);
}

static void ops_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
    struct call call;
    struct fs_entry entry;
    call_begin(&call, req, "symlink", parent, name);
    if (call_end(&call, fs_symlink(call.fs, &call.caller, target, parent, name, &entry, &call.err)))
        reply_entry(&call, &entry);
}

static void ops_link(fuse_req_t req, fuse_ino_t node, fuse_ino_t parent, const char *name)
{
    struct call call;
    struct fs_entry entry;
    call_begin(&call, req, "link", parent, name);
    if (call_end(&call, fs_link(call.fs, &call.caller, node, parent, name, &entry, &call.err)))
        reply_entry(&call, &entry);
}

static void ops_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    struct call call;
    call_begin(&call, req, "unlink", parent, name);
    if (call_end(&call, fs_unlink(call.fs, &call.caller, parent, name, &call.err)))
        (void)fuse_reply_err(req, 0); /* a reply that fails has nobody left to read it; so below */
}

static void ops_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    struct call call;
    call_begin(&call, req, "rmdir", parent, name);
    if (call_end(&call, fs_rmdir(call.fs, &call.caller, parent, name, &call.err)))
        (void)fuse_reply_err(req, 0);
}

static void ops_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent, const char *new_name,
                       unsigned flags)
{
    struct call call;
    call_begin(&call, req, "rename", parent, name);
    if (call_end(&call, fs_rename(call.fs, &call.caller, parent, name, new_parent, new_name, flags, &call.err)))
        (void)fuse_reply_err(req, 0);
}

static void ops_readlink(fuse_req_t req, fuse_ino_t node)
{
    struct call call;
    char target[LIMIT_TARGET_BYTES + 1];
    call_begin(&call, req, "readlink", node, NULL);
    if (call_end(&call, fs_readlink(call.fs, node, target, &call.err)))
        (void)fuse_reply_readlink(req, target);
}

/* ---- attributes ---- */

static void ops_getattr(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *file)
{
    struct call call;
    struct stat stat;
    double timeout = 0;
    call_begin(&call, req, "getattr", node, NULL);
    if (call_end(&call, fs_getattr(call.fs, node, handle_of(file), &stat, &timeout, &call.err)))
        (void)fuse_reply_attr(req, &stat, timeout);
}

static unsigned set_of(int to_set)
{
    static const struct {
        int theirs;
        unsigned ours;
    } pairs[] = {
        {FUSE_SET_ATTR_MODE, FS_SET_MODE},
        {FUSE_SET_ATTR_UID, FS_SET_UID},
        {FUSE_SET_ATTR_GID, FS_SET_GID},
        {FUSE_SET_ATTR_SIZE, FS_SET_SIZE},
        {FUSE_SET_ATTR_ATIME, FS_SET_ATIME},
        {FUSE_SET_ATTR_MTIME, FS_SET_MTIME},
        {FUSE_SET_ATTR_ATIME_NOW, FS_SET_ATIME_NOW},
        {FUSE_SET_ATTR_MTIME_NOW, FS_SET_MTIME_NOW},
        {FUSE_SET_ATTR_CTIME, FS_SET_CTIME},
        {FUSE_SET_ATTR_KILL_SUID, FS_SET_KILL_SUID},
    };
    unsigned set = 0;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (to_set & pairs[i].theirs)
            set |= pairs[i].ours;
    return set;
}

static void ops_setattr(fuse_req_t req, fuse_ino_t node, struct stat *attr, int to_set, struct fuse_file_info *file)
{
    struct call call;
    struct stat stat;
    double timeout = 0;
    call_begin(&call, req, "setattr", node, NULL);
    if (call_end(&call, fs_setattr(call.fs, &call.caller, node, handle_of(file), attr, set_of(to_set), &stat, &timeout,
                                   &call.err)))
        (void)fuse_reply_attr(req, &stat, timeout);
}

static void ops_statfs(fuse_req_t req, fuse_ino_t node)
{
    struct call call;
    struct statvfs statvfs;
    call_begin(&call, req, "statfs", node, NULL);
    if (call_end(&call, fs_statfs(call.fs, &statvfs, &call.err)))
        (void)fuse_reply_statfs(req, &statvfs);
}

/* ---- open files ---- */

static void take_opened(struct fuse_file_info *file, const struct fs_opened *opened)
{
    file->fh = (uint64_t)(uintptr_t)opened->handle;
    file->direct_io = opened->direct_io;
    file->keep_cache = opened->keep_cache;
}

/* The kernel has given the request up and will send no RELEASE. */
static void drop_opened(struct call *call, struct fs_handle *handle)
{
    fs_release_announce(call->fs, handle);
    fs_release(call->fs, &call->caller, handle);
}

static void ops_open(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *file)
{
    struct call call;
    struct fs_opened opened;
    call_begin(&call, req, "open", node, NULL);
    if (!call_end(&call, fs_open_file(call.fs, &call.caller, node, file->flags, &opened, &call.err)))
        return;
    take_opened(file, &opened);
    if (fuse_reply_open(req, file) == -ENOENT)
        drop_opened(&call, opened.handle);
}

static void ops_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *file)
{
    struct call call;
    struct fs_entry entry;
    struct fs_opened opened;
    call_begin(&call, req, "create", parent, name);
    if (!call_end(&call, fs_create(call.fs, &call.caller, parent, name, mode, file->flags, &entry, &opened, &call.err)))
        return;
    struct fuse_entry_param param = entry_param(&entry);
    take_opened(file, &opened);
    if (fuse_reply_create(req, &param, file) != -ENOENT)
        return;
    drop_opened(&call, opened.handle);
    fs_forget(call.fs, entry.node, 1);
}

static void ops_read(fuse_req_t req, fuse_ino_t node, size_t size, off_t offset, struct fuse_file_info *file)
{
    struct call call;
    size_t len = 0;
    call_begin(&call, req, "read", node, NULL);
    AUTO_FREE char *bytes = malloc(size);
    enum status status =
        bytes ? fs_read(call.fs, &call.caller, handle_of(file), (uint64_t)offset, bytes, size, &len, &call.err)
              : STATUS_NO_MEMORY;
    if (call_end(&call, status))
        (void)fuse_reply_buf(req, bytes, len);
}

static void ops_write(fuse_req_t req, fuse_ino_t node, const char *bytes, size_t size, off_t offset,
                      struct fuse_file_info *file)
{
    struct call call;
    size_t len = 0;
    call_begin(&call, req, "write", node, NULL);
    if (call_end(&call,
                 fs_write(call.fs, &call.caller, handle_of(file), (uint64_t)offset, bytes, size, &len, &call.err)))
        (void)fuse_reply_write(req, len);
}

static void ops_flush(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *file)
{
    struct call call;
    call_begin(&call, req, "flush", node, NULL);
    if (call_end(&call, fs_flush(call.fs, &call.caller, handle_of(file), &call.err)))
        (void)fuse_reply_err(req, 0);
}

static void ops_fsync(fuse_req_t req, fuse_ino_t node, int data_only, struct fuse_file_info *file)
{
    struct call call;
    call_begin(&call, req, "fsync", node, NULL);
    if (call_end(&call, fs_fsync(call.fs, &call.caller, handle_of(file), data_only != 0, &call.err)))
        (void)fuse_reply_err(req, 0);
}

/* Announced by the loop, which saw its header. */
static void ops_release(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *file)
{
    struct call call;
    call_begin(&call, req, "release", node, NULL);
    fs_release(call.fs, &call.caller, handle_of(file));
    if (call_end(&call, STATUS_OK))
        (void)fuse_reply_err(req, 0);
}

static void ops_fallocate(fuse_req_t req, fuse_ino_t node, int mode, off_t offset, off_t length,
                          struct fuse_file_info *file)
{
    struct call call;
    call_begin(&call, req, "fallocate", node, NULL);
    if (call_end(&call, fs_fallocate(call.fs, &call.caller, handle_of(file), mode, (uint64_t)offset, (uint64_t)length,
                                     &call.err)))
        (void)fuse_reply_err(req, 0);
}

static void ops_lseek(fuse_req_t req, fuse_ino_t node, off_t offset, int whence, struct fuse_file_info *file)
{
    struct call call;
    uint64_t found = 0;
    call_begin(&call, req, "lseek", node, NULL);
    if (call_end(&call, fs_lseek(call.fs, handle_of(file), (uint64_t)offset, whence, &found, &call.err)))
        (void)fuse_reply_lseek(req, (off_t)found);
}

/* ---- directories ---- */

struct listing {
    fuse_req_t req;
    char *bytes; /* owned */
    size_t used, size;
    bool attributes;
};

static bool add_item(void *context, const struct fs_item *item)
{
    struct listing *listing = context;
    char *place = listing->bytes + listing->used;
    size_t room = listing->size - listing->used, needed;
    if (listing->attributes) {
        struct fuse_entry_param param = entry_param(&item->entry);
        needed = fuse_add_direntry_plus(listing->req, place, room, item->name, &param, item->offset);
    } else {
        needed = fuse_add_direntry(listing->req, place, room, item->name, &item->entry.stat, item->offset);
    }
    if (needed > room)
        return false;
    listing->used += needed;
    return true;
}

static void list(fuse_req_t req, fuse_ino_t node, size_t size, off_t offset, struct fuse_file_info *file,
                 bool attributes)
{
    struct call call;
    call_begin(&call, req, attributes ? "readdirplus" : "readdir", node, NULL);
    AUTO_FREE char *bytes = malloc(size);
    struct listing listing = {.req = req, .bytes = bytes, .size = size, .attributes = attributes};
    enum status status =
        bytes ? fs_readdir(call.fs, &call.caller, handle_of(file), offset, attributes, add_item, &listing, &call.err)
              : STATUS_NO_MEMORY;
    if (listing.used)
        status = STATUS_OK; /* these have been counted; the next call meets the failure again */
    if (call_end(&call, status))
        (void)fuse_reply_buf(req, bytes, listing.used);
}

static void ops_opendir(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *file)
{
    struct call call;
    struct fs_handle *handle;
    call_begin(&call, req, "opendir", node, NULL);
    if (!call_end(&call, fs_opendir(call.fs, &call.caller, node, &handle, &call.err)))
        return;
    file->fh = (uint64_t)(uintptr_t)handle;
    if (fuse_reply_open(req, file) == -ENOENT)
        fs_releasedir(call.fs, handle);
}

static void ops_readdir(fuse_req_t req, fuse_ino_t node, size_t size, off_t offset, struct fuse_file_info *file)
{
    list(req, node, size, offset, file, false);
}

static void ops_readdirplus(fuse_req_t req, fuse_ino_t node, size_t size, off_t offset, struct fuse_file_info *file)
{
    list(req, node, size, offset, file, true);
}

static void ops_releasedir(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *file)
{
    struct call call;
    call_begin(&call, req, "releasedir", node, NULL);
    fs_releasedir(call.fs, handle_of(file));
    if (call_end(&call, STATUS_OK))
        (void)fuse_reply_err(req, 0);
}

static void ops_fsyncdir(fuse_req_t req, fuse_ino_t node, int data_only, struct fuse_file_info *file)
{
    struct call call;
    (void)data_only; /* a directory has no data */
    call_begin(&call, req, "fsyncdir", node, NULL);
    if (call_end(&call, fs_fsyncdir(call.fs, handle_of(file), &call.err)))
        (void)fuse_reply_err(req, 0);
}

/* ---- extended attributes ---- */

static void ops_setxattr(fuse_req_t req, fuse_ino_t node, const char *name, const char *value, size_t size, int flags)
{
    struct call call;
    call_begin(&call, req, "setxattr", node, NULL);
    if (call_end(&call, fs_setxattr(call.fs, node, name, value, size, flags, &call.err)))
        (void)fuse_reply_err(req, 0);
}

/* Without room the kernel asks how much is needed. */
static void reply_xattr(fuse_req_t req, const char *bytes, size_t room, size_t len)
{
    if (room)
        (void)fuse_reply_buf(req, bytes, len);
    else
        (void)fuse_reply_xattr(req, len);
}

static void ops_getxattr(fuse_req_t req, fuse_ino_t node, const char *name, size_t size)
{
    struct call call;
    size_t len = 0;
    call_begin(&call, req, "getxattr", node, NULL);
    AUTO_FREE char *value = malloc(size + 1);
    enum status status = value ? fs_getxattr(call.fs, node, name, value, size, &len, &call.err) : STATUS_NO_MEMORY;
    if (call_end(&call, status))
        reply_xattr(req, value, size, len);
}

static void ops_listxattr(fuse_req_t req, fuse_ino_t node, size_t size)
{
    struct call call;
    size_t len = 0;
    call_begin(&call, req, "listxattr", node, NULL);
    AUTO_FREE char *names = malloc(size + 1);
    enum status status = names ? fs_listxattr(call.fs, node, names, size, &len, &call.err) : STATUS_NO_MEMORY;
    if (call_end(&call, status))
        reply_xattr(req, names, size, len);
}

static void ops_removexattr(fuse_req_t req, fuse_ino_t node, const char *name)
{
    struct call call;
    call_begin(&call, req, "removexattr", node, NULL);
    if (call_end(&call, fs_removexattr(call.fs, node, name, &call.err)))
        (void)fuse_reply_err(req, 0);
}

const struct fuse_lowlevel_ops ops_table = {
    .init = ops_init,
    .lookup = ops_lookup,
    .forget = ops_forget,
    .forget_multi = ops_forget_multi,
    .getattr = ops_getattr,
    .setattr = ops_setattr,
    .readlink = ops_readlink,
    .mknod = ops_mknod,
    .mkdir = ops_mkdir,
    .unlink = ops_unlink,
    .rmdir = ops_rmdir,
    .symlink = ops_symlink,
    .rename = ops_rename,
    .link = ops_link,
    .open = ops_open,
    .read = ops_read,
    .write = ops_write,
    .flush = ops_flush,
    .release = ops_release,
    .fsync = ops_fsync,
    .opendir = ops_opendir,
    .readdir = ops_readdir,
    .readdirplus = ops_readdirplus,
    .releasedir = ops_releasedir,
    .fsyncdir = ops_fsyncdir,
    .statfs = ops_statfs,
    .setxattr = ops_setxattr,
    .getxattr = ops_getxattr,
    .listxattr = ops_listxattr,
    .removexattr = ops_removexattr,
    .create = ops_create,
    .fallocate = ops_fallocate,
    .lseek = ops_lseek,
};
