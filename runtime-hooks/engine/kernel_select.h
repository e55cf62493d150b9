/* SPDX-License-Identifier: MIT */
/*
 * kernel_select - scans, selections, gathers, statistics and random numbers: operations that look
 * at the place of an element in its row, or beyond it.
 *
 * docs/isa.md describes what each computes. Like kernel_tile, a kernel reads a row whole before it
 * writes one; sources that lie across partitions of a destination have been copied away by the
 * caller.
 *
 * Threads: any; no state but the given generator.
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

/* State that load instructions leave in an engine for later ones; ntk_latches_reset() sets it for
 * the start of an execution. */
struct ntk_latches {
    float stationary[NTK_ISA_PARTITIONS * NTK_ISA_STATIONARY_MAX]; /* PE: row by row */
    float match[NTK_ISA_PARTITIONS][8];                            /* DVE: values to search for */
    /* DVE: source within a quadrant */
    uint8_t mask[32];
};
void ntk_latches_reset(struct ntk_latches *latches);

/* True if an operation, of this file or not, reads other partitions than it writes. */
bool ntk_select_crosses(enum ntk_isa_op op);
/* Executes one of this file's operations. tiles in the order of the operand roles; rng: one per
 * partition of the engine. True if a NaN was written. */
bool ntk_select_run(const struct ntk_isa_instr *instr, const struct ntk_tile *tiles,
                    struct ntk_rng *rng, struct ntk_latches *latches,
                    const struct ntk_tile_scratch *scratch);

#ifdef __cplusplus
}
#endif
#endif
