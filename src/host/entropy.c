/* entropy.c - the kernel's randomness. */
#include "host/entropy.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdint.h>
#include <sys/random.h>

static void fill(struct entropy *entropy, void *ret_bytes, size_t len)
{
    (void)entropy;
    uint8_t *out = ret_bytes;
    while (len) {
        ssize_t got = getrandom(out, len, 0);
        if (got < 0 && errno == EINTR)
            continue;
        INVARIANT(got > 0); /* without randomness a blob's name could repeat (P2) */
        out += got;
        len -= (size_t)got;
    }
}

static const struct entropy_ops ops = {.fill = fill};
static struct entropy kernel = {.ops = &ops}; /* never written */

struct entropy *entropy_system(void)
{
    return &kernel;
}
