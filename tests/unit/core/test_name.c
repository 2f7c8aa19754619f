/* test_name.c - goal: a name is any 1 to 255 bytes that a directory may hold, and its extension tells a Content-Type
 * (S13). Method: every single byte, the lengths around the limit, names that look special, and the table of types by
 * itself. */
#include "core/name.h"

#include "unit.h"

#include <string.h>

static void every_byte_but_two(void **state)
{
    (void)state;
    for (int i = 0; i < 256; i++) {
        struct name name;
        char bytes[3] = {(char)i, 'x', (char)i};
        enum status expected = i == 0 || i == '/' ? STATUS_INVALID : STATUS_OK;
        assert_int_equal(name_set(&name, bytes, 3), expected);
        if (expected == STATUS_OK) {
            assert_int_equal(name.len, 3);
            assert_memory_equal(name.bytes, bytes, 3);
            assert_int_equal(name.bytes[3], 0);
        }
    }
}

static void lengths(void **state)
{
    (void)state;
    struct name name;
    char bytes[257];
    memset(bytes, 'n', sizeof bytes);
    assert_int_equal(name_set(&name, bytes, 0), STATUS_INVALID);
    for (size_t len = 1; len <= 255; len++) {
        assert_int_equal(name_set(&name, bytes, len), STATUS_OK);
        assert_int_equal(strlen(name.bytes), len);
    }
    assert_int_equal(name_set(&name, bytes, 256), STATUS_NAME_TOO_LONG);
    assert_int_equal(name_set(&name, bytes, 257), STATUS_NAME_TOO_LONG);
}

static void dots(void **state)
{
    (void)state;
    struct name name;
    assert_int_equal(name_set(&name, ".", 1), STATUS_INVALID);
    assert_int_equal(name_set(&name, "..", 2), STATUS_INVALID);
    assert_int_equal(name_set(&name, "...", 3), STATUS_OK);
    assert_int_equal(name_set(&name, ".a", 2), STATUS_OK);
    assert_int_equal(name_set(&name, "a.", 2), STATUS_OK);
}

static struct name of(const char *text)
{
    struct name name;
    assert_int_equal(name_set(&name, text, strlen(text)), STATUS_OK);
    return name;
}

static void equality_is_of_bytes(void **state)
{
    (void)state;
    struct name a = of("a"), b = of("a"), c = of("A"), d = of("ab");
    assert_true(name_equal(&a, &b));
    assert_false(name_equal(&a, &c));
    assert_false(name_equal(&a, &d));
    struct name composed = of("\xc3\xbc"), decomposed = of("u\xcc\x88");
    assert_false(name_equal(&composed, &decomposed));
}

static void assert_type(const char *name, const char *type)
{
    struct name of_name = of(name);
    assert_string_equal(name_content_type(&of_name), type);
}

static void types_by_extension(void **state)
{
    (void)state;
    assert_type("a.pdf", "application/pdf");
    assert_type("A.PDF", "application/pdf");
    assert_type("b.tar.gz", "application/gzip");
    assert_type("photo.JPeG", "image/jpeg");
    assert_type("x.7z", "application/x-7z-compressed");
    assert_type("x.zst", "application/zstd");
    static const char *const unknown[] = {"pdf",  ".pdf",   "a.",     "a.unheardof", "a.pdf ",
                                          "a.pd", "a.pdfx", "..pdf.", "\xff.\xff"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        assert_type(unknown[i], "application/octet-stream");
}

/* Each is found only if the table is sorted, as the search halves it. */
static void the_table_is_whole(void **state)
{
    (void)state;
    static const char *const known[] = {"7z",   "aac",     "avi",   "avif",   "bmp", "bz2",  "c",     "css",  "csv",
                                        "doc",  "docx",    "dwg",   "dxf",    "eml", "eps",  "epub",  "flac", "gif",
                                        "gz",   "h",       "heic",  "heif",   "htm", "html", "ico",   "ics",  "ini",
                                        "jar",  "java",    "jpeg",  "jpg",    "js",  "json", "jsonl", "log",  "m4a",
                                        "m4v",  "md",      "mid",   "mjs",    "mkv", "mov",  "mp3",   "mp4",  "mpeg",
                                        "mpg",  "msg",     "odp",   "ods",    "odt", "oga",  "ogg",   "ogv",  "opus",
                                        "otf",  "parquet", "pdf",   "png",    "ppt", "pptx", "ps",    "py",   "rar",
                                        "rtf",  "sh",      "sql",   "sqlite", "svg", "tar",  "tgz",   "tif",  "tiff",
                                        "toml", "tsv",     "ttf",   "txt",    "vcf", "wasm", "wav",   "weba", "webm",
                                        "webp", "woff",    "woff2", "xhtml",  "xls", "xlsx", "xml",   "xz",   "yaml",
                                        "yml",  "zip",     "zst"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct name name = of("n.");
        memcpy(name.bytes + 2, known[i], strlen(known[i]) + 1);
        name.len = (uint8_t)strlen(name.bytes);
        const char *type = name_content_type(&name);
        assert_string_not_equal(type, "application/octet-stream");
        assert_non_null(strchr(type, '/'));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_but_two),
        cmocka_unit_test(lengths),
        cmocka_unit_test(dots),
        cmocka_unit_test(equality_is_of_bytes),
        cmocka_unit_test(types_by_extension),
        cmocka_unit_test(the_table_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
