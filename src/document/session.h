/* session.h - one mount or one open library handle, as the protocol knows it: the owner of Pending versions.
 *
 * A session owns what its threads share: the pool of intents, the working list, the readers' registrations, the queue
 * of commits, the block buffers. All of it is behind the one lock of document/, which is this object's; no lock is held
 * across a blob call. A session lives until it is closed or fenced by another that found its kernel lock free (P11).
 * All calls may be made from any thread, session_open and session_close excepted.
 */
#ifndef READYFS_DOCUMENT_SESSION_H
#define READYFS_DOCUMENT_SESSION_H

#include "catalogue/catalogue.h"
#include "document/settings.h"
#include "document/world.h"

struct session;

struct session_options {
    enum session_kind kind;
    const char *place; /* mount point or verb, for people */
    struct settings settings;
};

/* Takes the kernel lock and inserts the row in one hold of the gate, horizon at the current number (P14). `world` is
 * borrowed until session_close. A verb that only reads passes SESSION_VERB; it has a session too, so that its readers
 * are seen by the horizon. */
MUST_CHECK enum status session_open(const struct world *world, const struct session_options *options,
                                    struct session **ret_session, struct err *err);

/* Condemns what the session left Pending (its unused intents), writes `result` into its row, marks it ended and frees.
 * A failure to write leaves a row that the next sweep fences. NULL is fine. */
void session_close(struct session *session, const char *result);

int64_t session_id(const struct session *session);
const struct world *session_world(const struct session *session);
const struct settings *session_settings(const struct session *session);

/* Reads the current number, then writes the horizon (P14), how far the change log was followed, and the time; finds out
 * whether the session was fenced and whether the catalogue's file is still there. Call it every `heartbeat` seconds.
 * FENCED: everything refuses from now on. */
MUST_CHECK enum status session_heartbeat(struct session *session, struct err *err);

/* FENCED once the session has learned of it; IO while the catalogue is in doubt and could not be reopened (P6). */
MUST_CHECK enum status session_check(struct session *session, struct err *err);

/* How far behind the present the session's view of other sessions' commits may be: the number it knows. */
int64_t session_known_seq(struct session *session);

/* Whether anyone else moved the catalogue since `*seen` (a data_version). Updates *seen. On doubt true. */
bool session_moved(struct session *session, uint64_t *seen);

/* Everything committed so far is durable when this returns OK (fsync of a directory, the once-a-second sync). */
MUST_CHECK enum status session_sync(struct session *session, struct err *err);

/* Uploads and publishes under way now; for the sweeper's patience and for `umount`. */
unsigned session_busy(struct session *session);

/* A registration of a reader (P14): until it is released, no blob is deleted that a snapshot begun after registering
 * may show. The object belongs to the caller, zeroed before first use; registering twice is an error of ours. */
struct registration {
    int64_t seq;
    struct registration *prev, *next;
    bool active;
};

void session_register(struct session *session, struct registration *registration);
void session_release(struct session *session, struct registration *registration);

#endif
