/* SPDX-License-Identifier: MIT */
/* Method: snapshots to requests and lines, which are parsed again; limits of the service; and how
 * responses are interpreted. */
#include "exporters/cloudwatch/cloudwatch.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/cloudwatch/cloudwatch_emf.h"
#include "exporters/cloudwatch/cloudwatch_gather.h"
#include "exporters/cloudwatch/cloudwatch_request.h"
#include "exporters/exporter.h"
#include "exporters/points/points_page.h"
#include "exporters/points/points_walk.h"
#include "shared/base/fs.h"
#include "shared/metrics/snapshot.h"
#include "tests/support/mixed_snapshot.h"
#include "tests/support/page.h"
#include "tests/support/sample_snapshot.h"
#include "tests/support/unit.h"

#define MINUTE_MS UINT64_C(1700000040000) /* a full minute */
#define TEXT_BYTES 400
#define MANUAL_COLUMNS 78

/* All requests of a test as a single list of metrics. */
struct sent {
    json_t *metrics;
    size_t request_count;
    size_t largest_bytes;
    size_t most_metrics;
};

static int keep(struct ntk_buf *body, uint64_t metric_count, void *ctx, struct ntk_err *err)
{
    struct sent *sent = ctx;
    json_error_t said;
    json_t *root = json_loadb(body->bytes, body->bytes_count, 0, &said);

    (void)err;
    assert_non_null(root);
    assert_string_equal(json_string_value(json_object_get(root, "Namespace")), "N/\"1");
    json_t *metrics = json_object_get(root, "MetricData");
    assert_int_equal(json_array_size(metrics), metric_count);
    sent->request_count++;
    sent->largest_bytes =
        body->bytes_count > sent->largest_bytes ? body->bytes_count : sent->largest_bytes;
    sent->most_metrics = metric_count > sent->most_metrics ? metric_count : sent->most_metrics;
    sent->metrics = sent->metrics ? sent->metrics : json_array();
    json_array_extend(sent->metrics, metrics);
    json_decref(root);
    return 0;
}

static struct sent request(struct ntk_cloudwatch_data *data)
{
    struct sent sent = { 0 };
    const struct ntk_cloudwatch_request_options options = {
        .namespace_name = "N/\"1", .time_ms = MINUTE_MS, .emit = keep, .ctx = &sent
    };
    struct ntk_err err = { 0 };

    ntk_cloudwatch_data_sort(data);
    assert_int_equal(ntk_cloudwatch_request(data, &options, &err), 0);
    return sent;
}

static struct ntk_snapshot *sample(uint32_t lnc)
{
    struct ntk_snapshot *snapshot = test_sample_snapshot(lnc);

    snapshot->instance.id = "i-1";
    snapshot->instance.type = "trn2.3xlarge";
    return snapshot;
}

static void encode(struct ntk_cloudwatch_data *data, const struct ntk_snapshot *snapshot)
{
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_cloudwatch_encode(data, snapshot, NTK_CLOUDWATCH_ALL, &err), 0);
}

/* "InstanceId=i;..." of a metric. */
static void dimensions_of(const json_t *metric, char text[TEXT_BYTES])
{
    const json_t *list = json_object_get(metric, "Dimensions");
    size_t length = 0;

    text[0] = '\0';
    for (size_t i = 0; i < json_array_size(list) && length < TEXT_BYTES; i++) {
        const json_t *pair = json_array_get(list, i);
        length += (size_t)snprintf(text + length, TEXT_BYTES - length, "%s=%s;",
                                   json_string_value(json_object_get(pair, "Name")),
                                   json_string_value(json_object_get(pair, "Value")));
    }
}

/* Sum and number of the values sent with this name and dimensions. */
static double sum_of(const struct sent *sent, const char *name, const char *dimensions,
                     double *out_count)
{
    double sum = 0;
    *out_count = 0;

    for (size_t i = 0; i < json_array_size(sent->metrics); i++) {
        const json_t *metric = json_array_get(sent->metrics, i);
        char text[TEXT_BYTES];
        dimensions_of(metric, text);
        if (strcmp(json_string_value(json_object_get(metric, "MetricName")), name) != 0 ||
            strcmp(text, dimensions) != 0) {
            continue;
        }
        const json_t *value = json_object_get(metric, "Value");
        const json_t *values = json_object_get(metric, "Values");
        const json_t *counts = json_object_get(metric, "Counts");
        assert_true(!value != !values);
        assert_int_equal(json_array_size(values), json_array_size(counts));
        assert_true(json_array_size(values) <= NTK_CLOUDWATCH_VALUES_MAX);
        sum += value ? json_number_value(value) : 0;
        *out_count += value ? 1 : 0;
        for (size_t k = 0; k < json_array_size(values); k++) {
            double count = json_number_value(json_array_get(counts, k));
            sum += json_number_value(json_array_get(values, k)) * count;
            *out_count += count;
        }
    }
    return sum;
}

static void assert_sum(const struct sent *sent, const char *name, const char *dimensions,
                       double sum, double count)
{
    double got_count;
    double got = sum_of(sent, name, dimensions, &got_count);

    if (fabs(got - sum) > 1e-9 * fabs(sum) || got_count != count) {
        fail_msg("%s{%s}: %.17g of %g values, not %.17g of %g", name, dimensions, got, got_count,
                 sum, count);
    }
}

static void every_group_has_its_metrics(void **state)
{
    struct ntk_cloudwatch_data data = { 0 };
    struct ntk_snapshot *snapshot = sample(1);
    const struct ntk_runtime_sample *runtime = &snapshot->runtimes[0];
    const struct ntk_core_sample *core = &runtime->cores[0];
    double seconds = (double)snapshot->period_ns / 1e9;
    uint64_t host = 0;
    uint64_t device = 0;
    char base[200];
    char tagged[250];
    char text[TEXT_BYTES];

    for (int i = 0; i < 3; i++) {
        encode(&data, snapshot);
    }
    struct sent sent = request(&data);
    snprintf(base, sizeof base, "InstanceId=i-1;InstanceType=trn2.3xlarge;");
    snprintf(tagged, sizeof tagged, "%sRuntimeTag=%s;", base, runtime->tag);
    snprintf(text, sizeof text, "%sNeuronCore=%u;", tagged, core->core);
    assert_sum(&sent, "NeuronCoreUtilization", text, 3 * core->utilization * 100, 3);
    assert_sum(&sent, "NeuronCoreFlops", text, 3 * (double)core->effective_flops.period / seconds,
               3);
    assert_sum(&sent, "NeuronCoreHbmReadBytes", text,
               3 * (double)core->hbm_read_bytes.period / seconds, 3);
    assert_sum(&sent, "NeuronCoreHbmWrittenBytes", text,
               3 * (double)core->hbm_written_bytes.period / seconds, 3);
    assert_sum(&sent, "NeuronCoreDmaBytes", text, 3 * (double)core->dma_bytes.period / seconds, 3);
    ntk_snapshot_memory_add(runtime, NTK_MEMORY_ANY, NTK_MEMORY_ANY, NULL, &host, &device);
    snprintf(text, sizeof text, "%sMemoryLocation=neuron_device;", tagged);
    assert_sum(&sent, "RuntimeMemoryUsed", text, 3 * (double)device, 3);
    snprintf(text, sizeof text, "%sNeuronCore=0;MemoryType=constants;", tagged);
    assert_sum(&sent, "NeuronCoreMemoryUsed", text, 3 * 65536, 3);
    snprintf(text, sizeof text, "%sUsageType=user;", tagged);
    assert_sum(&sent, "RuntimeVcpuUsage", text, 3 * runtime->vcpu_user * 100, 3);
    snprintf(text, sizeof text, "%sStatusType=completed;", tagged);
    assert_sum(&sent, "ExecutionStatus", text,
               3 * (double)runtime->outcome[NTK_OUTCOME_COMPLETED].period, 3);
    snprintf(text, sizeof text, "%sErrorType=hardware;", tagged);
    assert_sum(&sent, "ExecutionErrors", text,
               3 * (double)runtime->error_class[NTK_ERROR_HARDWARE].period, 3);
    assert_sum(&sent, "SystemMemoryTotal", base, 3 * (double)snapshot->system.memory_total_bytes,
               3);
    /* Each execution counts once in the series without a percentile. */
    double count;
    snprintf(text, sizeof text, "%sLatencyType=total_latency;", tagged);
    (void)sum_of(&sent, "ExecutionLatency", text, &count);
    assert_true(count > 0);
    assert_true(count == 3 * (double)runtime->total_latency.count);
    snprintf(text, sizeof text, "%sLatencyType=total_latency;Percentile=p99;", tagged);
    (void)sum_of(&sent, "ExecutionLatency", text, &count);
    assert_true(count == 3);
    snprintf(text, sizeof text, "%sNeuronDevice=0;EventType=mem_ecc_corrected;", base);
    assert_sum(&sent, "HardwareEccEvents", text,
               3 * (double)snapshot->devices[0].ecc[NTK_ECC_MEM_CORRECTED].period, 3);
    json_decref(sent.metrics);
    ntk_cloudwatch_data_fini(&data);
    ntk_snapshot_destroy(snapshot);
}

/* Sixteen devices, one of them with an event. */
static void errors_of_memory_are_five_metrics_and_those_that_happened(void **state)
{
    struct ntk_cloudwatch_data data = { 0 };
    struct ntk_snapshot *snapshot = sample(1);
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
    encode(&data, snapshot);
    struct sent sent = request(&data);
    for (size_t i = 0; i < json_array_size(sent.metrics); i++) {
        const json_t *name = json_object_get(json_array_get(sent.metrics, i), "MetricName");
        metric_count += strcmp(json_string_value(name), "HardwareEccEvents") == 0;
        health_count += strncmp(json_string_value(name), "NeuronDevice", 12) == 0;
    }
    assert_int_equal(health_count, 2);
    assert_int_equal(metric_count, NTK_ECC_COUNT + 1);
#define BASE "InstanceId=i-1;InstanceType=trn2.3xlarge;"
    assert_sum(&sent, "HardwareEccEvents", BASE "EventType=sram_ecc_uncorrected;", 2, 1);
    assert_sum(&sent, "HardwareEccEvents", BASE "NeuronDevice=7;EventType=sram_ecc_uncorrected;", 2,
               1);
    assert_sum(&sent, "HardwareEccEvents", BASE "EventType=mem_ecc_corrected;", 0, 1);
    assert_sum(&sent, "NeuronDevicesUnhealthy", BASE, 1, 1);
    assert_sum(&sent, "NeuronDeviceHealth", BASE "NeuronDevice=7;Reason=component_other;", 2, 1);
#undef BASE
    json_decref(sent.metrics);
    ntk_cloudwatch_data_fini(&data);
    ntk_snapshot_destroy(snapshot);
}

static void hosts_away_from_ec2_stay_apart_by_their_names(void **state)
{
    struct ntk_cloudwatch_data data = { 0 };
    struct ntk_snapshot *snapshot = sample(1);

    snapshot->instance.id = "";
    encode(&data, snapshot);
    snapshot->host_name = "other";
    encode(&data, snapshot);
    struct sent sent = request(&data);
    double bytes = (double)snapshot->system.memory_total_bytes;
    assert_sum(&sent, "SystemMemoryTotal", "HostName=box;InstanceType=trn2.3xlarge;", bytes, 1);
    assert_sum(&sent, "SystemMemoryTotal", "HostName=other;InstanceType=trn2.3xlarge;", bytes, 1);
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
static void a_label_of_the_user_is_not_called_as_a_metric_or_dimension(void **state)
{
    struct ntk_labels labels = { .count = 1, .rows = { { "team", "ml" } } };
    struct ntk_cloudwatch_data data = { 0 };
    struct ntk_snapshot *snapshot = sample(1);

    encode(&data, snapshot);
    snapshot->instance.id = "";
    snapshot->runtimes[0].uid++; /* the same tag of another user */
    encode(&data, snapshot);
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

static void runtimes_of_one_tag_are_one_series(void **state)
{
    struct ntk_cloudwatch_data one = { 0 };
    struct ntk_cloudwatch_data two = { 0 };
    struct ntk_snapshot *snapshot = sample(2);
    double count[2];
    char text[TEXT_BYTES];

    encode(&one, snapshot);
    snapshot->runtimes[1] = snapshot->runtimes[0];
    encode(&two, snapshot);
    struct sent first = request(&one);
    struct sent second = request(&two);
    const char *names[] = { "ExecutionStatus", "StatusType=completed;", "NeuronCoreUtilization",
                            "NeuronCore=0;" };
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text, "InstanceId=%s;InstanceType=%s;RuntimeTag=%s;%s",
                 snapshot->instance.id, snapshot->instance.type, snapshot->runtimes[0].tag,
                 names[2 * i + 1]);
        double alone = sum_of(&first, names[2 * i], text, &count[0]);
        double both = sum_of(&second, names[2 * i], text, &count[1]);
        assert_true(alone > 0 && count[0] == 1 && count[1] == 1);
        assert_true(both == (i == 0 ? 2 : 1) * alone); /* counts add up, shares do not */
    }
    json_decref(first.metrics);
    json_decref(second.metrics);
    ntk_cloudwatch_data_fini(&one);
    ntk_cloudwatch_data_fini(&two);
    ntk_snapshot_destroy(snapshot);
}

static void values_that_the_service_refuses_are_omitted(void **state)
{
    struct ntk_cloudwatch_data data = { 0 };
    struct ntk_snapshot *snapshot = sample(1);
    char text[TEXT_BYTES];
    double count;

    snapshot->instance.id = snapshot->host_name = "";
    snapshot->instance.type = "  ";
    snapshot->runtimes[0].tag = "t\xc3\xa4g\n";
    snapshot->runtimes[0].vcpu_user = (double)NAN;
    snapshot->runtimes[0].vcpu_system = (double)INFINITY;
    snapshot->runtimes[0].cores[0].utilization = 0x1p360;
    encode(&data, snapshot);
    struct sent sent = request(&data);
    (void)sum_of(&sent, "RuntimeVcpuUsage", "RuntimeTag=t??g?;UsageType=user;", &count);
    assert_true(count == 0);
    (void)sum_of(&sent, "RuntimeVcpuUsage", "RuntimeTag=t??g?;UsageType=system;", &count);
    assert_true(count == 0);
    (void)sum_of(&sent, "NeuronCoreUtilization", "RuntimeTag=t??g?;NeuronCore=0;", &count);
    assert_true(count == 0);
    snprintf(text, sizeof text, "RuntimeTag=t??g?;StatusType=completed;");
    (void)sum_of(&sent, "ExecutionStatus", text, &count);
    assert_true(count == 1);
    json_decref(sent.metrics);
    ntk_cloudwatch_data_fini(&data);
    ntk_snapshot_destroy(snapshot);
}

static void requests_stay_within_the_limits_and_lose_nothing(void **state)
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
        encode(&data, snapshot);
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
        encode(&data, snapshot);
    }
    struct sent sent = request(&data);
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
    char base[TEXT_BYTES];
    dimensions_of(json_array_get(sent.metrics, json_array_size(sent.metrics) - 1), base);
    double sum = sum_of(&sent, "SystemMemoryUsed", base, &count);
    assert_true(count >= ROUNDS && count <= ROUNDS + 1);
    assert_true(sum >= bytes_sum);
    json_decref(sent.metrics);
    ntk_cloudwatch_data_fini(&data);
    snapshot->runtimes = NULL;
    ntk_snapshot_destroy(snapshot);
}

/* -- gathering --------------------------------------------------------------------------------- */

struct steps {
    uint64_t time_ms[8];
    size_t value_count[8]; /* of the series with the most values */
    size_t count;
};

static int take_step(struct ntk_cloudwatch_data *data, uint64_t time_ms, void *ctx,
                     struct ntk_err *err)
{
    struct steps *steps = ctx;

    (void)err;
    assert_true(steps->count < 8);
    steps->time_ms[steps->count] = time_ms;
    ntk_map_each(entry, &data->series) {
        const struct ntk_cloudwatch_series *series = entry->value;
        if (!series->is_weighted && series->values.count > steps->value_count[steps->count]) {
            steps->value_count[steps->count] = series->values.count;
        }
    }
    steps->count++;
    return 0;
}

static void put_at(struct ntk_cloudwatch_gather *gather, uint64_t ms)
{
    struct ntk_snapshot *snapshot = sample(1);
    struct ntk_err err = { 0 };

    snapshot->realtime_ns = ms * 1000000;
    snapshot->period_ns = UINT64_C(5000000000);
    assert_int_equal(ntk_cloudwatch_gather_put(gather, snapshot, &err), 0);
    ntk_snapshot_destroy(snapshot);
}

static void a_minute_goes_when_the_next_report_is_beyond_it(void **state)
{
    struct steps steps = { 0 };
    struct ntk_cloudwatch_gather gather = {
        .step_ms = 60000, .metric_mask = NTK_CLOUDWATCH_ALL, .deliver = take_step, .ctx = &steps
    };
    struct ntk_err err = { 0 };

    put_at(&gather, MINUTE_MS + 40000);
    put_at(&gather, MINUTE_MS + 50000);
    assert_int_equal(steps.count, 0);
    put_at(&gather, MINUTE_MS + 55000); /* the next one is expected in the next minute */
    assert_int_equal(steps.count, 1);
    assert_int_equal(steps.time_ms[0], MINUTE_MS);
    assert_int_equal(steps.value_count[0], 3);
    put_at(&gather, MINUTE_MS + 61000);
    put_at(&gather, MINUTE_MS + 121000); /* it arrived late */
    assert_int_equal(steps.count, 2);
    assert_int_equal(steps.time_ms[1], MINUTE_MS + 60000);
    put_at(&gather, MINUTE_MS + 1000); /* the clock was set back */
    assert_int_equal(steps.count, 3);
    assert_int_equal(ntk_cloudwatch_gather_flush(&gather, &err), 0);
    assert_int_equal(ntk_cloudwatch_gather_flush(&gather, &err), 0);
    assert_int_equal(steps.count, 4);
    assert_int_equal(steps.time_ms[3], MINUTE_MS);
    ntk_cloudwatch_gather_fini(&gather);
}

static void without_a_step_each_report_goes_by_itself(void **state)
{
    struct steps steps = { 0 };
    struct ntk_cloudwatch_gather gather = { .metric_mask = NTK_CLOUDWATCH_ALL,
                                            .deliver = take_step,
                                            .ctx = &steps };

    put_at(&gather, MINUTE_MS + 123);
    assert_int_equal(steps.count, 1);
    assert_int_equal(steps.time_ms[0], MINUTE_MS + 123);
    ntk_cloudwatch_gather_fini(&gather);
}

static void applications_beyond_the_bound_share_series(void **state)
{
    enum { APPLICATIONS = 2 * NTK_EXPORTER_APPLICATIONS, OF_ONE_USER = 48, OF_THE_NEXT = 8 };
    struct ntk_cloudwatch_data data = { 0 };
    struct ntk_snapshot *snapshot = ntk_snapshot_create();
    struct ntk_runtime_sample *runtimes = ntk_snapshot_alloc_runtimes(snapshot, APPLICATIONS);
    size_t tags = 0;
    double others = 0;

    for (size_t i = 0; i < APPLICATIONS; i++) {
        runtimes[i].uid = i < APPLICATIONS / 2 ? 1001 : 1002;
        runtimes[i].has = NTK_RUNTIME_HAS_CPU;
        runtimes[i].tag = ntk_snapshot_format(snapshot, "tag-%zu", i);
        runtimes[i].vcpu_user = 0.001;
    }
    assert_int_equal(
        ntk_cloudwatch_encode(&data, snapshot, 1u << NTK_CLOUDWATCH_RUNTIME_VCPU_USAGE, NULL), 0);
    ntk_map_each(entry, &data.series) {
        const struct ntk_cloudwatch_series *series = entry->value;
        bool is_user = false;
        bool is_other = false;
        for (size_t i = 0; i < series->dimension_count; i++) {
            is_user = is_user || !strcmp(series->dimensions[i].value, "user");
            is_other = is_other || !strcmp(series->dimensions[i].value, NTK_EXPORTER_OTHER);
        }
        tags += is_user;
        if (is_user && is_other) {
            others = ((const struct ntk_cloudwatch_value *)series->values.items)->value;
        }
    }
    assert_int_equal(tags, OF_ONE_USER + OF_THE_NEXT + 1);
    assert_true(others > 7.19 && others < 7.21);
    ntk_cloudwatch_data_fini(&data);
    ntk_snapshot_destroy(snapshot);
}

static void two_users_with_one_tag_are_never_summed(void **state)
{
    /* The third user has no name, the last one has the name of the second. */
    static const char *const users[] = { "", "mallory", "", "mallory" };
    static const char *const shown[] = { "", "mallory", "1003", "1004" };
    enum { COUNT = sizeof users / sizeof *users };
    struct ntk_cloudwatch_data data = { 0 };
    struct ntk_snapshot *snapshot = ntk_snapshot_create();
    struct ntk_runtime_sample *runtimes = ntk_snapshot_alloc_runtimes(snapshot, COUNT);
    double sum[COUNT] = { 0 };

    (void)state;
    for (uint32_t i = 0; i < COUNT; i++) {
        runtimes[i].has = NTK_RUNTIME_HAS_CPU;
        runtimes[i].tag = "train";
        runtimes[i].uid = 1001 + i;
        runtimes[i].user = users[i];
        runtimes[i].vcpu_user = 0.01 * (i + 1);
    }
    for (int period = 0; period < 2; period++) {
        assert_int_equal(
            ntk_cloudwatch_encode(&data, snapshot, 1u << NTK_CLOUDWATCH_RUNTIME_VCPU_USAGE, NULL),
            0);
    }
    assert_int_equal(data.series.count, COUNT * 2); /* user and system */
    ntk_map_each(entry, &data.series) {
        const struct ntk_cloudwatch_series *series = entry->value;
        const char *user = "";
        size_t place = 0;

        for (size_t i = 0; i < series->dimension_count; i++) {
            if (strcmp(series->dimensions[i].name, "User") == 0) {
                user = series->dimensions[i].value;
            }
        }
        while (place < COUNT - 1 && strcmp(shown[place], user) != 0) {
            place++;
        }
        assert_string_equal(shown[place], user);
        sum[place] += ((const struct ntk_cloudwatch_value *)series->values.items)->value;
    }
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(sum[i] > (double)i + 0.99 && sum[i] < (double)i + 1.01);
    }
    ntk_cloudwatch_data_fini(&data);
    ntk_snapshot_destroy(snapshot);
}

/* -- one period ------------------------------------------------------------------------------- */

static size_t values_of(struct ntk_cloudwatch_data *data, enum ntk_cloudwatch_metric metric,
                        const char *user)
{
    size_t count = 0;

    ntk_map_each(entry, &data->series) {
        const struct ntk_cloudwatch_series *series = entry->value;
        const char *of = "";
        for (size_t i = 0; i < series->dimension_count; i++) {
            if (strcmp(series->dimensions[i].name, "User") == 0) {
                of = series->dimensions[i].value;
            }
        }
        if (series->metric == metric && !series->is_weighted && strcmp(of, user) == 0) {
            count += series->values.count;
        }
    }
    return count;
}

static void a_process_that_ended_counts_once_more(void **state)
{
    static const enum ntk_cloudwatch_metric metrics[] = { NTK_CLOUDWATCH_CORE_UTILIZATION,
                                                          NTK_CLOUDWATCH_EXECUTION_STATUS,
                                                          NTK_CLOUDWATCH_EXECUTION_LATENCY,
                                                          NTK_CLOUDWATCH_RUNTIME_MEMORY_USED };
    enum { METRICS = sizeof metrics / sizeof *metrics };
    struct ntk_cloudwatch_data data = { 0 };
    struct ntk_snapshot *snapshot = sample(1);
    size_t counts[METRICS];

    encode(&data, snapshot);
    for (size_t i = 0; i < METRICS; i++) {
        counts[i] = values_of(&data, metrics[i], "");
        assert_true(counts[i] > 0);
    }
    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        snapshot->runtimes[i].ended = true;
    }
    encode(&data, snapshot);
    for (size_t i = 0; i < METRICS; i++) {
        assert_int_equal(values_of(&data, metrics[i], ""), 2 * counts[i]);
    }
    snapshot->runtime_count = 0;
    encode(&data, snapshot);
    for (size_t i = 0; i < METRICS; i++) {
        assert_int_equal(values_of(&data, metrics[i], ""), 2 * counts[i]);
    }
    ntk_cloudwatch_data_fini(&data);
    ntk_snapshot_destroy(snapshot);
}

static void a_group_that_is_not_due_adds_nothing(void **state)
{
    struct ntk_cloudwatch_data data = { 0 };
    struct ntk_snapshot *snapshot = sample(1);

    encode(&data, snapshot);
    size_t cores = values_of(&data, NTK_CLOUDWATCH_CORE_UTILIZATION, "");
    size_t events = values_of(&data, NTK_CLOUDWATCH_HARDWARE_ECC_EVENTS, "");
    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        snapshot->runtimes[i].group_period_ns[NTK_RUNTIME_GROUP_CORES] = NTK_GROUP_ABSENT;
    }
    snapshot->group_period_ns[NTK_SYSTEM_GROUP_ECC] = NTK_GROUP_ABSENT;
    snapshot->group_period_ns[NTK_SYSTEM_GROUP_MEMORY] = NTK_GROUP_ABSENT;
    encode(&data, snapshot);
    assert_true(cores > 0 && events > 0);
    assert_int_equal(values_of(&data, NTK_CLOUDWATCH_CORE_UTILIZATION, ""), cores);
    assert_int_equal(values_of(&data, NTK_CLOUDWATCH_HARDWARE_ECC_EVENTS, ""), events);
    assert_int_equal(values_of(&data, NTK_CLOUDWATCH_SYSTEM_MEMORY_USED, ""), 1);
    ntk_cloudwatch_data_fini(&data);
    ntk_snapshot_destroy(snapshot);
}

/* Method: in the second report of a step there is only the second user's process. */
static void the_first_user_of_a_tag_keeps_it_for_the_step(void **state)
{
    struct ntk_cloudwatch_data data = { 0 };
    struct ntk_snapshot *snapshot = ntk_snapshot_create();
    struct ntk_runtime_sample *runtimes = ntk_snapshot_alloc_runtimes(snapshot, 2);

    for (uint32_t i = 0; i < 2; i++) {
        runtimes[i].has = NTK_RUNTIME_HAS_CPU;
        runtimes[i].tag = "train";
        runtimes[i].uid = 1001 + i;
        runtimes[i].user = i == 0 ? "alice" : "bob";
    }
    encode(&data, snapshot);
    snapshot->runtimes = runtimes + 1;
    snapshot->runtime_count = 1;
    encode(&data, snapshot);
    /* User and system time of each. */
    assert_int_equal(values_of(&data, NTK_CLOUDWATCH_RUNTIME_VCPU_USAGE, ""), 2);
    assert_int_equal(values_of(&data, NTK_CLOUDWATCH_RUNTIME_VCPU_USAGE, "bob"), 4);
    ntk_cloudwatch_data_fini(&data);
    ntk_snapshot_destroy(snapshot);
}

/* Zeros would look like an idle application. */
static void executions_that_are_not_counted_have_no_metric(void **state)
{
    struct ntk_cloudwatch_data data = { 0 };
    struct ntk_snapshot *snapshot = sample(1);

    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        snapshot->runtimes[i].executions_counted = NTK_EXECUTIONS_NONE;
    }
    encode(&data, snapshot);
    assert_int_equal(values_of(&data, NTK_CLOUDWATCH_EXECUTION_STATUS, ""), 0);
    assert_int_equal(values_of(&data, NTK_CLOUDWATCH_EXECUTION_ERRORS, ""), 0);
    assert_true(values_of(&data, NTK_CLOUDWATCH_CORE_UTILIZATION, "") > 0);
    ntk_cloudwatch_data_fini(&data);
    ntk_snapshot_destroy(snapshot);
}

/* Where CloudWatch intentionally differs from the page for Prometheus. */

static void take_cpu_share(const struct ntk_point *point, void *ctx)
{
    *(double *)ctx += point->number;
}

/* One metric for the whole machine, everything but idle time; Prometheus has separate series of
 * user and system time. A sum of rounded parts does not exceed the machine. */
static void the_cpu_of_the_machine_is_one_value_without_idle_time(void **state)
{
    static const double shares[][NTK_CPU_FIELD_COUNT] = {
        { [NTK_CPU_USER] = 0.25,
          [NTK_CPU_NICE] = 0.125,
          [NTK_CPU_SYSTEM] = 0.0625,
          [NTK_CPU_IDLE] = 0.5,
          [NTK_CPU_IO_WAIT] = 0.03125,
          [NTK_CPU_SOFT_IRQ] = 0.03125 },
        { [NTK_CPU_USER] = 0.75, [NTK_CPU_SYSTEM] = 0.25, [NTK_CPU_IRQ] = 0.125 },
    };

    for (size_t i = 0; i < 2; i++) {
        struct ntk_cloudwatch_data data = { 0 };
        struct ntk_points_page page = { 0 };
        struct ntk_snapshot *snapshot = sample(1);
        double shown = 0;

        snapshot->system.has |= NTK_SYSTEM_HAS_CPU;
        memcpy(snapshot->system.average, shares[i], sizeof shares[i]);
        encode(&data, snapshot);
        struct sent sent = request(&data);
        assert_sum(&sent, "SystemVcpuUsage", "InstanceId=i-1;InstanceType=trn2.3xlarge;",
                   i == 0 ? 50 : 100, 1);
        assert_int_equal(ntk_points_page_update(&page, snapshot), 0);
        ntk_points_walk(&page, NTK_METRIC_SYSTEM_VCPU_USAGE, take_cpu_share, &shown);
        assert_true(shown == (i == 0 ? 0.5 : 1.125));
        ntk_points_page_fini(&page);
        json_decref(sent.metrics);
        ntk_cloudwatch_data_fini(&data);
        ntk_snapshot_destroy(snapshot);
    }
}

/* FLOPs are the effective ones, without transposes; Prometheus has a counter for both. */
static void flops_are_the_effective_ones(void **state)
{
    struct ntk_cloudwatch_data data = { 0 };
    struct ntk_snapshot *snapshot = sample(1);
    struct ntk_core_sample *core = &snapshot->runtimes[0].cores[0];
    char text[TEXT_BYTES];

    core->has |= NTK_CORE_HAS_FLOPS | NTK_CORE_HAS_EFFECTIVE_FLOPS;
    core->flops = (struct ntk_count){ 9000, 9000 };
    core->effective_flops = (struct ntk_count){ 5000, 5000 };
    encode(&data, snapshot);
    struct sent sent = request(&data);
    (void)snprintf(text, sizeof text,
                   "InstanceId=i-1;InstanceType=trn2.3xlarge;RuntimeTag=%s;NeuronCore=%u;",
                   snapshot->runtimes[0].tag, core->core);
    assert_sum(&sent, "NeuronCoreFlops", text, 5000 / ((double)snapshot->period_ns / 1e9), 1);
    json_decref(sent.metrics);
    ntk_cloudwatch_data_fini(&data);
    ntk_snapshot_destroy(snapshot);
}

/* -- lines ------------------------------------------------------------------------------------- */

static void a_line_has_at_most_100_values_of_a_metric(void **state)
{
    struct ntk_cloudwatch_data data = { 0 };
    struct ntk_snapshot *snapshot = sample(1);
    const struct ntk_cloudwatch_emf_options options = { "N", "group", MINUTE_MS, true };
    struct ntk_buf out = { 0 };
    struct ntk_err err = { 0 };
    uint64_t lines = 0;
    size_t values = 0;
    size_t seen = 0;

    for (int i = 0; i < 250; i++) {
        encode(&data, snapshot);
    }
    assert_int_equal(ntk_cloudwatch_emf(&data, &options, &out, &lines, &err), 0);
    for (char *line = out.bytes; line && *line; line = strchr(line, '\n') + 1) {
        json_error_t said;
        json_t *root = json_loads(line, JSON_DISABLE_EOF_CHECK, &said);
        assert_non_null(root);
        const json_t *aws = json_object_get(root, "_aws");
        assert_int_equal(json_integer_value(json_object_get(aws, "Timestamp")), MINUTE_MS);
        assert_string_equal(json_string_value(json_object_get(aws, "LogGroupName")), "group");
        const json_t *used = json_object_get(root, "SystemMemoryUsed");
        assert_true(json_array_size(used) <= NTK_CLOUDWATCH_EMF_VALUES_MAX);
        values += json_array_size(used);
        seen++;
        json_decref(root);
    }
    assert_int_equal(seen, lines);
    assert_int_equal(values, 250);
    ntk_buf_fini(&out);
    ntk_cloudwatch_data_fini(&data);
    ntk_snapshot_destroy(snapshot);
}

/* The series of a metric and its dimensions in the line, with the names of encode(). */
static const struct ntk_cloudwatch_series *series_of(const struct ntk_cloudwatch_data *data,
                                                     const char *name, const json_t *dimensions,
                                                     const json_t *line)
{
    const struct ntk_cloudwatch_series *found = NULL;

    ntk_map_each(entry, &data->series) {
        const struct ntk_cloudwatch_series *series = entry->value;
        bool is_it = !series->is_weighted &&
                     series->dimension_count == json_array_size(dimensions) &&
                     strcmp(ntk_cloudwatch_metric_get(series->metric).name, name) == 0;
        for (size_t i = 0; i < series->dimension_count && is_it; i++) {
            const char *dimension = json_string_value(json_array_get(dimensions, i));
            const char *value = json_string_value(json_object_get(line, dimension));
            assert_non_null(value);
            is_it = strcmp(series->dimensions[i].name, dimension) == 0 &&
                    strcmp(series->dimensions[i].value, value) == 0;
        }
        found = is_it ? series : found;
    }
    return found;
}

/* Two series of one metric need two lines, and so do two applications. */
static size_t fewest_lines(const struct ntk_cloudwatch_data *data,
                           const struct ntk_snapshot *snapshot)
{
    size_t lines = 0;

    for (size_t r = 0; r < snapshot->runtime_count; r++) {
        size_t counts[NTK_CLOUDWATCH_METRIC_COUNT] = { 0 };
        size_t most = 0;
        ntk_map_each(entry, &data->series) {
            const struct ntk_cloudwatch_series *series = entry->value;
            for (size_t i = 0; i < series->dimension_count && !series->is_weighted; i++) {
                if (strcmp(series->dimensions[i].name, "RuntimeTag") == 0 &&
                    strcmp(series->dimensions[i].value, snapshot->runtimes[r].tag) == 0) {
                    size_t count = ++counts[series->metric];
                    most = count > most ? count : most;
                }
            }
        }
        lines += most;
    }
    return lines;
}

static void lines_have_every_series_once_and_are_as_few_as_possible(void **state)
{
    static const struct ntk_cloudwatch_emf_options options = { "N", NULL, MINUTE_MS, false };
    struct ntk_cloudwatch_data data = { 0 };
    struct ntk_snapshot *snapshot = sample(3);
    size_t expected = 0, seen = 0;
    struct ntk_map written = { 0 };
    struct ntk_buf out = { 0 };
    struct ntk_err err = { 0 };
    uint64_t lines = 0;

    encode(&data, snapshot);
    ntk_map_each(entry, &data.series) {
        expected += !((const struct ntk_cloudwatch_series *)entry->value)->is_weighted;
    }
    assert_int_equal(ntk_cloudwatch_emf(&data, &options, &out, &lines, &err), 0);
    for (char *line = out.bytes; line && *line; line = strchr(line, '\n') + 1) {
        json_t *root = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL);
        const json_t *all = json_object_get(json_object_get(root, "_aws"), "CloudWatchMetrics");
        for (size_t i = 0; i < json_array_size(all); i++) {
            const json_t *one = json_array_get(all, i);
            const json_t *sets = json_object_get(one, "Dimensions");
            const json_t *metrics = json_object_get(one, "Metrics");
            assert_int_equal(json_array_size(sets), 1);
            for (size_t k = 0; k < json_array_size(metrics); k++) {
                const char *name =
                    json_string_value(json_object_get(json_array_get(metrics, k), "Name"));
                const struct ntk_cloudwatch_series *series =
                    series_of(&data, name, json_array_get(sets, 0), root);
                assert_non_null(series);
                assert_true(json_number_value(json_object_get(root, name)) ==
                            ((const struct ntk_cloudwatch_value *)series->values.items)->value);
                assert_null(ntk_map_get_number(&written, (uintptr_t)series));
                assert_int_equal(ntk_map_put_number(&written, (uintptr_t)series, root), 0);
                seen++;
            }
        }
        json_decref(root);
    }
    assert_int_equal(seen, expected);
    assert_int_equal(lines, fewest_lines(&data, snapshot));
    ntk_map_fini(&written);
    ntk_buf_fini(&out);
    ntk_cloudwatch_data_fini(&data);
    ntk_snapshot_destroy(snapshot);
}

/* Lines have no counts of values, so only requests have the series of every execution. */
static void lines_have_percentiles_of_executions_but_not_each(void **state)
{
    static const struct ntk_cloudwatch_emf_options options = { "N", NULL, MINUTE_MS, false };
    struct ntk_cloudwatch_data data = { 0 };
    struct ntk_snapshot *snapshot = sample(1);
    struct ntk_buf out = { 0 };
    struct ntk_err err = { 0 };
    uint64_t lines = 0;
    size_t with_percentile = 0;
    char text[TEXT_BYTES];
    double count;

    encode(&data, snapshot);
    struct sent sent = request(&data);
    snprintf(text, sizeof text,
             "InstanceId=i-1;InstanceType=trn2.3xlarge;RuntimeTag=%s;LatencyType=total_latency;",
             snapshot->runtimes[0].tag);
    (void)sum_of(&sent, "ExecutionLatency", text, &count);
    assert_true(count > 0);
    assert_int_equal(ntk_cloudwatch_emf(&data, &options, &out, &lines, &err), 0);
    for (char *line = out.bytes; line && *line; line = strchr(line, '\n') + 1) {
        json_t *root = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL);

        assert_non_null(root);
        if (json_object_get(root, "ExecutionLatency")) {
            assert_non_null(json_object_get(root, "Percentile"));
            with_percentile++;
        }
        json_decref(root);
    }
    assert_true(with_percentile > 0);
    json_decref(sent.metrics);
    ntk_buf_fini(&out);
    ntk_cloudwatch_data_fini(&data);
    ntk_snapshot_destroy(snapshot);
}

static void tags_that_look_alike_are_one_series(void **state)
{
    static const struct ntk_cloudwatch_emf_options options = { "N", NULL, MINUTE_MS, false };
    enum { RUNTIMES = 40 };
    static struct ntk_runtime_sample runtimes[RUNTIMES];
    static char tags[RUNTIMES][8];
    struct ntk_cloudwatch_data data = { 0 };
    struct ntk_snapshot *snapshot = sample(1);
    struct ntk_buf out = { 0 };
    struct ntk_err err = { 0 };
    uint64_t lines = 0;

    for (int i = 0; i < RUNTIMES; i++) {
        runtimes[i] = snapshot->runtimes[0];
        snprintf(tags[i], sizeof tags[i], "\xc3%c", (char)(0x80 + i));
        runtimes[i].tag = tags[i];
    }
    snapshot->runtime_count = 1;
    encode(&data, snapshot);
    size_t alone = data.series.count;
    ntk_cloudwatch_data_fini(&data);
    snapshot->runtimes = runtimes;
    snapshot->runtime_count = RUNTIMES;
    encode(&data, snapshot);
    assert_int_equal(data.series.count, alone);
    assert_int_equal(ntk_cloudwatch_emf(&data, &options, &out, &lines, &err), 0);
    assert_non_null(strstr(out.bytes, "\"RuntimeTag\":\"??\""));
    ntk_buf_fini(&out);
    ntk_cloudwatch_data_fini(&data);
    ntk_snapshot_destroy(snapshot);
}

/* -- small things ------------------------------------------------------------------------------ */

static void options_are_checked(void **state)
{
    struct ntk_err err = { 0 };
    uint32_t mask = 0;
    char name[300];

    assert_int_equal(ntk_cloudwatch_metrics_parse("SystemVcpuUsage,ExecutionErrors", &mask, &err),
                     0);
    assert_int_equal(mask, 1u << NTK_CLOUDWATCH_SYSTEM_VCPU_USAGE |
                               1u << NTK_CLOUDWATCH_EXECUTION_ERRORS);
    assert_int_equal(ntk_cloudwatch_metrics_parse("", &mask, &err), -EINVAL);
    assert_int_equal(ntk_cloudwatch_metrics_parse("SystemVcpuUsage,", &mask, &err), -EINVAL);
    assert_int_equal(ntk_cloudwatch_namespace_check("My/App", &err), 0);
    assert_int_equal(ntk_cloudwatch_namespace_check(":x", &err), -EINVAL);
    memset(name, 'x', sizeof name);
    name[255] = '\0';
    assert_int_equal(ntk_cloudwatch_namespace_check(name, &err), 0);
    name[255] = 'x';
    name[256] = '\0';
    assert_int_equal(ntk_cloudwatch_namespace_check(name, &err), -EINVAL);
}

static void its_page_lists_every_metric(void **state)
{
    const char *source = getenv("NTK_SOURCE_DIR");
    char path[512];
    uint8_t *bytes = NULL;
    size_t count = 0;

    (void)snprintf(path, sizeof path, "%s/docs/formats/cloudwatch.md", source ? source : ".");
    assert_int_equal(ntk_fs_read(path, 1 << 20, &bytes, &count, NULL), 0);
    for (int i = 0; i < NTK_CLOUDWATCH_METRIC_COUNT; i++) {
        struct ntk_cloudwatch_metric_row row =
            ntk_cloudwatch_metric_get((enum ntk_cloudwatch_metric)i);
        if (!strstr((char *)bytes, row.name)) {
            fail_msg("the page lacks %s", row.name);
        }
    }
    free(bytes);
}

/* NTK_UPDATE=1 in the environment writes the list. */
static void its_manual_has_the_list_of_metrics(void **state)
{
    struct ntk_buf list = { 0 };
    size_t column = 0;

    ntk_buf_add_text(&list, ".SH METRICS\n.nf\n");
    for (int i = 0; i < NTK_CLOUDWATCH_METRIC_COUNT; i++) {
        struct ntk_cloudwatch_metric_row row =
            ntk_cloudwatch_metric_get((enum ntk_cloudwatch_metric)i);
        size_t bytes = strlen(row.name);

        if (bytes == 0) {
            continue; /* a counter of cores that is not sent */
        }
        bool is_new_line = column + 2 + bytes > MANUAL_COLUMNS;
        ntk_buf_add_format(&list, "%s%s", column == 0 ? "" : is_new_line ? "\n" : "  ", row.name);
        column = (is_new_line || column == 0 ? 0 : column + 2) + bytes;
    }
    ntk_buf_add_text(&list, "\n.fi\n");
    test_page_check("exporters/cloudwatch/neuron-monitor-cloudwatch.1.in", &list, 1);
    ntk_buf_fini(&list);
}

/* Method: three processes, watched in three ways; the unknown values of two are filled with
 * poison. */
static void values_unknown_to_hooks_around_calls_have_no_metric(void **state)
{
    struct ntk_cloudwatch_data data = { 0 };
    struct ntk_snapshot *snapshot = test_mixed_snapshot();
    size_t memory_types = 0;
    size_t hosts = 0;

    (void)state;
    encode(&data, snapshot);
    struct sent sent = request(&data);
    char *text = json_dumps(sent.metrics, 0);
    assert_null(strstr(text, "666000666"));
    for (size_t i = 0; i < json_array_size(sent.metrics); i++) {
        char dimensions[TEXT_BYTES];

        dimensions_of(json_array_get(sent.metrics, i), dimensions);
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
        cmocka_unit_test(every_group_has_its_metrics),
        cmocka_unit_test(values_unknown_to_hooks_around_calls_have_no_metric),
        cmocka_unit_test(a_label_of_the_user_is_not_called_as_a_metric_or_dimension),
        cmocka_unit_test(errors_of_memory_are_five_metrics_and_those_that_happened),
        cmocka_unit_test(hosts_away_from_ec2_stay_apart_by_their_names),
        cmocka_unit_test(runtimes_of_one_tag_are_one_series),
        cmocka_unit_test(values_that_the_service_refuses_are_omitted),
        cmocka_unit_test(requests_stay_within_the_limits_and_lose_nothing),
        cmocka_unit_test(a_minute_goes_when_the_next_report_is_beyond_it),
        cmocka_unit_test(without_a_step_each_report_goes_by_itself),
        cmocka_unit_test(applications_beyond_the_bound_share_series),
        cmocka_unit_test(two_users_with_one_tag_are_never_summed),
        cmocka_unit_test(a_process_that_ended_counts_once_more),
        cmocka_unit_test(a_group_that_is_not_due_adds_nothing),
        cmocka_unit_test(the_first_user_of_a_tag_keeps_it_for_the_step),
        cmocka_unit_test(executions_that_are_not_counted_have_no_metric),
        cmocka_unit_test(the_cpu_of_the_machine_is_one_value_without_idle_time),
        cmocka_unit_test(flops_are_the_effective_ones),
        cmocka_unit_test(a_line_has_at_most_100_values_of_a_metric),
        cmocka_unit_test(lines_have_every_series_once_and_are_as_few_as_possible),
        cmocka_unit_test(lines_have_percentiles_of_executions_but_not_each),
        cmocka_unit_test(tags_that_look_alike_are_one_series),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(its_page_lists_every_metric),
        cmocka_unit_test(its_manual_has_the_list_of_metrics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
