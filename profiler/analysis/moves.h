/* SPDX-License-Identifier: MIT */
/*
 * moves - finds the source and destination tensors and the bytes of an instruction's transfer.
 *
 * They are known for operands of the open encoding, for groups of descriptors that a trigger
 * starts, and for a DMA_DIRECT2D of Trainium2, where the compiler's slot identifies the sides by
 * variable or table index. The state buffer is "SB", as in the NEFF. Names missing in the files are
 * absent.
 *
 * Owner:   ntk_moves_create() allocates, ntk_moves_destroy() frees; names are borrowed from the
 *          NEFF.
 * Threads: any; immutable after creation.
 */
#ifndef NTK_PROFILER_ANALYSIS_MOVES_H
#define NTK_PROFILER_ANALYSIS_MOVES_H

#include "profiler/trace/trace.h"
#include "shared/formats/neff/neff.h"

enum ntk_moves_side { NTK_MOVES_SOURCE, NTK_MOVES_DEST, NTK_MOVES_SIDE_COUNT };

struct ntk_moves {
    bool is_prepared; /* its descriptors were created before the run */
    bool is_plain;    /* it only copies or casts, so packets have the bytes of one side */
    bool has_input;   /* it reads an input of the NEFF, or writes an output */
    bool has_output;
    bool is_one_row;      /* if is_prepared: all data is written to a single row */
    bool is_load;         /* all data is written to memory on the core */
    uint32_t block_id;    /* if is_prepared: group of descriptors in the queue */
    const char *op;       /* such as "copy", "cast" or "transpose"; NULL if there are several */
    const char *name;     /* name of the group in the NEFF; NULL if none */
    const char *variable; /* the only tensor outside the core; NULL if none or several */
    char *sides[NTK_MOVES_SIDE_COUNT]; /* such as "x" or "a, b"; NULL if unknown */
    /* such as [["a"],["b"]] and ["x"], like keys in the original tool */
    char *json[NTK_MOVES_SIDE_COUNT];
    uint64_t bytes[NTK_MOVES_SIDE_COUNT];
    enum ntk_neff_queue_type queue_type; /* if is_prepared */
};

/* *out_moves is NULL if the instruction starts no transfer, or a transfer without description.
 * Returns 0 or -ENOMEM. */
int ntk_moves_create(const struct ntk_trace *trace, const struct ntk_trace_core *core,
                     const struct ntk_trace_instruction *instruction, struct ntk_moves **out_moves);
void ntk_moves_destroy(struct ntk_moves *moves);

/* Returns the variable on a side of a DMA_DIRECT2D; NULL if unknown. */
const struct ntk_neff_var *ntk_moves_vendor_var(const struct ntk_trace_core *core,
                                                const struct ntk_trace_instruction *instruction,
                                                enum ntk_moves_side side);

#endif
