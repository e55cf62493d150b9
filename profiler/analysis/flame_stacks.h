/* SPDX-License-Identifier: MIT */
/*
 * flame_stacks - computes the time of each engine by region, source line and operation.
 *
 * A stack has a core (if there are several) and an engine, then the layer, the regions around an
 * instruction (region_at.h), the functions and the line of the source, and the operation.
 * Unrecorded parts are omitted; if lines are known, an instruction without a line has "(runtime)"
 * or "(compiler)" instead.
 *
 * Busy time is counted once: a time at which several instructions of an engine execute belongs to
 * the instruction that started first, and waiting in EVENT_SEMAPHORE is not busy. So the busy times
 * of an engine in one core add up to its active time (engine_activity.h) in whole ns, truncated.
 * Waits add up to the waits of all rows.
 *
 * Memory grows with the number of distinct stacks, not of instructions. Errors: -ENOMEM.
 * Owner:   the caller provides the storage; _fini frees the content, and accepts a zeroed struct.
 *          Names are owned or borrowed from the program.
 */
#ifndef NTK_PROFILER_ANALYSIS_FLAME_STACKS_H
#define NTK_PROFILER_ANALYSIS_FLAME_STACKS_H

#include "profiler/analysis/regions.h"
#include "shared/base/map.h"
#include "shared/base/vec.h"

struct ntk_flame_frame {
    uint32_t parent;  /* 1 + index of the enclosing frame; 0 for the outermost */
    const char *name; /* clean UTF-8 */
    const char *file; /* for functions and lines; NULL if none */
    uint32_t line;    /* 0 if none */
};

struct ntk_flame_stack {
    uint32_t frame; /* index of the innermost frame */
    uint32_t core;  /* physical core in its device */
    uint8_t engine;
    int64_t busy_ns, wait_ns;
    uint64_t instruction_count;
};

struct ntk_flame {
    struct ntk_vec frames; /* elements are struct ntk_flame_frame; parents before children */
    /* elements are struct ntk_flame_stack, by core, engine and first instruction */
    struct ntk_vec stacks;
    struct ntk_map names; /* names of frames, each stored once */
};

int ntk_analysis_flame(const struct ntk_program *program, const struct ntk_regions *regions,
                       struct ntk_flame *out_flame);
void ntk_flame_fini(struct ntk_flame *flame);

#endif
