/* volume.c - the control blob and its marks. */
#include "document/volume.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "blob/blob.h"
#include "catalogue/catalogue.h"
#include "core/id.h"
#include "host/clock.h"
#include "host/entropy.h"

#include <stdio.h>
#include <string.h>

#define CONTROL_NAME  ".readyfs/volume"
#define CONTROL_BYTES 1024
#define MARKS_KEPT    64 /* a crash between commit and write leaves one more mark that the control blob may have */
#define MARKS_BYTES   (MARKS_KEPT * ID_TEXT_SIZE + 1)
#define ATTEMPTS      20

/* What both sides say. In the catalogue under the same keys in meta. */
struct volume {
    char catalogue[ID_TEXT_SIZE];
    char container[ID_TEXT_SIZE];
    char incarnation[ID_TEXT_SIZE];
    char mark[ID_TEXT_SIZE];
};

struct own {
    struct volume volume;    /* mark: the newest */
    char marks[MARKS_BYTES]; /* newest first, separated by ',' */
    bool joined;             /* the control blob was seen or written by this catalogue once */
};

/* ---- the control blob ---- */

static void control_name(const struct settings *settings, char ret_name[LIMIT_BLOB_NAME_BYTES])
{
    (void)snprintf(ret_name, LIMIT_BLOB_NAME_BYTES, "%s%s", settings->prefix, CONTROL_NAME); /* prefixes are short */
}

static bool take_line(const char *text, const char *key, char ret_value[ID_TEXT_SIZE])
{
    const char *at = strstr(text, key);
    if (!at)
        return false;
    at += strlen(key);
    size_t len = strspn(at, "0123456789abcdef");
    if (len != ID_TEXT_SIZE - 1 || at[len] != '\n')
        return false;
    memcpy(ret_value, at, len);
    ret_value[len] = '\0';
    return true;
}

static bool parse(const char *text, struct volume *ret_volume)
{
    return strncmp(text, "readyfs volume 1\n", 17) == 0 && take_line(text, "\ncatalogue ", ret_volume->catalogue) &&
           take_line(text, "\ncontainer ", ret_volume->container) &&
           take_line(text, "\nincarnation ", ret_volume->incarnation) && take_line(text, "\nmark ", ret_volume->mark);
}

static void format(const struct volume *volume, char ret_text[CONTROL_BYTES])
{
    (void)snprintf(ret_text, CONTROL_BYTES, "readyfs volume 1\ncatalogue %s\ncontainer %s\nincarnation %s\nmark %s\n",
                   volume->catalogue, volume->container, volume->incarnation, volume->mark); /* far below the size */
}

static enum status read_control(const struct world *world, const struct settings *settings, struct volume *ret_volume,
                                char ret_etag[LIMIT_ETAG_BYTES], struct err *err)
{
    char name[LIMIT_BLOB_NAME_BYTES];
    char text[CONTROL_BYTES];
    control_name(settings, name);
    struct call call = {.deadline_ms = settings->deadline_ms};
    enum status status = world->blobs->ops->control_read(world->blobs, &call, name, text, sizeof text, ret_etag, err);
    if (status != STATUS_OK)
        return status;
    if (!parse(text, ret_volume))
        return err_set(err, STATUS_FOREIGN, "the control blob %s was not written by this version of readyfs", name);
    return STATUS_OK;
}

static enum status write_control(const struct world *world, const struct settings *settings,
                                 const struct volume *volume, const char *etag, struct err *err)
{
    char name[LIMIT_BLOB_NAME_BYTES];
    char text[CONTROL_BYTES];
    char new_etag[LIMIT_ETAG_BYTES];
    control_name(settings, name);
    format(volume, text);
    struct call call = {.deadline_ms = settings->deadline_ms};
    return world->blobs->ops->control_write(world->blobs, &call, name, text, etag, new_etag, err);
}

/* ---- the catalogue's side ---- */

static void fresh_id(const struct world *world, char ret_text[ID_TEXT_SIZE])
{
    uint8_t random[ID_BYTES];
    entropy_fill(world->entropy, random, sizeof random);
    id_text(random, ret_text);
}

static enum status read_own(const struct catalogue_ops *rows, struct catalogue_txn *txn, struct own *ret_own,
                            struct err *err)
{
    char joined[8];
    struct own own = {0};
    enum status status = rows->meta_get(txn, "catalogue", own.volume.catalogue, ID_TEXT_SIZE, err);
    if (status == STATUS_OK)
        status = rows->meta_get(txn, "container", own.volume.container, ID_TEXT_SIZE, err);
    if (status == STATUS_OK)
        status = rows->meta_get(txn, "incarnation", own.volume.incarnation, ID_TEXT_SIZE, err);
    if (status == STATUS_OK)
        status = rows->meta_get(txn, "marks", own.marks, sizeof own.marks, err);
    if (status == STATUS_OK)
        status = rows->meta_get(txn, "joined", joined, sizeof joined, err);
    if (status != STATUS_OK)
        return status;
    own.joined = strcmp(joined, "1") == 0;
    if (strlen(own.marks) >= ID_TEXT_SIZE - 1)
        memcpy(own.volume.mark, own.marks, ID_TEXT_SIZE - 1);
    *ret_own = own;
    return STATUS_OK;
}

static enum status load_own(const struct world *world, struct own *ret_own, struct err *err)
{
    struct catalogue_txn *txn = NULL;
    const struct catalogue_ops *rows = world->catalogue->ops;
    enum status status = rows->read_begin(world->catalogue, &txn, err);
    if (status != STATUS_OK)
        return status;
    status = read_own(rows, txn, ret_own, err);
    rows->abort(txn);
    return status;
}

/* What a durable commit changes on the catalogue's side. */
struct step {
    bool new_mark, new_container, new_incarnation, joined;
};

static void push_mark(struct own *own, const char *mark)
{
    char marks[MARKS_BYTES + ID_TEXT_SIZE];
    (void)snprintf(marks, sizeof marks, "%s%s%s", mark, own->marks[0] ? "," : "", own->marks);
    marks[MARKS_BYTES - 1] = '\0'; /* the oldest goes; a cut one matches nothing */
    memcpy(own->marks, marks, MARKS_BYTES);
    memcpy(own->volume.mark, mark, ID_TEXT_SIZE);
}

static enum status write_own(const struct catalogue_ops *rows, struct catalogue_txn *txn, const struct own *own,
                             struct err *err)
{
    enum status status = rows->meta_set(txn, "container", own->volume.container, err);
    if (status == STATUS_OK)
        status = rows->meta_set(txn, "incarnation", own->volume.incarnation, err);
    if (status == STATUS_OK)
        status = rows->meta_set(txn, "marks", own->marks, err);
    if (status == STATUS_OK)
        status = rows->meta_set(txn, "joined", own->joined ? "1" : "0", err);
    return status;
}

/* Durable before the control blob learns of it. An unknown COMMIT is settled by the caller's next round: a mark that is
 * known without having been written does no harm. */
static enum status commit_step(const struct world *world, const struct settings *settings, const struct step *step,
                               struct own *ret_own, struct err *err)
{
    const struct catalogue_ops *rows = world->catalogue->ops;
    struct catalogue_txn *txn = NULL;
    enum status status = rows->write_begin(world->catalogue, DURABLE, settings->deadline_ms, &txn, err);
    if (status == STATUS_IO && rows->reopen(world->catalogue, err) == STATUS_OK) /* it was in doubt (P6) */
        status = rows->write_begin(world->catalogue, DURABLE, settings->deadline_ms, &txn, err);
    if (status != STATUS_OK)
        return status;
    status = read_own(rows, txn, ret_own, err);
    char mark[ID_TEXT_SIZE];
    fresh_id(world, mark);
    if (step->new_mark)
        push_mark(ret_own, mark);
    if (step->new_container && !ret_own->volume.container[0])
        fresh_id(world, ret_own->volume.container);
    if (step->new_incarnation)
        fresh_id(world, ret_own->volume.incarnation);
    ret_own->joined = ret_own->joined || step->joined;
    if (status == STATUS_OK)
        status = write_own(rows, txn, ret_own, err);
    if (status != STATUS_OK) {
        rows->abort(txn);
        return status;
    }
    return rows->commit(txn, err);
}

/* ---- comparing ---- */

static bool knows_mark(const struct own *own, const char *mark)
{
    return strstr(own->marks, mark) != NULL;
}

static enum status foreign(struct err *err, const char *hint)
{
    (void)err_hint(err, "%s", hint);
    return STATUS_FOREIGN;
}

static enum status compare(const struct own *own, const struct volume *control, bool accept_restore, struct err *err)
{
    if (strcmp(own->volume.catalogue, control->catalogue) != 0) {
        (void)err_set(err, STATUS_FOREIGN, "the container belongs to catalogue %s, not to this one (%s)",
                      control->catalogue, own->volume.catalogue);
        return foreign(err, "name the right catalogue with catalogue=, or use another container or prefix");
    }
    if (strcmp(own->volume.container, control->container) != 0) {
        (void)err_set(err, STATUS_FOREIGN, "the catalogue belongs to container %s, not to this one (%s)",
                      own->volume.container[0] ? own->volume.container : "(none)", control->container);
        return foreign(err, "name the right catalogue with catalogue=");
    }
    if (accept_restore)
        return STATUS_OK;
    if (strcmp(own->volume.incarnation, control->incarnation) != 0 || !knows_mark(own, control->mark)) {
        (void)err_set(err, STATUS_FOREIGN, "the catalogue is older than the container: it was restored from a copy");
        return foreign(err, "bring the current catalogue back, or mount once with accept_restore to use this one");
    }
    return STATUS_OK;
}

/* No control blob: right for a new volume, wrong for one that had it. */
static enum status check_absent(const struct own *own, const struct volume_options *options, struct err *err)
{
    if (own->joined && !options->accept_restore) {
        (void)err_set(err, STATUS_FOREIGN,
                      "the container has no control blob, but the catalogue has documents in one (%s)",
                      own->volume.container);
        return foreign(err, "this is another or an emptied container: name the right one, or another catalogue");
    }
    if (options->read_only)
        return err_set(err, STATUS_NOT_FOUND, "nothing was stored here yet: the container has no control blob");
    return STATUS_OK;
}

/* The control blob first, the catalogue afterwards: each mark is in the catalogue before it is in the blob, so whoever
 * reads them in this order knows the mark of a volume that is in use. */
static enum status look_at_both(const struct world *world, const struct volume_options *options, struct own *ret_own,
                                bool *ret_found, char ret_etag[LIMIT_ETAG_BYTES], struct err *err)
{
    struct volume control;
    enum status found = read_control(world, options->settings, &control, ret_etag, err);
    if (found != STATUS_OK && found != STATUS_NOT_FOUND)
        return found;
    err_clear(err);
    *ret_found = found == STATUS_OK;
    enum status status = load_own(world, ret_own, err);
    if (status != STATUS_OK)
        return status;
    return *ret_found ? compare(ret_own, &control, options->accept_restore, err) : check_absent(ret_own, options, err);
}

static enum status join_once(const struct world *world, const struct volume_options *options, struct own *ret_own,
                             bool *ret_created, struct err *err)
{
    char etag[LIMIT_ETAG_BYTES];
    bool found = false;
    enum status status = look_at_both(world, options, ret_own, &found, etag, err);
    if (status != STATUS_OK || options->read_only)
        return status;
    struct step step = {.new_mark = true, .new_container = !found, .new_incarnation = found && options->accept_restore};
    status = commit_step(world, options->settings, &step, ret_own, err);
    if (status != STATUS_OK)
        return status;
    *ret_created = !found;
    return write_control(world, options->settings, &ret_own->volume, found ? etag : NULL, err);
}

/* Whether somebody else wrote first, or nobody knows: read again. */
static bool once_more(enum status status)
{
    return status == STATUS_EXISTS || status == STATUS_CONDITION || status_outcome(status) == OUTCOME_UNKNOWN;
}

enum status volume_join(const struct world *world, const struct volume_options *options, bool *ret_created,
                        struct err *err)
{
    bool created = false;
    struct own own = {0};
    enum status status = STATUS_UNKNOWN;
    for (int attempt = 0; attempt < ATTEMPTS && once_more(status); attempt++)
        status = join_once(world, options, &own, &created, err);
    if (once_more(status))
        status = err_set(err, STATUS_BUSY, "the control blob could not be written: others write it all the time");
    if (status != STATUS_OK)
        return status;
    if (ret_created)
        *ret_created = created;
    if (options->read_only || own.joined)
        return STATUS_OK;
    return commit_step(world, options->settings, &(struct step){.joined = true}, &own, err);
}

static enum status mark_once(const struct world *world, const struct settings *settings, struct err *err)
{
    struct own own;
    struct volume control;
    char etag[LIMIT_ETAG_BYTES];
    enum status status = read_control(world, settings, &control, etag, err);
    if (status == STATUS_NOT_FOUND)
        return err_set(err, STATUS_FOREIGN, "the control blob has vanished: nothing is deleted");
    if (status == STATUS_OK)
        status = load_own(world, &own, err);
    if (status == STATUS_OK)
        status = compare(&own, &control, false, err);
    if (status == STATUS_OK)
        status = commit_step(world, settings, &(struct step){.new_mark = true}, &own, err);
    return status == STATUS_OK ? write_control(world, settings, &own.volume, etag, err) : status;
}

enum status volume_mark(const struct world *world, const struct settings *settings, struct err *err)
{
    enum status status = STATUS_UNKNOWN;
    for (int attempt = 0; attempt < ATTEMPTS && once_more(status); attempt++)
        status = mark_once(world, settings, err);
    return once_more(status) ? err_set(err, STATUS_BUSY, "the control blob could not be written") : status;
}
