/* links: blob host */
/* test_blob_directory.c - goal: the directory store keeps the contract of every store. Method: the suite in a scratch
 * folder, bare and under a prefix, and once more on a file system without extended attributes, where labels lie in
 * files beside the blobs. */
#include "conformance/blob_suite.h"

#include "blob/directory.h"
#include "support/private_mount.h"
#include "support/scratch.h"

#include <stdio.h>
#include <sys/stat.h>

static enum status open_folder(void *context, struct blob_store **ret_store, struct err *err)
{
    return directory_open(context, true, ret_store, err);
}

/* ramfs has no attributes. */
static int run_without_attributes(const struct scratch *scratch)
{
    char path[512];
    (void)scratch_path(scratch, "ram", path, sizeof path);
    if (mkdir(path, 0700) || !private_mount("ramfs", path, NULL)) {
        (void)printf("SKIPPED: directory, labels beside: this machine does not let us mount\n");
        return 0;
    }
    const struct blob_suite beside = {.title = "directory, labels beside",
                                      .prefix = "team/",
                                      .open = open_folder,
                                      .context = path};
    int failed = blob_suite_run(&beside);
    private_unmount(path);
    return failed;
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
    int failed = blob_suite_run(&bare) + blob_suite_run(&prefixed) + run_without_attributes(&scratch);
    scratch_done(&scratch);
    return failed;
}
