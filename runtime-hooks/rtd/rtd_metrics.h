/* SPDX-License-Identifier: MIT */
/*
 * rtd_metrics - measures inferences and models: minimum, maximum, sum and count
 * of all samples, their distribution, and the latest samples one by one.
 *
 * Owner:   rtd_metrics_create() allocates, rtd_metrics_destroy() frees.
 * Threads: the caller holds the manager's lock.
 */
#ifndef NTK_RUNTIME_HOOKS_RTD_RTD_METRICS_H
#define NTK_RUNTIME_HOOKS_RTD_RTD_METRICS_H

#include <stdint.h>

#include "shared/rpc/proto/nmetric.pb-c.h"

#define RTD_METRIC_LATEST 8192 /* maximum number of stored samples per metric */

struct rtd_metrics;

struct rtd_metrics *rtd_metrics_create(void); /* returns NULL if out of memory */
void rtd_metrics_destroy(struct rtd_metrics *metrics);
/* value: nanoseconds of a latency, cycles of the device, else the number itself. */
void rtd_metrics_add(struct rtd_metrics *metrics, enum _Nrt__MetricType type, uint64_t value);

/* Metrics with a sample in the last `seconds`; 0 means at any time. The caller frees the result;
 * NULL if out of memory. */
struct rtd_metrics_rows {
    Nrt__Metric *metrics[NRT__METRIC_TYPE__NMGR_METRIC_NUM];
    size_t count;
};
struct rtd_metrics_rows *rtd_metrics_read(const struct rtd_metrics *metrics, uint32_t period_s);
void rtd_metrics_rows_destroy(struct rtd_metrics_rows *rows);

#endif
