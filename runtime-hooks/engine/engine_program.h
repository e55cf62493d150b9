/* SPDX-License-Identifier: MIT */
/*
 * engine_program - a program for the event loop: decoded, with limits and costs.
 *
 * Private to the engine: the public interface is engine.h. engine_program.c has checked everything
 * in these structs, so engine_run.c and the kernels check only what is first known at run time:
 * bound memory and the indices of indirect copies.
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

/* Extra host bytes between partitions: an odd number of cache lines, so that the rows of a tile do
 * not all map to the same cache sets. */
#define NTK_ENGINE_PITCH_EXTRA (33 * 64)

#define NTK_ENGINE_POINTER_BYTES 8 /* size of a pointer variable, which contains a device address */

enum ntk_engine_region {
    NTK_ENGINE_REGION_VAR,
    NTK_ENGINE_REGION_SBUF,
    NTK_ENGINE_REGION_PSUM,
    NTK_ENGINE_REGION_POINTER, /* the address in a pointer variable, which DMA reads */
};

/* An operand of a compute instruction: the tile without its base, and the place of the base. */
struct ntk_engine_tile {
    bool is_present;
    enum ntk_engine_region region; /* never VAR */
    size_t offset;                 /* from the start of the region, in host bytes */
    struct ntk_tile tile;
};

struct ntk_engine_compute {
    struct ntk_isa_instr instr;
    struct ntk_engine_tile operand[NTK_ISA_OPERAND_COUNT];
    uint8_t bounce_mask;  /* sources to copy first, because they overlap a destination */
    bool chain_continues; /* nc_matmul: the engine's next instruction adds to its result */
    char *prefix;         /* device_print: text before the tensor; owned; NULL means "" */
};

/* One side of a transfer. */
struct ntk_engine_side {
    enum ntk_engine_region region;
    uint32_t var_id;
    struct ntk_dma_walk walk;
    int64_t offset; /* distance in host bytes from the start of the region to the first element */
    /* The address in the program: an offset in the variable, or a state-buffer address. */
    uint64_t address;
    uint64_t run_bytes;
    float scale;  /* for fma */
    bool bounces; /* a source to copy first, because the destination may overwrite it */
};

enum ntk_engine_move {
    NTK_ENGINE_MOVE_COPY,
    NTK_ENGINE_MOVE_CAST,
    NTK_ENGINE_MOVE_COMPUTE,
    NTK_ENGINE_MOVE_TRANSPOSE,
    NTK_ENGINE_MOVE_INDIRECT,
};

/* Where the rows on one side of an indirect move are. */
struct ntk_engine_index {
    bool is_present;
    struct ntk_engine_side indices; /* indices in the state buffer, one per row */
    uint64_t row_step;
    uint64_t index_max;
    int64_t row_low, row_high; /* extent of a row relative to its first element */
    /* Variables that the index selects, as a range of program->entries; count 0: the index selects
     * a row in the side's single variable. */
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
    uint32_t first_source; /* index in program->sources */
    uint32_t source_count;
    uint64_t read_bytes, write_bytes; /* bytes of this transfer, for the counters */
    uint64_t hbm_read_bytes, hbm_write_bytes;
    uint64_t run_bytes;   /* shortest contiguous run of any side, from which the cost is computed */
    uint64_t descriptors; /* number of pieces into which it can be split */
    uint64_t bounce_bytes; /* scratch memory that it needs; 0: none */
    enum ntk_dma_fold fold;
    bool accumulates, has_start;
    double start;
    uint32_t shape[4];
    uint8_t order[4];
    uint32_t indirect; /* for INDIRECT: index in program->indirects */
};

/* The DMA that a trigger or dma_copy starts. */
struct ntk_engine_dma {
    uint32_t queue_set;
    uint32_t group_id; /* NTK_NEFF_NONE for a dma_copy, which is numbered during the run */
    uint32_t first_transfer, transfer_count;
    uint32_t semaphore; /* NTK_NEFF_NONE if there is none */
    uint32_t semaphore_value;
    uint32_t event;      /* NTK_NEFF_NONE if there is none */
    uint32_t instance;   /* its ring in the queue set; NTK_NEFF_NONE: the current ring */
    bool signals_set;    /* it increments each semaphore of the queue set */
    bool at_first_queue; /* its first piece uses the first queue of the set */
    bool is_pinned;      /* started at the start of the model, not by an instruction */
    uint32_t first_remote, remote_count; /* semaphores of the other core that it signals */
    uint32_t pipe;                       /* for an exchange: its pipe */
};

/* A function in an engine's binary: instructions [begin, end); the first is its head. */
struct ntk_engine_function {
    const char *name; /* borrowed from the NEFF while the program is built; NULL afterwards */
    uint32_t engine;
    uint32_t slot;
    uint32_t begin, end;
    uint32_t depth; /* maximum depth of calls below it */
};

/* The sync_mode of event_semaphore_range_clear, which clears sync_value semaphores from sync_number
 * on. Not a mode of event_semaphore. */
#define NTK_ENGINE_SYNC_RANGE_CLEAR 0x01

enum ntk_engine_kind {
    NTK_ENGINE_KIND_CONTROL, /* only waits, delays and signals */
    NTK_ENGINE_KIND_SYNC,    /* event_semaphore with a mode */
    NTK_ENGINE_KIND_COMPUTE,
    NTK_ENGINE_KIND_REGISTER_LOAD, /* loads from scalar `first` */
    NTK_ENGINE_KIND_REGISTER_STORE,
    NTK_ENGINE_KIND_REGISTER_MOVE,
    NTK_ENGINE_KIND_REGISTER_ALU, /* sync_mode is the operator, sync_value the immediate */
    /* The kinds from here on also have an effect at their end. */
    NTK_ENGINE_KIND_DMA,
    NTK_ENGINE_KIND_EXCHANGE, /* for sendrecv */
    NTK_ENGINE_KIND_BARRIER,  /* for core_barrier; its number is in sync_number */
    /* The kinds from here on change which instruction is next. */
    NTK_ENGINE_KIND_BRANCH, /* jumps to `first` if the comparison sync_mode is true */
    NTK_ENGINE_KIND_CALL,   /* calls function `first` */
    NTK_ENGINE_KIND_RETURN,
};

struct ntk_engine_instr {
    uint64_t duration_ps;
    uint64_t flops;
    uint32_t slot;
    uint32_t first; /* COMPUTE: index in computes; DMA: index in starts */
    uint32_t count; /* DMA: number of starts */
    uint32_t sync_number, sync_value;
    uint16_t wait_semaphore, wait_value;
    uint16_t signal_semaphore, signal_value;
    uint8_t kind, flags, opcode, sync_mode;
    uint8_t reg_to, reg_a, reg_b; /* 1 + number of the register; 0 none */
    bool is_transpose;
};

struct ntk_engine_queue_set {
    uint32_t queue_count;
    uint32_t semaphore_count;
    uint16_t semaphores[NTK_NEFF_QUEUES_MAX];
};

struct ntk_engine_variable {
    uint64_t bytes_count;
    bool is_used, is_bound; /* used by a transfer; may be used, so memory must be bound */
    bool is_output;
    bool is_pointer, is_table;
    bool is_checked;    /* for tables: all entries may be used */
    uint32_t refers_to; /* for pointers: var_id; NTK_NEFF_NONE: no target with memory */
    uint32_t cell;      /* for pointers: index of the run's cell */
    uint32_t first_entry, entry_count; /* for tables: range of program->entries, in file order */
};

struct ntk_engine_program {
    unsigned generation;
    const struct ntk_engine_core_spec *spec;
    struct ntk_engine_program_info info;
    struct ntk_vec instrs[NTK_ENGINE_SEQUENCER_COUNT]; /* struct ntk_engine_instr */
    struct ntk_vec computes;                           /* struct ntk_engine_compute */
    struct ntk_vec starts;                             /* elements are uint32_t: indices in dmas */
    struct ntk_vec dmas;                               /* struct ntk_engine_dma */
    struct ntk_vec transfers;                          /* struct ntk_engine_transfer */
    struct ntk_vec sources;                            /* struct ntk_engine_side */
    struct ntk_vec indirects;                          /* struct ntk_engine_indirect */
    struct ntk_vec entries;                            /* elements are uint32_t: var_ids */
    struct ntk_vec cells;     /* elements are uint32_t: the var_id that each pointer refers to */
    struct ntk_vec scalars;   /* struct ntk_engine_tile */
    struct ntk_vec functions; /* struct ntk_engine_function */
    struct ntk_vec remote_semaphores; /* elements are uint16_t */
    /* end of the main code; called functions follow */
    uint32_t main_end[NTK_ENGINE_SEQUENCER_COUNT];
    struct ntk_engine_queue_set *queue_sets;
    struct ntk_engine_variable *variables; /* indexed by var_id */
    uint32_t sbuf_var_id;
    uint32_t row_elements_max; /* largest row of any compute operand */
    uint64_t bounce_bytes_max; /* largest bounce memory of any instruction or transfer */
    uint64_t dma_start_count;  /* number of DMA starts per run */
    uint64_t opaque_ps;        /* duration of an opaque program */
    /* range of `starts` that is executed when the model starts */
    uint32_t pinned_first, pinned_count;
    bool has_matmul, has_random, has_latches;
    bool has_flow, has_jumps; /* has registers or jumps; has jumps */
    struct ntk_engine_writes writes;
};

#ifdef __cplusplus
}
#endif
#endif
