/* SPDX-License-Identifier: MIT */
/* Method: texts of files, accepted or rejected with a position; the files themselves in a scratch
 * folder. */
#include "runtime-hooks/rtd/rtd_config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static void every_configuration_key_is_parsed(void **state)
{
    static const char text[] =
        "{\"init_config\": {\"num_hugepages_per_device\": 128, \"drop_all_capabilities\": true,\n"
        "                  \"io_dma_data_host\": true},\n"
        " \"model_cache_count\": 7,\n"
        " \"model_config\": {\"timeout\": 30, \"ninfer\": 9}}";
    struct rtd_config config;
    struct ntk_err err = { 0 };

    assert_int_equal(rtd_config_parse(&config, text, sizeof text - 1, &err), 0);
    assert_true(config.timeout_s.is_given && config.timeout_s.value == 30);
    assert_true(config.ninfer.is_given && config.ninfer.value == 9);
    assert_true(config.io_data_host.is_given && config.io_data_host.value == 1);
    assert_true(config.drops_capabilities.is_given && config.drops_capabilities.value == 1);
    assert_true(config.hugepages.is_given && config.hugepages.value == 128);
    assert_true(config.model_cache_count.is_given && config.model_cache_count.value == 7);
    assert_string_equal(config.unknown, "");
}

static void missing_settings_remain_unset(void **state)
{
    struct rtd_config config;
    struct ntk_err err = { 0 };

    assert_int_equal(rtd_config_parse(&config, "{}", 2, &err), 0);
    assert_false(config.timeout_s.is_given || config.ninfer.is_given ||
                 config.io_data_host.is_given || config.drops_capabilities.is_given);
}

static void a_setting_in_the_inner_object_takes_precedence(void **state)
{
    static const char text[] = "{\"init_config\": {\"io_dma_data_host\": false},"
                               " \"io_dma_data_host\": true}";
    struct rtd_config config;
    struct ntk_err err = { 0 };

    assert_int_equal(rtd_config_parse(&config, text, sizeof text - 1, &err), 0);
    assert_true(config.io_data_host.is_given && config.io_data_host.value == 0);
}

static void unknown_keys_are_reported(void **state)
{
    static const char text[] = "{\"x\": 1, \"init_config\": {\"y\": {}, \"timeout\": 1}}";
    struct rtd_config config;
    struct ntk_err err = { 0 };

    assert_int_equal(rtd_config_parse(&config, text, sizeof text - 1, &err), 0);
    assert_string_equal(config.unknown, "x, init_config.y, init_config.timeout");
    assert_false(config.timeout_s.is_given);
}

static void invalid_settings_are_rejected_with_their_position(void **state)
{
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        { "", "the file is empty" },
        { "[]", "line 1: expected an object" },
        { "{\"init_config\": 3}", "line 1: init_config: expected an object" },
        { "{\n\"model_config\":\n{\"timeout\": 0}}",
          "line 3: model_config.timeout: expected an integer from 1 to 4294967295" },
        { "{\"model_config\": {\"ninfer\": 1025}}",
          "line 1: model_config.ninfer: expected an integer from 1 to 1024" },
        { "{\"model_config\": {\"ninfer\": 2.5}}",
          "line 1: model_config.ninfer: expected an integer from 1 to 1024" },
        { "{\"model_config\": {\"ninfer\": 99999999999999999999}}", NULL },
        { "{\"model_cache_count\": -1}",
          "line 1: model_cache_count: expected an integer from 0 to 4294967295" },
        { "{\"io_dma_data_host\": 1}", "line 1: io_dma_data_host: expected true or false" },
        { "{\"io_dma_data_host\": true, \"io_dma_data_host\": false}", NULL },
        { "{\"model_config\": {\"timeout\": 1}", NULL },
    };
    struct rtd_config config;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ntk_err err = { 0 };

        assert_int_equal(rtd_config_parse(&config, cases[i].text, strlen(cases[i].text), &err),
                         -EINVAL);
        if (cases[i].sentence) {
            assert_string_equal(err.text, cases[i].sentence);
        } else {
            assert_true(err.text[0] != '\0');
        }
    }
}

static void address_and_devices_of_an_instance_are_parsed(void **state)
{
    static const char text[] = "{\"name\": \"nrtd0\", \"server_port\": \"unix:/run/neuron.sock0\","
                               " \"devices\": [2, 3], \"other\": null}";
    struct rtd_instance instance;
    struct ntk_err err = { 0 };

    assert_int_equal(rtd_instance_parse(&instance, text, sizeof text - 1, &err), 0);
    assert_string_equal(instance.name, "nrtd0");
    assert_string_equal(instance.endpoint, "unix:/run/neuron.sock0");
    assert_true(instance.has_devices);
    assert_int_equal(instance.device_count, 2);
    assert_int_equal(instance.devices[0], 2);
    assert_int_equal(instance.devices[1], 3);
    assert_string_equal(instance.unknown, "other");
    assert_int_equal(rtd_instance_parse(&instance, "{}", 2, &err), 0);
    assert_false(instance.has_devices);
}

static void an_invalid_daemon_instance_is_rejected(void **state)
{
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        { "{\"name\": 3}", "line 1: name: expected a string" },
        { "{\"server_port\": \"\"}", "line 1: server_port: expected a string" },
        { "{\"server_port\": \"a\\u0000b\"}", NULL },
        { "{\"devices\": 0}", "line 1: devices: expected a list of device numbers" },
        { "{\"devices\": [0,\n-1]}", "line 2: devices[1]: expected a device number" },
        { "{\"devices\": [64]}", "line 1: devices[0]: expected a device number" },
        { "{\"devices\": [\"0\"]}", "line 1: devices[0]: expected a device number" },
    };
    struct rtd_instance instance;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ntk_err err = { 0 };

        assert_int_equal(rtd_instance_parse(&instance, cases[i].text, strlen(cases[i].text), &err),
                         -EINVAL);
        if (cases[i].sentence) {
            assert_string_equal(err.text, cases[i].sentence);
        }
    }
}

static void long_lists_and_strings_are_limited(void **state)
{
    char text[4096] = "{\"server_port\": \"";
    struct rtd_instance instance;
    struct rtd_config config;
    struct ntk_err err = { 0 };
    size_t used = strlen(text);

    memset(text + used, 'x', 1000);
    (void)snprintf(text + used + 1000, sizeof text - used - 1000, "\"}");
    assert_int_equal(rtd_instance_parse(&instance, text, strlen(text), &err), -EINVAL);
    assert_string_equal(err.text, "line 1: server_port: the string is too long");
    used = (size_t)snprintf(text, sizeof text, "{\"devices\": [0");
    for (int i = 0; i < 64; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, ", 0");
    }
    (void)snprintf(text + used, sizeof text - used, "]}");
    assert_int_equal(rtd_instance_parse(&instance, text, strlen(text), &err), -EINVAL);
    used = (size_t)snprintf(text, sizeof text, "{\"k\": 0");
    for (int i = 0; i < 90; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, ", \"unknown%02d\": 0", i);
    }
    (void)snprintf(text + used, sizeof text - used, "}");
    assert_int_equal(rtd_config_parse(&config, text, strlen(text), &err), 0);
    assert_int_equal(strlen(config.unknown), RTD_CONFIG_TEXT_BYTES - 1);
}

static void messages_include_the_file_name(void **state)
{
    char *folder = test_scratch_create();
    char *path = test_scratch_path(folder, "n1.json");
    struct rtd_instance instance;
    struct rtd_config config;
    struct ntk_err err = { 0 };
    char expected[512];
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    (void)fputs("{\"devices\": [1]}", file);
    (void)fclose(file);
    path[strlen(path) - strlen(".json")] = '\0';
    assert_int_equal(rtd_instance_read(&instance, path, &err), 0);
    assert_int_equal(instance.device_count, 1);
    memcpy(path + strlen(path), ".json", sizeof ".json");
    assert_int_equal(rtd_instance_read(&instance, path, &err), 0);
    assert_int_equal(instance.device_count, 1);
    assert_int_equal(rtd_config_read(&config, path, &err), 0);
    assert_string_equal(config.unknown, "devices");
    file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs("{", file);
    (void)fclose(file);
    assert_int_equal(rtd_config_read(&config, path, &err), -EINVAL);
    (void)snprintf(expected, sizeof expected, "%s: line 1, column 1: ", path);
    assert_memory_equal(err.text, expected, strlen(expected));
    assert_true(rtd_config_read(&config, folder, &err) < 0);
    assert_int_equal(rtd_instance_read(&instance, "ntk-there-is-none", &err), -ENOENT);
    assert_non_null(strstr(err.text, "/opt/aws/neuron/bin/ntk-there-is-none.json"));
    free(path);
    test_scratch_destroy(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_configuration_key_is_parsed),
        cmocka_unit_test(missing_settings_remain_unset),
        cmocka_unit_test(a_setting_in_the_inner_object_takes_precedence),
        cmocka_unit_test(unknown_keys_are_reported),
        cmocka_unit_test(invalid_settings_are_rejected_with_their_position),
        cmocka_unit_test(address_and_devices_of_an_instance_are_parsed),
        cmocka_unit_test(an_invalid_daemon_instance_is_rejected),
        cmocka_unit_test(long_lists_and_strings_are_limited),
        cmocka_unit_test(messages_include_the_file_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
