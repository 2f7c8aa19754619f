/* client.h - one mount of a lab: a session with ports of its own that count, fail, come late or go deaf.
 *
 * Every call to the store and every COMMIT and sync of the catalogue passes a port, which can refuse it, lose its
 * answer (applied or not), keep the request back and deliver it later, or let the client die before or after it. A dead
 * client is deaf: whatever it calls from then on fails without effect, so that its memory can be freed like a living
 * one's while nothing of it reaches the world; its kernel lock goes with client_close(). Any thread may call; faults
 * are set and read by the test's own thread.
 */
#ifndef READYFS_TESTS_CLIENT_H
#define READYFS_TESTS_CLIENT_H

#include "support/lab.h"

#include <pthread.h>
#include <stdatomic.h>

enum port_call {
    PORT_PUT,
    PORT_STAGE,
    PORT_COPY,
    PORT_COMMIT,
    PORT_UNSTAGE,
    PORT_STAT,
    PORT_READ,
    PORT_REMOVE,
    PORT_TAG,
    PORT_TAG_GET,
    PORT_CONTROL_READ,
    PORT_CONTROL_WRITE,
    PORT_LIST,
    PORT_DURABLE, /* a COMMIT that waits for the disk */
    PORT_ORDERED, /* one that does not */
    PORT_SYNC,
    PORT_CALLS,
    PORT_ANY = PORT_CALLS,
};

enum port_fate {
    FATE_DONE,
    FATE_REFUSED,      /* with `refusal`; nothing happened */
    FATE_LOST,         /* UNKNOWN; nothing happened */
    FATE_LOST_APPLIED, /* UNKNOWN; yet it was done */
    FATE_LATE,         /* UNKNOWN; it is done when client_deliver() is called (put, commit) */
    FATE_DIES_BEFORE,  /* the client dies before the call has an effect */
    FATE_DIES_AFTER,   /* the client dies before it hears the answer */
};

struct port_fault {
    enum port_call call;
    enum port_fate fate;
    enum status refusal; /* 0: IO */
    unsigned skip;       /* calls that are let through first */
    unsigned times;      /* how often it strikes; 0: once */
};

#define FAULTS_MAX 4
#define LATE_MAX   8

struct late; /* a request on its way */

/* Runs before each call of a client that lives, in the calling thread. */
typedef void port_hook(void *context, enum port_call call, const char *name);

struct client {
    struct lab *lab;
    struct world world;
    struct session *session;
    struct blob_store blobs; /* the port */
    struct catalogue catalogue;
    struct catalogue_ops rows;
    struct catalogue *below;
    atomic_uint counts[PORT_CALLS];
    atomic_uint calls;      /* of all kinds */
    atomic_uint violations; /* of P1, P6, P7: see client_close() */
    atomic_bool dead;

    pthread_mutex_t mutex; /* protects the next ones */
    struct port_fault faults[FAULTS_MAX];
    struct late *late[LATE_MAX];
    port_hook *before;
    void *context;
    uint64_t random;    /* of client_chaos() */
    unsigned per_mille; /* of calls that it strikes */
};

/* Opens a catalogue handle and a session of `kind`. */
void client_open(struct client *client, struct lab *lab, const struct settings *settings, enum session_kind kind);

/* Ends the session, as far as the client lives, and closes its catalogue: after this its kernel lock is free. Fails the
 * test if the client has ever sent bytes to a name without a row (P1), or a delete for a version that was not durably
 * Condemned (P6, P7): the rows are looked at before each such call. */
void client_close(struct client *client);

/* From now on it is deaf. */
void client_kill(struct client *client);

/* Adds a fault; at most FAULTS_MAX. */
void client_fault(struct client *client, struct port_fault fault);
void client_no_faults(struct client *client);

/* Sets the hook; NULL for none. */
void client_hook(struct client *client, port_hook *hook, void *context);

/* From now on so many of a thousand calls are refused or lost, applied or not; 0 ends it. */
void client_chaos(struct client *client, uint64_t seed, unsigned per_mille);

/* Every late request arrives. Returns the status of the last one (NOT_FOUND where there was none). */
enum status client_deliver(struct client *client);

void client_reset_counts(struct client *client);

/* Calls to the store since the counts were reset. */
unsigned client_exchanges(struct client *client);

/* ---- stories ---- */

/* O_CREAT of a name: OP_RESERVE. */
enum status client_reserve(struct client *client, int64_t dir, const char *name, unsigned flags, struct op *ret_op);

/* The content of root/name is `text`, or there is none where it is NULL. */
void client_expect(struct client *client, const char *name, const char *text);

/* One unlink, mkdir, rename. */
enum status client_remove(struct client *client, int64_t dir, const char *name);
int64_t client_mkdir(struct client *client, int64_t dir, const char *name);
enum status client_rename(struct client *client, const char *from, const char *to, unsigned flags);

/* The row of a version as it is now; NOT_FOUND as state VERSION_GONE. */
struct version_row client_version(struct client *client, int64_t version);
struct session_row client_row(struct client *client);

/* No Pending or Condemned version is left but the living sessions' pools, no tag is due, every blob is a Ready
 * version's, and the audit finds no fault (P12). `pools`: how many unused intents the living sessions have. */
void client_expect_converged(struct client *client, unsigned pools);
unsigned client_pool(struct client *client);

#endif
