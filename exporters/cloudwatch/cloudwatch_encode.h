/* SPDX-License-Identifier: MIT */
/*
 * cloudwatch_encode - points of a snapshot to series of CloudWatch. Pure: nothing here knows a
 * file, a clock or a network.
 *
 * Snapshots are gathered into one struct ntk_cloudwatch_data until it is sent. Runtimes of one tag
 * are one series: counts, bytes and rates add up, of utilizations and percentiles the largest value
 * is taken.
 *
 * Which points, names and dimensions: cloudwatch.def, docs/formats/cloudwatch.md. A dimension
 * without a value is omitted.
 *
 * Threads: any; plain data.
 */
#ifndef NTK_EXPORTERS_CLOUDWATCH_CLOUDWATCH_ENCODE_H
#define NTK_EXPORTERS_CLOUDWATCH_CLOUDWATCH_ENCODE_H

#include <stdint.h>

#include "exporters/cloudwatch/cloudwatch_data.h"
#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which metrics: bit i stands for enum ntk_cloudwatch_metric i. */
#define NTK_CLOUDWATCH_ALL ((1u << NTK_CLOUDWATCH_METRIC_COUNT) - 1u)
/* A list of names with commas; -EINVAL with a message that names the bad one. */
int ntk_cloudwatch_metrics_parse(const char *text, uint32_t *out_mask, struct ntk_err *err);
/* 0; -EINVAL with a message when a label of the user has the name of a dimension or a metric: lines
 * have both as keys. */
int ntk_cloudwatch_labels_check(const struct ntk_labels *labels, struct ntk_err *err);

/* Adds one snapshot. -ENOMEM; -ENOSPC when series were omitted. */
int ntk_cloudwatch_encode(struct ntk_cloudwatch_data *data, const struct ntk_snapshot *snapshot,
                          uint32_t metric_mask, struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
