/* SPDX-License-Identifier: MIT */
/* Which series a page has: some by their exact lines, all by the checker of Prometheus. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exporters/prometheus/prometheus_encode.h"
#include "shared/base/map.h"
#include "tests/exporters/prometheus/prometheus_fixture.h"
#include "tests/support/mixed_snapshot.h"
#include "tests/support/sample_snapshot.h"
#include "tests/support/unit.h"

static void every_vendor_metric_has_its_exact_series(void **state)
{
    static const char *const lines[] = {
        "# HELP neuroncore_utilization_ratio NeuronCore utilization ratio",
        "# TYPE neuroncore_utilization_ratio gauge",
        "neuroncore_utilization_ratio{availability_zone=\"\"," I_HEAD
        "neuroncore=\"1\",region=\"\",runtime_tag=\"" TAG "\",subnet_id=\"\"} 0.375",
        "neuron_runtime_vcpu_usage_ratio{availability_zone=\"\"," I_HEAD
        "region=\"\",runtime_tag=\"" TAG "\",subnet_id=\"\",usage_type=\"user\"} 0.125",
        "neuron_runtime_memory_used_bytes{availability_zone=\"\"," I_HEAD
        "memory_location=\"neuron_device\",region=\"\",runtime_tag=\"" TAG
        "\",subnet_id=\"\"} 1125504",
        "neuroncore_memory_usage_model_shared_scratchpad{availability_zone=\"\"," I_HEAD
        "memory_location=\"None\",neuroncore=\"0\",region=\"\",runtime_tag=\"" TAG
        "\",subnet_id=\"\"} 2048",
        "neuroncore_memory_usage_constants{availability_zone=\"\"," I_HEAD
        "memory_location=\"None\",neuroncore=\"1\",region=\"\",runtime_tag=\"" TAG
        "\",subnet_id=\"\"} 0",
        "# TYPE execution_errors_total counter",
        "execution_errors_total{availability_zone=\"\",error_type=\"hardware\"," I_HEAD
        "region=\"\",runtime_tag=\"" TAG "\",subnet_id=\"\"} 5",
        "# TYPE execution_errors_created gauge",
        "execution_status_total{availability_zone=\"\"," I_HEAD "region=\"\",runtime_tag=\"" TAG
        "\",status_type=\"completed\",subnet_id=\"\"} 70",
        "execution_latency_seconds{availability_zone=\"\"," I_HEAD
        "percentile=\"p100\",region=\"\",runtime_tag=\"" TAG "\",subnet_id=\"\"} 0.0021135355",
        "hardware_ecc_events_total{availability_zone=\"\",event_type=\"sram_ecc_corrected\"," I_HEAD
        "neuron_device_index=\"0\",region=\"\",subnet_id=\"\"} 4",
        "system_vcpu_count{availability_zone=\"\"," I_HEAD "region=\"\",subnet_id=\"\"} 12",
        "system_vcpu_usage_ratio{availability_zone=\"\"," I_HEAD
        "region=\"\",subnet_id=\"\",usage_type=\"user\"} 0.03",
        "system_memory_total_bytes{availability_zone=\"\"," I_HEAD
        "region=\"\",subnet_id=\"\"} 137438953472",
        "system_swap_used_bytes{availability_zone=\"\"," I_HEAD "region=\"\",subnet_id=\"\"} 512",
        "instance_info{availability_zone=\"\"," I_HEAD "region=\"\",subnet_id=\"\"} 1",
        "neuron_hardware_info{availability_zone=\"\"," I_HEAD
        "neuron_device_count=\"1\",neuron_device_memory_size=\"51539607552\",neuroncore_per_device_"
        "count=\"4\",region=\"\",subnet_id=\"\"} 1",
    };

    update(sample(1));
    char *text = encode(true);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_line(text, lines[i]);
    }
    assert_no(text, "neuron_executions_total");
    free(text);
}

static void additional_histograms_are_exact_at_bucket_edges(void **state)
{
    static const char *const lines[] = {
        "# TYPE neuron_execution_latency_seconds histogram",
        "neuron_execution_latency_seconds_bucket{availability_zone=\"\"," I_HEAD
        "latency_type=\"total\",le=\"0.001048576\",model_name=\"bert_base.neff\",region=\"\","
        "runtime_tag=\"" TAG "\",subnet_id=\"\"} 0",
        "neuron_execution_latency_seconds_bucket{availability_zone=\"\"," I_HEAD
        "latency_type=\"total\",le=\"0.002097152\",model_name=\"bert_base.neff\",region=\"\","
        "runtime_tag=\"" TAG "\",subnet_id=\"\"} 39",
        "neuron_execution_latency_seconds_bucket{availability_zone=\"\"," I_HEAD
        "latency_type=\"total\",le=\"1.024e-06\",model_name=\"bert_base.neff\",region=\"\","
        "runtime_tag=\"" TAG "\",subnet_id=\"\"} 0",
        "neuron_execution_latency_seconds_bucket{availability_zone=\"\"," I_HEAD
        "latency_type=\"device\",le=\"+Inf\",model_name=\"bert_base.neff\",region=\"\","
        "runtime_tag=\"" TAG "\",subnet_id=\"\"} 40",
        "neuron_execution_latency_seconds_count{availability_zone=\"\"," I_HEAD
        "latency_type=\"total\",model_name=\"bert_base.neff\",region=\"\",runtime_tag=\"" TAG
        "\",subnet_id=\"\"} 40",
        "neuron_executions_total{availability_zone=\"\"," I_HEAD
        "region=\"\",status_type=\"completed\",subnet_id=\"\"} 77",
        "neuroncore_total_utilization_ratio{availability_zone=\"\"," I_HEAD
        "neuroncore=\"0\",region=\"\",subnet_id=\"\"} 0.5",
        "neuroncore_total_utilization_ratio{availability_zone=\"\"," I_HEAD
        "neuroncore=\"3\",region=\"\",subnet_id=\"\"} 0",
        "neuroncore_busy_seconds_total{availability_zone=\"\"," I_HEAD
        "neuroncore=\"1\",region=\"\",subnet_id=\"\"} 0.375",
        "neuroncore_engine_busy_seconds_total{availability_zone=\"\",engine=\"dve\"," I_HEAD
        "neuroncore=\"0\",region=\"\",subnet_id=\"\"} 0.016",
        "neuroncore_flops_total{availability_zone=\"\"," I_HEAD
        "neuroncore=\"0\",region=\"\",subnet_id=\"\"} 4000000",
        "neuroncore_hbm_read_bytes_total{availability_zone=\"\"," I_HEAD
        "neuroncore=\"0\",region=\"\",subnet_id=\"\"} 16384",
        "neuron_memory_used_bytes{availability_zone=\"\",category=\"dma_rings_io\"," I_HEAD
        "memory_location=\"neuron_device\",neuroncore=\"0\",region=\"\",runtime_tag=\"" TAG
        "\",subnet_id=\"\"} 1024",
        "neuron_memory_peak_bytes{availability_zone=\"\",category=\"host_application\"," I_HEAD
        "memory_location=\"host\",neuroncore=\"\",region=\"\",runtime_tag=\"" TAG
        "\",subnet_id=\"\"} 8192",
        "neurondevice_memory_capacity_bytes{availability_zone=\"\",hbm=\"1\"," I_HEAD
        "neuron_device_index=\"0\",region=\"\",subnet_id=\"\"} 25769803776",
        "neuron_model_loaded_info{availability_zone=\"\"," I_HEAD
        "model_id=\"10001\",model_name=\"bert_base.neff\",neuroncore=\"0\",region=\"\",runtime_tag="
        "\"" TAG "\",subnet_id=\"\"} 1",
        "neuron_monitor_events_lost_total{availability_zone=\"\",cause=\"overwritten\"," I_HEAD
        "region=\"\",subnet_id=\"\"} 2",
    };

    update(sample(1));
    char *text = encode(false);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_line(text, lines[i]);
    }
    assert_no(text, "gone.neff");
    free(text);
}

static void exporter_output_counts_are_reported(void **state)
{
    update(sample(1));
    page.outputs[0] = (struct ntk_output_counts){
        .name = "remote write",
        .sent_items = 7,
        .refused_items = 2,
        .lost_items = 3,
        .retry_count = 4,
        .memory_items = 5,
        .spool_items = 6,
    };
    page.outputs[1] = (struct ntk_output_counts){ .name = "stdout", .has_cut = true };
    page.outputs[2] = (struct ntk_output_counts){ .name = "store",
                                                  .has_complete = true,
                                                  .complete_ns = 1500000000,
                                                  .has_free = true,
                                                  .free_bytes = 4096 };
    page.output_count = 3;
    char *text = encode(false);
    assert_line(text, "# TYPE neuron_monitor_output_items_total counter");
    assert_line(text,
                "neuron_monitor_output_items_total{output=\"remote write\",result=\"lost\"} 3");
    assert_line(text,
                "neuron_monitor_output_items_total{output=\"remote write\",result=\"refused\"} 2");
    assert_line(text,
                "neuron_monitor_output_items_total{output=\"remote write\",result=\"sent\"} 7");
    assert_line(text, "neuron_monitor_output_retries_total{output=\"remote write\"} 4");
    assert_line(text, "neuron_monitor_output_complete_timestamp_seconds{output=\"store\"} 1.5");
    assert_line(text, "neuron_monitor_output_free_bytes{output=\"store\"} 4096");
    assert_no(text, "neuron_monitor_output_free_bytes{output=\"stdout\"}");
    assert_line(text, "# TYPE neuron_monitor_output_waiting_items gauge");
    assert_line(text,
                "neuron_monitor_output_waiting_items{output=\"remote write\",place=\"memory\"} 5");
    assert_line(text,
                "neuron_monitor_output_waiting_items{output=\"remote write\",place=\"spool\"} 6");
    assert_line(text, "neuron_monitor_output_cut_items_total{output=\"stdout\"} 0");
    assert_no(text, "neuron_monitor_output_cut_items_total{output=\"remote write\"}");
    free(text);
    text = encode(true);
    assert_no(text, "neuron_monitor_output");
    free(text);
}

/* The reason for an unhealthy device is next to its verdict, and ends with it. */
static void each_reason_of_an_unhealthy_device_has_a_series(void **state)
{
    struct ntk_snapshot *snapshot = sample(1);

    update(snapshot);
    char *text = encode(false);
    assert_line(text, "neuron_device_health_status{availability_zone=\"\"," I_HEAD
                      "neuron_device_index=\"0\",region=\"\",subnet_id=\"\"} 2");
    assert_line(text,
                "neuron_device_health_reason_since_seconds{action=\"restart_workload\","
                "availability_zone=\"\"," I_HEAD
                "neuron_device_index=\"0\",reason=\"hardware_error\",region=\"\",subnet_id=\"\","
                "verdict=\"unhealthy\"} 1763699700");
    free(text);
    snapshot = sample(1);
    snapshot->devices[0].verdict = NTK_HEALTH_HEALTHY;
    snapshot->devices[0].health_count = 0;
    update(snapshot);
    text = encode(false);
    assert_line(text, "neuron_device_health_status{availability_zone=\"\"," I_HEAD
                      "neuron_device_index=\"0\",region=\"\",subnet_id=\"\"} 0");
    assert_no(text, "health_reason_since_seconds{");
    free(text);
    snapshot = sample(1);
    snapshot->devices[0].has &= ~(uint32_t)NTK_DEVICE_HAS_HEALTH; /* without a verdict */
    update(snapshot);
    text = encode(false);
    assert_no(text, "neuron_device_health_status{");
    free(text);
}

static void no_series_appears_twice(void **state)
{
    struct ntk_map seen = { 0 };
    struct ntk_snapshot *snapshot = sample(2);

    snapshot->runtimes[1].tag = snapshot->runtimes[0].tag;
    snapshot->runtimes[1].models = snapshot->runtimes[0].models;
    snapshot->runtimes[1].model_count = snapshot->runtimes[0].model_count;
    const struct ntk_adapter_port ports[] = { { .device = "rdmap0s6", .has = 1 },
                                              { .device = "rdmap0s6", .has = 1 },
                                              { .device = "rdmap0s6", .port = 1, .has = 1 } };
    ntk_snapshot_set_ports(snapshot, ports, 3);
    update(snapshot);
    char *text = encode(false);
    assert_non_null(strstr(text, "efa_port=\"1\""));
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        char *value = strrchr(line, ' ');
        if (line[0] != '#') {
            *value = '\0';
        }
        if (ntk_map_get(&seen, line)) {
            fail_msg("'%s' appears twice", line);
        }
        ntk_map_put(&seen, line, line);
    }
    ntk_map_fini(&seen);
    free(text);
}

static void untrusted_strings_on_the_page_are_escaped(void **state)
{
    struct ntk_snapshot *snapshot = sample(1);

    snapshot->runtimes[0].tag = "a\"} 1\nb\\\xff";
    snapshot->runtimes[0].models[0].name = "\n# EOF\n";
    update(snapshot);
    char *text = encode(false);
    assert_no(text, "\nb\\");
    assert_no(text, "\n# EOF");
    assert_no(text, "\xff");
    assert_non_null(strstr(text, "runtime_tag=\"a\\\"} 1\xef\xbf\xbd"
                                 "b\\\\\xef\xbf\xbd\""));
    free(text);
}

/* promtool has one finding: the vendor's own name system_vcpu_count. */
static void promtool_reports_no_problems(void **state)
{
    if (system("command -v promtool >/dev/null 2>&1") != 0) {
        skip();
    }
    update(sample(2));
    ntk_points_page_update_process(&page);
    char *text = encode(false);
    char name[] = "/tmp/ntk-promtool-XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    char command[256];
    char found[4096];
    snprintf(command, sizeof command, "promtool check metrics <%s 2>&1", name);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t count = fread(found, 1, sizeof found - 1, pipe);
    found[count] = '\0';
    int status = pclose(pipe);
    unlink(name);
    free(text);
    assert_true(WIFEXITED(status));
    assert_string_equal(found, "system_vcpu_count non-histogram and non-summary metrics should not "
                               "have \"_count\" suffix\n");
}

/* The samples equal those of the older text format; families have other names and types, a
 * counter's start time follows it, and the page has an end marker. */
static void the_openmetrics_format_has_the_same_values(void **state)
{
    static const char *const lines[] = {
        "# TYPE execution_status counter",
        "# TYPE execution_errors counter",
        "# TYPE hardware_ecc_events counter",
        "# TYPE neuron_hardware info",
        "# TYPE instance info",
        "# TYPE neuron_execution_latency_seconds histogram",
        "# UNIT neuron_execution_latency_seconds seconds",
        "# UNIT system_memory_used_bytes bytes",
        "# TYPE neuroncore_busy_seconds counter",
        "# UNIT neuroncore_busy_seconds seconds",
    };
    size_t sample_count = 0;

    update(sample(2));
    char *text = encode(false);
    char *open = encode_as(NTK_PROMETHEUS_OPENMETRICS_1_0_0, false);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_line(open, lines[i]);
    }
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        if (line[0] != '#') {
            assert_line(open, line);
            sample_count++;
        }
    }
    for (const char *at = open; *at; at = strchr(at, '\n') + 1) {
        sample_count -= *at != '#';
    }
    assert_int_equal(sample_count, 0);
    assert_string_equal(open + strlen(open) - 6, "# EOF\n");
    assert_null(strstr(open, "_created gauge"));
    const char *counter = strstr(open, "execution_status_total{");
    assert_int_equal(strncmp(strchr(counter, '\n') + 1, "execution_status_created{", 25), 0);
    free(text);
    free(open);
}

static void machine_information_is_exported_once_complete(void **state)
{
    struct ntk_snapshot *snapshot = sample(1);
    uint32_t core_count = snapshot->hardware.cores_per_device;

    snapshot->hardware.cores_per_device = 0;
    assert_int_equal(ntk_points_page_update(&page, snapshot), 0);
    char *text = encode(false);
    assert_no(text, "neuron_hardware_info");
    free(text);
    snapshot->hardware.cores_per_device = core_count;
    update(snapshot);
    text = encode(false);
    if (!strstr(text, "neuroncore_per_device_count=\"4\"")) {
        fail_msg("the machine is not reported:\n%s", text);
    }
    free(text);
}

/* The line of the name with all of the labels; NULL if there is none. */
static const char *find_line(const char *text, const char *name, const char *const labels[2])
{
    size_t length = strlen(name);

    for (const char *at = strstr(text, name); at; at = strstr(at + 1, name)) {
        const char *end = strchr(at, '\n');
        const char *first = strstr(at, labels[0]);
        const char *second = strstr(at, labels[1]);

        if ((at == text || at[-1] == '\n') && at[length] == '{' && first && first < end && second &&
            second < end) {
            return at;
        }
    }
    return NULL;
}

/* Method: three processes, watched in three ways; the unknown values of two are filled with
 * poison. */
static void values_unknown_to_hooks_have_no_series(void **state)
{
    static const struct {
        const char *name;
        const char *labels[2];
        bool is_there;
    } lines[] = {
        { "neuroncore_utilization_ratio",
          { "runtime_tag=\"preloaded\"", "neuroncore=\"1\"" },
          true },
        { "neuroncore_memory_usage_tensors", { "\"preloaded\"", "neuroncore=\"1\"" }, true },
        { "neuroncore_memory_usage_constants", { "\"ours\"", "neuroncore=\"0\"" }, true },
        { "neuroncore_memory_usage_constants", { "\"preloaded\"", "" }, false },
        { "neuroncore_memory_usage_runtime_memory", { "\"attached\"", "" }, false },
        { "execution_status_total", { "\"preloaded\"", "\"completed\"" }, true },
        { "execution_status_total", { "\"attached\"", "" }, false },
        { "execution_latency_seconds", { "\"attached\"", "" }, false },
        { "neuroncore_engine_busy_seconds_total", { "neuroncore=\"0\"", "" }, true },
        { "neuroncore_engine_busy_seconds_total", { "neuroncore=\"1\"", "" }, false },
        { "neuroncore_flops_total", { "neuroncore=\"2\"", "" }, false },
        { "neuroncore_effective_flops_total", { "neuroncore=\"2\"", "" }, true },
        { "neuron_runtime_memory_used_bytes", { "\"host\"", "\"ours\"" }, true },
        { "neuron_runtime_memory_used_bytes", { "\"host\"", "\"preloaded\"" }, true },
        { "neuron_runtime_memory_used_bytes", { "\"host\"", "\"attached\"" }, false },
        { "neuron_runtime_memory_used_bytes", { "\"neuron_device\"", "\"attached\"" }, true },
        { "neuron_runtime_hooks_info",
          { "cores_guessed=\"false\",executions_counted=\"all\",hooks=\"built-in\"", "\"ours\"" },
          true },
        { "neuron_runtime_hooks_info", { "hooks=\"preloaded\"", "\"preloaded\"" }, true },
        { "neuron_runtime_hooks_info",
          { "cores_guessed=\"true\",executions_counted=\"none\",hooks=\"attached\"",
            "\"attached\"" },
          true },
    };

    (void)state;
    update(test_mixed_snapshot());
    char *text = encode(false);
    if (strstr(text, "666000666")) {
        fail_msg("%s", strstr(text, "666000666") - 200);
    }
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if ((find_line(text, lines[i].name, lines[i].labels) != NULL) != lines[i].is_there) {
            fail_msg("%s %s %s of:\n%s", lines[i].is_there ? "no" : "there is", lines[i].name,
                     lines[i].labels[0], text);
        }
    }
    free(text);

    /* Executions counted before the hooks stopped counting are not a total. */
    struct ntk_snapshot *given_up = test_mixed_snapshot();
    given_up->runtimes[MIXED_PRELOADED].executions_counted = NTK_EXECUTIONS_PART;
    given_up->runtimes[MIXED_PRELOADED].has &= ~(uint32_t)NTK_RUNTIME_HAS_EXECUTIONS;
    update(given_up);
    text = encode(false);
    assert_null(
        find_line(text, "execution_status_total", (const char *const[2]){ "\"preloaded\"", "" }));
    assert_null(find_line(text, "execution_latency_seconds",
                          (const char *const[2]){ "\"preloaded\"", "" }));
    assert_null(find_line(text, "neuron_execution_latency_seconds_count",
                          (const char *const[2]){ "\"preloaded\"", "" }));
    assert_non_null(strstr(text, "\nneuron_executions_partial{"));
    assert_non_null(
        find_line(text, "neuron_runtime_hooks_info",
                  (const char *const[2]){ "executions_counted=\"part\"", "\"preloaded\"" }));
    free(text);

    /* A core without measurements is not idle. */
    struct ntk_snapshot *untimed = test_mixed_snapshot();
    untimed->cores[MIXED_ATTACHED].has &= ~(uint32_t)NTK_CORE_HAS_BUSY;
    untimed->runtimes[MIXED_ATTACHED].cores[0].has &= ~(uint32_t)NTK_CORE_HAS_BUSY;
    update(untimed);
    text = encode(false);
    assert_null(find_line(text, "neuroncore_utilization_ratio",
                          (const char *const[2]){ "\"attached\"", "" }));
    assert_null(find_line(text, "neuroncore_total_utilization_ratio",
                          (const char *const[2]){ "neuroncore=\"2\"", "" }));
    free(text);
}

/* Every counter of a numbered core reaches every output, or all runtimes' by outcome. */
static void every_counter_of_a_core_has_a_series(void **state)
{
    update(sample(1));
    char *text = encode(false);

    for (size_t i = 0; i < NTK_CORE_COUNT_ROWS; i++) {
        const struct ntk_core_count_row *row = &ntk_core_count_rows[i];

        if (row->has != NTK_CORE_HAS_EXECUTIONS) {
            char line[160];
            assert_true(row->metric < NTK_METRIC_COUNT);
            snprintf(line, sizeof line, "\n%s{", ntk_metrics[row->metric].name);
            assert_non_null(strstr(text, line));
        }
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        CASE(every_vendor_metric_has_its_exact_series),
        CASE(additional_histograms_are_exact_at_bucket_edges),
        CASE(exporter_output_counts_are_reported),
        CASE(each_reason_of_an_unhealthy_device_has_a_series),
        CASE(no_series_appears_twice),
        CASE(untrusted_strings_on_the_page_are_escaped),
        CASE(promtool_reports_no_problems),
        CASE(the_openmetrics_format_has_the_same_values),
        CASE(machine_information_is_exported_once_complete),
        CASE(values_unknown_to_hooks_have_no_series),
        CASE(every_counter_of_a_core_has_a_series),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
