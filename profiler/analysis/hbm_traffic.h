/* SPDX-License-Identifier: MIT */
/*
 * hbm_traffic - counts the bytes that DMA read from and wrote to device memory.
 *
 * The bytes are known if every transfer belongs to an executed instruction (its operands, or the
 * descriptors in the NEFF for a dma_trigger). They are unknown for a vendor's prepared queues
 * without a NEFF, and for generations with unknown slot layouts.
 */
#ifndef NTK_PROFILER_ANALYSIS_HBM_TRAFFIC_H
#define NTK_PROFILER_ANALYSIS_HBM_TRAFFIC_H

#include "profiler/analysis/dma_traffic.h"
#include "profiler/trace/trace.h"

struct ntk_hbm_traffic {
    bool is_known;
    uint64_t read_bytes, write_bytes;
    bool has_spills;       /* the variable of every side is known */
    uint64_t save_bytes;   /* part of write_bytes that is not written to an output */
    uint64_t reload_bytes; /* part of read_bytes that is not read from an input or constant */
};

/* Returns true if instructions with the opcode move data by DMA. */
bool ntk_hbm_traffic_is_dma(uint8_t opcode);

struct ntk_neff_var;

/* Receives a part of a transfer: bytes read from or written to a variable; var is NULL if it is not
 * named in the files. */
typedef void ntk_hbm_visit(const struct ntk_neff_var *var, bool is_write, uint64_t bytes_count,
                           void *ctx);

/* Visits the data that one instruction moves. Returns false if it starts no transfer, or a transfer
 * without description. */
bool ntk_hbm_traffic_visit(const struct ntk_trace *trace, const struct ntk_trace_core *core,
                           const struct ntk_trace_instruction *instruction, ntk_hbm_visit *visit,
                           void *ctx);

void ntk_analysis_hbm_traffic(const struct ntk_trace *trace, const struct ntk_dma_traffic *traffic,
                              struct ntk_hbm_traffic *out_hbm);

#endif
