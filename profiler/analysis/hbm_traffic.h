/* SPDX-License-Identifier: MIT */
/*
 * hbm_traffic - the bytes that DMA read from and wrote to device memory.
 *
 * Known if every transfer belongs to an executed instruction (its operands, or the descriptors of
 * the NEFF that a dma_trigger names). Unknown for a vendor's prepared queues without a NEFF, and
 * for generations with unknown slot layouts.
 */
#ifndef NTK_PROFILER_ANALYSIS_HBM_TRAFFIC_H
#define NTK_PROFILER_ANALYSIS_HBM_TRAFFIC_H

#include "profiler/analysis/dma_traffic.h"
#include "profiler/trace/trace.h"

struct ntk_hbm_traffic {
    bool is_known;
    uint64_t read_bytes, write_bytes;
    bool has_spills;       /* the variable of every side is known */
    uint64_t save_bytes;   /* of write_bytes: not to an output */
    uint64_t reload_bytes; /* of read_bytes: not from an input or constant */
};

/* Whether instructions of the opcode move data by DMA. */
bool ntk_hbm_traffic_is_dma(uint8_t opcode);

struct ntk_neff_var;

/* A part of a transfer: bytes read from or written to a variable; NULL: not named by the files. */
typedef void ntk_hbm_visit(const struct ntk_neff_var *var, bool is_write, uint64_t bytes_count,
                           void *ctx);

/* What one instruction moves. False if it starts no transfer, or an undescribed one. */
bool ntk_hbm_traffic_visit(const struct ntk_trace *trace, const struct ntk_trace_core *core,
                           const struct ntk_trace_instruction *instruction, ntk_hbm_visit *visit,
                           void *ctx);

void ntk_analysis_hbm_traffic(const struct ntk_trace *trace, const struct ntk_dma_traffic *traffic,
                              struct ntk_hbm_traffic *out_hbm);

#endif
