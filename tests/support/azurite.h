/* azurite.h - the emulator of the Blob service, one instance for a test program, stopped with it however it ends. */
#ifndef READYFS_TESTS_AZURITE_H
#define READYFS_TESTS_AZURITE_H

#include "scratch.h"

#include <stdbool.h>
#include <sys/types.h>

#define AZURITE_ACCOUNT "devstoreaccount1"
#define AZURITE_KEY     "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

struct azurite {
    struct scratch scratch; /* its data */
    pid_t pid;
    int output;
    unsigned port;
    char endpoint[64]; /* "http://127.0.0.1:PORT/devstoreaccount1" */
};

/* Starts one and waits until it answers. False, with a line on stderr, where Azurite is not installed: skip the test.
 * Ends the test program where it is installed and does not start. */
bool azurite_start(struct azurite *azurite);

/* Stops it and removes its data. */
void azurite_stop(struct azurite *azurite);

/* A stop and a new start with the same data, on another port. */
void azurite_restart(struct azurite *azurite);

#endif
