/* cleanup.h - scope owns: attributes that release a variable where its scope ends. */
#ifndef READYFS_BASE_CLEANUP_H
#define READYFS_BASE_CLEANUP_H

#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(function) __attribute__((cleanup(function)))

static inline void cleanup_free(void *pointer)
{
    free(*(void **)pointer);
}

static inline void cleanup_fd(const int *fd)
{
    if (*fd >= 0)
        (void)close(*fd); /* nothing was written through it, or the writer has synced it before */
}

/* `AUTO_FREE char *text = ...;` and `AUTO_FD int fd = -1;` */
#define AUTO_FREE CLEANUP(cleanup_free)
#define AUTO_FD   CLEANUP(cleanup_fd)

/* Hands a pointer out of its scope: `return TAKE(text);` */
#define TAKE(pointer)                                                                                                  \
    __extension__({                                                                                                    \
        __typeof__(pointer) taken_ = (pointer);                                                                        \
        (pointer) = NULL;                                                                                              \
        taken_;                                                                                                        \
    })

/* Assertions of our own mistakes stay on in release. Never for input, disk or network. */
void invariant_broken(const char *what, const char *file, int line) __attribute__((noreturn));
#define INVARIANT(fact)                                                                                                \
    do {                                                                                                               \
        if (!(fact))                                                                                                   \
            invariant_broken(#fact, __FILE__, __LINE__);                                                               \
    } while (0)

#endif
