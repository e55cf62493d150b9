/* SPDX-License-Identifier: MIT */
/*
 * cloudwatch_request - gathered metrics as bodies of PutMetricData (JSON 1.0), within the limits of
 * the service. Pure.
 *
 * A series with more than 150 different values becomes several metrics of the same name, dimensions
 * and time, which the service adds up: no value is lost, none is sent twice.
 *
 * Owner:   emit() takes the body (it may leave the buffer as it is: it is freed then).
 */
#ifndef NTK_EXPORTERS_CLOUDWATCH_CLOUDWATCH_REQUEST_H
#define NTK_EXPORTERS_CLOUDWATCH_CLOUDWATCH_REQUEST_H

#include <stdint.h>

#include "exporters/cloudwatch/cloudwatch_encode.h"
#include "shared/base/buf.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_CLOUDWATCH_TARGET "GraniteServiceVersion20100801.PutMetricData"
#define NTK_CLOUDWATCH_CONTENT_TYPE "application/x-amz-json-1.0"

/* For a request: metrics, and bytes before compression (the service says 1 MB). */
#define NTK_CLOUDWATCH_REQUEST_METRICS_MAX 1000u
#define NTK_CLOUDWATCH_REQUEST_BYTES_MAX 900000u
/* For a metric. */
#define NTK_CLOUDWATCH_VALUES_MAX 150u

struct ntk_cloudwatch_request_options {
    const char *namespace_name;
    uint64_t time_ms; /* of all values, since 1970 UTC */
    bool is_high_resolution;
    /* A body with metric_count metrics; a negative answer ends the work. */
    int (*emit)(struct ntk_buf *body, uint64_t metric_count, void *ctx, struct ntk_err *err);
    void *ctx;
};

/* data after ntk_cloudwatch_data_sort(). -ENOMEM, or what emit() answered. */
int ntk_cloudwatch_request(const struct ntk_cloudwatch_data *data,
                           const struct ntk_cloudwatch_request_options *options,
                           struct ntk_err *err);
/* 0; -EINVAL with a message when the service takes no such namespace. */
int ntk_cloudwatch_namespace_check(const char *name, struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
