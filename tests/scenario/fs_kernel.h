/* fs_kernel.h - plays the kernel for tests of fs/: walks a name, opens, comes again after ESTALE, closes, forgets.
 *
 * Names are in the root directory. A program is a thread id: this process's own, or that of a child that only waits
 * (another process), or of one that was killed and not reaped yet.
 */
#ifndef READYFS_TESTS_FS_KERNEL_H
#define READYFS_TESTS_FS_KERNEL_H

#include "document/view.h"
#include "fs/fs.h"
#include "support/lab.h"
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define REPORTS_MAX 16

/* What fs/ told the kernel and the log. */
struct told {
    unsigned entries, nodes, reports;
    uint64_t last_node, grown; /* grown: of which bytes, not attributes alone, are old */
    int64_t last_offset;
    char last_entry[LIMIT_NAME_BYTES + 1];
    char event[64], document[256], message[768];
};

struct kernel {
    struct lab *lab;
    struct world world;
    struct session *session;
    struct view *view;
    struct fs *fs;
    struct told told;
    char spool[128], recovery[128];
    uint64_t known[4096]; /* nodes by the lookups that are to be forgotten, one each */
    size_t known_count;
};

struct program {
    struct fs_caller caller;
};

struct opened {
    struct fs_opened file;
    uint64_t node;
    unsigned tries; /* OPENs that were sent */
};

#define OK(call) assert_int_equal((call), STATUS_OK)

static inline void kernel_entry(void *context, uint64_t parent, const struct name *name)
{
    struct kernel *kernel = context;
    (void)parent;
    kernel->told.entries++;
    (void)snprintf(kernel->told.last_entry, sizeof kernel->told.last_entry, "%s", name->bytes);
}

static inline void kernel_node(void *context, uint64_t node, int64_t offset, int64_t len)
{
    struct kernel *kernel = context;
    (void)len;
    kernel->told.nodes++;
    kernel->told.last_node = node;
    if (offset >= 0)
        kernel->told.grown = node;
    kernel->told.last_offset = offset;
}

static inline void kernel_report(void *context, const char *event, const char *document, const struct err *err)
{
    struct kernel *kernel = context;
    kernel->told.reports++;
    (void)snprintf(kernel->told.event, sizeof kernel->told.event, "%s", event);
    (void)snprintf(kernel->told.document, sizeof kernel->told.document, "%s", document);
    (void)snprintf(kernel->told.message, sizeof kernel->told.message, "%s", err->message);
}

static inline struct fs_options kernel_options(struct kernel *kernel)
{
    return (struct fs_options){
        .spool = kernel->spool,
        .recovery = kernel->recovery,
        .append_publish_ms = 5000,
        .notify = {kernel_entry, kernel_node, kernel_report, kernel},
    };
}

/* Mounts; `change` may alter the options. */
static inline void kernel_mount_with(struct kernel *kernel, struct lab *lab, const struct settings *settings,
                                     void (*change)(struct fs_options *options))
{
    struct err err = {0};
    memset(kernel, 0, sizeof *kernel);
    kernel->lab = lab;
    kernel->world = lab_client(lab);
    kernel->session = lab_session(&kernel->world, settings);
    (void)snprintf(kernel->spool, sizeof kernel->spool, "%s/spool/%lld", lab->folder,
                   (long long)session_id(kernel->session));
    (void)snprintf(kernel->recovery, sizeof kernel->recovery, "%s/recovery", lab->folder);
    OK(view_open(kernel->session, &kernel->view, &err));
    struct fs_options options = kernel_options(kernel);
    if (change)
        change(&options);
    enum status status = fs_open(kernel->view, &options, &kernel->fs, &err);
    if (status != STATUS_OK)
        fail_msg("fs_open: %s", err.message);
}

static inline void kernel_mount(struct kernel *kernel, struct lab *lab)
{
    struct settings settings = lab_settings();
    kernel_mount_with(kernel, lab, &settings, NULL);
}

static inline void kernel_forget(struct kernel *kernel)
{
    while (kernel->known_count)
        fs_forget(kernel->fs, kernel->known[--kernel->known_count], 1);
}

/* Everything that was opened has been closed: nothing may be left. */
static inline void kernel_unmount(struct kernel *kernel)
{
    kernel_forget(kernel);
    kernel->lab->clock.boot_ms += 10000;
    fs_tick(kernel->fs); /* wishes that nobody came for */
    struct fs_activity activity = fs_activity(kernel->fs);
    assert_int_equal(activity.open_handles, 0);
    assert_int_equal(activity.workspaces, 0);
    assert_int_equal(activity.uploads, 0);
    assert_int_equal(activity.nodes, 1);
    unsigned kept = 0;
    fs_close(kernel->fs, &kept);
    assert_int_equal(kept, 0);
    view_close(kernel->view);
    session_close(kernel->session, "done");
    lab_client_close(&kernel->world);
}

static inline struct program program_self(void)
{
    return (struct program){{.tid = getpid(), .uid = 0, .gid = 0}};
}

/* Another process, which waits until program_end. */
static inline struct program program_other(void)
{
    pid_t child = fork();
    if (!child) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* also where the test ends early */
        for (;;)
            (void)pause();
    }
    assert_true(child > 0);
    return (struct program){{.tid = child, .uid = 1000, .gid = 1000}};
}

static inline void program_end(const struct program *program)
{
    (void)kill(program->caller.tid, SIGKILL);
    (void)waitpid(program->caller.tid, NULL, 0);
}

/* Killed, and as the kernel shows it while its descriptors are closed; program_end reaps it. */
static inline void program_kill(const struct program *program)
{
    siginfo_t info;
    assert_int_equal(kill(program->caller.tid, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)program->caller.tid, &info, WEXITED | WNOWAIT), 0);
}

/* One LOOKUP; its node is forgotten at the end. */
static inline enum status kernel_look_at(struct kernel *kernel, const struct program *program, uint64_t parent,
                                         const char *name, struct fs_entry *ret_entry)
{
    struct err err = {0};
    enum status status = fs_lookup(kernel->fs, &program->caller, parent, name, ret_entry, &err);
    if (status == STATUS_OK && ret_entry->node) {
        assert_true(kernel->known_count < sizeof kernel->known / sizeof *kernel->known);
        kernel->known[kernel->known_count++] = ret_entry->node;
    }
    return status;
}

static inline enum status kernel_look(struct kernel *kernel, const struct program *program, const char *name,
                                      struct fs_entry *ret_entry)
{
    return kernel_look_at(kernel, program, FS_ROOT, name, ret_entry);
}

/* The node that the name leads to, 0 for none. */
static inline uint64_t kernel_node_of(struct kernel *kernel, const struct program *program, const char *name)
{
    struct fs_entry entry;
    OK(kernel_look(kernel, program, name, &entry));
    return entry.node;
}

static inline enum status kernel_open_node(struct kernel *kernel, const struct program *program, uint64_t node,
                                           int flags, struct opened *ret_opened)
{
    struct err err = {0};
    enum status status = fs_open_file(kernel->fs, &program->caller, node, flags, &ret_opened->file, &err);
    ret_opened->node = node;
    ret_opened->tries++;
    if (status == STATUS_STALE)
        assert_string_equal(err.message, ""); /* an answer, no failure */
    return status;
}

/* open(2): a walk, OPEN, and both once more after ESTALE; CREATE where the name leads nowhere. */
static inline enum status kernel_open(struct kernel *kernel, const struct program *program, const char *name, int flags,
                                      struct opened *ret_opened)
{
    enum status status = STATUS_STALE;
    struct err err = {0};
    *ret_opened = (struct opened){.tries = 0};
    for (int attempt = 0; attempt < 2 && status == STATUS_STALE; attempt++) {
        struct fs_entry entry;
        OK(kernel_look(kernel, program, name, &entry));
        if (!entry.node && !(flags & O_CREAT))
            return STATUS_NOT_FOUND;
        if (entry.node && (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL))
            return STATUS_EXISTS;
        if (entry.node) {
            status = kernel_open_node(kernel, program, entry.node, flags, ret_opened);
            continue;
        }
        status = fs_create(kernel->fs, &program->caller, FS_ROOT, name, 0644, flags, &entry, &ret_opened->file, &err);
        if (status == STATUS_OK) {
            kernel->known[kernel->known_count++] = entry.node;
            ret_opened->node = entry.node;
        }
    }
    return status;
}

static inline enum status kernel_write(struct kernel *kernel, const struct program *program,
                                       const struct opened *opened, uint64_t offset, const void *bytes, size_t len)
{
    struct err err = {0};
    size_t written = 0;
    enum status status =
        fs_write(kernel->fs, &program->caller, opened->file.handle, offset, bytes, len, &written, &err);
    if (status == STATUS_OK)
        assert_int_equal(written, len);
    return status;
}

static inline enum status kernel_text(struct kernel *kernel, const struct program *program, const struct opened *opened,
                                      uint64_t offset, const char *text)
{
    return kernel_write(kernel, program, opened, offset, text, strlen(text));
}

static inline enum status kernel_flush(struct kernel *kernel, const struct program *program,
                                       const struct opened *opened)
{
    struct err err = {0};
    enum status status = fs_flush(kernel->fs, &program->caller, opened->file.handle, &err);
    if (status != STATUS_OK)
        assert_true(err.message[0]);
    return status;
}

static inline void kernel_release(struct kernel *kernel, const struct program *program, const struct opened *opened)
{
    fs_release_announce(kernel->fs, opened->file.handle);
    fs_release(kernel->fs, &program->caller, opened->file.handle);
}

/* close(2) of the only descriptor. */
static inline enum status kernel_close(struct kernel *kernel, const struct program *program,
                                       const struct opened *opened)
{
    enum status status = kernel_flush(kernel, program, opened);
    kernel_release(kernel, program, opened);
    return status;
}

/* The first 255 bytes that a descriptor reads. */
static inline enum status kernel_read(struct kernel *kernel, const struct program *program, const struct opened *opened,
                                      char ret_text[256])
{
    struct err err = {0};
    size_t len = 0;
    enum status status = fs_read(kernel->fs, &program->caller, opened->file.handle, 0, ret_text, 255, &len, &err);
    ret_text[status == STATUS_OK ? len : 0] = '\0';
    return status;
}

static inline void expect_read(struct kernel *kernel, const struct program *program, const struct opened *opened,
                               const char *text)
{
    char found[256];
    OK(kernel_read(kernel, program, opened, found));
    assert_string_equal(found, text);
}

/* `cat NAME`, NULL for a name that leads nowhere. */
static inline void expect_file(struct kernel *kernel, const struct program *program, const char *name, const char *text)
{
    struct opened opened;
    enum status status = kernel_open(kernel, program, name, O_RDONLY, &opened);
    if (!text) {
        assert_int_equal(status, STATUS_NOT_FOUND);
        return;
    }
    OK(status);
    assert_true(opened.tries <= 2);
    expect_read(kernel, program, &opened, text);
    OK(kernel_close(kernel, program, &opened));
}

/* `printf TEXT > NAME`. */
static inline void kernel_put(struct kernel *kernel, const struct program *program, const char *name, const char *text)
{
    struct opened opened;
    OK(kernel_open(kernel, program, name, O_WRONLY | O_CREAT | O_TRUNC, &opened));
    OK(kernel_text(kernel, program, &opened, 0, text));
    OK(kernel_close(kernel, program, &opened));
}

struct listing {
    char names[64][LIMIT_NAME_BYTES + 1];
    size_t count;
    size_t fits;    /* items that one READDIR takes */
    int64_t offset; /* to go on from */
    bool attributes;
    struct kernel *kernel;
};

static inline bool kernel_item(void *context, const struct fs_item *item)
{
    struct listing *listing = context;
    if (!listing->fits)
        return false;
    listing->fits--;
    listing->offset = item->offset;
    if (item->entry.node)
        listing->kernel->known[listing->kernel->known_count++] = item->entry.node;
    if (strcmp(item->name, ".") == 0 || strcmp(item->name, "..") == 0)
        return true;
    assert_true(listing->count < 64);
    (void)snprintf(listing->names[listing->count++], LIMIT_NAME_BYTES + 1, "%s", item->name);
    return true;
}

/* `ls`, a few items at a time. */
static inline void kernel_list(struct kernel *kernel, const struct program *program, struct listing *listing)
{
    struct err err = {0};
    struct fs_handle *handle = NULL;
    *listing = (struct listing){.kernel = kernel, .attributes = true};
    OK(fs_opendir(kernel->fs, &program->caller, FS_ROOT, &handle, &err));
    do {
        listing->fits = 3;
        OK(fs_readdir(kernel->fs, &program->caller, handle, listing->offset, listing->attributes, kernel_item, listing,
                      &err));
    } while (listing->fits < 3);
    fs_releasedir(kernel->fs, handle);
}

static inline bool listed(struct kernel *kernel, const struct program *program, const char *name)
{
    struct listing listing;
    bool found = false;
    kernel_list(kernel, program, &listing);
    for (size_t i = 0; i < listing.count; i++)
        found = found || strcmp(listing.names[i], name) == 0;
    return found;
}

/* How many items the recovery folder has; the last one's bytes. */
struct kept {
    unsigned count;
    char id[64], reason[512], name[1024];
    uint64_t size, missing;
};

#include "fs/recover.h"

static inline void count_item(void *context, const struct recover_item *item)
{
    struct kept *kept = context;
    kept->count++;
    (void)snprintf(kept->id, sizeof kept->id, "%s", item->id);
    (void)snprintf(kept->reason, sizeof kept->reason, "%s", item->reason);
    (void)snprintf(kept->name, sizeof kept->name, "%s", item->name);
    kept->size = item->size_bytes;
    kept->missing = item->missing_bytes;
}

static inline struct kept kernel_kept(struct kernel *kernel)
{
    struct kept kept = {0};
    struct err err = {0};
    OK(recover_list(kernel->recovery, count_item, &kept, &err));
    return kept;
}

static inline void expect_kept(struct kernel *kernel, const char *text)
{
    struct kept kept = kernel_kept(kernel);
    struct err err = {0};
    char bytes[256] = {0};
    int fd = -1;
    assert_true(kept.count > 0);
    OK(recover_open(kernel->recovery, kept.id, &fd, &err));
    assert_true(read(fd, bytes, sizeof bytes - 1) >= 0);
    (void)close(fd);
    assert_string_equal(bytes, text);
}

#endif
