/* SPDX-License-Identifier: MIT */
/* core_model_subgraph - makes the program of one subgraph, and takes its memory. */
#include "runtime-hooks/core/core_model_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int core_model_memory_take(struct ntk_core_model *model, uint32_t physical,
                           enum ntk_memory_category category, uint64_t bytes, uint64_t align,
                           const char *name, struct core_allocation *out_allocation,
                           struct ntk_err *err)
{
    struct core_memory_request request = { .physical_core = physical,
                                           .category = category,
                                           .bytes = bytes,
                                           .align = align,
                                           .name = name,
                                           .model = model->hook,
                                           .model_name = model->name };

    return bytes > 0 ? core_memory_take(model->core, &request, out_allocation, err) : 0;
}

/* Finds the slot of the node's input or output with this name; CORE_SLOT_NONE if there is none. */
static uint32_t slot_find(const struct ntk_core_model *model, const struct ntk_neff *neff,
                          uint32_t node_index, const char *name, bool is_output)
{
    const struct ntk_neff_node *node = &neff->nodes[node_index];

    for (uint32_t i = 0; is_output && i < node->output_count; i++) {
        if (strcmp(node->outputs[i].name, name) == 0) {
            return model->node_slots[node_index] + i;
        }
    }
    for (uint32_t i = 0; !is_output && i < node->input_count; i++) {
        const struct ntk_neff_tensor *tensor = ntk_neff_tensor_get(neff, node->inputs[i]);

        if (tensor && strcmp(tensor->name, name) == 0) {
            return model->node_slots[node->inputs[i].node] + node->inputs[i].output;
        }
    }
    return CORE_SLOT_NONE;
}

/* Returns true if a variable may be in the shared scratchpad; otherwise it is private. */
static bool fits_shared_page(const struct ntk_core *core, const struct ntk_neff_var *var)
{
    uint64_t page = core->options.scratchpad_page_bytes;

    return core->options.contiguous_scratchpad ||
           (page > 0 && var->backing_offset % page + var->bytes_count <= page);
}

/* Grows a slot: tensors between nodes are as large as the largest variable; the caller's buffers
 * have known sizes. */
static int slot_grow(struct core_slot *slot, const struct core_subgraph *subgraph,
                     const struct ntk_neff_var *var, struct ntk_err *err)
{
    if (slot->bytes >= var->bytes_count) {
        return 0;
    }
    if (slot->io != CORE_SLOT_NONE || slot->param) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET,
                           "variable '%s' of %s has %llu bytes, but the network's tensor has %llu",
                           var->name, subgraph->name, (unsigned long long)var->bytes_count,
                           (unsigned long long)slot->bytes);
    }
    slot->bytes = var->bytes_count;
    return 0;
}

static int variable_make(struct ntk_core_model *model, const struct core_step_source *source,
                         uint32_t physical, struct core_subgraph *subgraph,
                         const struct ntk_neff_var *var, struct ntk_err *err)
{
    struct core_variable *variable = &subgraph->variables[var->var_id];
    int ret = 0;

    variable->bytes = var->bytes_count;
    switch (var->type) {
    case NTK_NEFF_VAR_INPUT:
    case NTK_NEFF_VAR_OUTPUT:
        variable->kind = CORE_VARIABLE_SLOT;
        variable->slot = slot_find(model, source->neff, source->node, var->name,
                                   var->type == NTK_NEFF_VAR_OUTPUT);
        if (variable->slot == CORE_SLOT_NONE) {
            variable->slot = core_pipeline_slot(&source->pipeline, var->name);
        }
        if (variable->slot == CORE_SLOT_NONE) {
            return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET,
                               "variable '%s' of %s is not a tensor of its node", var->name,
                               subgraph->name);
        }
        ret = slot_grow(&model->slots[variable->slot], subgraph, var, err);
        break;
    case NTK_NEFF_VAR_FILE:
        variable->kind = CORE_VARIABLE_FIXED;
        variable->physical_core = physical;
        ret = core_constant_place(model->constants, model, physical, var, &variable->allocation,
                                  &variable->weight, err);
        break;
    case NTK_NEFF_VAR_TMP_BUF:
        variable->kind = CORE_VARIABLE_FIXED;
        ret = core_model_memory_take(model, physical, NTK_MEMORY_SCRATCHPAD, var->bytes_count,
                                     var->alignment, var->name, &variable->allocation, err);
        break;
    case NTK_NEFF_VAR_VIRTUAL:
        if (!fits_shared_page(model->core, var)) {
            variable->kind = CORE_VARIABLE_FIXED;
            ret = core_model_memory_take(model, physical, NTK_MEMORY_SCRATCHPAD, var->bytes_count,
                                         var->alignment, var->name, &variable->allocation, err);
            break;
        }
        if (var->backing_offset > UINT64_MAX / 2 || var->bytes_count > UINT64_MAX / 2) {
            return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "variable '%s' is too large",
                               var->name);
        }
        variable->kind = CORE_VARIABLE_SCRATCHPAD;
        variable->offset = var->backing_offset;
        if (subgraph->scratchpad_bytes < var->backing_offset + var->bytes_count) {
            subgraph->scratchpad_bytes = var->backing_offset + var->bytes_count;
        }
        break;
    case NTK_NEFF_VAR_STATE_BUFFER:
    case NTK_NEFF_VAR_POINTER:
    case NTK_NEFF_VAR_DGE_TABLE:
        break;
    }
    return ret;
}

static int code_place(struct ntk_core_model *model, uint32_t physical,
                      struct core_subgraph *subgraph, const struct ntk_neff_subgraph *from,
                      struct ntk_err *err)
{
    struct ntk_neff_sizes sizes = { 0 };
    uint64_t offset = 0;

    ntk_neff_subgraph_sizes(from, &sizes);
    int ret = core_model_memory_take(model, physical, NTK_MEMORY_MODEL_CODE, sizes.code, 0,
                                     subgraph->name, &subgraph->code, err);
    if (ret == 0) {
        ret = core_model_memory_take(model, physical, NTK_MEMORY_DMA_RINGS_IO, sizes.rings_io, 0,
                                     subgraph->name, &subgraph->rings_io, err);
    }
    if (ret == 0) {
        ret = core_model_memory_take(model, physical, NTK_MEMORY_DMA_RINGS_SPILL, sizes.rings_spill,
                                     0, subgraph->name, &subgraph->rings_spill, err);
    }
    for (size_t e = 0; e < NTK_ISA_ENGINE_COUNT && ret == 0; e++) {
        const struct ntk_neff_engine *engine = &from->engines[e];

        if (engine->code_bytes > 0 && offset + engine->code_bytes <= sizes.code) {
            memcpy(subgraph->code.address + offset, engine->code, engine->code_bytes);
            subgraph->code_offset[e] = offset;
            subgraph->code_bytes[e] = engine->code_bytes;
            offset += engine->code_bytes;
        }
    }
    return ret;
}

int core_subgraph_make(struct ntk_core_model *model, const struct core_step_source *source,
                       uint32_t physical, const struct ntk_neff_subgraph *from,
                       struct core_subgraph *subgraph, struct ntk_err *err)
{
    struct ntk_engine_program_info info;
    unsigned generation = model->core->row->facts.generation;
    int ret = source->neff->is_vendor
                  ? ntk_engine_program_create_opaque(generation, from, &subgraph->program, err)
                  : ntk_engine_program_create(generation, from, &subgraph->program, err);

    if (ret < 0) {
        return ret;
    }
    ntk_engine_program_info_get(subgraph->program, &info);
    subgraph->name = strdup(from->name);
    subgraph->variable_count = info.variable_count;
    subgraph->variables = calloc((size_t)info.variable_count + 1, sizeof *subgraph->variables);
    subgraph->bindings = calloc((size_t)info.variable_count + 1, sizeof *subgraph->bindings);
    subgraph->queue_sets = calloc((size_t)from->queue_set_count + 1, sizeof *subgraph->queue_sets);
    if (!subgraph->name || !subgraph->variables || !subgraph->bindings || !subgraph->queue_sets) {
        return ntk_err_no_memory(err);
    }
    struct core_memory_request host = {
        .physical_core = physical,
        .category = NTK_MEMORY_HOST_APPLICATION,
        .bytes = info.host_bytes + ((uint64_t)info.variable_count + 1) *
                                       (sizeof *subgraph->variables + sizeof *subgraph->bindings),
        .name = subgraph->name,
        .model = model->hook,
    };
    core_memory_count(model->core, &host, subgraph->program, &subgraph->host);
    subgraph->queue_set_count = from->queue_set_count;
    for (uint32_t i = 0; i < from->queue_set_count; i++) {
        subgraph->queue_sets[i].type = (uint32_t)from->queue_sets[i].type;
        subgraph->queue_sets[i].name = strdup(from->queue_sets[i].name);
        if (!subgraph->queue_sets[i].name) {
            return ntk_err_no_memory(err);
        }
    }
    for (uint32_t i = 0; i < from->var_count && ret == 0; i++) {
        if (from->vars[i].var_id >= info.variable_count) {
            return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "variable ids of %s have gaps",
                               from->name);
        }
        ret = variable_make(model, source, physical, subgraph, &from->vars[i], err);
    }
    return ret < 0 ? ret : code_place(model, physical, subgraph, from, err);
}

void core_subgraph_fini(const struct ntk_core_model *model, struct core_subgraph *subgraph)
{
    struct ntk_core *core = model->core;

    for (uint32_t i = 0; subgraph->variables && i < subgraph->variable_count; i++) {
        struct core_variable *variable = &subgraph->variables[i];

        if (variable->weight) {
            core_weight_drop(core, variable->weight, model, variable->physical_core);
        } else {
            core_memory_release(core, &variable->allocation);
        }
    }
    core_memory_release(core, &subgraph->code);
    core_memory_release(core, &subgraph->rings_io);
    core_memory_release(core, &subgraph->rings_spill);
    core_memory_release(core, &subgraph->host);
    for (uint32_t i = 0; subgraph->queue_sets && i < subgraph->queue_set_count; i++) {
        free(subgraph->queue_sets[i].name);
    }
    free(subgraph->queue_sets);
    free(subgraph->variables);
    free(subgraph->bindings);
    free(subgraph->name);
    ntk_engine_program_destroy(subgraph->program);
}
