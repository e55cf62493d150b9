/* SPDX-License-Identifier: MIT */
/*
 * operands - the operands of an executed instruction as text: of the open encoding as in
 * docs/isa.md, of a vendor's as in docs/formats/vendor-slots.md.
 *
 * Texts are cached by the bytes of the instruction, so memory is bounded for any program and
 * capture.
 *
 * Owner: ntk_operands_create() allocates, _destroy() frees. Threads: one.
 */
#ifndef NTK_PROFILER_OUTPUT_TABLES_OPERANDS_H
#define NTK_PROFILER_OUTPUT_TABLES_OPERANDS_H

#include "profiler/trace/trace.h"

struct ntk_operands;

#define NTK_OPERANDS_MARKS 2

struct ntk_operands_text {
    const char *operation; /* name in the program: "nc_matmul", "PSEUDO_DMA_DIRECT2D"; NULL for a
                            * vendor's if it is the executed opcode */
    const char *operands;  /* "D=psum(0:128):float32[256] ... signal=s9+1"; "" for none */
    const char *compiler_operands; /* of a vendor's operation, else NULL */
    /* for a vendor's ACTIVATE, "" for other operations of a vendor; else NULL */
    const char *function;
    /* Free for the caller's marks on these texts; initially 0. */
    uint64_t *marks;
};

/* NULL if out of memory. The trace is borrowed. */
struct ntk_operands *ntk_operands_create(const struct ntk_trace *trace);
void ntk_operands_destroy(struct ntk_operands *operands);

/* False for an unknown encoding, or if out of memory. The texts are valid until the next call. */
bool ntk_operands_get(struct ntk_operands *operands, size_t core_index,
                      const struct ntk_trace_instruction *instruction,
                      struct ntk_operands_text *out_text);

#endif
