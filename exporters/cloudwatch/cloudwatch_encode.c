/* SPDX-License-Identifier: MIT */
/* cloudwatch_encode - maps points to metrics, and labels to dimensions, with a table. */
#include "exporters/cloudwatch/cloudwatch_encode.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/exporter.h"
#include "exporters/points/points_view.h"
#include "exporters/points/points_walk.h"
#include "shared/base/clock.h"
#include "shared/base/str.h"

#define NS ((double)NTK_NS_PER_SECOND)

/* -- metrics ----------------------------------------------------------------------------------- */

static const struct ntk_cloudwatch_metric_row metrics[NTK_CLOUDWATCH_METRIC_COUNT] = {
#define NTK_CLOUDWATCH_METRIC(symbol, name, unit, rule) \
    [NTK_CLOUDWATCH_##symbol] = { name, #unit, NTK_CLOUDWATCH_##rule },
#include "exporters/cloudwatch/cloudwatch.def"
};

/* Returns true if a counter of a core is sent as a rate. Times are sent as shares instead; among
 * the operations only the effective ones are sent. */
static bool is_rate(const struct ntk_core_count_row *row)
{
    return row->metric != NTK_METRIC_NONE && row->metric != NTK_METRIC_CORE_FLOPS_TOTAL &&
           ntk_metrics[row->metric].unit != NTK_METRIC_UNIT_SECONDS;
}

/* Returns a row with a name such as "NeuronCoreHbmReadBytes" for hbm_read_bytes. */
struct ntk_cloudwatch_metric_row ntk_cloudwatch_metric_get(enum ntk_cloudwatch_metric metric)
{
    size_t id = (size_t)metric - NTK_CLOUDWATCH_CORE_RATE;

    if (id >= NTK_CORE_COUNT_ROWS || !is_rate(&ntk_core_count_rows[id])) {
        return metrics[metric];
    }
    const struct ntk_core_count_row *row = &ntk_core_count_rows[id];
    struct ntk_cloudwatch_metric_row rate = { "NeuronCore", "Count/Second", NTK_CLOUDWATCH_SUM };
    const char *from =
        ntk_str_starts_with(row->column, "effective_") ? row->column + 10 : row->column;
    size_t used = strlen(rate.name);
    bool is_first = true;
    for (; *from && used + 1 < sizeof rate.name; from++) {
        if (*from != '_') {
            rate.name[used++] = (char)(is_first ? toupper((unsigned char)*from) : *from);
        }
        is_first = *from == '_';
    }
    rate.unit = ntk_metrics[row->metric].unit == NTK_METRIC_UNIT_BYTES ? "Bytes/Second" : rate.unit;
    return rate;
}

int ntk_cloudwatch_metrics_parse(const char *text, uint32_t *out_mask, struct ntk_err *err)
{
    uint32_t mask = 0;

    for (;;) {
        size_t length = strcspn(text, ",");
        int found = -1;
        for (int i = 0; i < NTK_CLOUDWATCH_METRIC_COUNT; i++) {
            struct ntk_cloudwatch_metric_row row =
                ntk_cloudwatch_metric_get((enum ntk_cloudwatch_metric)i);
            bool is_it = length > 0 && strlen(row.name) == length;
            found = is_it && !strncmp(row.name, text, length) ? i : found;
        }
        if (found < 0) {
            return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "unknown metric '%.*s'",
                               (int)(length < 100 ? length : 100), text);
        }
        mask |= 1u << found;
        if (!text[length]) {
            break;
        }
        text += length + 1;
    }
    *out_mask = mask;
    return 0;
}

/* -- series ------------------------------------------------------------------------------------ */

/* Selection of the points' values. */
enum which { ALL, ANY, UNHEALTHY };

struct dimension {
    const char *name;  /* NULL if there is none */
    const char *label; /* label of the point; NULL for `text` */
    const char *text;
};

struct series_row {
    enum ntk_cloudwatch_metric metric;
    size_t family;
    const char *where;
    enum which which;
    struct dimension dimensions[2];
};

#define NTK_METRIC_DEVICE_UNWELL NTK_POINTS_UNWELL
#define LABEL(name, label) \
    {                      \
#name, label, NULL \
    }
#define TEXT(name, text)  \
    {                     \
#name, NULL, text \
    }
static const struct series_row rows[] = {
#define NTK_CLOUDWATCH_SERIES(symbol, family, where, which, ...) \
    { NTK_CLOUDWATCH_##symbol, NTK_METRIC_##family, where, which, { __VA_ARGS__ } },
#include "exporters/cloudwatch/cloudwatch.def"
};

/* Number of dimensions in all series, which are also keys of lines. */
#define COMMON_COUNT 4
static const char *const common_names[] = {
    "InstanceId", "HostName", "InstanceType", "RuntimeTag", "User", "_aws",
};

static bool is_taken(const char *label)
{
    for (size_t i = 0; i < sizeof common_names / sizeof *common_names; i++) {
        if (strcmp(common_names[i], label) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < 2 * (sizeof rows / sizeof *rows); i++) {
        const char *name = rows[i / 2].dimensions[i % 2].name;
        if (name && strcmp(name, label) == 0) {
            return true;
        }
    }
    for (int i = 0; i < NTK_CLOUDWATCH_METRIC_COUNT; i++) {
        if (strcmp(ntk_cloudwatch_metric_get((enum ntk_cloudwatch_metric)i).name, label) == 0) {
            return true;
        }
    }
    return false;
}

int ntk_cloudwatch_labels_check(const struct ntk_labels *labels, struct ntk_err *err)
{
    for (size_t i = 0; i < labels->count; i++) {
        if (is_taken(labels->rows[i].name)) {
            return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                               "label '%s' already exists in metrics: choose a different name",
                               labels->rows[i].name);
        }
    }
    return 0;
}

/* State while a snapshot is added. */
struct adder {
    struct ntk_cloudwatch_data *data;
    const struct ntk_snapshot *snapshot;
    const struct series_row *row;
    bool has_failed;   /* true if out of memory */
    uint64_t unlisted; /* number of values without a series because there are too many */
};

static const char *label_of(const struct ntk_point *point, const char *name)
{
    return ntk_points_label_get(point, name, strlen(name));
}

/* Finds a series. Hosts outside EC2 have no id: their name distinguishes their metrics. */
static struct ntk_cloudwatch_series *find(struct adder *adder, const struct ntk_point *point)
{
    const struct ntk_snapshot *s = adder->snapshot;
    bool has_id = s->instance.id[0] != '\0';
    struct ntk_cloudwatch_pair pairs[COMMON_COUNT + 2] = {
        { has_id ? "InstanceId" : "HostName", has_id ? s->instance.id : s->host_name },
        { "InstanceType", s->instance.type[0] ? s->instance.type : s->hardware.instance_type },
        { "RuntimeTag", label_of(point, "runtime_tag") },
        { "User", label_of(point, "user") },
    };
    size_t count = COMMON_COUNT;

    for (size_t i = 0; i < 2 && adder->row->dimensions[i].name; i++) {
        const struct dimension *own = &adder->row->dimensions[i];
        pairs[count++] =
            (struct ntk_cloudwatch_pair){ own->name,
                                          own->label ? label_of(point, own->label) : own->text };
    }
    struct ntk_cloudwatch_series *series =
        ntk_cloudwatch_series_get(adder->data, adder->row->metric, pairs, count);
    adder->unlisted += !series && errno == ENOSPC;
    adder->has_failed = adder->has_failed || (!series && errno == ENOMEM);
    return series;
}

static void add_latency(struct adder *adder, struct ntk_cloudwatch_series *series,
                        const struct ntk_histogram_dense *histogram)
{
    series->is_weighted = true;
    for (uint32_t i = 0; histogram && i < NTK_HISTOGRAM_BUCKETS; i++) {
        if (histogram->bucket[i] > 0 &&
            ntk_cloudwatch_series_push(series, ntk_histogram_bucket_middle(i) / NS,
                                       (double)histogram->bucket[i]) < 0) {
            adder->has_failed = true;
        }
    }
}

static void add_point(const struct ntk_point *point, void *ctx)
{
    struct adder *adder = ctx;
    enum which which = adder->row->which;
    double value = which == UNHEALTHY ? point->number == NTK_HEALTH_UNHEALTHY : point->number;

    if ((which == ANY && value == 0) || !ntk_points_is_chosen(point, adder->row->where)) {
        return;
    }
    struct ntk_cloudwatch_series *series = find(adder, point);
    if (series && point->latency) {
        add_latency(adder, series, point->latency->fine);
    } else if (series) {
        ntk_cloudwatch_series_add(series, value);
    }
}

static void add_row(struct adder *adder, const struct series_row *row, uint32_t metric_mask)
{
    if (metric_mask & 1u << row->metric) {
        adder->row = row;
        ntk_points_walk(adder->data->page, row->family, add_point, adder);
    }
}

/* Creates the page of a step: applications keep their places until the step is sent. */
static struct ntk_points_page *page_create(void)
{
    struct ntk_points_page *page = calloc(1, sizeof *page);

    if (page) {
        page->is_of_period = page->keeps_fine_latencies = true;
        page->application_max = NTK_EXPORTER_APPLICATIONS;
        page->last_looks = UINT64_MAX;
    }
    return page;
}

int ntk_cloudwatch_encode(struct ntk_cloudwatch_data *data, const struct ntk_snapshot *snapshot,
                          uint32_t metric_mask, struct ntk_err *err)
{
    struct adder adder = { .data = data, .snapshot = snapshot };

    data->page = data->page ? data->page : page_create();
    if (!data->page) {
        return ntk_err_no_memory(err);
    }
    adder.has_failed = ntk_points_page_update(data->page, snapshot) < 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        add_row(&adder, &rows[i], metric_mask);
    }
    for (unsigned i = 0; i < NTK_CORE_COUNT_ROWS; i++) {
        const struct series_row rate = { .metric = NTK_CLOUDWATCH_CORE_RATE + i,
                                         .family = NTK_POINTS_RATES + i,
                                         .where = "",
                                         .dimensions = { LABEL(NeuronCore, "neuroncore") } };
        if (is_rate(&ntk_core_count_rows[i])) {
            add_row(&adder, &rate, metric_mask);
        }
    }
    adder.has_failed = ntk_cloudwatch_data_settle(data) < 0 || adder.has_failed;
    if (adder.has_failed) {
        return ntk_err_no_memory(err);
    }
    return adder.unlisted ? ntk_err_set(err, -ENOSPC, NTK_ERR_NO_OFFSET,
                                        "too many series (at most %u); ignoring the rest",
                                        NTK_CLOUDWATCH_SERIES_MAX)
                          : 0;
}
