/* SPDX-License-Identifier: MIT */
/*
 * cloudwatch_request - writes metrics as bodies of PutMetricData (JSON 1.0), within the limits of
 * the service.
 *
 * A series with more than 150 different values becomes several metrics with the same name,
 * dimensions and time, which the service adds: no value is lost or sent twice.
 *
 * Owner:   emit() may take the body from the buffer; otherwise the body is freed.
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

/* Maximum number of metrics per request, and bytes before compression (the service allows 1 MB). */
#define NTK_CLOUDWATCH_REQUEST_METRICS_MAX 1000u
#define NTK_CLOUDWATCH_REQUEST_BYTES_MAX 900000u
/* Maximum number of values per metric. */
#define NTK_CLOUDWATCH_VALUES_MAX 150u

struct ntk_cloudwatch_request_options {
    const char *namespace_name;
    uint64_t time_ms; /* time of all values, since 1970 UTC */
    bool is_high_resolution;
    /* Called with a body of metric_count metrics; a negative result stops. */
    int (*emit)(struct ntk_buf *body, uint64_t metric_count, void *ctx, struct ntk_err *err);
    void *ctx;
};

/* data must be sorted by ntk_cloudwatch_data_sort(). Returns -ENOMEM, or the result of emit(). */
int ntk_cloudwatch_request(const struct ntk_cloudwatch_data *data,
                           const struct ntk_cloudwatch_request_options *options,
                           struct ntk_err *err);
/* Returns 0, or -EINVAL with a message if the service does not accept the namespace. */
int ntk_cloudwatch_namespace_check(const char *name, struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
