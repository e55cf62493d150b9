/* SPDX-License-Identifier: MIT */
/* prometheus_protobuf - encodes the page as delimited protobuf. */
#include "exporters/prometheus/prometheus_protobuf.h"

#include <stdlib.h>
#include <string.h>

#include "exporters/prometheus/metrics.pb-c.h"
#include "exporters/points/points_buckets.h"
#include "exporters/points/points_walk.h"
#include "shared/base/clock.h"

#define NS (double)NTK_NS_PER_SECOND
#define LABELS_MAX (NTK_INSTANCE_TEXTS + NTK_POINTS_LABELS_MAX)

struct encoder {
    const struct ntk_points_page *page;
    struct ntk_buf *out;
    struct ntk_buf family; /* bytes of the current family */
    const struct ntk_metric_row *row;
    bool has_created;
    bool is_created; /* true while the start times of a counter are collected */
    struct ntk_points_label instance[NTK_INSTANCE_TEXTS + 1];
    size_t instance_count;

    /* Members for one point. */
    Ntk__Prometheus__LabelPair labels[LABELS_MAX];
    Ntk__Prometheus__LabelPair *label_rows[LABELS_MAX];
    Ntk__Prometheus__Bucket edges[NTK_LATENCY_EDGE_COUNT];
    Ntk__Prometheus__Bucket *edge_rows[NTK_LATENCY_EDGE_COUNT];
    struct ntk_points_native native;
    Ntk__Prometheus__BucketSpan spans[NTK_POINTS_NATIVE_MAX];
    Ntk__Prometheus__BucketSpan *span_rows[NTK_POINTS_NATIVE_MAX];
};

/* -- pieces ------------------------------------------------------------------------------------ */

/* Appends the fields that are set, because a family may be written in pieces. */
static void add_piece(struct encoder *e, const Ntk__Prometheus__MetricFamily *piece)
{
    uint8_t *to =
        ntk_buf_extend(&e->family, ntk__prometheus__metric_family__get_packed_size(piece));

    if (to) {
        ntk__prometheus__metric_family__pack(piece, to);
    }
}

static void begin_family(struct encoder *e)
{
    Ntk__Prometheus__MetricFamily header = NTK__PROMETHEUS__METRIC_FAMILY__INIT;
    char created[NTK_POINTS_NAME_BYTES];

    header.name = (char *)e->row->name;
    header.help = (char *)e->row->help;
    header.type = NTK__PROMETHEUS__METRIC_TYPE__GAUGE;
    if (e->is_created) {
        ntk_points_created_name(e->row, created);
        header.name = created;
    } else if (e->row->kind == NTK_METRIC_KIND_COUNTER) {
        header.type = NTK__PROMETHEUS__METRIC_TYPE__COUNTER;
    } else if (e->row->kind == NTK_METRIC_KIND_HISTOGRAM) {
        header.type = NTK__PROMETHEUS__METRIC_TYPE__HISTOGRAM;
    }
    add_piece(e, &header);
}

static void end_family(struct encoder *e)
{
    size_t length = e->family.bytes_count;

    e->out->failed = e->out->failed || !ntk_buf_ok(&e->family);
    if (length) {
        for (; length > 0x7f; length >>= 7) {
            ntk_buf_put_u8(e->out, (uint8_t)(length | 0x80));
        }
        ntk_buf_put_u8(e->out, (uint8_t)length);
        ntk_buf_add(e->out, e->family.bytes, e->family.bytes_count);
    }
    ntk_buf_reset(&e->family);
}

/* Collects labels of the point and the instance, sorted by name; returns their number. */
static size_t make_labels(struct encoder *e, const struct ntk_point *point)
{
    const struct ntk_points_label *own = point->labels;
    const struct ntk_points_label *instance =
        point->has_instance_labels ? e->instance : &e->instance[e->instance_count];
    size_t used = 0;

    while ((own->name || instance->name) && used < LABELS_MAX) {
        bool is_own = !instance->name || (own->name && strcmp(own->name, instance->name) < 0);
        const struct ntk_points_label *label = is_own ? own++ : instance++;
        Ntk__Prometheus__LabelPair *pair = e->label_rows[used] = &e->labels[used];
        ntk__prometheus__label_pair__init(pair);
        pair->name = (char *)label->name;
        pair->value = (char *)label->value;
        used++;
    }
    return used;
}

/* -- histograms -------------------------------------------------------------------------------- */

static void make_classic(struct encoder *e, const struct ntk_latency_series *series,
                         Ntk__Prometheus__Histogram *histogram)
{
    for (unsigned int i = 0; i < NTK_LATENCY_EDGE_COUNT; i++) {
        Ntk__Prometheus__Bucket *bucket = e->edge_rows[i] = &e->edges[i];
        ntk__prometheus__bucket__init(bucket);
        bucket->cumulative_count = series->below[i];
        bucket->upper_bound = (double)ntk_latency_edge_ns(i) / NS;
    }
    histogram->bucket = e->edge_rows;
    histogram->n_bucket = NTK_LATENCY_EDGE_COUNT;
    histogram->sample_count = series->count;
    histogram->sample_sum = (double)series->sum_ns / NS;
}

static void make_native(struct encoder *e, const struct ntk_histogram_dense *fine,
                        Ntk__Prometheus__Histogram *histogram)
{
    struct ntk_points_native *native = &e->native;

    ntk_points_native_make(fine, native);
    for (size_t i = 0; i < native->span_count; i++) {
        Ntk__Prometheus__BucketSpan *span = e->span_rows[i] = &e->spans[i];
        ntk__prometheus__bucket_span__init(span);
        span->offset = native->span[i].offset;
        span->length = native->span[i].length;
    }
    histogram->schema = native->schema;
    histogram->zero_threshold = NTK_POINTS_ZERO_THRESHOLD;
    histogram->zero_count = native->zero_count;
    histogram->positive_span = e->span_rows;
    histogram->n_positive_span = native->span_count;
    histogram->positive_delta = native->delta;
    histogram->n_positive_delta = native->delta_count;
}

/* -- points ------------------------------------------------------------------------------------ */

static void visit(const struct ntk_point *point, void *ctx)
{
    struct encoder *e = ctx;
    Ntk__Prometheus__MetricFamily piece = NTK__PROMETHEUS__METRIC_FAMILY__INIT;
    Ntk__Prometheus__Metric metric = NTK__PROMETHEUS__METRIC__INIT;
    Ntk__Prometheus__Metric *metrics[] = { &metric };
    Ntk__Prometheus__Histogram histogram = NTK__PROMETHEUS__HISTOGRAM__INIT;
    Ntk__Prometheus__Counter counter = NTK__PROMETHEUS__COUNTER__INIT;
    Ntk__Prometheus__Gauge gauge = NTK__PROMETHEUS__GAUGE__INIT;

    e->has_created = e->has_created || point->created_seconds > 0;
    if (e->is_created && point->created_seconds <= 0) {
        return;
    }
    if (e->family.bytes_count == 0) {
        begin_family(e);
    }
    metric.n_label = make_labels(e, point);
    metric.label = e->label_rows;
    if (point->latency) {
        make_classic(e, &point->latency->edges, &histogram);
        if (point->latency->fine) {
            make_native(e, point->latency->fine, &histogram);
        }
        metric.histogram = &histogram;
    } else if (e->row->kind == NTK_METRIC_KIND_COUNTER && !e->is_created) {
        counter.value = point->number;
        metric.counter = &counter;
    } else {
        gauge.value = e->is_created ? point->created_seconds : point->number;
        metric.gauge = &gauge;
    }
    piece.metric = metrics;
    piece.n_metric = 1;
    add_piece(e, &piece);
}

static void encode_family(struct encoder *e, size_t family)
{
    e->row = ntk_points_family_get(family);
    e->has_created = e->is_created = false;
    ntk_points_walk(e->page, family, visit, e);
    end_family(e);
    if (e->has_created) { /* they are a separate family, as in the text */
        e->is_created = true;
        ntk_points_walk(e->page, family, visit, e);
        end_family(e);
    }
}

void ntk_prometheus_protobuf_encode(const struct ntk_points_page *page, bool vendor_only,
                                    struct ntk_buf *out)
{
    struct encoder *e = calloc(1, sizeof *e); /* 50 KiB */

    if (!e) {
        out->failed = true;
        return;
    }
    e->page = page;
    e->out = out;
    e->instance_count = ntk_points_instance_get(page, e->instance);
    for (size_t i = 0; i < NTK_POINTS_FAMILIES; i++) {
        if (ntk_points_is_shown(page, vendor_only, i)) {
            encode_family(e, i);
        }
    }
    ntk_buf_fini(&e->family);
    free(e);
}
