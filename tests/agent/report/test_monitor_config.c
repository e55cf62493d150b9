/* SPDX-License-Identifier: MIT */
/* Method: configuration texts, what each selects, and the message of each rejection. */
#include "agent/report/monitor_config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/report/monitor_filter.h"
#include "shared/base/fs.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define SECOND NTK_NS_PER_SECOND

static struct ntk_monitor_config config;

static int parse(const char *text, struct ntk_err *err)
{
    return ntk_monitor_config_parse(&config, text, strlen(text), err);
}

static void parse_well(const char *text)
{
    struct ntk_err err = { 0 };

    if (parse(text, &err) < 0) {
        fail_msg("'%s' was refused: %s", text, err.text);
    }
}

/* The period of a group in ns; 0 if it is not configured. */
static uint64_t system_ns(enum ntk_system_group group)
{
    int index = config.system_period[group];

    return index == NTK_MONITOR_NOT_ASKED ? 0 : config.periods_ns[index];
}

static uint64_t runtime_ns(const char *tag, enum ntk_runtime_group group)
{
    struct ntk_monitor_runtime_groups groups;

    if (!ntk_monitor_config_match(&config, tag, &groups) ||
        groups.period[group] == NTK_MONITOR_NOT_ASKED) {
        return 0;
    }
    return config.periods_ns[groups.period[group]];
}

static bool matches(const char *tag)
{
    struct ntk_monitor_runtime_groups groups;

    return ntk_monitor_config_match(&config, tag, &groups);
}

static void the_default_configuration_has_every_group_of_every_application(void **state)
{
    ntk_monitor_config_default(&config, NTK_MONITOR_PERIOD_DEFAULT_NS);
    for (int k = 0; k < NTK_RUNTIME_GROUP_COUNT; k++) {
        assert_int_equal(runtime_ns("anything", k), 5 * SECOND);
    }
    for (int k = 0; k < NTK_SYSTEM_GROUP_COUNT; k++) {
        assert_int_equal(system_ns(k), k == NTK_SYSTEM_GROUP_SELF ? 0 : 5 * SECOND);
    }
    ntk_monitor_config_fini(&config);
}

static void periods_are_inherited_from_the_enclosing_object(void **state)
{
    parse_well(
        "{\"period\":\"1s\",\"neuron_runtimes\":[{\"tag_filter\":\".*\",\"metrics\":["
        "{\"type\":\"neuroncore_counters\"},{\"type\":\"memory_used\",\"period\":\"500ms\"}]},"
        "{\"tag_filter\":\"^b\",\"period\":\"7s\",\"metrics\":[{\"type\":\"execution_stats\"}]}],"
        "\"system_metrics\":[{\"type\":\"vcpu_usage\"},{\"type\":\"self_stats\"},"
        "{\"period\":\"2s\",\"type\":\"neuron_hw_counters\"}]}");
    assert_int_equal(config.period_count, 4);
    assert_int_equal(runtime_ns("a", NTK_RUNTIME_GROUP_CORES), SECOND);
    assert_int_equal(runtime_ns("a", NTK_RUNTIME_GROUP_MEMORY), SECOND / 2);
    assert_int_equal(runtime_ns("a", NTK_RUNTIME_GROUP_EXECUTIONS), 0);
    assert_int_equal(runtime_ns("b", NTK_RUNTIME_GROUP_EXECUTIONS), 7 * SECOND);
    assert_int_equal(runtime_ns("b", NTK_RUNTIME_GROUP_CPU), 0);
    assert_int_equal(system_ns(NTK_SYSTEM_GROUP_CPU), SECOND);
    assert_int_equal(system_ns(NTK_SYSTEM_GROUP_SELF), SECOND);
    assert_int_equal(system_ns(NTK_SYSTEM_GROUP_ECC), 2 * SECOND);
    assert_int_equal(system_ns(NTK_SYSTEM_GROUP_MEMORY), 0);
    ntk_monitor_config_fini(&config);
}

static void entries_of_one_application_are_merged_with_the_smallest_period(void **state)
{
    parse_well(
        "{\"neuron_runtimes\":["
        "{\"tag_filter\":\"bert\",\"period\":\"3s\",\"metrics\":[{\"type\":\"memory_used\"},"
        "{\"type\":\"execution_stats\"}]},"
        "{\"tag_filter\":\"serve$\",\"period\":\"2s\",\"metrics\":[{\"type\":\"memory_used\"},"
        "{\"type\":\"neuroncore_counters\",\"period\":\"9s\"}]}]}");
    assert_int_equal(runtime_ns("bert-serve", NTK_RUNTIME_GROUP_MEMORY), 2 * SECOND);
    assert_int_equal(runtime_ns("bert-serve", NTK_RUNTIME_GROUP_EXECUTIONS), 3 * SECOND);
    assert_int_equal(runtime_ns("bert-serve", NTK_RUNTIME_GROUP_CORES), 9 * SECOND);
    assert_int_equal(runtime_ns("bert-train", NTK_RUNTIME_GROUP_MEMORY), 3 * SECOND);
    assert_true(matches("xserve"));
    assert_false(matches("other"));
    ntk_monitor_config_fini(&config);
}

static void a_tag_filter_matches_anywhere_in_the_tag(void **state)
{
    parse_well("{\"neuron_runtimes\":[{\"tag_filter\":\"a{2,3}|^[0-9]+$\",\"metrics\":[]}]}");
    assert_true(matches("xaay"));
    assert_true(matches("4711"));
    assert_false(matches("a1"));
    ntk_monitor_config_fini(&config);
}

static void an_entry_without_metrics_lists_the_application_without_groups(void **state)
{
    parse_well("{\"neuron_runtimes\":[{}]}");
    assert_true(matches(""));
    for (int k = 0; k < NTK_RUNTIME_GROUP_COUNT; k++) {
        assert_int_equal(runtime_ns("x", k), 0);
    }
    ntk_monitor_config_fini(&config);
}

static void an_empty_configuration_reports_every_5_s_without_groups(void **state)
{
    parse_well("{}");
    assert_int_equal(config.period_count, 1);
    assert_int_equal(config.periods_ns[0], 5 * SECOND);
    assert_int_equal(config.filter_count, 0);
    assert_int_equal(system_ns(NTK_SYSTEM_GROUP_CPU), 0);
    ntk_monitor_config_fini(&config);
}

static void null_values_count_as_absent(void **state)
{
    parse_well("{\"period\":null,\"neuron_runtimes\":null,\"system_metrics\":null}");
    assert_int_equal(config.periods_ns[0], 5 * SECOND);
    ntk_monitor_config_fini(&config);
}

static void a_period_below_the_minimum_is_set_to_the_minimum(void **state)
{
    parse_well("{\"period\":\"1ms\",\"system_metrics\":[{\"type\":\"vcpu_usage\"}]}");
    assert_int_equal(system_ns(NTK_SYSTEM_GROUP_CPU), NTK_MONITOR_PERIOD_MIN_NS);
    ntk_monitor_config_fini(&config);
}

static void periods_accept_go_durations(void **state)
{
    parse_well("{\"system_metrics\":[{\"type\":\"vcpu_usage\",\"period\":\"1m30s\"},"
               "{\"type\":\"memory_info\",\"period\":\"1500ms\"}]}");
    assert_int_equal(system_ns(NTK_SYSTEM_GROUP_CPU), 90 * SECOND);
    assert_int_equal(system_ns(NTK_SYSTEM_GROUP_MEMORY), 3 * SECOND / 2);
    ntk_monitor_config_fini(&config);
}

/* The tag of the entry is the plain address, not an expression; another entry may match it too. */
static void a_daemon_is_selected_by_its_address(void **state)
{
    struct ntk_monitor_runtime_groups groups;

    parse_well(
        "{\"neuron_runtimes\":[{\"address\":\"unix:/run/x\","
        "\"metrics\":[{\"type\":\"memory_used\"}]},"
        "{\"tag_filter\":\"^job\",\"metrics\":[{\"type\":\"execution_stats\"}]},"
        "{\"tag_filter\":\"x$\",\"period\":\"1s\",\"metrics\":[{\"type\":\"execution_stats\"}]}]}");
    assert_int_equal(runtime_ns("unix:/run/x", NTK_RUNTIME_GROUP_MEMORY), 5 * SECOND);
    assert_int_equal(runtime_ns("unix:/run/x", NTK_RUNTIME_GROUP_EXECUTIONS), SECOND);
    assert_true(ntk_monitor_config_match(&config, "unix:/run/x", &groups));
    assert_true(groups.by_address);
    assert_true(ntk_monitor_config_match(&config, "job", &groups));
    assert_false(groups.by_address);
    assert_false(matches("unix:/run/x0"));
    assert_false(matches("unix:/run.x0"));
    ntk_monitor_config_fini(&config);
}

static void the_pod_report_can_be_enabled(void **state)
{
    parse_well("{\"k8s_info\":true}");
    assert_true(config.k8s_info);
    ntk_monitor_config_fini(&config);
    parse_well("{\"k8s_info\":false}");
    assert_false(config.k8s_info);
    ntk_monitor_config_fini(&config);
    parse_well("{}");
    assert_false(config.k8s_info);
    ntk_monitor_config_fini(&config);
}

static void a_period_option_replaces_all_configured_periods(void **state)
{
    parse_well("{\"period\":\"9s\",\"neuron_runtimes\":[{\"metrics\":[{\"type\":\"memory_used\","
               "\"period\":\"8s\"}]}],\"system_metrics\":[{\"type\":\"vcpu_usage\"}]}");
    ntk_monitor_config_set_period(&config, SECOND);
    assert_int_equal(config.period_count, 1);
    assert_int_equal(runtime_ns("x", NTK_RUNTIME_GROUP_MEMORY), SECOND);
    assert_int_equal(runtime_ns("x", NTK_RUNTIME_GROUP_EXECUTIONS), 0);
    assert_int_equal(system_ns(NTK_SYSTEM_GROUP_CPU), SECOND);
    assert_int_equal(system_ns(NTK_SYSTEM_GROUP_MEMORY), 0);
    ntk_monitor_config_fini(&config);
}

static void an_invalid_configuration_is_rejected_with_its_position(void **state)
{
    static const struct {
        const char *text;
        const char *sentence;
    } rows[] = {
        { "", "the file is empty" },
        { "[]", "line 1: expected a JSON object" },
        { "{\n\"period\": \"5s\",\n}", "line 3, column 1: string or '}' expected near '}'" },
        { "{\"period\":5}", "line 1: period: expected a string such as \"5s\"" },
        { "{\"period\":\"soon\"}",
          "line 1: period: 'soon' is not a time such as 500ms, 5s or 1m30s" },
        { "{\"period\":\"-1s\"}",
          "line 1: period: '-1s' is not a time such as 500ms, 5s or 1m30s" },
        { "{\"period\":\"25h\"}", "line 1: period: '25h' is longer than a day" },
        { "{\"neuron_runtimes\":{}}", "line 1: neuron_runtimes: expected an array" },
        { "{\"neuron_runtimes\":[1]}", "line 1: neuron_runtimes[0]: expected an object" },
        { "{\"neuron_runtimes\":[{\"tag_filter\":1}]}",
          "line 1: neuron_runtimes[0].tag_filter: expected a string" },
        { "{\"neuron_runtimes\":[{\"metrics\":{}}]}",
          "line 1: neuron_runtimes[0].metrics: expected an array" },
        { "{\"neuron_runtimes\":[{},{\"metrics\":[\"x\"]}]}",
          "line 1: neuron_runtimes[1].metrics[0]: expected an object" },
        { "{\"neuron_runtimes\":[{\"metrics\":[{}]}]}",
          "line 1: neuron_runtimes[0].metrics[0].type: missing" },
        { "{\"neuron_runtimes\":[{\"metrics\":[{\"type\":3}]}]}",
          "line 1: neuron_runtimes[0].metrics[0].type: expected a string" },
        { "{\"neuron_runtimes\":[{\"metrics\":[{\"type\":\"vcpu_usage\"}]}]}",
          "line 1: neuron_runtimes[0].metrics[0].type: 'vcpu_usage' belongs in system_metrics, "
          "not here" },
        { "{\"neuron_runtimes\":[{\"metrics\":[{\"type\":\"inference_stats\"}]}]}",
          "line 1: neuron_runtimes[0].metrics[0].type: unknown metric type 'inference_stats': "
          "renamed to execution_stats" },
        { "{\"neuron_runtimes\":[{\"metrics\":[{\"type\":\"memory_used\",\"period\":[]}]}]}",
          "line 1: neuron_runtimes[0].metrics[0].period: expected a string such as \"5s\"" },
        { "{\"system_metrics\":[{\"type\":\"gpu_usage\"}]}",
          "line 1: system_metrics[0].type: unknown metric type 'gpu_usage'; known types are "
          "memory_info, neuron_hw_counters, self_stats, vcpu_usage" },
        { "{\"system_metrics\":[{\"type\":\"memory_used\"}]}",
          "line 1: system_metrics[0].type: 'memory_used' belongs in "
          "neuron_runtimes[].metrics, not here" },
        { "{\"neuron_runtimes\":[{\"tag_filter\":\"(\"}]}",
          "line 1: neuron_runtimes[0].tag_filter: invalid regular expression '(': Unmatched ( or "
          "\\(" },
        { "{\"neuron_runtimes\":[{\"tag_filter\":\"(a)\\\\1\"}]}",
          "line 1: neuron_runtimes[0].tag_filter: the back-reference '\\1' is not supported" },
        { "{\"neuron_runtimes\":[{\"tag_filter\":\"((a{99}){99}){99}\"}]}",
          "line 1: neuron_runtimes[0].tag_filter: the product of the repetition counts exceeds "
          "1000" },
        { "{\"neuron_runtimes\":[{\"tag_filter\":\"a++++++++++++++++++++++++++++\"}]}",
          "line 1: neuron_runtimes[0].tag_filter: repeating a repetition is not supported" },
        { "{\"neuron_runtimes\":[{\"tag_filter\":\"((((((((((a+)+)+)+)+)+)+)+)+)+)+\"}]}",
          "line 1: neuron_runtimes[0].tag_filter: the product of the repetition counts exceeds "
          "1000" },
        { "{\"neuron_runtimes\":[{\"tag_filter\":\"a\",\n\"address\":\"unix:/b\"}]}",
          "line 2: neuron_runtimes[0].address: expected either a tag_filter or an address" },
        { "{\"neuron_runtimes\":[{\"address\":\"\"}]}",
          "line 1: neuron_runtimes[0].address: expected the endpoint of a daemon, such as "
          "unix:/run/neuron.sock" },
        { "{\"neuron_runtimes\":[{\"address\":7}]}",
          "line 1: neuron_runtimes[0].address: expected the endpoint of a daemon, such as "
          "unix:/run/neuron.sock" },
        { "{\"k8s_info\":{\"period\":\"15s\"}}", "line 1: k8s_info: expected true or false" },
        { "{\"hello\":1}", "line 1: unknown key 'hello'; known keys are period, neuron_runtimes, "
                           "system_metrics, k8s_info" },
        { "{\"period\":\"1s\",\n\"neuron_runtimes\":[\n{},\n{\"metrics\":[],\n\"tag.filter[\":"
          "\"x\"}]}",
          "line 5: neuron_runtimes[1]: unknown key 'tag.filter['; known keys are tag_filter, "
          "address, "
          "period, metrics" },
        { "{\"system_metrics\":[\n{\"type\":\"vcpu_usage\"},\n{\"type\":\"memory_info\",\n"
          "\"every\":\"2s\"}]}",
          "line 4: system_metrics[1]: unknown key 'every'; known keys are type, period" },
        { "{\"system_metrics\":[\n{\"type\":\n\"gpu\"}]}",
          "line 2: system_metrics[0].type: unknown metric type 'gpu'; known types are memory_info, "
          "neuron_hw_counters, self_stats, vcpu_usage" },
        { "{\"period\":\"1s\",\n\"period\":\"2s\"}",
          "line 2, column 8: duplicate object key near '\"period\"'" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ntk_err err = { 0 };
        if (parse(rows[i].text, &err) >= 0) {
            fail_msg("'%s' was taken", rows[i].text);
        }
        assert_string_equal(err.text, rows[i].sentence);
        assert_int_equal(config.filter_count, 0); /* nothing left to free */
    }
}

/* Method: one entry, one period or one byte more than the limit. */
static void configuration_values_beyond_their_limits_are_rejected(void **state)
{
    char *text = malloc(64 * 1024);
    struct ntk_err err = { 0 };
    size_t used;

    for (int more = 0; more <= 1; more++) {
        used = (size_t)sprintf(text, "{\"neuron_runtimes\":[");
        for (int i = 0; i < NTK_MONITOR_FILTERS_MAX + more; i++) {
            used += (size_t)sprintf(text + used, "%s{}", i ? "," : "");
        }
        sprintf(text + used, "]}");
        assert_int_equal(parse(text, &err), more ? -EINVAL : 0);
        ntk_monitor_config_fini(&config);

        used = (size_t)sprintf(text, "{\"system_metrics\":[");
        for (int i = 0; i < NTK_MONITOR_PERIODS_MAX + more; i++) {
            used += (size_t)sprintf(text + used, "%s{\"type\":\"vcpu_usage\",\"period\":\"%ds\"}",
                                    i ? "," : "", i + 1);
        }
        sprintf(text + used, "]}");
        assert_int_equal(parse(text, &err), more ? -EINVAL : 0);
        ntk_monitor_config_fini(&config);

        used = (size_t)sprintf(text, "{\"neuron_runtimes\":[{\"tag_filter\":\"");
        memset(text + used, 'a', (size_t)(NTK_MONITOR_FILTER_BYTES_MAX + more));
        sprintf(text + used + NTK_MONITOR_FILTER_BYTES_MAX + more, "\"}]}");
        assert_int_equal(parse(text, &err), more ? -EINVAL : 0);
        ntk_monitor_config_fini(&config);
    }
    free(text);
}

static void a_configuration_error_reports_the_file_name(void **state)
{
    char *folder = test_scratch_create();
    char *path = test_scratch_path(folder, "monitor.json");
    struct ntk_err err = { 0 };
    char expected[512];

    assert_int_equal(ntk_monitor_config_read(&config, path, &err), -ENOENT);
    assert_non_null(strstr(err.text, path));

    assert_int_equal(ntk_fs_write(path, "{\"period\":\"2s\"}", 15, NULL), 0);
    assert_int_equal(ntk_monitor_config_read(&config, path, &err), 0);
    assert_int_equal(config.periods_ns[0], 2 * SECOND);
    ntk_monitor_config_fini(&config);

    assert_int_equal(ntk_fs_write(path, "{\"period\"", 9, NULL), 0);
    assert_int_equal(ntk_monitor_config_read(&config, path, &err), -EINVAL);
    snprintf(expected, sizeof expected, "%s: line 1, column 9: ", path);
    assert_int_equal(strncmp(err.text, expected, strlen(expected)), 0);
    free(path);
    test_scratch_destroy(folder);
}

static void repetition_operators_in_brackets_are_literal(void **state)
{
    struct ntk_err err = { 0 };

    if (parse("{\"neuron_runtimes\":[{\"tag_filter\":\"^[]+*?{]+(bert|gpt)+-v[0-9]{1,3}$\"}]}",
              &err) < 0) {
        fail_msg("%s", err.text);
    }
    ntk_monitor_config_fini(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_configuration_has_every_group_of_every_application),
        cmocka_unit_test(periods_are_inherited_from_the_enclosing_object),
        cmocka_unit_test(entries_of_one_application_are_merged_with_the_smallest_period),
        cmocka_unit_test(a_tag_filter_matches_anywhere_in_the_tag),
        cmocka_unit_test(repetition_operators_in_brackets_are_literal),
        cmocka_unit_test(an_entry_without_metrics_lists_the_application_without_groups),
        cmocka_unit_test(an_empty_configuration_reports_every_5_s_without_groups),
        cmocka_unit_test(null_values_count_as_absent),
        cmocka_unit_test(a_period_below_the_minimum_is_set_to_the_minimum),
        cmocka_unit_test(periods_accept_go_durations),
        cmocka_unit_test(a_daemon_is_selected_by_its_address),
        cmocka_unit_test(the_pod_report_can_be_enabled),
        cmocka_unit_test(a_period_option_replaces_all_configured_periods),
        cmocka_unit_test(an_invalid_configuration_is_rejected_with_its_position),
        cmocka_unit_test(configuration_values_beyond_their_limits_are_rejected),
        cmocka_unit_test(a_configuration_error_reports_the_file_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
