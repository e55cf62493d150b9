/* SPDX-License-Identifier: MIT */
/* engine_dma - DMA instructions of a program, and the descriptor groups that they start. */
#include "runtime-hooks/engine/engine_dma.h"

#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/engine/cost_model.h"

/* Limits, because a program may be hostile. */
#define DMA_STARTS_MAX (1u << 22)
#define INDICES_MAX (1u << 20) /* maximum rows of one indirect copy */
/* limit for all rows together, if that is more than the memories hold */
#define ROWS_BYTES_MAX (UINT64_C(1) << 30)
#define DGE_HARDWARE_GENERATION 3

/* --- DMA instructions ------------------------------------------------------------------------- */

static int start_add(struct ntk_engine_builder *b, uint32_t dma, struct ntk_engine_instr *out,
                     struct ntk_err *err)
{
    if (b->program->dma_start_count >= DMA_STARTS_MAX) {
        return BAD("starts more than %u transfers", DMA_STARTS_MAX);
    }
    if (ntk_vec_push(&b->program->starts, &dma) < 0) {
        return NO_MEMORY();
    }
    if (out->count == 0) {
        out->first = (uint32_t)(b->program->starts.count - 1);
    }
    out->count++;
    b->program->dma_start_count++;
    return 0;
}

/* Returns true if the group is possible on the first generation: copies of bytes, without
 * functions, sections and queue instances. */
static bool group_is_plain(const struct ntk_neff_dma_group *group)
{
    bool is_plain = !group->instance && group->function_start[0] == '\0' && !group->section_start;

    for (uint32_t t = 0; t < group->transfer_count; t++) {
        const struct ntk_neff_transfer *transfer = &group->transfers[t];

        is_plain = is_plain && transfer->op == NTK_NEFF_TRANSFER_COPY &&
                   !transfer->has_source_array && !transfer->has_constant &&
                   transfer->to.dtype == NTK_DTYPE_UINT8 &&
                   transfer->from[0].dtype == NTK_DTYPE_UINT8;
    }
    return is_plain;
}

/* The instance of its queue set that a group belongs to; NTK_NEFF_NONE if it names none. */
static uint32_t instance_of(const struct ntk_engine_builder *b,
                            const struct ntk_neff_dma_group *group)
{
    const struct ntk_neff_queue_set *set = &b->subgraph->queue_sets[group->queue_set];

    for (uint32_t i = 0; group->instance && i < set->instance_count; i++) {
        if (strcmp(set->instances[i], group->instance) == 0) {
            return i;
        }
    }
    return NTK_NEFF_NONE;
}

/* Prepares the semaphores of the other core that the group signals. */
static int remote_prepare(struct ntk_engine_builder *b, const struct ntk_neff_dma_group *group,
                          struct ntk_engine_dma *dma, struct ntk_err *err)
{
    struct ntk_vec *numbers = &b->program->remote_semaphores;

    if (group->remote_semaphore_count == 0) {
        return 0;
    }
    if (b->spec->generation < 3) {
        return BAD("DMA group %u signals another core, which %s does not support", group->id,
                   b->spec->name);
    }
    dma->first_remote = (uint32_t)numbers->count;
    dma->remote_count = group->remote_semaphore_count;
    b->program->info.needs_partner = true;
    for (uint32_t i = 0; i < group->remote_semaphore_count; i++) {
        if (group->remote_semaphores[i] >= NTK_ISA_SEMAPHORES) {
            return BAD("DMA group %u signals invalid semaphore %u of the other core", group->id,
                       group->remote_semaphores[i]);
        }
        if (ntk_vec_push(numbers, &group->remote_semaphores[i]) < 0) {
            return NO_MEMORY();
        }
    }
    return 0;
}

static int group_prepare(struct ntk_engine_builder *b, uint32_t group_index, struct ntk_err *err)
{
    const struct ntk_neff_dma_group *group = &b->subgraph->engines[b->engine].groups[group_index];
    struct ntk_engine_dma *dma = ntk_vec_add(&b->program->dmas);
    uint32_t first = (uint32_t)b->program->transfers.count;
    int ret;

    if (!dma) {
        return NO_MEMORY();
    }
    b->group_dma[group_index] = (uint32_t)b->program->dmas.count;
    if (b->spec->generation == 1 && !group_is_plain(group)) {
        return BAD("DMA group %u does more than copy, which NC-v1 does not support", group->id);
    }
    dma->queue_set = group->queue_set;
    dma->group_id = group->id;
    dma->first_transfer = first;
    dma->transfer_count = group->transfer_count;
    dma->semaphore = group->semaphore;
    dma->semaphore_value = b->program->queue_sets[group->queue_set].queue_count;
    dma->event = group->event;
    dma->instance = instance_of(b, group);
    dma->at_first_queue = group->section_start;
    if ((group->semaphore != NTK_NEFF_NONE && group->semaphore >= NTK_ISA_SEMAPHORES) ||
        (group->event != NTK_NEFF_NONE && group->event >= NTK_ISA_EVENTS)) {
        return BAD("DMA group %u signals an invalid semaphore (%u) or event (%u)", group->id,
                   group->semaphore, group->event);
    }
    ret = remote_prepare(b, group, dma, err);
    if (ret < 0) {
        return ret;
    }
    for (uint32_t t = 0; t < group->transfer_count; t++) {
        ret = engine_dma_transfer_prepare(b, &group->transfers[t], err);

        if (ret < 0) {
            ntk_err_prefix(err, "DMA group %u, transfer %u", group->id, t);
            return ret;
        }
    }
    return 0;
}

/* Checks a pinned group: it loads constants to the state buffer, and no instruction waits for
 * it. */
static int pinned_check(const struct ntk_engine_builder *b, const struct ntk_neff_dma_group *group,
                        struct ntk_err *err)
{
    const struct ntk_neff_var *vars = b->subgraph->vars;

    if (group->semaphore != NTK_NEFF_NONE || group->event != NTK_NEFF_NONE ||
        group->remote_semaphore_count > 0) {
        return BAD("it cannot signal a semaphore or event: it runs before the program");
    }
    for (uint32_t t = 0; t < group->transfer_count; t++) {
        const struct ntk_neff_transfer *transfer = &group->transfers[t];
        const struct ntk_neff_var *from = &vars[transfer->from[0].var];

        if (vars[transfer->to.var].type != NTK_NEFF_VAR_STATE_BUFFER) {
            return BAD("it must write to the state buffer, but writes to %s",
                       vars[transfer->to.var].name);
        }
        if (from->type != NTK_NEFF_VAR_FILE) {
            return BAD("it must read a constant, but reads %s", from->name);
        }
    }
    return 0;
}

int ntk_engine_pinned_prepare(struct ntk_engine_builder *b, struct ntk_err *err)
{
    struct ntk_engine_instr start = { 0 };
    int ret = 0;

    for (int e = 0; e < NTK_ENGINE_SEQUENCER_COUNT && ret == 0; e++) {
        const struct ntk_neff_engine *engine = &b->subgraph->engines[e];

        b->engine = (enum ntk_isa_engine)e;
        free(b->group_dma);
        b->group_dma = calloc((size_t)engine->group_count + 1, sizeof *b->group_dma);
        if (!b->group_dma) {
            return NO_MEMORY();
        }
        for (uint32_t g = 0; g < engine->group_count && ret == 0; g++) {
            const struct ntk_neff_dma_group *group = &engine->groups[g];
            const struct ntk_neff_queue_set *set = &b->subgraph->queue_sets[group->queue_set];
            struct ntk_engine_dma *dma;

            if (!set->pinned) {
                continue;
            }
            ret = pinned_check(b, group, err);
            ret = ret < 0 ? ret : group_prepare(b, g, err);
            if (ret < 0) {
                ntk_err_prefix(err, "group %u of pinned queue set '%s'", group->id, set->name);
                break;
            }
            dma = ntk_vec_at(&b->program->dmas, b->group_dma[g] - 1);
            dma->is_pinned = true;
            ret = start_add(b, b->group_dma[g] - 1, &start, err);
        }
    }
    b->program->pinned_first = start.first;
    b->program->pinned_count = start.count;
    return ret;
}

static int trigger_prepare(struct ntk_engine_builder *b, const struct ntk_isa_instr *instr,
                           struct ntk_engine_instr *out, struct ntk_err *err)
{
    const struct ntk_neff_engine *engine = &b->subgraph->engines[b->engine];

    for (uint32_t g = 0; g < engine->group_count; g++) {
        int ret = 0;

        if (engine->groups[g].id != instr->group_id ||
            engine->groups[g].queue_set != instr->queue || !ntk_engine_flow_group_is_here(b, g) ||
            (instr->imm[0] != 0 && instance_of(b, &engine->groups[g]) != instr->imm[0] - 1)) {
            continue;
        }
        if (b->group_dma[g] == 0) {
            ret = group_prepare(b, g, err);
        }
        if (ret == 0) {
            ret = start_add(b, b->group_dma[g] - 1, out, err);
        }
        if (ret < 0) {
            return ret;
        }
    }
    if (out->count == 0) {
        return instr->imm[0] == 0
                   ? BAD("queue set %u has no DMA group %u%s%s", instr->queue, instr->group_id,
                         b->function[0] ? " for function " : "", b->function)
                   : BAD("instance %u of queue set %u has no DMA group %u", instr->imm[0],
                         instr->queue, instr->group_id);
    }
    return 0;
}

/* Prepares the indices of one side; `of` is a row of that side. */
static int index_prepare(struct ntk_engine_builder *b, const char *what,
                         const struct ntk_isa_operand *indices, const uint32_t *imm,
                         const struct ntk_engine_variable *table, const struct ntk_engine_side *of,
                         struct ntk_engine_index *out, struct ntk_err *err)
{
    if (!indices) {
        return 0;
    }
    out->is_present = true;
    out->row_step = imm[0];
    out->index_max = imm[1];
    if (table) {
        if (imm[0] != 0) {
            return BAD("%s: a table cannot have a row step: its entries are the rows", what);
        }
        out->first_entry = table->first_entry;
        out->entry_count = table->entry_count;
    }
    if (!ntk_dma_walk_extent(&of->walk, &out->row_low, &out->row_high)) {
        return BAD("%s: a row exceeds the address space", what);
    }
    return engine_dma_side_from_operand(b, what, indices, NULL, &out->indices, err);
}

/* Sets limits and sums of an indirect move once its sides are known. */
static int indirect_finish(struct ntk_engine_builder *b, struct ntk_engine_transfer *transfer,
                           const struct ntk_engine_side *source,
                           struct ntk_engine_indirect *indirect, struct ntk_err *err)
{
    const struct ntk_engine_side *indices = indirect->of_source.is_present
                                                ? &indirect->of_source.indices
                                                : &indirect->of_destination.indices;
    uint64_t row_read;
    uint64_t row_write;
    uint64_t limit = engine_dma_memory_bytes(b, source);
    uint64_t elements = 0;

    limit = limit > engine_dma_memory_bytes(b, &transfer->to)
                ? limit
                : engine_dma_memory_bytes(b, &transfer->to);
    limit = limit > ROWS_BYTES_MAX ? limit : ROWS_BYTES_MAX; /* rows may be repeated */
    ntk_dma_walk_elements(&indices->walk, &indirect->rows);
    ntk_dma_walk_elements(indirect->of_source.is_present ? &source->walk : &transfer->to.walk,
                          &elements);
    indirect->row_elements = elements;
    row_read = elements * ntk_dtype_bytes(source->walk.dtype);
    row_write = elements * ntk_dtype_bytes(transfer->to.walk.dtype);
    if (indirect->rows > INDICES_MAX || row_write > limit / indirect->rows ||
        row_read > limit / indirect->rows) {
        return BAD("%llu rows of %llu bytes exceed the limit of %u rows or %llu bytes",
                   (unsigned long long)indirect->rows,
                   (unsigned long long)(row_read > row_write ? row_read : row_write),
                   (unsigned)INDICES_MAX, (unsigned long long)limit);
    }
    transfer->read_bytes = indirect->rows * row_read;
    transfer->write_bytes = indirect->rows * row_write;
    transfer->hbm_read_bytes = engine_dma_side_is_hbm(source) ? transfer->read_bytes : 0;
    transfer->hbm_write_bytes = engine_dma_side_is_hbm(&transfer->to) ? transfer->write_bytes : 0;
    if (transfer->accumulates && engine_dma_side_is_hbm(&transfer->to)) {
        transfer->hbm_read_bytes += transfer->write_bytes;
    }
    transfer->run_bytes =
        source->run_bytes < transfer->to.run_bytes ? source->run_bytes : transfer->to.run_bytes;
    transfer->run_bytes = transfer->run_bytes < row_write ? transfer->run_bytes : row_write;
    transfer->descriptors = indirect->rows;
    /* Memory for indices and addresses of all rows, for one row read and one written, and for all
     * read data if written rows may overlap it. */
    transfer->bounce_bytes = 4 * (indirect->rows * sizeof(uint64_t) + 8) + row_read + row_write +
                             128 + (source->bounces ? transfer->read_bytes + 64 : 0);
    if (transfer->bounce_bytes > b->program->bounce_bytes_max) {
        b->program->bounce_bytes_max = transfer->bounce_bytes;
    }
    return 0;
}

static int indirect_prepare(struct ntk_engine_builder *b, const struct ntk_isa_instr *instr,
                            struct ntk_engine_transfer *transfer, struct ntk_engine_side *source,
                            struct ntk_err *err)
{
    struct ntk_engine_indirect *indirect = ntk_vec_add(&b->program->indirects);
    struct ntk_isa_indexing by = ntk_isa_indexing_get(instr);
    const struct ntk_engine_variable *to_table = NULL;
    const struct ntk_engine_variable *from_table = NULL;
    int ret;

    if (!indirect) {
        return NO_MEMORY();
    }
    transfer->move = NTK_ENGINE_MOVE_INDIRECT;
    transfer->indirect = (uint32_t)(b->program->indirects.count - 1);
    transfer->accumulates = (instr->op_flags & NTK_ISA_OPF_ACCUMULATE) != 0;
    indirect->has_bounds = (instr->op_flags & NTK_ISA_OPF_BOUNDS) != 0;
    indirect->skips = (instr->op_flags & NTK_ISA_OPF_OOB_SKIP) != 0;
    if ((ret = engine_dma_side_from_operand(b, "destination", &instr->operand[NTK_ISA_DST],
                                            by.of_destination ? &to_table : NULL, &transfer->to,
                                            err)) < 0 ||
        (ret = engine_dma_side_from_operand(b, "source 0", &instr->operand[NTK_ISA_SRC0],
                                            by.of_source ? &from_table : NULL, source, err)) < 0 ||
        (ret = index_prepare(b, "index of the source", by.of_source, &instr->imm[0], from_table,
                             source, &indirect->of_source, err)) < 0 ||
        (ret = index_prepare(b, "index of the destination", by.of_destination,
                             &instr->imm[by.destination_imm], to_table, &transfer->to,
                             &indirect->of_destination, err)) < 0) {
        return ret;
    }
    /* Rows may be anywhere in their variables, so only the variables show whether the sides can
     * overlap. */
    source->bounces = source->region == transfer->to.region &&
                      (source->region != NTK_ENGINE_REGION_VAR ||
                       source->var_id == transfer->to.var_id || to_table || from_table);
    return indirect_finish(b, transfer, source, indirect, err);
}

static int direct_prepare(struct ntk_engine_builder *b, const struct ntk_isa_instr *instr,
                          struct ntk_engine_transfer *transfer, struct ntk_err *err)
{
    static const char *const names[NTK_ISA_DMA_SOURCES] = { "source 0", "source 1", "source 2",
                                                            "source 3" };
    struct ntk_vec *sources = &b->program->sources;
    int ret = engine_dma_side_from_operand(b, "destination", &instr->operand[NTK_ISA_DST], NULL,
                                           &transfer->to, err);

    if (ret == 0) {
        ret = engine_dma_memory_bound(b, &transfer->to, err);
    }
    if (ret < 0) {
        return ret;
    }
    transfer->source_count = 0;
    for (int s = 0; s < NTK_ISA_DMA_SOURCES; s++) {
        const struct ntk_isa_operand *operand = &instr->operand[ntk_isa_dma_sources[s]];
        struct ntk_engine_side *side;

        if (operand->space == NTK_ISA_SPACE_NONE) {
            continue;
        }
        side = s == 0 ? ntk_vec_at(sources, transfer->first_source) : ntk_vec_add(sources);
        if (!side) {
            return NO_MEMORY();
        }
        ret = engine_dma_side_from_operand(b, names[s], operand, NULL, side, err);
        if (ret < 0) {
            return ret;
        }
        transfer->source_count++;
        side->scale = ntk_isa_bits_float(instr->imm[s]);
        side->bounces =
            engine_dma_sides_meet(&transfer->to, side) || instr->op == NTK_ISA_OP_DMA_TRANSPOSE;
        if (side->bounces) {
            transfer->bounce_bytes += engine_dma_side_bytes(side) + 64;
        }
    }
    return 0;
}

static void transpose_order(const struct ntk_isa_instr *instr, struct ntk_engine_transfer *transfer)
{
    const struct ntk_isa_operand *from = &instr->operand[NTK_ISA_SRC0];
    unsigned rank = ntk_isa_transpose_rank(from);
    unsigned pad = 4 - rank;

    for (unsigned d = 0; d < 4; d++) {
        transfer->shape[d] = 1;
        transfer->order[d] = (uint8_t)d;
    }
    for (unsigned d = 0; d < rank; d++) {
        bool is_partitions = rank > from->dim_count && d == 0;

        transfer->shape[pad + d] =
            is_partitions ? from->partition_count : from->dim[rank - 1 - d].count;
        transfer->order[pad + d] = (uint8_t)(pad + (instr->imm[0] >> (8 * d) & 0xff));
    }
}

static void compute_rule(const struct ntk_isa_instr *instr, const struct ntk_engine_side *sources,
                         struct ntk_engine_transfer *transfer)
{
    transfer->move = NTK_ENGINE_MOVE_COMPUTE;
    transfer->accumulates = (instr->op_flags & NTK_ISA_OPF_ACCUMULATE) != 0;
    transfer->fold = instr->op0 == NTK_ISA_ALU_MINIMUM   ? NTK_DMA_MIN
                     : instr->op0 == NTK_ISA_ALU_MAXIMUM ? NTK_DMA_MAX
                                                         : NTK_DMA_ADD;
    /* A sum without scales is a plain sum, even of integers. */
    for (uint32_t s = 0; s < transfer->source_count; s++) {
        if (transfer->fold == NTK_DMA_ADD && sources[s].scale != 1.0F) {
            transfer->fold = NTK_DMA_FMA;
        }
    }
}

/* Checks that the engine is able to write the descriptors, and that the queue set permits it. */
static int dge_check(const struct ntk_engine_builder *b, const struct ntk_isa_instr *instr,
                     struct ntk_err *err)
{
    const struct ntk_neff_queue_set *set = &b->subgraph->queue_sets[instr->queue];
    enum ntk_isa_dge dge = ntk_isa_dge_get(instr);

    if (dge != NTK_ISA_DGE_SOFTWARE && dge != NTK_ISA_DGE_HARDWARE) {
        return 0;
    }
    if (set->type != NTK_NEFF_QUEUE_DYNAMIC) {
        return BAD("queue set '%s' is not dynamic: its descriptors exist before the run",
                   set->name);
    }
    if (dge == NTK_ISA_DGE_HARDWARE && b->spec->generation < DGE_HARDWARE_GENERATION) {
        return BAD("%s has no hardware that writes descriptors", b->spec->name);
    }
    if (dge == NTK_ISA_DGE_SOFTWARE && b->engine != NTK_ISA_ENGINE_POOL) {
        return BAD("only the Pool engine supports descriptors that software writes");
    }
    return 0;
}

static int copy_prepare(struct ntk_engine_builder *b, const struct ntk_isa_instr *instr,
                        struct ntk_engine_instr *out, struct ntk_err *err)
{
    struct ntk_engine_program *program = b->program;
    struct ntk_engine_dma *dma = ntk_vec_add(&program->dmas);
    struct ntk_engine_transfer *transfer = ntk_vec_add(&program->transfers);
    struct ntk_engine_side *source = ntk_vec_add(&program->sources);
    enum ntk_isa_dge dge = ntk_isa_dge_get(instr);
    int ret;

    if (!dma || !transfer || !source) {
        return NO_MEMORY();
    }
    *dma = (struct ntk_engine_dma){ .queue_set = instr->queue,
                                    .group_id = NTK_NEFF_NONE,
                                    .first_transfer = (uint32_t)(program->transfers.count - 1),
                                    .transfer_count = 1,
                                    .semaphore = NTK_NEFF_NONE,
                                    .semaphore_value = instr->done_value,
                                    .event = NTK_NEFF_NONE,
                                    .instance = NTK_NEFF_NONE };
    if (instr->done_semaphore != NTK_ISA_NO_SEMAPHORE) {
        dma->semaphore = instr->done_semaphore;
    } else {
        const struct ntk_neff_queue_set *set = &b->subgraph->queue_sets[instr->queue];

        dma->signals_set = (dge == NTK_ISA_DGE_SOFTWARE || dge == NTK_ISA_DGE_HARDWARE) &&
                           set->semaphore_count == set->queue_count;
    }
    transfer->first_source = (uint32_t)(program->sources.count - 1);
    transfer->source_count = 1;
    ret = dge_check(b, instr, err);
    if (ret < 0) {
        return ret;
    }
    if (b->spec->generation == 1 && instr->op != NTK_ISA_OP_DMA_COPY &&
        instr->op != NTK_ISA_OP_DMA_INDIRECT_COPY) {
        return BAD("%s does more than copy, which NC-v1 does not support",
                   ntk_isa_op_info_get((unsigned)instr->op)->name);
    }
    if (instr->op == NTK_ISA_OP_DMA_INDIRECT_COPY) {
        ret = indirect_prepare(b, instr, transfer, source, err);
    } else {
        ret = direct_prepare(b, instr, transfer, err);
    }
    if (ret < 0) {
        return ret;
    }
    /* read it again, because the list may have moved */
    source = ntk_vec_at(&program->sources, transfer->first_source);
    if (instr->op == NTK_ISA_OP_DMA_TRANSPOSE) {
        transfer->move = NTK_ENGINE_MOVE_TRANSPOSE;
        transpose_order(instr, transfer);
    } else if (instr->op == NTK_ISA_OP_DMA_COMPUTE) {
        compute_rule(instr, source, transfer);
    } else if (instr->op == NTK_ISA_OP_DMA_COPY) {
        transfer->move = transfer->to.walk.dtype == source->walk.dtype ? NTK_ENGINE_MOVE_COPY
                                                                       : NTK_ENGINE_MOVE_CAST;
    }
    if (instr->op != NTK_ISA_OP_DMA_INDIRECT_COPY) {
        engine_dma_transfer_finish(b, transfer);
    }
    if (dge == NTK_ISA_DGE_SOFTWARE) {
        out->duration_ps =
            ntk_cost_cycles_to_ps(b->spec, (enum ntk_engine)b->engine,
                                  ntk_cost_cycles(NTK_COST_ELEMENT, transfer->descriptors));
    }
    return start_add(b, (uint32_t)(program->dmas.count - 1), out, err);
}

static int exchange_prepare(struct ntk_engine_builder *b, const struct ntk_isa_instr *instr,
                            struct ntk_engine_instr *out, struct ntk_err *err)
{
    int ret = ntk_engine_flow_since(b, 3, "sendrecv requires cores that run together", err);
    struct ntk_engine_transfer *transfer;
    struct ntk_engine_dma *dma;

    if (ret == 0) {
        ret = copy_prepare(b, instr, out, err);
    }
    if (ret < 0) {
        return ret;
    }
    dma = ntk_vec_at(&b->program->dmas, b->program->dmas.count - 1);
    dma->pipe = instr->imm[0];
    transfer = ntk_vec_at(&b->program->transfers, dma->first_transfer);
    /* The data to send is copied first, because data may be received in the meantime. */
    transfer->bounce_bytes =
        engine_dma_side_bytes(ntk_vec_at(&b->program->sources, transfer->first_source)) + 64;
    if (transfer->bounce_bytes > b->program->bounce_bytes_max) {
        b->program->bounce_bytes_max = transfer->bounce_bytes;
    }
    out->kind = NTK_ENGINE_KIND_EXCHANGE;
    b->program->info.needs_partner = true;
    return 0;
}

int ntk_engine_dma_prepare(struct ntk_engine_builder *b, const struct ntk_isa_instr *instr,
                           struct ntk_engine_instr *out, struct ntk_err *err)
{
    out->kind = NTK_ENGINE_KIND_DMA;
    if (instr->queue >= b->program->info.queue_count) {
        return BAD("unknown queue set %u: the program has %u", instr->queue,
                   b->program->info.queue_count);
    }
    if (b->subgraph->queue_sets[instr->queue].pinned) {
        return BAD("queue set '%s' is pinned: its groups move only when the model starts",
                   b->subgraph->queue_sets[instr->queue].name);
    }
    if (instr->op == NTK_ISA_OP_SENDRECV) {
        return exchange_prepare(b, instr, out, err);
    }
    return instr->op == NTK_ISA_OP_DMA_TRIGGER ? trigger_prepare(b, instr, out, err)
                                               : copy_prepare(b, instr, out, err);
}
