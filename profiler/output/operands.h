/* SPDX-License-Identifier: MIT */
/*
 * operands - what an executed instruction of the open encoding was told to do, in the words of
 * docs/isa.md.
 *
 * An instruction that runs often is printed once, as long as no other needs its place: memory is
 * bounded, however long program and capture are.
 *
 * Owner:   ntk_operands_create() allocates, _destroy() frees. Threads: one.
 */
#ifndef NTK_PROFILER_OUTPUT_OPERANDS_H
#define NTK_PROFILER_OUTPUT_OPERANDS_H

#include "profiler/trace/trace.h"

struct ntk_operands;

struct ntk_operands_text {
    const char *operation; /* "nc_matmul" */
    const char
        *operands; /* "D=psum(0:128):float32[256] ... signal=s9+1"; "" where there are none */
};

struct ntk_operands *ntk_operands_create(void);
void ntk_operands_destroy(struct ntk_operands *operands);

/* False for an instruction that is not in the open encoding, and without memory. The texts last
 * until the next call. */
bool ntk_operands_get(struct ntk_operands *operands, const struct ntk_trace_core *core,
                      size_t core_index, const struct ntk_trace_instruction *instruction,
                      struct ntk_operands_text *out_text);

#endif
