/* SPDX-License-Identifier: MIT */
/*
 * cloudwatch_data - holds the series of one step (a minute or second): dimensions, and every value
 * with its count.
 *
 * A series has a value per snapshot (latencies of individual executions: a value per histogram
 * bucket, with its count), so that nothing is lost if a minute is sent in one request.
 *
 * Owner:   the caller provides the storage; a zeroed struct is empty; ntk_cloudwatch_data_fini()
 *          frees the content.
 * Threads: any; plain data.
 */
#ifndef NTK_EXPORTERS_CLOUDWATCH_CLOUDWATCH_DATA_H
#define NTK_EXPORTERS_CLOUDWATCH_CLOUDWATCH_DATA_H

#include <stdbool.h>
#include <stddef.h>

#include "exporters/labels/labels.h"
#include "shared/base/buf.h"
#include "shared/base/map.h"
#include "shared/base/vec.h"
#include "shared/metrics/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

enum ntk_cloudwatch_metric {
    NTK_CLOUDWATCH_CORE_RATE, /* rates for the rows of core_counts.def, by id */
    NTK_CLOUDWATCH_AFTER_RATES = NTK_CLOUDWATCH_CORE_RATE + NTK_CORE_COUNT_ROWS - 1,
#define NTK_CLOUDWATCH_METRIC(symbol, ...) NTK_CLOUDWATCH_##symbol,
#include "exporters/cloudwatch/cloudwatch.def"
    NTK_CLOUDWATCH_METRIC_COUNT
};

/* Rule that combines several values in one snapshot. */
enum ntk_cloudwatch_rule { NTK_CLOUDWATCH_SUM, NTK_CLOUDWATCH_LARGEST, NTK_CLOUDWATCH_SHARE };

struct ntk_cloudwatch_metric_row {
    char name[64];    /* "" for a row that is not sent: shares, and rows with a better equivalent */
    const char *unit; /* unit from the service's list */
    enum ntk_cloudwatch_rule rule;
};
struct ntk_cloudwatch_metric_row ntk_cloudwatch_metric_get(enum ntk_cloudwatch_metric metric);

/* Maximum number of series; more are omitted, with a message. */
#define NTK_CLOUDWATCH_SERIES_MAX 50000u
#define NTK_CLOUDWATCH_DIMENSIONS_MAX (6u + NTK_LABELS_MAX)
#define NTK_CLOUDWATCH_DIMENSION_BYTES_MAX 1024u
/* The service accepts values strictly between -2^360 and 2^360. */
#define NTK_CLOUDWATCH_VALUE_MAX 0x1p360

struct ntk_cloudwatch_dimension {
    const char *name; /* static */
    char *value;      /* 1 to 1024 printable ASCII characters */
};

struct ntk_cloudwatch_value {
    double value; /* finite */
    double count; /* above 0 */
};

struct ntk_cloudwatch_series {
    enum ntk_cloudwatch_metric metric;
    enum ntk_cloudwatch_rule rule;
    double scale;     /* factor from the points to the metric's unit */
    bool is_weighted; /* its values have counts from individual executions */
    size_t dimension_count;
    struct ntk_cloudwatch_dimension dimensions[NTK_CLOUDWATCH_DIMENSIONS_MAX];
    /* elements are struct ntk_cloudwatch_value; distinct after _data_sort() */
    struct ntk_vec values;
    size_t compact_at; /* number of entries at which equal values are merged */
    double pending;    /* combined value in the current snapshot */
    bool has_pending;
};

struct ntk_points_page;

struct ntk_cloudwatch_data {
    /* key: metric and dimensions; values are struct ntk_cloudwatch_series * */
    struct ntk_map series;
    /* Page for one period, with the applications of the step; NULL before the first snapshot. */
    struct ntk_points_page *page;
    struct ntk_buf key; /* key of the series being searched for */
};

/* A dimension to search for: any text, "" if it has no value. */
struct ntk_cloudwatch_pair {
    const char *name; /* static */
    const char *value;
};

/* Returns the series of the metric with these dimensions in this order; a new series also gets the
 * user's labels. NULL with errno ENOMEM, or ENOSPC if there are too many. */
struct ntk_cloudwatch_series *ntk_cloudwatch_series_get(struct ntk_cloudwatch_data *data,
                                                        enum ntk_cloudwatch_metric metric,
                                                        const struct ntk_cloudwatch_pair *pairs,
                                                        size_t count);
/* Adds a value from this snapshot, combined with earlier ones by the rule of its metric. */
void ntk_cloudwatch_series_add(struct ntk_cloudwatch_series *series, double value);
/* Adds a value with its count; values that the service rejects are omitted. Returns 0 or
 * -ENOMEM. */
int ntk_cloudwatch_series_push(struct ntk_cloudwatch_series *series, double value, double count);
/* Ends the snapshot: stores the pending values in their series. Returns 0 or -ENOMEM. */
int ntk_cloudwatch_data_settle(struct ntk_cloudwatch_data *data);
/* Merges equal values of each series, in ascending order. */
void ntk_cloudwatch_data_sort(struct ntk_cloudwatch_data *data);
/* Frees the content; the struct is then empty. */
void ntk_cloudwatch_data_fini(struct ntk_cloudwatch_data *data);

#ifdef __cplusplus
}
#endif
#endif
