/* SPDX-License-Identifier: MIT */
/*
 * engine - a software NeuronCore, its programs, and their execution.
 *
 * A program is decoded and checked completely when it is created, so that a run never finds an
 * unknown operation or accesses other memory. A run is a discrete-event loop in device time: an
 * instruction starts when its engine is free and its semaphores permit it, its duration follows
 * docs/cost-model.md, and its data is computed at that moment. The timeline depends on the program
 * and on values that control it, never on the host, its load or its threads.
 *
 * This module is independent of machines, tensors and models: the caller provides host memory for
 * every variable and adds up the results.
 *
 * Owner:   *_create() allocates, *_destroy() frees and accepts NULL. Destroy a program when no run
 *          uses it, and a core when it runs nothing. The caller owns bound memory.
 * Threads: a program is immutable after its creation: any number of cores may run it at the same
 *          time. A core is used by one thread at a time. Nothing global is mutable.
 */
#ifndef NTK_RUNTIME_HOOKS_ENGINE_ENGINE_H
#define NTK_RUNTIME_HOOKS_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/abi/event_abi.h"
#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_neff_subgraph; /* shared/formats/neff/neff.h */

/* Core generations: NC-v1 (Inferentia) to NC-v4 (Trainium3), and two generations of machines with
 * other cores, which include the operations of the earlier ones (shared/abi/machine.def). */
#define NTK_ENGINE_GENERATION_MIN 1
#define NTK_ENGINE_GENERATION_MAX 6

/* Engines are enum ntk_engine of the event ABI, the same ids everywhere: tensor, activation, pool,
 * vector, sync and, last, the DMA queues. All but DMA execute instructions. */
#define NTK_ENGINE_SEQUENCER_COUNT 5

/* --- hardware state of one physical core ------------------------------------------------------ */

struct ntk_engine_core;

/* The properties of a core generation; static storage, NULL for an unknown generation. */
struct ntk_engine_core_spec {
    unsigned generation;
    const char *name; /* such as "NC-v2" */
    uint32_t pe_rows, pe_columns;
    /* clock of each engine; SP has the base clock */
    uint32_t clock_mhz[NTK_ENGINE_SEQUENCER_COUNT];
    uint32_t partition_count;
    uint32_t sbuf_partition_bytes, psum_partition_bytes;
    uint32_t dma_engine_count;
    uint32_t dma_bytes_per_us; /* rate of one DMA engine */
    double tensor_peak_flops;  /* 2 x rows x columns x PE clock */
    double hbm_bytes_per_second;
};
const struct ntk_engine_core_spec *ntk_engine_core_spec_get(unsigned generation);

/* Creates a core. State buffer and PSUM use host memory only where a program has touched them.
 * Returns -ENOMEM or -EINVAL. */
int ntk_engine_core_create(unsigned generation, struct ntk_engine_core **out_core,
                           struct ntk_err *err);
void ntk_engine_core_destroy(struct ntk_engine_core *core);
/* Sets the seed of stochastic rounding; initially 0. */
void ntk_engine_core_seed(struct ntk_engine_core *core, uint32_t seed);
/* Zeroes state buffer and PSUM; frees their host memory if programs may have written more than half
 * of it. Returns 0 or -ENOMEM. */
int ntk_engine_core_reset(struct ntk_engine_core *core);

/* --- program ---------------------------------------------------------------------------------- */

struct ntk_engine_program;

/* Decodes and checks the five engine binaries, the DMA descriptors and the variables of one
 * subgraph for one core generation. Keeps no reference to the subgraph. Returns -EBADMSG with a
 * message that names engine and slot (err->offset: byte in the engine binary) for an invalid
 * program, -ENOTSUP for binaries in another encoding (a vendor's), or -ENOMEM. */
int ntk_engine_program_create(unsigned generation, const struct ntk_neff_subgraph *subgraph,
                              struct ntk_engine_program **out_program, struct ntk_err *err);
/* Same, for binaries that cannot be decoded: a run computes nothing, fills the outputs with
 * zero, and its duration is estimated from their sizes and descriptors (docs/cost-model.md). */
int ntk_engine_program_create_opaque(unsigned generation, const struct ntk_neff_subgraph *subgraph,
                                     struct ntk_engine_program **out_program, struct ntk_err *err);
void ntk_engine_program_destroy(struct ntk_engine_program *program);

struct ntk_engine_program_info {
    uint32_t variable_count; /* number of bindings that a run needs: one per var_id, dense from 0 */
    uint32_t queue_count;    /* number of queue sets, in the order of def.json */
    uint32_t slot_count[NTK_ENGINE_SEQUENCER_COUNT]; /* number of 64-byte slots in the binary */
    uint32_t instruction_count[NTK_ENGINE_SEQUENCER_COUNT]; /* number of decoded instructions */
    uint64_t descriptor_count; /* number of DMA descriptors in all groups */
    uint64_t host_bytes;       /* size of the decoded program */
    /* exchanges data with the other core or signals it, so it only runs on a pair */
    bool needs_partner;
    bool is_empty;  /* no engine has an instruction */
    bool is_opaque; /* not decoded; is_empty is also set */
};
void ntk_engine_program_info_get(const struct ntk_engine_program *program,
                                 struct ntk_engine_program_info *out_info);

/* --- run -------------------------------------------------------------------------------------- */

/* The memory of a variable for one run, indexed by var_id. Entries for the state buffer, for
 * pointers and for tables are ignored. If a used variable is NULL or shorter than in def.json, the
 * run ends with NTK_RUN_BAD_INPUT before computing anything. */
struct ntk_engine_binding {
    void *bytes;
    uint64_t size;
    uint64_t device_address; /* only shown in traces */
};

enum ntk_engine_outcome {
    NTK_RUN_OK = 0,
    NTK_RUN_NUMERICAL_ERROR, /* completed with valid outputs, but an engine wrote a NaN */
    NTK_RUN_OUT_OF_BOUNDS,   /* an indirect access exceeded its variable, without a skip mode */
    NTK_RUN_DEADLOCK,        /* no engine can ever continue: detected at once */
    NTK_RUN_TIMEOUT,         /* exceeded the caller's limit in device time */
    NTK_RUN_BAD_INPUT,       /* bindings do not fit the program */
    NTK_RUN_NO_MEMORY,       /* the host is out of memory */
};
const char *ntk_engine_outcome_name(enum ntk_engine_outcome outcome);

/* Sums over one run; all times are device time. */
struct ntk_engine_result {
    enum ntk_engine_outcome outcome;
    uint64_t duration_ns; /* first start to last end (rounded up to a whole ns) */
    /* time executing instructions, without waits; for DMA, time with any transfer */
    uint64_t busy_ns[NTK_ENGINE_COUNT];
    /* Time waiting for semaphores and barriers, and for instructions that only change them. */
    uint64_t wait_ns[NTK_ENGINE_SEQUENCER_COUNT];
    /* The part of the tensor engine's waits before instructions that use its array. */
    uint64_t matmul_wait_ns;
    uint64_t instruction_count[NTK_ENGINE_SEQUENCER_COUNT];
    uint64_t matmul_count; /* number of tensor engine instructions that use its array */
    uint64_t dma_transfer_count;
    uint64_t dma_bytes; /* bytes that DMA has written */
    uint64_t hbm_read_bytes, hbm_write_bytes;
    uint64_t flops;           /* 2 x MACs of the tensor engine, including transposes */
    uint64_t effective_flops; /* flops without transposes */
    /* Where the run failed, for the log and the error event; engine NTK_ENGINE_COUNT if unknown. */
    uint32_t fault_engine;
    uint32_t fault_slot;
    uint32_t engines_not_done; /* one bit per engine that had not finished */
};

/* Callbacks for captures; each may be NULL. Times are ps of device time since the start of the run.
 * Calls follow the order of the event loop: the times of one kind and engine never decrease, but
 * times of different engines may. */
struct ntk_engine_instruction_event {
    uint32_t engine;
    uint32_t slot; /* pc: index of the 64-byte slot in the engine's binary */
    uint8_t opcode;
    uint64_t wait_ps; /* time that it waited for semaphores after its engine was free */
    uint64_t start_ps, end_ps;
};

struct ntk_engine_dma_event {
    uint32_t queue_set;  /* index in def.json's queue sets */
    uint32_t queue;      /* number within the set */
    uint32_t dma_engine; /* from 0 to dma_engine_count - 1 */
    uint32_t group;      /* id of the descriptor group; for dma_copy, its number in the queue set */
    uint64_t read_bytes, write_bytes;
    uint32_t from_variable, to_variable; /* var_ids */
    /* device addresses; in the state buffer, addresses of the state buffer */
    uint64_t from_address, to_address;
    uint64_t start_ps, end_ps;
};

struct ntk_engine_semaphore_event {
    uint32_t engine; /* the engine that changed it; NTK_ENGINE_DMA: a queue */
    uint32_t number; /* number of the semaphore or event */
    uint32_t value;  /* value after the change */
    bool is_event;   /* for an event, value 1 means set, 0 cleared */
    uint64_t time_ps;
};

/* An error: an instruction wrote a NaN, or the run ended (out of bounds, deadlock, timeout). */
struct ntk_engine_error_event {
    enum ntk_engine_outcome outcome;
    uint32_t engine; /* NTK_ENGINE_DMA for a transfer */
    uint32_t slot;   /* pc; 0 for DMA */
    uint64_t time_ps;
};

struct ntk_engine_trace {
    void (*instruction)(const struct ntk_engine_instruction_event *event, void *ctx);
    void (*dma)(const struct ntk_engine_dma_event *event, void *ctx);
    void (*semaphore)(const struct ntk_engine_semaphore_event *event, void *ctx);
    void (*error)(const struct ntk_engine_error_event *event, void *ctx);
    void *ctx;
};

#define NTK_ENGINE_PRINT_DIMENSIONS 8

/* A tensor printed by a program; valid only during the call. */
struct ntk_engine_print_event {
    uint32_t pipe;                               /* the program's number of the output stream */
    const char *prefix;                          /* text before the tensor; NULL means "" */
    const char *dtype;                           /* such as "float32" */
    uint64_t shape[NTK_ENGINE_PRINT_DIMENSIONS]; /* 0 after the last dimension */
    const void *data;
    uint64_t data_bytes;
};

struct ntk_engine_printer {
    void (*print)(const struct ntk_engine_print_event *event, void *ctx);
    void *ctx;
};

struct ntk_engine_run_options {
    const struct ntk_engine_binding *bindings;
    size_t binding_count;
    uint64_t timeout_ns; /* limit in device time; 0: none */
    bool zero_outputs;   /* zero variables of type output first, because no program writes them */
    /* The state buffer lacks the program's data: pinned queue sets are loaded first, which takes
     * device time. */
    bool is_start;
    /* Compute engines round stochastically to floats narrower than fp32
     * (docs/decisions/instruction-set.md). Not on NC-v1. */
    bool rounds_by_chance;
    /* Slowdown factors for engines, and for transfers from or to device memory; 0 means 1. */
    double compute_factor, hbm_factor;
    const struct ntk_engine_trace *trace;     /* NULL: none */
    const struct ntk_engine_printer *printer; /* NULL: printed tensors are dropped */
};

/* Maximum number of cores that run together: the cores of one logical core. */
#define NTK_ENGINE_PAIR_MAX 2

struct ntk_engine_member {
    struct ntk_engine_core *core;
    const struct ntk_engine_program *program;
    const struct ntk_engine_run_options *options;
};

/* Runs the programs of one logical core in parallel in one device time, each on its core, with
 * semaphores starting at zero; the timeout is that of the first. They synchronise by barriers,
 * exchanges and semaphores of the other core. A fault in one ends all: the others then have
 * outcome NTK_RUN_OK and engines_not_done. 0 if out_results (one per member) are valid; -EINVAL
 * if a program and its core are of different generations, or a program needs another core and is
 * alone. */
int ntk_engine_run_together(const struct ntk_engine_member *members, size_t count,
                            struct ntk_engine_result *out_results, struct ntk_err *err);
/* Same, for a single core. */
int ntk_engine_run(struct ntk_engine_core *core, const struct ntk_engine_program *program,
                   const struct ntk_engine_run_options *options,
                   struct ntk_engine_result *out_result, struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
