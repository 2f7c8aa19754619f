/* fs_bench.h - one mount over the memory store, and two programs that use it: what most tests of fs/ begin with. */
#ifndef READYFS_TESTS_FS_BENCH_H
#define READYFS_TESTS_FS_BENCH_H

#include "scenario/fs_kernel.h"

struct bench {
    struct lab lab;
    struct kernel kernel;
    struct program self, other;
};

static int begin(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);
    lab_open(&bench->lab, "memory");
    kernel_mount(&bench->kernel, &bench->lab);
    bench->self = program_self();
    bench->other = program_other();
    *state = bench;
    return 0;
}

static int end(void **state)
{
    struct bench *bench = *state;
    kernel_unmount(&bench->kernel);
    program_end(&bench->other);
    lab_done(&bench->lab);
    free(bench);
    return 0;
}

#endif
