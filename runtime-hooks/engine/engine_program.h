/* SPDX-License-Identifier: MIT */
/*
 * engine_program - a program for the event loop: decoded, with bounds and costs.
 *
 * Private to the engine: the public interface is engine.h. engine_program.c has checked everything
 * in these structs, so engine_run.c and the kernels only check what is known at run time: bound
 * memory and the indices of indirect copies.
 *
 * Threads: any; immutable after ntk_engine_program_create().
 */
#ifndef NTK_RUNTIME_HOOKS_ENGINE_ENGINE_PROGRAM_H
#define NTK_RUNTIME_HOOKS_ENGINE_ENGINE_PROGRAM_H

#include "runtime-hooks/engine/engine.h"
#include "runtime-hooks/engine/dma_mover.h"
#include "runtime-hooks/engine/engine_writes.h"
#include "runtime-hooks/engine/kernel_tile.h"
#include "shared/base/vec.h"
#include "shared/formats/neff/neff.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Host bytes between partitions: an odd number of cache lines more than a partition, so that rows
 * of a tile do not all map to the same cache sets. */
#define NTK_ENGINE_PITCH_EXTRA (33 * 64)

#define NTK_ENGINE_POINTER_BYTES 8 /* a pointer variable holds a device address */

enum ntk_engine_region {
    NTK_ENGINE_REGION_VAR,
    NTK_ENGINE_REGION_SBUF,
    NTK_ENGINE_REGION_PSUM,
    NTK_ENGINE_REGION_POINTER, /* the address in a pointer variable: DMA reads it */
};

/* An operand of a compute instruction: the tile without its base, and the place of the base. */
struct ntk_engine_tile {
    bool is_present;
    enum ntk_engine_region region; /* never VAR */
    size_t offset;                 /* host bytes from the start of the region */
    struct ntk_tile tile;
};

struct ntk_engine_compute {
    struct ntk_isa_instr instr;
    struct ntk_engine_tile operand[NTK_ISA_OPERAND_COUNT];
    uint8_t bounce_mask;  /* sources to copy first, because they overlap a destination */
    bool chain_continues; /* nc_matmul: the next instruction of the engine adds to its result */
    char *prefix;         /* device_print: text before the tensor; owned, NULL is "" */
};

/* One side of a transfer. */
struct ntk_engine_side {
    enum ntk_engine_region region;
    uint32_t var_id;
    struct ntk_dma_walk walk;
    int64_t offset; /* host bytes from the start of the region to the first element */
    /* address as in the program: offset in the variable, or state-buffer address */
    uint64_t address;
    uint64_t run_bytes;
    float scale;  /* fma */
    bool bounces; /* a source to copy first, because the destination may overwrite it */
};

enum ntk_engine_move {
    NTK_ENGINE_MOVE_COPY,
    NTK_ENGINE_MOVE_CAST,
    NTK_ENGINE_MOVE_COMPUTE,
    NTK_ENGINE_MOVE_TRANSPOSE,
    NTK_ENGINE_MOVE_INDIRECT,
};

/* The places of rows on one side of an indirect move. */
struct ntk_engine_index {
    bool is_present;
    struct ntk_engine_side indices; /* in the state buffer, one per row */
    uint64_t row_step;
    uint64_t index_max;
    int64_t row_low, row_high; /* extent of a row around its first element */
    /* Variables that the index selects, in program->entries; count 0: the index selects a row of
     * the side's one variable. */
    uint32_t first_entry, entry_count;
};

struct ntk_engine_indirect {
    struct ntk_engine_index of_source, of_destination;
    uint64_t rows, row_elements;
    bool has_bounds, skips;
};

struct ntk_engine_transfer {
    enum ntk_engine_move move;
    struct ntk_engine_side to;
    uint32_t first_source; /* in program->sources */
    uint32_t source_count;
    uint64_t read_bytes, write_bytes; /* of this transfer, for the counters */
    uint64_t hbm_read_bytes, hbm_write_bytes;
    uint64_t run_bytes;    /* shortest contiguous run of any side, for the cost */
    uint64_t descriptors;  /* pieces into which it can be split */
    uint64_t bounce_bytes; /* scratch it needs; 0: none */
    enum ntk_dma_fold fold;
    bool accumulates, has_start;
    double start;
    uint32_t shape[4];
    uint8_t order[4];
    uint32_t indirect; /* INDIRECT: in program->indirects */
};

/* The DMA started by a trigger or dma_copy. */
struct ntk_engine_dma {
    uint32_t queue_set;
    uint32_t group_id; /* NTK_NEFF_NONE: dma_copy, numbered by the run */
    uint32_t first_transfer, transfer_count;
    uint32_t semaphore; /* NTK_NEFF_NONE: none */
    uint32_t semaphore_value;
    uint32_t event;      /* NTK_NEFF_NONE: none */
    uint32_t instance;   /* its ring of the queue set; NTK_NEFF_NONE: the current one */
    bool signals_set;    /* increments each semaphore of the queue set */
    bool at_first_queue; /* its first piece goes to the first queue of the set */
    bool is_pinned;      /* at the start of the model, not by an instruction */
    uint32_t first_remote, remote_count; /* semaphores of the other core */
    uint32_t pipe;                       /* of an exchange */
};

/* A function of an engine's binary: instructions [begin, end), the first one its head. */
struct ntk_engine_function {
    const char *name; /* borrowed from the NEFF while the program is built; NULL afterwards */
    uint32_t engine;
    uint32_t slot;
    uint32_t begin, end;
    uint32_t depth; /* maximum depth of calls below it */
};

/* sync_mode of event_semaphore_range_clear: sync_value semaphores from sync_number on. Not a mode
 * of event_semaphore. */
#define NTK_ENGINE_SYNC_RANGE_CLEAR 0x01

enum ntk_engine_kind {
    NTK_ENGINE_KIND_CONTROL, /* only waits, delays and signals */
    NTK_ENGINE_KIND_SYNC,    /* event_semaphore with a mode */
    NTK_ENGINE_KIND_COMPUTE,
    NTK_ENGINE_KIND_REGISTER_LOAD, /* from scalar `first` */
    NTK_ENGINE_KIND_REGISTER_STORE,
    NTK_ENGINE_KIND_REGISTER_MOVE,
    NTK_ENGINE_KIND_REGISTER_ALU, /* sync_mode: the operator, sync_value: the immediate */
    /* From here on, the end also has an effect. */
    NTK_ENGINE_KIND_DMA,
    NTK_ENGINE_KIND_EXCHANGE, /* sendrecv */
    NTK_ENGINE_KIND_BARRIER,  /* core_barrier, its number in sync_number */
    /* From here on, the next instruction is a different one. */
    NTK_ENGINE_KIND_BRANCH, /* to `first`, if the comparison sync_mode is true */
    NTK_ENGINE_KIND_CALL,   /* of function `first` */
    NTK_ENGINE_KIND_RETURN,
};

struct ntk_engine_instr {
    uint64_t duration_ps;
    uint64_t flops;
    uint32_t slot;
    uint32_t first; /* COMPUTE: in computes; DMA: in starts */
    uint32_t count; /* DMA: number of starts */
    uint32_t sync_number, sync_value;
    uint16_t wait_semaphore, wait_value;
    uint16_t signal_semaphore, signal_value;
    uint8_t kind, flags, opcode, sync_mode;
    uint8_t reg_to, reg_a, reg_b; /* 1 + number */
    bool is_transpose;
};

struct ntk_engine_queue_set {
    uint32_t queue_count;
    uint32_t semaphore_count;
    uint16_t semaphores[NTK_NEFF_QUEUES_MAX];
};

struct ntk_engine_variable {
    uint64_t bytes_count;
    bool is_used, is_bound; /* by a transfer; may be used */
    bool is_output;
    bool is_pointer, is_table;
    bool is_checked;                   /* tables: all entries may be used */
    uint32_t refers_to;                /* pointers: var_id; NTK_NEFF_NONE: no target with memory */
    uint32_t cell;                     /* pointers: index of the run's cell */
    uint32_t first_entry, entry_count; /* tables: in program->entries, in file order */
};

struct ntk_engine_program {
    unsigned generation;
    const struct ntk_engine_core_spec *spec;
    struct ntk_engine_program_info info;
    struct ntk_vec instrs[NTK_ENGINE_SEQUENCER_COUNT]; /* struct ntk_engine_instr */
    struct ntk_vec computes;                           /* struct ntk_engine_compute */
    struct ntk_vec starts;                             /* uint32_t: index into dmas */
    struct ntk_vec dmas;                               /* struct ntk_engine_dma */
    struct ntk_vec transfers;                          /* struct ntk_engine_transfer */
    struct ntk_vec sources;                            /* struct ntk_engine_side */
    struct ntk_vec indirects;                          /* struct ntk_engine_indirect */
    struct ntk_vec entries;                            /* uint32_t: var_id */
    struct ntk_vec cells;                              /* uint32_t: var_id a pointer refers to */
    struct ntk_vec scalars;                            /* struct ntk_engine_tile */
    struct ntk_vec functions;                          /* struct ntk_engine_function */
    struct ntk_vec remote_semaphores;                  /* uint16_t */
    uint32_t main_end[NTK_ENGINE_SEQUENCER_COUNT];     /* called functions follow it */
    struct ntk_engine_queue_set *queue_sets;
    struct ntk_engine_variable *variables; /* by var_id */
    uint32_t sbuf_var_id;
    uint32_t row_elements_max;           /* of any compute operand */
    uint64_t bounce_bytes_max;           /* of any instruction or transfer */
    uint64_t dma_start_count;            /* number of DMA starts per run */
    uint64_t opaque_ps;                  /* duration of an opaque program */
    uint32_t pinned_first, pinned_count; /* range of `starts` that is moved when the model starts */
    bool has_matmul, has_random, has_latches;
    bool has_flow, has_jumps; /* registers or jumps; jumps */
    struct ntk_engine_writes writes;
};

#ifdef __cplusplus
}
#endif
#endif
