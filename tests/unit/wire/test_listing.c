/* test_listing.c - goal: a page of blobs is read whole or refused. Method: pages as the service and the emulator write
 * them, with what is odd in either; then broken entries and a cut at every byte. */
#include "unit.h"

#include "blob/azure/wire/listing.h"

#include <stdio.h>
#include <string.h>

#define PAGE(blobs, marker)                                                                                            \
    "\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"utf-8\"?><EnumerationResults ServiceEndpoint=\"http://h/\" "         \
    "ContainerName=\"con\"><Prefix>d/</Prefix><MaxResults>2</MaxResults><Blobs>" blobs "</Blobs>" marker               \
    "</EnumerationResults>"

struct seen {
    unsigned count, last;
    char names[256];
    struct wire_item item; /* the last one; its name is gone */
};

static bool see(void *context, const struct wire_item *item)
{
    struct seen *seen = context;
    size_t used = strlen(seen->names);
    (void)snprintf(seen->names + used, sizeof seen->names - used, "%s;", item->name);
    seen->item = *item;
    return ++seen->count != seen->last;
}

static enum status parse(const char *text, size_t len, struct seen *seen, struct buf *marker)
{
    unsigned last = seen->last;
    *seen = (struct seen){.last = last};
    buf_clear(marker);
    return listing_parse(text, len, see, seen, marker, NULL);
}

static const char two_blobs[] =
    PAGE("<Blob><Name>d/a&amp;b&#xD;</Name><Properties><Creation-Time>Mon, 30 Nov 2026 14:11:22 GMT</Creation-Time>"
         "<Last-Modified>Mon, 30 Nov 2026 14:11:22 GMT</Last-Modified><Etag>0x1CF</Etag><Content-Length>5"
         "</Content-Length><Content-MD5>XUFAKrxLKna5cZ2REBfFkg==</Content-MD5></Properties><Metadata><catalogue>c1"
         "</catalogue><Token>ab12</Token><document>7</document><version>9</version><x>y</x></Metadata>"
         "<Tags><TagSet><Tag><Key>state</Key><Value>pending</Value></Tag></TagSet></Tags></Blob>"
         "<Blob><Name Encoded=\"true\">d/%01%EF%BF%BF</Name><Properties><Etag>\"0x2\"</Etag></Properties></Blob>",
         "<NextMarker>a b/&lt;c&gt;</NextMarker>");

static void two_blobs_and_a_marker(void **state)
{
    (void)state;
    struct seen seen = {.last = 1};
    struct buf marker;
    buf_init(&marker, 1024);
    assert_int_equal(parse(two_blobs, sizeof two_blobs - 1, &seen, &marker), STATUS_OK);
    assert_int_equal(seen.count, 1); /* ended after the first */
    assert_string_equal(seen.names, "d/a&b\r;");
    assert_int_equal(seen.item.size_bytes, 5);
    assert_string_equal(seen.item.etag, "\"0x1CF\"");
    assert_true(seen.item.has_md5 && seen.item.has_modified && seen.item.modified_utc_s == 1796047882);
    assert_string_equal(seen.item.meta.catalogue, "c1");
    assert_string_equal(seen.item.meta.token, "ab12");
    assert_int_equal(seen.item.meta.document, 7);
    assert_int_equal(seen.item.meta.version, 9);
    assert_string_equal(seen.item.tags.state, "pending");
    seen.last = 0;
    assert_int_equal(parse(two_blobs, sizeof two_blobs - 1, &seen, &marker), STATUS_OK);
    assert_string_equal(seen.names, "d/a&b\r;d/\x01\xef\xbf\xbf;");
    assert_string_equal(seen.item.etag, "\"0x2\"");
    assert_string_equal(seen.item.meta.token, ""); /* nothing is left of the one before */
    assert_string_equal(seen.item.tags.state, "");
    assert_string_equal(marker.bytes, "a b/<c>");
    buf_done(&marker);
}

static void empty_pages(void **state)
{
    (void)state;
    static const char last[] = PAGE("", "<NextMarker/>"), more[] = PAGE("", "<NextMarker>x</NextMarker>");
    struct seen seen = {0};
    struct buf marker;
    buf_init(&marker, 1024);
    assert_int_equal(parse(last, sizeof last - 1, &seen, &marker), STATUS_OK);
    assert_int_equal(marker.len, 0);
    assert_int_equal(parse(more, sizeof more - 1, &seen, &marker), STATUS_OK);
    assert_int_equal(marker.len, 1);
    assert_int_equal(seen.count, 0);
    buf_done(&marker);
}

static void broken_entries_break_the_page(void **state)
{
    (void)state;
    static const char *const bad[] = {
        PAGE("<Blob><Properties/></Blob>", ""),
        PAGE("<Blob><Name></Name></Blob>", ""),
        PAGE("<Blob><Name Encoded=\"true\">a%zz</Name></Blob>", ""),
        PAGE("<Blob><Name Encoded=\"true\">a%00b</Name></Blob>", ""),
        PAGE("<Blob><Name>a</Name><Properties><Content-Length>-1</Content-Length></Properties></Blob>", ""),
        "<html><body>Sign in, please</body></html>",
        "<Error><Code>x</Code></Error>",
        "",
    };
    struct seen seen = {0};
    struct buf marker;
    buf_init(&marker, 1024);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(parse(bad[i], strlen(bad[i]), &seen, &marker), STATUS_CORRUPT);
    for (size_t len = 0; len < sizeof two_blobs - 1; len++)
        assert_int_equal(parse(two_blobs, len, &seen, &marker), STATUS_CORRUPT);
    buf_done(&marker);
    buf_init(&marker, 3);
    assert_int_not_equal(parse(two_blobs, sizeof two_blobs - 1, &seen, &marker), STATUS_OK); /* a marker too long */
    buf_done(&marker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_blobs_and_a_marker),
        cmocka_unit_test(empty_pages),
        cmocka_unit_test(broken_entries_break_the_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
