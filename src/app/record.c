/* record.c - key=value lines in the runtime directory; values percent-encoded, so that a path may hold anything. */
#include "app/record.h"

#include "base/buf.h"
#include "base/digest.h"
#include "base/text.h"
#include "host/file.h"
#include "host/lock.h"
#include "host/mountinfo.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RECORD_BYTES_MAX (64u * 1024)

enum status record_path(const char *runtime, const char *point, const char *suffix, char ret_path[PLACE_SIZE],
                        struct err *err)
{
    uint64_t hash = crc64(0, point, strlen(point));
    int len = snprintf(ret_path, PLACE_SIZE, "%s/%016" PRIx64 ".%s", runtime, hash, suffix);
    if (len < 0 || len >= PLACE_SIZE)
        return err_set(err, STATUS_NAME_TOO_LONG, "%s: path is too long", runtime);
    return STATUS_OK;
}

static enum status append_text(struct buf *buf, const char *key, const char *value)
{
    enum status status = buf_printf(buf, "%s=", key);
    if (status == STATUS_OK)
        status = percent_encode(buf, value, strlen(value), true);
    return status == STATUS_OK ? buf_append_text(buf, "\n") : status;
}

static enum status compose(const struct record *record, struct buf *buf)
{
    enum status status = append_text(buf, "point", record->point);
    if (status == STATUS_OK)
        status = append_text(buf, "catalogue", record->catalogue);
    if (status == STATUS_OK)
        status = append_text(buf, "source", record->source);
    if (status == STATUS_OK)
        status = buf_printf(buf, "session=%" PRId64 "\npid=%d\nread_only=%d\n", record->session, (int)record->pid,
                            record->read_only ? 1 : 0);
    return status;
}

enum status record_write(const char *runtime, const struct record *record, struct err *err)
{
    char path[PLACE_SIZE];
    AUTO_BUF struct buf buf;
    buf_init(&buf, RECORD_BYTES_MAX);
    enum status status = place_make_folder(runtime, err);
    if (status == STATUS_OK)
        status = record_path(runtime, record->point, "mount", path, err);
    if (status != STATUS_OK)
        return status;
    if ((status = compose(record, &buf)) != STATUS_OK)
        return err_set(err, status, "record of the mount");
    return file_write(AT_FDCWD, path, buf.bytes, buf.len, 0600, err);
}

enum status record_lock(const char *runtime, const char *point, struct lock *ret_lock, struct err *err)
{
    char path[PLACE_SIZE];
    enum status status = place_make_folder(runtime, err);
    if (status == STATUS_OK)
        status = record_path(runtime, point, "lock", path, err);
    if (status == STATUS_OK)
        status = lock_open(AT_FDCWD, path, true, ret_lock, err);
    return status == STATUS_OK ? lock_try(ret_lock, err) : status;
}

void record_remove(const char *runtime, const char *point)
{
    char path[PLACE_SIZE];
    if (record_path(runtime, point, "mount", path, NULL) == STATUS_OK)
        (void)unlink(path); /* not there is fine; one that stays says less than mountinfo, which is asked first */
    if (record_path(runtime, point, "socket", path, NULL) == STATUS_OK)
        (void)unlink(path);
}

static bool text_value(const char *value, char *ret_text, size_t size)
{
    AUTO_BUF struct buf buf;
    buf_init(&buf, RECORD_BYTES_MAX);
    if (percent_decode(&buf, value, strlen(value)) != STATUS_OK || buf.len >= size)
        return false;
    memcpy(ret_text, buf.bytes, buf.len + 1);
    return true;
}

static bool take_line(struct record *record, const char *key, const char *value)
{
    uint64_t number = 0;
    if (strcmp(key, "point") == 0)
        return text_value(value, record->point, sizeof record->point);
    if (strcmp(key, "catalogue") == 0)
        return text_value(value, record->catalogue, sizeof record->catalogue);
    if (strcmp(key, "source") == 0)
        return text_value(value, record->source, sizeof record->source);
    if (!parse_uint64(value, 0, INT64_MAX, &number))
        return false;
    if (strcmp(key, "session") == 0)
        record->session = (int64_t)number;
    else if (strcmp(key, "pid") == 0)
        record->pid = (pid_t)number;
    else if (strcmp(key, "read_only") == 0)
        record->read_only = number != 0;
    return true; /* a key of a later readyfs is passed over */
}

static bool parse(char *text, struct record *ret_record)
{
    memset(ret_record, 0, sizeof *ret_record);
    for (char *line; (line = strsep(&text, "\n"));) {
        char *value = strchr(line, '=');
        if (!*line)
            continue;
        if (!value)
            return false;
        *value++ = '\0';
        if (!take_line(ret_record, line, value))
            return false;
    }
    return ret_record->point[0] && ret_record->catalogue[0] && ret_record->pid > 0;
}

enum status record_read(const char *runtime, const char *point, struct record *ret_record, struct err *err)
{
    char path[PLACE_SIZE];
    AUTO_BUF struct buf buf;
    buf_init(&buf, RECORD_BYTES_MAX);
    enum status status = record_path(runtime, point, "mount", path, err);
    if (status == STATUS_OK)
        status = file_read(AT_FDCWD, path, &buf, err);
    if (status != STATUS_OK)
        return status;
    if (!parse(buf.bytes, ret_record) || strcmp(ret_record->point, point) != 0)
        return err_set(err, STATUS_CORRUPT, "%s is damaged", path);
    return STATUS_OK;
}

enum status record_find(const char *runtime, const char *dir, struct record *ret_record, struct err *err)
{
    char point[MOUNTINFO_PATH_SIZE];
    struct mountinfo mount;
    enum status status = mountinfo_path(dir, point, err);
    if (status != STATUS_OK)
        return status;
    status = mountinfo_find(point, &mount, err);
    if (status == STATUS_NOT_FOUND)
        return err_set(err, STATUS_NOT_FOUND, "%s is not a mount point", dir);
    if (status != STATUS_OK)
        return status;
    if (strcmp(mount.type, "fuse.readyfs") != 0)
        return err_set(err, STATUS_INVALID, "%s is not a readyfs mount but %s", dir, mount.type);
    status = record_read(runtime, point, ret_record, err);
    if (status != STATUS_NOT_FOUND)
        return status;
    (void)err_set(err, STATUS_INVALID, "%s was mounted by another user or with another runtime_dir", dir);
    (void)err_hint(err, "ask as the user who mounted it, or give SOURCE instead of the directory");
    return STATUS_INVALID;
}
