/* SPDX-License-Identifier: MIT */
#include "tests/exporters/cloudwatch/cloudwatch_sent.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "exporters/cloudwatch/cloudwatch_request.h"
#include "tests/support/sample_snapshot.h"
#include "tests/support/unit.h"

static int keep(struct ntk_buf *body, uint64_t metric_count, void *ctx, struct ntk_err *err)
{
    struct test_cloudwatch_sent *sent = ctx;
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

struct test_cloudwatch_sent test_cloudwatch_request(struct ntk_cloudwatch_data *data)
{
    struct test_cloudwatch_sent sent = { 0 };
    const struct ntk_cloudwatch_request_options options = {
        .namespace_name = "N/\"1", .time_ms = TEST_CLOUDWATCH_MINUTE_MS, .emit = keep, .ctx = &sent
    };
    struct ntk_err err = { 0 };

    ntk_cloudwatch_data_sort(data);
    assert_int_equal(ntk_cloudwatch_request(data, &options, &err), 0);
    return sent;
}

struct ntk_snapshot *test_cloudwatch_sample(uint32_t lnc)
{
    struct ntk_snapshot *snapshot = test_sample_snapshot(lnc);

    snapshot->instance.id = "i-1";
    snapshot->instance.type = "trn2.3xlarge";
    return snapshot;
}

void test_cloudwatch_encode(struct ntk_cloudwatch_data *data, const struct ntk_snapshot *snapshot)
{
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_cloudwatch_encode(data, snapshot, NTK_CLOUDWATCH_ALL, &err), 0);
}

void test_cloudwatch_dimensions(const json_t *metric, char text[TEST_CLOUDWATCH_TEXT_BYTES])
{
    const json_t *list = json_object_get(metric, "Dimensions");
    size_t length = 0;

    text[0] = '\0';
    for (size_t i = 0; i < json_array_size(list) && length < TEST_CLOUDWATCH_TEXT_BYTES; i++) {
        const json_t *pair = json_array_get(list, i);
        length += (size_t)snprintf(text + length, TEST_CLOUDWATCH_TEXT_BYTES - length, "%s=%s;",
                                   json_string_value(json_object_get(pair, "Name")),
                                   json_string_value(json_object_get(pair, "Value")));
    }
}

double test_cloudwatch_sum(const struct test_cloudwatch_sent *sent, const char *name,
                           const char *dimensions, double *out_count)
{
    double sum = 0;
    *out_count = 0;

    for (size_t i = 0; i < json_array_size(sent->metrics); i++) {
        const json_t *metric = json_array_get(sent->metrics, i);
        char text[TEST_CLOUDWATCH_TEXT_BYTES];
        test_cloudwatch_dimensions(metric, text);
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

void test_cloudwatch_assert_sum(const struct test_cloudwatch_sent *sent, const char *name,
                                const char *dimensions, double sum, double count)
{
    double got_count;
    double got = test_cloudwatch_sum(sent, name, dimensions, &got_count);

    if (fabs(got - sum) > 1e-9 * fabs(sum) || got_count != count) {
        fail_msg("%s{%s}: %.17g of %g values, not %.17g of %g", name, dimensions, got, got_count,
                 sum, count);
    }
}
