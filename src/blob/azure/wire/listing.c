/* listing.c - reading a page: an item is gathered child by child and told when its element ends. */
#include "blob/azure/wire/listing.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "blob/azure/wire/date.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define BLOB "EnumerationResults/Blobs/Blob"

struct page {
    listing_fn *fn;
    void *context;
    struct buf *marker;
    struct buf name;
    struct wire_item item;
    char tag_key[16];
    bool complete; /* the root element has ended, or the callback had enough */
    enum status failure;
};

static void page_clear(struct page *page)
{
    buf_clear(&page->name);
    memset(&page->item, 0, sizeof page->item);
    page->tag_key[0] = '\0';
}

static void set_name(struct page *page, const struct xml_element *element)
{
    enum status status = element->encoded ? percent_decode(&page->name, element->text, strlen(element->text))
                                          : buf_append_text(&page->name, element->text);
    if (status != STATUS_OK)
        page->failure = status == STATUS_NO_MEMORY ? status : STATUS_CORRUPT;
}

static void set_etag(struct wire_item *item, const char *text)
{
    bool quoted = *text == '"';
    char etag[LIMIT_ETAG_BYTES];
    int need = snprintf(etag, sizeof etag, quoted ? "%s" : "\"%s\"", text);
    if (need > 0 && (size_t)need < sizeof etag && etag_valid(etag))
        memcpy(item->etag, etag, sizeof etag);
}

static void set_property(struct page *page, const char *name, const char *text)
{
    struct wire_item *item = &page->item;
    if (!strcmp(name, "Content-Length") && !parse_uint64(text, 0, INT64_MAX, &item->size_bytes))
        page->failure = STATUS_CORRUPT;
    else if (!strcasecmp(name, "Etag"))
        set_etag(item, text);
    else if (!strcmp(name, "Content-MD5"))
        item->has_md5 = *text != '\0';
    else if (!strcmp(name, "Last-Modified"))
        item->has_modified = date_parse_http(text, &item->modified_utc_s);
}

/* Whether `path` lies under `parent`; ret_rest is what follows the slash. */
static bool below(const char *path, const char *parent, const char **ret_rest)
{
    size_t len = strlen(parent);
    if (strncmp(path, parent, len) || path[len] != '/')
        return false;
    *ret_rest = path + len + 1;
    return true;
}

static void set_child(struct page *page, const char *child, const struct xml_element *element)
{
    const char *rest;
    if (!strcmp(child, "Name"))
        set_name(page, element);
    else if (below(child, "Properties", &rest))
        set_property(page, rest, element->text);
    else if (below(child, "Metadata", &rest))
        meta_set(&page->item.meta, rest, element->text);
    else if (!strcmp(child, "Tags/TagSet/Tag/Key"))
        (void)snprintf(page->tag_key, sizeof page->tag_key, "%s", element->text); /* a longer key is none of ours */
    else if (!strcmp(child, "Tags/TagSet/Tag/Value"))
        tags_set(&page->item.tags, page->tag_key, element->text);
}

static bool item_end(struct page *page)
{
    if (!page->name.len) {
        page->failure = STATUS_CORRUPT;
        return false;
    }
    page->item.name = page->name.bytes;
    bool more = page->fn(page->context, &page->item);
    page->complete = !more;
    page_clear(page);
    return more;
}

static bool on_element(void *context, const struct xml_element *element)
{
    struct page *page = context;
    const char *child;
    if (below(element->path, BLOB, &child))
        set_child(page, child, element);
    else if (!strcmp(element->path, BLOB))
        return item_end(page);
    else if (!strcmp(element->path, "EnumerationResults/NextMarker"))
        page->failure = buf_append_text(page->marker, element->text);
    else if (!strcmp(element->path, "EnumerationResults"))
        page->complete = true;
    return page->failure == STATUS_OK;
}

enum status listing_parse(const char *bytes, size_t len, listing_fn *fn, void *context, struct buf *ret_marker,
                          struct err *err)
{
    struct page page = {.fn = fn, .context = context, .marker = ret_marker};
    buf_init(&page.name, XML_TEXT_BYTES);
    enum status status = xml_walk(bytes, len, on_element, &page, err);
    buf_done(&page.name);
    if (status == STATUS_OK && page.failure != STATUS_OK)
        return err_set(err, page.failure, "an entry of the service's list of blobs is broken");
    if (status == STATUS_OK && !page.complete)
        return err_set(err, STATUS_CORRUPT, "the service's answer is no list of blobs");
    return status;
}
