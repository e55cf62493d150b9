/* SPDX-License-Identifier: MIT */
/* Method: snapshots to requests, parsed again; bounds of the service. */
#include "exporters/cloudwatch/cloudwatch.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/cloudwatch/cloudwatch_request.h"
#include "exporters/points/points_page.h"
#include "exporters/points/points_walk.h"
#include "shared/metrics/snapshot.h"
#include "tests/exporters/cloudwatch/cloudwatch_sent.h"
#include "tests/support/sample_snapshot.h"
#include "tests/support/mixed_snapshot.h"
#include "tests/support/unit.h"

static void every_report_group_is_sent_as_its_metrics(void **state)
{
    struct ntk_cloudwatch_data data = { 0 };
    struct ntk_snapshot *snapshot = test_cloudwatch_sample(1);
    const struct ntk_runtime_sample *runtime = &snapshot->runtimes[0];
    const struct ntk_core_sample *core = &runtime->cores[0];
    double seconds = (double)snapshot->period_ns / 1e9;
    uint64_t host = 0;
    uint64_t device = 0;
    char base[200];
    char tagged[250];
    char text[TEST_CLOUDWATCH_TEXT_BYTES];

    for (int i = 0; i < 3; i++) {
        test_cloudwatch_encode(&data, snapshot);
    }
    struct test_cloudwatch_sent sent = test_cloudwatch_request(&data);
    snprintf(base, sizeof base, "InstanceId=i-1;InstanceType=trn2.3xlarge;");
    snprintf(tagged, sizeof tagged, "%sRuntimeTag=%s;", base, runtime->tag);
    snprintf(text, sizeof text, "%sNeuronCore=%u;", tagged, core->core);
    test_cloudwatch_assert_sum(&sent, "NeuronCoreUtilization", text, 3 * core->utilization * 100,
                               3);
    test_cloudwatch_assert_sum(&sent, "NeuronCoreFlops", text,
                               3 * (double)core->effective_flops.period / seconds, 3);
    test_cloudwatch_assert_sum(&sent, "NeuronCoreHbmReadBytes", text,
                               3 * (double)core->hbm_read_bytes.period / seconds, 3);
    test_cloudwatch_assert_sum(&sent, "NeuronCoreHbmWrittenBytes", text,
                               3 * (double)core->hbm_written_bytes.period / seconds, 3);
    test_cloudwatch_assert_sum(&sent, "NeuronCoreDmaBytes", text,
                               3 * (double)core->dma_bytes.period / seconds, 3);
    ntk_snapshot_memory_add(runtime, NTK_MEMORY_ANY, NTK_MEMORY_ANY, NULL, &host, &device);
    snprintf(text, sizeof text, "%sMemoryLocation=neuron_device;", tagged);
    test_cloudwatch_assert_sum(&sent, "RuntimeMemoryUsed", text, 3 * (double)device, 3);
    snprintf(text, sizeof text, "%sNeuronCore=0;MemoryType=constants;", tagged);
    test_cloudwatch_assert_sum(&sent, "NeuronCoreMemoryUsed", text, 3 * 65536, 3);
    snprintf(text, sizeof text, "%sUsageType=user;", tagged);
    test_cloudwatch_assert_sum(&sent, "RuntimeVcpuUsage", text, 3 * runtime->vcpu_user * 100, 3);
    snprintf(text, sizeof text, "%sStatusType=completed;", tagged);
    test_cloudwatch_assert_sum(&sent, "ExecutionStatus", text,
                               3 * (double)runtime->outcome[NTK_OUTCOME_COMPLETED].period, 3);
    snprintf(text, sizeof text, "%sErrorType=hardware;", tagged);
    test_cloudwatch_assert_sum(&sent, "ExecutionErrors", text,
                               3 * (double)runtime->error_class[NTK_ERROR_HARDWARE].period, 3);
    test_cloudwatch_assert_sum(&sent, "SystemMemoryTotal", base,
                               3 * (double)snapshot->system.memory_total_bytes, 3);
    /* Each execution counts once in the series without a percentile. */
    double count;
    snprintf(text, sizeof text, "%sLatencyType=total_latency;", tagged);
    (void)test_cloudwatch_sum(&sent, "ExecutionLatency", text, &count);
    assert_true(count > 0);
    assert_true(count == 3 * (double)runtime->total_latency.count);
    snprintf(text, sizeof text, "%sLatencyType=total_latency;Percentile=p99;", tagged);
    (void)test_cloudwatch_sum(&sent, "ExecutionLatency", text, &count);
    assert_true(count == 3);
    snprintf(text, sizeof text, "%sNeuronDevice=0;EventType=mem_ecc_corrected;", base);
    test_cloudwatch_assert_sum(&sent, "HardwareEccEvents", text,
                               3 * (double)snapshot->devices[0].ecc[NTK_ECC_MEM_CORRECTED].period,
                               3);
    json_decref(sent.metrics);
    ntk_cloudwatch_data_fini(&data);
    ntk_snapshot_destroy(snapshot);
}

/* Sixteen devices, one of them with an event. */
static void memory_errors_are_sent_as_five_metrics_and_one_per_kind(void **state)
{
    struct ntk_cloudwatch_data data = { 0 };
    struct ntk_snapshot *snapshot = test_cloudwatch_sample(1);
    struct ntk_device_sample devices[16];
    unsigned metric_count = 0;
    unsigned health_count = 0;

    for (uint32_t i = 0; i < 16; i++) {
        devices[i] = snapshot->devices[0];
        devices[i].index = i;
        memset(devices[i].ecc, 0, sizeof devices[i].ecc);
        if (i != 7) { /* one of them is not healthy */
            devices[i].verdict = NTK_HEALTH_HEALTHY;
            devices[i].health_count = 0;
        }
    }
    devices[7].ecc[NTK_ECC_SRAM_UNCORRECTED].period = 2;
    snapshot->devices = devices;
    snapshot->device_count = 16;
    test_cloudwatch_encode(&data, snapshot);
    struct test_cloudwatch_sent sent = test_cloudwatch_request(&data);
    for (size_t i = 0; i < json_array_size(sent.metrics); i++) {
        const json_t *name = json_object_get(json_array_get(sent.metrics, i), "MetricName");
        metric_count += strcmp(json_string_value(name), "HardwareEccEvents") == 0;
        health_count += strncmp(json_string_value(name), "NeuronDevice", 12) == 0;
    }
    assert_int_equal(health_count, 2);
    assert_int_equal(metric_count, NTK_ECC_COUNT + 1);
#define BASE "InstanceId=i-1;InstanceType=trn2.3xlarge;"
    test_cloudwatch_assert_sum(&sent, "HardwareEccEvents", BASE "EventType=sram_ecc_uncorrected;",
                               2, 1);
    test_cloudwatch_assert_sum(&sent, "HardwareEccEvents",
                               BASE "NeuronDevice=7;EventType=sram_ecc_uncorrected;", 2, 1);
    test_cloudwatch_assert_sum(&sent, "HardwareEccEvents", BASE "EventType=mem_ecc_corrected;", 0,
                               1);
    test_cloudwatch_assert_sum(&sent, "NeuronDevicesUnhealthy", BASE, 1, 1);
    test_cloudwatch_assert_sum(&sent, "NeuronDeviceHealth",
                               BASE "NeuronDevice=7;Reason=component_other;", 2, 1);
#undef BASE
    json_decref(sent.metrics);
    ntk_cloudwatch_data_fini(&data);
    ntk_snapshot_destroy(snapshot);
}

static void hosts_outside_ec2_are_distinguished_by_name(void **state)
{
    struct ntk_cloudwatch_data data = { 0 };
    struct ntk_snapshot *snapshot = test_cloudwatch_sample(1);

    snapshot->instance.id = "";
    test_cloudwatch_encode(&data, snapshot);
    snapshot->host_name = "other";
    test_cloudwatch_encode(&data, snapshot);
    struct test_cloudwatch_sent sent = test_cloudwatch_request(&data);
    double bytes = (double)snapshot->system.memory_total_bytes;
    test_cloudwatch_assert_sum(&sent, "SystemMemoryTotal",
                               "HostName=box;InstanceType=trn2.3xlarge;", bytes, 1);
    test_cloudwatch_assert_sum(&sent, "SystemMemoryTotal",
                               "HostName=other;InstanceType=trn2.3xlarge;", bytes, 1);
    json_decref(sent.metrics);
    ntk_cloudwatch_data_fini(&data);
    ntk_snapshot_destroy(snapshot);
}

static void assert_taken(const char *name)
{
    struct ntk_labels labels = { 0 };
    struct ntk_err err = { 0 };
    char text[128];

    (void)snprintf(text, sizeof text, "%s=x", name);
    if (ntk_labels_add(&labels, text, &err) != -EINVAL &&
        ntk_cloudwatch_labels_check(&labels, &err) != -EINVAL) {
        fail_msg("%s is allowed", name);
    }
}

/* Lines have metrics, dimensions and labels as keys of one object. */
static void a_user_label_cannot_have_the_name_of_a_metric_or_dimension(void **state)
{
    struct ntk_labels labels = { .count = 1, .rows = { { "team", "ml" } } };
    struct ntk_cloudwatch_data data = { 0 };
    struct ntk_snapshot *snapshot = test_cloudwatch_sample(1);

    test_cloudwatch_encode(&data, snapshot);
    snapshot->instance.id = "";
    snapshot->runtimes[0].uid++; /* the same tag of another user */
    test_cloudwatch_encode(&data, snapshot);
    ntk_map_each(entry, &data.series) {
        const struct ntk_cloudwatch_series *series = entry->value;

        for (size_t i = 0; i < series->dimension_count; i++) {
            assert_taken(series->dimensions[i].name);
        }
    }
    for (int i = 0; i < NTK_CLOUDWATCH_METRIC_COUNT; i++) {
        assert_taken(ntk_cloudwatch_metric_get((enum ntk_cloudwatch_metric)i).name);
    }
    assert_taken("_aws");
    assert_int_equal(ntk_cloudwatch_labels_check(&labels, NULL), 0);
    ntk_cloudwatch_data_fini(&data);
    ntk_snapshot_destroy(snapshot);
}

static void runtimes_with_one_tag_share_a_series(void **state)
{
    struct ntk_cloudwatch_data one = { 0 };
    struct ntk_cloudwatch_data two = { 0 };
    struct ntk_snapshot *snapshot = test_cloudwatch_sample(2);
    double count[2];
    char text[TEST_CLOUDWATCH_TEXT_BYTES];

    test_cloudwatch_encode(&one, snapshot);
    snapshot->runtimes[1] = snapshot->runtimes[0];
    test_cloudwatch_encode(&two, snapshot);
    struct test_cloudwatch_sent first = test_cloudwatch_request(&one);
    struct test_cloudwatch_sent second = test_cloudwatch_request(&two);
    const char *names[] = { "ExecutionStatus", "StatusType=completed;", "NeuronCoreUtilization",
                            "NeuronCore=0;" };
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text, "InstanceId=%s;InstanceType=%s;RuntimeTag=%s;%s",
                 snapshot->instance.id, snapshot->instance.type, snapshot->runtimes[0].tag,
                 names[2 * i + 1]);
        double alone = test_cloudwatch_sum(&first, names[2 * i], text, &count[0]);
        double both = test_cloudwatch_sum(&second, names[2 * i], text, &count[1]);
        assert_true(alone > 0 && count[0] == 1 && count[1] == 1);
        assert_true(both == (i == 0 ? 2 : 1) * alone); /* counts add up, shares do not */
    }
    json_decref(first.metrics);
    json_decref(second.metrics);
    ntk_cloudwatch_data_fini(&one);
    ntk_cloudwatch_data_fini(&two);
    ntk_snapshot_destroy(snapshot);
}

static void values_that_the_service_rejects_are_omitted(void **state)
{
    struct ntk_cloudwatch_data data = { 0 };
    struct ntk_snapshot *snapshot = test_cloudwatch_sample(1);
    char text[TEST_CLOUDWATCH_TEXT_BYTES];
    double count;

    snapshot->instance.id = snapshot->host_name = "";
    snapshot->instance.type = "  ";
    snapshot->runtimes[0].tag = "t\xc3\xa4g\n";
    snapshot->runtimes[0].vcpu_user = (double)NAN;
    snapshot->runtimes[0].vcpu_system = (double)INFINITY;
    snapshot->runtimes[0].cores[0].utilization = 0x1p360;
    test_cloudwatch_encode(&data, snapshot);
    struct test_cloudwatch_sent sent = test_cloudwatch_request(&data);
    (void)test_cloudwatch_sum(&sent, "RuntimeVcpuUsage", "RuntimeTag=t??g?;UsageType=user;",
                              &count);
    assert_true(count == 0);
    (void)test_cloudwatch_sum(&sent, "RuntimeVcpuUsage", "RuntimeTag=t??g?;UsageType=system;",
                              &count);
    assert_true(count == 0);
    (void)test_cloudwatch_sum(&sent, "NeuronCoreUtilization", "RuntimeTag=t??g?;NeuronCore=0;",
                              &count);
    assert_true(count == 0);
    snprintf(text, sizeof text, "RuntimeTag=t??g?;StatusType=completed;");
    (void)test_cloudwatch_sum(&sent, "ExecutionStatus", text, &count);
    assert_true(count == 1);
    json_decref(sent.metrics);
    ntk_cloudwatch_data_fini(&data);
    ntk_snapshot_destroy(snapshot);
}

static void requests_within_the_size_limits_contain_every_value(void **state)
{
    struct ntk_cloudwatch_data data = { 0 };
    struct ntk_snapshot *snapshot = test_idle_snapshot();
    double bytes_sum = 0;
    enum { TAGS = 700, ROUNDS = 400 };
    static struct ntk_runtime_sample runtimes[TAGS];
    static char tags[TAGS][1500];
    double count;

    for (int i = 0; i < TAGS; i++) {
        memset(tags[i], 'x', sizeof tags[i] - 1);
        snprintf(tags[i], sizeof tags[i], "%d", i);
        tags[i][strlen(tags[i])] = '"'; /* long, and even longer as JSON */
        runtimes[i] =
            (struct ntk_runtime_sample){ .has = NTK_RUNTIME_HAS_CPU, .tag = tags[i], .user = "" };
        for (int k = 0; k < NTK_RUNTIME_GROUP_COUNT; k++) {
            runtimes[i].group_period_ns[k] = NTK_GROUP_ABSENT;
        }
        runtimes[i].group_period_ns[NTK_RUNTIME_GROUP_CPU] = 0;
    }
    snapshot->runtime_count = 1;
    snapshot->group_period_ns[NTK_SYSTEM_GROUP_MEMORY] = NTK_GROUP_ABSENT;
    for (int i = 0; i < TAGS; i++) {
        snapshot->runtimes = &runtimes[i];
        test_cloudwatch_encode(&data, snapshot);
        ntk_points_page_fini(data.page); /* as if it were a separate step: all have series */
        free(data.page);
        data.page = NULL;
    }
    snapshot->runtime_count = 0;
    snapshot->system.has = NTK_SYSTEM_HAS_MEMORY;
    snapshot->group_period_ns[NTK_SYSTEM_GROUP_MEMORY] = 0;
    for (int i = 0; i < ROUNDS; i++) {
        snapshot->system.memory_used_bytes = 1000 + (uint64_t)i;
        bytes_sum += 1000.0 + i;
        test_cloudwatch_encode(&data, snapshot);
    }
    struct test_cloudwatch_sent sent = test_cloudwatch_request(&data);
    assert_true(sent.most_metrics <= NTK_CLOUDWATCH_REQUEST_METRICS_MAX);
    assert_true(sent.largest_bytes <= NTK_CLOUDWATCH_REQUEST_BYTES_MAX);
    assert_true(sent.request_count >= 2);
    assert_true(json_array_size(sent.metrics) >= 2 * TAGS);
    for (size_t i = 0; i < json_array_size(sent.metrics); i++) {
        const json_t *list = json_object_get(json_array_get(sent.metrics, i), "Dimensions");
        for (size_t k = 0; k < json_array_size(list); k++) {
            assert_true(json_string_length(json_object_get(json_array_get(list, k), "Value")) <=
                        NTK_CLOUDWATCH_DIMENSION_BYTES_MAX);
        }
    }
    char base[TEST_CLOUDWATCH_TEXT_BYTES];
    test_cloudwatch_dimensions(json_array_get(sent.metrics, json_array_size(sent.metrics) - 1),
                               base);
    double sum = test_cloudwatch_sum(&sent, "SystemMemoryUsed", base, &count);
    assert_true(count >= ROUNDS && count <= ROUNDS + 1);
    assert_true(sum >= bytes_sum);
    json_decref(sent.metrics);
    ntk_cloudwatch_data_fini(&data);
    snapshot->runtimes = NULL;
    ntk_snapshot_destroy(snapshot);
}
/* Method: three processes, watched in three ways; the unknown values of two are filled with
 * poison. */
static void values_unknown_to_hooks_have_no_metric(void **state)
{
    struct ntk_cloudwatch_data data = { 0 };
    struct ntk_snapshot *snapshot = test_mixed_snapshot();
    size_t memory_types = 0;
    size_t hosts = 0;

    (void)state;
    test_cloudwatch_encode(&data, snapshot);
    struct test_cloudwatch_sent sent = test_cloudwatch_request(&data);
    char *text = json_dumps(sent.metrics, 0);
    assert_null(strstr(text, "666000666"));
    for (size_t i = 0; i < json_array_size(sent.metrics); i++) {
        char dimensions[TEST_CLOUDWATCH_TEXT_BYTES];

        test_cloudwatch_dimensions(json_array_get(sent.metrics, i), dimensions);
        hosts += strstr(dimensions, "MemoryLocation=host") != NULL;
        memory_types += strstr(dimensions, "MemoryType=") != NULL;
        assert_false(strstr(dimensions, "MemoryType=constants") &&
                     !strstr(dimensions, "NeuronCore=0;"));
    }
    assert_true(memory_types > 0);
    assert_int_equal(hosts, 2); /* the attached one has no source for that */
    free(text);
    json_decref(sent.metrics);
    ntk_cloudwatch_data_fini(&data);
    ntk_snapshot_destroy(snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_report_group_is_sent_as_its_metrics),
        cmocka_unit_test(values_unknown_to_hooks_have_no_metric),
        cmocka_unit_test(a_user_label_cannot_have_the_name_of_a_metric_or_dimension),
        cmocka_unit_test(memory_errors_are_sent_as_five_metrics_and_one_per_kind),
        cmocka_unit_test(hosts_outside_ec2_are_distinguished_by_name),
        cmocka_unit_test(runtimes_with_one_tag_share_a_series),
        cmocka_unit_test(values_that_the_service_rejects_are_omitted),
        cmocka_unit_test(requests_within_the_size_limits_contain_every_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
