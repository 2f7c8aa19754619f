/* ops.h - the kernel's requests, each unpacked, handed to fs/ and answered. No operation decides anything. */
#ifndef READYFS_FUSE_OPS_H
#define READYFS_FUSE_OPS_H

#include "fuse/call.h"

/* The table for fuse_session_new(), whose userdata is a struct ops. */
extern const struct fuse_lowlevel_ops ops_table;

#endif
