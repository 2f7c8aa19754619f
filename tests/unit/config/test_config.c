/* test_config.c - goal: every source of settings reaches the struct, the strongest wins, every mistake is one line that
 * names its source, and no secret is taken from, or shown in, the wrong place. Method: real files in a fresh folder. */
#include "config/config.h"
#include "config/key.h"
#include "unit.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static char folder[64];

static void write_file(char *ret_path, const char *text, mode_t mode)
{
    (void)snprintf(ret_path, 128, "%s/conf", folder);
    (void)unlink(ret_path);
    int fd = open(ret_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    (void)close(fd);
}

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/test_config.XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    char path[128];
    (void)state;
    (void)snprintf(path, sizeof path, "%s/conf", folder);
    (void)unlink(path);
    return rmdir(folder);
}

static enum status set_argument(struct config *config, const char *key, const char *value, struct err *err)
{
    struct config_origin origin = {.rank = RANK_ARGUMENT, .name = "--option"};
    return config_set(config, &origin, key, value, err);
}

static void defaults_are_within_their_ranges(void **state)
{
    struct config config;
    (void)state;
    config_init(&config);
    assert_int_equal(config.block_size, 4 << 20);
    assert_int_equal(config.deadline_ms, 60000);
    assert_int_equal(config.late_after_ms, -1);
    assert_int_equal(config.uid, -1);
    assert_int_equal(config.recovery_max, 1 << 30);
    assert_int_equal(config.on_kill, CONFIG_KILL_KEEP);
    assert_int_equal(config.log_level, CONFIG_LOG_INFO);
    assert_true(config.tags);
    assert_false(config.read_only);
    config_done(&config);
}

static void every_key_is_described(void **state)
{
    (void)state;
    for (size_t i = 0; key_at(i); i++) {
        const struct key *key = key_at(i);
        assert_non_null(key->help);
        assert_ptr_equal(key_find(key->name, strlen(key->name)), key);
        assert_int_equal(key_index(key), i);
        assert_true(strlen(key->help) <= 90);
        if (key->secret)
            assert_false(key->where & IN_ARGUMENTS);
        if (key->type == KEY_NUMBER || key->type == KEY_SIZE || key->type == KEY_DURATION)
            assert_true(key->argument && key->min < key->max);
    }
}

static void units_are_read(void **state)
{
    struct config config;
    (void)state;
    config_init(&config);
    assert_int_equal(set_argument(&config, "block-size", "64K", NULL), STATUS_OK);
    assert_int_equal(config.block_size, 65536);
    assert_int_equal(set_argument(&config, "block_size", "1mib", NULL), STATUS_OK);
    assert_int_equal(config.block_size, 1 << 20);
    assert_int_equal(set_argument(&config, "deadline", "1500ms", NULL), STATUS_OK);
    assert_int_equal(config.deadline_ms, 1500);
    assert_int_equal(set_argument(&config, "deadline", "2", NULL), STATUS_OK);
    assert_int_equal(config.deadline_ms, 2000);
    assert_int_equal(set_argument(&config, "late_after", "0", NULL), STATUS_OK);
    assert_int_equal(config.late_after_ms, 0);
    assert_int_equal(set_argument(&config, "umask", "027", NULL), STATUS_OK);
    assert_int_equal(config.umask, 027);
    assert_int_equal(set_argument(&config, "on_kill", "publish", NULL), STATUS_OK);
    assert_int_equal(config.on_kill, CONFIG_KILL_PUBLISH);
    assert_int_equal(set_argument(&config, "allow-other", NULL, NULL), STATUS_OK);
    assert_true(config.allow_other);
    config_done(&config);
}

static void bad_values_are_refused_in_one_line(void **state)
{
    static const char *const bad[][2] = {
        {"block_size", "1K"},
        {"block_size", "65M"},
        {"block_size", "4X"},
        {"block_size", ""},
        {"block_size", "-1"},
        {"parallel", "0"},
        {"parallel", "six"},
        {"deadline", "99999999999999999999s"},
        {"deadline", "9223372036854775807d"},
        {"umask", "8"},
        {"umask", "1777"},
        {"on_kill", "kee"},
        {"on_kill", "keep|publish"},
        {"tags", "maybe"},
        {"tags", ""},
        {"capacity", "9223372036854775807K"},
        {"catalogue", ""},
        {"uid", "4294967295"},
        {"block_sise", "4M"},
    };
    struct config config;
    (void)state;
    config_init(&config);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct err err = {0};
        assert_int_equal(set_argument(&config, bad[i][0], bad[i][1], &err), STATUS_USAGE);
        assert_int_equal(err.status, STATUS_USAGE);
        assert_int_equal(strncmp(err.message, "--option: ", 10), 0);
        assert_null(strchr(err.message, '\n'));
    }
    struct err err = {0};
    assert_int_equal(set_argument(&config, "block_size", NULL, &err), STATUS_USAGE);
    assert_non_null(strstr(err.message, "needs a value"));
    assert_int_equal(set_argument(&config, "bloc-size", "4M", &err), STATUS_USAGE);
    assert_non_null(strstr(err.message, "did you mean \"block_size\""));
    assert_int_equal(config.block_size, 4 << 20);
    config_done(&config);
}

static void the_stronger_source_wins(void **state)
{
    struct config config;
    char path[128];
    char *environment[] = {(char[]){"AZURE_STORAGE_ACCOUNT=fromenv"}, (char[]){"AZURE_STORAGE_BLOB_ENDPOINT="}, NULL};
    (void)state;
    write_file(path,
               "# a comment\n\n[readyfs]\naccount = fromfile\n  endpoint=http://file \r\nparallel = 2\nrw\t=off\n",
               0644);
    config_init(&config);
    assert_int_equal(set_argument(&config, "parallel", "9", NULL), STATUS_OK);
    assert_int_equal(set_argument(&config, "config", path, NULL), STATUS_OK);
    assert_int_equal(config_environment(&config, environment, NULL), STATUS_OK);
    assert_int_equal(config_load(&config, environment, NULL), STATUS_OK);
    assert_string_equal(config.account, "fromenv");
    assert_string_equal(config.endpoint, "http://file");
    assert_int_equal(config.parallel, 9);
    assert_true(config.read_only);
    assert_int_equal(config_options(&config, "rw", NULL), STATUS_OK);
    assert_false(config.read_only);
    config_done(&config);
}

static void a_weaker_mistake_is_still_told(void **state)
{
    struct config config;
    struct err err = {0};
    char path[128];
    (void)state;
    write_file(path, "a\n", 0644);
    config_init(&config);
    assert_int_equal(config_file(&config, path, &err), STATUS_USAGE);
    write_file(path, "parallel = 3\nparallel = 700\n", 0644);
    assert_int_equal(set_argument(&config, "parallel", "9", NULL), STATUS_OK);
    assert_int_equal(config_file(&config, path, &err), STATUS_USAGE);
    assert_non_null(strstr(err.message, "conf:2: parallel: \"700\" is not a number from 1 to 64"));
    assert_int_equal(config_file(&config, "/nonexistent/conf", &err), STATUS_NOT_FOUND);
    config_done(&config);
}

static void secrets_stay_out_of_public_files_and_arguments(void **state)
{
    struct config config;
    struct err err = {0};
    char path[128];
    char *environment[] = {(char[]){"AZURE_STORAGE_KEY=c2Vjb25k"}, (char[]){"AZURE_STORAGE_ACCESS_KEY=Zmlyc3Q="}, NULL};
    char long_secret[400];
    (void)state;
    memset(long_secret, 'k', sizeof long_secret);
    memcpy(long_secret, "connection_string = ", 20);
    long_secret[sizeof long_secret - 1] = '\0';
    config_init(&config);
    write_file(path, "account_key = c2VjcmV0\n", 0640);
    assert_int_equal(config_file(&config, path, &err), STATUS_ACCESS);
    assert_null(config.account_key);
    assert_null(strstr(err.message, "c2VjcmV0"));
    write_file(path, long_secret, 0600);
    assert_int_equal(config_file(&config, path, &err), STATUS_OK);
    assert_string_equal(config.connection_string, long_secret + 20);
    assert_int_equal(set_argument(&config, "sas_token", "sv=1&sig=c2VjcmV0", &err), STATUS_USAGE);
    assert_non_null(strstr(err.message, "AZURE_STORAGE_SAS_TOKEN"));
    assert_null(strstr(err.message, "c2VjcmV0"));
    assert_int_equal(config_options(&config, "account-key=c2VjcmV0", &err), STATUS_USAGE);
    assert_null(strstr(err.message, "c2VjcmV0"));
    assert_int_equal(config_environment(&config, environment, &err), STATUS_OK);
    assert_string_equal(config.account_key, "Zmlyc3Q=");
    config_done(&config);
}

static void option_lists_have_escapes(void **state)
{
    struct config config;
    struct err err = {0};
    (void)state;
    config_init(&config);
    assert_int_equal(config_options(&config, "_netdev,nofail,x-systemd.automount,defaults,,catalogue=/a\\,b\\\\c,ro",
                                    &err),
                     STATUS_OK);
    assert_string_equal(config.catalogue, "/a,b\\c");
    assert_true(config.read_only);
    assert_int_equal(config_options(&config, "noexec,user_id=0", &err), STATUS_USAGE);
    assert_string_equal(err.message, "-o: unknown key \"user_id\"");
    assert_true(config.noexec);
    config_done(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_within_their_ranges),
        cmocka_unit_test(every_key_is_described),
        cmocka_unit_test(units_are_read),
        cmocka_unit_test(bad_values_are_refused_in_one_line),
        cmocka_unit_test(the_stronger_source_wins),
        cmocka_unit_test(a_weaker_mistake_is_still_told),
        cmocka_unit_test(secrets_stay_out_of_public_files_and_arguments),
        cmocka_unit_test(option_lists_have_escapes),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
