/* world.h - the world is four pointers (and hands to work with): all that the protocol may see or change outside
 * memory. Replace them and you have a simulation. Created by app/open.c, borrowed by everyone, freed last. */
#ifndef READYFS_DOCUMENT_WORLD_H
#define READYFS_DOCUMENT_WORLD_H

struct catalogue;
struct blob_store;
struct clock;
struct entropy;
struct workers;

struct world {
    struct catalogue *catalogue;
    struct blob_store *blobs;
    struct clock *clock;
    struct entropy *entropy;
    struct workers *workers;
};

#endif
