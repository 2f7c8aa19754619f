/* audit_internal.h - an audit under way. Private to document/. */
#ifndef READYFS_DOCUMENT_AUDIT_INTERNAL_H
#define READYFS_DOCUMENT_AUDIT_INTERNAL_H

#include "document/audit.h"
#include "document/session_internal.h"

#include <uthash.h>

/* A blob as the listing told it; small, since there may be millions. */
struct audit_blob {
    const char *name, *etag, *token; /* in `text` */
    uint64_t size_bytes;
    int64_t document, version;
    int64_t modified_utc_ns;
    enum blob_tag tag;
    bool uncommitted, ours /* its metadata name this catalogue */, named;
    UT_hash_handle hh;
    char text[];
};

struct audit {
    struct session *session;
    const struct audit_options *options;
    struct audit_report report;
    struct audit_blob *blobs; /* by name */
    bool out_of_memory;
    bool marked; /* a new mark was written since this audit began (volume.h) */
    uint64_t versions_total;
};

/* Counts a finding and hands it on with a text. */
void audit_tell(struct audit *audit, struct finding *finding, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The tree of names: each leads to a document, link counts and versions are right (audit_names.c). */
MUST_CHECK enum status audit_names(struct audit *audit, struct err *err);

#endif
