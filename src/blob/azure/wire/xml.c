/* xml.c - a fenced walk through a document on top of expat, and the small documents. */
#include "blob/azure/wire/xml.h"

#include "base/cleanup.h"
#include "base/limits.h"

#include <expat.h>
#include <stdio.h>
#include <string.h>

struct walk {
    XML_Parser parser;
    xml_element_fn *fn;
    void *context;
    struct buf path, text;
    size_t parents[XML_DEPTH_MAX]; /* the path's length at each level */
    size_t depth;
    bool encoded;
    bool ended;          /* by the callback */
    enum status failure; /* of the fence */
};

static void stop(struct walk *walk, enum status status)
{
    walk->failure = status;
    (void)XML_StopParser(walk->parser, XML_FALSE); /* fails only where it has been stopped already */
}

static void XMLCALL on_start(void *data, const XML_Char *name, const XML_Char **attributes)
{
    struct walk *walk = data;
    if (walk->failure != STATUS_OK || walk->ended)
        return; /* expat may deliver a little more after the stop */
    if (walk->depth == XML_DEPTH_MAX) {
        stop(walk, STATUS_CORRUPT);
        return;
    }
    walk->parents[walk->depth++] = walk->path.len;
    if (buf_printf(&walk->path, "%s%s", walk->path.len ? "/" : "", name) != STATUS_OK)
        stop(walk, STATUS_CORRUPT);
    buf_clear(&walk->text);
    walk->encoded = false;
    for (size_t i = 0; attributes[i]; i += 2)
        if (!strcmp(attributes[i], "Encoded") && !strcmp(attributes[i + 1], "true"))
            walk->encoded = true;
}

static void XMLCALL on_text(void *data, const XML_Char *text, int len)
{
    struct walk *walk = data;
    if (walk->failure == STATUS_OK && !walk->ended && buf_append(&walk->text, text, (size_t)len) != STATUS_OK)
        stop(walk, STATUS_CORRUPT);
}

static void XMLCALL on_end(void *data, const XML_Char *name)
{
    struct walk *walk = data;
    (void)name; /* expat has matched it with the start */
    if (walk->failure != STATUS_OK || walk->ended)
        return;
    struct xml_element element = {walk->path.bytes, walk->text.bytes, walk->encoded};
    if (!walk->fn(walk->context, &element)) {
        walk->ended = true;
        (void)XML_StopParser(walk->parser, XML_FALSE); /* as above */
    }
    size_t len = walk->parents[--walk->depth];
    walk->path.len = len;
    if (walk->path.capacity)
        walk->path.bytes[len] = '\0';
    buf_clear(&walk->text);
    walk->encoded = false;
}

static void XMLCALL on_doctype(void *data, const XML_Char *name, const XML_Char *system_id, const XML_Char *public_id,
                               int has_internal_subset)
{
    (void)name, (void)system_id, (void)public_id, (void)has_internal_subset; /* none is welcome */
    stop(data, STATUS_CORRUPT);
}

static enum status walk_run(struct walk *walk, const char *bytes, size_t len, struct err *err)
{
    XML_SetUserData(walk->parser, walk);
    XML_SetElementHandler(walk->parser, on_start, on_end);
    XML_SetCharacterDataHandler(walk->parser, on_text);
    XML_SetStartDoctypeDeclHandler(walk->parser, on_doctype);
    if (XML_Parse(walk->parser, bytes, (int)len, XML_TRUE) == XML_STATUS_OK || walk->ended)
        return STATUS_OK;
    enum XML_Error error = XML_GetErrorCode(walk->parser);
    if (error == XML_ERROR_NO_MEMORY)
        return err_set(err, STATUS_NO_MEMORY, "parse the service's answer");
    return err_set(err, STATUS_CORRUPT, "the service's answer is not the XML expected: %s",
                   walk->failure != STATUS_OK ? "it goes beyond a limit" : XML_ErrorString(error));
}

enum status xml_walk(const char *bytes, size_t len, xml_element_fn *fn, void *context, struct err *err)
{
    if (len > LIMIT_XML_BYTES)
        return err_set(err, STATUS_CORRUPT, "the service's answer is longer than %u bytes", LIMIT_XML_BYTES);
    struct walk walk = {.fn = fn, .context = context};
    buf_init(&walk.path, XML_PATH_BYTES);
    buf_init(&walk.text, XML_TEXT_BYTES);
    walk.parser = XML_ParserCreate("UTF-8");
    enum status status =
        walk.parser ? walk_run(&walk, bytes, len, err) : err_set(err, STATUS_NO_MEMORY, "parse the service's answer");
    XML_ParserFree(walk.parser); /* NULL is fine */
    buf_done(&walk.path);
    buf_done(&walk.text);
    return status;
}

enum status block_list_begin(struct buf *buf)
{
    return buf_append_text(buf, "<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>");
}

enum status block_list_add(struct buf *buf, const char *block_id)
{
    INVARIANT(!strpbrk(block_id, "<>&\"'")); /* base64 */
    return buf_printf(buf, "<Latest>%s</Latest>", block_id);
}

enum status block_list_end(struct buf *buf)
{
    return buf_append_text(buf, "</BlockList>");
}

static enum status tag_write(struct buf *buf, const char *key, const char *value)
{
    INVARIANT(!strpbrk(value, "<>&\"'"));
    return buf_printf(buf, "<Tag><Key>%s</Key><Value>%s</Value></Tag>", key, value);
}

enum status tags_write(struct buf *buf, const struct wire_tags *tags)
{
    enum status status = buf_append_text(buf, "<?xml version=\"1.0\" encoding=\"utf-8\"?><Tags><TagSet>");
    if (status == STATUS_OK && *tags->state)
        status = tag_write(buf, "state", tags->state);
    if (status == STATUS_OK && *tags->number)
        status = tag_write(buf, "number", tags->number);
    return status == STATUS_OK ? buf_append_text(buf, "</TagSet></Tags>") : status;
}

void tags_set(struct wire_tags *tags, const char *key, const char *value)
{
    if (!strcmp(key, "state") && strlen(value) < sizeof tags->state)
        (void)snprintf(tags->state, sizeof tags->state, "%s", value); /* fits */
    else if (!strcmp(key, "number") && strlen(value) < sizeof tags->number)
        (void)snprintf(tags->number, sizeof tags->number, "%s", value); /* fits */
}

struct tags_reading {
    struct wire_tags *tags;
    char key[16];
};

static bool on_tag(void *context, const struct xml_element *element)
{
    struct tags_reading *reading = context;
    if (!strcmp(element->path, "Tags/TagSet/Tag/Key"))
        (void)snprintf(reading->key, sizeof reading->key, "%s", element->text); /* a longer key is none of ours */
    else if (!strcmp(element->path, "Tags/TagSet/Tag/Value"))
        tags_set(reading->tags, reading->key, element->text);
    return true;
}

enum status tags_parse(const char *bytes, size_t len, struct wire_tags *ret_tags, struct err *err)
{
    memset(ret_tags, 0, sizeof *ret_tags);
    struct tags_reading reading = {.tags = ret_tags};
    return xml_walk(bytes, len, on_tag, &reading, err);
}

static bool on_error(void *context, const struct xml_element *element)
{
    struct wire_error *error = context;
    if (!strcmp(element->path, "Error/Code"))
        (void)snprintf(error->code, sizeof error->code, "%s", element->text); /* a long one is cut */
    else if (!strcmp(element->path, "Error/Message"))
        (void)snprintf(error->message, sizeof error->message, "%.*s", (int)strcspn(element->text, "\r\n"),
                       element->text); /* likewise */
    return true;
}

void error_parse(const char *bytes, size_t len, struct wire_error *ret_error)
{
    memset(ret_error, 0, sizeof *ret_error);
    if (len && xml_walk(bytes, len, on_error, ret_error, NULL) != STATUS_OK)
        memset(ret_error, 0, sizeof *ret_error);
}
