/* SPDX-License-Identifier: MIT */
/* cloudwatch_gather - collects the data of one step until its end. */
#include "exporters/cloudwatch/cloudwatch_gather.h"

#include "shared/base/clock.h"
#include "shared/metrics/snapshot.h"

static uint64_t step_of(const struct ntk_cloudwatch_gather *gather, uint64_t ms)
{
    return gather->step_ms ? ms - ms % gather->step_ms : ms;
}

int ntk_cloudwatch_gather_flush(struct ntk_cloudwatch_gather *gather, struct ntk_err *err)
{
    int ret = 0;

    if (gather->data.series.count) {
        ret = gather->deliver(&gather->data, gather->time_ms, gather->ctx, err);
        ntk_cloudwatch_data_fini(&gather->data);
    }
    return ret;
}

int ntk_cloudwatch_gather_put(struct ntk_cloudwatch_gather *gather,
                              const struct ntk_snapshot *snapshot, struct ntk_err *err)
{
    uint64_t now_ns = ntk_snapshot_time_ns(snapshot);
    uint64_t now_ms = now_ns / NTK_NS_PER_MS;
    uint64_t next_ms = now_ms + snapshot->period_ns / NTK_NS_PER_MS;
    uint64_t time_ms = step_of(gather, now_ms);
    int before = 0;
    int after = 0;

    if (time_ms != gather->time_ms) {
        before = ntk_cloudwatch_gather_flush(gather, err);
    }
    gather->time_ms = time_ms;
    int ret = ntk_cloudwatch_encode(&gather->data, snapshot, gather->metric_mask, err);
    if (!gather->step_ms || step_of(gather, next_ms) != time_ms) {
        after = ntk_cloudwatch_gather_flush(gather, err);
    }
    return before < 0 ? before : ret < 0 ? ret : after;
}

void ntk_cloudwatch_gather_fini(struct ntk_cloudwatch_gather *gather)
{
    ntk_cloudwatch_data_fini(&gather->data);
}
