/* SPDX-License-Identifier: MIT */
/*
 * cloudwatch_encode - snapshots to metrics of CloudWatch: names, dimensions, and every value with
 * how often it was seen. Pure: nothing here knows a file, a clock or a network.
 *
 * Snapshots are gathered into one struct ntk_cloudwatch_data until it is sent: a value per series
 * and snapshot (latencies of single executions: a value per histogram bucket, with its count), so
 * that nothing is lost by sending a minute at once. Runtimes of one tag are one series: counts,
 * bytes and rates add up, of utilizations and percentiles the largest value is taken.
 *
 * Names and dimensions: docs/formats/cloudwatch.md. A dimension without a value is omitted.
 *
 * Owner:   the caller's storage; a zeroed struct is empty; ntk_cloudwatch_data_fini() frees.
 * Threads: any; plain data.
 */
#ifndef NTK_EXPORTERS_CLOUDWATCH_CLOUDWATCH_ENCODE_H
#define NTK_EXPORTERS_CLOUDWATCH_CLOUDWATCH_ENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporters/labels/labels.h"
#include "shared/base/err.h"
#include "shared/base/map.h"
#include "shared/base/vec.h"
#include "shared/metrics/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

enum ntk_cloudwatch_metric {
    NTK_CLOUDWATCH_CORE_UTILIZATION,
    NTK_CLOUDWATCH_CORE_RATE, /* of the rows of core_counts.def, by id */
    NTK_CLOUDWATCH_CORE_MEMORY_USED = NTK_CLOUDWATCH_CORE_RATE + NTK_CORE_COUNT_ROWS,
    NTK_CLOUDWATCH_RUNTIME_MEMORY_USED,
    NTK_CLOUDWATCH_RUNTIME_VCPU_USAGE,
    NTK_CLOUDWATCH_EXECUTION_ERRORS,
    NTK_CLOUDWATCH_EXECUTION_STATUS,
    NTK_CLOUDWATCH_EXECUTION_LATENCY,
    NTK_CLOUDWATCH_HARDWARE_ECC_EVENTS,
    NTK_CLOUDWATCH_DEVICES_UNHEALTHY,
    NTK_CLOUDWATCH_DEVICE_HEALTH,
    NTK_CLOUDWATCH_SYSTEM_VCPU_USAGE,
    NTK_CLOUDWATCH_SYSTEM_MEMORY_USED,
    NTK_CLOUDWATCH_SYSTEM_MEMORY_TOTAL,
    NTK_CLOUDWATCH_METRIC_COUNT
};
struct ntk_cloudwatch_metric_row {
    char name[64];    /* "" for a row that is not sent: shares, and what a better one stands for */
    const char *unit; /* of the service's list */
    bool is_largest;  /* of several runtimes of a tag the largest value counts, not the sum */
};
struct ntk_cloudwatch_metric_row ntk_cloudwatch_metric_get(enum ntk_cloudwatch_metric metric);

/* Series beyond are omitted, with a message. */
#define NTK_CLOUDWATCH_SERIES_MAX 50000u
#define NTK_CLOUDWATCH_DIMENSIONS_MAX (7u + NTK_LABELS_MAX)
#define NTK_CLOUDWATCH_DIMENSION_BYTES_MAX 1024u
/* The service takes what is strictly between -2^360 and 2^360. */
#define NTK_CLOUDWATCH_VALUE_MAX 0x1p360

struct ntk_cloudwatch_dimension {
    const char *name; /* static */
    char *value;      /* 1..1024 printable ASCII characters */
};

struct ntk_cloudwatch_value {
    double value; /* finite */
    double count; /* > 0 */
};

struct ntk_cloudwatch_series {
    enum ntk_cloudwatch_metric metric;
    bool is_weighted; /* its values are counted ones, of single executions */
    size_t dimension_count;
    struct ntk_cloudwatch_dimension dimensions[NTK_CLOUDWATCH_DIMENSIONS_MAX];
    struct ntk_vec values; /* struct ntk_cloudwatch_value; each value once after _data_sort() */
    size_t compact_at;     /* entries at which equal values are put together */
    double pending;        /* of the snapshot that is being added */
    bool has_pending;
};

struct ntk_cloudwatch_data {
    struct ntk_map series; /* key: metric and dimensions; value: struct ntk_cloudwatch_series * */
    /* Tags with their own series, each with its first user, and further users of these: together
     * NTK_EXPORTER_APPLICATIONS at most, and of a user ntk_exporter_has_room(). The rest shares the
     * series of NTK_EXPORTER_OTHER. */
    struct ntk_map tags;
    struct ntk_map users; /* of a tag and a name: whose name it is, as two users may have one */
};

/* Which metrics: bit i stands for enum ntk_cloudwatch_metric i. */
#define NTK_CLOUDWATCH_ALL ((1u << NTK_CLOUDWATCH_METRIC_COUNT) - 1u)
/* A list of names with commas; -EINVAL with a message that names the bad one. */
int ntk_cloudwatch_metrics_parse(const char *text, uint32_t *out_mask, struct ntk_err *err);

/* Adds one snapshot. -ENOMEM; -ENOSPC when series were omitted. */
int ntk_cloudwatch_encode(struct ntk_cloudwatch_data *data, const struct ntk_snapshot *snapshot,
                          uint32_t metric_mask, struct ntk_err *err);
/* Puts equal values of each series together, in ascending order. */
void ntk_cloudwatch_data_sort(struct ntk_cloudwatch_data *data);
/* Empties it. */
void ntk_cloudwatch_data_fini(struct ntk_cloudwatch_data *data);

#ifdef __cplusplus
}
#endif
#endif
