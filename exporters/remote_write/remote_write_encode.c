/* SPDX-License-Identifier: MIT */
/* remote_write_encode - converts points of the page to series, and series to requests. */
#include "exporters/remote_write/remote_write_encode.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/points/points_buckets.h"
#include "exporters/points/points_walk.h"
#include "exporters/remote_write/remote_write_request.h"
#include "shared/base/clock.h"
#include "shared/base/map.h"
#include "shared/base/order.h"
#include "shared/base/str.h"

#define NS (double)NTK_NS_PER_SECOND
/* Size at which a request is sent even if it is not full. */
#define REQUEST_BYTES ((size_t)2 * 1024 * 1024)
#define OWN_LABELS 4 /* __name__, instance, job, le */
#define LABELS_MAX (OWN_LABELS + NTK_INSTANCE_TEXTS + NTK_POINTS_LABELS_MAX)
static_assert(LABELS_MAX <= REMOTE_WRITE_LABELS_MAX, "a series has room for all of its labels");
#define EXEMPLAR_BYTES 96

/* Bits of a mark, which has the last page with a series, its family, its type, and a bit for native
 * histograms. */
#define MARK_NATIVE ((uintptr_t)1)
#define MARK_TYPE(mark) ((Ntk__RemoteWrite__MetricType)((mark) >> 1 & 7))
#define MARK_FAMILY(mark) ((size_t)((mark) >> 4 & 0xfff))
#define MARK_GENERATION(mark) ((mark) >> 16)
static_assert(NTK_POINTS_FAMILIES < 0x1000, "a mark has 12 bits for the family");

struct ntk_remote_write {
    struct ntk_remote_write_options options;
    struct ntk_map seen; /* maps a key to its mark */
    uintptr_t generation;

    /* State of the page being encoded. */
    const struct ntk_points_page *page;
    size_t family;
    const struct ntk_metric_row *row;
    size_t found_count; /* number of known series that are also on this page */
    int64_t time_ms;
    int (*emit)(struct ntk_buf *request, uint64_t sample_count, void *ctx, struct ntk_err *err);
    void *ctx;
    struct ntk_err *err;
    int ret; /* first failure */
    struct remote_write_request request;

    /* State of the series being created. */
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
    remote_write_request_fini(&state->request);
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
    uint64_t sample_count = state->request.sample_count;
    struct ntk_buf out = { 0 };

    if (sample_count == 0 || state->ret < 0) {
        return;
    }
    if (remote_write_request_finish(&state->request, &out) < 0) {
        fail(state);
    } else {
        state->ret = state->emit(&out, sample_count, state->ctx, state->err);
    }
    ntk_buf_fini(&out);
}

static void describe(struct remote_write_series *series, const struct ntk_metric_row *row)
{
    size_t length = strlen(row->name);

    length -= ntk_str_ends_with(row->name, "_total") ? strlen("_total") : 0;
    series->help = row->help;
    series->unit = ntk_points_unit_get(row->name, length);
}

static void add_series(struct ntk_remote_write *state, struct remote_write_series series,
                       uintptr_t mark)
{
    series.time_ms = state->time_ms;
    series.type = MARK_TYPE(mark);
    if (state->request.is_v2) {
        describe(&series, ntk_points_family_get(MARK_FAMILY(mark)));
    }
    if (remote_write_request_add(&state->request, &series) < 0) {
        fail(state);
    }
    if (state->request.sample_count == NTK_REMOTE_WRITE_SAMPLES ||
        remote_write_request_bytes(&state->request) > REQUEST_BYTES) {
        flush(state);
    }
}

/* -- a page ------------------------------------------------------------------------------------ */

static uintptr_t make_mark(const struct ntk_remote_write *state, bool is_created, bool is_native)
{
    static const Ntk__RemoteWrite__MetricType types[] = {
        [NTK_METRIC_KIND_GAUGE] = NTK__REMOTE_WRITE__METRIC_TYPE__GAUGE,
        [NTK_METRIC_KIND_COUNTER] = NTK__REMOTE_WRITE__METRIC_TYPE__COUNTER,
        [NTK_METRIC_KIND_HISTOGRAM] = NTK__REMOTE_WRITE__METRIC_TYPE__HISTOGRAM,
        [NTK_METRIC_KIND_INFO] = NTK__REMOTE_WRITE__METRIC_TYPE__INFO,
    };
    Ntk__RemoteWrite__MetricType type =
        is_created ? NTK__REMOTE_WRITE__METRIC_TYPE__GAUGE : types[state->row->kind];

    return state->generation << 16 | (uintptr_t)state->family << 4 | (uintptr_t)type << 1 |
           (is_native ? MARK_NATIVE : 0);
}

NTK_ORDER(by_name, struct ntk_points_label, NTK_TEXT(name));

/* Returns the key of the point's series, marked as present on this page; NULL if out of memory. */
static char *make_key(struct ntk_remote_write *state, const struct ntk_point *point,
                      const char *name, const char *edge, uintptr_t mark)
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
        if (labels[i].value[0]) { /* an empty label is absent */
            ntk_buf_add_text(&state->key, labels[i].name);
            ntk_buf_add_char(&state->key, REMOTE_WRITE_SEPARATOR);
            ntk_buf_add_text(&state->key, labels[i].value);
            ntk_buf_add_char(&state->key, REMOTE_WRITE_SEPARATOR);
        }
    }
    ntk_buf_add_char(&state->key, '\0');
    char *key = ntk_buf_ok(&state->key) ? (char *)state->key.bytes : NULL;
    state->found_count += key && ntk_map_get(&state->seen, key);
    if (!key || ntk_map_put(&state->seen, key, (void *)mark) < 0) {
        fail(state);
        return NULL;
    }
    return key;
}

/* Sets the slowest execution of the last period as the exemplar of the series that contains its
 * value. */
static void set_exemplar(struct remote_write_series *series,
                         const struct ntk_points_latency_series *latency, char text[EXEMPLAR_BYTES])
{
    const struct ntk_slow_execution *slowest = &latency->slowest;

    if (!slowest->end_ns) {
        return;
    }
    (void)snprintf(text, EXEMPLAR_BYTES, "execution_id%c%" PRIu64 "%cpid%c%" PRIu32 "%c",
                   REMOTE_WRITE_SEPARATOR, slowest->id, REMOTE_WRITE_SEPARATOR,
                   REMOTE_WRITE_SEPARATOR, slowest->pid, REMOTE_WRITE_SEPARATOR);
    series->exemplar_key = text;
    series->exemplar_value = (double)slowest->duration_ns / NS;
    series->exemplar_ms = (int64_t)(slowest->end_ns / NTK_NS_PER_MS);
}

static void add_sample(struct ntk_remote_write *state, const struct ntk_point *point,
                       const char *name, double value, bool is_created)
{
    uintptr_t mark = make_mark(state, is_created, false);
    struct remote_write_series series = {
        .value = value, .began_ms = is_created ? 0 : (int64_t)(point->began_ns / NTK_NS_PER_MS)
    };

    series.key = make_key(state, point, name, "", mark);
    if (series.key) {
        add_series(state, series, mark);
    }
}

static void add_bucket(struct ntk_remote_write *state, const struct ntk_point *point,
                       const char *name, const char *edge, uint64_t count, bool has_slowest)
{
    uintptr_t mark = make_mark(state, false, false);
    struct remote_write_series series = { .value = (double)count,
                                          .began_ms = (int64_t)(point->began_ns / NTK_NS_PER_MS) };
    char exemplar[EXEMPLAR_BYTES];

    series.key = make_key(state, point, name, edge, mark);
    if (has_slowest) {
        set_exemplar(&series, point->latency, exemplar);
    }
    if (series.key) {
        add_series(state, series, mark);
    }
}

static void add_native(struct ntk_remote_write *state, const struct ntk_point *point)
{
    struct ntk_points_native *native = &state->native;
    Ntk__RemoteWrite__Histogram histogram = NTK__REMOTE_WRITE__HISTOGRAM__INIT;
    uintptr_t mark = make_mark(state, false, true);
    struct remote_write_series series = { .histogram = &histogram,
                                          .began_ms = (int64_t)(point->began_ns / NTK_NS_PER_MS) };
    char exemplar[EXEMPLAR_BYTES];

    series.key = make_key(state, point, state->row->name, "", mark);
    if (!series.key) {
        return;
    }
    set_exemplar(&series, point->latency, exemplar);
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
    add_series(state, series, mark);
}

static void add_latency(struct ntk_remote_write *state, const struct ntk_point *point)
{
    const struct ntk_latency_series *series = &point->latency->edges;
    char name[NTK_POINTS_NAME_BYTES];
    char edge[NTK_POINTS_EDGE_BYTES];
    uint64_t slowest_ns = point->latency->slowest.duration_ns;
    uint64_t edge_before_ns = 0;

    snprintf(name, sizeof name, "%s_bucket", state->row->name);
    for (unsigned int i = 0; i < NTK_LATENCY_EDGE_COUNT; i++) {
        /* A bucket counts values below its edge; its exemplar is one of these values. */
        uint64_t edge_ns = ntk_latency_edge_ns(i);
        ntk_points_edge_format(i, edge);
        add_bucket(state, point, name, edge, series->below[i],
                   slowest_ns >= edge_before_ns && slowest_ns < edge_ns);
        edge_before_ns = edge_ns;
    }
    add_bucket(state, point, name, "+Inf", series->count, slowest_ns >= edge_before_ns);
    snprintf(name, sizeof name, "%s_sum", state->row->name);
    add_sample(state, point, name, (double)series->sum_ns / NS, false);
    snprintf(name, sizeof name, "%s_count", state->row->name);
    add_sample(state, point, name, (double)series->count, false);
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
    add_sample(state, point, state->row->name, point->number, false);
    if (point->created_seconds > 0) {
        ntk_points_created_name(state->row, name);
        add_sample(state, point, name, point->created_seconds, true);
    }
}

/* Adds one last sample for each series that is missing on this page, and forgets the series. */
static void end_missing(struct ntk_remote_write *state)
{
    const uint64_t bits = NTK_REMOTE_WRITE_STALE_BITS;
    struct ntk_map kept = { 0 };
    double stale;

    memcpy(&stale, &bits, sizeof stale);
    ntk_map_each(entry, &state->seen) {
        Ntk__RemoteWrite__Histogram histogram = NTK__REMOTE_WRITE__HISTOGRAM__INIT;
        uintptr_t mark = (uintptr_t)entry->value;
        struct remote_write_series series = { .key = entry->key, .value = stale };
        if (MARK_GENERATION(mark) == state->generation) {
            if (ntk_map_put(&kept, entry->key, entry->value) < 0) {
                fail(state);
            }
            continue;
        }
        if (mark & MARK_NATIVE) {
            histogram.count_case = NTK__REMOTE_WRITE__HISTOGRAM__COUNT_COUNT_INT;
            histogram.zero_count_case = NTK__REMOTE_WRITE__HISTOGRAM__ZERO_COUNT_ZERO_COUNT_INT;
            histogram.sum = stale;
            series.histogram = &histogram;
        }
        add_series(state, series, mark);
    }
    ntk_map_fini(&state->seen);
    state->seen = kept;
}

int ntk_remote_write_encode(struct ntk_remote_write *state, const struct ntk_points_page *page,
                            int64_t time_ms, bool is_v2,
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
    remote_write_request_fini(&state->request);
    state->request = (struct remote_write_request){ .is_v2 = is_v2 };
    for (size_t i = 0; i < NTK_POINTS_FAMILIES && state->ret >= 0; i++) {
        state->family = i;
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
