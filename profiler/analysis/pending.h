/* SPDX-License-Identifier: MIT */
/*
 * pending - how many transfers of a core are in progress: started by an instruction, last packet
 * not done.
 *
 * Transfers without known packets have no end, and are not counted.
 *
 * Pure: transfers to points in time order. Memory grows with the number of simultaneous
 * transfers.
 */
#ifndef NTK_PROFILER_ANALYSIS_PENDING_H
#define NTK_PROFILER_ANALYSIS_PENDING_H

#include "profiler/analysis/transfers.h"

/* A negative result stops and is returned. */
typedef int ntk_pending_put(void *ctx, int64_t time_ps, int64_t count);

/* 0, the result of put, or -errno of a long list. */
int ntk_analysis_pending(const struct ntk_transfers *transfers, size_t core, ntk_pending_put *put,
                         void *ctx);

#endif
