/* test_credential.c - goal: credentials are read as users have them, what is wrong is told at once, and no message
 * holds a secret. Method: good and bad ones of each kind; every report of a refusal is searched for the secret. */
#include "unit.h"

#include "blob/azure/credential.h"
#include "blob/azure/endpoint.h"

#include <string.h>

#define KEY "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0" /* "secretsecretsecretsecret" */
#define SAS "sv=2021-12-02&se=2030-01-02T03%3A04%3A05Z&sr=c&sp=racwdl&sig=c2VjcmV0%3D"

static void assert_refused(enum status status, const struct err *err)
{
    assert_int_equal(status, STATUS_INVALID);
    assert_true(*err->message);
    assert_null(strstr(err->message, "c2Vj"));
    assert_null(strstr(err->hint, "c2Vj"));
}

static void keys(void **state)
{
    (void)state;
    static const char *const bad[] = {"", " ", "c2Vj", "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV", KEY "!", KEY "\n" KEY};
    struct credential credential = {0};
    struct err err = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_refused(credential_set_key(&credential, bad[i], &err), &err);
        assert_int_equal(credential.kind, CREDENTIAL_NONE);
    }
    assert_int_equal(credential_set_key(&credential, " " KEY "\n", &err), STATUS_OK);
    assert_int_equal(credential.kind, CREDENTIAL_KEY);
    assert_int_equal(credential.key_len, 24);
    assert_memory_equal(credential.key, "secretsecretsecretsecret", 24);
    credential_done(&credential);
    assert_int_equal(credential.key[0] | credential.key[23], 0);
}

static void signatures(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "", "?", "sv=1&sp=r", "sig=", "xsig=c2Vj", "sig=c2Vj #", "https://h/c?sig=c2Vj", "sig=c2Vj\nx"};
    struct credential credential = {0};
    struct err err = {0};
    int64_t end_utc_s = 0;
    char letters[16];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_refused(credential_set_sas(&credential, bad[i], &err), &err);
    assert_int_equal(credential_set_sas(&credential, "?" SAS "\n", &err), STATUS_OK);
    assert_int_equal(credential.kind, CREDENTIAL_SAS);
    assert_string_equal(credential.sas, SAS);
    assert_true(credential_expiry(&credential, &end_utc_s));
    assert_int_equal(end_utc_s, 1893553445);
    credential_permissions(&credential, letters, sizeof letters);
    assert_string_equal(letters, "racwdl");
    assert_int_equal(credential_set_sas(&credential, "si=policy&sig=c2Vj", &err), STATUS_OK);
    assert_false(credential_expiry(&credential, &end_utc_s));
    credential_permissions(&credential, letters, sizeof letters);
    assert_string_equal(letters, "");
}

static void accounts(void **state)
{
    (void)state;
    struct credential credential = {0};
    assert_int_equal(credential_set_account(&credential, "devstoreaccount1", NULL), STATUS_OK);
    assert_string_equal(credential.account, "devstoreaccount1");
    assert_int_equal(credential_set_account(&credential, "ab", NULL), STATUS_INVALID);
    assert_int_equal(credential_set_account(&credential, "Account", NULL), STATUS_INVALID);
    assert_int_equal(credential_set_account(&credential, "a/b", NULL), STATUS_INVALID);
    assert_int_equal(credential_set_account(&credential, "a\r\nb: c", NULL), STATUS_INVALID);
}

static const struct {
    const char *text, *endpoint, *account;
    enum credential_kind kind;
} strings[] = {
    {"DefaultEndpointsProtocol=https;AccountName=acct;AccountKey=" KEY ";EndpointSuffix=core.windows.net",
     "https://acct.blob.core.windows.net", "acct", CREDENTIAL_KEY},
    {"AccountName=acct;AccountKey=" KEY, "https://acct.blob.core.windows.net", "acct", CREDENTIAL_KEY},
    {"DefaultEndpointsProtocol=http;AccountName=acct;AccountKey=" KEY ";EndpointSuffix=example.test;",
     "http://acct.blob.example.test", "acct", CREDENTIAL_KEY},
    {" accountname=devstoreaccount1 ; ACCOUNTKEY=" KEY ";BlobEndpoint=http://127.0.0.1:4711/devstoreaccount1/;",
     "http://127.0.0.1:4711/devstoreaccount1", "devstoreaccount1", CREDENTIAL_KEY},
    {"BlobEndpoint=https://acct.blob.core.windows.net;QueueEndpoint=https://x;SharedAccessSignature=" SAS,
     "https://acct.blob.core.windows.net", "", CREDENTIAL_SAS},
    {"AccountName=acct;AccountKey=" KEY ";SharedAccessSignature=?" SAS, "https://acct.blob.core.windows.net", "acct",
     CREDENTIAL_SAS},
    {"UseDevelopmentStorage=true", "http://127.0.0.1:10000/devstoreaccount1", "devstoreaccount1", CREDENTIAL_KEY},
    {"BlobEndpoint=https://public.example.test", "https://public.example.test", "", CREDENTIAL_NONE},
};

static void connection_strings(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        struct credential credential = {0};
        char endpoint[256];
        struct err err = {0};
        assert_int_equal(credential_from_connection_string(strings[i].text, &credential, endpoint, sizeof endpoint,
                                                           &err),
                         STATUS_OK);
        assert_string_equal(endpoint, strings[i].endpoint);
        assert_string_equal(credential.account, strings[i].account);
        assert_int_equal(credential.kind, strings[i].kind);
    }
}

static void broken_connection_strings(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "AccountKey=" KEY,
        KEY,
        "AccountName=acct;" KEY "x",
        "AccountName=acct;AccountKey=c2Vj",
        "AccountName=acct;AccountKey=" KEY KEY KEY KEY KEY KEY KEY,
        "AccountName=acct;SharedAccessSignature=sv=c2Vj",
        "DefaultEndpointsProtocol=ftp;AccountName=acct;AccountKey=" KEY,
        "BlobEndpoint=https://x.test;AccountKey=" KEY,
    };
    struct credential credential = {.kind = CREDENTIAL_SAS};
    char endpoint[256] = "untouched", small[16];
    struct err err = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_refused(credential_from_connection_string(bad[i], &credential, endpoint, sizeof endpoint, &err), &err);
    assert_refused(credential_from_connection_string(strings[0].text, &credential, small, sizeof small, &err), &err);
    assert_string_equal(endpoint, "untouched");
    assert_int_equal(credential.kind, CREDENTIAL_SAS);
}

static void endpoints(void **state)
{
    (void)state;
    static const struct {
        const char *url, *authority, *base_path, *account;
        bool tls;
    } good[] = {
        {"https://acct.blob.core.windows.net", "acct.blob.core.windows.net", "", "acct", true},
        {"https://acct.blob.core.windows.net/", "acct.blob.core.windows.net", "", "acct", true},
        {"http://127.0.0.1:10000/devstoreaccount1", "127.0.0.1:10000", "/devstoreaccount1", "devstoreaccount1", false},
        {"http://[::1]:10000/acct/", "[::1]:10000", "/acct", "acct", false},
        {"https://blobs.example.test", "blobs.example.test", "", "", true},
    };
    static const char *const bad[] = {"",
                                      "acct",
                                      "ftp://x",
                                      "https://",
                                      "https:///x",
                                      "https://h o/x",
                                      "https://acct.blob.core.windows.net?sig=c2Vj",
                                      "https://user:c2Vj@h/acct",
                                      "http://127.0.0.1/acct/more",
                                      "http://127.0.0.1/a%20b"};
    struct endpoint endpoint;
    struct err err = {0};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(endpoint_parse(good[i].url, &endpoint, &err), STATUS_OK);
        assert_string_equal(endpoint.authority, good[i].authority);
        assert_string_equal(endpoint.base_path, good[i].base_path);
        assert_string_equal(endpoint.account, good[i].account);
        assert_int_equal(endpoint.tls, good[i].tls);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_refused(endpoint_parse(bad[i], &endpoint, &err), &err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys),
        cmocka_unit_test(signatures),
        cmocka_unit_test(accounts),
        cmocka_unit_test(connection_strings),
        cmocka_unit_test(broken_connection_strings),
        cmocka_unit_test(endpoints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
