/* SPDX-License-Identifier: MIT */
/*
 * cloudwatch_gather - snapshots in, and out what belongs to one minute or one second, when that has
 * ended.
 *
 * A step is delivered as soon as the next snapshot is expected beyond it, at the latest by the
 * first one that is beyond it. A late one is its own step with the same time: the service adds the
 * two up.
 *
 * Owner:   the caller's storage; _fini() drops what was not delivered.
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
    /* Set by the caller. */
    uint64_t step_ms; /* 60000, 1000; 0: each snapshot is a step with its own time */
    uint32_t metric_mask;
    /* Borrows data, which may be sorted; time_ms is the step's beginning. */
    int (*deliver)(struct ntk_cloudwatch_data *data, uint64_t time_ms, void *ctx,
                   struct ntk_err *err);
    void *ctx;
    /* Zeroed by the caller. */
    struct ntk_cloudwatch_data data;
    uint64_t time_ms; /* of the data's step */
};

/* What encode() or deliver() failed with; the snapshot is taken as far as it goes. */
int ntk_cloudwatch_gather_put(struct ntk_cloudwatch_gather *gather,
                              const struct ntk_snapshot *snapshot, struct ntk_err *err);
/* Delivers what there is. */
int ntk_cloudwatch_gather_flush(struct ntk_cloudwatch_gather *gather, struct ntk_err *err);
void ntk_cloudwatch_gather_fini(struct ntk_cloudwatch_gather *gather);

#ifdef __cplusplus
}
#endif
#endif
