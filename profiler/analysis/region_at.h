/* SPDX-License-Identifier: MIT */
/*
 * region_at - finds the region of a core in which an instruction runs.
 *
 * Instructions of a core must be passed in order. An instruction belongs to an instance after its
 * first instruction, if it starts before the instance ends. Of several instances, the innermost is
 * used. Layers are omitted, because a slot has the name of its layer (program.h).
 *
 * Owner:   ntk_region_at_create() allocates, ntk_region_at_destroy() frees; it borrows the regions.
 * Threads: one.
 */
#ifndef NTK_PROFILER_ANALYSIS_REGION_AT_H
#define NTK_PROFILER_ANALYSIS_REGION_AT_H

#include "profiler/analysis/regions.h"

struct ntk_region_at;

/* Returns NULL if out of memory. */
struct ntk_region_at *ntk_region_at_create(const struct ntk_regions *regions, size_t core_index);
void ntk_region_at_destroy(struct ntk_region_at *at);
/* index: position of the instruction in the list of its core, not below the index of the previous
 * call. Returns 0 and the region or NTK_REGION_NONE, or -ENOMEM. */
int ntk_region_at_get(struct ntk_region_at *at, size_t index,
                      const struct ntk_trace_instruction *instruction, uint32_t *out_region);

#endif
