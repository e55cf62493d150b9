/* SPDX-License-Identifier: MIT */
/*
 * cloudwatch_encode - converts points of a snapshot to series of CloudWatch. It uses no file, clock
 * or network.
 *
 * Snapshots are collected in one struct ntk_cloudwatch_data until it is sent. Runtimes with one tag
 * share a series: counts, bytes and rates are added; for utilizations and percentiles, the largest
 * value is used.
 *
 * Points, names and dimensions: cloudwatch.def, docs/formats/cloudwatch.md. A dimension without a
 * value is omitted.
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

/* Mask of all metrics: bit i is metric i of enum ntk_cloudwatch_metric. */
#define NTK_CLOUDWATCH_ALL ((1u << NTK_CLOUDWATCH_METRIC_COUNT) - 1u)
/* Parses a comma-separated list of names; -EINVAL with the unknown name in the message. */
int ntk_cloudwatch_metrics_parse(const char *text, uint32_t *out_mask, struct ntk_err *err);
/* Returns 0, or -EINVAL with a message if a user's label has the name of a dimension or metric,
 * because lines use both as keys. */
int ntk_cloudwatch_labels_check(const struct ntk_labels *labels, struct ntk_err *err);

/* Adds one snapshot. -ENOMEM; -ENOSPC if series were omitted. */
int ntk_cloudwatch_encode(struct ntk_cloudwatch_data *data, const struct ntk_snapshot *snapshot,
                          uint32_t metric_mask, struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
