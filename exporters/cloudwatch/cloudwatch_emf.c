/* SPDX-License-Identifier: MIT */
/* cloudwatch_emf - groups series by their dimensions and writes a line for each group. */
#include "exporters/cloudwatch/cloudwatch_emf.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "shared/base/json.h"

#define LINE_METRICS_MAX 100u
static_assert((unsigned)NTK_CLOUDWATCH_METRIC_COUNT <= LINE_METRICS_MAX,
              "all metrics with the same dimensions fit into one line");

/* Series with the same dimensions: each metric at most once. */
struct group {
    const struct ntk_cloudwatch_series *series[NTK_CLOUDWATCH_METRIC_COUNT];
    size_t count;
    size_t value_count; /* of the series with the most values */
};

static void groups_fini(struct ntk_map *groups)
{
    ntk_map_each(entry, groups) {
        free(entry->value);
    }
    ntk_map_fini(groups);
}

static int group_add(struct ntk_map *groups, struct ntk_buf *key,
                     const struct ntk_cloudwatch_series *series)
{
    ntk_buf_reset(key);
    for (size_t i = 0; i < series->dimension_count; i++) {
        ntk_buf_add_format(key, "%s=%s\n", series->dimensions[i].name, series->dimensions[i].value);
    }
    if (!ntk_buf_ok(key)) {
        return -ENOMEM;
    }
    struct group *group = ntk_map_get(groups, ntk_buf_text_get(key));
    if (!group) {
        group = calloc(1, sizeof *group);
        if (!group || ntk_map_put(groups, ntk_buf_text_get(key), group) < 0) {
            free(group);
            return -ENOMEM;
        }
    }
    assert(group->count <
           NTK_CLOUDWATCH_METRIC_COUNT); /* a metric and its dimensions: one series */
    group->series[group->count++] = series;
    if (series->values.count > group->value_count) {
        group->value_count = series->values.count;
    }
    return 0;
}

static void write_directive(struct ntk_json *json, const struct group *group, size_t first,
                            const struct ntk_cloudwatch_emf_options *options)
{
    const struct ntk_cloudwatch_series *model = group->series[0];

    ntk_json_key_array_begin(json, "CloudWatchMetrics");
    ntk_json_object_begin(json);
    ntk_json_key_text(json, "Namespace", options->namespace_name);
    ntk_json_key_array_begin(json, "Dimensions");
    ntk_json_array_begin(json);
    for (size_t i = 0; i < model->dimension_count; i++) {
        ntk_json_text(json, model->dimensions[i].name);
    }
    ntk_json_array_end(json);
    ntk_json_array_end(json);
    ntk_json_key_array_begin(json, "Metrics");
    for (size_t i = 0; i < group->count; i++) {
        struct ntk_cloudwatch_metric_row row = ntk_cloudwatch_metric_get(group->series[i]->metric);
        if (group->series[i]->values.count <= first) {
            continue;
        }
        ntk_json_object_begin(json);
        ntk_json_key_text(json, "Name", row.name);
        ntk_json_key_text(json, "Unit", row.unit);
        ntk_json_key_u64(json, "StorageResolution", options->is_high_resolution ? 1 : 60);
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
    ntk_json_object_end(json);
    ntk_json_array_end(json);
}

static void write_values(struct ntk_json *json, const struct ntk_cloudwatch_series *series,
                         size_t first)
{
    const struct ntk_cloudwatch_value *values = series->values.items;
    size_t end = series->values.count;

    if (first >= end) {
        return;
    }
    ntk_json_key(json, ntk_cloudwatch_metric_get(series->metric).name);
    if (end == 1) {
        ntk_json_double(json, values[0].value);
        return;
    }
    end = end - first > NTK_CLOUDWATCH_EMF_VALUES_MAX ? first + NTK_CLOUDWATCH_EMF_VALUES_MAX : end;
    ntk_json_array_begin(json);
    for (size_t i = first; i < end; i++) {
        ntk_json_double(json, values[i].value);
    }
    ntk_json_array_end(json);
}

/* Writes values from `first` on, as many as fit in a line. */
static void write_line(struct ntk_buf *out, const struct group *group, size_t first,
                       const struct ntk_cloudwatch_emf_options *options)
{
    const struct ntk_cloudwatch_series *model = group->series[0];
    struct ntk_json json;

    ntk_json_init(&json, out, false);
    ntk_json_object_begin(&json);
    ntk_json_key_object_begin(&json, "_aws");
    ntk_json_key_u64(&json, "Timestamp", options->time_ms);
    if (options->log_group) {
        ntk_json_key_text(&json, "LogGroupName", options->log_group);
    }
    write_directive(&json, group, first, options);
    ntk_json_object_end(&json);
    for (size_t i = 0; i < model->dimension_count; i++) {
        ntk_json_key_text(&json, model->dimensions[i].name, model->dimensions[i].value);
    }
    for (size_t i = 0; i < group->count; i++) {
        write_values(&json, group->series[i], first);
    }
    ntk_json_object_end(&json);
    ntk_buf_add_char(out, '\n');
}

int ntk_cloudwatch_emf(const struct ntk_cloudwatch_data *data,
                       const struct ntk_cloudwatch_emf_options *options, struct ntk_buf *out,
                       uint64_t *out_line_count, struct ntk_err *err)
{
    struct ntk_map groups = { 0 };
    struct ntk_buf key = { 0 };
    int ret = 0;

    *out_line_count = 0;
    ntk_map_each(entry, &data->series) {
        const struct ntk_cloudwatch_series *series = entry->value;
        if (!series->is_weighted && series->values.count && ret >= 0) {
            ret = group_add(&groups, &key, series);
        }
    }
    ntk_map_each(entry, &groups) {
        const struct group *group = entry->value;
        for (size_t first = 0; first < group->value_count && ret >= 0;
             first += NTK_CLOUDWATCH_EMF_VALUES_MAX) {
            write_line(out, group, first, options);
            ++*out_line_count;
        }
    }
    groups_fini(&groups);
    ntk_buf_fini(&key);
    return ret < 0 || !ntk_buf_ok(out) ? ntk_err_no_memory(err) : 0;
}
