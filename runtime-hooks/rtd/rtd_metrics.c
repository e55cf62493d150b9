/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/rtd/rtd_metrics.h"

#include <stdbool.h>
#include <stdlib.h>

#include "shared/abi/segment_abi.h"
#include "shared/base/clock.h"

#define METRICS NRT__METRIC_TYPE__NMGR_METRIC_NUM

/* Unit of a metric's value for clients: seconds, thousands of cycles, or the number itself. */
static const double units[METRICS] = {
    [NRT__METRIC_TYPE__NMGR_METRIC_INFER_LATENCY] = 1e-9,
    [NRT__METRIC_TYPE__NMGR_METRIC_INFER_ON_INFA_LATENCY] = 1e-9,
    [NRT__METRIC_TYPE__NMGR_METRIC_MODEL_START_LATENCY] = 1e-9,
    [NRT__METRIC_TYPE__NMGR_METRIC_MODEL_STOP_LATENCY] = 1e-9,
    [NRT__METRIC_TYPE__NMGR_METRIC_MODEL_LOAD_LATENCY] = 1e-9,
    [NRT__METRIC_TYPE__NMGR_METRIC_MODEL_UNLOAD_LATENCY] = 1e-9,
    [NRT__METRIC_TYPE__NMGR_METRIC_MODEL_SIZE] = 1,
    [NRT__METRIC_TYPE__NMGR_METRIC_MODEL_NUM_NC] = 1,
    [NRT__METRIC_TYPE__NMGR_METRIC_MODEL_MAJOR_VERSION] = 1,
    [NRT__METRIC_TYPE__NMGR_METRIC_INFER_ON_INFA_CYCLESx1k] = 1e-3,
};

/* Distribution of values in the usual latency buckets (relative error at most 1/64). */
struct spread {
    uint64_t min, max, count;
    double sum;
    uint32_t counts[NTK_HISTOGRAM_BUCKETS];
};

struct sample {
    uint64_t at_ns;
    uint64_t value;
};

struct rtd_metrics {
    struct {
        struct spread all;
        struct sample latest[RTD_METRIC_LATEST]; /* sample n is at n % RTD_METRIC_LATEST */
    } of[METRICS];
};

struct rtd_metrics *rtd_metrics_create(void)
{
    return calloc(1, sizeof(struct rtd_metrics)); /* pages of unused metrics stay untouched */
}

void rtd_metrics_destroy(struct rtd_metrics *metrics)
{
    free(metrics);
}

static void spread_add(struct spread *spread, uint64_t value)
{
    uint32_t *count = &spread->counts[ntk_histogram_bucket(value)];

    spread->min = spread->count == 0 || value < spread->min ? value : spread->min;
    spread->max = value > spread->max ? value : spread->max;
    spread->sum += (double)value;
    spread->count++;
    *count += *count < UINT32_MAX;
}

void rtd_metrics_add(struct rtd_metrics *metrics, enum _Nrt__MetricType type, uint64_t value)
{
    struct spread *all = &metrics->of[type].all;

    metrics->of[type].latest[all->count % RTD_METRIC_LATEST] =
        (struct sample){ ntk_clock_monotonic_ns(), value };
    spread_add(all, value);
}

/* Computes the distribution of stored samples since then; *out_is_short is true if there were more
 * samples. */
static void latest_spread(const struct rtd_metrics *metrics, size_t type, uint64_t since_ns,
                          struct spread *out_spread, bool *out_is_short)
{
    uint64_t count = metrics->of[type].all.count;
    uint64_t kept = count < RTD_METRIC_LATEST ? count : RTD_METRIC_LATEST;

    *out_is_short = count > kept;
    for (uint64_t i = 1; i <= kept; i++) {
        const struct sample *sample = &metrics->of[type].latest[(count - i) % RTD_METRIC_LATEST];

        if (sample->at_ns < since_ns) {
            *out_is_short = false;
            return;
        }
        spread_add(out_spread, sample->value);
    }
}

/* One row with everything that it points to, in one block of memory. */
struct row {
    Nrt__Metric metric;
    Nrt__MetricData data;
    Nrt__MetricData *datas[1];
    Nrt__Aggregate aggregate;
    double values[NTK_HISTOGRAM_BUCKETS];
    uint32_t counts[NTK_HISTOGRAM_BUCKETS];
};

static Nrt__Metric *row_create(const struct spread *spread, size_t type)
{
    struct row *row = malloc(sizeof *row);

    if (!row) {
        return NULL;
    }
    nrt__metric__init(&row->metric);
    nrt__metric_data__init(&row->data);
    nrt__aggregate__init(&row->aggregate);
    row->metric.metric_type = (Nrt__MetricType)type;
    row->metric.data = row->datas;
    row->metric.n_data = 1;
    row->datas[0] = &row->data;
    row->data.ts_nanos_since_epoch = ntk_clock_realtime_ns();
    row->data.value_case = NRT__METRIC_DATA__VALUE_VALUE_AGG;
    row->data.value_agg = &row->aggregate;
    row->aggregate.min = (double)spread->min * units[type];
    row->aggregate.max = (double)spread->max * units[type];
    row->aggregate.sum = spread->sum * units[type];
    row->aggregate.count = (double)spread->count;
    row->aggregate.values = row->values;
    row->aggregate.counts = row->counts;
    for (uint32_t i = 0; i < NTK_HISTOGRAM_BUCKETS; i++) {
        if (spread->counts[i] > 0) {
            size_t at = row->aggregate.n_values++;
            uint64_t last = ntk_histogram_bucket_low(i + 1) - 1;

            /* The last bucket has no upper bound. */
            last = i + 1 == NTK_HISTOGRAM_BUCKETS && spread->max > last ? spread->max : last;
            row->values[at] = (double)last * units[type];
            row->counts[at] = spread->counts[i];
        }
    }
    row->aggregate.n_counts = row->aggregate.n_values;
    return &row->metric;
}

struct rtd_metrics_rows *rtd_metrics_read(const struct rtd_metrics *metrics, uint32_t period_s)
{
    struct rtd_metrics_rows *rows = calloc(1, sizeof *rows);
    struct spread *latest = malloc(sizeof *latest);
    uint64_t now_ns = ntk_clock_monotonic_ns();
    uint64_t period_ns = (uint64_t)period_s * NTK_NS_PER_SECOND;

    for (size_t type = 0; type < METRICS && rows && latest; type++) {
        const struct spread *spread = &metrics->of[type].all;
        bool is_short = false;

        if (period_s > 0) {
            *latest = (struct spread){ 0 };
            latest_spread(metrics, type, now_ns > period_ns ? now_ns - period_ns : 0, latest,
                          &is_short);
            spread = latest;
        }
        if (spread->count == 0) {
            continue;
        }
        Nrt__Metric *metric = row_create(spread, type);
        if (!metric) {
            rtd_metrics_rows_destroy(rows);
            rows = NULL;
            break;
        }
        metric->overflow = is_short;
        rows->metrics[rows->count++] = metric;
    }
    if (!latest) {
        rtd_metrics_rows_destroy(rows);
        rows = NULL;
    }
    free(latest);
    return rows;
}

void rtd_metrics_rows_destroy(struct rtd_metrics_rows *rows)
{
    for (size_t i = 0; rows && i < rows->count; i++) {
        free(rows->metrics[i]);
    }
    free(rows);
}
