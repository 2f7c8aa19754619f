/* entropy.h - the port through which readyfs gets randomness. Nothing else asks for it. */
#ifndef READYFS_HOST_ENTROPY_H
#define READYFS_HOST_ENTROPY_H

#include <stddef.h>

struct entropy;

struct entropy_ops {
    /* Fills `ret_bytes` with `len` random bytes. Cannot fail: the system's source aborts the program if the kernel has
     * none, since a guessable or repeated blob name would break P2. */
    void (*fill)(struct entropy *entropy, void *ret_bytes, size_t len);
};

struct entropy {
    const struct entropy_ops *ops;
};

static inline void entropy_fill(struct entropy *entropy, void *ret_bytes, size_t len)
{
    entropy->ops->fill(entropy, ret_bytes, len);
}

/* The kernel's randomness (getrandom(2)); static, never freed, any thread. */
struct entropy *entropy_system(void);

#endif
