/* SPDX-License-Identifier: MIT */
/* core_model_build - builds a model from its file: tensors between nodes, and steps. */
#include "runtime-hooks/core/core_model_parts.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/str.h"

/* --- contents of the file --- */

static void shape_fill(struct ntk_neff_cpu_tensor *shape, enum ntk_dtype dtype, uint32_t dim_count,
                       const uint64_t *dims, uint64_t bytes)
{
    shape->bytes_count = bytes;
    shape->dtype = (uint32_t)dtype;
    shape->dim_count = dim_count;
    for (uint32_t i = 0; i < dim_count && i < NTK_NEFF_CPU_DIMS_MAX; i++) {
        shape->dims[i] = dims[i];
    }
}

static int ios_make(struct ntk_core_model *model, const struct ntk_neff *neff, struct ntk_err *err)
{
    model->io_count = neff->input_count + neff->output_count;
    model->input_count = neff->input_count;
    model->ios = calloc(model->io_count + 1, sizeof *model->ios);
    if (!model->ios) {
        return ntk_err_no_memory(err);
    }
    for (uint32_t i = 0; i < model->io_count; i++) {
        bool is_output = i >= neff->input_count;
        const struct ntk_neff_io *from =
            is_output ? &neff->outputs[i - neff->input_count] : &neff->inputs[i];
        struct ntk_core_io *io = &model->ios[i];

        if (!ntk_str_copy(io->name, sizeof io->name, from->name)) {
            return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET,
                               "a tensor's name is longer than 255 bytes");
        }
        io->is_output = is_output;
        io->dtype = (uint32_t)from->dtype;
        io->bytes = from->bytes_count;
        io->dimension_count = from->dim_count;
        for (uint32_t k = 0; k < from->dim_count; k++) {
            if (from->dims[k] > UINT32_MAX) {
                return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET,
                                   "a dimension of tensor '%s' exceeds 32 bits", io->name);
            }
            io->shape[k] = (uint32_t)from->dims[k];
        }
    }
    return 0;
}

/* Makes a slot for every output of every node; slots of network inputs and outputs refer to ios. */
static int slots_make(struct ntk_core_model *model, const struct ntk_neff *neff,
                      struct ntk_err *err)
{
    uint32_t count = 0;

    model->node_slots = calloc((size_t)neff->node_count + 1, sizeof *model->node_slots);
    if (!model->node_slots) {
        return ntk_err_no_memory(err);
    }
    for (uint32_t n = 0; n < neff->node_count; n++) {
        model->node_slots[n] = count;
        count += neff->nodes[n].output_count;
    }
    model->slot_count = count;
    model->first_passed = count;
    model->slots = calloc((size_t)count + 1, sizeof *model->slots);
    if (!model->slots) {
        return ntk_err_no_memory(err);
    }
    for (uint32_t n = 0; n < neff->node_count; n++) {
        for (uint32_t k = 0; k < neff->nodes[n].output_count; k++) {
            const struct ntk_neff_tensor *tensor = &neff->nodes[n].outputs[k];
            struct core_slot *slot = &model->slots[model->node_slots[n] + k];

            slot->io = CORE_SLOT_NONE;
            slot->bytes = tensor->bytes_count;
            shape_fill(&slot->shape, tensor->dtype, tensor->dim_count, tensor->dims,
                       tensor->bytes_count);
        }
    }
    for (uint32_t i = 0; i < model->io_count; i++) {
        const struct ntk_neff_io *io =
            i < neff->input_count ? &neff->inputs[i] : &neff->outputs[i - neff->input_count];

        if (io->entry.node >= neff->node_count ||
            io->entry.output >= neff->nodes[io->entry.node].output_count) {
            return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET,
                               "tensor '%s' belongs to no node of the graph", io->name);
        }
        if (i >= model->input_count && neff->nodes[io->entry.node].kind == NTK_NEFF_NODE_PARAM) {
            return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET,
                               "output '%s' of the network is a parameter", io->name);
        }
        struct core_slot *slot =
            &model->slots[model->node_slots[io->entry.node] + io->entry.output];
        slot->io = i;
        slot->bytes = io->bytes_count;
        slot->shape.bytes_count = io->bytes_count;
    }
    return 0;
}

/* Places the values of parameters in memory next to the first core. */
static int params_make(struct ntk_core_model *model, const struct ntk_neff *neff,
                       struct ntk_err *err)
{
    uint32_t physical = model->core->ncs[model->nc].first_physical;
    int ret = 0;

    model->params = calloc((size_t)neff->node_count + 1, sizeof *model->params);
    if (!model->params) {
        return ntk_err_no_memory(err);
    }
    for (uint32_t n = 0; n < neff->node_count && ret == 0; n++) {
        const struct ntk_neff_node *node = &neff->nodes[n];
        struct core_slot *slot = &model->slots[model->node_slots[n]];
        struct core_param *param = &model->params[model->param_count];

        if (node->kind != NTK_NEFF_NODE_PARAM) {
            continue;
        }
        if (!node->value) {
            return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET,
                               "node '%s' is a parameter without a value", node->name);
        }
        model->param_count++;
        param->physical_core = physical;
        slot->param = param;
        slot->bytes = slot->shape.bytes_count = node->value->bytes_count;
        ret = core_constant_place(model->constants, model, physical, node->value,
                                  &param->allocation, &param->weight, err);
    }
    return ret;
}

/* Makes the common part of all kinds of steps. */
static int step_begin(struct ntk_core_model *model, const struct core_step_source *source,
                      struct core_step *step, struct ntk_err *err)
{
    const struct ntk_neff *neff = source->neff;
    const struct ntk_neff_node *from = &neff->nodes[source->node];

    (void)ntk_str_copy(step->name, sizeof step->name, from->name);
    step->node = source->node;
    step->input_count = from->input_count;
    step->output_count = from->output_count;
    step->inputs = calloc((size_t)from->input_count + 1, sizeof *step->inputs);
    step->outputs = calloc((size_t)from->output_count + 1, sizeof *step->outputs);
    if (!step->inputs || !step->outputs) {
        return ntk_err_no_memory(err);
    }
    for (uint32_t i = 0; i < from->input_count; i++) {
        if (!ntk_neff_tensor_get(neff, from->inputs[i])) {
            return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET,
                               "node '%s' uses a tensor that no node produces", from->name);
        }
        step->inputs[i] = model->node_slots[from->inputs[i].node] + from->inputs[i].output;
    }
    for (uint32_t i = 0; i < from->output_count; i++) {
        step->outputs[i] = model->node_slots[source->node] + i;
    }
    return 0;
}

/* --- nodes that run on the host --------------------------------------------------------------- */

static int cpu_step_make(struct ntk_core_model *model, const struct core_step_source *source,
                         struct ntk_err *err)
{
    const struct ntk_neff *neff = source->neff;
    const struct ntk_neff_node *from = &neff->nodes[source->node];
    struct core_step *step = &model->steps[model->step_count++];
    void *handle = NULL;
    int ret = step_begin(model, source, step, err);

    if (ret < 0) {
        return ret;
    }
    step->is_cpu = true;
    if (!from->library) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "CPU node '%s' has no shared object",
                           from->name);
    }
    ret = core_library_open(model, neff, from->library, &handle, err);
    if (ret < 0) {
        return ret;
    }
    void *symbol = dlsym(handle, from->func_name);
    if (!symbol) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "%s in the NEFF has no function '%s'",
                           from->library, from->func_name);
    }
    memcpy(&step->function, &symbol, sizeof step->function);
    return 0;
}

/* --- steps ------------------------------------------------------------------------------------ */

/* Makes a step of the node's subgraphs [first, first + count), which run in parallel on one logical
 * core. */
static int core_step_make(struct ntk_core_model *model, const struct core_step_source *source,
                          uint32_t nc, uint32_t first, uint32_t count, struct ntk_err *err)
{
    const struct ntk_neff_node *from = &source->neff->nodes[source->node];
    const struct ntk_neff_kelf *kelf = &source->neff->kelfs[from->kelf];
    struct core_step *step = &model->steps[model->step_count++];
    int ret = step_begin(model, source, step, err);

    for (uint32_t s = 0; s < model->step_count; s++) {
        struct core_step *before = &model->steps[s];

        before->returns =
            before->returns || (before != step && !before->is_cpu && before->nc == nc);
    }
    model->last_core_step = model->step_count - 1;
    step->nc = nc;
    step->is_empty = true;
    for (uint32_t i = 0; i < count && ret == 0; i++) {
        const struct ntk_neff_subgraph *subgraph = &kelf->subgraphs[first + i];
        struct ntk_engine_program_info info = { .is_empty = true };

        step->subgraph_count = i + 1;
        ret = core_subgraph_make(model, source, model->core->ncs[nc].first_physical + i, subgraph,
                                 &step->subgraphs[i], err);
        if (ret == 0) {
            ntk_engine_program_info_get(step->subgraphs[i].program, &info);
        }
        if (ret == 0 && info.needs_partner && count < 2) {
            ret = ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET,
                              "%s of node '%s' requires the other core of a pair, which is missing",
                              subgraph->name, from->name);
        }
        step->is_empty = step->is_empty && info.is_empty;
    }
    return ret;
}

static int core_steps_make(struct ntk_core_model *model, struct core_step_source *source,
                           uint32_t nc, struct ntk_err *err)
{
    const struct ntk_neff_node *from = &source->neff->nodes[source->node];
    uint32_t subgraph_count = source->neff->kelfs[from->kelf].subgraph_count;
    uint32_t length = core_pipeline_length(model->core, source->neff, from);
    uint32_t lnc = model->core->lnc;

    if (subgraph_count != length * lnc) {
        return ntk_err_set(err, subgraph_count > lnc ? -ECHRNG : -EBADMSG, NTK_ERR_NO_OFFSET,
                           "node '%s' has %u subgraphs, but a logical core runs %u", from->name,
                           subgraph_count, lnc);
    }
    int ret = length > 1 ? core_pipeline_plan(model, source->neff, source->node, nc,
                                              &source->pipeline, err)
                         : 0;
    for (uint32_t i = 0; i < length && ret == 0; i++) {
        ret = core_step_make(model, source, nc + i, i * lnc, lnc, err);
    }
    core_pipeline_fini(&source->pipeline);
    return ret;
}

static int steps_make(struct ntk_core_model *model, const struct ntk_neff *neff,
                      struct ntk_err *err)
{
    struct core_step_source source = { .neff = neff };
    uint32_t nc = model->nc;
    size_t most = 1;
    int ret = 0;

    for (uint32_t n = 0; n < neff->node_count; n++) {
        most += 1 + core_pipeline_length(model->core, neff, &neff->nodes[n]);
    }
    model->steps = calloc(most, sizeof *model->steps);
    if (!model->steps) {
        return ntk_err_no_memory(err);
    }
    model->is_hosted = true;
    for (uint32_t n = 0; n < neff->node_count && ret == 0; n++) {
        enum ntk_neff_node_kind kind = neff->nodes[n].kind;

        if (kind == NTK_NEFF_NODE_INPUT || kind == NTK_NEFF_NODE_PARAM) {
            continue;
        }
        source.node = n;
        model->is_hosted = model->is_hosted && kind == NTK_NEFF_NODE_CPU;
        ret = kind == NTK_NEFF_NODE_CPU ? cpu_step_make(model, &source, err)
                                        : core_steps_make(model, &source, nc, err);
        if (!model->takes_turns) {
            nc += core_pipeline_length(model->core, neff, &neff->nodes[n]);
        }
    }
    return ret;
}

/* --- all of it -------------------------------------------------------------------------------- */

/* Counts the model's memory without its subgraphs, which are counted separately. */
static void model_count(struct ntk_core_model *model, uint32_t node_count)
{
    uint64_t bytes =
        sizeof *model + model->io_count * sizeof *model->ios +
        model->slot_count * sizeof *model->slots + node_count * sizeof *model->node_slots +
        model->step_count * sizeof *model->steps + (node_count + 1) * sizeof *model->params;

    for (uint32_t s = 0; s < model->step_count; s++) {
        const struct core_step *step = &model->steps[s];
        bytes += step->input_count * sizeof *step->inputs;
        bytes += step->output_count * sizeof *step->outputs;
    }
    const struct core_memory_request request = {
        .physical_core = model->core->ncs[model->nc].first_physical,
        .category = NTK_MEMORY_HOST_APPLICATION,
        .bytes = bytes,
        .name = model->name,
        .model = model->hook,
    };
    core_memory_count(model->core, &request, model, &model->host);
}

int core_model_build(struct ntk_core_model *model, const struct ntk_neff *neff, struct ntk_err *err)
{
    int ret = ios_make(model, neff, err);

    if (ret == 0) {
        ret = slots_make(model, neff, err);
    }
    if (ret == 0) {
        ret = params_make(model, neff, err);
    }
    if (ret == 0) {
        ret = steps_make(model, neff, err);
    }
    if (ret < 0) {
        return ret;
    }
    if (model->step_count == 0) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "the NEFF has no node to run");
    }
    model_count(model, neff->node_count);
    core_context_plan(model);
    if (model->depth == 0 && model->first_passed < model->slot_count) {
        model->depth = 1;
    }
    return core_contexts_reserve(model, err);
}

void core_model_free(struct ntk_core_model *model)
{
    struct ntk_core *core = model->core;

    for (uint32_t s = 0; s < model->step_count; s++) {
        struct core_step *step = &model->steps[s];

        for (uint32_t i = 0; i < step->subgraph_count; i++) {
            core_subgraph_fini(model, &step->subgraphs[i]);
        }
        free(step->inputs);
        free(step->outputs);
    }
    free(model->steps);
    core_contexts_fini(model);
    core_libraries_fini(model);
    pthread_mutex_destroy(&model->context_lock);
    core_memory_release(core, &model->host);
    for (uint32_t i = 0; i < model->param_count; i++) {
        struct core_param *param = &model->params[i];

        if (param->weight) {
            core_weight_drop(core, param->weight, model, param->physical_core);
        } else {
            core_memory_release(core, &param->allocation);
        }
    }
    free(model->params);
    free(model->node_slots);
    for (uint32_t i = model->first_passed; i < model->slot_count; i++) {
        free(model->slots[i].name);
    }
    free(model->slots);
    free(model->ios);
    free(model);
}
