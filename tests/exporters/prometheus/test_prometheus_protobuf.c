/* SPDX-License-Identifier: MIT */
/* Method: hand-made snapshots to a page, and the page to protobuf, which is decoded as a scraper
 * does. */
#include "exporters/prometheus/prometheus_protobuf.h"

#include <math.h>
#include <string.h>

#include "exporters/prometheus/metrics.pb-c.h"
#include "exporters/points/points_buckets.h"
#include "exporters/prometheus/prometheus_encode.h"
#include "tests/support/sample_snapshot.h"
#include "tests/support/unit.h"

#define FAMILIES_MAX 200

struct fixture {
    struct ntk_points_page page;
    Ntk__Prometheus__MetricFamily *family[FAMILIES_MAX];
    size_t family_count;
};

static struct fixture fixture;

static int set_up(void **state)
{
    memset(&fixture, 0, sizeof fixture);
    fixture.page.keeps_fine_latencies = true;
    *state = &fixture;
    return 0;
}

static void forget(struct fixture *f)
{
    while (f->family_count) {
        ntk__prometheus__metric_family__free_unpacked(f->family[--f->family_count], NULL);
    }
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    forget(f);
    ntk_points_page_fini(&f->page);
    return 0;
}

static void update(struct fixture *f, struct ntk_snapshot *snapshot)
{
    assert_int_equal(ntk_points_page_update(&f->page, snapshot), 0);
    ntk_snapshot_destroy(snapshot);
}

/* Each family is preceded by its length. */
static void encode(struct fixture *f, bool vendor_only)
{
    struct ntk_buf buf = { 0 };

    forget(f);
    ntk_prometheus_encode(&f->page, NTK_PROMETHEUS_PROTOBUF, vendor_only, &buf);
    assert_true(ntk_buf_ok(&buf));
    for (size_t at = 0; at < buf.bytes_count;) {
        size_t length = 0;
        unsigned shift = 0;
        do {
            length |= (size_t)((unsigned char)buf.bytes[at] & 0x7f) << shift;
            shift += 7;
        } while ((unsigned char)buf.bytes[at++] & 0x80);
        assert_true(at + length <= buf.bytes_count && f->family_count < FAMILIES_MAX);
        f->family[f->family_count] =
            ntk__prometheus__metric_family__unpack(NULL, length, (const uint8_t *)buf.bytes + at);
        assert_non_null(f->family[f->family_count]);
        f->family_count++;
        at += length;
    }
    ntk_buf_fini(&buf);
}

static const Ntk__Prometheus__MetricFamily *find(const struct fixture *f, const char *name)
{
    for (size_t i = 0; i < f->family_count; i++) {
        if (!strcmp(f->family[i]->name, name)) {
            return f->family[i];
        }
    }
    return NULL;
}

/* Series as the text counts them: a bucket, +Inf, sum and count are one each. */
static size_t series_count(const struct fixture *f)
{
    size_t count = 0;

    for (size_t i = 0; i < f->family_count; i++) {
        size_t each = f->family[i]->metric[0]->histogram
                          ? f->family[i]->metric[0]->histogram->n_bucket + 3
                          : 1;
        count += f->family[i]->n_metric * each;
    }
    return count;
}

static size_t lines_count(const struct fixture *f, bool vendor_only)
{
    struct ntk_buf buf = { 0 };
    size_t count = 0;

    ntk_prometheus_encode(&f->page, NTK_PROMETHEUS_TEXT_0_0_4, vendor_only, &buf);
    const char *text = ntk_buf_text_get(&buf);
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        count += *line != '#';
    }
    ntk_buf_fini(&buf);
    return count;
}

static const Ntk__Prometheus__Histogram *total_latency(struct fixture *f)
{
    encode(f, false);
    const Ntk__Prometheus__MetricFamily *family = find(f, "neuron_execution_latency_seconds");
    assert_non_null(family);
    assert_int_equal(family->type, NTK__PROMETHEUS__METRIC_TYPE__HISTOGRAM);
    assert_non_null(family->metric[0]->histogram);
    return family->metric[0]->histogram;
}

/* Fills native buckets by index from `first`, the smallest index; returns their sum plus the
 * zeros. */
static uint64_t unfold(const Ntk__Prometheus__Histogram *histogram, int32_t first, uint64_t *bucket,
                       size_t room)
{
    uint64_t sum = histogram->zero_count;
    uint64_t count = 0;
    int32_t index = 0;
    size_t delta = 0;

    memset(bucket, 0, room * sizeof *bucket);
    for (size_t i = 0; i < histogram->n_positive_span; i++) {
        index += histogram->positive_span[i]->offset;
        for (uint32_t k = 0; k < histogram->positive_span[i]->length; k++, index++) {
            count += (uint64_t)histogram->positive_delta[delta++];
            assert_true(index >= first && index - first < (int32_t)room);
            bucket[index - first] = count;
            sum += count;
        }
    }
    assert_int_equal(delta, histogram->n_positive_delta);
    return sum;
}

static void every_series_of_the_text_format_is_present(void **state)
{
    struct fixture *f = *state;

    update(f, test_sample_snapshot(1));
    for (int vendor_only = 0; vendor_only < 2; vendor_only++) {
        encode(f, vendor_only);
        assert_int_equal(series_count(f), lines_count(f, vendor_only));
    }
    const Ntk__Prometheus__MetricFamily *family = find(f, "execution_status_total");
    assert_int_equal(family->type, NTK__PROMETHEUS__METRIC_TYPE__COUNTER);
    assert_string_equal(family->help, "Execution status total");
    assert_string_equal(family->metric[0]->label[0]->name, "availability_zone");
    for (size_t i = 1; i < family->metric[0]->n_label; i++) {
        const Ntk__Prometheus__LabelPair *const *label =
            (const Ntk__Prometheus__LabelPair *const *)family->metric[0]->label;
        assert_true(strcmp(label[i - 1]->name, label[i]->name) < 0);
    }
    assert_true(family->metric[0]->counter->value == 70);
    family = find(f, "execution_status_created");
    assert_int_equal(family->type, NTK__PROMETHEUS__METRIC_TYPE__GAUGE);
    assert_true(family->metric[0]->gauge->value > 0);
    assert_null(find(f, "neuron_executions_total"));
}

static void a_histogram_has_classic_and_native_buckets(void **state)
{
    struct fixture *f = *state;
    uint64_t bucket[128];

    update(f, test_sample_snapshot(1));
    update(f, test_sample_snapshot(1));
    const Ntk__Prometheus__Histogram *histogram = total_latency(f);
    assert_int_equal(histogram->sample_count, 80);
    assert_true(fabs(histogram->sample_sum - 82 * 1048576e-9) < 1e-12);
    assert_int_equal(histogram->n_bucket, NTK_LATENCY_EDGE_COUNT);
    assert_true(histogram->bucket[11]->upper_bound == 0.002097152);
    assert_int_equal(histogram->bucket[11]->cumulative_count, 78);
    assert_int_equal(histogram->schema, 6);
    assert_true(histogram->zero_threshold == 0x1p-128);
    assert_int_equal(histogram->n_positive_span, 2); /* an octave apart */
    assert_int_equal(histogram->positive_span[0]->length, 1);
    assert_int_equal(histogram->positive_span[1]->offset, 63);
    int32_t first = histogram->positive_span[0]->offset;
    /* Bucket i ends at 2^(i/64) s. */
    assert_true(exp2((first - 1) / 64.0) < 0.0010569 && 0.0010486 < exp2(first / 64.0));
    assert_int_equal(unfold(histogram, first, bucket, 128), 80);
    assert_int_equal(bucket[0], 78);
    assert_int_equal(bucket[64], 2);
}

static void a_series_with_an_incomplete_histogram_has_only_classic_buckets(void **state)
{
    struct fixture *f = *state;

    f->page.keeps_fine_latencies = false;
    update(f, test_sample_snapshot(1));
    const Ntk__Prometheus__Histogram *histogram = total_latency(f);
    assert_int_equal(histogram->n_bucket, NTK_LATENCY_EDGE_COUNT);
    assert_true(histogram->zero_threshold == 0 && !histogram->n_positive_span);
}

/* The limit in the documentation: the boundaries of the bucket that holds a rank differ from the
 * percentile by less than base - 1, at every schema that a spread leads to. */
static void quantiles_are_within_the_stated_error(void **state)
{
    static const double growth[] = { 1.001, 1.01, 1.02, 1.05 };
    struct fixture *f = *state;
    static struct ntk_histogram_dense dense;
    static uint64_t bucket[4096];
    unsigned schemas = 0; /* schemas seen, one bit each */

    update(f, test_sample_snapshot(1));
    for (size_t g = 0; g < sizeof growth / sizeof *growth; g++) {
        ntk_histogram_dense_reset(&dense);
        ntk_histogram_dense_record(&dense, 0);
        double ns = 100000;
        for (int i = 0; i < 400 && ns < 1e12; i++, ns *= growth[g]) {
            ntk_histogram_dense_record(&dense, (uint64_t)ns);
        }
        ntk_map_each(entry, &f->page.tags) {
            struct ntk_points_tag *tag = entry->value;
            ntk_vec_each(struct ntk_points_latency, latency, &tag->latencies) {
                *latency->total.fine = dense;
            }
        }
        const Ntk__Prometheus__Histogram *histogram = total_latency(f);
        assert_true(histogram->n_positive_delta <= NTK_POINTS_NATIVE_MAX);
        assert_true(histogram->schema >= 0 && histogram->schema <= 6);
        schemas |= 1u << histogram->schema;
        assert_int_equal(unfold(histogram, -2048, bucket, 4096), dense.count);
        assert_int_equal(histogram->zero_count, 1);
        double base = exp2(exp2(-histogram->schema));
        for (int at = 1; at < 100; at++) {
            double percent = at;
            double expected_ns;
            assert_true(ntk_histogram_dense_percentiles(&dense, &percent, 1, &expected_ns));
            uint64_t rank = (uint64_t)(percent / 100 * (double)(dense.count - 1));
            uint64_t seen = histogram->zero_count;
            int32_t index = -2048;
            for (; rank >= seen && index < 2048; index++) {
                seen += bucket[index + 2048];
            }
            if (rank < histogram->zero_count) {
                continue;
            }
            double high = pow(base, index - 1); /* the loop has already advanced by one */
            double low = high / base;
            double seconds = expected_ns / 1e9;
            if (seconds <= low * (1 - 1e-12) || seconds > high * (1 + 1e-12)) {
                fail_msg("p%g is %g s and in the bucket from %g s to %g s", percent, seconds, low,
                         high);
            }
        }
    }
    assert_true(schemas & 1u << 6 && __builtin_popcount(schemas) >= 3);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(every_series_of_the_text_format_is_present),
        CASE(a_histogram_has_classic_and_native_buckets),
        CASE(a_series_with_an_incomplete_histogram_has_only_classic_buckets),
        CASE(quantiles_are_within_the_stated_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
