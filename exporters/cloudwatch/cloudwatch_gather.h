/* SPDX-License-Identifier: MIT */
/*
 * cloudwatch_gather - collects snapshots and delivers each minute or second when it is complete.
 *
 * A step is delivered as soon as the next snapshot is expected after its end, at the latest with
 * the first snapshot after it. A late snapshot becomes another step with the same time: the
 * service adds the two.
 *
 * Owner:   the caller provides the storage; _fini() drops data that was not delivered.
 * Threads: one.
 */
#ifndef NTK_EXPORTERS_CLOUDWATCH_CLOUDWATCH_GATHER_H
#define NTK_EXPORTERS_CLOUDWATCH_CLOUDWATCH_GATHER_H

#include <stdint.h>

#include "exporters/cloudwatch/cloudwatch_encode.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_cloudwatch_gather {
    /* The members below are set by the caller. */
    uint64_t step_ms; /* such as 60000 or 1000; 0: each snapshot is a separate step */
    uint32_t metric_mask;
    /* Borrows data, which it may sort; time_ms is the start of the step. */
    int (*deliver)(struct ntk_cloudwatch_data *data, uint64_t time_ms, void *ctx,
                   struct ntk_err *err);
    void *ctx;
    /* The members below are zeroed by the caller. */
    struct ntk_cloudwatch_data data;
    uint64_t time_ms; /* start of the step */
};

/* Adds a snapshot as far as possible; returns the error of encode() or deliver(). */
int ntk_cloudwatch_gather_put(struct ntk_cloudwatch_gather *gather,
                              const struct ntk_snapshot *snapshot, struct ntk_err *err);
/* Delivers the current step. */
int ntk_cloudwatch_gather_flush(struct ntk_cloudwatch_gather *gather, struct ntk_err *err);
void ntk_cloudwatch_gather_fini(struct ntk_cloudwatch_gather *gather);

#ifdef __cplusplus
}
#endif
#endif
