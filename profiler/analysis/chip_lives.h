/* SPDX-License-Identifier: MIT */
/*
 * chip_lives - finds the values in the state buffer and PSUM of a core, with their bytes and times.
 *
 * A value lives from the end of the instruction that wrote it (for a load: that started it) to the
 * end of the last instruction that read it before it was overwritten; a value without a reader has
 * no life. The source of a store counts until the store starts. Neighbouring bytes with the same
 * writer and the same last read are one life.
 *
 * Lives are reported in order of their end. Memory does not grow with the capture.
 * Errors:  -ENODATA if chip_access.h lacks ranges of an executed instruction; -ENOMEM, or the
 *          result of put.
 */
#ifndef NTK_PROFILER_ANALYSIS_CHIP_LIVES_H
#define NTK_PROFILER_ANALYSIS_CHIP_LIVES_H

#include "profiler/analysis/chip_access.h"

struct ntk_chip_life {
    uint32_t low, high; /* bytes of a partition, [low, high) */
    uint32_t writer;    /* index of the instruction in the core */
    int64_t from_ps, until_ps;
};

/* Receives a life. A negative result stops the analysis and is returned. */
typedef int ntk_chip_life_put(void *ctx, enum ntk_chip_space space,
                              const struct ntk_chip_life *life, uint32_t layer);

int ntk_analysis_chip_lives(const struct ntk_program *program, size_t core_index,
                            ntk_chip_life_put *put, void *ctx);

#endif
