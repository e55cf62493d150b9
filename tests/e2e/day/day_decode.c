/* SPDX-License-Identifier: MIT */
/* day_decode - requests of exporters as numbers of executions. */
#include "tests/e2e/day/day_decode.h"

#include <jansson.h>
#include <math.h>
#include <snappy-c.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/otlp/otlp.pb-c.h"
#include "exporters/remote_write/remote_write.pb-c.h"
#include "shared/base/clock.h"

#define VALUES_MAX 16384u /* a power of two, above the number of series of a day */

void day_values_fini(struct day_values *values)
{
    for (size_t i = 0; i < DAY_VALUES_KINDS; i++) {
        free(values->counters[i]);
        values->counters[i] = NULL;
    }
}

double day_values_sum(const struct day_values *values, enum day_values_kind kind)
{
    double sum = values->sums[kind];

    for (size_t i = 0; values->counters[kind] && i < VALUES_MAX; i++) {
        sum += values->counters[kind][i].value + values->counters[kind][i].ended;
    }
    return sum;
}

/* A counter that starts after its last value restarts at zero: another process has the name. */
static void set_value(struct day_values *values, enum day_values_kind kind, uint64_t key,
                      uint64_t start_ms, uint64_t time_ms, double value)
{
    if (isnan(value)) {
        return; /* the series has ended */
    }
    if (!values->counters[kind] &&
        !(values->counters[kind] = calloc(VALUES_MAX, sizeof(struct day_value)))) {
        abort();
    }
    key |= 1;
    for (uint64_t i = key, tries = 0; tries < VALUES_MAX; i++, tries++) {
        struct day_value *slot = &values->counters[kind][i % VALUES_MAX];
        if (slot->key == key || slot->key == 0) {
            bool is_anew = start_ms != slot->start_ms && start_ms > slot->time_ms;
            double ended = slot->ended + (is_anew ? slot->value : 0);
            *slot = (struct day_value){ key, value, ended, start_ms, time_ms };
            return;
        }
    }
    abort();
}

/* FNV-1a of the text, mixed into the key. */
static uint64_t hash_text(uint64_t key, const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (; *text; text++) {
        hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
    }
    return key * UINT64_C(0x9e3779b97f4a7c15) + hash;
}

/* Which counter of completed executions it is; DAY_VALUES_KINDS: none. */
static enum day_values_kind kind_of(const char *name, const char *status)
{
    static const struct {
        const char *name;
        enum day_values_kind kind;
    } rows[] = { { "neuron_executions_total", DAY_VALUES_MACHINE },
                 { "neuron_executions", DAY_VALUES_MACHINE },
                 { "execution_status_total", DAY_VALUES_JOBS },
                 { "execution_status", DAY_VALUES_JOBS } };

    for (size_t i = 0; status && i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(name, rows[i].name) == 0 && strcmp(status, "completed") == 0) {
            return rows[i].kind;
        }
    }
    return DAY_VALUES_KINDS;
}

/* -- remote write ------------------------------------------------------------------------------ */

static void take_series(const Ntk__RemoteWrite__Request *request,
                        const Ntk__RemoteWrite__Series *series, struct day_values *values)
{
    const char *name = "";
    const char *status = NULL;
    uint64_t key = 1;

    values->items += series->n_samples + series->n_histograms;
    for (size_t i = 0; i + 1 < series->n_labels_refs; i += 2) {
        const char *label = request->symbols[series->labels_refs[i]];
        const char *text = request->symbols[series->labels_refs[i + 1]];
        name = strcmp(label, "__name__") == 0 ? text : name;
        status = strcmp(label, "status_type") == 0 ? text : status;
        key = hash_text(hash_text(key, label), text);
    }
    enum day_values_kind kind = kind_of(name, status);
    if (kind < DAY_VALUES_KINDS && series->n_samples) {
        const Ntk__RemoteWrite__StartedSample *sample = series->samples[series->n_samples - 1];
        set_value(values, kind, key, (uint64_t)sample->start_timestamp, (uint64_t)sample->timestamp,
                  sample->value);
    }
}

bool day_decode_remote_write(const uint8_t *bytes, size_t bytes_count, struct day_values *values)
{
    size_t plain_bytes = 0;
    const char *packed = (const char *)bytes;

    if (snappy_uncompressed_length(packed, bytes_count, &plain_bytes) != SNAPPY_OK) {
        return false;
    }
    uint8_t *plain = malloc(plain_bytes + 1);
    Ntk__RemoteWrite__Request *request =
        plain && snappy_uncompress(packed, bytes_count, (char *)plain, &plain_bytes) == SNAPPY_OK
            ? ntk__remote_write__request__unpack(NULL, plain_bytes, plain)
            : NULL;
    for (size_t i = 0; request && i < request->n_timeseries; i++) {
        take_series(request, request->timeseries[i], values);
    }
    bool is_good = request != NULL;
    ntk__remote_write__request__free_unpacked(request, NULL);
    free(plain);
    return is_good;
}

/* -- OTLP -------------------------------------------------------------------------------------- */

static void take_point(const char *name, const Ntk__Otlp__NumberPoint *point,
                       struct day_values *values)
{
    const char *status = NULL;
    uint64_t key = hash_text(1, name);

    for (size_t i = 0; i < point->n_attributes; i++) {
        const Ntk__Otlp__AnyValue *value = point->attributes[i]->value;
        bool is_text = value && value->value_case == NTK__OTLP__ANY_VALUE__VALUE_TEXT;
        const char *text = is_text ? value->text : "";
        status = strcmp(point->attributes[i]->key, "status_type") == 0 ? text : status;
        key = hash_text(hash_text(key, point->attributes[i]->key), text);
        key += is_text || !value ? 0 : (uint64_t)value->number * 31;
    }
    enum day_values_kind kind = kind_of(name, status);
    if (kind < DAY_VALUES_KINDS && !(point->flags & 1)) {
        set_value(values, kind, key, point->start_time_unix_nano / NTK_NS_PER_MS,
                  point->time_unix_nano / NTK_NS_PER_MS,
                  point->value_case == NTK__OTLP__NUMBER_POINT__VALUE_AS_INT ? (double)point->as_int
                                                                             : point->as_double);
    }
}

static void take_metric(const Ntk__Otlp__Metric *metric, struct day_values *values)
{
    switch (metric->data_case) {
    case NTK__OTLP__METRIC__DATA_GAUGE:
        values->items += metric->gauge->n_data_points;
        break;
    case NTK__OTLP__METRIC__DATA_SUM:
        values->items += metric->sum->n_data_points;
        for (size_t i = 0; i < metric->sum->n_data_points; i++) {
            take_point(metric->name, metric->sum->data_points[i], values);
        }
        break;
    case NTK__OTLP__METRIC__DATA_HISTOGRAM:
        values->items += metric->histogram->n_data_points;
        break;
    case NTK__OTLP__METRIC__DATA_EXPONENTIAL_HISTOGRAM:
        values->items += metric->exponential_histogram->n_data_points;
        break;
    default:
        break;
    }
}

bool day_decode_otlp(const uint8_t *bytes, size_t bytes_count, struct day_values *values)
{
    Ntk__Otlp__Request *request = ntk__otlp__request__unpack(NULL, bytes_count, bytes);

    for (size_t r = 0; request && r < request->n_resource_metrics; r++) {
        const Ntk__Otlp__ResourceMetrics *resource = request->resource_metrics[r];
        for (size_t s = 0; s < resource->n_scope_metrics; s++) {
            for (size_t m = 0; m < resource->scope_metrics[s]->n_metrics; m++) {
                take_metric(resource->scope_metrics[s]->metrics[m], values);
            }
        }
    }
    bool is_good = request != NULL;
    ntk__otlp__request__free_unpacked(request, NULL);
    return is_good;
}

bool day_decode_traces(const uint8_t *bytes, size_t bytes_count, struct day_values *values)
{
    Ntk__Otlp__TracesRequest *request = ntk__otlp__traces_request__unpack(NULL, bytes_count, bytes);

    for (size_t r = 0; request && r < request->n_resource_spans; r++) {
        const Ntk__Otlp__ResourceSpans *resource = request->resource_spans[r];
        for (size_t s = 0; s < resource->n_scope_spans; s++) {
            values->items += resource->scope_spans[s]->n_spans;
            for (size_t i = 0; i < resource->scope_spans[s]->n_spans; i++) {
                const char *name = resource->scope_spans[s]->spans[i]->name;
                values->sums[DAY_VALUES_MACHINE] += strncmp(name, "execute", 7) == 0;
            }
        }
    }
    bool is_good = request != NULL;
    ntk__otlp__traces_request__free_unpacked(request, NULL);
    return is_good;
}

/* -- CloudWatch -------------------------------------------------------------------------------- */

static bool has_dimension(const json_t *metric, const char *name, const char *value)
{
    size_t i;
    const json_t *dimension;
    bool has = false;

    json_array_foreach(json_object_get(metric, "Dimensions"), i, dimension)
    {
        const char *n = json_string_value(json_object_get(dimension, "Name"));
        const char *v = json_string_value(json_object_get(dimension, "Value"));
        has = has || (n && v && strcmp(n, name) == 0 && strcmp(v, value) == 0);
    }
    return has;
}

static double value_of(const json_t *metric)
{
    const json_t *values = json_object_get(metric, "Values");
    const json_t *counts = json_object_get(metric, "Counts");
    double sum = json_number_value(json_object_get(metric, "Value"));

    for (size_t i = 0; i < json_array_size(values); i++) {
        double count = counts ? json_number_value(json_array_get(counts, i)) : 1;
        sum += count * json_number_value(json_array_get(values, i));
    }
    return sum;
}

bool day_decode_cloudwatch(const uint8_t *bytes, size_t bytes_count, struct day_values *values)
{
    json_t *request = json_loadb((const char *)bytes, bytes_count, 0, NULL);
    const json_t *metrics = json_object_get(request, "MetricData");
    const json_t *metric;
    size_t i;

    json_array_foreach(metrics, i, metric)
    {
        const char *name = json_string_value(json_object_get(metric, "MetricName"));
        values->items++;
        if (name && strcmp(name, "ExecutionStatus") == 0 &&
            has_dimension(metric, "StatusType", "completed")) {
            values->sums[DAY_VALUES_MACHINE] += value_of(metric);
        }
    }
    bool is_good = json_is_array(metrics);
    json_decref(request);
    return is_good;
}
