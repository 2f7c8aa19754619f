/* procfs.h - what /proc says of the program that made a request: its process, whether it is being killed.
 *
 * The kernel names the thread. A thread that is gone, or whose /proc is not shown to us, reads as "nothing known": no
 * process, not killed. Any thread.
 */
#ifndef READYFS_FS_PROCFS_H
#define READYFS_FS_PROCFS_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Fields 9 and 52 of /proc/TID/stat (proc(5)). */
struct procfs_stat {
    uint32_t flags;
    uint32_t exit_code;
};

/* Pure: reads them from the text; the command's name may hold anything, parentheses too. False when it is no stat. */
MUST_CHECK bool procfs_parse_stat(const char *text, struct procfs_stat *ret_stat);

/* Pure: the number behind "key:" in the text of /proc/TID/status, in `base` 10 or 16. False when there is none. */
MUST_CHECK bool procfs_parse_status(const char *text, const char *key, int base, uint64_t *ret_value);

/* Pure, the rule of S29: a task that is exiting because of a signal. The exit code reads 0 where we may not look
 * (`readable` false: another user's task, or one that changed its user); then PF_SIGNALED must tell. It alone misleads,
 * and a plain close has no PF_EXITING. */
bool procfs_is_killed(const struct procfs_stat *stat, bool readable);

bool procfs_killed(pid_t tid);

/* The process (thread group) of a thread; 0 where it is not known. */
pid_t procfs_tgid(pid_t tid);

/* Whether a fatal signal waits for the thread: the kernel shows it as SIGKILL's bit, pending. Others (a timer) do not
 * end anybody's wait. False for a thread that is exiting already, though the bit may still be seen: it closes its
 * files, and whether that publishes is another question (S29, procfs_killed). */
bool procfs_fatal_pending(pid_t tid);

#endif
