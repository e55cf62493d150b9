/* SPDX-License-Identifier: MIT */
/*
 * moves - what the transfer of an instruction moves: from which tensors to which, how many bytes.
 *
 * Known of the operands of the open encoding, of the groups of descriptors that a trigger starts,
 * and of a DMA_DIRECT2D of Trainium2, whose sides the compiler's slot names by variable or by the
 * index of a table. The state buffer is "SB", as the NEFF calls it. A name that the files do not
 * tell is absent.
 *
 * Owner:   ntk_moves_create() allocates, ntk_moves_destroy() frees; names are the NEFF's.
 * Threads: any; immutable after creation.
 */
#ifndef NTK_PROFILER_ANALYSIS_MOVES_H
#define NTK_PROFILER_ANALYSIS_MOVES_H

#include "profiler/trace/trace.h"
#include "shared/formats/neff/neff.h"

enum ntk_moves_side { NTK_MOVES_SOURCE, NTK_MOVES_DEST, NTK_MOVES_SIDE_COUNT };

struct ntk_moves {
    bool is_prepared; /* its descriptors were made before the run */
    bool is_plain;    /* all of it copies or casts: packets have the bytes of a side */
    bool has_input;   /* it reads an input of the NEFF; writes an output */
    bool has_output;
    bool is_one_row;      /* of prepared ones: all of it goes to a single row */
    bool is_load;         /* all of it goes to memory on the core */
    uint32_t block_id;    /* of prepared ones: the group of descriptors of the queue */
    const char *op;       /* "copy", "cast", "transpose" ...; NULL: several */
    const char *name;     /* of the group, as the NEFF has it; NULL: none */
    const char *variable; /* the one tensor that is not on the core; NULL: none, or several */
    char *sides[NTK_MOVES_SIDE_COUNT]; /* "x", "a, b"; NULL: unknown */
    char *json[NTK_MOVES_SIDE_COUNT];  /* [["a"],["b"]] and ["x"], as the original's keys are */
    uint64_t bytes[NTK_MOVES_SIDE_COUNT];
    enum ntk_neff_queue_type queue_type; /* of prepared ones */
};

/* *out_moves NULL: it starts no transfer, or one that nothing describes. 0 or -ENOMEM. */
int ntk_moves_create(const struct ntk_trace *trace, const struct ntk_trace_core *core,
                     const struct ntk_trace_instruction *instruction, struct ntk_moves **out_moves);
void ntk_moves_destroy(struct ntk_moves *moves);

/* The variable on a side of a DMA_DIRECT2D; NULL: unknown. */
const struct ntk_neff_var *ntk_moves_vendor_var(const struct ntk_trace_core *core,
                                                const struct ntk_trace_instruction *instruction,
                                                enum ntk_moves_side side);

#endif
