/* lifecycle.c - the second net as the service's own rule. Text of which every part is checked or fixed. */
#include "lib/volume.h"

#include "base/buf.h"

static enum status compose(const struct source *source, unsigned days, struct buf *text)
{
    enum status status = buf_append_text(text, "{\n"
                                               "  \"rules\": [\n"
                                               "    {\n"
                                               "      \"enabled\": true,\n"
                                               "      \"name\": \"readyfs-abandoned-uploads\",\n"
                                               "      \"type\": \"Lifecycle\",\n"
                                               "      \"definition\": {\n"
                                               "        \"actions\": {\n"
                                               "          \"baseBlob\": {\n");
    if (status == STATUS_OK)
        status = buf_printf(text, "            \"delete\": { \"daysAfterCreationGreaterThan\": %u }\n", days);
    if (status == STATUS_OK)
        status = buf_append_text(text, "          }\n"
                                       "        },\n"
                                       "        \"filters\": {\n"
                                       "          \"blobTypes\": [ \"blockBlob\" ],\n");
    if (status == STATUS_OK && source->container[0])
        status = buf_printf(text, "          \"prefixMatch\": [ \"%s/%s\" ],\n", source->container, source->prefix);
    if (status == STATUS_OK)
        status = buf_append_text(
            text, "          \"blobIndexMatch\": [ { \"name\": \"state\", \"op\": \"==\", \"value\": \"pending\" } ]\n"
                  "        }\n"
                  "      }\n"
                  "    }\n"
                  "  ]\n"
                  "}\n");
    return status;
}

int readyfs_lifecycle_policy(const char *source_text, unsigned days, char **ret_json, struct readyfs_error *error)
{
    struct err err = {0};
    struct source source = {0};
    AUTO_BUF struct buf text = {0};
    buf_init(&text, 8192);
    if (days < 1 || days > 99999)
        return readyfs_refuse(error, STATUS_INVALID, "days: a number from 1 to 99999");
    enum status status = source_text ? source_parse(source_text, &source, &err) : STATUS_OK;
    if (status == STATUS_OK && source_text && source.kind != SOURCE_AZURE)
        status = err_set(&err, STATUS_INVALID, "a folder has no lifecycle rules");
    if (status == STATUS_OK)
        status = compose(&source, days, &text);
    char *json = status == STATUS_OK ? buf_take(&text) : NULL;
    if (status == STATUS_OK && !json)
        status = err_set(&err, STATUS_NO_MEMORY, "out of memory");
    if (status == STATUS_OK)
        *ret_json = json;
    return readyfs_result(status, &err, error);
}
