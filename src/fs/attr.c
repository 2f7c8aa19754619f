/* attr.c - rows to stat and back. */
#include "fs/attr.h"

#include <string.h>

#define NS_PER_S      1000000000ll
#define BLOCK_SIZE    65536 /* what stdio and cp take as their buffer: each write(2) is one request */
#define DIRECTORY_LEN 4096

int64_t attr_ns(struct timespec time)
{
    int64_t ns;
    if (__builtin_mul_overflow((int64_t)time.tv_sec, NS_PER_S, &ns) || __builtin_add_overflow(ns, time.tv_nsec, &ns))
        return time.tv_sec < 0 ? INT64_MIN : INT64_MAX;
    return ns;
}

struct timespec attr_time(int64_t ns)
{
    int64_t s = ns / NS_PER_S, rest = ns % NS_PER_S;
    if (rest < 0) { /* before 1970 */
        s--;
        rest += NS_PER_S;
    }
    return (struct timespec){.tv_sec = (time_t)s, .tv_nsec = (long)rest};
}

static uint32_t shown_mode(const struct document_row *row, const struct fs_options *options)
{
    uint32_t mode = row->mode;
    if (!options->show_modes || S_ISLNK(mode))
        return mode;
    uint32_t forced = S_ISDIR(mode) ? options->dir_mode : options->file_mode;
    if (forced)
        mode = (mode & S_IFMT) | (forced & 07777u);
    return mode & ~(options->umask & 0777u);
}

void attr_stat(const struct document_row *row, const struct fs_options *options, struct stat *ret_stat)
{
    memset(ret_stat, 0, sizeof *ret_stat);
    ret_stat->st_ino = (ino_t)row->id;
    ret_stat->st_mode = shown_mode(row, options);
    ret_stat->st_nlink = row->nlink;
    ret_stat->st_uid = options->show_uid ? options->uid : row->uid;
    ret_stat->st_gid = options->show_gid ? options->gid : row->gid;
    ret_stat->st_rdev = (dev_t)row->rdev;
    ret_stat->st_size = (off_t)(S_ISDIR(row->mode) ? DIRECTORY_LEN : row->size_bytes);
    ret_stat->st_blksize = BLOCK_SIZE;
    ret_stat->st_blocks = (blkcnt_t)(((uint64_t)ret_stat->st_size + 511) / 512);
    ret_stat->st_atim = attr_time(row->atime_ns);
    ret_stat->st_mtim = attr_time(row->mtime_ns);
    ret_stat->st_ctim = attr_time(row->ctime_ns);
}

static uint32_t without_set_ids(uint32_t mode)
{
    if (!S_ISREG(mode))
        return mode;
    mode &= ~(uint32_t)S_ISUID;
    if (mode & S_IXGRP)
        mode &= ~(uint32_t)S_ISGID;
    return mode;
}

uint32_t attr_mode_written(uint32_t mode, uid_t uid)
{
    return uid == 0 ? mode : without_set_ids(mode);
}

static void change_mode(struct attr_change *change, const struct document_row *row, const struct stat *stat,
                        unsigned set)
{
    uint32_t mode = set & FS_SET_MODE ? (row->mode & S_IFMT) | (stat->st_mode & 07777u) : row->mode;
    if (!(set & FS_SET_MODE) && set & (FS_SET_UID | FS_SET_GID | FS_SET_KILL_SUID))
        mode = without_set_ids(mode);
    if (mode == row->mode && !(set & FS_SET_MODE))
        return;
    change->mask |= ATTR_MODE;
    change->mode = mode;
}

struct attr_change attr_change_of(const struct document_row *row, const struct stat *stat, unsigned set, int64_t now_ns)
{
    struct attr_change change = {0};
    change_mode(&change, row, stat, set);
    if (set & FS_SET_UID) {
        change.mask |= ATTR_UID;
        change.uid = stat->st_uid;
    }
    if (set & FS_SET_GID) {
        change.mask |= ATTR_GID;
        change.gid = stat->st_gid;
    }
    if (set & (FS_SET_ATIME | FS_SET_ATIME_NOW)) {
        change.mask |= ATTR_ATIME;
        change.atime_ns = set & FS_SET_ATIME_NOW ? now_ns : attr_ns(stat->st_atim);
    }
    /* With a size it is the kernel's word for "now", which the write itself brings. */
    if (set & (FS_SET_MTIME | FS_SET_MTIME_NOW) && !(set & FS_SET_SIZE)) {
        change.mask |= ATTR_MTIME;
        change.mtime_ns = set & FS_SET_MTIME_NOW ? now_ns : attr_ns(stat->st_mtim);
    }
    return change;
}

enum status attr_allowed(const struct fs_options *options, unsigned set, struct err *err)
{
    if (set & (FS_SET_UID | FS_SET_GID) && (options->show_uid || options->show_gid))
        return err_set(err, STATUS_PERMISSION, "the mount shows an owner of its own (uid, gid): chown has no effect");
    if (set & FS_SET_MODE && options->show_modes)
        return err_set(err, STATUS_PERMISSION,
                       "the mount shows modes of its own (umask, file_mode, dir_mode): chmod has no effect");
    return STATUS_OK;
}

bool attr_wants_atime(const struct document_row *row, int64_t now_ns)
{
    return row->atime_ns <= row->mtime_ns || row->atime_ns <= row->ctime_ns ||
           row->atime_ns <= now_ns - 24 * 3600 * NS_PER_S;
}
