/* SPDX-License-Identifier: MIT */
/*
 * operands - formats the operands of an executed instruction as text: in the open encoding as in
 * docs/isa.md, in a vendor's encoding as in docs/formats/vendor-slots.md.
 *
 * Texts are cached by the bytes of the instruction, so memory is bounded for any program and
 * capture.
 *
 * Owner: ntk_operands_create() allocates, _destroy() frees. Threads: one.
 */
#ifndef NTK_PROFILER_OUTPUT_TABLES_OPERANDS_H
#define NTK_PROFILER_OUTPUT_TABLES_OPERANDS_H

#include "profiler/analysis/program.h"

struct ntk_operands;

#define NTK_OPERANDS_MARKS 2

struct ntk_operands_text {
    /* name in the program, such as "nc_matmul" or "PSEUDO_DMA_DIRECT2D"; NULL for a vendor's
     * instruction if it is the executed opcode */
    const char *operation;
    const char *operands; /* such as "D=psum(0:128):float32[256] ... signal=s9+1"; "" if none */
    const char *compiler_operands; /* for a vendor's operation, else NULL */
    /* For a vendor's ACTIVATE, "" for other operations of a vendor; else NULL */
    const char *function;
    /* For use by the caller to mark these texts; initially 0. */
    uint64_t *marks;
};

/* Returns NULL if out of memory. The trace is borrowed. */
struct ntk_operands *ntk_operands_create(const struct ntk_trace *trace);
void ntk_operands_destroy(struct ntk_operands *operands);

/* Returns false for an unknown encoding, or if out of memory. The texts are valid until the next
 * call. */
bool ntk_operands_get(struct ntk_operands *operands, size_t core_index,
                      const struct ntk_trace_instruction *instruction,
                      struct ntk_operands_text *out_text);
/* Same, for an instruction with this code: usually without reading its bytes. */
bool ntk_operands_of_code(struct ntk_operands *operands, const struct ntk_slot_code *code,
                          const struct ntk_trace_instruction *instruction,
                          struct ntk_operands_text *out_text);

#endif
