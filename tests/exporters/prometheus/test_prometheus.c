/* SPDX-License-Identifier: MIT */
/* Method: hand-made snapshots to a page, the page to text; series by their exact lines, the whole
 * by the checker of Prometheus. */
#include "exporters/prometheus/prometheus_encode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exporters/exporter.h"
#include "shared/base/map.h"
#include "shared/report/report_json.h"
#include "tests/support/mixed_snapshot.h"
#include "tests/support/sample_snapshot.h"
#include "tests/support/unit.h"

#define I_HEAD "instance_id=\"\",instance_name=\"\",instance_type=\"trn2.3xlarge\","
#define TAG "bert \\\"serve\\\""

static struct ntk_prometheus_page page;

static int set_up(void **state)
{
    memset(&page, 0, sizeof page);
    return 0;
}

static int tear_down(void **state)
{
    ntk_prometheus_page_fini(&page);
    return 0;
}

/* A machine outside of Kubernetes. */
static struct ntk_snapshot *sample(uint32_t lnc)
{
    struct ntk_snapshot *snapshot = test_sample_snapshot(lnc);

    snapshot->runtimes[0].pod = (struct ntk_pod){ "", "", "" };
    snapshot->k8s.period_ns = NTK_GROUP_ABSENT;
    return snapshot;
}

static void update(struct ntk_snapshot *snapshot)
{
    assert_int_equal(ntk_prometheus_page_update(&page, snapshot), 0);
    ntk_snapshot_destroy(snapshot);
}

/* Freed by the caller. */
static char *encode_as(enum ntk_prometheus_format format, bool vendor_only)
{
    struct ntk_buf buf = { 0 };

    ntk_prometheus_encode(&page, format, vendor_only, &buf);
    assert_true(ntk_buf_ok(&buf));
    return ntk_buf_take(&buf, NULL);
}

static char *encode(bool vendor_only)
{
    return encode_as(NTK_PROMETHEUS_TEXT_0_0_4, vendor_only);
}

static void assert_line(const char *text, const char *line)
{
    size_t length = strlen(line);

    for (const char *at = strstr(text, line); at; at = strstr(at + 1, line)) {
        if ((at == text || at[-1] == '\n') && at[length] == '\n') {
            return;
        }
    }
    fail_msg("no line '%s' in:\n%s", line, text);
}

static void assert_no(const char *text, const char *part)
{
    if (strstr(text, part)) {
        fail_msg("'%s' is in:\n%s", part, text);
    }
}

static void every_family_of_the_vendor_has_its_exact_series(void **state)
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

static void ours_follow_with_histograms_that_are_exact_at_their_edges(void **state)
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
        "neuron_monitor_events_lost_total{availability_zone=\"\"," I_HEAD
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

static void the_outputs_of_the_process_are_told_of(void **state)
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
    page.output_count = 2;
    char *text = encode(false);
    assert_line(text, "# TYPE neuron_monitor_output_items_total counter");
    assert_line(text,
                "neuron_monitor_output_items_total{output=\"remote write\",result=\"lost\"} 3");
    assert_line(text,
                "neuron_monitor_output_items_total{output=\"remote write\",result=\"refused\"} 2");
    assert_line(text,
                "neuron_monitor_output_items_total{output=\"remote write\",result=\"sent\"} 7");
    assert_line(text, "neuron_monitor_output_retries_total{output=\"remote write\"} 4");
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

/* What a device is unhealthy for stands beside its verdict, and goes with it. */
static void the_health_of_a_device_has_reasons_while_it_is_not_well(void **state)
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
    snapshot->devices[0].has &= ~(uint32_t)NTK_DEVICE_HAS_HEALTH; /* nobody judges it */
    update(snapshot);
    text = encode(false);
    assert_no(text, "neuron_device_health_status{");
    free(text);
}

static void counters_add_up_over_snapshots(void **state)
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
    assert_no(text, "repairable"); /* readers of the vendor's page have no name for it */
    free(text);
}

/* The snapshot as a program behind a pipe has it. */
static struct ntk_snapshot *through_a_pipe(struct ntk_snapshot *snapshot)
{
    const struct ntk_report_options options = { 0 };
    struct ntk_snapshot *read = NULL;
    struct ntk_buf line = { 0 };

    assert_int_equal(ntk_report_write(snapshot, &options, &line, NULL), 0);
    assert_int_equal(ntk_report_read(ntk_buf_text_get(&line), line.bytes_count, &read, NULL), 0);
    ntk_buf_fini(&line);
    ntk_snapshot_destroy(snapshot);
    return read;
}

/* As on the first generation. */
static void ecc_that_a_driver_does_not_count_is_zero_as_in_reports(void **state)
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
        ntk_prometheus_page_fini(&page);
    }
}

/* Method: the driver's counter ran ahead of the periods of this page. */
static void ecc_totals_are_the_drivers_and_the_vendors_series_counts_periods(void **state)
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
        ntk_prometheus_page_fini(&page);
    }
}

/* Method: the age as who serves the page sets it. */
static void a_stale_page_tells_of_the_program_alone(void **state)
{
    update(sample(1));
    char *text = encode(false);
    assert_no(text, "neuron_monitor_report_age_seconds{"); /* of a page that is pushed: none */
    free(text);
    page.age = (struct ntk_prometheus_age){ .is_known = true, .seconds = 7.5, .period_seconds = 5 };
    text = encode(false);
    assert_line(text, "neuron_monitor_report_age_seconds{availability_zone=\"\"," I_HEAD
                      "region=\"\",subnet_id=\"\"} 7.5");
    assert_line(text, "neuron_monitor_report_period_seconds{availability_zone=\"\"," I_HEAD
                      "region=\"\",subnet_id=\"\"} 5");
    assert_non_null(strstr(text, "neuroncore_utilization_ratio{"));
    free(text);
    page.age.is_stale = true;
    page.age.seconds = 16;
    ntk_prometheus_page_update_process(&page);
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

/* The vendor's tool lists every core of the machine as in use, and memory of those that the process
 * has. */
static void a_report_that_lists_memory_by_core_has_memory_of_these_cores_only(void **state)
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
    assert_no(text, "neuron_device_memory_size"); /* which this report does not tell */
    free(text);
}

/* Before, among and behind the labels that series have by themselves. */
static void labels_of_the_user_are_on_every_series(void **state)
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

static void a_group_that_is_not_due_keeps_its_gauges_and_counts_nothing(void **state)
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

/* Method: what could be read in the first period fails in the second one. */
static void a_group_that_fails_has_no_gauges_of_before(void **state)
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

static void tell(struct ntk_instance instance, const char *expected)
{
    struct ntk_snapshot *snapshot = sample(1);

    snapshot->instance = instance;
    update(snapshot);
    char *text = encode(true);
    assert_line(text, expected);
    free(text);
}

/* The firmware first, then the metadata service piece by piece, then somebody renames the
 * machine. */
static void labels_of_the_instance_come_late_and_stay(void **state)
{
    struct ntk_instance instance = { "", "", "", "", "", "", "", "", "", "" };

    tell(instance, "system_vcpu_count{availability_zone=\"\",instance_id=\"\",instance_name=\"\","
                   "instance_type=\"trn2.3xlarge\",region=\"\",subnet_id=\"\"} 12");
    instance.id = "i-1";
    instance.zone = "eu-west-1a";
    tell(instance,
         "system_vcpu_count{availability_zone=\"eu-west-1a\",instance_id=\"i-1\","
         "instance_name=\"\",instance_type=\"trn2.3xlarge\",region=\"\",subnet_id=\"\"} 12");
    instance.type = "trn2u.48xlarge";
    instance.region = "eu-west-1";
    instance.subnet_id = "subnet-1";
    instance.name = "one";
    tell(
        instance,
        "system_vcpu_count{availability_zone=\"eu-west-1a\",instance_id=\"i-1\",instance_name="
        "\"one\",instance_type=\"trn2u.48xlarge\",region=\"eu-west-1\",subnet_id=\"subnet-1\"} 12");
    instance = (struct ntk_instance){ "two", "i-2", "t", "z", "", "r", "", "s", "u-1", "" };
    tell(instance,
         "system_vcpu_count{availability_zone=\"eu-west-1a\",instance_id=\"i-1\",instance_"
         "name=\"one\",instance_type=\"trn2u.48xlarge\",region=\"eu-west-1\",subnet_id="
         "\"subnet-1\",ultraserver_id=\"u-1\"} 12");
    instance = (struct ntk_instance){ "", "", "", "", "", "", "", "", "", "" };
    tell(instance,
         "system_vcpu_count{availability_zone=\"eu-west-1a\",instance_id=\"i-1\",instance_"
         "name=\"one\",instance_type=\"trn2u.48xlarge\",region=\"eu-west-1\",subnet_id="
         "\"subnet-1\",ultraserver_id=\"u-1\"} 12");
}

/* Method: an agent that was there before the software machine, which the first application
 * makes. */
static void series_before_the_machine_end_when_it_comes(void **state)
{
    struct ntk_snapshot *snapshot = sample(1);

    snapshot->hardware.instance_type = "";
    snapshot->hardware.device_count = 0;
    snapshot->runtime_count = 0;
    update(snapshot);
    char *text = encode(false);
    assert_line(text,
                "system_vcpu_count{availability_zone=\"\",instance_id=\"\",instance_name=\"\","
                "instance_type=\"\",region=\"\",subnet_id=\"\"} 12");
    free(text);
    update(sample(1));
    text = encode(false);
    assert_no(text, "instance_type=\"\"");
    assert_line(text, "system_vcpu_count{availability_zone=\"\"," I_HEAD
                      "region=\"\",subnet_id=\"\"} 12");
    free(text);
}

static struct ntk_snapshot *sample_without_runtimes(void)
{
    struct ntk_snapshot *snapshot = sample(1);

    snapshot->runtime_count = 0;
    memset(snapshot->outcome, 0, sizeof snapshot->outcome);
    return snapshot;
}

static void gauges_of_a_runtime_go_with_its_last_report_and_its_last_counts_are_told(void **state)
{
    struct ntk_snapshot *snapshot = sample(1);

    page.last_looks = 2;
    update(sample(1));
    snapshot->runtime_count = 1;
    snapshot->runtimes[0].ended = true;
    update(snapshot);
    char *text = encode(false);
    assert_no(text, "neuroncore_utilization_ratio{");
    assert_no(text, "neuron_runtime_memory_used_bytes{");
    assert_line(text, "execution_status_total{availability_zone=\"\"," I_HEAD
                      "region=\"\",runtime_tag=\"" TAG
                      "\",status_type=\"completed\",subnet_id=\"\"} 140");
    free(text);
}

/* A job shorter than a period would have been nowhere. */
static void a_runtime_that_was_in_no_other_report_has_gauges_in_its_last(void **state)
{
    struct ntk_snapshot *snapshot = sample(1);

    update(sample(1)); /* one of the same tag, before */
    snapshot->runtimes[0].ended = true;
    snapshot->runtimes[0].first = true;
    update(snapshot);
    char *text = encode(false);
    assert_non_null(strstr(text, "neuroncore_utilization_ratio{"));
    free(text);
    update(sample_without_runtimes());
    text = encode(false);
    assert_no(text, "neuroncore_utilization_ratio{");
    free(text);
}

static void series_of_a_runtime_go_and_its_counters_come_back_with_its_tag(void **state)
{
    page.last_looks = 2;
    update(sample(1));
    update(sample_without_runtimes());
    char *text = encode(false);
    /* Gauges are gone; the last counts are there until two scrapes had them. */
    assert_no(text, "neuroncore_utilization_ratio{");
    assert_no(text, "neuron_runtime_memory_used_bytes{");
    assert_line(text,
                "execution_status_total{availability_zone=\"\"," I_HEAD
                "region=\"\",runtime_tag=\"" TAG "\",status_type=\"completed\",subnet_id=\"\"} 70");
    assert_non_null(strstr(text, "neuron_execution_latency_seconds_count{"));
    free(text);
    for (int scrape = 0; scrape < 2; scrape++) {
        update(sample_without_runtimes());
        text = encode(false);
        assert_non_null(strstr(text, "runtime_tag"));
        free(text);
        assert_int_equal(ntk_prometheus_page_told(&page), scrape == 1);
    }
    update(sample_without_runtimes());
    text = encode(false);
    assert_no(text, "runtime_tag");
    assert_line(text, "neuron_executions_total{availability_zone=\"\"," I_HEAD
                      "region=\"\",status_type=\"completed\",subnet_id=\"\"} 77");
    free(text);
    update(sample(1));
    text = encode(false);
    assert_line(text, "execution_status_total{availability_zone=\"\"," I_HEAD
                      "region=\"\",runtime_tag=\"" TAG
                      "\",status_type=\"completed\",subnet_id=\"\"} 140");
    free(text);
}

static void what_was_counted_before_is_told_when_a_process_has_its_tag(void **state)
{
    struct ntk_snapshot *totals = sample(1);

    page.last_looks = 2;
    assert_int_equal(ntk_prometheus_page_resume(&page, totals), 0);
    ntk_snapshot_destroy(totals);
    update(sample_without_runtimes());
    char *text = encode(false);
    assert_no(text, "runtime_tag");
    assert_line(text, "neuron_executions_total{availability_zone=\"\"," I_HEAD
                      "region=\"\",status_type=\"completed\",subnet_id=\"\"} 77");
    free(text);
    update(sample(1));
    text = encode(false);
    assert_line(text, "execution_status_total{availability_zone=\"\"," I_HEAD
                      "region=\"\",runtime_tag=\"" TAG
                      "\",status_type=\"completed\",subnet_id=\"\"} 140");
    free(text);
}

static void runtimes_of_one_tag_share_its_series(void **state)
{
    struct ntk_snapshot *snapshot = sample(1);

    snapshot->runtimes[1].tag = snapshot->runtimes[0].tag;
    snapshot->runtimes[1].uid = snapshot->runtimes[0].uid;
    snapshot->runtimes[1].cores[0].core = 1;
    snapshot->runtimes[1].cores[0].utilization = 0.9;
    update(snapshot);
    char *text = encode(false);
    assert_line(text,
                "execution_status_total{availability_zone=\"\"," I_HEAD
                "region=\"\",runtime_tag=\"" TAG "\",status_type=\"completed\",subnet_id=\"\"} 77");
    assert_line(text, "neuroncore_utilization_ratio{availability_zone=\"\"," I_HEAD
                      "neuroncore=\"1\",region=\"\",runtime_tag=\"" TAG "\",subnet_id=\"\"} 0.9");
    free(text);
}

static void a_pod_is_a_label_of_all_that_is_of_a_core_or_an_application(void **state)
{
    static const char *const lines[] = {
        "neuroncore_utilization_ratio{availability_zone=\"\",container_name=\"serve\"," I_HEAD
        "namespace=\"ml\",neuroncore=\"1\",pod_name=\"bert-0\",region=\"\",runtime_tag=\"" TAG
        "\",subnet_id=\"\"} 0.375",
        "execution_status_total{availability_zone=\"\",container_name=\"serve\"," I_HEAD
        "namespace=\"ml\",pod_name=\"bert-0\",region=\"\",runtime_tag=\"" TAG
        "\",status_type=\"completed\",subnet_id=\"\"} 70",
        "neuron_execution_latency_seconds_bucket{availability_zone=\"\",container_name=\"serve"
        "\"," I_HEAD "latency_type=\"total\",le=\"0.001048576\",model_name=\"bert_base.neff\","
        "namespace=\"ml\",pod_name=\"bert-0\",region=\"\",runtime_tag=\"" TAG
        "\",subnet_id=\"\"} 0",
        /* of the machine: who has the core or device */
        "neuroncore_total_utilization_ratio{availability_zone=\"\",container_name=\"serve,side\","
        "" I_HEAD "namespace=\"ml\",neuroncore=\"1\",pod_name=\"bert-0\",region=\"\","
        "subnet_id=\"\"}",
        "hardware_ecc_events_total{availability_zone=\"\",container_name=\"main\",event_type=\"sram"
        "_ecc_corrected\"," I_HEAD "namespace=\"ml\",neuron_device_index=\"0\",pod_name=\"train-0\""
        ",region=\"\",subnet_id=\"\"} 4",
    };
    static const char *const both[] = { "serve", "side" };
    static const char *const one[] = { "main" };
    struct ntk_k8s_owner core = { 1, "bert-0", "ml", both, 2 };
    struct ntk_k8s_owner device = { 0, "train-0", "ml", one, 1 };
    struct ntk_snapshot *snapshot = test_sample_snapshot(1);

    snapshot->k8s = (struct ntk_k8s){ .period_ns = 1,
                                      .error = "",
                                      .cores = &core,
                                      .core_count = 1,
                                      .devices = &device,
                                      .device_count = 1 };
    update(snapshot);
    char *text = encode(false);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (!strstr(text, lines[i])) {
            fail_msg("no '%s' in:\n%.9000s", lines[i], text);
        }
    }
    free(text);

    /* The core was given back. */
    snapshot = test_sample_snapshot(1);
    snapshot->k8s = (struct ntk_k8s){ .period_ns = 1, .error = "" };
    update(snapshot);
    text = encode(false);
    assert_no(text, "train-0");
    assert_no(text, "serve,side");
    free(text);
}

static void two_users_with_one_tag_have_series_of_their_own(void **state)
{
    struct ntk_snapshot *snapshot = sample(1);

    snapshot->runtimes[1].tag = snapshot->runtimes[0].tag;
    snapshot->runtimes[1].uid = snapshot->runtimes[0].uid + 1;
    snapshot->runtimes[1].user = "mallory";
    update(snapshot);
    char *text = encode(false);
    assert_line(text,
                "execution_status_total{availability_zone=\"\"," I_HEAD
                "region=\"\",runtime_tag=\"" TAG "\",status_type=\"completed\",subnet_id=\"\"} 70");
    assert_line(text, "execution_status_total{availability_zone=\"\"," I_HEAD
                      "region=\"\",runtime_tag=\"" TAG
                      "\",status_type=\"completed\",subnet_id=\"\",user=\"mallory\"} 7");
    free(text);
}

static void two_pods_with_one_tag_have_series_of_their_own(void **state)
{
    struct ntk_snapshot *snapshot = test_sample_snapshot(1);

    snapshot->runtimes[1].tag = snapshot->runtimes[0].tag;
    snapshot->runtimes[1].pod = (struct ntk_pod){ "bert-1", "ml", "serve" };
    update(snapshot);
    char *text = encode(false);
    assert_line(text, "execution_status_total{availability_zone=\"\",container_name=\"serve"
                      "\"," I_HEAD "namespace=\"ml\",pod_name=\"bert-0\",region=\"\","
                      "runtime_tag=\"" TAG "\",status_type=\"completed\",subnet_id=\"\"} 70");
    assert_line(text, "execution_status_total{availability_zone=\"\",container_name=\"serve"
                      "\"," I_HEAD "namespace=\"ml\",pod_name=\"bert-1\",region=\"\","
                      "runtime_tag=\"" TAG "\",status_type=\"completed\",subnet_id=\"\"} 7");
    free(text);
    /* One of them ends; the other goes on. */
    snapshot = test_sample_snapshot(1);
    snapshot->runtime_count = 1;
    update(snapshot);
    text = encode(false);
    assert_no(text, "bert-1");
    assert_line(text, "execution_status_total{availability_zone=\"\",container_name=\"serve"
                      "\"," I_HEAD "namespace=\"ml\",pod_name=\"bert-0\",region=\"\","
                      "runtime_tag=\"" TAG "\",status_type=\"completed\",subnet_id=\"\"} 140");
    free(text);
}

static void applications_of_one_tag_stand_apart_by_pid_when_asked(void **state)
{
    struct ntk_snapshot *snapshot = sample(1);
    uint32_t pid[] = { snapshot->runtimes[0].pid, snapshot->runtimes[1].pid };
    char line[512];

    page.has_pid_label = true;
    snapshot->runtimes[1].tag = snapshot->runtimes[0].tag;
    update(snapshot);
    char *text = encode(false);
    for (size_t i = 0; i < 2; i++) {
        snprintf(line, sizeof line,
                 "execution_status_total{availability_zone=\"\"," I_HEAD
                 "pid=\"%u\",region=\"\",runtime_tag=\"" TAG
                 "\",status_type=\"completed\",subnet_id=\"\"} %d",
                 pid[i], i == 0 ? 70 : 7);
        assert_line(text, line);
    }
    free(text);
}

/* Core 3 is the second application's; the sample's device has four. */
static void cores_that_nobody_uses_are_shown_at_zero_when_asked(void **state)
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

    snapshot = sample(1); /* an idle machine: all of them */
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

static void no_series_stands_twice(void **state)
{
    struct ntk_map seen = { 0 };
    struct ntk_snapshot *snapshot = sample(2);

    snapshot->runtimes[1].tag = snapshot->runtimes[0].tag;
    snapshot->runtimes[1].models = snapshot->runtimes[0].models;
    snapshot->runtimes[1].model_count = snapshot->runtimes[0].model_count;
    struct ntk_efa_port *ports = ntk_snapshot_alloc_efa_ports(snapshot, 3);
    for (uint32_t i = 0; i < 3; i++) {
        ports[i] = (struct ntk_efa_port){ .device = "rdmap0s6", .port = i / 2, .has = 1 };
    }
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

static void hostile_texts_cannot_break_the_page(void **state)
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

/* Method: the tag table is filled beyond its bound by tags that come and go. */
static void ended_tags_are_forgotten_oldest_first(void **state)
{
    for (int i = 0; i < NTK_PROMETHEUS_TAGS_MAX + 10; i++) {
        struct ntk_snapshot *snapshot = test_idle_snapshot();
        struct ntk_runtime_sample *runtime = ntk_snapshot_alloc_runtimes(snapshot, 1);
        runtime->has = NTK_RUNTIME_HAS_EXECUTIONS;
        runtime->tag = ntk_snapshot_format(snapshot, "tag-%d", i);
        update(snapshot);
    }
    assert_int_equal(page.tags.count, NTK_PROMETHEUS_TAGS_MAX);
    assert_null(ntk_map_get(&page.tags, "tag-9\n\n\n\n\n0"));
    assert_non_null(ntk_map_get(&page.tags, "tag-10\n\n\n\n\n0"));
}

/* Applications with these tags, 10 executions each. */
static void update_tags(const char *const *tags, size_t count)
{
    struct ntk_snapshot *snapshot = test_idle_snapshot();
    struct ntk_runtime_sample *runtimes = ntk_snapshot_alloc_runtimes(snapshot, count);

    for (size_t i = 0; i < count; i++) {
        runtimes[i].has = NTK_RUNTIME_HAS_EXECUTIONS;
        runtimes[i].tag = tags[i];
        runtimes[i].outcome[NTK_OUTCOME_COMPLETED].period = 10;
    }
    update(snapshot);
}

static void assert_completed(const char *tag, const char *value)
{
    char *text = encode(false);
    char part[128];

    snprintf(part, sizeof part, "runtime_tag=\"%s\",status_type=\"completed\",subnet_id=\"\"} %s\n",
             tag, value);
    if (!strstr(text, part)) {
        fail_msg("'%s' is not in:\n%s", part, text);
    }
    free(text);
}

static void assert_others(const char *value)
{
    char *text = encode(false);
    const char *line = strstr(text, "\nneuron_monitor_other_applications{");

    assert_non_null(line);
    assert_int_equal(strncmp(strchr(line + 1, '}') + 2, value, strlen(value)), 0);
    free(text);
}

static void applications_beyond_the_bound_share_series_and_are_counted(void **state)
{
    static const char *const first[] = { "a", "b", "c", "d", "d", "e" };
    static const char *const then[] = { "b", "c", "d", "d", "e" };

    page.application_max = 2;
    update_tags(first, 6);
    assert_completed("a", "10");
    assert_completed("b", "10");
    assert_completed(NTK_EXPORTER_OTHER, "40");
    assert_others("3\n");
    update_tags(then, 5); /* a is over: the oldest of the rest has its place in the next one */
    assert_completed(NTK_EXPORTER_OTHER, "80");
    update_tags(then, 5);
    assert_completed("b", "30");
    assert_completed("c", "10");
    assert_completed(NTK_EXPORTER_OTHER, "110"); /* counters go on */
    assert_others("2\n");
    char *text = encode(false);
    assert_no(text, "runtime_tag=\"d\"");
    free(text);
}

#define OTHER_COMPLETED "runtime_tag=\"" NTK_EXPORTER_OTHER "\",status_type=\"completed\""

/* Series appear once, or Prometheus drops one of the two. */
static void an_application_called_as_the_rest_is_of_the_rest(void **state)
{
    static const char *const tags[] = { NTK_EXPORTER_OTHER, "a", "b", "c" };

    page.application_max = 2;
    update_tags(tags, 4);
    assert_completed("a", "10");
    assert_completed("b", "10");
    assert_completed(NTK_EXPORTER_OTHER, "20");
    assert_others("2\n");
    char *text = encode(false);
    unsigned count = 0;
    for (const char *line = text; (line = strstr(line, "\nexecution_status_total{")); line++) {
        const char *end = strchr(line + 1, '\n');
        count +=
            memmem(line, (size_t)(end - line), OTHER_COMPLETED, strlen(OTHER_COMPLETED)) != NULL;
    }
    assert_int_equal(count, 1);
    free(text);
}

/* promtool knows one finding: the vendor's own name system_vcpu_count. */
static void the_checker_of_prometheus_finds_nothing(void **state)
{
    if (system("command -v promtool >/dev/null 2>&1") != 0) {
        skip();
    }
    update(sample(2));
    ntk_prometheus_page_update_process(&page);
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

/* The samples are those of the older text; families have other names and types, a counter's
 * beginning stands behind it, and the page ends. */
static void openmetrics_says_the_same(void **state)
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

static void the_machine_may_come_in_parts(void **state)
{
    struct ntk_snapshot *snapshot = sample(1);
    uint32_t core_count = snapshot->hardware.cores_per_device;

    snapshot->hardware.cores_per_device = 0;
    assert_int_equal(ntk_prometheus_page_update(&page, snapshot), 0);
    char *text = encode(false);
    assert_no(text, "neuron_hardware_info");
    free(text);
    snapshot->hardware.cores_per_device = core_count;
    update(snapshot);
    text = encode(false);
    if (!strstr(text, "neuroncore_per_device_count=\"4\"")) {
        fail_msg("the machine is not told:\n%s", text);
    }
    free(text);
}

/* The line of the name with all of the labels; NULL: there is none. */
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

/* Method: three processes, watched in three ways; what nobody knows of two of them is poison. */
static void what_hooks_around_calls_do_not_know_has_no_series(void **state)
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
          { "cores_guessed=\"false\",executions_counted=\"true\",hooks=\"built-in\"", "\"ours\"" },
          true },
        { "neuron_runtime_hooks_info", { "hooks=\"preloaded\"", "\"preloaded\"" }, true },
        { "neuron_runtime_hooks_info",
          { "cores_guessed=\"true\",executions_counted=\"false\",hooks=\"attached\"",
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

    /* What was counted before the hooks gave up is no total. */
    struct ntk_snapshot *given_up = test_mixed_snapshot();
    given_up->runtimes[MIXED_PRELOADED].no_executions = true;
    given_up->runtimes[MIXED_PRELOADED].partial_executions = true;
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
                  (const char *const[2]){ "executions_counted=\"partly\"", "\"preloaded\"" }));
    free(text);

    /* Nor is a core idle that nobody times. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        CASE(every_family_of_the_vendor_has_its_exact_series),
        CASE(ours_follow_with_histograms_that_are_exact_at_their_edges),
        CASE(what_hooks_around_calls_do_not_know_has_no_series),
        CASE(the_outputs_of_the_process_are_told_of),
        CASE(the_health_of_a_device_has_reasons_while_it_is_not_well),
        CASE(counters_add_up_over_snapshots),
        CASE(a_group_that_is_not_due_keeps_its_gauges_and_counts_nothing),
        CASE(a_group_that_fails_has_no_gauges_of_before),
        CASE(labels_of_the_instance_come_late_and_stay),
        CASE(series_before_the_machine_end_when_it_comes),
        CASE(labels_of_the_user_are_on_every_series),
        CASE(ecc_that_a_driver_does_not_count_is_zero_as_in_reports),
        CASE(ecc_totals_are_the_drivers_and_the_vendors_series_counts_periods),
        CASE(a_stale_page_tells_of_the_program_alone),
        CASE(a_report_that_lists_memory_by_core_has_memory_of_these_cores_only),
        CASE(gauges_of_a_runtime_go_with_its_last_report_and_its_last_counts_are_told),
        CASE(a_runtime_that_was_in_no_other_report_has_gauges_in_its_last),
        CASE(series_of_a_runtime_go_and_its_counters_come_back_with_its_tag),
        CASE(what_was_counted_before_is_told_when_a_process_has_its_tag),
        CASE(runtimes_of_one_tag_share_its_series),
        CASE(a_pod_is_a_label_of_all_that_is_of_a_core_or_an_application),
        CASE(two_users_with_one_tag_have_series_of_their_own),
        CASE(two_pods_with_one_tag_have_series_of_their_own),
        CASE(applications_of_one_tag_stand_apart_by_pid_when_asked),
        CASE(cores_that_nobody_uses_are_shown_at_zero_when_asked),
        CASE(no_series_stands_twice),
        CASE(hostile_texts_cannot_break_the_page),
        CASE(applications_beyond_the_bound_share_series_and_are_counted),
        CASE(an_application_called_as_the_rest_is_of_the_rest),
        CASE(ended_tags_are_forgotten_oldest_first),
        CASE(the_checker_of_prometheus_finds_nothing),
        CASE(openmetrics_says_the_same),
        CASE(the_machine_may_come_in_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
