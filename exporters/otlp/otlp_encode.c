/* SPDX-License-Identifier: MIT */
/* otlp_encode - converts points of the page to metrics, and metrics to requests. Names are in
 * otlp_name.c, responses in otlp_answer.c. */
#include "exporters/otlp/otlp_encode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/otlp/otlp.pb-c.h"
#include "exporters/otlp/otlp_parts.h"
#include "exporters/points/points_walk.h"
#include "shared/base/clock.h"
#include "shared/base/map.h"

#define FLAG_NO_VALUE 1u
#define NS (double)NTK_NS_PER_SECOND
/* Separates the parts of a series' key; labels have no control characters. */
#define KEY_SEPARATOR '\x1f'

struct series {
    uint64_t generation; /* last page that had the series */
    uint64_t began_ns;
};

struct ntk_otlp {
    struct ntk_otlp_options options;
    struct ntk_map seen[NTK_POINTS_FAMILIES]; /* keyed by labels; values are struct series */
    uint64_t generation;

    /* State of the page being encoded. */
    const struct ntk_points_page *page;
    const char *host_name;
    uint64_t time_ns;
    int (*emit)(struct ntk_buf *request, uint64_t point_count, void *ctx, struct ntk_err *err);
    void *ctx;
    struct ntk_err *err;
    int ret; /* first failure */

    /* State of the current request. */
    struct ntk_otlp_memory memory;
    struct ntk_vec metrics; /* elements are Ntk__Otlp__Metric * */
    struct ntk_vec points;  /* points of the metric: void *, by its kind */
    uint64_t point_count;

    size_t family;
    const struct ntk_metric_row *row;
    size_t found_count; /* number of known series that are also on this page */
};

static void fail(struct ntk_otlp *state)
{
    if (state->ret >= 0) {
        state->ret = ntk_err_no_memory(state->err);
    }
}

/* Returns zeroed memory, valid until the request is done; NULL if out of memory, which is recorded
 * in the state. */
static void *take(struct ntk_otlp *state, size_t count, size_t item_bytes)
{
    void *memory = ntk_otlp_take(&state->memory, count, item_bytes);

    if (!memory) {
        fail(state);
    }
    return memory;
}

static char *take_text(struct ntk_otlp *state, const char *text)
{
    char *copy = ntk_otlp_take_text(&state->memory, text);

    if (!copy) {
        fail(state);
    }
    return copy;
}

/* Returns the pointers of a vec as an array in the request. */
static void *take_array(struct ntk_otlp *state, const struct ntk_vec *vec)
{
    void *array = take(state, vec->count, sizeof(void *));

    return array ? memcpy(array, vec->items, vec->count * sizeof(void *)) : NULL;
}

static void forget_request(struct ntk_otlp *state)
{
    ntk_otlp_memory_fini(&state->memory);
    ntk_vec_clear(&state->metrics);
    ntk_vec_clear(&state->points);
    state->point_count = 0;
}

struct ntk_otlp *ntk_otlp_create(const struct ntk_otlp_options *options)
{
    struct ntk_otlp *state = calloc(1, sizeof *state);

    if (!state) {
        return NULL;
    }
    state->options = *options;
    ntk_vec_init(&state->metrics, sizeof(void *));
    ntk_vec_init(&state->points, sizeof(void *));
    return state;
}

void ntk_otlp_destroy(struct ntk_otlp *state)
{
    if (!state) {
        return;
    }
    for (size_t i = 0; i < NTK_POINTS_FAMILIES; i++) {
        ntk_map_each(entry, &state->seen[i]) {
            free(entry->value);
        }
        ntk_map_fini(&state->seen[i]);
    }
    forget_request(state);
    ntk_vec_fini(&state->metrics);
    ntk_vec_fini(&state->points);
    free(state);
}

/* -- requests ---------------------------------------------------------------------------------- */

static Ntk__Otlp__Request *make_request(struct ntk_otlp *state)
{
    Ntk__Otlp__Request *request = take(state, 1, sizeof *request);
    Ntk__Otlp__ResourceMetrics *resource = take(state, 1, sizeof *resource);
    Ntk__Otlp__ResourceMetrics **resources = take(state, 1, sizeof(void *));
    Ntk__Otlp__ScopeMetrics *scope = take(state, 1, sizeof *scope);
    Ntk__Otlp__ScopeMetrics **scopes = take(state, 1, sizeof(void *));
    Ntk__Otlp__Metric **metrics = take_array(state, &state->metrics);
    const struct ntk_otlp_machine machine = { .host_name = state->host_name,
                                              .instance_id = state->page->instance.id,
                                              .instance_type = state->page->instance.type,
                                              .region = state->page->instance.region,
                                              .availability_zone =
                                                  state->page->instance.availability_zone };

    if (!request || !resource || !resources || !scope || !scopes || !metrics) {
        return NULL;
    }
    ntk__otlp__request__init(request);
    ntk__otlp__resource_metrics__init(resource);
    ntk__otlp__scope_metrics__init(scope);
    scope->scope = ntk_otlp_scope(&state->memory);
    scope->metrics = metrics;
    scope->n_metrics = state->metrics.count;
    scopes[0] = scope;
    resource->resource = ntk_otlp_resource(&state->memory, &machine, state->options.attributes);
    resource->scope_metrics = scopes;
    resource->n_scope_metrics = 1;
    resources[0] = resource;
    request->resource_metrics = resources;
    request->n_resource_metrics = 1;
    return request;
}

static void flush(struct ntk_otlp *state)
{
    struct ntk_buf out = { 0 };
    uint64_t count = state->point_count;

    if (count > 0 && state->ret >= 0) {
        Ntk__Otlp__Request *request = make_request(state);
        void *to = request && !state->memory.is_out && state->ret >= 0
                       ? ntk_buf_extend(&out, ntk__otlp__request__get_packed_size(request))
                       : NULL;
        if (to) {
            ntk__otlp__request__pack(request, to);
            state->ret = state->emit(&out, count, state->ctx, state->err);
        } else {
            fail(state);
        }
    }
    ntk_buf_fini(&out);
    forget_request(state);
}

/* Ends a metric of the family, with the collected points. */
static void end_metric(struct ntk_otlp *state)
{
    char name[NTK_OTLP_NAME_BYTES];
    const struct ntk_name_row *names = ntk_name_of(state->row);
    size_t count = state->points.count;
    Ntk__Otlp__Metric *metric = count ? take(state, 1, sizeof *metric) : NULL;
    void *points = metric ? take_array(state, &state->points) : NULL;

    ntk_vec_clear(&state->points);
    if (!points) {
        return;
    }
    ntk__otlp__metric__init(metric);
    metric->unit = (char *)(uintptr_t)ntk_otlp_name(state->row, name);
    metric->name = take_text(state, name);
    metric->description = (char *)(uintptr_t)state->row->help;
#define SET_DATA(id, member, ...)                                \
    do {                                                         \
        metric->data_case = NTK__OTLP__METRIC__DATA_##id;        \
        metric->member = take(state, 1, sizeof *metric->member); \
        if (metric->member) {                                    \
            ntk__otlp__##member##__init(metric->member);         \
            metric->member->data_points = points;                \
            metric->member->n_data_points = count;               \
            __VA_ARGS__                                          \
        }                                                        \
    } while (0)
#define CUMULATIVE(member) \
    metric->member->aggregation_temporality = NTK__OTLP__TEMPORALITY__CUMULATIVE;
    if (state->row->kind == NTK_METRIC_KIND_COUNTER) {
        SET_DATA(SUM, sum, CUMULATIVE(sum) metric->sum->is_monotonic = true;);
    } else if (names && names->is_up_down) {
        SET_DATA(SUM, sum, CUMULATIVE(sum));
    } else if (state->row->kind != NTK_METRIC_KIND_HISTOGRAM) {
        SET_DATA(GAUGE, gauge, );
    } else if (state->options.has_exponential) {
        SET_DATA(EXPONENTIAL_HISTOGRAM, exponential_histogram, CUMULATIVE(exponential_histogram));
    } else {
        SET_DATA(HISTOGRAM, histogram, CUMULATIVE(histogram));
    }
#undef SET_DATA
#undef CUMULATIVE
    if (ntk_vec_push(&state->metrics, &metric) < 0) {
        fail(state);
    }
}

/* -- points ------------------------------------------------------------------------------------ */

struct attributes {
    Ntk__Otlp__KeyValue **rows;
    size_t count;
};

/* Sets labels and times: the same fields in each kind of point. */
#define IDENTIFY(to, began)                    \
    do {                                       \
        (to)->start_time_unix_nano = (began);  \
        (to)->time_unix_nano = state->time_ns; \
        (to)->attributes = attributes.rows;    \
        (to)->n_attributes = attributes.count; \
    } while (0)

static void *make_number(struct ntk_otlp *state, const struct ntk_point *point,
                         struct attributes attributes)
{
    Ntk__Otlp__NumberPoint *number = take(state, 1, sizeof *number);

    if (!number) {
        return NULL;
    }
    ntk__otlp__number_point__init(number);
    IDENTIFY(number, point->began_ns);
    if (point->is_integer && point->integer <= INT64_MAX) {
        number->value_case = NTK__OTLP__NUMBER_POINT__VALUE_AS_INT;
        number->as_int = (int64_t)point->integer;
    } else {
        number->value_case = NTK__OTLP__NUMBER_POINT__VALUE_AS_DOUBLE;
        number->as_double = point->number;
    }
    return number;
}

static void *make_histogram(struct ntk_otlp *state, const struct ntk_point *point,
                            struct attributes attributes)
{
    const struct ntk_latency_series *edges = &point->latency->edges;
    Ntk__Otlp__HistogramPoint *histogram = take(state, 1, sizeof *histogram);
    uint64_t *counts = take(state, NTK_LATENCY_EDGE_COUNT + 1, sizeof *counts);
    double *bounds = take(state, NTK_LATENCY_EDGE_COUNT, sizeof *bounds);
    uint64_t below = 0;

    if (!histogram || !counts || !bounds) {
        return NULL;
    }
    ntk__otlp__histogram_point__init(histogram);
    for (unsigned i = 0; i < NTK_LATENCY_EDGE_COUNT; i++) {
        bounds[i] = (double)ntk_latency_edge_ns(i) / NS;
        counts[i] = edges->below[i] - below;
        below = edges->below[i];
    }
    counts[NTK_LATENCY_EDGE_COUNT] = edges->count - below;
    IDENTIFY(histogram, point->began_ns);
    histogram->count = edges->count;
    histogram->optional_sum_case = NTK__OTLP__HISTOGRAM_POINT__OPTIONAL_SUM_SUM;
    histogram->sum = (double)edges->sum_ns / NS;
    histogram->bucket_counts = counts;
    histogram->n_bucket_counts = NTK_LATENCY_EDGE_COUNT + 1;
    histogram->explicit_bounds = bounds;
    histogram->n_explicit_bounds = NTK_LATENCY_EDGE_COUNT;
    return histogram;
}

/* Returns NULL also if the page has no complete histogram of the series. */
static void *make_exponential(struct ntk_otlp *state, const struct ntk_point *point,
                              struct attributes attributes)
{
    struct ntk_otlp_buckets *buckets = take(state, 1, sizeof *buckets);
    Ntk__Otlp__ExponentialPoint *histogram = take(state, 1, sizeof *histogram);
    Ntk__Otlp__Buckets *positive = take(state, 1, sizeof *positive);

    if (!point->latency->fine || !buckets || !histogram || !positive) {
        return NULL;
    }
    ntk_otlp_buckets_make(point->latency->fine, buckets);
    ntk__otlp__exponential_point__init(histogram);
    ntk__otlp__buckets__init(positive);
    positive->offset = buckets->offset;
    positive->bucket_counts = buckets->bucket;
    positive->n_bucket_counts = buckets->bucket_count;
    IDENTIFY(histogram, point->began_ns);
    histogram->count = buckets->count;
    histogram->optional_sum_case = NTK__OTLP__EXPONENTIAL_POINT__OPTIONAL_SUM_SUM;
    histogram->sum = (double)point->latency->fine->sum_ns / NS;
    histogram->scale = buckets->scale;
    histogram->zero_count = buckets->zero_count;
    histogram->positive = positive;
    return histogram;
}

/* Creates the last point of a series, with time and labels. */
static void *make_end(struct ntk_otlp *state, uint64_t began_ns, struct attributes attributes)
{
    bool is_histogram = state->row->kind == NTK_METRIC_KIND_HISTOGRAM;

#define MAKE_END(type, init)                     \
    do {                                         \
        type *end = take(state, 1, sizeof *end); \
        if (end) {                               \
            init(end);                           \
            IDENTIFY(end, began_ns);             \
            end->flags = FLAG_NO_VALUE;          \
        }                                        \
        return end;                              \
    } while (0)

    if (is_histogram && state->options.has_exponential) {
        MAKE_END(Ntk__Otlp__ExponentialPoint, ntk__otlp__exponential_point__init);
    }
    if (is_histogram) {
        MAKE_END(Ntk__Otlp__HistogramPoint, ntk__otlp__histogram_point__init);
    }
    MAKE_END(Ntk__Otlp__NumberPoint, ntk__otlp__number_point__init);
#undef MAKE_END
}

static void add_point(struct ntk_otlp *state, void *point)
{
    if (!point) {
        return;
    }
    if (ntk_vec_push(&state->points, &point) < 0) {
        fail(state);
        return;
    }
    state->point_count++;
}

/* Frees space before a point is created, because the point's memory must live as long as the
 * request. */
static void make_room(struct ntk_otlp *state)
{
    if (state->point_count >= NTK_OTLP_POINTS_MAX) {
        end_metric(state);
        flush(state);
    }
}

/* Builds a key: names and values, each followed by a separator. */
static char *make_key(struct ntk_otlp *state, const struct ntk_points_label *labels)
{
    size_t bytes = 1;

    for (const struct ntk_points_label *label = labels; label->name; label++) {
        bytes += strlen(label->name) + strlen(label->value) + 2;
    }
    char *key = take(state, bytes, 1);
    char *at = key;
    for (; key && labels->name; labels++) {
        at += snprintf(at, bytes - (size_t)(at - key), "%c%s%c%s", KEY_SEPARATOR, labels->name,
                       KEY_SEPARATOR, labels->value);
    }
    return key;
}

/* Returns the attributes of a key, which is split in place; a value "" means absent, as in
 * Prometheus. */
static struct attributes read_key(struct ntk_otlp *state, char *key)
{
    struct attributes attributes = {
        take(state, NTK_POINTS_LABELS_MAX + NTK_INSTANCE_TEXTS, sizeof(void *)), 0
    };
    const struct ntk_name_row *row = ntk_name_of(state->row);

    while (*key && attributes.rows) {
        char *name = key + 1;
        char *value = strchr(name, KEY_SEPARATOR);
        *value++ = '\0';
        key = value + strcspn(value, (const char[]){ KEY_SEPARATOR, '\0' });
        char separator = *key;
        *key = '\0';
        if (*value) {
            const char *dotted = row ? ntk_name_attribute(row, name) : name;
            attributes.rows[attributes.count] =
                ntk_otlp_text_attribute(&state->memory, dotted, take_text(state, value));
            attributes.count += attributes.rows[attributes.count] != NULL;
        }
        *key = separator;
    }
    return attributes;
}

/* Returns false if out of memory. */
static bool remember(struct ntk_otlp *state, const char *key, uint64_t began_ns)
{
    struct ntk_map *seen = &state->seen[state->family];
    struct series *series = ntk_map_get(seen, key);

    if (series) {
        state->found_count += series->generation != state->generation;
    } else {
        series = calloc(1, sizeof *series);
        if (!series || ntk_map_put(seen, key, series) < 0) {
            free(series);
            fail(state);
            return false;
        }
    }
    series->generation = state->generation;
    series->began_ns = began_ns;
    return true;
}

static void visit(const struct ntk_point *point, void *ctx)
{
    struct ntk_otlp *state = ctx;
    struct ntk_points_label labels[NTK_POINTS_LABELS_MAX + NTK_INSTANCE_TEXTS + 1] = { { 0 } };
    size_t used = 0;

    if (state->ret < 0) {
        return;
    }
    make_room(state);
    if (state->row->kind == NTK_METRIC_KIND_INFO) { /* otherwise they describe the resource */
        used = ntk_points_instance_get(state->page, labels);
    }
    for (const struct ntk_points_label *label = point->labels;
         label->name && used < sizeof labels / sizeof *labels - 1; label++) {
        labels[used++] = *label;
    }
    char *key = make_key(state, labels);
    if (!key || (point->latency && state->options.has_exponential && !point->latency->fine) ||
        !remember(state, key, point->began_ns)) {
        return;
    }
    struct attributes attributes = read_key(state, key);
    add_point(state, !point->latency                  ? make_number(state, point, attributes)
                     : state->options.has_exponential ? make_exponential(state, point, attributes)
                                                      : make_histogram(state, point, attributes));
}

/* Adds one last point for each known series of the family that is missing on this page, and forgets
 * the series. */
static void end_missing(struct ntk_otlp *state)
{
    struct ntk_map *seen = &state->seen[state->family];
    struct ntk_map kept = { 0 };

    ntk_map_each(entry, seen) {
        struct series *series = entry->value;
        if (series->generation == state->generation) {
            if (ntk_map_put(&kept, entry->key, series) < 0) {
                fail(state);
                free(series);
            }
            continue;
        }
        make_room(state);
        char *key = take_text(state, entry->key);
        if (key) {
            add_point(state, make_end(state, series->began_ns, read_key(state, key)));
        }
        free(series);
    }
    ntk_map_fini(seen);
    *seen = kept;
}

int ntk_otlp_encode(struct ntk_otlp *state, const struct ntk_points_page *page,
                    const char *host_name, uint64_t time_ns,
                    int (*emit)(struct ntk_buf *request, uint64_t point_count, void *ctx,
                                struct ntk_err *err),
                    void *ctx, struct ntk_err *err)
{
    state->page = page;
    state->host_name = host_name;
    state->time_ns = time_ns;
    state->emit = emit;
    state->ctx = ctx;
    state->err = err;
    state->ret = 0;
    state->generation++;
    for (size_t i = 0; i < NTK_POINTS_FAMILIES && state->ret >= 0; i++) {
        size_t known = state->seen[i].count;
        state->family = i;
        state->row = ntk_points_family_get(i);
        state->found_count = 0;
        if (!ntk_points_is_shown(page, state->options.vendor_only, i)) {
            continue;
        }
        ntk_points_walk(page, i, visit, state);
        if (state->found_count < known && state->ret >= 0) {
            end_missing(state);
        }
        end_metric(state);
    }
    flush(state);
    return state->ret;
}
