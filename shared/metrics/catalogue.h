/* SPDX-License-Identifier: MIT */
/*
 * catalogue - the rows of catalogue.def as data.
 *
 * Threads: any; constant data.
 */
#ifndef NTK_SHARED_METRICS_CATALOGUE_H
#define NTK_SHARED_METRICS_CATALOGUE_H

#ifdef __cplusplus
extern "C" {
#endif

enum ntk_metric_origin { NTK_METRIC_ORIGIN_VENDOR, NTK_METRIC_ORIGIN_OURS };

enum ntk_metric_unit {
    NTK_METRIC_UNIT_RATIO,
    NTK_METRIC_UNIT_SECONDS,
    NTK_METRIC_UNIT_BYTES,
    NTK_METRIC_UNIT_COUNT,
    NTK_METRIC_UNIT_RATE,
    NTK_METRIC_UNIT_INFO,
};

enum ntk_metric_kind {
    NTK_METRIC_KIND_GAUGE,
    NTK_METRIC_KIND_COUNTER,
    NTK_METRIC_KIND_HISTOGRAM,
    NTK_METRIC_KIND_INFO, /* a gauge of 1 on a 0.0.4 page */
};

enum ntk_metric {
#define NTK_METRIC(symbol, origin, key, name, unit, kind, labels, help) NTK_METRIC_##symbol,
#include "shared/metrics/catalogue.def"
#undef NTK_METRIC
    NTK_METRIC_COUNT,
    NTK_METRIC_NONE = NTK_METRIC_COUNT
};

struct ntk_metric_row {
    enum ntk_metric_origin origin;
    enum ntk_metric_unit unit;
    enum ntk_metric_kind kind;
    const char *json_key; /* "" if not in the report */
    const char *name;     /* Prometheus name; "" if not exported */
    const char *labels;
    const char *help;
};

extern const struct ntk_metric_row ntk_metrics[NTK_METRIC_COUNT];

#ifdef __cplusplus
}
#endif
#endif
