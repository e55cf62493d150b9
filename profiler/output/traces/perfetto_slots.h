/* SPDX-License-Identifier: MIT */
/*
 * perfetto_slots - writes the arguments of slices for instructions and transfers: the bytes of a
 * program's slot, which all its slices repeat.
 *
 * Most slots of an unrolled program run once. The first slice of a slot has its unshared texts in
 * place; the second interns them, and from then on its arguments are stored. Arguments with shared
 * texts are encoded once: lines, operands, and function and iteration of the previous instruction.
 *
 * Owner: _create() allocates, _destroy() frees; export and writer are borrowed. Threads: one.
 */
#ifndef NTK_PROFILER_OUTPUT_TRACES_PERFETTO_SLOTS_H
#define NTK_PROFILER_OUTPUT_TRACES_PERFETTO_SLOTS_H

#include "profiler/output/traces/perfetto_writer.h"

/* Layers have separate numbers; code added by the runtime has no layer, so its number is free. */
#define NTK_PERFETTO_UNKNOWN_LAYER NTK_LAYER_RUNTIME

/* Interned names of arguments, as number and name. */
#define NTK_PERFETTO_ARGUMENTS(ARGUMENT)             \
    ARGUMENT(PC, "pc")                               \
    ARGUMENT(COMPILER_PC, "compiler_pc")             \
    ARGUMENT(WAIT, "evt_wait_time_ns")               \
    ARGUMENT(LAYER, "layer")                         \
    ARGUMENT(BIR_NAME, "bir_instruction_name")       \
    ARGUMENT(PENGUIN_TEXT, "penguin_text")           \
    ARGUMENT(PREDECESSORS, "predecessors")           \
    ARGUMENT(OPERANDS, "operands")                   \
    ARGUMENT(COMPILER_OPERANDS, "compiler_operands") \
    ARGUMENT(BYTES, "bytes")                         \
    ARGUMENT(PACKETS, "packets")                     \
    ARGUMENT(VARIABLE, "variable")                   \
    ARGUMENT(SOURCE, "source")                       \
    ARGUMENT(DEST, "dest")                           \
    ARGUMENT(DMA_NAME, "dma_name")                   \
    ARGUMENT(FUNCTION, "function")                   \
    ARGUMENT(ITERATION, "iteration")

enum ntk_perfetto_argument_name {
    NTK_PERFETTO_NO_ARGUMENT,
#define NTK_PERFETTO_ARGUMENT_ID(id, name) NTK_PERFETTO_##id,
    NTK_PERFETTO_ARGUMENTS(NTK_PERFETTO_ARGUMENT_ID)
#undef NTK_PERFETTO_ARGUMENT_ID
        NTK_PERFETTO_ARGUMENT_COUNT,
};

struct ntk_perfetto_slots;

/* Returns NULL if out of memory. */
struct ntk_perfetto_slots *ntk_perfetto_slots_create(struct ntk_perfetto *to,
                                                     const struct ntk_export *export,
                                                     size_t core_index);
void ntk_perfetto_slots_destroy(struct ntk_perfetto_slots *slots);

/* Both functions first write interned data of the arguments; results are valid until the next call.
 * Return 0 or -errno. */
int ntk_perfetto_slots_instruction(struct ntk_perfetto_slots *slots,
                                   const struct ntk_trace_instruction *instruction,
                                   struct ntk_perfetto_arguments *out_arguments);
/* by: the instruction that started the transfer. */
int ntk_perfetto_slots_transfer(struct ntk_perfetto_slots *slots,
                                const struct ntk_transfer *transfer,
                                const struct ntk_trace_instruction *by,
                                struct ntk_perfetto_arguments *out_arguments);

#endif
