/* SPDX-License-Identifier: MIT */
/*
 * moves - the source and destination tensors and the bytes of an instruction's transfer.
 *
 * Known for operands of the open encoding, for groups of descriptors that a trigger starts, and for
 * a DMA_DIRECT2D of Trainium2, where the compiler's slot names the sides by variable or table
 * index. The state buffer is "SB", as in the NEFF. Names missing in the files are absent.
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
    bool is_plain;    /* it only copies or casts: packets have the bytes of a side */
    bool has_input;   /* it reads an input of the NEFF; writes an output */
    bool has_output;
    bool is_one_row;      /* prepared: all of it goes to a single row */
    bool is_load;         /* all of it goes to memory on the core */
    uint32_t block_id;    /* prepared: the group of descriptors of the queue */
    const char *op;       /* "copy", "cast", "transpose" ...; NULL: several */
    const char *name;     /* of the group in the NEFF; NULL: none */
    const char *variable; /* the only tensor outside the core; NULL: none, or several */
    char *sides[NTK_MOVES_SIDE_COUNT]; /* "x", "a, b"; NULL: unknown */
    char *json[NTK_MOVES_SIDE_COUNT];  /* [["a"],["b"]] and ["x"], like keys of the original tool */
    uint64_t bytes[NTK_MOVES_SIDE_COUNT];
    enum ntk_neff_queue_type queue_type; /* of prepared ones */
};

/* *out_moves NULL: it starts no transfer, or an undescribed one. 0 or -ENOMEM. */
int ntk_moves_create(const struct ntk_trace *trace, const struct ntk_trace_core *core,
                     const struct ntk_trace_instruction *instruction, struct ntk_moves **out_moves);
void ntk_moves_destroy(struct ntk_moves *moves);

/* The variable on a side of a DMA_DIRECT2D; NULL: unknown. */
const struct ntk_neff_var *ntk_moves_vendor_var(const struct ntk_trace_core *core,
                                                const struct ntk_trace_instruction *instruction,
                                                enum ntk_moves_side side);

#endif
