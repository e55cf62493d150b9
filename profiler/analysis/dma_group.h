/* SPDX-License-Identifier: MIT */
/*
 * dma_group - lists the prepared transfers that a dma_trigger starts, from the NEFF.
 *
 * Threads: any.
 */
#ifndef NTK_PROFILER_ANALYSIS_DMA_GROUP_H
#define NTK_PROFILER_ANALYSIS_DMA_GROUP_H

#include "profiler/trace/trace.h"
#include "shared/formats/neff/neff.h"

/* Returns true if the instruction starts prepared transfers: a dma_trigger in the open encoding, or
 * the runtime's WRITE that replaces the compiler's trigger in a vendor's program (which needs the
 * NEFF). */
bool ntk_dma_trigger_get(const struct ntk_trace_core *core,
                         const struct ntk_trace_instruction *instruction,
                         struct ntk_isa_instr *out_trigger);
/* Returns the next group that the instruction starts, from *index on, and advances *index; NULL at
 * the end. Start with *index 0. */
const struct ntk_neff_dma_group *ntk_dma_group_next(const struct ntk_trace_core *core,
                                                    unsigned engine,
                                                    const struct ntk_isa_instr *instr,
                                                    uint32_t *index);
/* Position in the transfers of those groups. ntk_dma_transfer_next() returns NULL at the end; start
 * with a zeroed cursor; at the end has_group is set if there was any group. */
struct ntk_dma_cursor {
    uint32_t group_index, transfer_index;
    const struct ntk_neff_dma_group *group;
    bool has_group;
};
const struct ntk_neff_transfer *ntk_dma_transfer_next(const struct ntk_trace_core *core,
                                                      unsigned engine,
                                                      const struct ntk_isa_instr *instr,
                                                      struct ntk_dma_cursor *cursor);
/* Returns the number of rows of an operand that are moved: for the indexed side of a copy, one per
 * index. */
uint64_t ntk_dma_rows_of(const struct ntk_isa_instr *instr, unsigned role);
/* Returns the number of bytes on one side of a transfer. */
uint64_t ntk_dma_pattern_bytes(const struct ntk_neff_pattern *pattern);
/* Returns true if a transfer combines its one source with the old contents of the destination, and
 * so reads the destination, unless a start value replaces them. */
bool ntk_dma_transfer_accumulates(const struct ntk_neff_transfer *transfer);

#endif
