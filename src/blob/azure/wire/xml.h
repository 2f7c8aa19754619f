/* xml.h - the little XML that the Blob service speaks: walking a document, writing block lists and tags, reading error
 * bodies and tags. listing.h reads pages of blobs.
 *
 * Reading is expat's, fenced: at most LIMIT_XML_BYTES, elements at most XML_DEPTH_MAX deep, XML_TEXT_BYTES of text in
 * one element, and no document type at all, so that no entity can be declared, let alone expanded. A byte order mark is
 * fine. Whatever breaks the fence or is not well-formed is CORRUPT. Pure, any thread.
 */
#ifndef READYFS_BLOB_AZURE_WIRE_XML_H
#define READYFS_BLOB_AZURE_WIRE_XML_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

#define XML_DEPTH_MAX  16
#define XML_PATH_BYTES 512
#define XML_TEXT_BYTES (32u * 1024)

struct xml_element {
    const char *path; /* "EnumerationResults/Blobs/Blob/Name"; borrowed, like text, for the callback */
    const char *text; /* the element's own text, decoded; for one with children what came after the last child */
    bool encoded;     /* it carried Encoded="true" */
};

/* Called at the end of each element, children first. Returns false to end the walk. */
typedef bool xml_element_fn(void *context, const struct xml_element *element);

/* Walks a document. OK also where the callback ended it. NO_MEMORY. */
MUST_CHECK enum status xml_walk(const char *bytes, size_t len, xml_element_fn *fn, void *context, struct err *err);

/* The body of Put Block List: begin, a block for each id (base64, in order), end. */
MUST_CHECK enum status block_list_begin(struct buf *buf);
MUST_CHECK enum status block_list_add(struct buf *buf, const char *block_id);
MUST_CHECK enum status block_list_end(struct buf *buf);

/* Our two tags. */
struct wire_tags {
    char state[16];  /* "pending", "committed"; "" where there is none */
    char number[24]; /* a decimal number; "" likewise */
};

/* The body of Set Blob Tags. Both values must be of the characters a tag may have: letters, digits, " +-.:=_/". */
MUST_CHECK enum status tags_write(struct buf *buf, const struct wire_tags *tags);
MUST_CHECK enum status tags_parse(const char *bytes, size_t len, struct wire_tags *ret_tags, struct err *err);

/* Takes one tag by name; others and values that do not fit are ignored. */
void tags_set(struct wire_tags *tags, const char *key, const char *value);

/* An error body. Absent or broken ones give empty texts: the status line has to do then. */
struct wire_error {
    char code[64];
    char message[256]; /* its first line */
};
void error_parse(const char *bytes, size_t len, struct wire_error *ret_error);

#endif
