/* SPDX-License-Identifier: MIT */
/* remote_write_encode - points of the page to series, series to requests. */
#include "exporters/remote_write/remote_write_encode.h"

#include <snappy-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/points/points_buckets.h"
#include "exporters/points/points_walk.h"
#include "exporters/remote_write/remote_write.pb-c.h"
#include "shared/base/clock.h"
#include "shared/base/map.h"

#define NS (double)NTK_NS_PER_SECOND
/* Behind each name and value of a series' key; labels have no control characters. */
#define KEY_SEPARATOR '\x1f'
/* A request that has as many is sent before it is full. */
#define REQUEST_BYTES ((size_t)2 * 1024 * 1024)
#define OWN_LABELS 4 /* __name__, instance, job, le */
#define LABELS_MAX (OWN_LABELS + NTK_INSTANCE_TEXTS + NTK_POINTS_LABELS_MAX)

struct ntk_remote_write {
    struct ntk_remote_write_options options;
    struct ntk_map seen; /* key -> mark of the page that had it last */
    uintptr_t generation;

    /* For the page that is being encoded. */
    const struct ntk_points_page *page;
    const struct ntk_metric_row *row;
    size_t found_count; /* known series that this page has too */
    int64_t time_ms;
    int (*emit)(struct ntk_buf *request, uint64_t sample_count, void *ctx, struct ntk_err *err);
    void *ctx;
    struct ntk_err *err;
    int ret; /* the first failure */

    /* For the request that is being made. */
    struct ntk_buf proto;
    uint64_t sample_count;

    /* For the series that is being made. */
    struct ntk_buf key;
    struct ntk_points_native native;
    Ntk__RemoteWrite__BucketSpan spans[NTK_POINTS_NATIVE_MAX];
    Ntk__RemoteWrite__BucketSpan *span_rows[NTK_POINTS_NATIVE_MAX];
};

struct ntk_remote_write *ntk_remote_write_create(const struct ntk_remote_write_options *options)
{
    struct ntk_remote_write *state = calloc(1, sizeof *state);

    if (state) {
        state->options = *options;
    }
    return state;
}

void ntk_remote_write_destroy(struct ntk_remote_write *state)
{
    if (!state) {
        return;
    }
    ntk_map_fini(&state->seen);
    ntk_buf_fini(&state->proto);
    ntk_buf_fini(&state->key);
    free(state);
}

static void fail(struct ntk_remote_write *state)
{
    if (state->ret >= 0) {
        state->ret = ntk_err_no_memory(state->err);
    }
}

/* -- a request --------------------------------------------------------------------------------- */

static void flush(struct ntk_remote_write *state)
{
    size_t out_bytes = snappy_max_compressed_length(state->proto.bytes_count);
    struct ntk_buf out = { 0 };

    if (state->sample_count == 0 || state->ret < 0) {
        return;
    }
    char *to = ntk_buf_extend(&out, out_bytes);
    if (!to || !ntk_buf_ok(&state->proto) ||
        snappy_compress((const char *)state->proto.bytes, state->proto.bytes_count, to,
                        &out_bytes) != SNAPPY_OK) {
        fail(state);
    } else {
        out.bytes_count = out_bytes;
        state->ret = state->emit(&out, state->sample_count, state->ctx, state->err);
    }
    ntk_buf_fini(&out);
    ntk_buf_reset(&state->proto);
    state->sample_count = 0;
}

/* The next part of a key, which is cut up. */
static char *next_part(char **key)
{
    char *part = *key;

    *key += strcspn(part, (const char[]){ KEY_SEPARATOR, '\0' });
    *(*key)++ = '\0';
    return part;
}

/* Appends a series to the request, which may come in pieces; the key is cut up. Of the two one is
 * NULL. */
static void add_series(struct ntk_remote_write *state, char *key, Ntk__RemoteWrite__Sample *sample,
                       Ntk__RemoteWrite__Histogram *histogram)
{
    Ntk__RemoteWrite__WriteRequest piece = NTK__REMOTE_WRITE__WRITE_REQUEST__INIT;
    Ntk__RemoteWrite__TimeSeries series = NTK__REMOTE_WRITE__TIME_SERIES__INIT;
    Ntk__RemoteWrite__TimeSeries *series_rows[] = { &series };
    Ntk__RemoteWrite__Label labels[LABELS_MAX];
    Ntk__RemoteWrite__Label *label_rows[LABELS_MAX];

    while (*key && series.n_labels < LABELS_MAX) {
        Ntk__RemoteWrite__Label *label = label_rows[series.n_labels] = &labels[series.n_labels];
        ntk__remote_write__label__init(label);
        label->name = next_part(&key);
        label->value = next_part(&key);
        series.n_labels++;
    }
    series.labels = label_rows;
    if (sample) {
        sample->timestamp = state->time_ms;
        series.samples = &sample;
        series.n_samples = 1;
    } else {
        histogram->timestamp = state->time_ms;
        series.histograms = &histogram;
        series.n_histograms = 1;
    }
    piece.timeseries = series_rows;
    piece.n_timeseries = 1;
    void *to =
        ntk_buf_extend(&state->proto, ntk__remote_write__write_request__get_packed_size(&piece));
    if (!to) {
        fail(state);
        return;
    }
    ntk__remote_write__write_request__pack(&piece, to);
    if (++state->sample_count == NTK_REMOTE_WRITE_SAMPLES ||
        state->proto.bytes_count > REQUEST_BYTES) {
        flush(state);
    }
}

/* -- a page ------------------------------------------------------------------------------------ */

/* What seen has of a series: the page, and whether it is a native histogram. */
static void *mark(const struct ntk_remote_write *state, bool is_native)
{
    return (void *)(state->generation * 2 + is_native);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct ntk_points_label *)a)->name,
                  ((const struct ntk_points_label *)b)->name);
}

/* The key of a series of the point, remembered as being on this page; NULL without memory. */
static char *make_key(struct ntk_remote_write *state, const struct ntk_point *point,
                      const char *name, const char *edge, bool is_native)
{
    struct ntk_points_label labels[LABELS_MAX] = { { "__name__", name },
                                                   { "instance", state->options.instance },
                                                   { "job", state->options.job },
                                                   { "le", edge } };
    size_t count = OWN_LABELS;

    if (point->has_instance_labels) {
        count += ntk_points_instance_get(state->page, labels + count);
    }
    for (const struct ntk_points_label *label = point->labels; label->name && count < LABELS_MAX;
         label++) {
        labels[count++] = *label;
    }
    qsort(labels, count, sizeof *labels, by_name);
    ntk_buf_reset(&state->key);
    for (size_t i = 0; i < count; i++) {
        if (labels[i].value[0]) { /* an empty label is none */
            ntk_buf_add_format(&state->key, "%s%c%s%c", labels[i].name, KEY_SEPARATOR,
                               labels[i].value, KEY_SEPARATOR);
        }
    }
    ntk_buf_add_char(&state->key, '\0');
    char *key = ntk_buf_ok(&state->key) ? (char *)state->key.bytes : NULL;
    state->found_count += key && ntk_map_get(&state->seen, key);
    if (!key || ntk_map_put(&state->seen, key, mark(state, is_native)) < 0) {
        fail(state);
        return NULL;
    }
    return key;
}

static void add_sample(struct ntk_remote_write *state, const struct ntk_point *point,
                       const char *name, const char *edge, double value)
{
    Ntk__RemoteWrite__Sample sample = NTK__REMOTE_WRITE__SAMPLE__INIT;
    char *key = make_key(state, point, name, edge, false);

    sample.value = value;
    if (key) {
        add_series(state, key, &sample, NULL);
    }
}

static void add_native(struct ntk_remote_write *state, const struct ntk_point *point)
{
    struct ntk_points_native *native = &state->native;
    Ntk__RemoteWrite__Histogram histogram = NTK__REMOTE_WRITE__HISTOGRAM__INIT;
    char *key = make_key(state, point, state->row->name, "", true);

    if (!key) {
        return;
    }
    ntk_points_native_make(point->latency->fine, native);
    for (size_t i = 0; i < native->span_count; i++) {
        Ntk__RemoteWrite__BucketSpan *span = state->span_rows[i] = &state->spans[i];
        ntk__remote_write__bucket_span__init(span);
        span->offset = native->span[i].offset;
        span->length = native->span[i].length;
    }
    histogram.count_case = NTK__REMOTE_WRITE__HISTOGRAM__COUNT_COUNT_INT;
    histogram.count_int = point->latency->edges.count;
    histogram.sum = (double)point->latency->edges.sum_ns / NS;
    histogram.schema = native->schema;
    histogram.zero_threshold = NTK_POINTS_ZERO_THRESHOLD;
    histogram.zero_count_case = NTK__REMOTE_WRITE__HISTOGRAM__ZERO_COUNT_ZERO_COUNT_INT;
    histogram.zero_count_int = native->zero_count;
    histogram.positive_spans = state->span_rows;
    histogram.n_positive_spans = native->span_count;
    histogram.positive_deltas = native->delta;
    histogram.n_positive_deltas = native->delta_count;
    add_series(state, key, NULL, &histogram);
}

static void add_latency(struct ntk_remote_write *state, const struct ntk_point *point)
{
    const struct ntk_latency_series *series = &point->latency->edges;
    char name[NTK_POINTS_NAME_BYTES];
    char edge[NTK_POINTS_EDGE_BYTES];

    snprintf(name, sizeof name, "%s_bucket", state->row->name);
    for (unsigned int i = 0; i < NTK_LATENCY_EDGE_COUNT; i++) {
        ntk_points_edge_format(i, edge);
        add_sample(state, point, name, edge, (double)series->below[i]);
    }
    add_sample(state, point, name, "+Inf", (double)series->count);
    snprintf(name, sizeof name, "%s_sum", state->row->name);
    add_sample(state, point, name, "", (double)series->sum_ns / NS);
    snprintf(name, sizeof name, "%s_count", state->row->name);
    add_sample(state, point, name, "", (double)series->count);
    if (state->options.has_native && point->latency->fine) {
        add_native(state, point);
    }
}

static void visit(const struct ntk_point *point, void *ctx)
{
    struct ntk_remote_write *state = ctx;
    char name[NTK_POINTS_NAME_BYTES];

    if (state->ret < 0) {
        return;
    }
    if (point->latency) {
        add_latency(state, point);
        return;
    }
    add_sample(state, point, state->row->name, "", point->number);
    if (point->created_seconds > 0) {
        ntk_points_created_name(state->row, name);
        add_sample(state, point, name, "", point->created_seconds);
    }
}

/* One last sample for each series that this page does not have, and forgets it. */
static void end_missing(struct ntk_remote_write *state)
{
    const uint64_t bits = NTK_REMOTE_WRITE_STALE_BITS;
    struct ntk_map kept = { 0 };
    double stale;

    memcpy(&stale, &bits, sizeof stale);
    ntk_map_each(entry, &state->seen) {
        Ntk__RemoteWrite__Sample sample = NTK__REMOTE_WRITE__SAMPLE__INIT;
        Ntk__RemoteWrite__Histogram histogram = NTK__REMOTE_WRITE__HISTOGRAM__INIT;
        if (entry->value == mark(state, false) || entry->value == mark(state, true)) {
            if (ntk_map_put(&kept, entry->key, entry->value) < 0) {
                fail(state);
            }
        } else if ((uintptr_t)entry->value & 1) {
            histogram.count_case = NTK__REMOTE_WRITE__HISTOGRAM__COUNT_COUNT_INT;
            histogram.zero_count_case = NTK__REMOTE_WRITE__HISTOGRAM__ZERO_COUNT_ZERO_COUNT_INT;
            histogram.sum = stale;
            add_series(state, entry->key, NULL, &histogram);
        } else {
            sample.value = stale;
            add_series(state, entry->key, &sample, NULL);
        }
    }
    ntk_map_fini(&state->seen);
    state->seen = kept;
}

int ntk_remote_write_encode(struct ntk_remote_write *state, const struct ntk_points_page *page,
                            int64_t time_ms,
                            int (*emit)(struct ntk_buf *request, uint64_t sample_count, void *ctx,
                                        struct ntk_err *err),
                            void *ctx, struct ntk_err *err)
{
    size_t known = state->seen.count;

    state->page = page;
    state->generation++;
    state->found_count = 0;
    state->time_ms = time_ms;
    state->emit = emit;
    state->ctx = ctx;
    state->err = err;
    state->ret = 0;
    state->sample_count = 0;
    ntk_buf_reset(&state->proto);
    for (size_t i = 0; i < NTK_POINTS_FAMILIES && state->ret >= 0; i++) {
        state->row = ntk_points_family_get(i);
        if (ntk_points_is_shown(page, state->options.vendor_only, i)) {
            ntk_points_walk(page, i, visit, state);
        }
    }
    if (state->found_count < known && state->ret >= 0) {
        end_missing(state);
    }
    flush(state);
    return state->ret;
}
