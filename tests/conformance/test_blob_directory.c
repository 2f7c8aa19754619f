/* links: blob host */
/* test_blob_directory.c - goal: the directory store keeps the contract of every store. Method: the suite in a scratch
 * folder, whose file system has extended attributes or not; labels in files beside the blobs have their own test. */
#include "conformance/blob_suite.h"

#include "blob/directory.h"
#include "support/scratch.h"

static enum status open_folder(void *context, struct blob_store **ret_store, struct err *err)
{
    return directory_open(context, true, ret_store, err);
}

int main(void)
{
    char path[512];
    struct scratch scratch;
    scratch_init(&scratch);
    (void)scratch_path(&scratch, "blobs", path, sizeof path);
    const struct blob_suite bare = {.title = "directory", .prefix = "", .open = open_folder, .context = path};
    const struct blob_suite prefixed = {.title = "directory, prefix",
                                        .prefix = "team/a/",
                                        .open = open_folder,
                                        .context = path};
    int failed = blob_suite_run(&bare) + blob_suite_run(&prefixed);
    scratch_done(&scratch);
    return failed;
}
