/* SPDX-License-Identifier: MIT */
/* Values of series from snapshot to snapshot: counters, and gauges of sources that fail or are not
 * due. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/prometheus/prometheus_encode.h"
#include "shared/report/report_json.h"
#include "tests/exporters/prometheus/prometheus_fixture.h"
#include "tests/support/sample_snapshot.h"
#include "tests/support/unit.h"

static void counters_accumulate_over_snapshots(void **state)
{
    for (int i = 0; i < 3; i++) {
        update(sample(1));
    }
    char *text = encode(false);
    assert_line(text, "execution_status_total{availability_zone=\"\"," I_HEAD
                      "region=\"\",runtime_tag=\"" TAG
                      "\",status_type=\"completed\",subnet_id=\"\"} 210");
    assert_line(text, "neuron_executions_total{availability_zone=\"\"," I_HEAD
                      "region=\"\",status_type=\"completed\",subnet_id=\"\"} 231");
    assert_line(text,
                "neurondevice_mem_ecc_repairable_uncorrected_total{availability_zone=\"\"," I_HEAD
                "neuron_device_index=\"0\",region=\"\",subnet_id=\"\"} 104");
    free(text);
    text = encode(true);
    assert_no(text, "repairable"); /* the vendor's page has no name for it */
    free(text);
}

/* First-generation devices do not count them. */
static void ecc_errors_not_counted_by_the_driver_are_exported_as_zero(void **state)
{
    for (int piped = 0; piped < 2; piped++) {
        struct ntk_snapshot *snapshot = sample(1);
        struct ntk_device_sample *device = snapshot->devices;
        device->has &= ~(uint32_t)NTK_DEVICE_HAS_ECC;
        device->ecc_has = 0;
        memset(device->ecc, 0, sizeof device->ecc);
        update(piped ? through_a_pipe(snapshot) : snapshot);
        char *text = encode(false);
        for (int k = 0; k < NTK_ECC_COUNT; k++) {
            char line[512];
            snprintf(line, sizeof line,
                     "hardware_ecc_events_total{availability_zone=\"\",event_type=\"%s\"," I_HEAD
                     "neuron_device_index=\"0\",region=\"\",subnet_id=\"\"} 0",
                     ntk_ecc_names[k]);
            if (k != NTK_ECC_MEM_REPAIRABLE) {
                assert_line(text, line);
            }
        }
        assert_no(text, "repairable");
        free(text);
        ntk_points_page_fini(&page);
    }
}

/* Method: the driver's counter is ahead of the periods of this page. */
static void driver_ecc_totals_and_vendor_period_counts_are_exported(void **state)
{
    for (int piped = 0; piped < 2; piped++) {
        struct ntk_snapshot *snapshot = sample(1);
        snapshot->devices[0].has |= NTK_DEVICE_HAS_ECC_TOTAL;
        snapshot->devices[0].ecc[NTK_ECC_MEM_CORRECTED] = (struct ntk_count){ 1, 117 };
        update(piped ? through_a_pipe(snapshot) : snapshot);
        char *text = encode(false);
        assert_line(text, "neurondevice_ecc_events_total{availability_zone=\"\",event_type="
                          "\"mem_ecc_corrected\"," I_HEAD
                          "neuron_device_index=\"0\",region=\"\",subnet_id=\"\"} 117");
        assert_line(text, "hardware_ecc_events_total{availability_zone=\"\",event_type="
                          "\"mem_ecc_corrected\"," I_HEAD
                          "neuron_device_index=\"0\",region=\"\",subnet_id=\"\"} 1");
        free(text);
        ntk_points_page_fini(&page);
    }
}

/* Method: the age as the server of the page sets it. */
static void a_stale_page_has_only_metrics_of_the_exporter(void **state)
{
    update(sample(1));
    char *text = encode(false);
    assert_no(text, "neuron_monitor_report_age_seconds{"); /* none for a page that is pushed */
    free(text);
    page.age = (struct ntk_points_age){ .is_known = true, .seconds = 7.5, .period_seconds = 5 };
    text = encode(false);
    assert_line(text, "neuron_monitor_report_age_seconds{availability_zone=\"\"," I_HEAD
                      "region=\"\",subnet_id=\"\"} 7.5");
    assert_line(text, "neuron_monitor_report_period_seconds{availability_zone=\"\"," I_HEAD
                      "region=\"\",subnet_id=\"\"} 5");
    assert_non_null(strstr(text, "neuroncore_utilization_ratio{"));
    free(text);
    page.age.is_stale = true;
    page.age.seconds = 16;
    ntk_points_page_update_process(&page);
    for (int format = 0; format < NTK_PROMETHEUS_PROTOBUF; format++) {
        text = encode_as((enum ntk_prometheus_format)format, false);
        assert_non_null(strstr(text, "neuron_monitor_report_age_seconds{"));
        for (char *line = text, *next; line && *line; line = next) {
            next = strchr(line, '\n');
            next = next ? next + 1 : NULL;
            if (*line != '#' && strncmp(line, "process_", 8) != 0 &&
                strncmp(line, "neuron_monitor_", 15) != 0) {
                fail_msg("a stale page has %.80s", line);
            }
        }
        free(text);
    }
}

/* The vendor's tool lists every core of the machine as in use, with memory only for those of the
 * process. */
static void memory_series_exist_only_for_cores_with_reported_memory(void **state)
{
    static const char line[] =
        "{\"neuron_runtime_data\":[{\"pid\":7,\"neuron_runtime_tag\":\"7\",\"error\":\"\","
        "\"report\":{"
        "\"memory_used\":{\"period\":5,\"neuron_runtime_used_bytes\":{\"host\":4096,\"neuron_"
        "device\":30,"
        "\"usage_breakdown\":{\"host\":{\"application_memory\":4096,\"constants\":0,\"dma_"
        "buffers\":0,"
        "\"tensors\":0},\"neuroncore_memory_usage\":{\"1\":{\"constants\":10,\"model_code\":20,"
        "\"model_shared_scratchpad\":0,\"runtime_memory\":0,\"tensors\":0}}}},\"loaded_models\":[],"
        "\"error\":\"\"},\"neuroncore_counters\":{\"period\":5,\"neuroncores_in_use\":{"
        "\"0\":{\"neuroncore_utilization\":0},\"1\":{\"neuroncore_utilization\":50}},\"error\":"
        "\"\"}}}],"
        "\"system_data\":{},\"instance_info\":{},\"neuron_hardware_info\":{\"neuron_device_count\":"
        "1,"
        "\"neuroncore_per_device_count\":2,\"error\":\"\"}}";
    struct ntk_snapshot *snapshot = NULL;
    unsigned utilization = 0;
    unsigned memory = 0;

    assert_int_equal(ntk_report_read(line, sizeof line - 1, &snapshot, NULL), 0);
    update(snapshot);
    char *text = encode(true);
    for (const char *at = text; (at = strstr(at, "\nneuroncore_")); at++) {
        memory += strncmp(at + 1, "neuroncore_memory", 17) == 0;
        utilization += strncmp(at + 1, "neuroncore_utilization", 22) == 0;
        if (strncmp(at + 1, "neuroncore_memory", 17) == 0) {
            assert_memory_equal(strstr(at, "neuroncore=\""), "neuroncore=\"1\"", 14);
        }
    }
    assert_int_equal(utilization, 2);
    assert_int_equal(memory, 5);
    assert_no(text, "neuron_device_memory_size"); /* which this report does not contain */
    free(text);
}

/* User labels that sort before, among and after the built-in labels. */
static void user_labels_are_on_every_series(void **state)
{
    struct ntk_labels labels = { 0 };

    assert_int_equal(ntk_labels_add(&labels, "zone=z", NULL), 0);
    assert_int_equal(ntk_labels_add(&labels, "node=a7", NULL), 0);
    assert_int_equal(ntk_labels_add(&labels, "aisle=1", NULL), 0);
    page.labels = &labels;
    update(test_sample_snapshot(1));
    char *text = encode(false);
    assert_line(text, "system_vcpu_count{aisle=\"1\",availability_zone=\"\"," I_HEAD
                      "node=\"a7\",region=\"\",subnet_id=\"\",zone=\"z\"} 12");
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        if (line[0] != '#' && (!strstr(line, "aisle=\"1\"") || !strstr(line, "node=\"a7\"") ||
                               !strstr(line, "zone=\"z\""))) {
            fail_msg("no labels: %s", line);
        }
    }
    free(text);
}

static void a_report_group_that_is_not_due_keeps_its_gauges(void **state)
{
    struct ntk_snapshot *snapshot = sample(1);

    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        for (int k = 0; k < NTK_RUNTIME_GROUP_COUNT; k++) {
            snapshot->runtimes[i].group_period_ns[k] = NTK_GROUP_ABSENT;
        }
    }
    update(sample(1));
    update(snapshot);
    char *text = encode(true);
    assert_line(text,
                "execution_status_total{availability_zone=\"\"," I_HEAD
                "region=\"\",runtime_tag=\"" TAG "\",status_type=\"completed\",subnet_id=\"\"} 70");
    assert_line(text, "neuroncore_utilization_ratio{availability_zone=\"\"," I_HEAD
                      "neuroncore=\"1\",region=\"\",runtime_tag=\"" TAG "\",subnet_id=\"\"} 0.375");
    assert_line(text, "neuron_runtime_memory_used_bytes{availability_zone=\"\"," I_HEAD
                      "memory_location=\"host\",region=\"\",runtime_tag=\"" TAG
                      "\",subnet_id=\"\"} 4608");
    free(text);
}

/* Method: sources that were readable in the first period fail in the second. */
static void a_failed_report_group_has_no_gauges(void **state)
{
    static const char *const gone[] = { "system_vcpu_count{", "system_vcpu_usage_ratio{",
                                        "system_memory_used_bytes{",
                                        "neuron_runtime_vcpu_usage_ratio{",
                                        "neurondevice_memory_used_bytes{" };

    update(sample(1));
    char *text = encode(false);
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) {
        assert_non_null(strstr(text, gone[i]));
    }
    free(text);
    struct ntk_snapshot *snapshot = sample(1);
    snapshot->system.has = 0;
    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        snapshot->runtimes[i].has &= ~(uint32_t)NTK_RUNTIME_HAS_CPU;
    }
    for (size_t i = 0; i < snapshot->device_count; i++) {
        snapshot->devices[i].has &= ~(uint32_t)NTK_DEVICE_HAS_MEMORY_USED;
    }
    update(snapshot);
    text = encode(false);
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) {
        assert_no(text, gone[i]);
    }
    free(text);
}

/* Core 3 belongs to the second application; the device of the sample has four cores. */
static void unused_cores_are_shown_at_zero_on_request(void **state)
{
    static const char idle[] = "neuroncore_utilization_ratio{availability_zone=\"\"," I_HEAD
                               "neuroncore=\"2\",region=\"\",runtime_tag=\"\",subnet_id=\"\"} 0";
    static const char idle_memory[] =
        "neuroncore_memory_usage_tensors{availability_zone=\"\"," I_HEAD
        "memory_location=\"None\",neuroncore=\"2\",region=\"\",runtime_tag=\"\",subnet_id=\"\"} 0";
    struct ntk_snapshot *snapshot = sample(1);

    update(snapshot);
    char *text = encode(false);
    assert_no(text, "runtime_tag=\"\"");
    free(text);
    page.fills_zeros = true;
    text = encode(false);
    assert_line(text, idle);
    assert_line(text, idle_memory);
    assert_no(text, "neuroncore=\"1\",region=\"\",runtime_tag=\"\"");
    assert_no(text, "neuroncore=\"4\"");
    free(text);

    snapshot = sample(1); /* an idle machine: all cores */
    snapshot->runtime_count = 0;
    update(snapshot);
    text = encode(true);
    for (int core = 0; core < 4; core++) {
        char line[512];
        snprintf(line, sizeof line,
                 "neuroncore_utilization_ratio{availability_zone=\"\"," I_HEAD
                 "neuroncore=\"%d\",region=\"\",runtime_tag=\"\",subnet_id=\"\"} 0",
                 core);
        assert_line(text, line);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        CASE(counters_accumulate_over_snapshots),
        CASE(ecc_errors_not_counted_by_the_driver_are_exported_as_zero),
        CASE(driver_ecc_totals_and_vendor_period_counts_are_exported),
        CASE(a_stale_page_has_only_metrics_of_the_exporter),
        CASE(memory_series_exist_only_for_cores_with_reported_memory),
        CASE(user_labels_are_on_every_series),
        CASE(a_report_group_that_is_not_due_keeps_its_gauges),
        CASE(a_failed_report_group_has_no_gauges),
        CASE(unused_cores_are_shown_at_zero_on_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
