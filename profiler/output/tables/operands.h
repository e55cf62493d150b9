/* SPDX-License-Identifier: MIT */
/*
 * operands - the operands of an executed instruction: of the open encoding in the words of
 * docs/isa.md, of a vendor's in those of docs/formats/vendor-slots.md.
 *
 * Texts of instructions with the same bytes are printed once, as long as no other needs their
 * place: memory is bounded, however long program and capture are.
 *
 * Owner:   ntk_operands_create() allocates, _destroy() frees. Threads: one.
 */
#ifndef NTK_PROFILER_OUTPUT_TABLES_OPERANDS_H
#define NTK_PROFILER_OUTPUT_TABLES_OPERANDS_H

#include "profiler/trace/trace.h"

struct ntk_operands;

#define NTK_OPERANDS_MARKS 2

struct ntk_operands_text {
    const char *operation; /* as the program has it: "nc_matmul", "PSEUDO_DMA_DIRECT2D"; of a
                              vendor's NULL where it is the opcode that ran */
    const char *operands;  /* "D=psum(0:128):float32[256] ... signal=s9+1"; "" for none */
    const char *compiler_operands; /* of a vendor's operation, else NULL */
    const char *function;          /* of a vendor's: of an ACTIVATE, else ""; else NULL */
    /* For notes of the caller about these texts; 0 at first. */
    uint64_t *marks;
};

/* NULL if out of memory. The trace is borrowed. */
struct ntk_operands *ntk_operands_create(const struct ntk_trace *trace);
void ntk_operands_destroy(struct ntk_operands *operands);

/* False for an instruction of an unknown encoding, and without memory. The texts last until the
 * next call. */
bool ntk_operands_get(struct ntk_operands *operands, size_t core_index,
                      const struct ntk_trace_instruction *instruction,
                      struct ntk_operands_text *out_text);

#endif
