/* SPDX-License-Identifier: MIT */
/* cloudwatch_emf - groups series by their dimensions, and writes groups without a conflict to one
 * line. */
#include "exporters/cloudwatch/cloudwatch_emf.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/json.h"

#define LINE_METRICS_MAX 100u
static_assert((unsigned)NTK_CLOUDWATCH_METRIC_COUNT <= LINE_METRICS_MAX,
              "a line has each metric at most once");
static_assert((unsigned)NTK_CLOUDWATCH_METRIC_COUNT <= 64, "a bit for each metric");

/* Series with the same dimensions; each metric occurs at most once. */
struct group {
    const struct ntk_cloudwatch_series *series[NTK_CLOUDWATCH_METRIC_COUNT];
    size_t count;
    uint64_t metrics;   /* bits of the metrics */
    size_t value_count; /* number of values in the longest series */
};

/* Groups with different metrics and without two values for one dimension, because metrics and
 * dimensions are keys of the line. */
struct line {
    struct ntk_vec groups; /* elements are const struct group *, borrowed */
    uint64_t metrics;
    size_t value_count; /* number of values in the longest series */
};

static void lines_fini(struct ntk_vec *lines)
{
    ntk_vec_each(struct line, line, lines) {
        ntk_vec_fini(&line->groups);
    }
    ntk_vec_fini(lines);
}

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
           NTK_CLOUDWATCH_METRIC_COUNT); /* a metric and its dimensions are one series */
    group->series[group->count++] = series;
    group->metrics |= UINT64_C(1) << series->metric;
    if (series->values.count > group->value_count) {
        group->value_count = series->values.count;
    }
    return 0;
}

static bool is_consistent(const struct group *a, const struct group *b)
{
    for (size_t i = 0; i < a->series[0]->dimension_count; i++) {
        const struct ntk_cloudwatch_dimension *x = &a->series[0]->dimensions[i];
        for (size_t k = 0; k < b->series[0]->dimension_count; k++) {
            const struct ntk_cloudwatch_dimension *y = &b->series[0]->dimensions[k];
            if (strcmp(x->name, y->name) == 0 && strcmp(x->value, y->value) != 0) {
                return false;
            }
        }
    }
    return true;
}

static bool is_room(const struct line *line, const struct group *group)
{
    if (line->metrics & group->metrics) {
        return false;
    }
    ntk_vec_each(const struct group *, other, &line->groups) {
        if (!is_consistent(*other, group)) {
            return false;
        }
    }
    return true;
}

/* Adds a group to the first line with space. full: by metrics, the number of lines at the front
 * that have one of them. */
static int line_add(struct ntk_vec *lines, struct ntk_map *full, const struct group *group)
{
    size_t i = (size_t)(uintptr_t)ntk_map_get_number(full, group->metrics);
    struct line *line;

    while (i < lines->count &&
           ((const struct line *)ntk_vec_at(lines, i))->metrics & group->metrics) {
        i++;
    }
    if (ntk_map_put_number(full, group->metrics, (void *)(uintptr_t)i) < 0) {
        return -ENOMEM;
    }
    while (i < lines->count && !is_room(ntk_vec_at(lines, i), group)) {
        i++;
    }
    if (i < lines->count) {
        line = ntk_vec_at(lines, i);
    } else if ((line = ntk_vec_add(lines)) != NULL) {
        ntk_vec_init(&line->groups, sizeof(const struct group *));
    }
    if (!line || ntk_vec_push(&line->groups, &group) < 0) {
        return -ENOMEM;
    }
    line->metrics |= group->metrics;
    line->value_count =
        group->value_count > line->value_count ? group->value_count : line->value_count;
    return 0;
}

static void write_directive(struct ntk_json *json, const struct group *group, size_t first,
                            const struct ntk_cloudwatch_emf_options *options)
{
    const struct ntk_cloudwatch_series *model = group->series[0];

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

/* Writes dimensions; groups that share a dimension write it once. */
static void write_dimensions(struct ntk_json *json, const struct group *const *groups, size_t count)
{
    const struct ntk_cloudwatch_series *model = groups[count]->series[0];

    for (size_t i = 0; i < model->dimension_count; i++) {
        bool is_written = false;
        for (size_t k = 0; k < count && !is_written; k++) {
            const struct ntk_cloudwatch_series *other = groups[k]->series[0];
            for (size_t n = 0; n < other->dimension_count && !is_written; n++) {
                is_written = strcmp(other->dimensions[n].name, model->dimensions[i].name) == 0;
            }
        }
        if (!is_written) {
            ntk_json_key_text(json, model->dimensions[i].name, model->dimensions[i].value);
        }
    }
}

/* Writes values from `first` on, until the line is full. */
static void write_line(struct ntk_buf *out, const struct line *line, size_t first,
                       const struct ntk_cloudwatch_emf_options *options)
{
    const struct group *const *groups = line->groups.items;
    size_t count = line->groups.count;
    struct ntk_json json;

    ntk_json_init(&json, out, false);
    ntk_json_object_begin(&json);
    ntk_json_key_object_begin(&json, "_aws");
    ntk_json_key_u64(&json, "Timestamp", options->time_ms);
    if (options->log_group) {
        ntk_json_key_text(&json, "LogGroupName", options->log_group);
    }
    ntk_json_key_array_begin(&json, "CloudWatchMetrics");
    for (size_t i = 0; i < count; i++) {
        if (first < groups[i]->value_count) {
            write_directive(&json, groups[i], first, options);
        }
    }
    ntk_json_array_end(&json);
    ntk_json_object_end(&json);
    for (size_t i = 0; i < count; i++) {
        write_dimensions(&json, groups, i);
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < groups[i]->count; k++) {
            write_values(&json, groups[i]->series[k], first);
        }
    }
    ntk_json_object_end(&json);
    ntk_buf_add_char(out, '\n');
}

int ntk_cloudwatch_emf(const struct ntk_cloudwatch_data *data,
                       const struct ntk_cloudwatch_emf_options *options, struct ntk_buf *out,
                       uint64_t *out_line_count, struct ntk_err *err)
{
    struct ntk_map groups = { 0 };
    struct ntk_map full = { 0 };
    struct ntk_vec lines = NTK_VEC_INIT(struct line);
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
        ret = ret < 0 ? ret : line_add(&lines, &full, entry->value);
    }
    ntk_vec_each(const struct line, line, &lines) {
        for (size_t first = 0; first < line->value_count && ret >= 0;
             first += NTK_CLOUDWATCH_EMF_VALUES_MAX) {
            write_line(out, line, first, options);
            ++*out_line_count;
        }
    }
    lines_fini(&lines);
    ntk_map_fini(&full);
    groups_fini(&groups);
    ntk_buf_fini(&key);
    return ret < 0 || !ntk_buf_ok(out) ? ntk_err_no_memory(err) : 0;
}
