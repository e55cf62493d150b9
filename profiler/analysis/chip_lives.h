/* SPDX-License-Identifier: MIT */
/*
 * chip_lives - the values in the state buffer and in PSUM of a core: which bytes, and when.
 *
 * A value lives from the end of the instruction that wrote it (of a load: that began it) to the end
 * of the last one that read it before it was overwritten; one without a reader is not a life. The
 * source of a store counts until the store has started. Neighbouring bytes of one writer that are
 * read until the same moment are one life.
 *
 * Pure: trace to lives, as they end. Memory does not grow with the capture.
 * Errors:  -ENODATA where chip_access.h does not know of everything that ran what it touches;
 *          -ENOMEM, or what put returned.
 */
#ifndef NTK_PROFILER_ANALYSIS_CHIP_LIVES_H
#define NTK_PROFILER_ANALYSIS_CHIP_LIVES_H

#include "profiler/analysis/chip_access.h"

struct ntk_chip_life {
    uint32_t low, high; /* bytes of a partition, [low, high) */
    uint32_t writer;    /* instruction of the core */
    int64_t from_ps, until_ps;
};

/* Less than 0 ends the lives, and is the result. */
typedef int ntk_chip_life_put(void *ctx, enum ntk_chip_space space,
                              const struct ntk_chip_life *life, uint32_t layer);

int ntk_analysis_chip_lives(const struct ntk_program *program, size_t core_index,
                            ntk_chip_life_put *put, void *ctx);

#endif
