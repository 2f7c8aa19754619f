/* links: blob */
/* test_blob_memory.c - goal: the memory store keeps the contract of every store. Method: the suite, bare and under the
 * counting decorator, which must not change a thing. */
#include "conformance/blob_suite.h"

#include "blob/memory.h"
#include "blob/traced.h"

static enum status open_bare(void *context, struct blob_store **ret_store, struct err *err)
{
    (void)context;
    return memory_open(ret_store, err);
}

static enum status open_traced(void *context, struct blob_store **ret_store, struct err *err)
{
    struct blob_store *below = NULL;
    enum status status = open_bare(context, &below, err);
    if (status != STATUS_OK)
        return status;
    status = traced_open(below, ret_store, err);
    if (status != STATUS_OK)
        (void)blob_close(below);
    return status;
}

int main(void)
{
    const struct blob_suite bare = {.title = "memory", .prefix = "team/", .open = open_bare};
    const struct blob_suite traced = {.title = "memory, traced", .prefix = "", .open = open_traced};
    return blob_suite_run(&bare) + blob_suite_run(&traced);
}
