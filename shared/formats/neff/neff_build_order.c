/* SPDX-License-Identifier: MIT */
/* neff_build_order - the code of a program: instructions and transfers, and the semaphores that
 * keep them in order. */
#include "shared/formats/neff/neff_build_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- tokens: waits between instructions ---- */

static struct build_instr *instr_at(struct build_subgraph *subgraph, int engine, size_t index)
{
    return ntk_vec_at(&subgraph->engines[engine].program, index);
}

static ntk_neff_token add_token(struct ntk_neff_build *build, struct build_subgraph *subgraph,
                                const struct build_token *token)
{
    if (ntk_vec_push(&subgraph->tokens, token) < 0) {
        neff_build_no_memory(build);
        return 0;
    }
    return (ntk_neff_token)subgraph->tokens.count;
}

static void add_sync(struct ntk_neff_build *build, struct ntk_vec *list, uint16_t semaphore,
                     uint16_t value)
{
    struct build_sync *sync = neff_build_add(build, list);

    if (sync) {
        sync->semaphore = semaphore;
        sync->value = value;
    }
}

/* Makes the next instruction on `engine` wait for the end of instruction `index` of `other`. */
static void wait_for_instr(struct ntk_neff_kernel *kernel, int engine, struct ntk_vec *waits,
                           int other, size_t index)
{
    struct build_subgraph *subgraph = &kernel->subgraphs[kernel->current];
    struct build_engine *source = &subgraph->engines[other];

    if (other == engine || source->waited_by[engine] > index) {
        return;
    }
    if (source->semaphore_to[engine] == NTK_ISA_NO_SEMAPHORE) {
        source->semaphore_to[engine] = ntk_neff_kernel_semaphore(kernel);
    }
    source->waited_by[engine] = index + 1;
    add_sync(kernel->build, &instr_at(subgraph, other, index)->signals,
             source->semaphore_to[engine], 1);
    add_sync(kernel->build, waits, source->semaphore_to[engine], 1);
}

/* Makes a transfer signal `engine`; a group is bound once for all of its starts. */
static void bind_transfer(struct ntk_neff_kernel *kernel, struct build_token *token, int engine)
{
    struct build_subgraph *subgraph = &kernel->subgraphs[kernel->current];
    struct build_queue *queue = ntk_vec_at(&subgraph->queues, token->queue);

    if (queue->semaphore_to[engine] == NTK_ISA_NO_SEMAPHORE) {
        queue->semaphore_to[engine] = ntk_neff_kernel_semaphore(kernel);
    }
    if (token->group == NO_GROUP) {
        struct build_instr *instr = instr_at(subgraph, token->engine, token->index);

        instr->instr.done_semaphore = queue->semaphore_to[engine];
        instr->instr.done_value = 1;
        token->amount = 1;
    } else {
        struct build_group *group = ntk_vec_at(&subgraph->groups, token->group);

        group->semaphore = queue->semaphore_to[engine];
        group->bound_to = engine;
        token->amount = (uint16_t)queue->queue_count;
    }
    token->bound_to = engine;
}

static void wait_for_transfer(struct ntk_neff_kernel *kernel, int engine, struct ntk_vec *waits,
                              size_t token_index, size_t next_index)
{
    struct build_subgraph *subgraph = &kernel->subgraphs[kernel->current];
    struct build_token *token = ntk_vec_at(&subgraph->tokens, token_index);
    struct build_queue *queue = ntk_vec_at(&subgraph->queues, token->queue);
    uint32_t amount = 0;

    if (token->waited) {
        wait_for_instr(kernel, engine, waits, token->bound_to, token->waited_at);
        return;
    }
    if (token->bound_to == UNBOUND && queue->waited_by[engine] > token_index) {
        /* a later transfer of the queue set was already awaited, and transfers end in order */
        return;
    }
    if (token->bound_to == UNBOUND) {
        bind_transfer(kernel, token, engine);
    }
    if (token->bound_to != engine) {
        neff_build_fail(
            kernel->build, -EINVAL,
            "only the engine that first waited for a repeated transfer can wait for it");
        return;
    }
    /* This wait also consumes every earlier transfer that signals the same semaphore. */
    for (size_t i = subgraph->first_open; i <= token_index; i++) {
        struct build_token *other = ntk_vec_at(&subgraph->tokens, i);

        if (other->is_transfer && other->queue == token->queue && other->bound_to == engine &&
            !other->waited) {
            other->waited = true;
            other->waited_at = next_index;
            amount += other->amount;
        }
    }
    if (queue->waited_by[engine] < token_index + 1) {
        queue->waited_by[engine] = token_index + 1;
    }
    while (amount > 0) {
        uint16_t part = amount > 0x8000 ? 0x8000 : (uint16_t)amount;

        add_sync(kernel->build, waits, queue->semaphore_to[engine], part);
        amount -= part;
    }
    while (subgraph->first_open < subgraph->tokens.count) {
        const struct build_token *first = ntk_vec_at(&subgraph->tokens, subgraph->first_open);

        if (first->is_transfer && !first->waited) {
            break;
        }
        subgraph->first_open++;
    }
}

static void wait_for(struct ntk_neff_kernel *kernel, int engine, struct ntk_vec *waits,
                     struct ntk_neff_after after)
{
    struct build_subgraph *subgraph = &kernel->subgraphs[kernel->current];
    size_t next_index = subgraph->engines[engine].program.count;

    for (size_t i = 0; i < after.count && !neff_build_failed(kernel->build); i++) {
        const struct build_token *token;

        if (after.tokens[i] == 0) {
            continue;
        }
        if (after.tokens[i] > subgraph->tokens.count) {
            neff_build_fail(kernel->build, -EINVAL,
                            "the token belongs to a different subgraph or kernel");
            return;
        }
        token = ntk_vec_at(&subgraph->tokens, after.tokens[i] - 1);
        if (token->is_transfer) {
            wait_for_transfer(kernel, engine, waits, after.tokens[i] - 1, next_index);
        } else {
            wait_for_instr(kernel, engine, waits, token->engine, token->index);
        }
    }
}

ntk_neff_token ntk_neff_kernel_emit(struct ntk_neff_kernel *kernel, enum ntk_isa_engine engine,
                                    const struct ntk_isa_instr *instr, struct ntk_neff_after after)
{
    struct build_subgraph *subgraph = &kernel->subgraphs[kernel->current];
    struct ntk_neff_build *build = kernel->build;
    struct build_token token = { .engine = engine, .bound_to = UNBOUND, .group = NO_GROUP };
    struct ntk_vec waits = NTK_VEC_INIT(struct build_sync);
    struct build_instr *added;
    struct ntk_err err = { 0 };

    if (neff_build_failed(build)) {
        return 0;
    }
    if (ntk_isa_check(instr, engine, &err) < 0) {
        neff_build_fail(build, err.code, "%s", err.text);
        return 0;
    }
    for (int i = 0; i < NTK_ISA_OPERAND_COUNT; i++) {
        if (instr->operand[i].space == NTK_ISA_SPACE_VAR &&
            instr->operand[i].var_id >= subgraph->vars.count) {
            neff_build_fail(build, -EINVAL, "%s: unknown variable %u",
                            ntk_isa_op_info_get((unsigned)instr->op)->name,
                            instr->operand[i].var_id);
            return 0;
        }
    }
    wait_for(kernel, engine, &waits, after);
    if (neff_build_failed(build)) {
        ntk_vec_fini(&waits);
        return 0;
    }
    added = neff_build_add(build, &subgraph->engines[engine].program);
    if (!added) {
        ntk_vec_fini(&waits);
        return 0;
    }
    added->instr = *instr;
    if (kernel->layer && !instr->name_id) {
        added->instr.name_id = ntk_neff_kernel_name(kernel, engine, kernel->layer);
    }
    added->place = neff_build_place_now(kernel);
    added->waits = waits;
    ntk_vec_init(&added->signals, sizeof(struct build_sync));
    token.index = subgraph->engines[engine].program.count - 1;
    if (ntk_isa_ends_later(instr->op)) {
        if (instr->queue >= subgraph->queues.count) {
            neff_build_fail(build, -EINVAL, "unknown queue set %u", instr->queue);
            return 0;
        }
        /* If the semaphore is explicit, the caller waits for the transfer. */
        token.is_transfer = instr->done_semaphore == NTK_ISA_NO_SEMAPHORE;
        token.queue = instr->queue;
    }
    return add_token(build, subgraph, &token);
}

/* ---- transfers ---- */

static ntk_neff_token trigger(struct ntk_neff_kernel *kernel, uint32_t group_index,
                              struct ntk_neff_after after)
{
    struct build_subgraph *subgraph = &kernel->subgraphs[kernel->current];
    const struct build_group *group = ntk_vec_at(&subgraph->groups, group_index);
    const struct build_queue *queue = ntk_vec_at(&subgraph->queues, group->queue);
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_DMA_TRIGGER);
    struct build_token *token;
    ntk_neff_token result;

    instr.queue = (uint16_t)group->queue;
    instr.group_id = group->id;
    result = ntk_neff_kernel_emit(kernel, queue->owner, &instr, after);
    if (result == 0) {
        return 0;
    }
    token = ntk_vec_at(&subgraph->tokens, result - 1);
    token->is_transfer = true;
    token->queue = group->queue;
    token->group = group_index;
    token->bound_to = group->bound_to;
    token->amount = (uint16_t)queue->queue_count;
    return result;
}

static bool side_is_sound(const struct build_subgraph *subgraph,
                          const struct ntk_neff_build_side *side)
{
    return side->var_id < subgraph->vars.count && side->dim_count >= 1 &&
           side->dim_count <= NTK_NEFF_TRANSFER_DIMS_MAX;
}

ntk_neff_token ntk_neff_kernel_dma(struct ntk_neff_kernel *kernel, uint32_t queue_index,
                                   const struct ntk_neff_build_transfer *transfer,
                                   struct ntk_neff_after after)
{
    struct build_subgraph *subgraph = &kernel->subgraphs[kernel->current];
    struct ntk_neff_build *build = kernel->build;
    struct build_queue *queue;
    struct build_group *group;
    bool sound;

    if (neff_build_failed(build)) {
        return 0;
    }
    sound = queue_index < subgraph->queues.count && transfer->source_count >= 1 &&
            transfer->source_count <= NTK_NEFF_TRANSFER_SOURCES_MAX &&
            side_is_sound(subgraph, &transfer->to);
    for (uint32_t i = 0; sound && i < transfer->source_count; i++) {
        sound = side_is_sound(subgraph, &transfer->from[i]);
    }
    if (!sound) {
        neff_build_fail(build, -EINVAL,
                        "a transfer requires a queue set, a variable and dimensions");
        return 0;
    }
    group = neff_build_add(build, &subgraph->groups);
    if (!group) {
        return 0;
    }
    queue = ntk_vec_at(&subgraph->queues, queue_index);
    group->queue = queue_index;
    group->id = queue->group_count++;
    group->semaphore = NTK_ISA_NO_SEMAPHORE;
    group->bound_to = UNBOUND;
    group->transfer = *transfer;
    group->from = malloc(transfer->source_count * sizeof *group->from);
    if (transfer->scales) {
        group->scales = malloc(transfer->source_count * sizeof *group->scales);
    }
    if (transfer->transpose_order) {
        group->transpose_order = neff_build_copy_text(build, transfer->transpose_order);
    }
    if (!group->from || (transfer->scales && !group->scales)) {
        neff_build_no_memory(build);
        return 0;
    }
    memcpy(group->from, transfer->from, transfer->source_count * sizeof *group->from);
    if (transfer->scales) {
        memcpy(group->scales, transfer->scales, transfer->source_count * sizeof *group->scales);
    }
    return queue->is_pinned ? 0 : trigger(kernel, (uint32_t)subgraph->groups.count - 1, after);
}

ntk_neff_token ntk_neff_kernel_dma_again(struct ntk_neff_kernel *kernel, ntk_neff_token first,
                                         struct ntk_neff_after after)
{
    struct build_subgraph *subgraph = &kernel->subgraphs[kernel->current];
    const struct build_token *token;

    if (neff_build_failed(kernel->build)) {
        return 0;
    }
    token = first > 0 && first <= subgraph->tokens.count ? ntk_vec_at(&subgraph->tokens, first - 1)
                                                         : NULL;
    if (!token || token->group == NO_GROUP) {
        neff_build_fail(kernel->build, -EINVAL,
                        "only transfers from ntk_neff_kernel_dma can be started again");
        return 0;
    }
    return trigger(kernel, token->group, after);
}

static struct ntk_neff_build_side rows_side(struct ntk_neff_rows rows, uint64_t row_bytes)
{
    return (struct ntk_neff_build_side){ .var_id = rows.var_id,
                                         .offset = rows.offset,
                                         .dim_count = 2,
                                         .steps = { 1, (int64_t)rows.row_step },
                                         .sizes = { row_bytes, rows.count } };
}

static ntk_neff_token copy_rows(struct ntk_neff_kernel *kernel, uint32_t queue,
                                struct ntk_neff_rows to, struct ntk_neff_rows source,
                                uint64_t row_bytes, struct ntk_neff_after after)
{
    struct ntk_neff_build_side from = rows_side(source, row_bytes);
    struct ntk_neff_build_transfer transfer = {
        .op = NTK_NEFF_TRANSFER_COPY,
        .to = rows_side(to, row_bytes),
        .from = &from,
        .source_count = 1,
    };

    return ntk_neff_kernel_dma(kernel, queue, &transfer, after);
}

static struct ntk_neff_rows sbuf_rows(uint64_t offset, uint32_t count)
{
    return NTK_ROWS(NTK_NEFF_VAR_ID_SBUF, offset, NTK_NEFF_SBUF_PARTITION_STEP, count);
}

ntk_neff_token ntk_neff_kernel_load(struct ntk_neff_kernel *kernel, uint32_t queue,
                                    struct ntk_neff_rows rows, uint64_t sbuf_offset,
                                    uint64_t row_bytes, struct ntk_neff_after after)
{
    return copy_rows(kernel, queue, sbuf_rows(sbuf_offset, rows.count), rows, row_bytes, after);
}

ntk_neff_token ntk_neff_kernel_store(struct ntk_neff_kernel *kernel, uint32_t queue,
                                     struct ntk_neff_rows rows, uint64_t sbuf_offset,
                                     uint64_t row_bytes, struct ntk_neff_after after)
{
    return copy_rows(kernel, queue, rows, sbuf_rows(sbuf_offset, rows.count), row_bytes, after);
}

/* ---- the end of a program ---- */

void neff_build_finish(struct ntk_neff_kernel *kernel)
{
    struct build_subgraph *subgraph = &kernel->subgraphs[kernel->current];
    struct ntk_isa_instr notify = ntk_isa_instr_make(NTK_ISA_OP_NOTIFY);

    ntk_neff_kernel_layer(kernel, NULL);
    ntk_neff_build_place(NULL);
    notify.imm[0] = 1;
    for (int step = 0; step < NTK_ISA_ENGINE_COUNT; step++) {
        int e = (step + 1) % NTK_ISA_ENGINE_COUNT; /* PE comes last */
        struct ntk_isa_instr end = notify;
        ntk_neff_token last[NTK_AFTER_MAX];
        size_t last_count = 0;

        for (uint32_t q = 0; q < subgraph->queues.count; q++) {
            const struct build_queue *queue = ntk_vec_at(&subgraph->queues, q);
            size_t highest = 0;

            for (size_t i = subgraph->first_open; i < subgraph->tokens.count; i++) {
                const struct build_token *token = ntk_vec_at(&subgraph->tokens, i);

                if (token->is_transfer && token->queue == q && !token->waited) {
                    /* A transfer that is bound to another engine is handled with that engine. */
                    if (token->bound_to == e ||
                        (token->bound_to == UNBOUND && (int)queue->owner == e)) {
                        highest = i + 1;
                    }
                }
            }
            if (highest > 0 && last_count < NTK_AFTER_MAX) {
                last[last_count++] = (ntk_neff_token)highest;
            }
        }
        if (e == NTK_ISA_ENGINE_PE) {
            end.wait_semaphore = NTK_ISA_SEMAPHORE_END;
            end.wait_value = NTK_ISA_ENGINE_COUNT - 1;
            end.flags = NTK_ISA_FLAG_WAIT_CONSUME;
        } else {
            end.signal_semaphore = NTK_ISA_SEMAPHORE_END;
            end.signal_value = 1;
        }
        ntk_neff_kernel_emit(kernel, (enum ntk_isa_engine)e, &end,
                             (struct ntk_neff_after){ last, last_count });
    }
}
