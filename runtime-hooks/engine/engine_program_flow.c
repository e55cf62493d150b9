/* SPDX-License-Identifier: MIT */
/*
 * engine_program_flow - the control flow of a program: registers, branches, functions, and their
 * DMA groups.
 */
#include <string.h>

#include "runtime-hooks/engine/engine_builder.h"
#include "runtime-hooks/engine/engine_core.h"
#include "shared/base/bisect.h"

#define FUNCTIONS_MAX 1024

int ntk_engine_flow_since(const struct ntk_engine_builder *b, unsigned generation, const char *what,
                          struct ntk_err *err)
{
    return b->spec->generation >= generation
               ? 0
               : BAD("%s, which %s does not have", what, b->spec->name);
}

/* --- instructions ----------------------------------------------------------------------------- */

static int scalar_prepare(struct ntk_engine_builder *b, const char *what,
                          const struct ntk_isa_operand *operand, struct ntk_engine_instr *out,
                          struct ntk_err *err)
{
    struct ntk_engine_tile tile;
    int ret = ntk_engine_tile_prepare(b, what, operand, &tile, err);

    if (ret < 0) {
        return ret;
    }
    out->first = (uint32_t)b->program->scalars.count;
    return ntk_vec_push(&b->program->scalars, &tile) < 0 ? NO_MEMORY() : 0;
}

static int function_prepare(struct ntk_engine_builder *b, const struct ntk_isa_instr *instr,
                            uint32_t slot, struct ntk_err *err)
{
    const char *name = b->subgraph->engines[b->engine].names[instr->name_id - 1];
    struct ntk_vec *functions = &b->program->functions;
    struct ntk_engine_function *function;
    int ret = ntk_engine_flow_since(b, 2, "a function", err);

    if (ret < 0) {
        return ret;
    }
    if (name[0] == '\0') {
        return BAD("a function with an empty name");
    }
    if (functions->count - b->first_function >= FUNCTIONS_MAX) {
        return BAD("too many functions (at most %d)", FUNCTIONS_MAX);
    }
    function = ntk_vec_add(functions);
    if (!function) {
        return NO_MEMORY();
    }
    *function =
        (struct ntk_engine_function){ .name = name,
                                      .engine = (uint32_t)b->engine,
                                      .slot = slot,
                                      .begin =
                                          (uint32_t)(b->program->instrs[b->engine].count - 1) };
    b->function = name;
    return 0;
}

int ntk_engine_flow_prepare(struct ntk_engine_builder *b, const struct ntk_isa_instr *instr,
                            struct ntk_engine_instr *out, struct ntk_err *err)
{
    out->reg_to = instr->reg_to;
    out->reg_a = instr->reg_a;
    out->reg_b = instr->reg_b;
    out->sync_mode = (uint8_t)instr->op0;
    out->sync_value = instr->imm[0];
    b->program->has_flow = true;
    switch (instr->op) {
    case NTK_ISA_OP_REGISTER_LOAD:
        out->kind = NTK_ENGINE_KIND_REGISTER_LOAD;
        return scalar_prepare(b, "source 0", &instr->operand[NTK_ISA_SRC0], out, err);
    case NTK_ISA_OP_REGISTER_STORE:
        out->kind = NTK_ENGINE_KIND_REGISTER_STORE;
        return scalar_prepare(b, "destination", &instr->operand[NTK_ISA_DST], out, err);
    case NTK_ISA_OP_REGISTER_MOVE:
        out->kind = NTK_ENGINE_KIND_REGISTER_MOVE;
        return 0;
    case NTK_ISA_OP_REGISTER_ALU:
        out->kind = NTK_ENGINE_KIND_REGISTER_ALU;
        return 0;
    case NTK_ISA_OP_FUNCTION:
        return function_prepare(b, instr, out->slot, err);
    case NTK_ISA_OP_CORE_BARRIER:
        out->kind = NTK_ENGINE_KIND_BARRIER;
        out->sync_number = instr->imm[0];
        return ntk_engine_flow_since(b, 3, "core_barrier requires cores that run together", err);
    case NTK_ISA_OP_CALL:
        out->kind = NTK_ENGINE_KIND_CALL;
        break;
    case NTK_ISA_OP_RETURN:
        out->kind = NTK_ENGINE_KIND_RETURN;
        break;
    default:
        out->kind = NTK_ENGINE_KIND_BRANCH;
        break;
    }
    b->program->has_jumps = true;
    out->first = instr->target;
    return 0;
}

/* --- targets ---------------------------------------------------------------------------------- */

/* Finds the instruction with its head in that slot, or one past the last; false if there is
 * none. */
static bool instr_at_slot(const struct ntk_engine_builder *b, uint32_t slot, uint32_t *out_index)
{
    const struct ntk_vec *instrs = &b->program->instrs[b->engine];
    const struct ntk_engine_instr *all = instrs->items;
    size_t low = 0;

    NTK_BISECT(low, instrs->count, i, all[i].slot < slot);
    *out_index = (uint32_t)low;
    if (low == instrs->count) {
        return slot == b->program->info.slot_count[b->engine];
    }
    return ((const struct ntk_engine_instr *)ntk_vec_at(instrs, low))->slot == slot;
}

static int branch_close(const struct ntk_engine_builder *b, struct ntk_engine_instr *instr,
                        uint32_t begin, uint32_t end, struct ntk_err *err)
{
    uint32_t index = 0;

    if (!instr_at_slot(b, instr->first, &index)) {
        return BAD("jumps to slot %u, where no instruction starts", instr->first);
    }
    if (index < begin || index > end) {
        return BAD("jumps to slot %u, outside its function", instr->first);
    }
    instr->first = index;
    return 0;
}

/* Resolves calls. Functions may only call later functions, so recursion is impossible, and depths
 * are computed from the last function on. */
static int call_close(const struct ntk_engine_builder *b, struct ntk_engine_instr *instr,
                      size_t here, uint32_t *depth, struct ntk_err *err)
{
    const struct ntk_vec *functions = &b->program->functions;

    for (size_t f = here; f < functions->count; f++) {
        const struct ntk_engine_function *function = ntk_vec_at(functions, f);

        if (function->slot != instr->first) {
            continue;
        }
        if (function->depth + 1 > NTK_ENGINE_CALLS_MAX) {
            return BAD("too many nested calls (at most %d)", NTK_ENGINE_CALLS_MAX);
        }
        *depth = function->depth + 1 > *depth ? function->depth + 1 : *depth;
        instr->first = (uint32_t)f;
        return 0;
    }
    return BAD("calls slot %u, which is not a later function", instr->first);
}

/* Resolves the instructions [begin, end) of one function; functions that it may call start at
 * `callable`. */
static int body_close(struct ntk_engine_builder *b, uint32_t begin, uint32_t end, size_t callable,
                      uint32_t *out_depth, uint32_t *out_slot, struct ntk_err *err)
{
    *out_depth = 0;
    for (uint32_t i = begin; i < end; i++) {
        struct ntk_engine_instr *instr = ntk_vec_at(&b->program->instrs[b->engine], i);
        int ret = 0;

        if (instr->kind == NTK_ENGINE_KIND_BRANCH) {
            ret = branch_close(b, instr, begin, end, err);
        } else if (instr->kind == NTK_ENGINE_KIND_CALL) {
            ret = call_close(b, instr, callable, out_depth, err);
        }
        if (ret < 0) {
            *out_slot = instr->slot;
            return ret;
        }
    }
    return 0;
}

/* --- groups of functions ---------------------------------------------------------------------- */

/* The function that a group belongs to: the last one named in its queue set. */
static const char *group_function(const struct ntk_neff_engine *engine, uint32_t group_index)
{
    const struct ntk_neff_dma_group *group = &engine->groups[group_index];

    for (uint32_t g = group_index + 1; g-- > 0;) {
        if (engine->groups[g].queue_set == group->queue_set &&
            engine->groups[g].function_start[0] != '\0') {
            return engine->groups[g].function_start;
        }
    }
    return "";
}

bool ntk_engine_flow_group_is_here(const struct ntk_engine_builder *b, uint32_t group_index)
{
    /* Functions are impossible in the first generation, which group_prepare() reports. */
    return b->spec->generation == 1 ||
           strcmp(group_function(&b->subgraph->engines[b->engine], group_index), b->function) == 0;
}

/* Checks that names are unique and that every group starts in an existing function. */
static int names_close(const struct ntk_engine_builder *b, struct ntk_err *err)
{
    const struct ntk_neff_engine *engine = &b->subgraph->engines[b->engine];
    const struct ntk_vec *functions = &b->program->functions;

    for (size_t f = b->first_function; f < functions->count; f++) {
        const struct ntk_engine_function *function = ntk_vec_at(functions, f);

        for (size_t k = b->first_function; k < f; k++) {
            const struct ntk_engine_function *other = ntk_vec_at(functions, k);

            if (strcmp(function->name, other->name) == 0) {
                return BAD("duplicate function '%s'", function->name);
            }
        }
    }
    for (uint32_t g = 0; g < engine->group_count && b->spec->generation > 1; g++) {
        const char *name = engine->groups[g].function_start;
        bool is_there = name[0] == '\0';

        for (size_t f = b->first_function; f < functions->count && !is_there; f++) {
            const struct ntk_engine_function *function = ntk_vec_at(functions, f);

            is_there = strcmp(function->name, name) == 0;
        }
        if (!is_there) {
            return BAD("DMA group %u starts function '%s', which is missing from the binary",
                       engine->groups[g].id, name);
        }
    }
    return 0;
}

int ntk_engine_flow_close(struct ntk_engine_builder *b, uint32_t *out_slot, struct ntk_err *err)
{
    struct ntk_engine_program *program = b->program;
    struct ntk_vec *functions = &program->functions;
    uint32_t end = (uint32_t)program->instrs[b->engine].count;
    uint32_t depth = 0;
    int ret;

    *out_slot = UINT32_MAX;
    ret = names_close(b, err);
    for (size_t f = functions->count; f-- > b->first_function && ret == 0;) {
        struct ntk_engine_function *function = ntk_vec_at(functions, f);

        function->end = end;
        ret = body_close(b, function->begin + 1, end, f + 1, &function->depth, out_slot, err);
        end = function->begin;
    }
    program->main_end[b->engine] = end;
    if (ret == 0) {
        ret = body_close(b, 0, end, b->first_function, &depth, out_slot, err);
    }
    for (size_t f = b->first_function; f < functions->count; f++) {
        ((struct ntk_engine_function *)ntk_vec_at(functions, f))->name = NULL;
    }
    return ret;
}
