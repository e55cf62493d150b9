/* SPDX-License-Identifier: MIT */
/*
 * pending - counts the transfers of a core in progress: started by an instruction, last packet not
 * done.
 *
 * Transfers without known packets have no end, and are not counted.
 *
 * Points are in order of time. Memory grows with the number of simultaneous
 * transfers.
 */
#ifndef NTK_PROFILER_ANALYSIS_PENDING_H
#define NTK_PROFILER_ANALYSIS_PENDING_H

#include "profiler/analysis/transfers.h"

/* Receives a point. A negative result stops the analysis and is returned. */
typedef int ntk_pending_put(void *ctx, int64_t time_ps, int64_t count);

/* Returns 0, the result of put, or -errno of a long list. */
int ntk_analysis_pending(const struct ntk_transfers *transfers, size_t core, ntk_pending_put *put,
                         void *ctx);

#endif
