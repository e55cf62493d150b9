/* SPDX-License-Identifier: MIT */
/* prometheus_encode - encodes the page as text for a scraper. */
#include "exporters/prometheus/prometheus_encode.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/points/points_buckets.h"
#include "exporters/prometheus/prometheus_protobuf.h"
#include "exporters/points/points_walk.h"
#include "shared/base/clock.h"
#include "shared/base/json.h"

#define NS (double)NTK_NS_PER_SECOND

/* Positions at which labels of a series may be inserted into the labels of the instance. */
enum {
    CUT_INSTANCE, /* before "instance_id" */
    CUT_REGION,   /* before "region" */
    CUT_SUBNET,   /* before "subnet_id" */
    CUT_END,
    CUT_COUNT
};
static const char *const cut_names[CUT_COUNT] = { "instance_id", "region", "subnet_id", "\x7f" };

#define EDGE "\x1f" /* labels have no control characters */

/* Samples to write for a counter with a start time. */
enum counter_part { COUNTER_TOTAL = 1, COUNTER_CREATED = 2 };

/* State of an encoder. */
struct ntk_prometheus_parts {
    const struct ntk_points_page *page;
    enum ntk_prometheus_format format;
    bool vendor_only;
    struct ntk_buf *out;
    size_t full_bytes;                /* number of bytes after which a part ends */
    size_t family;                    /* NTK_POINTS_FAMILIES at the end */
    struct ntk_points_part walked;    /* part of the family being visited */
    unsigned counter_parts;           /* 0 if the family has not started */
    const struct ntk_metric_row *row; /* row of the family */
    bool has_header;
    bool has_created;
    struct ntk_buf part[CUT_COUNT]; /* text before position i; each label is followed by a comma */
    struct ntk_buf bucket;          /* line for the buckets of a histogram, which contains EDGE */
    size_t edge_at;
    char edges[NTK_LATENCY_EDGE_COUNT][NTK_POINTS_EDGE_BYTES];
};

/* -- pieces ------------------------------------------------------------------------------------ */

/* Adds a label with a comma at the end. */
static void add_label(struct ntk_buf *buf, const char *name, const char *value)
{
    size_t name_bytes = strlen(name);
    size_t most = name_bytes + 2 * strlen(value) + strlen("=\"\",");
    char *begin = ntk_buf_extend(buf, most);

    if (!begin) {
        return;
    }
    memcpy(begin, name, name_bytes);
    char *at = begin + name_bytes;
    *at++ = '=';
    *at++ = '"';
    for (; *value; value++) {
        if (*value == '\\' || *value == '"' || *value == '\n') {
            *at++ = '\\';
        }
        *at++ = *value == '\n' ? 'n' : *value;
    }
    *at++ = '"';
    *at++ = ',';
    *at = '\0';
    buf->bytes_count -= most - (size_t)(at - begin);
}

static void make_parts(struct ntk_prometheus_parts *e)
{
    struct ntk_points_label labels[NTK_INSTANCE_TEXTS + 1];
    size_t count = ntk_points_instance_get(e->page, labels);
    size_t cut = 0;

    for (size_t i = 0; i < count; i++) {
        while (strcmp(labels[i].name, cut_names[cut]) >= 0) {
            cut++;
        }
        add_label(&e->part[cut], labels[i].name, labels[i].value);
    }
}

static void add_value(struct ntk_buf *buf, double value)
{
    char text[64];

    if (!isfinite(value)) {
        ntk_buf_add_text(buf, isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf");
        return;
    }
    ntk_buf_add(buf, text, ntk_json_format_double(text, sizeof text, value));
}

static bool is_open(const struct ntk_prometheus_parts *e)
{
    return e->format == NTK_PROMETHEUS_OPENMETRICS_1_0_0;
}

static bool has_end(const char *name, const char *end)
{
    size_t name_bytes = strlen(name);
    size_t end_bytes = strlen(end);

    return name_bytes > end_bytes && !strcmp(name + name_bytes - end_bytes, end);
}

/* Type and name of a family in each format: OpenMetrics removes the suffix of the type from the
 * name. */
static const struct kind {
    const char *text_type;
    const char *open_type;
    const char *open_end; /* suffix of samples, but not of the family */
} kinds[] = {
    [NTK_METRIC_KIND_GAUGE] = { "gauge", "gauge", "" },
    [NTK_METRIC_KIND_COUNTER] = { "counter", "counter", "_total" },
    [NTK_METRIC_KIND_HISTOGRAM] = { "histogram", "histogram", "" },
    [NTK_METRIC_KIND_INFO] = { "gauge", "info", "_info" },
};

static void add_header(struct ntk_prometheus_parts *e, const char *name, enum ntk_metric_kind kind,
                       const char *help)
{
    const struct kind *row = &kinds[kind];
    int length = (int)strlen(name);

    if (is_open(e) && has_end(name, row->open_end)) {
        length -= (int)strlen(row->open_end);
    }
    ntk_buf_add_format(e->out, "# HELP %.*s %s\n# TYPE %.*s %s\n", length, name, help, length, name,
                       is_open(e) ? row->open_type : row->text_type);
    const char *unit = is_open(e) ? ntk_points_unit_get(name, (size_t)length) : "";
    if (unit[0]) {
        ntk_buf_add_format(e->out, "# UNIT %.*s %s\n", length, name, unit);
    }
}

static void begin_family(struct ntk_prometheus_parts *e)
{
    if (!e->has_header) {
        add_header(e, e->row->name, e->row->kind, e->row->help);
        e->has_header = true;
    }
}

static void begin_sample(struct ntk_prometheus_parts *e, const char *suffix)
{
    begin_family(e);
    ntk_buf_add_text(e->out, e->row->name);
    ntk_buf_add_text(e->out, suffix);
}

static void add_labels_before(struct ntk_prometheus_parts *e,
                              const struct ntk_points_label **labels, const char *end)
{
    for (; (*labels)->name && strcmp((*labels)->name, end) < 0; (*labels)++) {
        add_label(e->out, (*labels)->name, (*labels)->value);
    }
}

/* Ends the labels; replaces the last comma. */
static void end_labels(struct ntk_prometheus_parts *e)
{
    if (e->out->bytes_count > 0 && ntk_buf_ok(e->out)) {
        e->out->bytes[e->out->bytes_count - 1] = '}';
    }
}

/* Adds the labels of the instance and extra labels in braces; extra is sorted by name and ends with
 * a NULL name. */
static void add_labels(struct ntk_prometheus_parts *e, const struct ntk_points_label *extra)
{
    ntk_buf_add_char(e->out, '{');
    add_labels_before(e, &extra, "availability_zone");
    for (int cut = 0; cut < CUT_COUNT; cut++) {
        ntk_buf_add(e->out, ntk_buf_text_get(&e->part[cut]), e->part[cut].bytes_count);
        add_labels_before(e, &extra, cut_names[cut]);
    }
    end_labels(e);
    ntk_buf_add_char(e->out, ' ');
}

static void add_point_labels(struct ntk_prometheus_parts *e, const struct ntk_point *point)
{
    if (point->has_instance_labels) {
        add_labels(e, point->labels);
        return;
    }
    for (const struct ntk_points_label *label = point->labels; label->name; label++) {
        if (label == point->labels) {
            ntk_buf_add_char(e->out, '{');
        }
        add_label(e->out, label->name, label->value);
    }
    if (point->labels->name) {
        end_labels(e);
    }
    ntk_buf_add_char(e->out, ' ');
}

/* -- points ------------------------------------------------------------------------------------ */

/* Adds the edge between the two parts of a line. */
static void add_bucket(struct ntk_prometheus_parts *e, const char *edge, uint64_t count)
{
    const char *end = ntk_buf_text_get(&e->bucket) + e->edge_at + strlen(EDGE);

    ntk_buf_add(e->out, ntk_buf_text_get(&e->bucket), e->edge_at);
    ntk_buf_add_text(e->out, edge);
    ntk_buf_add_text(e->out, end);
    ntk_buf_add_u64(e->out, count);
    ntk_buf_add_char(e->out, '\n');
}

/* Creates the line for all buckets of a series, with EDGE where they differ. Returns false if out
 * of memory. */
static bool make_bucket(struct ntk_prometheus_parts *e, const struct ntk_points_label *labels)
{
    struct ntk_buf *out = e->out;
    struct ntk_points_label with_edge[NTK_POINTS_LABELS_MAX + 2] = { { 0 } };
    size_t used = 0;

    for (; labels->name && strcmp(labels->name, "le") < 0; labels++) {
        with_edge[used++] = *labels;
    }
    with_edge[used++] = (struct ntk_points_label){ "le", EDGE };
    for (; labels->name && used <= NTK_POINTS_LABELS_MAX; labels++) {
        with_edge[used++] = *labels;
    }
    begin_family(e);
    ntk_buf_reset(&e->bucket);
    e->out = &e->bucket;
    begin_sample(e, "_bucket");
    add_labels(e, with_edge);
    e->out = out;
    e->edge_at = strcspn(ntk_buf_text_get(&e->bucket), EDGE);
    out->failed = out->failed || !ntk_buf_ok(&e->bucket);
    return ntk_buf_ok(out);
}

static void add_latency(struct ntk_prometheus_parts *e, const struct ntk_point *point)
{
    const struct ntk_latency_series *series = &point->latency->edges;

    if (!make_bucket(e, point->labels)) {
        return;
    }
    for (unsigned int i = 0; i < NTK_LATENCY_EDGE_COUNT; i++) {
        add_bucket(e, e->edges[i], series->below[i]);
    }
    add_bucket(e, "+Inf", series->count);
    begin_sample(e, "_sum");
    add_labels(e, point->labels);
    add_value(e->out, (double)series->sum_ns / NS);
    ntk_buf_add_char(e->out, '\n');
    begin_sample(e, "_count");
    add_labels(e, point->labels);
    ntk_buf_add_u64(e->out, series->count);
    ntk_buf_add_char(e->out, '\n');
}

/* Adds the start time of a counter: the name of the counter with another suffix. */
static void add_created(struct ntk_prometheus_parts *e, const struct ntk_point *point)
{
    char name[NTK_POINTS_NAME_BYTES];

    ntk_points_created_name(e->row, name);
    ntk_buf_add_text(e->out, name);
    add_point_labels(e, point);
    add_value(e->out, point->created_seconds);
    ntk_buf_add_char(e->out, '\n');
}

static void visit(const struct ntk_point *point, void *ctx)
{
    struct ntk_prometheus_parts *e = ctx;

    if (point->latency) {
        add_latency(e, point);
        return;
    }
    if (e->counter_parts & COUNTER_TOTAL) {
        begin_sample(e, "");
        add_point_labels(e, point);
        if (point->is_integer) {
            ntk_buf_add_u64(e->out, point->integer);
        } else {
            add_value(e->out, point->number);
        }
        ntk_buf_add_char(e->out, '\n');
    }
    e->has_created = e->has_created || point->created_seconds > 0;
    if (e->counter_parts & COUNTER_CREATED && point->created_seconds > 0) {
        add_created(e, point);
    }
}

/* -- the page ---------------------------------------------------------------------------------- */

static bool is_full(void *ctx)
{
    const struct ntk_prometheus_parts *e = ctx;

    return e->out->bytes_count >= e->full_bytes || !ntk_buf_ok(e->out);
}

static void begin_walk(struct ntk_prometheus_parts *e, unsigned counter_parts)
{
    e->counter_parts = counter_parts;
    e->walked = (struct ntk_points_part){ .is_full = is_full };
}

/* Encodes a family. OpenMetrics has the start time after each counter; in the older format the
 * vendor's exporter has a separate family. Returns false if the family is not complete. */
static bool encode_family(struct ntk_prometheus_parts *e)
{
    char name[NTK_POINTS_NAME_BYTES];

    if (e->counter_parts == 0) {
        e->row = ntk_points_family_get(e->family);
        e->has_header = e->has_created = false;
        begin_walk(e, is_open(e) ? COUNTER_TOTAL | COUNTER_CREATED : COUNTER_TOTAL);
    }
    if (ntk_points_walk_part(e->page, e->family, &e->walked, visit, e)) {
        return false;
    }
    if (is_open(e) || !e->has_created || e->counter_parts == COUNTER_CREATED) {
        return true;
    }
    ntk_points_created_name(e->row, name);
    add_header(e, name, NTK_METRIC_KIND_GAUGE, e->row->help);
    begin_walk(e, COUNTER_CREATED);
    return !ntk_points_walk_part(e->page, e->family, &e->walked, visit, e);
}

static void begin_page(struct ntk_prometheus_parts *e)
{
    make_parts(e);
    for (unsigned int i = 0; i < NTK_LATENCY_EDGE_COUNT; i++) {
        ntk_points_edge_format(i, e->edges[i]);
    }
}

static void end_page(struct ntk_prometheus_parts *e)
{
    for (int i = 0; i < CUT_COUNT; i++) {
        ntk_buf_fini(&e->part[i]);
    }
    ntk_buf_fini(&e->bucket);
}

bool ntk_prometheus_parts_next(struct ntk_prometheus_parts *e, size_t bytes_min,
                               struct ntk_buf *out)
{
    e->out = out;
    e->full_bytes =
        bytes_min < SIZE_MAX - out->bytes_count ? out->bytes_count + bytes_min : SIZE_MAX;
    for (int i = 0; i < CUT_COUNT; i++) {
        out->failed = out->failed || !ntk_buf_ok(&e->part[i]);
    }
    while (e->family < NTK_POINTS_FAMILIES && !is_full(e)) {
        if (!ntk_points_is_shown(e->page, e->vendor_only, e->family) || encode_family(e)) {
            e->family++;
            e->counter_parts = 0;
        }
    }
    if (e->family < NTK_POINTS_FAMILIES) {
        return true;
    }
    if (is_open(e)) {
        ntk_buf_add_text(out, "# EOF\n");
    }
    return false;
}

struct ntk_prometheus_parts *ntk_prometheus_parts_create(const struct ntk_points_page *page,
                                                         enum ntk_prometheus_format format,
                                                         bool vendor_only)
{
    struct ntk_prometheus_parts *parts = calloc(1, sizeof *parts);

    assert(format != NTK_PROMETHEUS_PROTOBUF);
    if (parts) {
        parts->page = page;
        parts->format = format;
        parts->vendor_only = vendor_only;
        begin_page(parts);
    }
    return parts;
}

void ntk_prometheus_parts_move(struct ntk_prometheus_parts *parts,
                               const struct ntk_points_page *page)
{
    parts->page = page;
}

void ntk_prometheus_parts_destroy(struct ntk_prometheus_parts *parts)
{
    if (parts) {
        end_page(parts);
        free(parts);
    }
}

void ntk_prometheus_encode(const struct ntk_points_page *page, enum ntk_prometheus_format format,
                           bool vendor_only, struct ntk_buf *out)
{
    struct ntk_prometheus_parts whole = { .page = page,
                                          .format = format,
                                          .vendor_only = vendor_only };

    if (format == NTK_PROMETHEUS_PROTOBUF) {
        ntk_prometheus_protobuf_encode(page, vendor_only, out);
        return;
    }
    begin_page(&whole);
    (void)ntk_prometheus_parts_next(&whole, SIZE_MAX, out);
    end_page(&whole);
}

const char *ntk_prometheus_content_type_get(enum ntk_prometheus_format format)
{
    static const char *const types[NTK_PROMETHEUS_FORMAT_COUNT] = {
        [NTK_PROMETHEUS_TEXT_0_0_4] = "text/plain; version=0.0.4; charset=utf-8",
        [NTK_PROMETHEUS_OPENMETRICS_1_0_0] =
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
        [NTK_PROMETHEUS_PROTOBUF] =
            ("application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; "
             "encoding=delimited"),
    };

    return types[format];
}
