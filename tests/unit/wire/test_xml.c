/* test_xml.c - goal: the small documents are written and read, and hostile ones are stopped at the fence. Method: known
 * texts; entity bombs, depth, length, truncation at every byte. */
#include "unit.h"

#include "base/limits.h"
#include "blob/azure/wire/xml.h"

#include <stdlib.h>
#include <string.h>

static void block_lists(void **state)
{
    (void)state;
    struct buf list;
    buf_init(&list, 4096);
    assert_int_equal(block_list_begin(&list), STATUS_OK);
    assert_int_equal(block_list_add(&list, "AA=="), STATUS_OK);
    assert_int_equal(block_list_add(&list, "AQ=="), STATUS_OK);
    assert_int_equal(block_list_end(&list), STATUS_OK);
    assert_string_equal(list.bytes, "<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList><Latest>AA==</Latest>"
                                    "<Latest>AQ==</Latest></BlockList>");
    buf_done(&list);
}

static void tags_there_and_back(void **state)
{
    (void)state;
    struct buf text;
    struct wire_tags tags = {.state = "committed", .number = "41"}, back;
    buf_init(&text, 4096);
    assert_int_equal(tags_write(&text, &tags), STATUS_OK);
    assert_non_null(strstr(text.bytes, "<Tag><Key>state</Key><Value>committed</Value></Tag>"));
    assert_int_equal(tags_parse(text.bytes, text.len, &back, NULL), STATUS_OK);
    assert_string_equal(back.state, "committed");
    assert_string_equal(back.number, "41");
    buf_done(&text);
}

static void foreign_tags_are_ignored(void **state)
{
    (void)state;
    static const char text[] = "\xef\xbb\xbf<?xml version=\"1.0\"?><Tags><TagSet><Tag><Key>state2</Key><Value>x</Value>"
                               "</Tag><Tag><Key>state</Key><Value>a value that is too long for us</Value></Tag>"
                               "<Tag><Key>a key that is far too long</Key><Value>x</Value></Tag></TagSet></Tags>";
    struct wire_tags tags;
    assert_int_equal(tags_parse(text, sizeof text - 1, &tags, NULL), STATUS_OK);
    assert_string_equal(tags.state, "");
}

static void error_bodies(void **state)
{
    (void)state;
    static const char text[] = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n<Error>\n"
                               "  <Code>ContainerNotFound</Code>\n  <Message>The specified container does not exist.\n"
                               "RequestId:1\nTime:2</Message><Extra/>\n</Error>";
    struct wire_error error;
    error_parse(text, sizeof text - 1, &error);
    assert_string_equal(error.code, "ContainerNotFound");
    assert_string_equal(error.message, "The specified container does not exist.");
    error_parse("", 0, &error);
    assert_string_equal(error.code, "");
    error_parse("<html>oops", 10, &error);
    assert_string_equal(error.code, "");
    for (size_t len = 0; len < sizeof text - 1; len++) {
        error_parse(text, len, &error); /* cut anywhere: nothing is believed */
        assert_string_equal(error.code, "");
    }
}

static bool count(void *context, const struct xml_element *element)
{
    (void)element;
    return ++*(unsigned *)context != 3;
}

static enum status walk(const char *text, unsigned *ret_count)
{
    *ret_count = 0;
    return xml_walk(text, strlen(text), count, ret_count, NULL);
}

static void a_callback_ends_the_walk(void **state)
{
    (void)state;
    unsigned calls;
    assert_int_equal(walk("<a><b/><b/><b/><b/><b/></a>", &calls), STATUS_OK);
    assert_int_equal(calls, 3);
}

static void entities_cannot_be_declared(void **state)
{
    (void)state;
    unsigned calls;
    assert_int_equal(walk("<!DOCTYPE a [<!ENTITY x \"xxxxxxxxxx\"><!ENTITY y \"&x;&x;&x;&x;&x;&x;\">]><a>&y;</a>",
                          &calls),
                     STATUS_CORRUPT);
    assert_int_equal(calls, 0);
    assert_int_equal(walk("<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>", &calls), STATUS_CORRUPT);
    assert_int_equal(calls, 0);
    assert_int_equal(walk("<a>&undeclared;</a>", &calls), STATUS_CORRUPT);
    assert_int_equal(walk("<a>&#0;</a>", &calls), STATUS_CORRUPT);
}

static void the_fence(void **state)
{
    (void)state;
    unsigned calls;
    char deep[3 * (XML_DEPTH_MAX + 2)] = "";
    for (size_t i = 0; i <= XML_DEPTH_MAX; i++)
        strncat(deep, "<a>", 4);
    assert_int_equal(walk(deep, &calls), STATUS_CORRUPT);
    char *wide = malloc(XML_TEXT_BYTES + 100);
    assert_non_null(wide);
    memset(wide, 'x', XML_TEXT_BYTES + 99);
    memcpy(wide, "<a>", 3);
    memcpy(wide + XML_TEXT_BYTES + 50, "</a>", 5);
    assert_int_equal(walk(wide, &calls), STATUS_CORRUPT);
    memcpy(wide + XML_TEXT_BYTES, "</a>", 5);
    assert_int_equal(walk(wide, &calls), STATUS_OK);
    memcpy(wide + XML_PATH_BYTES + 10, " />", 4); /* a name beyond the path's limit */
    memcpy(wide, "<xx", 3);
    assert_int_equal(walk(wide, &calls), STATUS_CORRUPT);
    free(wide);
    assert_int_equal(xml_walk("<a/>", (size_t)LIMIT_XML_BYTES + 1, count, &calls, NULL), STATUS_CORRUPT);
    assert_int_equal(walk("", &calls), STATUS_CORRUPT);
    assert_int_equal(walk("<a></b>", &calls), STATUS_CORRUPT);
    assert_int_equal(walk("<a/><a/>", &calls), STATUS_CORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(block_lists),
        cmocka_unit_test(tags_there_and_back),
        cmocka_unit_test(foreign_tags_are_ignored),
        cmocka_unit_test(error_bodies),
        cmocka_unit_test(a_callback_ends_the_walk),
        cmocka_unit_test(entities_cannot_be_declared),
        cmocka_unit_test(the_fence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
