/* options.h - the door through the public options: mounting, which is no call of the library yet, takes what they wrap.
 */
#ifndef READYFS_LIB_OPTIONS_H
#define READYFS_LIB_OPTIONS_H

#include "base/err.h"

#include <readyfs/readyfs.h>

struct config;

/* Borrowed, like the next one: valid as long as `options` is. */
struct config *readyfs_options_config(struct readyfs_options *options);

/* NULL where none was set. */
const char *readyfs_options_runtime_dir(const struct readyfs_options *options);

/* The SOURCE argument, and what it needs of the keys (config_source). */
MUST_CHECK enum status readyfs_options_source(struct readyfs_options *options, const char *source, struct err *err);

#endif
