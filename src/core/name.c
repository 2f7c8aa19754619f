/* name.c - one path component, and what its extension says of its content. */
#include "core/name.h"

#include <string.h>
#include <strings.h>

enum status name_set(struct name *ret_name, const void *bytes, size_t len)
{
    const char *in = bytes;
    if (len > LIMIT_NAME_BYTES)
        return STATUS_NAME_TOO_LONG;
    if (!len || memchr(in, '/', len) || memchr(in, '\0', len))
        return STATUS_INVALID;
    if (in[0] == '.' && (len == 1 || (len == 2 && in[1] == '.')))
        return STATUS_INVALID;
    *ret_name = (struct name){.len = (uint8_t)len};
    memcpy(ret_name->bytes, in, len);
    return STATUS_OK;
}

bool name_equal(const struct name *a, const struct name *b)
{
    return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

/* Sorted by extension, in lower case (a test holds it to that): the search halves. Types are those registered with IANA
 * where there is one. */
static const struct {
    char extension[12];
    const char *type;
} types[] = {
    {"7z", "application/x-7z-compressed"},
    {"aac", "audio/aac"},
    {"avi", "video/x-msvideo"},
    {"avif", "image/avif"},
    {"bmp", "image/bmp"},
    {"bz2", "application/x-bzip2"},
    {"c", "text/x-c"},
    {"css", "text/css"},
    {"csv", "text/csv"},
    {"doc", "application/msword"},
    {"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
    {"dwg", "image/vnd.dwg"},
    {"dxf", "image/vnd.dxf"},
    {"eml", "message/rfc822"},
    {"eps", "application/postscript"},
    {"epub", "application/epub+zip"},
    {"flac", "audio/flac"},
    {"gif", "image/gif"},
    {"gz", "application/gzip"},
    {"h", "text/x-c"},
    {"heic", "image/heic"},
    {"heif", "image/heif"},
    {"htm", "text/html"},
    {"html", "text/html"},
    {"ico", "image/vnd.microsoft.icon"},
    {"ics", "text/calendar"},
    {"ini", "text/plain"},
    {"jar", "application/java-archive"},
    {"java", "text/x-java"},
    {"jpeg", "image/jpeg"},
    {"jpg", "image/jpeg"},
    {"js", "text/javascript"},
    {"json", "application/json"},
    {"jsonl", "application/jsonl"},
    {"log", "text/plain"},
    {"m4a", "audio/mp4"},
    {"m4v", "video/mp4"},
    {"md", "text/markdown"},
    {"mid", "audio/midi"},
    {"mjs", "text/javascript"},
    {"mkv", "video/matroska"},
    {"mov", "video/quicktime"},
    {"mp3", "audio/mpeg"},
    {"mp4", "video/mp4"},
    {"mpeg", "video/mpeg"},
    {"mpg", "video/mpeg"},
    {"msg", "application/vnd.ms-outlook"},
    {"odp", "application/vnd.oasis.opendocument.presentation"},
    {"ods", "application/vnd.oasis.opendocument.spreadsheet"},
    {"odt", "application/vnd.oasis.opendocument.text"},
    {"oga", "audio/ogg"},
    {"ogg", "audio/ogg"},
    {"ogv", "video/ogg"},
    {"opus", "audio/ogg"},
    {"otf", "font/otf"},
    {"parquet", "application/vnd.apache.parquet"},
    {"pdf", "application/pdf"},
    {"png", "image/png"},
    {"ppt", "application/vnd.ms-powerpoint"},
    {"pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
    {"ps", "application/postscript"},
    {"py", "text/x-python"},
    {"rar", "application/vnd.rar"},
    {"rtf", "application/rtf"},
    {"sh", "application/x-sh"},
    {"sql", "application/sql"},
    {"sqlite", "application/vnd.sqlite3"},
    {"svg", "image/svg+xml"},
    {"tar", "application/x-tar"},
    {"tgz", "application/gzip"},
    {"tif", "image/tiff"},
    {"tiff", "image/tiff"},
    {"toml", "application/toml"},
    {"tsv", "text/tab-separated-values"},
    {"ttf", "font/ttf"},
    {"txt", "text/plain"},
    {"vcf", "text/vcard"},
    {"wasm", "application/wasm"},
    {"wav", "audio/vnd.wave"},
    {"weba", "audio/webm"},
    {"webm", "video/webm"},
    {"webp", "image/webp"},
    {"woff", "font/woff"},
    {"woff2", "font/woff2"},
    {"xhtml", "application/xhtml+xml"},
    {"xls", "application/vnd.ms-excel"},
    {"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
    {"xml", "application/xml"},
    {"xz", "application/x-xz"},
    {"yaml", "application/yaml"},
    {"yml", "application/yaml"},
    {"zip", "application/zip"},
    {"zst", "application/zstd"},
};

/* What stands behind the last dot; "" for a name without one, or with none but the first byte (".profile"). */
static const char *extension(const struct name *name)
{
    const char *dot = strrchr(name->bytes, '.');
    return dot && dot != name->bytes ? dot + 1 : "";
}

const char *name_content_type(const struct name *name)
{
    size_t low = 0, high = sizeof types / sizeof *types;
    const char *wanted = extension(name);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcasecmp(wanted, types[middle].extension);
        if (order == 0)
            return types[middle].type;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return "application/octet-stream";
}
