/* interrupt.c - who is being killed, as /proc tells. */
#include "fuse/interrupt.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATUS_BYTES 8192
#define KILL_BIT     (1ULL << (SIGKILL - 1))

void interrupts_init(struct interrupts *interrupts)
{
    interrupts->first = NULL;
    (void)pthread_mutex_init(&interrupts->mutex, NULL);
}

void interrupts_done(struct interrupts *interrupts)
{
    (void)pthread_mutex_destroy(&interrupts->mutex);
}

void wait_init(struct wait *wait, pid_t tid)
{
    *wait = (struct wait){.tid = tid};
}

static bool mask_has_kill(const char *proc_status, const char *field)
{
    const char *line = strstr(proc_status, field);
    return line && (strtoull(line + strlen(field), NULL, 16) & KILL_BIT);
}

bool interrupt_is_fatal(const char *proc_status)
{
    return mask_has_kill(proc_status, "\nSigPnd:") || mask_has_kill(proc_status, "\nShdPnd:");
}

/* A program that waits for us has its thread; what cannot be read is another's to see. */
static bool is_dying(pid_t tid)
{
    char path[64], text[STATUS_BYTES];
    if (tid <= 0)
        return false;
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)tid);
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (len < 0)
        return false; /* hidden from us: it waits until it is answered or the deadline passes */
    text[len] = '\0';
    return interrupt_is_fatal(text);
}

void interrupts_add(struct interrupts *interrupts, struct wait *wait)
{
    if (is_dying(wait->tid)) {
        atomic_store(&wait->cancelled, true);
        return;
    }
    (void)pthread_mutex_lock(&interrupts->mutex);
    if (!wait->listed && wait->tid > 0) {
        wait->listed = true;
        wait->prev = NULL;
        wait->next = interrupts->first;
        if (wait->next)
            wait->next->prev = wait;
        interrupts->first = wait;
    }
    (void)pthread_mutex_unlock(&interrupts->mutex);
}

void interrupts_remove(struct interrupts *interrupts, struct wait *wait)
{
    (void)pthread_mutex_lock(&interrupts->mutex);
    if (wait->listed) {
        wait->listed = false;
        *(wait->prev ? &wait->prev->next : &interrupts->first) = wait->next;
        if (wait->next)
            wait->next->prev = wait->prev;
    }
    (void)pthread_mutex_unlock(&interrupts->mutex);
}

void interrupts_look(struct interrupts *interrupts)
{
    (void)pthread_mutex_lock(&interrupts->mutex);
    for (struct wait *wait = interrupts->first; wait; wait = wait->next)
        if (is_dying(wait->tid))
            atomic_store(&wait->cancelled, true);
    (void)pthread_mutex_unlock(&interrupts->mutex);
}
