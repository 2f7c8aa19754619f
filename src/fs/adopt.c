/* adopt.c - what sessions that died have left in their spool folders goes to the recovery folder.
 *
 * A spool file is put together with its base as its info file says (spool.h), if the base is still the Ready version;
 * else the ranges that are the base's are missing. A folder is locked while it is looked through, so that two mounts
 * that start together do not both complete one file.
 */
#include "base/cleanup.h"
#include "base/text.h"
#include "fs/publish.h"
#include "host/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#define INFO_MAX (64u << 20) /* a line for each write of a session that changed a large document in many places */

/* One spool file as its info tells it. */
struct remains {
    int64_t document, base;
    char name[1024];
    uint64_t size, gone;
    struct extents extents;
    bool sized; /* the info tells the size, else the file has it */
};

static void remains_done(struct remains *remains)
{
    extents_done(&remains->extents);
}

static enum status note(struct remains *remains, char what, uint64_t offset, uint64_t len)
{
    remains->sized = true;
    if (what == 's') {
        extents_cut(&remains->extents, offset);
        remains->size = offset;
        return STATUS_OK;
    }
    if (len > INT64_MAX || offset > INT64_MAX - len)
        return STATUS_CORRUPT;
    if (what == 'g')
        remains->gone += len;
    if (offset + len > remains->size)
        remains->size = offset + len;
    return extents_set(&remains->extents, offset, len,
                       what == 'w'   ? EXTENT_WRITTEN
                       : what == 'z' ? EXTENT_ZERO
                                     : EXTENT_GONE);
}

/* "OFFSET LENGTH" */
static bool parse_range(const char *text, uint64_t *ret_offset, uint64_t *ret_len)
{
    char copy[48];
    size_t first = strcspn(text, " ");
    if (!text[first] || snprintf(copy, sizeof copy, "%s", text) >= (int)sizeof copy)
        return false;
    copy[first] = '\0';
    return parse_uint64(copy, 0, UINT64_MAX, ret_offset) && parse_uint64(copy + first + 1, 0, UINT64_MAX, ret_len);
}

static enum status parse_line(struct remains *remains, const char *line)
{
    uint64_t offset = 0, len = 0;
    if (strncmp(line, "document=", 9) == 0)
        remains->document = strtoll(line + 9, NULL, 10);
    else if (strncmp(line, "base=", 5) == 0)
        remains->base = strtoll(line + 5, NULL, 10);
    else if (strncmp(line, "name=", 5) == 0)
        (void)snprintf(remains->name, sizeof remains->name, "%s", line + 5);
    else if (line[0] && strchr("wzsg", line[0]) && line[1] == '=' && parse_range(line + 2, &offset, &len))
        return note(remains, line[0], offset, len);
    return STATUS_OK; /* a last line that a crash has cut says nothing */
}

static enum status read_remains(const struct spools *dead, const char *info, struct remains *remains, struct err *err)
{
    AUTO_BUF struct buf text;
    buf_init(&text, INFO_MAX);
    enum status status = file_read(dead->fd, info, &text, err);
    char *at = text.bytes;
    while (status == STATUS_OK && at) {
        const char *line = strsep(&at, "\n");
        status = parse_line(remains, line);
        if (status != STATUS_OK)
            (void)err_set(err, status, "spool file %s is not understood", info);
    }
    return status;
}

/* The base's ranges come from its pin, or are missing. */
static enum status take_base(struct fs *fs, struct remains *remains, struct pin **ret_pin, struct err *err)
{
    struct pin *pin = NULL;
    *ret_pin = NULL;
    if (!remains->base)
        return STATUS_OK;
    if (remains->base > 0 && pin_open(fs->session, remains->document, &pin, NULL) == STATUS_OK) {
        if (pin_version(pin)->id == remains->base) {
            *ret_pin = pin;
            return STATUS_OK;
        }
        pin_close(pin);
    }
    for (uint64_t offset = 0; offset < remains->size;) {
        struct extent extent = extents_at(&remains->extents, offset);
        uint64_t len = extent.len < remains->size - offset ? extent.len : remains->size - offset;
        if (extent.kind == EXTENT_BASE) {
            enum status status = extents_set(&remains->extents, offset, len, EXTENT_GONE);
            if (status != STATUS_OK)
                return err_set(err, status, "read a spool file");
            remains->gone += len;
        }
        offset += len;
    }
    return STATUS_OK;
}

static void describe(struct fs *fs, const struct remains *remains, struct recover_item *item)
{
    *item = (struct recover_item){.document = remains->document, .utc_ns = fs_now_ns(fs)};
    (void)snprintf(item->reason, sizeof item->reason, "readyfs or the machine stopped before it was closed");
    struct document_row row;
    (void)snprintf(item->name, sizeof item->name, "%s", remains->name);
    if (view_document(fs->view, remains->document, &row, NULL) == STATUS_OK)
        view_describe(fs->view, remains->document, item->name, sizeof item->name);
}

static void tell(struct fs *fs, const struct recover_item *item)
{
    struct err err = {0};
    (void)err_set(&err, STATUS_UNFINISHED, "%s; %" PRIu64 " bytes are kept as %s%s", item->reason, item->size_bytes,
                  item->id, item->missing_bytes ? ", not all of it could be found" : "");
    fs->options.notify.report(fs->options.notify.context, "adopted", item->name, &err);
}

/* A draft as the dead session had it, so that it is completed and kept as a living one's is. */
static enum status keep_remains(struct fs *fs, struct spool *spool, struct remains *remains, bool *ret_kept,
                                struct err *err)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
    const struct name no_name = {.len = 0};
    struct pin *base = NULL;
    struct draft *draft = NULL;
    enum status status = take_base(fs, remains, &base, err);
    struct draft_origin origin = {&lock,       &changed,
                                  &fs->spools, remains->document,
                                  &no_name,    session_settings(fs->session)->block_bytes};
    if (status == STATUS_OK)
        status = draft_new(&origin, base, &draft, err);
    if (status != STATUS_OK)
        return status;
    draft->spool = spool_ref(spool);
    draft->size = remains->size;
    draft->gone = remains->gone;
    draft->extents = remains->extents;
    remains->extents = (struct extents){0};
    struct recover_item item;
    describe(fs, remains, &item);
    status = draft_keep(draft, &fs->recovery, &item, ret_kept, err);
    draft_free(draft);
    if (status == STATUS_OK && *ret_kept)
        tell(fs, &item);
    return status;
}

static enum status adopt_file(struct fs *fs, struct spools *dead, const char *info, unsigned *kept, struct err *err)
{
    CLEANUP(remains_done) struct remains remains = {0};
    struct spool *spool = NULL;
    uint64_t size = 0;
    bool was_kept = false;
    enum status status = read_remains(dead, info, &remains, err);
    if (status != STATUS_OK)
        return status;
    status = spool_open(dead, info, &spool, &size, err);
    if (status != STATUS_OK)
        return status;
    if (!remains.base || !remains.sized)
        remains.size = size;
    if (size) /* else nothing was written */
        status = keep_remains(fs, spool, &remains, &was_kept, err);
    if (status != STATUS_OK)
        spool_leave(spool);
    spool_drop(spool);
    *kept += was_kept;
    return status;
}

static enum status adopt_folder(struct fs *fs, const char *folder, unsigned *kept, struct err *err)
{
    struct spools dead;
    enum status status = spools_init(&dead, folder, 0, err);
    if (status != STATUS_OK)
        return status;
    int copy = openat(dead.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    if (!dir && copy >= 0)
        (void)close(copy);                                     /* nothing was written */
    bool mine = dir && flock(dead.fd, LOCK_EX | LOCK_NB) == 0; /* else another mount is at it */
    for (const struct dirent *entry = mine ? readdir(dir) : NULL; entry; entry = readdir(dir)) {
        const char *ending = strrchr(entry->d_name, '.');
        if (!ending || strcmp(ending, ".info") != 0)
            continue;
        struct err own = {0};
        enum status one = adopt_file(fs, &dead, entry->d_name, kept, &own);
        if (one == STATUS_OK)
            continue;
        status = one; /* the others are adopted all the same */
        if (err)
            *err = own;
    }
    if (dir)
        (void)closedir(dir); /* read only */
    spools_done(&dead);
    return status;
}

/* Whether the session of that number has ended or was fenced. */
static bool is_dead(struct fs *fs, int64_t number)
{
    struct catalogue *catalogue = session_world(fs->session)->catalogue;
    struct catalogue_txn *txn = NULL;
    struct session_row row;
    if (number == session_id(fs->session) || catalogue->ops->read_begin(catalogue, &txn, NULL) != STATUS_OK)
        return false;
    enum status status = catalogue->ops->session_get(txn, number, &row, NULL);
    catalogue->ops->abort(txn);
    return status == STATUS_NOT_FOUND || (status == STATUS_OK && row.fenced_utc_ns);
}

enum status fs_adopt(struct fs *fs, const char *spools, unsigned *ret_kept, struct err *err)
{
    *ret_kept = 0;
    DIR *dir = opendir(spools);
    if (!dir)
        return errno == ENOENT ? STATUS_OK : err_set_errno(err, errno, "spool folder %s", spools);
    enum status status = STATUS_OK;
    for (const struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        uint64_t number = 0;
        char folder[4096];
        if (!parse_uint64(entry->d_name, 1, INT64_MAX, &number) || !is_dead(fs, (int64_t)number))
            continue;
        (void)snprintf(folder, sizeof folder, "%s/%s", spools, entry->d_name);
        enum status one = adopt_folder(fs, folder, ret_kept, err);
        status = one == STATUS_OK ? status : one;
    }
    (void)closedir(dir); /* read only */
    return status;
}
