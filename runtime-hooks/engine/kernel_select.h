/* SPDX-License-Identifier: MIT */
/*
 * kernel_select - scans, selections, gathers, statistics and random numbers: operations that depend
 * on the position of an element in its row, or on other rows.
 *
 * docs/isa.md describes what each operation computes. As in kernel_tile, a kernel reads a whole row
 * before it writes one; the caller has copied sources in other partitions that a destination would
 * overwrite.
 *
 * Threads: any; no state except the given generator.
 */
#ifndef NTK_RUNTIME_HOOKS_ENGINE_KERNEL_SELECT_H
#define NTK_RUNTIME_HOOKS_ENGINE_KERNEL_SELECT_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime-hooks/engine/kernel_tile.h"
#include "shared/formats/neff/isa.h"

#ifdef __cplusplus
extern "C" {
#endif

/* State that load instructions store in an engine for later instructions; ntk_latches_reset() sets
 * it at the start of an execution. */
struct ntk_latches {
    float stationary[NTK_ISA_PARTITIONS * NTK_ISA_STATIONARY_MAX]; /* for PE: row by row */
    float match[NTK_ISA_PARTITIONS][8]; /* for DVE: values to search for */
    /* For DVE: source partition within a quadrant. */
    uint8_t mask[32];
};
void ntk_latches_reset(struct ntk_latches *latches);

/* Returns true if the operation, in this file or not, reads partitions that it does not write. */
bool ntk_select_crosses(enum ntk_isa_op op);
/* Executes one of this file's operations. tiles are in the order of the operand roles; rng has one
 * generator per partition of the engine. Returns true if a NaN was written. */
bool ntk_select_run(const struct ntk_isa_instr *instr, const struct ntk_tile *tiles,
                    struct ntk_rng *rng, struct ntk_latches *latches,
                    const struct ntk_tile_scratch *scratch);

#ifdef __cplusplus
}
#endif
#endif
