/* SPDX-License-Identifier: MIT */
/*
 * program - describes each executed instruction of a trace: its waits, signals, computation,
 * transfers and layer.
 *
 * A slot is decoded only once. Programs in the open encoding are decoded completely, a vendor's
 * programs as far as vendor_slot.h supports them. Layers are the names of instructions in the NEFF;
 * without a NEFF, and in a vendor's NEFF, every instruction is in the layer without a name. Names
 * from a vendor's compiler are stored separately.
 *
 * Owner:   ntk_program_create() allocates, ntk_program_destroy() frees; it borrows the trace.
 * Threads: any; immutable after creation.
 */
#ifndef NTK_PROFILER_ANALYSIS_PROGRAM_H
#define NTK_PROFILER_ANALYSIS_PROGRAM_H

#include "profiler/analysis/executions.h"
#include "profiler/analysis/moves.h"
#include "profiler/trace/trace.h"
#include "shared/base/err.h"
#include "shared/formats/neff/neff_positions.h"

enum ntk_wait_kind {
    NTK_WAIT_NONE,
    NTK_WAIT_AT_LEAST, /* waits for semaphore >= value */
    NTK_WAIT_EQUAL,    /* waits for semaphore == value */
    NTK_WAIT_SET,      /* waits for an event */
    NTK_WAIT_CLEAR,
};

#define NTK_PROGRAM_NO_NUMBER UINT16_MAX

/* Semaphores and events are numbered together: 256 of each. */
#define NTK_PROGRAM_NUMBERS 512
static inline unsigned ntk_program_number(bool is_event, unsigned number)
{
    return (is_event ? NTK_PROGRAM_NUMBERS / 2 : 0) + (number & 0xff);
}

/* Numbers of layers without a name in any file. */
#define NTK_LAYER_NONE 0U    /* instructions of the program without a name */
#define NTK_LAYER_RUNTIME 1U /* instructions that the runtime added around the program */

/* Facts that follow from the bytes of a slot. Instructions with the same bytes share them, because
 * an unrolled kernel repeats a few of them millions of times. Each transfer has its own. */
struct ntk_slot_code {
    uint32_t number; /* index in the program, from 0 */
    /* The first slot with these bytes, and where it is. */
    uint32_t slot;
    uint16_t core_index;
    uint8_t engine, opcode;
    bool is_runtime;      /* the runtime added it around the program */
    bool has_sync;        /* wait and signal below are known */
    bool is_open;         /* in the open encoding */
    bool waits_inside;    /* it starts, then waits; false: it waits, then starts */
    bool signals_event;   /* signal_number is the number of an event */
    bool adds_one;        /* adds 1 to the semaphore signal_number; only in a vendor's program */
    bool is_transfer;     /* starts DMA */
    bool done_is_event;   /* done_number is the number of an event */
    bool signals_core;    /* changes semaphores of other cores, see core_signals.h */
    bool has_flops;       /* a MATMUL with known work */
    bool is_transpose;    /* an operation of the tensor engine that only moves data */
    bool has_adjusted;    /* the weight of its element type is known */
    bool has_bytes;       /* a transfer with known bytes */
    bool has_onchip;      /* an instruction in a vendor's program with known bytes on the chip */
    bool is_psum_to_sbuf; /* valid with has_onchip */
    uint8_t wait;         /* enum ntk_wait_kind */
    uint8_t dtype;        /* type of a MATMUL: enum ntk_dtype, or a number of an unknown type */
    uint16_t wait_number;
    uint16_t signal_number; /* NTK_PROGRAM_NO_NUMBER if none */
    uint16_t done_number;   /* changed when the data has arrived */
    uint32_t wait_value;
    uint32_t layer;
    const char *queue;       /* queue of the transfer, as named in the NEFF; NULL if unknown */
    struct ntk_moves *moves; /* content of the transfer; NULL without description */
    uint64_t elements, flops, adjusted_flops;
    /* Operations of a MATMUL except a transpose: independent of the version, each product counts
     * once */
    uint64_t useful_flops;
    uint64_t read_bytes, write_bytes; /* bytes in device memory */
    /* Valid with has_onchip, by the trace's version. */
    uint64_t sbuf_read_bytes, sbuf_write_bytes;
    uint64_t psum_read_bytes, psum_write_bytes, psum_to_sbuf_bytes;
};

/* Facts about a slot. There are millions of slots, so the struct is small. */
struct ntk_slot_fact {
    const struct ntk_slot_code *code; /* of a slot that has not run: nothing is known */
    const struct ntk_neff_debug_instruction *named; /* NULL if only its id is known */
    const struct ntk_neff_hlo *hlo;                 /* first operation of XLA; NULL if none */
    uint64_t bir_id;
    int32_t compiler_pc; /* index in the compiler's program; -1 if the runtime inserted it */
    bool has_run;        /* false: all other members are unknown */
    bool has_bir_id;     /* the compiler stored a name, see neff_debug.h */
};

/* Returns the operations for shares of the tensor peak, weighted by type (2.28: not weighted).
 * False if unknown, or not a MATMUL. */
static inline bool ntk_code_peak_flops(const struct ntk_trace *trace,
                                       const struct ntk_slot_code *code, uint64_t *out_flops)
{
    bool is_weighted = trace->metrics != NTK_METRICS_2_28;

    *out_flops = is_weighted ? code->adjusted_flops : code->flops;
    return is_weighted ? code->has_adjusted : code->has_flops;
}

/* Returns true if it computes or moves data, and is neither program control nor preparation. */
bool ntk_fact_is_work(const struct ntk_slot_fact *fact, uint8_t opcode);

struct ntk_program;
/* Returns true if packet records are truncated, or missing although instructions started transfers.
 * A partial execution may have none. */
bool ntk_program_lacks_packets(const struct ntk_program *program);

struct ntk_lost { /* number of lost and present records of one kind, or their bytes */
    uint64_t there, lost;
};

struct ntk_dropped { /* results of dropped.h */
    struct ntk_lost instructions, changes, bytes;
};

struct ntk_program {
    const struct ntk_trace *trace;
    size_t layer_count;
    const char *
        *layers;     /* "(no layer)", "(runtime)", then the names of the NEFF in order of number */
    bool has_layers; /* true if an executed instruction has a name */
    bool has_core_signals;         /* true if an instruction changes semaphores of other cores */
    struct ntk_slot_fact **facts;  /* facts[core * engines + engine][slot] */
    size_t code_count;             /* distinct slots that ran; most of equal ones count once */
    struct ntk_slot_code **codes;  /* in blocks, see ntk_program_code() */
    struct ntk_neff_debug **names; /* by core; NULL if missing or damaged in the NEFF */
    struct ntk_err names_err;      /* text is "" if no names are damaged */
    struct ntk_neff_positions *positions; /* source lines, core by core; NULL if none are known */
    struct ntk_dropped dropped;           /* all 0 in a program without names */
    /* Number of executions in the capture or its window (ntk_execution_borders_find). It is 1 if
     * unknown, and in a program without names. Figures are sums over all executions. */
    uint64_t execution_count;
    struct ntk_execution_borders borders;
    bool is_slice; /* the lists belong to the program of the whole trace */
};

/* Returns 0 or -ENOMEM. */
int ntk_program_create(const struct ntk_trace *trace, struct ntk_program **out_program);
/* Like ntk_program_create(), without the compiler's names of instructions, positions and
 * executions: for sums, in a third of the time and memory. */
int ntk_program_create_unnamed(const struct ntk_trace *trace, struct ntk_program **out_program);
/* Creates the program of one execution, a slice of the trace of `whole` (trace/slice.h). It borrows
 * the facts, which are the same in every execution, and the dropped records, which cannot be
 * assigned to one: `whole` must outlive it. Returns 0 or -ENOMEM. */
int ntk_program_create_slice(const struct ntk_program *whole, const struct ntk_trace *slice,
                             struct ntk_program **out_program);
void ntk_program_destroy(struct ntk_program *program);

#define NTK_PROGRAM_CODES 1024 /* in a block */
static inline const struct ntk_slot_code *ntk_program_code(const struct ntk_program *program,
                                                           size_t number)
{
    return &program->codes[number / NTK_PROGRAM_CODES][number % NTK_PROGRAM_CODES];
}

static inline const struct ntk_slot_fact *
ntk_program_fact(const struct ntk_program *program, size_t core,
                 const struct ntk_trace_instruction *instruction)
{
    return &program->facts[core * NTK_NTFF_ENGINE_COUNT + instruction->engine][instruction->slot];
}

/* Returns the source position of an instruction, see neff_positions.h; NULL if unknown. */
static inline const struct ntk_neff_position *
ntk_program_position(const struct ntk_program *program, size_t core,
                     const struct ntk_trace_instruction *instruction)
{
    return ntk_neff_position_get(program->positions, core, (enum ntk_isa_engine)instruction->engine,
                                 ntk_program_fact(program, core, instruction)->compiler_pc);
}

/* Returns the queue with transfers that change this semaphore; NULL if the NEFF does not record
 * it. */
const char *ntk_program_queue_of(const struct ntk_trace_core *core, uint16_t semaphore);

#endif
