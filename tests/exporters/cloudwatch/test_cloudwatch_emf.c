/* SPDX-License-Identifier: MIT */
/* Method: snapshots to lines, parsed again. */
#include "exporters/cloudwatch/cloudwatch_emf.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "shared/metrics/snapshot.h"
#include "tests/exporters/cloudwatch/cloudwatch_sent.h"
#include "tests/support/unit.h"

static void an_emf_line_has_at_most_100_values_per_metric(void **state)
{
    struct ntk_cloudwatch_data data = { 0 };
    struct ntk_snapshot *snapshot = test_cloudwatch_sample(1);
    const struct ntk_cloudwatch_emf_options options = { "N", "group", TEST_CLOUDWATCH_MINUTE_MS,
                                                        true };
    struct ntk_buf out = { 0 };
    struct ntk_err err = { 0 };
    uint64_t lines = 0;
    size_t values = 0;
    size_t seen = 0;

    for (int i = 0; i < 250; i++) {
        test_cloudwatch_encode(&data, snapshot);
    }
    assert_int_equal(ntk_cloudwatch_emf(&data, &options, &out, &lines, &err), 0);
    for (char *line = out.bytes; line && *line; line = strchr(line, '\n') + 1) {
        json_error_t said;
        json_t *root = json_loads(line, JSON_DISABLE_EOF_CHECK, &said);
        assert_non_null(root);
        const json_t *aws = json_object_get(root, "_aws");
        assert_int_equal(json_integer_value(json_object_get(aws, "Timestamp")),
                         TEST_CLOUDWATCH_MINUTE_MS);
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

/* The series of a metric and its dimensions in the line, with the names of
 * test_cloudwatch_encode(). */
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

static void emf_lines_contain_every_series_once_in_as_few_lines_as_possible(void **state)
{
    static const struct ntk_cloudwatch_emf_options options = { "N", NULL, TEST_CLOUDWATCH_MINUTE_MS,
                                                               false };
    struct ntk_cloudwatch_data data = { 0 };
    struct ntk_snapshot *snapshot = test_cloudwatch_sample(3);
    size_t expected = 0, seen = 0;
    struct ntk_map written = { 0 };
    struct ntk_buf out = { 0 };
    struct ntk_err err = { 0 };
    uint64_t lines = 0;

    test_cloudwatch_encode(&data, snapshot);
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
static void emf_lines_have_execution_percentiles_but_no_single_values(void **state)
{
    static const struct ntk_cloudwatch_emf_options options = { "N", NULL, TEST_CLOUDWATCH_MINUTE_MS,
                                                               false };
    struct ntk_cloudwatch_data data = { 0 };
    struct ntk_snapshot *snapshot = test_cloudwatch_sample(1);
    struct ntk_buf out = { 0 };
    struct ntk_err err = { 0 };
    uint64_t lines = 0;
    size_t with_percentile = 0;
    char text[TEST_CLOUDWATCH_TEXT_BYTES];
    double count;

    test_cloudwatch_encode(&data, snapshot);
    struct test_cloudwatch_sent sent = test_cloudwatch_request(&data);
    snprintf(text, sizeof text,
             "InstanceId=i-1;InstanceType=trn2.3xlarge;RuntimeTag=%s;LatencyType=total_latency;",
             snapshot->runtimes[0].tag);
    (void)test_cloudwatch_sum(&sent, "ExecutionLatency", text, &count);
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

static void tags_that_are_equal_after_sanitizing_share_a_series(void **state)
{
    static const struct ntk_cloudwatch_emf_options options = { "N", NULL, TEST_CLOUDWATCH_MINUTE_MS,
                                                               false };
    enum { RUNTIMES = 40 };
    static struct ntk_runtime_sample runtimes[RUNTIMES];
    static char tags[RUNTIMES][8];
    struct ntk_cloudwatch_data data = { 0 };
    struct ntk_snapshot *snapshot = test_cloudwatch_sample(1);
    struct ntk_buf out = { 0 };
    struct ntk_err err = { 0 };
    uint64_t lines = 0;

    for (int i = 0; i < RUNTIMES; i++) {
        runtimes[i] = snapshot->runtimes[0];
        snprintf(tags[i], sizeof tags[i], "\xc3%c", (char)(0x80 + i));
        runtimes[i].tag = tags[i];
    }
    snapshot->runtime_count = 1;
    test_cloudwatch_encode(&data, snapshot);
    size_t alone = data.series.count;
    ntk_cloudwatch_data_fini(&data);
    snapshot->runtimes = runtimes;
    snapshot->runtime_count = RUNTIMES;
    test_cloudwatch_encode(&data, snapshot);
    assert_int_equal(data.series.count, alone);
    assert_int_equal(ntk_cloudwatch_emf(&data, &options, &out, &lines, &err), 0);
    assert_non_null(strstr(out.bytes, "\"RuntimeTag\":\"??\""));
    ntk_buf_fini(&out);
    ntk_cloudwatch_data_fini(&data);
    ntk_snapshot_destroy(snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_emf_line_has_at_most_100_values_per_metric),
        cmocka_unit_test(emf_lines_contain_every_series_once_in_as_few_lines_as_possible),
        cmocka_unit_test(emf_lines_have_execution_percentiles_but_no_single_values),
        cmocka_unit_test(tags_that_are_equal_after_sanitizing_share_a_series),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
