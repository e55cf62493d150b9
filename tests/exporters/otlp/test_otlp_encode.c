/* SPDX-License-Identifier: MIT */
/* Method: hand-made snapshots to a page, the page to requests, which the generated reader reads
 * back (otlp.sh checks the bytes themselves with its own decoder). */
#include "exporters/otlp/otlp_encode.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/otlp/otlp.pb-c.h"
#include "exporters/otlp/otlp_config.h"
#include "exporters/points/points_walk.h"
#include "shared/base/clock.h"
#include "shared/base/map.h"
#include "tests/support/sample_snapshot.h"
#include "tests/support/unit.h"

#define REQUESTS_MAX 16
#define SECOND NTK_NS_PER_SECOND

struct fixture {
    struct ntk_points_page page;
    struct ntk_otlp *encoder;
    Ntk__Otlp__Request *requests[REQUESTS_MAX]; /* of the last encoding */
    size_t request_count;
    uint64_t point_count;
    int code; /* what emit returns */
};

static void forget(struct fixture *f)
{
    for (size_t i = 0; i < f->request_count; i++) {
        ntk__otlp__request__free_unpacked(f->requests[i], NULL);
    }
    f->request_count = f->point_count = 0;
}

static int set_up(void **state)
{
    const struct ntk_otlp_options options = { 0 };
    struct fixture *f = calloc(1, sizeof *f);

    f->encoder = ntk_otlp_create(&options);
    assert_non_null(f->encoder);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    forget(f);
    ntk_otlp_destroy(f->encoder);
    ntk_points_page_fini(&f->page);
    free(f);
    return 0;
}

static void use(struct fixture *f, struct ntk_otlp_options options)
{
    ntk_otlp_destroy(f->encoder);
    f->encoder = ntk_otlp_create(&options);
    f->page.keeps_fine_latencies = options.has_exponential;
}

static int keep(struct ntk_buf *request, uint64_t point_count, void *ctx, struct ntk_err *err)
{
    struct fixture *f = ctx;

    (void)err;
    assert_true(f->request_count < REQUESTS_MAX);
    assert_true(point_count > 0 && point_count <= NTK_OTLP_POINTS_MAX);
    f->requests[f->request_count] =
        ntk__otlp__request__unpack(NULL, request->bytes_count, (const uint8_t *)request->bytes);
    assert_non_null(f->requests[f->request_count]);
    f->request_count++;
    f->point_count += point_count;
    return f->code;
}

/* Takes ownership of the snapshot, sets its time, and encodes it. */
static void push(struct fixture *f, struct ntk_snapshot *snapshot, uint64_t second)
{
    struct ntk_err err = { 0 };

    forget(f);
    snapshot->realtime_ns = second * SECOND;
    snapshot->period_ns = SECOND;
    assert_int_equal(ntk_points_page_update(&f->page, snapshot), 0);
    assert_int_equal(ntk_otlp_encode(f->encoder, &f->page, "host", second * SECOND, keep, f, &err),
                     0);
    ntk_snapshot_destroy(snapshot);
}

static const Ntk__Otlp__Metric *find(const struct fixture *f, const char *name)
{
    const Ntk__Otlp__Metric *found = NULL;

    for (size_t i = 0; i < f->request_count; i++) {
        const Ntk__Otlp__ScopeMetrics *scope =
            f->requests[i]->resource_metrics[0]->scope_metrics[0];
        for (size_t k = 0; k < scope->n_metrics; k++) {
            if (!strcmp(scope->metrics[k]->name, name)) {
                assert_null(found); /* each metric has one entry */
                found = scope->metrics[k];
            }
        }
    }
    return found;
}

static bool has_attribute(Ntk__Otlp__KeyValue *const *attributes, size_t count, const char *name,
                          const char *value)
{
    for (size_t i = 0; i < count; i++) {
        if (!strcmp(attributes[i]->key, name)) {
            return !strcmp(attributes[i]->value->text, value);
        }
    }
    return false;
}

static const Ntk__Otlp__NumberPoint *find_number(const struct fixture *f, const char *metric_name,
                                                 const char *name, const char *value)
{
    const Ntk__Otlp__Metric *metric = find(f, metric_name);

    if (!metric) {
        return NULL;
    }
    bool is_sum = metric->data_case == NTK__OTLP__METRIC__DATA_SUM;
    size_t count = is_sum ? metric->sum->n_data_points : metric->gauge->n_data_points;
    Ntk__Otlp__NumberPoint **points =
        is_sum ? metric->sum->data_points : metric->gauge->data_points;
    for (size_t i = 0; i < count; i++) {
        if (has_attribute(points[i]->attributes, points[i]->n_attributes, name, value)) {
            return points[i];
        }
    }
    return NULL;
}

static void otlp_sums_are_monotonic_and_start_with_the_first_period(void **state)
{
    struct fixture *f = *state;

    push(f, test_sample_snapshot(1), 100);
    push(f, test_sample_snapshot(1), 101);
    const Ntk__Otlp__Metric *metric = find(f, "execution_status");
    assert_non_null(metric);
    assert_int_equal(metric->data_case, NTK__OTLP__METRIC__DATA_SUM);
    assert_true(metric->sum->is_monotonic);
    assert_int_equal(metric->sum->aggregation_temporality, NTK__OTLP__TEMPORALITY__CUMULATIVE);
    assert_string_equal(metric->unit, "{count}");
    assert_string_equal(metric->description, "Execution status total");
    const Ntk__Otlp__NumberPoint *point =
        find_number(f, "execution_status", "status_type", "completed");
    assert_int_equal(point->start_time_unix_nano, 99 * SECOND);
    assert_int_equal(point->time_unix_nano, 101 * SECOND);
    assert_int_equal(point->value_case, NTK__OTLP__NUMBER_POINT__VALUE_AS_INT);
    point = find_number(f, "neuroncore_utilization", "neuroncore", "1");
    assert_int_equal(point->start_time_unix_nano, 0);
    assert_true(point->as_double == 0.375);
    assert_string_equal(find(f, "neuroncore_utilization")->unit, "1");
    assert_string_equal(find(f, "neuroncore_busy")->unit, "s");
}

static void an_ended_series_sends_one_stale_marker_and_its_total_continues(void **state)
{
    struct fixture *f = *state;

    push(f, test_sample_snapshot(1), 100);
    int64_t first = find_number(f, "execution_status", "status_type", "completed")->as_int;
    push(f, test_idle_snapshot(), 101);
    const Ntk__Otlp__NumberPoint *point =
        find_number(f, "execution_status", "status_type", "completed");
    assert_int_equal(point->flags, 1);
    assert_int_equal(point->value_case, NTK__OTLP__NUMBER_POINT__VALUE__NOT_SET);
    assert_int_equal(point->start_time_unix_nano, 99 * SECOND);
    assert_int_equal(point->time_unix_nano, 101 * SECOND);
    const Ntk__Otlp__Metric *latency = find(f, "neuron_execution_latency");
    assert_non_null(latency);
    assert_int_equal(latency->histogram->data_points[0]->flags, 1);
    assert_int_equal(latency->histogram->data_points[0]->count, 0);
    push(f, test_idle_snapshot(), 102);
    assert_null(find(f, "execution_status"));
    assert_null(find(f, "neuron_execution_latency"));
    push(f, test_sample_snapshot(1), 110);
    point = find_number(f, "execution_status", "status_type", "completed");
    assert_int_equal(point->as_int, 2 * first);
    assert_int_equal(point->start_time_unix_nano, 99 * SECOND);
    latency = find(f, "neuron_execution_latency"); /* this one starts again */
    assert_int_equal(latency->histogram->data_points[0]->start_time_unix_nano, 109 * SECOND);
}

/* Method: an application of several ranks starts ten seconds after the exporter. */
static void application_counters_start_with_the_application(void **state)
{
    static const char *const names[] = { "execution_status", "neuron_collective_operations",
                                         "neuron_collective", "neuron_collective_wait" };
    struct fixture *f = *state;

    push(f, test_idle_snapshot(), 100);
    struct ntk_snapshot *snapshot = test_sample_snapshot(1);
    struct ntk_rank_sample *rank = ntk_snapshot_alloc_ranks(snapshot, &snapshot->runtimes[0], 1);
    assert_non_null(rank);
    rank->rank_count = 2;
    rank->operations[0] = (struct ntk_count){ 3, 3 };
    rank->in_operations_ns = (struct ntk_count){ 2 * SECOND, 2 * SECOND };
    rank->wait_ns = (struct ntk_count){ SECOND, SECOND };
    push(f, snapshot, 110);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const Ntk__Otlp__Metric *metric = find(f, names[i]);

        assert_non_null(metric);
        assert_int_equal(metric->data_case, NTK__OTLP__METRIC__DATA_SUM);
        for (size_t k = 0; k < metric->sum->n_data_points; k++) {
            assert_int_equal(metric->sum->data_points[k]->start_time_unix_nano, 109 * SECOND);
        }
    }
    assert_true(find(f, "neuron_collective")->sum->data_points[0]->as_double == 2);
    /* The figures of the host count from the start of the exporter. */
    assert_int_equal(
        find(f, "neuron_monitor_events_read")->sum->data_points[0]->start_time_unix_nano,
        99 * SECOND);
}

static void explicit_buckets_are_not_cumulative(void **state)
{
    struct fixture *f = *state;
    uint64_t sum = 0;

    push(f, test_sample_snapshot(1), 100);
    const Ntk__Otlp__Metric *metric = find(f, "neuron_execution_latency");
    assert_string_equal(metric->unit, "s");
    const Ntk__Otlp__HistogramPoint *point = metric->histogram->data_points[0];
    assert_int_equal(point->n_explicit_bounds, NTK_LATENCY_EDGE_COUNT);
    assert_int_equal(point->n_bucket_counts, NTK_LATENCY_EDGE_COUNT + 1);
    for (size_t i = 0; i < point->n_bucket_counts; i++) {
        sum += point->bucket_counts[i];
    }
    assert_int_equal(point->count, 40);
    assert_int_equal(sum, 40);
    /* 39 of 2^20 ns and one of 2^21: above the edges 2^20 and 2^21; edges are 2^10 ... */
    assert_int_equal(point->bucket_counts[11], 39);
    assert_int_equal(point->bucket_counts[12], 1);
    assert_true(fabs(point->sum - 41 * 1048576e-9) < 1e-12);
}

/* Method: a value anywhere in the range is recorded in a correct bucket, within the widths of both
 * kinds of buckets. */
static void exponential_buckets_contain_every_value_within_their_error(void **state)
{
    static struct ntk_histogram_dense dense;
    struct ntk_otlp_buckets buckets;

    for (uint64_t ns = 1; ns < UINT64_C(1) << 40; ns += ns / 7 + 1) {
        ntk_histogram_dense_reset(&dense);
        ntk_histogram_dense_record(&dense, ns);
        ntk_otlp_buckets_make(&dense, &buckets);
        assert_int_equal(buckets.scale, NTK_POINTS_SCALE_MAX);
        assert_int_equal(buckets.bucket_count, 1);
        assert_true(buckets.count == 1 && buckets.bucket[0] == 1 && buckets.zero_count == 0);
        double step = pow(2, pow(2, -buckets.scale));
        double low = pow(step, buckets.offset);
        double seconds = (double)ns / 1e9;
        if (seconds < low * (1 - 1.0 / 64) || seconds > low * step * (1 + 1.0 / 64)) {
            fail_msg("%g s is in a bucket above %g s", seconds, low);
        }
    }
}

static void exponential_buckets_merge_until_they_fit(void **state)
{
    static struct ntk_histogram_dense dense;
    struct ntk_otlp_buckets buckets;
    uint64_t sum = 0;
    uint64_t below_second = 0;

    ntk_histogram_dense_record(&dense, 0);
    for (uint64_t ns = 1; ns < UINT64_C(1) << 38; ns = ns * 5 / 4 + 1) {
        ntk_histogram_dense_record(&dense, ns);
        below_second += ns <= 1000000000;
    }
    ntk_otlp_buckets_make(&dense, &buckets);
    assert_int_equal(buckets.scale, 2); /* 38 octaves of at most 4 buckets */
    assert_true(buckets.bucket_count <= NTK_OTLP_BUCKETS_MAX && buckets.offset < 0);
    for (uint32_t i = 0; i < buckets.bucket_count; i++) {
        sum += buckets.bucket[i];
        below_second -= buckets.offset + (int32_t)i < 0 ? buckets.bucket[i] : 0;
    }
    assert_int_equal(buckets.zero_count, 1);
    assert_int_equal(sum + 1, dense.count);
    assert_int_equal(buckets.count, dense.count);
    assert_int_equal(below_second, 0); /* 1 s is a boundary at every scale */
    ntk_histogram_dense_reset(&dense);
    ntk_otlp_buckets_make(&dense, &buckets);
    assert_true(buckets.count == 0 && buckets.bucket_count == 0);
}

static void exponential_histograms_are_summed(void **state)
{
    struct fixture *f = *state;

    use(f, (struct ntk_otlp_options){ .has_exponential = true });
    push(f, test_sample_snapshot(1), 100);
    push(f, test_sample_snapshot(1), 101);
    const Ntk__Otlp__Metric *metric = find(f, "neuron_execution_latency");
    assert_int_equal(metric->data_case, NTK__OTLP__METRIC__DATA_EXPONENTIAL_HISTOGRAM);
    const Ntk__Otlp__ExponentialPoint *point = metric->exponential_histogram->data_points[0];
    assert_int_equal(point->count, 80);
    assert_int_equal(point->scale, NTK_POINTS_SCALE_MAX);
    assert_int_equal(point->positive->n_bucket_counts, 65); /* an octave apart */
    assert_int_equal(point->positive->bucket_counts[0], 78);
    assert_int_equal(point->positive->bucket_counts[64], 2);
    assert_int_equal(point->start_time_unix_nano, 99 * SECOND);
    push(f, test_idle_snapshot(), 102);
    point = find(f, "neuron_execution_latency")->exponential_histogram->data_points[0];
    assert_true(point->flags == 1 && point->count == 0 && !point->positive);
    assert_int_equal(f->page.fine_count, 0);
}

/* The translation rule, written down a second time: unit, then _total. */
static void otlp_names_translate_to_the_prometheus_names(void **state)
{
    static const char *const words[][2] = { { "s", "_seconds" }, { "By", "_bytes" } };
    struct ntk_map seen = { 0 };

    for (size_t i = 0; i < NTK_POINTS_FAMILIES; i++) {
        const struct ntk_metric_row *row = ntk_points_family_get(i);
        char name[NTK_OTLP_NAME_BYTES];
        char translated[NTK_OTLP_NAME_BYTES + 32];
        const char *unit = ntk_otlp_name(row, name);
        const char *suffix = "";

        const struct ntk_name_row *other = ntk_name_of(row);

        if (!row->name[0] || (other && other->is_part)) {
            continue;
        }
        for (size_t k = 0; k < 2; k++) {
            suffix = !strcmp(unit, words[k][0]) ? words[k][1] : suffix;
        }
        if (!strcmp(unit, "1") && row->kind == NTK_METRIC_KIND_GAUGE &&
            !(other && other->is_up_down)) {
            suffix = "_ratio";
        }
        snprintf(translated, sizeof translated, "%s%s%s", name, suffix,
                 row->kind == NTK_METRIC_KIND_COUNTER ? "_total" : "");
        for (char *dot = translated; (dot = strchr(dot, '.'));) {
            *dot = '_';
        }
        assert_string_equal(translated, row->name);
        assert_null(ntk_map_get(&seen, name));
        ntk_map_put(&seen, name, &seen);
    }
    ntk_map_fini(&seen);
}

/* The number of the only point that has the state of a device. */
static int64_t state_of(const struct fixture *f, const char *device, const char *word)
{
    const Ntk__Otlp__Metric *metric = find(f, "hw.status");
    int64_t found = -1;

    for (size_t i = 0; metric && i < metric->sum->n_data_points; i++) {
        const Ntk__Otlp__NumberPoint *point = metric->sum->data_points[i];

        if (has_attribute(point->attributes, point->n_attributes, "hw.id", device) &&
            has_attribute(point->attributes, point->n_attributes, "hw.state", word)) {
            assert_int_equal(found, -1);
            assert_true(has_attribute(point->attributes, point->n_attributes, "hw.type", "gpu"));
            found = point->as_int;
        }
    }
    return found;
}

static void device_states_follow_the_hardware_conventions(void **state)
{
    static const enum ntk_health_verdict verdicts[] = { NTK_HEALTH_HEALTHY, NTK_HEALTH_UNHEALTHY,
                                                        NTK_HEALTH_UNKNOWN };
    struct fixture *f = *state;

    f->page.names = 1u << NTK_NAME_LIST_OTEL;
    for (size_t i = 0; i < 3; i++) {
        struct ntk_snapshot *snapshot = test_sample_snapshot(1);

        snapshot->devices[0].has |= NTK_DEVICE_HAS_HEALTH;
        snapshot->devices[0].verdict = verdicts[i];
        push(f, snapshot, 100 + i);
        if (verdicts[i] == NTK_HEALTH_UNKNOWN) {
            break;
        }
        bool is_well = verdicts[i] == NTK_HEALTH_HEALTHY;
        assert_int_equal(state_of(f, "neuron0", "ok"), is_well);
        assert_int_equal(state_of(f, "neuron0", "failed"), !is_well);
        const Ntk__Otlp__Metric *metric = find(f, "hw.status");
        assert_int_equal(metric->data_case, NTK__OTLP__METRIC__DATA_SUM);
        assert_false(metric->sum->is_monotonic);
        assert_string_equal(metric->unit, "1");
    }
    const Ntk__Otlp__Metric *metric = find(f, "hw.status"); /* both series end */
    for (size_t i = 0; i < metric->sum->n_data_points; i++) {
        const Ntk__Otlp__NumberPoint *point = metric->sum->data_points[i];
        assert_true(point->flags == 1 ||
                    !has_attribute(point->attributes, point->n_attributes, "hw.id", "neuron0"));
    }
    assert_null(find(f, "execution_status")); /* no other list */
}

static void user_resource_attributes_take_precedence(void **state)
{
    struct fixture *f = *state;
    struct ntk_vec pairs = NTK_VEC_INIT(struct ntk_otlp_pair);
    const struct ntk_otlp_pair mine[] = { { "service.name", "mine" }, { "team", "a" } };
    struct ntk_snapshot *snapshot = test_sample_snapshot(1);

    snapshot->instance.id = "i-0123";
    snapshot->instance.region = "xx-test-1";
    snapshot->instance.availability_zone = "xx-test-1a";
    ntk_vec_push(&pairs, &mine[0]);
    ntk_vec_push(&pairs, &mine[1]);
    use(f, (struct ntk_otlp_options){ .attributes = &pairs, .vendor_only = true });
    push(f, snapshot, 100);
    const Ntk__Otlp__Resource *resource = f->requests[0]->resource_metrics[0]->resource;
    static const char *const wanted[][2] = {
        { "service.name", "mine" },
        { "team", "a" },
        { "service.instance.id", "i-0123" },
        { "host.id", "i-0123" },
        { "host.name", "host" },
        { "host.type", "trn2.3xlarge" },
        { "cloud.provider", "aws" },
        { "cloud.platform", "aws_ec2" },
        { "cloud.region", "xx-test-1" },
        { "cloud.availability_zone", "xx-test-1a" },
        { "os.type", "linux" },
        { "service.version", NTK_VERSION },
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        if (!has_attribute(resource->attributes, resource->n_attributes, wanted[i][0],
                           wanted[i][1])) {
            fail_msg("%s is not %s", wanted[i][0], wanted[i][1]);
        }
    }
    assert_int_equal(resource->n_attributes, sizeof wanted / sizeof *wanted + 1); /* host.arch */
    assert_null(find(f, "neuroncore_busy"));
    assert_non_null(find_number(f, "instance_info", "instance_id", "i-0123"));
    ntk_vec_fini(&pairs);
}

static void many_points_are_split_into_several_requests(void **state)
{
    struct fixture *f = *state;
    struct ntk_snapshot *snapshot = test_idle_snapshot();
    struct ntk_runtime_sample *runtimes = ntk_snapshot_alloc_runtimes(snapshot, 2000);

    for (int i = 0; i < 2000; i++) {
        runtimes[i].has = NTK_RUNTIME_HAS_EXECUTIONS;
        runtimes[i].tag = ntk_snapshot_format(snapshot, "tag-%d", i);
    }
    push(f, snapshot, 100);
    assert_true(f->point_count > 24000);
    assert_int_equal(f->request_count, (f->point_count - 1) / NTK_OTLP_POINTS_MAX + 1);
    uint64_t all = f->point_count;
    push(f, test_idle_snapshot(), 101);
    assert_int_equal(f->point_count, all); /* the same points, without a value */
    push(f, test_idle_snapshot(), 102);
    assert_true(f->point_count < 100 && f->request_count == 1);
}

static void otlp_encoding_returns_the_error_of_the_receiver(void **state)
{
    struct fixture *f = *state;
    struct ntk_snapshot *snapshot = test_sample_snapshot(1);
    struct ntk_err err = { 0 };

    f->code = -EIO;
    assert_int_equal(ntk_points_page_update(&f->page, snapshot), 0);
    assert_int_equal(ntk_otlp_encode(f->encoder, &f->page, "host", SECOND, keep, f, &err), -EIO);
    ntk_snapshot_destroy(snapshot);
}

static void malformed_otlp_responses_are_ignored(void **state)
{
    static const uint8_t partial[] = "\x0a\x09\x08\x03\x12\x05"
                                     "a\x1b"
                                     "bad";
    static const uint8_t empty[] = "\x0a\x00";
    static const uint8_t warning[] = "\x0a\x03\x12\x01x";
    static const uint8_t negative[] =
        "\x0a\x0e\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x12\x01y";
    static const uint8_t status[] = "\x08\x03\x12\x02no";
    uint64_t refused = 99;
    char text[8] = "";

    assert_true(ntk_otlp_read_partial(partial, sizeof partial - 1, &refused, text, sizeof text));
    assert_int_equal(refused, 3);
    assert_true(text[0] == 'a' && !strchr(text, '\x1b'));
    assert_false(ntk_otlp_read_partial(empty, sizeof empty - 1, &refused, text, sizeof text));
    assert_false(ntk_otlp_read_partial("", 0, &refused, text, sizeof text));
    assert_true(ntk_otlp_read_partial(warning, sizeof warning - 1, &refused, text, sizeof text));
    assert_true(refused == 0 && !strcmp(text, "x"));
    assert_true(ntk_otlp_read_partial(negative, sizeof negative - 1, &refused, text, sizeof text));
    assert_int_equal(refused, 0);
    for (size_t cut = 1; cut < sizeof partial - 1; cut++) {
        assert_false(ntk_otlp_read_partial(partial, cut, &refused, text, sizeof text));
    }
    assert_true(ntk_otlp_read_status(status, sizeof status - 1, text, sizeof text));
    assert_string_equal(text, "no");
    assert_false(ntk_otlp_read_status("<html>", 6, text, sizeof text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        CASE(otlp_sums_are_monotonic_and_start_with_the_first_period),
        CASE(an_ended_series_sends_one_stale_marker_and_its_total_continues),
        CASE(application_counters_start_with_the_application),
        CASE(device_states_follow_the_hardware_conventions),
        CASE(explicit_buckets_are_not_cumulative),
        CASE(exponential_buckets_contain_every_value_within_their_error),
        CASE(exponential_buckets_merge_until_they_fit),
        CASE(exponential_histograms_are_summed),
        CASE(otlp_names_translate_to_the_prometheus_names),
        CASE(user_resource_attributes_take_precedence),
        CASE(many_points_are_split_into_several_requests),
        CASE(otlp_encoding_returns_the_error_of_the_receiver),
        CASE(malformed_otlp_responses_are_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
