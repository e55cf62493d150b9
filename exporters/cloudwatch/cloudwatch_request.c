/* SPDX-License-Identifier: MIT */
/* cloudwatch_request - packs metrics into bodies of limited size. */
#include "exporters/cloudwatch/cloudwatch_request.h"

#include <errno.h>
#include <string.h>

#include "shared/base/json.h"

#define NAMESPACE_BYTES_MAX 255u
/* The end of a body. */
#define END "]}"

struct writer {
    const struct ntk_cloudwatch_request_options *options;
    struct ntk_buf body;
    struct ntk_buf metric; /* the next metric */
    uint64_t metric_count; /* number of metrics in body */
};

int ntk_cloudwatch_namespace_check(const char *name, struct ntk_err *err)
{
    bool is_blank = name[strspn(name, " ")] == '\0';

    for (const char *at = name; *at; at++) {
        if (*at < ' ' || *at > '~') {
            return ntk_err_set(err, -EINVAL, (uint64_t)(at - name),
                               "invalid namespace: only printable ASCII characters are allowed");
        }
    }
    if (is_blank || *name == ':' || strlen(name) > NAMESPACE_BYTES_MAX) {
        return ntk_err_set(
            err, -EINVAL, NTK_ERR_NO_OFFSET,
            "invalid namespace: expected 1 to %u characters that are not all blanks and do not "
            "begin with ':'",
            NAMESPACE_BYTES_MAX);
    }
    return 0;
}

static void begin(struct writer *w)
{
    struct ntk_json json;

    ntk_json_init(&json, &w->body, false);
    ntk_json_object_begin(&json);
    ntk_json_key_text(&json, "Namespace", w->options->namespace_name);
    ntk_json_key(&json, "MetricData");
    ntk_buf_add_char(&w->body, '[');
    w->metric_count = 0;
}

static int end(struct writer *w, struct ntk_err *err)
{
    ntk_buf_add_text(&w->body, END);
    int ret = ntk_buf_ok(&w->body)
                  ? w->options->emit(&w->body, w->metric_count, w->options->ctx, err)
                  : ntk_err_no_memory(err);
    ntk_buf_reset(&w->body);
    w->metric_count = 0;
    return ret;
}

static void write_dimensions(struct ntk_json *json, const struct ntk_cloudwatch_series *series)
{
    if (!series->dimension_count) {
        return;
    }
    ntk_json_key_array_begin(json, "Dimensions");
    for (size_t i = 0; i < series->dimension_count; i++) {
        ntk_json_object_begin(json);
        ntk_json_key_text(json, "Name", series->dimensions[i].name);
        ntk_json_key_text(json, "Value", series->dimensions[i].value);
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
}

static void write_values(struct ntk_json *json, const struct ntk_cloudwatch_value *values,
                         size_t count)
{
    if (count == 1 && values->count == 1) {
        ntk_json_key_double(json, "Value", values->value);
        return;
    }
    ntk_json_key_array_begin(json, "Values");
    for (size_t i = 0; i < count; i++) {
        ntk_json_double(json, values[i].value);
    }
    ntk_json_array_end(json);
    ntk_json_key_array_begin(json, "Counts");
    for (size_t i = 0; i < count; i++) {
        ntk_json_double(json, values[i].count);
    }
    ntk_json_array_end(json);
}

static void write_metric(struct writer *w, const struct ntk_cloudwatch_series *series,
                         const struct ntk_cloudwatch_value *values, size_t count)
{
    struct ntk_cloudwatch_metric_row row = ntk_cloudwatch_metric_get(series->metric);
    struct ntk_json json;

    ntk_buf_reset(&w->metric);
    ntk_json_init(&json, &w->metric, false);
    ntk_json_object_begin(&json);
    ntk_json_key_text(&json, "MetricName", row.name);
    write_dimensions(&json, series);
    ntk_json_key_double(&json, "Timestamp", (double)w->options->time_ms / 1e3);
    write_values(&json, values, count);
    ntk_json_key_text(&json, "Unit", row.unit);
    ntk_json_key_u64(&json, "StorageResolution", w->options->is_high_resolution ? 1 : 60);
    ntk_json_object_end(&json);
}

/* Adds the written metric to the body; a full body is emitted first. */
static int append(struct writer *w, struct ntk_err *err)
{
    size_t bytes = w->body.bytes_count + 1 + w->metric.bytes_count + strlen(END);

    if (!ntk_buf_ok(&w->metric)) {
        return ntk_err_no_memory(err);
    }
    if (w->metric_count && (w->metric_count == NTK_CLOUDWATCH_REQUEST_METRICS_MAX ||
                            bytes > NTK_CLOUDWATCH_REQUEST_BYTES_MAX)) {
        int ret = end(w, err);
        if (ret < 0) {
            return ret;
        }
    }
    if (!w->metric_count) {
        begin(w);
    } else {
        ntk_buf_add_char(&w->body, ',');
    }
    ntk_buf_add(&w->body, w->metric.bytes, w->metric.bytes_count);
    w->metric_count++;
    return 0;
}

int ntk_cloudwatch_request(const struct ntk_cloudwatch_data *data,
                           const struct ntk_cloudwatch_request_options *options,
                           struct ntk_err *err)
{
    struct writer w = { .options = options };
    int ret = 0;

    ntk_map_each(entry, &data->series) {
        const struct ntk_cloudwatch_series *series = entry->value;
        const struct ntk_cloudwatch_value *values = series->values.items;
        size_t rest = series->values.count;
        while (rest && ret >= 0) {
            size_t count = rest < NTK_CLOUDWATCH_VALUES_MAX ? rest : NTK_CLOUDWATCH_VALUES_MAX;
            write_metric(&w, series, values, count);
            ret = append(&w, err);
            values += count;
            rest -= count;
        }
    }
    if (ret >= 0 && w.metric_count) {
        ret = end(&w, err);
    }
    ntk_buf_fini(&w.body);
    ntk_buf_fini(&w.metric);
    return ret;
}
