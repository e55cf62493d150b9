/* SPDX-License-Identifier: MIT */
/*
 * matmul_flops - counts floating-point operations of the tensor engine.
 *
 * Instructions in the open encoding are decoded completely. In a vendor's program, the fields of a
 * MATMUL slot are known for NC-v2 to NC-v4; is_known is false for any other generation that ran a
 * MATMUL. Adjusted operations are weighted by element type: four of a 32-bit product take the time
 * of one.
 */
#ifndef NTK_PROFILER_ANALYSIS_MATMUL_FLOPS_H
#define NTK_PROFILER_ANALYSIS_MATMUL_FLOPS_H

#include "profiler/trace/trace.h"

struct ntk_matmul {
    bool is_transpose;
    uint64_t elements; /* multiply-adds of any type */
    uint64_t flops;
    /* Independent of the version: each product counts once, even with several passes */
    uint64_t useful_flops;
    uint8_t dtype;     /* enum ntk_dtype, or a number of an unknown type */
    bool has_adjusted; /* true if the weight of its type is known */
    uint64_t adjusted_flops;
};

struct ntk_matmul_flops {
    bool is_known;
    uint64_t hardware_flops;  /* includes transposes */
    uint64_t transpose_flops; /* part that only moved data */
    bool has_adjusted;
    uint64_t adjusted_hardware_flops, adjusted_transpose_flops;
};

/* Counts one MATMUL; returns false if its encoding is unknown. */
bool ntk_matmul_get(const struct ntk_trace *trace, const struct ntk_trace_core *core,
                    const struct ntk_trace_instruction *instruction, struct ntk_matmul *out_matmul);
void ntk_analysis_matmul_flops(const struct ntk_trace *trace, struct ntk_matmul_flops *out_flops);

#endif
