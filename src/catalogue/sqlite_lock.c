/* sqlite_lock.c - the proof of life of a session: a lock on a file of its own, in sessions/ beside the catalogue.
 *
 * The kernel frees a lock when its holder dies, so whoever can take it knows that the owner is gone. Files are made and
 * removed inside the gate alone, so that nobody locks a file that another is just removing.
 */
#include "catalogue/sqlite_internal.h"

#include "host/lock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

struct session_lock {
    struct session_lock *next;
    int64_t session;
    struct lock lock;
    bool fresh; /* made by the writing transaction that is still open */
};

struct lock_name {
    char text[24];
};

static struct lock_name name_of(int64_t session)
{
    struct lock_name name;
    (void)snprintf(name.text, sizeof name.text, "%lld", (long long)session); /* 20 digits at most */
    return name;
}

/* ---- the table of locks that this process holds ---- */

static struct session_lock **find(struct sqlite_catalogue *catalogue, int64_t session)
{
    struct session_lock **place = &catalogue->locks;
    while (*place && (*place)->session != session)
        place = &(*place)->next;
    return place;
}

static bool held(struct sqlite_catalogue *catalogue, int64_t session)
{
    INVARIANT(pthread_mutex_lock(&catalogue->lock_mutex) == 0);
    bool found = *find(catalogue, session) != NULL;
    INVARIANT(pthread_mutex_unlock(&catalogue->lock_mutex) == 0);
    return found;
}

static struct session_lock *take_out(struct sqlite_catalogue *catalogue, int64_t session)
{
    INVARIANT(pthread_mutex_lock(&catalogue->lock_mutex) == 0);
    struct session_lock **place = find(catalogue, session);
    struct session_lock *found = *place;
    if (found)
        *place = found->next;
    INVARIANT(pthread_mutex_unlock(&catalogue->lock_mutex) == 0);
    return found;
}

static void put_in(struct sqlite_catalogue *catalogue, struct session_lock *session_lock)
{
    INVARIANT(pthread_mutex_lock(&catalogue->lock_mutex) == 0);
    session_lock->next = catalogue->locks;
    catalogue->locks = session_lock;
    INVARIANT(pthread_mutex_unlock(&catalogue->lock_mutex) == 0);
}

static void drop(struct session_lock *session_lock)
{
    if (session_lock)
        lock_close(&session_lock->lock);
    free(session_lock);
}

/* ---- taking and probing ---- */

/* Opens and locks the session's file. BUSY while somebody else has it, NOT_FOUND when it is not there. */
static enum status lock_file(struct sqlite_catalogue *catalogue, int64_t session, bool create, struct err *err)
{
    struct session_lock *made = calloc(1, sizeof *made);
    if (!made)
        return err_set(err, STATUS_NO_MEMORY, "catalogue: out of memory");
    made->session = session;
    made->fresh = create;
    enum status status = lock_open(catalogue->place.sessions_fd, name_of(session).text, create, &made->lock, err);
    if (status != STATUS_OK) {
        free(made);
        return status;
    }
    status = lock_try(&made->lock, err);
    if (status == STATUS_OK)
        put_in(catalogue, made);
    else
        drop(made);
    return status;
}

/* An id that we hold already comes again when the transaction that gave it out came to nothing. */
enum status sqlite_lock_take(struct catalogue_txn *txn, int64_t session, struct err *err)
{
    INVARIANT(txn->writing && session > 0);
    if (held(txn->catalogue, session))
        return STATUS_OK;
    enum status status = lock_file(txn->catalogue, session, true, err);
    if (status == STATUS_BUSY)
        return err_set(err, STATUS_BUSY, "catalogue: the lock of session %lld is taken", (long long)session);
    return status;
}

enum status sqlite_lock_probe(struct catalogue *port, int64_t session, struct err *err)
{
    struct sqlite_catalogue *catalogue = sqlite_of(port);
    if (catalogue->read_only)
        return err_set(err, STATUS_READ_ONLY, "catalogue '%s': opened for reading", catalogue->place.path);
    /* Our own sessions live; one that another thread has just found dead is in that thread's hands. */
    enum status status = held(catalogue, session) ? STATUS_BUSY : lock_file(catalogue, session, false, err);
    if (status == STATUS_NOT_FOUND) {
        err_clear(err);
        return STATUS_OK; /* removed: whoever did that had the lock */
    }
    if (status == STATUS_BUSY)
        return err_set(err, STATUS_BUSY, "session %lld is alive", (long long)session);
    return status;
}

void sqlite_lock_release(struct catalogue *port, int64_t session)
{
    drop(take_out(sqlite_of(port), session));
}

static void bury(struct sqlite_catalogue *catalogue, int64_t session)
{
    struct session_lock *found = take_out(catalogue, session);
    if (found)
        (void)unlinkat(catalogue->place.sessions_fd, name_of(session).text, 0); /* a file that stays proves death too */
    drop(found);
}

void sqlite_lock_bury(struct catalogue_txn *txn, int64_t session)
{
    INVARIANT(txn->writing);
    bury(txn->catalogue, session);
}

void sqlite_locks_keep(struct sqlite_catalogue *catalogue)
{
    INVARIANT(pthread_mutex_lock(&catalogue->lock_mutex) == 0);
    for (struct session_lock *each = catalogue->locks; each; each = each->next)
        each->fresh = false;
    INVARIANT(pthread_mutex_unlock(&catalogue->lock_mutex) == 0);
}

static int64_t any_fresh(struct sqlite_catalogue *catalogue)
{
    INVARIANT(pthread_mutex_lock(&catalogue->lock_mutex) == 0);
    struct session_lock *each = catalogue->locks;
    while (each && !each->fresh)
        each = each->next;
    int64_t session = each ? each->session : 0;
    INVARIANT(pthread_mutex_unlock(&catalogue->lock_mutex) == 0);
    return session;
}

void sqlite_locks_undo(struct sqlite_catalogue *catalogue)
{
    int64_t session;
    while ((session = any_fresh(catalogue)))
        bury(catalogue, session);
}

void sqlite_locks_done(struct sqlite_catalogue *catalogue)
{
    while (catalogue->locks)
        drop(take_out(catalogue, catalogue->locks->session));
}

/* ---- all of them ---- */

static enum status dead(int dir_fd, const char *name, struct err *err)
{
    AUTO_LOCK struct lock lock = LOCK_CLOSED;
    enum status status = lock_open(dir_fd, name, false, &lock, err);
    if (status == STATUS_OK)
        status = lock_try(&lock, err);
    if (status == STATUS_BUSY)
        return err_set(err, STATUS_BUSY, "session %s is alive", name);
    return status;
}

enum status sqlite_locks_all_dead(struct sqlite_catalogue *catalogue, struct err *err)
{
    int fd = openat(catalogue->place.sessions_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir) {
        enum status status = err_set_errno(err, errno, "list the sessions");
        cleanup_fd(&fd);
        return status;
    }
    enum status status = STATUS_OK;
    for (struct dirent *entry; status == STATUS_OK && (entry = readdir(dir));)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
            status = dead(fd, entry->d_name, err);
    (void)closedir(dir); /* it was only read */
    return status;
}
