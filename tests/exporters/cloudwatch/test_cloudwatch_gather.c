/* SPDX-License-Identifier: MIT */
/* Method: reports with chosen times; a step is delivered as one set of series. */
#include "exporters/cloudwatch/cloudwatch_gather.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "exporters/points/points_page.h"
#include "exporters/points/points_walk.h"
#include "exporters/exporter.h"
#include "shared/metrics/snapshot.h"
#include "tests/exporters/cloudwatch/cloudwatch_sent.h"
#include "tests/support/unit.h"

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
    struct ntk_snapshot *snapshot = test_cloudwatch_sample(1);
    struct ntk_err err = { 0 };

    snapshot->realtime_ns = ms * 1000000;
    snapshot->period_ns = UINT64_C(5000000000);
    assert_int_equal(ntk_cloudwatch_gather_put(gather, snapshot, &err), 0);
    ntk_snapshot_destroy(snapshot);
}

static void minute_values_are_sent_once_no_more_reports_are_due_in_the_minute(void **state)
{
    struct steps steps = { 0 };
    struct ntk_cloudwatch_gather gather = {
        .step_ms = 60000, .metric_mask = NTK_CLOUDWATCH_ALL, .deliver = take_step, .ctx = &steps
    };
    struct ntk_err err = { 0 };

    put_at(&gather, TEST_CLOUDWATCH_MINUTE_MS + 40000);
    put_at(&gather, TEST_CLOUDWATCH_MINUTE_MS + 50000);
    assert_int_equal(steps.count, 0);
    put_at(&gather,
           TEST_CLOUDWATCH_MINUTE_MS + 55000); /* the next one is expected in the next minute */
    assert_int_equal(steps.count, 1);
    assert_int_equal(steps.time_ms[0], TEST_CLOUDWATCH_MINUTE_MS);
    assert_int_equal(steps.value_count[0], 3);
    put_at(&gather, TEST_CLOUDWATCH_MINUTE_MS + 61000);
    put_at(&gather, TEST_CLOUDWATCH_MINUTE_MS + 121000); /* it arrived late */
    assert_int_equal(steps.count, 2);
    assert_int_equal(steps.time_ms[1], TEST_CLOUDWATCH_MINUTE_MS + 60000);
    put_at(&gather, TEST_CLOUDWATCH_MINUTE_MS + 1000); /* the clock was set back */
    assert_int_equal(steps.count, 3);
    assert_int_equal(ntk_cloudwatch_gather_flush(&gather, &err), 0);
    assert_int_equal(ntk_cloudwatch_gather_flush(&gather, &err), 0);
    assert_int_equal(steps.count, 4);
    assert_int_equal(steps.time_ms[3], TEST_CLOUDWATCH_MINUTE_MS);
    ntk_cloudwatch_gather_fini(&gather);
}

static void without_an_aggregation_step_each_report_is_sent_separately(void **state)
{
    struct steps steps = { 0 };
    struct ntk_cloudwatch_gather gather = { .metric_mask = NTK_CLOUDWATCH_ALL,
                                            .deliver = take_step,
                                            .ctx = &steps };

    put_at(&gather, TEST_CLOUDWATCH_MINUTE_MS + 123);
    assert_int_equal(steps.count, 1);
    assert_int_equal(steps.time_ms[0], TEST_CLOUDWATCH_MINUTE_MS + 123);
    ntk_cloudwatch_gather_fini(&gather);
}

static void applications_beyond_the_limit_share_series(void **state)
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

static void processes_of_two_users_with_one_tag_are_never_summed(void **state)
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

static void the_last_counts_of_an_exited_process_are_included(void **state)
{
    static const enum ntk_cloudwatch_metric metrics[] = { NTK_CLOUDWATCH_CORE_UTILIZATION,
                                                          NTK_CLOUDWATCH_EXECUTION_STATUS,
                                                          NTK_CLOUDWATCH_EXECUTION_LATENCY,
                                                          NTK_CLOUDWATCH_RUNTIME_MEMORY_USED };
    enum { METRICS = sizeof metrics / sizeof *metrics };
    struct ntk_cloudwatch_data data = { 0 };
    struct ntk_snapshot *snapshot = test_cloudwatch_sample(1);
    size_t counts[METRICS];

    test_cloudwatch_encode(&data, snapshot);
    for (size_t i = 0; i < METRICS; i++) {
        counts[i] = values_of(&data, metrics[i], "");
        assert_true(counts[i] > 0);
    }
    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        snapshot->runtimes[i].ended = true;
    }
    test_cloudwatch_encode(&data, snapshot);
    for (size_t i = 0; i < METRICS; i++) {
        assert_int_equal(values_of(&data, metrics[i], ""), 2 * counts[i]);
    }
    snapshot->runtime_count = 0;
    test_cloudwatch_encode(&data, snapshot);
    for (size_t i = 0; i < METRICS; i++) {
        assert_int_equal(values_of(&data, metrics[i], ""), 2 * counts[i]);
    }
    ntk_cloudwatch_data_fini(&data);
    ntk_snapshot_destroy(snapshot);
}

static void a_report_group_that_is_not_due_adds_no_values(void **state)
{
    struct ntk_cloudwatch_data data = { 0 };
    struct ntk_snapshot *snapshot = test_cloudwatch_sample(1);

    test_cloudwatch_encode(&data, snapshot);
    size_t cores = values_of(&data, NTK_CLOUDWATCH_CORE_UTILIZATION, "");
    size_t events = values_of(&data, NTK_CLOUDWATCH_HARDWARE_ECC_EVENTS, "");
    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        snapshot->runtimes[i].group_period_ns[NTK_RUNTIME_GROUP_CORES] = NTK_GROUP_ABSENT;
    }
    snapshot->group_period_ns[NTK_SYSTEM_GROUP_ECC] = NTK_GROUP_ABSENT;
    snapshot->group_period_ns[NTK_SYSTEM_GROUP_MEMORY] = NTK_GROUP_ABSENT;
    test_cloudwatch_encode(&data, snapshot);
    assert_true(cores > 0 && events > 0);
    assert_int_equal(values_of(&data, NTK_CLOUDWATCH_CORE_UTILIZATION, ""), cores);
    assert_int_equal(values_of(&data, NTK_CLOUDWATCH_HARDWARE_ECC_EVENTS, ""), events);
    assert_int_equal(values_of(&data, NTK_CLOUDWATCH_SYSTEM_MEMORY_USED, ""), 1);
    ntk_cloudwatch_data_fini(&data);
    ntk_snapshot_destroy(snapshot);
}

/* Method: in the second report of a step there is only the second user's process. */
static void an_application_tag_belongs_to_its_first_user_for_the_whole_step(void **state)
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
    test_cloudwatch_encode(&data, snapshot);
    snapshot->runtimes = runtimes + 1;
    snapshot->runtime_count = 1;
    test_cloudwatch_encode(&data, snapshot);
    /* User and system time of each. */
    assert_int_equal(values_of(&data, NTK_CLOUDWATCH_RUNTIME_VCPU_USAGE, ""), 2);
    assert_int_equal(values_of(&data, NTK_CLOUDWATCH_RUNTIME_VCPU_USAGE, "bob"), 4);
    ntk_cloudwatch_data_fini(&data);
    ntk_snapshot_destroy(snapshot);
}

/* Zeros would mean an idle application. */
static void uncounted_executions_have_no_metric(void **state)
{
    struct ntk_cloudwatch_data data = { 0 };
    struct ntk_snapshot *snapshot = test_cloudwatch_sample(1);

    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        snapshot->runtimes[i].executions_counted = NTK_EXECUTIONS_NONE;
    }
    test_cloudwatch_encode(&data, snapshot);
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
static void machine_cpu_use_is_one_value_without_idle_time(void **state)
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
        struct ntk_snapshot *snapshot = test_cloudwatch_sample(1);
        double shown = 0;

        snapshot->system.has |= NTK_SYSTEM_HAS_CPU;
        memcpy(snapshot->system.average, shares[i], sizeof shares[i]);
        test_cloudwatch_encode(&data, snapshot);
        struct test_cloudwatch_sent sent = test_cloudwatch_request(&data);
        test_cloudwatch_assert_sum(&sent, "SystemVcpuUsage",
                                   "InstanceId=i-1;InstanceType=trn2.3xlarge;", i == 0 ? 50 : 100,
                                   1);
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
static void the_flops_metric_contains_effective_flops(void **state)
{
    struct ntk_cloudwatch_data data = { 0 };
    struct ntk_snapshot *snapshot = test_cloudwatch_sample(1);
    struct ntk_core_sample *core = &snapshot->runtimes[0].cores[0];
    char text[TEST_CLOUDWATCH_TEXT_BYTES];

    core->has |= NTK_CORE_HAS_FLOPS | NTK_CORE_HAS_EFFECTIVE_FLOPS;
    core->flops = (struct ntk_count){ 9000, 9000 };
    core->effective_flops = (struct ntk_count){ 5000, 5000 };
    test_cloudwatch_encode(&data, snapshot);
    struct test_cloudwatch_sent sent = test_cloudwatch_request(&data);
    (void)snprintf(text, sizeof text,
                   "InstanceId=i-1;InstanceType=trn2.3xlarge;RuntimeTag=%s;NeuronCore=%u;",
                   snapshot->runtimes[0].tag, core->core);
    test_cloudwatch_assert_sum(&sent, "NeuronCoreFlops", text,
                               5000 / ((double)snapshot->period_ns / 1e9), 1);
    json_decref(sent.metrics);
    ntk_cloudwatch_data_fini(&data);
    ntk_snapshot_destroy(snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(minute_values_are_sent_once_no_more_reports_are_due_in_the_minute),
        cmocka_unit_test(without_an_aggregation_step_each_report_is_sent_separately),
        cmocka_unit_test(applications_beyond_the_limit_share_series),
        cmocka_unit_test(processes_of_two_users_with_one_tag_are_never_summed),
        cmocka_unit_test(the_last_counts_of_an_exited_process_are_included),
        cmocka_unit_test(a_report_group_that_is_not_due_adds_no_values),
        cmocka_unit_test(an_application_tag_belongs_to_its_first_user_for_the_whole_step),
        cmocka_unit_test(uncounted_executions_have_no_metric),
        cmocka_unit_test(machine_cpu_use_is_one_value_without_idle_time),
        cmocka_unit_test(the_flops_metric_contains_effective_flops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
