/* SPDX-License-Identifier: MIT */
/*
 * cloudwatch_emf - writes metrics as lines in CloudWatch's Embedded Metric Format.
 *
 * A line has each metric at most once and one value for each dimension. Series without a conflict
 * share a line, so a report has about as many lines as its metric with the most series. The format
 * has no counts for values, so latencies of individual executions are omitted; their percentiles
 * are included.
 */
#ifndef NTK_EXPORTERS_CLOUDWATCH_CLOUDWATCH_EMF_H
#define NTK_EXPORTERS_CLOUDWATCH_CLOUDWATCH_EMF_H

#include <stdint.h>

#include "exporters/cloudwatch/cloudwatch_encode.h"
#include "shared/base/buf.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Maximum number of values per metric and line; further values are written to more lines. */
#define NTK_CLOUDWATCH_EMF_VALUES_MAX 100u

struct ntk_cloudwatch_emf_options {
    const char *namespace_name;
    const char *log_group; /* for the agent; NULL: the agent selects it */
    uint64_t time_ms;
    bool is_high_resolution;
};

/* Appends the lines to out. data is in the order of encode(), not sorted. -ENOMEM. */
int ntk_cloudwatch_emf(const struct ntk_cloudwatch_data *data,
                       const struct ntk_cloudwatch_emf_options *options, struct ntk_buf *out,
                       uint64_t *out_line_count, struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
