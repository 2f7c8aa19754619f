/* notifier.c - a queue and its thread. */
#include "fuse/notifier.h"

#include <errno.h>
#include <fuse_lowlevel.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QUEUE_MAX        4096
#define NOTIFY_INC_EPOCH 8 /* FUSE_NOTIFY_INC_EPOCH of Linux 6.16 */

struct item {
    struct item *next;
    uint64_t node; /* of the name: the directory's */
    int64_t offset, len;
    uint8_t name_len; /* 0: about the node itself */
    char name[];
};

struct notifier {
    struct fuse_session *session;
    struct log *log;
    pthread_t thread;
    pthread_mutex_t mutex; /* protects what follows; leaf, never held in a call to the kernel */
    pthread_cond_t filled, emptied;
    struct item *first, **last;
    unsigned count;
    bool stop, lost, has_patient;
    pthread_t patient;
};

/* Every cached name is looked up again after this. */
static void forget_all_names(struct notifier *notifier)
{
    struct fuse_out_header header = {.len = sizeof header, .error = NOTIFY_INC_EPOCH};
    ssize_t sent = write(fuse_session_fd(notifier->session), &header, sizeof header);
    log_line(notifier->log, sent == sizeof header ? LEVEL_WARN : LEVEL_ERROR,
             sent == sizeof header
                 ? "notify_overflow out of memory: the kernel was told to forget all names"
                 : "notify_overflow out of memory: names may be shown as they were for as long as the kernel caches "
                   "them; mount again");
}

static void send_item(struct notifier *notifier, const struct item *item)
{
    int result = item->name_len
                     ? fuse_lowlevel_notify_inval_entry(notifier->session, item->node, item->name, item->name_len)
                     : fuse_lowlevel_notify_inval_inode(notifier->session, item->node, item->offset, item->len);
    if (result != 0 && result != -ENOENT && result != -ENODEV && result != -EBADF && result != -ENOTDIR)
        log_line(notifier->log, LEVEL_WARN,
                 "notify_failed node=%llu errno=%d: the kernel may show it as it was until its timeout",
                 (unsigned long long)item->node, -result);
}

static void *run(void *argument)
{
    struct notifier *notifier = argument;
    (void)pthread_mutex_lock(&notifier->mutex);
    for (;;) {
        while (!notifier->stop && !notifier->first && !notifier->lost)
            (void)pthread_cond_wait(&notifier->filled, &notifier->mutex);
        if (notifier->stop)
            break;
        struct item *item = notifier->first;
        bool lost = notifier->lost;
        notifier->lost = false;
        if (item && !(notifier->first = item->next))
            notifier->last = &notifier->first;
        notifier->count -= item != NULL;
        (void)pthread_cond_broadcast(&notifier->emptied);
        (void)pthread_mutex_unlock(&notifier->mutex);
        if (item)
            send_item(notifier, item);
        if (lost)
            forget_all_names(notifier);
        free(item);
        (void)pthread_mutex_lock(&notifier->mutex);
    }
    (void)pthread_mutex_unlock(&notifier->mutex);
    return NULL;
}

enum status notifier_open(struct fuse_session *session, struct log *log, struct notifier **ret_notifier,
                          struct err *err)
{
    struct notifier *notifier = calloc(1, sizeof *notifier);
    if (!notifier)
        return err_set(err, STATUS_NO_MEMORY, "out of memory");
    notifier->session = session;
    notifier->log = log;
    notifier->last = &notifier->first;
    (void)pthread_mutex_init(&notifier->mutex, NULL);
    (void)pthread_cond_init(&notifier->filled, NULL);
    (void)pthread_cond_init(&notifier->emptied, NULL);
    int error = pthread_create(&notifier->thread, NULL, run, notifier);
    if (error != 0) {
        free(notifier);
        return err_set_errno(err, error, "start the notifier");
    }
    *ret_notifier = notifier;
    return STATUS_OK;
}

void notifier_close(struct notifier *notifier)
{
    if (!notifier)
        return;
    (void)pthread_mutex_lock(&notifier->mutex);
    notifier->stop = true;
    (void)pthread_cond_broadcast(&notifier->filled);
    (void)pthread_cond_broadcast(&notifier->emptied);
    (void)pthread_mutex_unlock(&notifier->mutex);
    (void)pthread_join(notifier->thread, NULL);
    for (struct item *item = notifier->first, *next; item; item = next) {
        next = item->next;
        free(item);
    }
    (void)pthread_mutex_destroy(&notifier->mutex);
    (void)pthread_cond_destroy(&notifier->filled);
    (void)pthread_cond_destroy(&notifier->emptied);
    free(notifier);
}

void notifier_be_patient(struct notifier *notifier)
{
    (void)pthread_mutex_lock(&notifier->mutex);
    notifier->patient = pthread_self();
    notifier->has_patient = true;
    (void)pthread_mutex_unlock(&notifier->mutex);
}

/* Takes the item; NULL: there was no memory for it. */
static void enqueue(struct notifier *notifier, struct item *item)
{
    (void)pthread_mutex_lock(&notifier->mutex);
    bool patient = notifier->has_patient && pthread_equal(notifier->patient, pthread_self());
    while (patient && notifier->count >= QUEUE_MAX && !notifier->stop)
        (void)pthread_cond_wait(&notifier->emptied, &notifier->mutex);
    if (item) {
        *notifier->last = item;
        notifier->last = &item->next;
        notifier->count++;
    } else {
        notifier->lost = true;
    }
    (void)pthread_cond_signal(&notifier->filled);
    (void)pthread_mutex_unlock(&notifier->mutex);
}

void notifier_entry(struct notifier *notifier, uint64_t parent_node, const struct name *name)
{
    struct item *item = calloc(1, sizeof *item + name->len + 1u);
    if (item) {
        item->node = parent_node;
        item->name_len = name->len;
        memcpy(item->name, name->bytes, name->len);
    }
    enqueue(notifier, item);
}

void notifier_node(struct notifier *notifier, uint64_t node, int64_t offset, int64_t len)
{
    struct item *item = calloc(1, sizeof *item);
    if (item) {
        item->node = node;
        item->offset = offset;
        item->len = len;
    }
    enqueue(notifier, item);
}
