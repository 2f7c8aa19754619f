/* test_source.c - goal: SOURCE is understood in all its forms, and whatever is malformed or holds a secret is refused
 * in one line that repeats no secret. Method: tables. */
#include "config/source.h"
#include "unit.h"

#include <string.h>

static void forms_are_understood(void **state)
{
    static const struct {
        const char *text, *canonical, *endpoint, *account, *container, *prefix;
    } good[] = {
        {"https://acct.blob.core.windows.net/box", "https://acct.blob.core.windows.net/box",
         "https://acct.blob.core.windows.net", "acct", "box", ""},
        {"https://acct.blob.core.windows.net/box/a/b//", "https://acct.blob.core.windows.net/box/a/b",
         "https://acct.blob.core.windows.net", "acct", "box", "a/b/"},
        {"http://127.0.0.1:10000/devstoreaccount1/box/p", "http://127.0.0.1:10000/devstoreaccount1/box/p",
         "http://127.0.0.1:10000/devstoreaccount1", "devstoreaccount1", "box", "p/"},
        {"https://localhost:443/acct/box", "https://localhost:443/acct/box", "https://localhost:443/acct", "acct",
         "box", ""},
        {"http://[::1]:10000/acct/box", "http://[::1]:10000/acct/box", "http://[::1]:10000/acct", "acct", "box", ""},
        {"az://box/pre", "az://box/pre", "", "", "box", "pre/"},
        {"az://$root", "az://$root", "", "", "$root", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct source source;
        struct err err = {0};
        if (source_parse(good[i].text, &source, &err) != STATUS_OK)
            fail_msg("%s: %s", good[i].text, err.message);
        assert_int_equal(source.kind, SOURCE_AZURE);
        assert_string_equal(source.text, good[i].canonical);
        assert_string_equal(source.endpoint, good[i].endpoint);
        assert_string_equal(source.account, good[i].account);
        assert_string_equal(source.container, good[i].container);
        assert_string_equal(source.prefix, good[i].prefix);
        assert_true(source_looks_like(good[i].text));
    }
}

static void folders_are_made_absolute(void **state)
{
    struct source source;
    char here[512], expected[600];
    (void)state;
    assert_int_equal(source_parse("dir:/srv//blobs/./x/../", &source, NULL), STATUS_OK);
    assert_string_equal(source.path, "/srv/blobs");
    assert_string_equal(source.text, "dir:/srv/blobs");
    assert_int_equal(source_parse("dir:a/b", &source, NULL), STATUS_OK);
    assert_non_null(getcwd(here, sizeof here));
    (void)snprintf(expected, sizeof expected, "%s/a/b", strcmp(here, "/") == 0 ? "" : here);
    assert_string_equal(source.path, expected);
    assert_int_equal(source_parse("dir:/../..", &source, NULL), STATUS_OK);
    assert_string_equal(source.path, "/");
    assert_false(source_looks_like("/mnt/x"));
    assert_false(source_looks_like("documents"));
}

static void malformed_ones_are_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "dir:",
        "ftp://x/y",
        "https://",
        "https:///box",
        "https://acct.blob.core.windows.net",
        "https://acct.blob.core.windows.net/",
        "https://acct.blob.core.windows.net/B",
        "https://acct.blob.core.windows.net/ab",
        "https://acct.blob.core.windows.net/box--x",
        "https://acct.blob.core.windows.net/box/a//b",
        "https://acct.blob.core.windows.net/box/../b",
        "https://acct.blob.core.windows.net/box/a b",
        "https://Acct.blob.core.windows.net/box",
        "https://a_b.blob.core.windows.net/box",
        "http://127.0.0.1:10000/box",
        "http://127.0.0.1:0/acct/box",
        "http://127.0.0.1:99999/acct/box",
        "http://127.0.0.1:x/acct/box",
        "az://",
        "az:///x",
        "az://-box",
        "https://acct.blob.core.windows.net/box#frag",
        "/just/a/path",
        "azure://box",
        "http://[::1/acct/box",
    };
    char long_text[1200];
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct source source = {.kind = SOURCE_NONE};
        struct err err = {0};
        if (source_parse(bad[i], &source, &err) != STATUS_USAGE)
            fail_msg("%s was accepted", bad[i]);
        assert_int_equal(source.kind, SOURCE_NONE);
        assert_int_equal(strncmp(err.message, "SOURCE: ", 8), 0);
    }
    memset(long_text, 'a', sizeof long_text);
    memcpy(long_text, "dir:/", 5);
    long_text[sizeof long_text - 1] = '\0';
    struct source source;
    assert_int_equal(source_parse(long_text, &source, NULL), STATUS_USAGE);
}

static void secrets_are_refused_and_not_repeated(void **state)
{
    static const char *const bad[] = {
        "https://acct:topsecret@acct.blob.core.windows.net/box",
        "https://acct.blob.core.windows.net/box?sv=2021&sig=topsecret",
        "https://acct.blob.core.windows.net?sig=topsecret",
        "az://box?sig=topsecret",
        "http://u:topsecret@127.0.0.1:1/acct/box",
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct source source;
        struct err err = {0};
        assert_int_equal(source_parse(bad[i], &source, &err), STATUS_USAGE);
        assert_null(strstr(err.message, "topsecret"));
        assert_null(strstr(err.hint, "topsecret"));
        assert_non_null(strstr(err.message, "AZURE_STORAGE_"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_are_understood),
        cmocka_unit_test(folders_are_made_absolute),
        cmocka_unit_test(malformed_ones_are_refused),
        cmocka_unit_test(secrets_are_refused_and_not_repeated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
