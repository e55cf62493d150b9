/* SPDX-License-Identifier: MIT */
/*
 * flame_stacks - the time of each engine by region, source line and operation.
 *
 * A stack leads from a core (if there are several) and an engine via the layer, the regions around
 * an instruction (region_at.h), the functions and the line of the source to the operation.
 * Unrecorded parts are omitted; if lines are known, an instruction without one has "(runtime)" or
 * "(compiler)" instead.
 *
 * Busy time is counted once: a moment in which several instructions of an engine execute belongs to
 * the one that started first, and waiting in EVENT_SEMAPHORE is not busy. So the busy times of an
 * engine of one core add up to its active time (engine_activity.h) in whole ns, truncated. Waits
 * add up to those of all rows.
 *
 * Memory grows with the number of distinct stacks, not of instructions. Pure; -ENOMEM.
 * Owner:   caller's storage; _fini frees, also a zeroed one. It owns names or borrows them from the
 *          program.
 */
#ifndef NTK_PROFILER_ANALYSIS_FLAME_STACKS_H
#define NTK_PROFILER_ANALYSIS_FLAME_STACKS_H

#include "profiler/analysis/regions.h"
#include "shared/base/map.h"
#include "shared/base/vec.h"

struct ntk_flame_frame {
    uint32_t parent;  /* 1 + index of the enclosing frame; 0: outermost */
    const char *name; /* clean UTF-8 */
    const char *file; /* of functions and lines; NULL: none */
    uint32_t line;    /* 0: none */
};

struct ntk_flame_stack {
    uint32_t frame; /* index of the innermost */
    uint32_t core;  /* physical, in its device */
    uint8_t engine;
    int64_t busy_ns, wait_ns;
    uint64_t instruction_count;
};

struct ntk_flame {
    struct ntk_vec frames; /* struct ntk_flame_frame; parents before children */
    struct ntk_vec stacks; /* struct ntk_flame_stack, by core, engine and first instruction */
    struct ntk_map names;  /* names of frames, each once */
};

int ntk_analysis_flame(const struct ntk_program *program, const struct ntk_regions *regions,
                       struct ntk_flame *out_flame);
void ntk_flame_fini(struct ntk_flame *flame);

#endif
