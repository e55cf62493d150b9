/* SPDX-License-Identifier: MIT */
/*
 * matmul_flops - how many floating-point operations did the tensor engine do?
 *
 * Instructions in the open encoding are decoded in full. Of a vendor's, three fields of a MATMUL
 * slot are known for Trainium2; there is_known is false for any other generation that ran a MATMUL.
 */
#ifndef NTK_PROFILER_ANALYSIS_MATMUL_FLOPS_H
#define NTK_PROFILER_ANALYSIS_MATMUL_FLOPS_H

#include "profiler/trace/trace.h"

struct ntk_matmul_flops {
    bool is_known;
    uint64_t hardware_flops;  /* 2 x multiply-adds, transposes included */
    uint64_t transpose_flops; /* the part of it that moved data only */
};

/* Of one MATMUL; false when its encoding is not known. */
bool ntk_matmul_flops_get(const struct ntk_trace *trace, const struct ntk_trace_core *core,
                          const struct ntk_trace_instruction *instruction, uint64_t *out_flops,
                          bool *out_is_transpose);
void ntk_analysis_matmul_flops(const struct ntk_trace *trace, struct ntk_matmul_flops *out_flops);

#endif
