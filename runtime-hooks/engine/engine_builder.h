/* SPDX-License-Identifier: MIT */
/*
 * engine_builder - common parts of the files that make a program from a subgraph.
 *
 * Private to engine_program.c (variables, instructions), engine_compute.c (compute operands),
 * engine_dma.c (transfers) and engine_program_flow.c (registers, jumps, functions).
 */
#ifndef NTK_RUNTIME_HOOKS_ENGINE_ENGINE_BUILDER_H
#define NTK_RUNTIME_HOOKS_ENGINE_ENGINE_BUILDER_H

#include <errno.h>

#include "runtime-hooks/engine/engine_program.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BAD(...) ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, __VA_ARGS__)
#define NO_MEMORY() ntk_err_no_memory(err)

struct ntk_engine_builder {
    struct ntk_engine_program *program;
    const struct ntk_neff_subgraph *subgraph;
    const struct ntk_engine_core_spec *spec;
    enum ntk_isa_engine engine;
    uint8_t fp8; /* enum ntk_kernel_fp8, for all tiles and walks */
    /* For each group of the engine, its index in dmas + 1; filled when triggers refer to it. */
    uint32_t *group_dma;
    size_t first_function; /* index of this engine's first function in program->functions */
    const char *function;  /* function of the current instruction; "": none */
};

static inline ptrdiff_t ntk_engine_sbuf_pitch(const struct ntk_engine_core_spec *spec)
{
    return (ptrdiff_t)spec->sbuf_partition_bytes + NTK_ENGINE_PITCH_EXTRA;
}

static inline ptrdiff_t ntk_engine_psum_pitch(const struct ntk_engine_core_spec *spec)
{
    return (ptrdiff_t)spec->psum_partition_bytes + NTK_ENGINE_PITCH_EXTRA;
}

/* Checks an operand in SBUF or PSUM against the generation's partitions. Returns -EBADMSG if
 * invalid. */
int ntk_engine_tile_prepare(const struct ntk_engine_builder *b, const char *what,
                            const struct ntk_isa_operand *operand, struct ntk_engine_tile *out,
                            struct ntk_err *err);

/* Checks a compute instruction. Returns -EBADMSG or -ENOMEM. */
int ntk_engine_compute_prepare(struct ntk_engine_builder *b, const struct ntk_isa_instr *instr,
                               struct ntk_engine_instr *out, struct ntk_err *err);

/* Checks a DMA operation, and adds what it starts to the program and to out. Returns -EBADMSG,
 * -ENOTSUP or -ENOMEM. */
int ntk_engine_dma_prepare(struct ntk_engine_builder *b, const struct ntk_isa_instr *instr,
                           struct ntk_engine_instr *out, struct ntk_err *err);

/* Adds all groups of pinned queue sets of all engines, after the instructions. Returns -EBADMSG,
 * -ENOTSUP or -ENOMEM. */
int ntk_engine_pinned_prepare(struct ntk_engine_builder *b, struct ntk_err *err);

/* Checks registers, jumps, functions and barriers. Targets are slots until ntk_engine_flow_close().
 * Returns -EBADMSG or -ENOMEM. */
int ntk_engine_flow_prepare(struct ntk_engine_builder *b, const struct ntk_isa_instr *instr,
                            struct ntk_engine_instr *out, struct ntk_err *err);
/* Called after the engine's last instruction: converts targets to instructions. On failure
 * (-EBADMSG), *out_slot is the invalid slot, or UINT32_MAX. */
int ntk_engine_flow_close(struct ntk_engine_builder *b, uint32_t *out_slot, struct ntk_err *err);
/* Returns true if a trigger at the builder's position may start this group. */
bool ntk_engine_flow_group_is_here(const struct ntk_engine_builder *b, uint32_t group_index);
/* Rejects a feature that generations before this one lack, with -EBADMSG. */
int ntk_engine_flow_since(const struct ntk_engine_builder *b, unsigned generation, const char *what,
                          struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
