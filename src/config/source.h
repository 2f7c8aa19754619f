/* source.h - the SOURCE argument: where the blobs lie, without a secret in it.
 *
 *     dir:PATH                                            a local folder
 *     https://ACCOUNT.HOST/CONTAINER[/PREFIX]             a storage account
 *     http://HOST[:PORT]/ACCOUNT/CONTAINER[/PREFIX]       path style: an emulator (https too, where HOST is an address
 *                                                         or has no dot)
 *     az://CONTAINER[/PREFIX]                             account and endpoint from elsewhere
 *
 * Pure but for the working directory, against which a relative PATH is made absolute (before the daemon forks).
 */
#ifndef READYFS_CONFIG_SOURCE_H
#define READYFS_CONFIG_SOURCE_H

#include "base/err.h"

#include <stdbool.h>

enum source_kind {
    SOURCE_NONE,
    SOURCE_DIRECTORY,
    SOURCE_AZURE,
};

struct source {
    enum source_kind kind;
    char text[1024];    /* canonical spelling: the identity that the catalogue's default path is derived from */
    char path[1024];    /* SOURCE_DIRECTORY: absolute, no "." or ".." or double '/' */
    char endpoint[512]; /* SOURCE_AZURE: "https://ACCOUNT.HOST" or "http://HOST:PORT/ACCOUNT", no '/' at the end;
                           "" for az:// */
    char account[64];   /* "" for az:// */
    char container[64];
    char prefix[128]; /* "" or ending in '/' */
};

/* USAGE with one line that says what is wrong and shows a right form. A user name, password, query or fragment in a URL
 * is refused, since argument lists are for everybody to read; the message does not repeat it. */
MUST_CHECK enum status source_parse(const char *text, struct source *ret_source, struct err *err);

/* Whether `text` looks like a SOURCE (has a scheme) rather than a directory. */
bool source_looks_like(const char *text);

#endif
