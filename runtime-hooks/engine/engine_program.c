/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/engine/engine_program.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/engine/cost_model.h"
#include "runtime-hooks/engine/engine_builder.h"
#include "runtime-hooks/engine/engine_opaque.h"
#include "runtime-hooks/engine/kernel_dtype.h"

static_assert((int)NTK_ENGINE_PE == NTK_ISA_ENGINE_PE && (int)NTK_ENGINE_SP == NTK_ISA_ENGINE_SP,
              "engine ids of the instruction set are those of the event ABI");

/* Limits, because a program may be hostile. */
#define VARIABLES_MAX (1u << 20)
#define NOP_CYCLES_MAX (UINT64_C(1) << 36) /* about 50 s, longer than any execution may take */

static const char *const engine_names[NTK_ENGINE_SEQUENCER_COUNT] = { "PE", "Activation", "Pool",
                                                                      "DVE", "SP" };

/* --- instructions ----------------------------------------------------------------------------- */

static int instr_prepare(struct ntk_engine_builder *b, const struct ntk_isa_instr *instr,
                         struct ntk_engine_instr *out, struct ntk_err *err)
{
    uint64_t cycles = ntk_cost_cycles(NTK_COST_CONTROL, 0);

    out->wait_semaphore = instr->wait_semaphore;
    out->wait_value = instr->wait_value;
    out->signal_semaphore = instr->signal_semaphore;
    out->signal_value = instr->signal_value;
    out->flags = instr->flags;
    out->opcode = ntk_isa_op_info_get((unsigned)instr->op)->opcode;
    out->duration_ps = ntk_cost_cycles_to_ps(b->spec, (enum ntk_engine)b->engine, cycles);
    if (instr->name_id > b->subgraph->engines[b->engine].name_count) {
        return BAD("unknown name number %u: the engine has %u names", instr->name_id,
                   b->subgraph->engines[b->engine].name_count);
    }
    switch (instr->op) {
    case NTK_ISA_OP_NOP:
        cycles = ntk_isa_imm_u64(instr);
        if (cycles > NOP_CYCLES_MAX) {
            return BAD("a nop of %llu cycles is too long", (unsigned long long)cycles);
        }
        out->duration_ps = ntk_cost_cycles_to_ps(b->spec, NTK_ENGINE_SP, cycles);
        return 0;
    case NTK_ISA_OP_DRAIN:
    case NTK_ISA_OP_NOTIFY:
    case NTK_ISA_OP_ACT_TABLE_LOAD:
        return 0;
    case NTK_ISA_OP_EVENT_SEMAPHORE:
        out->kind = NTK_ENGINE_KIND_SYNC;
        out->sync_mode = (uint8_t)instr->imm[0];
        out->sync_number = instr->imm[1];
        out->sync_value = instr->imm[2];
        return 0;
    case NTK_ISA_OP_EVENT_SEMAPHORE_RANGE_CLEAR:
        out->kind = NTK_ENGINE_KIND_SYNC;
        out->sync_mode = NTK_ENGINE_SYNC_RANGE_CLEAR;
        out->sync_number = instr->imm[0];
        out->sync_value = instr->imm[1];
        return 0;
    case NTK_ISA_OP_REGISTER_LOAD:
    case NTK_ISA_OP_REGISTER_STORE:
    case NTK_ISA_OP_REGISTER_MOVE:
    case NTK_ISA_OP_REGISTER_ALU:
    case NTK_ISA_OP_COMPARE_BRANCH:
    case NTK_ISA_OP_FUNCTION:
    case NTK_ISA_OP_CALL:
    case NTK_ISA_OP_RETURN:
    case NTK_ISA_OP_CORE_BARRIER:
        return ntk_engine_flow_prepare(b, instr, out, err);
    case NTK_ISA_OP_DMA_TRIGGER:
    case NTK_ISA_OP_DMA_COPY:
    case NTK_ISA_OP_DMA_INDIRECT_COPY:
    case NTK_ISA_OP_DMA_TRANSPOSE:
    case NTK_ISA_OP_DMA_COMPUTE:
    case NTK_ISA_OP_SENDRECV:
        return ntk_engine_dma_prepare(b, instr, out, err);
    default:
        return ntk_engine_compute_prepare(b, instr, out, err);
    }
}

static int flow_close(struct ntk_engine_builder *b, struct ntk_err *err)
{
    uint32_t slot;
    int ret = ntk_engine_flow_close(b, &slot, err);

    if (ret < 0 && slot != UINT32_MAX) {
        ntk_err_prefix(err, "%s slot %u", engine_names[b->engine], slot);
        if (err) {
            err->offset = (uint64_t)slot * NTK_ISA_SLOT_BYTES;
        }
    } else if (ret < 0) {
        ntk_err_prefix(err, "%s", engine_names[b->engine]);
    }
    return ret;
}

static int engine_prepare(struct ntk_engine_builder *b, struct ntk_err *err)
{
    const struct ntk_neff_engine *engine = &b->subgraph->engines[b->engine];
    struct ntk_engine_program *program = b->program;
    size_t at = 0;
    int ret = 0;

    if (engine->is_empty || engine->code_bytes == 0) {
        program->info.slot_count[b->engine] = (uint32_t)(engine->code_bytes / NTK_ISA_SLOT_BYTES);
        return 0;
    }
    if (engine->nsx_version == 0) {
        return ntk_err_set(err, -ENOTSUP, NTK_ERR_NO_OFFSET,
                           "%s: the engine binary is compiled for NeuronCores, not for software "
                           "cores",
                           engine_names[b->engine]);
    }
    if (engine->nsx_version != NTK_ISA_VERSION) {
        return ntk_err_set(err, -ENOTSUP, NTK_ERR_NO_OFFSET,
                           "%s: unsupported instruction encoding version %u (supported: %u)",
                           engine_names[b->engine], engine->nsx_version, NTK_ISA_VERSION);
    }
    program->info.is_empty = false;
    program->info.slot_count[b->engine] = (uint32_t)(engine->code_bytes / NTK_ISA_SLOT_BYTES);
    free(b->group_dma);
    b->group_dma = calloc((size_t)engine->group_count + 1, sizeof *b->group_dma);
    if (!b->group_dma) {
        return NO_MEMORY();
    }
    b->first_function = program->functions.count;
    b->function = "";
    while (at < engine->code_bytes && ret == 0) {
        struct ntk_isa_instr instr;
        struct ntk_engine_instr *out = ntk_vec_add(&program->instrs[b->engine]);
        size_t slots = 0;

        if (!out) {
            return NO_MEMORY();
        }
        out->slot = (uint32_t)(at / NTK_ISA_SLOT_BYTES);
        ret = ntk_isa_decode(engine->code + at, engine->code_bytes - at, b->engine, &instr, &slots,
                             err);
        if (ret == 0) {
            ret = instr_prepare(b, &instr, out, err);
        }
        if (ret < 0) {
            ntk_err_prefix(err, "%s slot %zu", engine_names[b->engine], at / NTK_ISA_SLOT_BYTES);
            if (err) {
                err->offset = at;
            }
        }
        at += slots * NTK_ISA_SLOT_BYTES;
    }
    program->info.instruction_count[b->engine] = (uint32_t)program->instrs[b->engine].count;
    return ret < 0 ? ret : flow_close(b, err);
}

/* Prepares the targets of pointers and the entries of tables. Returns 0 or -ENOMEM. */
static int references_prepare(struct ntk_engine_program *program, const struct ntk_neff_var *var)
{
    struct ntk_engine_variable *variable = &program->variables[var->var_id];

    if (var->type == NTK_NEFF_VAR_POINTER) {
        if (var->referenced_var_id < program->info.variable_count &&
            program->variables[var->referenced_var_id].is_bound) {
            variable->refers_to = var->referenced_var_id;
        }
        variable->cell = (uint32_t)program->cells.count;
        return ntk_vec_push(&program->cells, &variable->refers_to);
    }
    if (var->type != NTK_NEFF_VAR_DGE_TABLE) {
        return 0;
    }
    variable->first_entry = (uint32_t)program->entries.count;
    variable->entry_count = var->list_count;
    for (uint32_t i = 0; i < var->list_count; i++) {
        if (ntk_vec_push(&program->entries, &var->list[i]) < 0) {
            return -ENOMEM;
        }
    }
    return 0;
}

static int variables_prepare(struct ntk_engine_builder *b, struct ntk_err *err)
{
    const struct ntk_neff_subgraph *subgraph = b->subgraph;
    struct ntk_engine_program *program = b->program;
    uint32_t count = 0;

    for (uint32_t v = 0; v < subgraph->var_count; v++) {
        if (subgraph->vars[v].var_id >= VARIABLES_MAX) {
            return BAD("variable '%s': id %u is too large", subgraph->vars[v].name,
                       subgraph->vars[v].var_id);
        }
        if (subgraph->vars[v].var_id >= count) {
            count = subgraph->vars[v].var_id + 1;
        }
    }
    program->variables = calloc((size_t)count + 1, sizeof *program->variables);
    program->queue_sets =
        calloc((size_t)subgraph->queue_set_count + 1, sizeof *program->queue_sets);
    if (!program->variables || !program->queue_sets) {
        return NO_MEMORY();
    }
    program->info.variable_count = count;
    program->info.queue_count = subgraph->queue_set_count;
    for (uint32_t v = 0; v < subgraph->var_count; v++) {
        const struct ntk_neff_var *var = &subgraph->vars[v];
        struct ntk_engine_variable *variable = &program->variables[var->var_id];

        if (var->type == NTK_NEFF_VAR_STATE_BUFFER) {
            program->sbuf_var_id = var->var_id;
            continue;
        }
        variable->bytes_count = var->bytes_count;
        variable->is_output = var->type == NTK_NEFF_VAR_OUTPUT;
        variable->is_pointer = var->type == NTK_NEFF_VAR_POINTER;
        variable->is_table = var->type == NTK_NEFF_VAR_DGE_TABLE;
        variable->is_bound = !variable->is_pointer && !variable->is_table;
        variable->refers_to = NTK_NEFF_NONE;
    }
    for (uint32_t v = 0; v < subgraph->var_count; v++) {
        int ret = references_prepare(program, &subgraph->vars[v]);

        if (ret < 0) {
            return NO_MEMORY();
        }
    }
    for (uint32_t q = 0; q < subgraph->queue_set_count; q++) {
        uint32_t queues = subgraph->queue_sets[q].queue_count;

        if (queues < 1 || queues > NTK_NEFF_QUEUES_MAX) {
            return BAD("queue set %u has an unsupported number of queues: %u", q, queues);
        }
        if (subgraph->queue_sets[q].pinned && b->spec->generation > 1) {
            return BAD("queue set '%s' is pinned: only NC-v1 supports that",
                       subgraph->queue_sets[q].name);
        }
        program->queue_sets[q].queue_count = queues;
        program->queue_sets[q].semaphore_count = subgraph->queue_sets[q].semaphore_count;
        memcpy(program->queue_sets[q].semaphores, subgraph->queue_sets[q].semaphores,
               sizeof program->queue_sets[q].semaphores);
    }
    return 0;
}

static uint64_t host_bytes(const struct ntk_engine_program *program)
{
    const struct ntk_vec *lists[] = { &program->computes,
                                      &program->starts,
                                      &program->dmas,
                                      &program->transfers,
                                      &program->sources,
                                      &program->indirects,
                                      &program->entries,
                                      &program->cells,
                                      &program->scalars,
                                      &program->functions,
                                      &program->remote_semaphores };
    uint64_t bytes = sizeof *program +
                     (program->info.queue_count + 1ULL) * sizeof *program->queue_sets +
                     (program->info.variable_count + 1ULL) * sizeof *program->variables;

    for (int e = 0; e < NTK_ENGINE_SEQUENCER_COUNT; e++) {
        bytes += (uint64_t)program->instrs[e].capacity * program->instrs[e].item_bytes;
    }
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        bytes += (uint64_t)lists[i]->capacity * lists[i]->item_bytes;
    }
    return bytes;
}

static int engines_prepare(struct ntk_engine_builder *b, struct ntk_err *err)
{
    int ret = 0;

    for (int e = 0; e < NTK_ENGINE_SEQUENCER_COUNT && ret == 0; e++) {
        b->engine = (enum ntk_isa_engine)e;
        ret = engine_prepare(b, err);
    }
    if (ret == 0) {
        ret = ntk_engine_pinned_prepare(b, err);
    }
    for (size_t i = 0; i < b->program->dmas.count && ret == 0; i++) {
        const struct ntk_engine_dma *dma = ntk_vec_at(&b->program->dmas, i);

        for (uint32_t t = 0; t < dma->transfer_count; t++) {
            const struct ntk_engine_transfer *transfer =
                ntk_vec_at(&b->program->transfers, dma->first_transfer + t);

            b->program->info.descriptor_count += transfer->descriptors;
        }
    }
    return ret;
}

static void opaque_prepare(struct ntk_engine_builder *b)
{
    struct ntk_engine_program *program = b->program;

    program->info.is_opaque = true;
    program->opaque_ps =
        ntk_engine_opaque_ps(b->spec, b->subgraph, &program->info.descriptor_count);
    for (int e = 0; e < NTK_ENGINE_SEQUENCER_COUNT; e++) {
        program->info.slot_count[e] =
            (uint32_t)(b->subgraph->engines[e].code_bytes / NTK_ISA_SLOT_BYTES);
    }
}

/* Converts the file's settings for fp8 elements to our rules. */
static int fp8_prepare(struct ntk_engine_builder *b, struct ntk_err *err)
{
    const struct ntk_neff_fp8_config *fp8 = &b->subgraph->fp8;

    if (!fp8->present) {
        return 0;
    }
    if (fp8->emax_e5m2 != 15 || (fp8->emax_e4m3 != 7 && fp8->emax_e4m3 != 8)) {
        return ntk_err_set(err, -ENOTSUP, NTK_ERR_NO_OFFSET,
                           "fp8_conversion_config: unsupported maximum exponents %d for e4m3 and "
                           "%d for e5m2: expected 7 or 8, and 15",
                           fp8->emax_e4m3, fp8->emax_e5m2);
    }
    if (fp8->sis || fp8->sns) {
        return ntk_err_set(err, -ENOTSUP, NTK_ERR_NO_OFFSET,
                           "fp8_conversion_config: unsupported setting %s",
                           fp8->sis ? "fp8_sis" : "fp8_sns");
    }
    b->fp8 = (uint8_t)((fp8->ocp_saturation ? 0 : NTK_KERNEL_FP8_OVERFLOWS) |
                       (fp8->emax_e4m3 == 7 ? NTK_KERNEL_FP8_E4_IEEE : 0));
    return 0;
}

static int program_create(unsigned generation, const struct ntk_neff_subgraph *subgraph,
                          bool is_opaque, struct ntk_engine_program **out_program,
                          struct ntk_err *err)
{
    struct ntk_engine_builder b = { .subgraph = subgraph,
                                    .spec = ntk_engine_core_spec_get(generation) };
    int ret;

    if (!b.spec) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "unknown core generation %u",
                           generation);
    }
    b.program = calloc(1, sizeof *b.program);
    if (!b.program) {
        return NO_MEMORY();
    }
    b.program->generation = generation;
    b.program->spec = b.spec;
    b.program->info.is_empty = true;
    for (int e = 0; e < NTK_ENGINE_SEQUENCER_COUNT; e++) {
        ntk_vec_init(&b.program->instrs[e], sizeof(struct ntk_engine_instr));
    }
    ntk_vec_init(&b.program->computes, sizeof(struct ntk_engine_compute));
    ntk_vec_init(&b.program->starts, sizeof(uint32_t));
    ntk_vec_init(&b.program->dmas, sizeof(struct ntk_engine_dma));
    ntk_vec_init(&b.program->transfers, sizeof(struct ntk_engine_transfer));
    ntk_vec_init(&b.program->sources, sizeof(struct ntk_engine_side));
    ntk_vec_init(&b.program->indirects, sizeof(struct ntk_engine_indirect));
    ntk_vec_init(&b.program->entries, sizeof(uint32_t));
    ntk_vec_init(&b.program->cells, sizeof(uint32_t));
    ntk_vec_init(&b.program->scalars, sizeof(struct ntk_engine_tile));
    ntk_vec_init(&b.program->functions, sizeof(struct ntk_engine_function));
    ntk_vec_init(&b.program->remote_semaphores, sizeof(uint16_t));

    ret = variables_prepare(&b, err);
    if (ret == 0 && is_opaque) {
        opaque_prepare(&b);
    } else if (ret == 0) {
        ret = fp8_prepare(&b, err);
        ret = ret < 0 ? ret : engines_prepare(&b, err);
    }
    if (ret == 0) {
        ntk_engine_writes_of(b.program, &b.program->writes);
        b.program->info.host_bytes = host_bytes(b.program);
        *out_program = b.program;
        b.program = NULL;
    }
    free(b.group_dma);
    ntk_engine_program_destroy(b.program);
    return ret;
}

int ntk_engine_program_create(unsigned generation, const struct ntk_neff_subgraph *subgraph,
                              struct ntk_engine_program **out_program, struct ntk_err *err)
{
    return program_create(generation, subgraph, false, out_program, err);
}

int ntk_engine_program_create_opaque(unsigned generation, const struct ntk_neff_subgraph *subgraph,
                                     struct ntk_engine_program **out_program, struct ntk_err *err)
{
    return program_create(generation, subgraph, true, out_program, err);
}

void ntk_engine_program_destroy(struct ntk_engine_program *program)
{
    if (!program) {
        return;
    }
    for (int e = 0; e < NTK_ENGINE_SEQUENCER_COUNT; e++) {
        ntk_vec_fini(&program->instrs[e]);
    }
    ntk_vec_each(struct ntk_engine_compute, compute, &program->computes) {
        free(compute->prefix);
    }
    ntk_vec_fini(&program->computes);
    ntk_vec_fini(&program->starts);
    ntk_vec_fini(&program->dmas);
    ntk_vec_fini(&program->transfers);
    ntk_vec_fini(&program->sources);
    ntk_vec_fini(&program->indirects);
    ntk_vec_fini(&program->entries);
    ntk_vec_fini(&program->cells);
    ntk_vec_fini(&program->scalars);
    ntk_vec_fini(&program->functions);
    ntk_vec_fini(&program->remote_semaphores);
    free(program->queue_sets);
    free(program->variables);
    free(program);
}

void ntk_engine_program_info_get(const struct ntk_engine_program *program,
                                 struct ntk_engine_program_info *out_info)
{
    *out_info = program->info;
}
