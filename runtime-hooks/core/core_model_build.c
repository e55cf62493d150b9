/* SPDX-License-Identifier: MIT */
/* core_model_build - builds a model from its file: tensors between nodes, programs and their
 * memory, libraries, steps. */
#include "runtime-hooks/core/core_model.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime-hooks/core/core_pipeline.h"
#include "shared/base/str.h"

#define SLOT_ALIGN 64U

static int out_of_memory(struct ntk_err *err)
{
    return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
}
/* --- contents of the file -----------------------------------------------------------------------
 * */

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
        return out_of_memory(err);
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
        return out_of_memory(err);
    }
    for (uint32_t n = 0; n < neff->node_count; n++) {
        model->node_slots[n] = count;
        count += neff->nodes[n].output_count;
    }
    model->slot_count = count;
    model->first_passed = count;
    model->slots = calloc((size_t)count + 1, sizeof *model->slots);
    if (!model->slots) {
        return out_of_memory(err);
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
        return out_of_memory(err);
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

/* --- memory of one subgraph ------------------------------------------------------------------- */

static int memory_take(struct ntk_core_model *model, uint32_t physical,
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

/* Where the subgraphs of a step come from. */
struct step_source {
    const struct ntk_neff *neff;
    uint32_t node;
    struct core_pipeline pipeline;
};

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

static int variable_make(struct ntk_core_model *model, const struct step_source *source,
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
        ret = memory_take(model, physical, NTK_MEMORY_SCRATCHPAD, var->bytes_count, var->alignment,
                          var->name, &variable->allocation, err);
        break;
    case NTK_NEFF_VAR_VIRTUAL:
        if (!fits_shared_page(model->core, var)) {
            variable->kind = CORE_VARIABLE_FIXED;
            ret = memory_take(model, physical, NTK_MEMORY_SCRATCHPAD, var->bytes_count,
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
    int ret = memory_take(model, physical, NTK_MEMORY_MODEL_CODE, sizes.code, 0, subgraph->name,
                          &subgraph->code, err);
    if (ret == 0) {
        ret = memory_take(model, physical, NTK_MEMORY_DMA_RINGS_IO, sizes.rings_io, 0,
                          subgraph->name, &subgraph->rings_io, err);
    }
    if (ret == 0) {
        ret = memory_take(model, physical, NTK_MEMORY_DMA_RINGS_SPILL, sizes.rings_spill, 0,
                          subgraph->name, &subgraph->rings_spill, err);
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

static int subgraph_make(struct ntk_core_model *model, const struct step_source *source,
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
        return out_of_memory(err);
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
            return out_of_memory(err);
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

/* Makes the common part of all kinds of steps. */
static int step_begin(struct ntk_core_model *model, const struct step_source *source,
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
        return out_of_memory(err);
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

/* Makes a file with these bytes for the loader: anonymous if supported. */
static int library_file(const struct ntk_neff_member *member, char *path, size_t path_bytes,
                        bool *out_is_named)
{
    int fd = memfd_create("neff-cpu-node", MFD_CLOEXEC);

    *out_is_named = fd < 0;
    if (fd < 0) {
        (void)snprintf(path, path_bytes, "/tmp/neff-cpu-node-XXXXXX");
        fd = mkstemp(path);
    } else {
        (void)snprintf(path, path_bytes, "/proc/self/fd/%d", fd);
    }
    if (fd < 0) {
        return -errno;
    }
    size_t done = 0;
    while (done < member->bytes_count) {
        ssize_t written = write(fd, member->bytes + done, member->bytes_count - done);

        if (written < 0 && errno != EINTR) {
            int ret = -errno;

            close(fd);
            return ret;
        }
        done += written > 0 ? (size_t)written : 0;
    }
    return fd;
}

static int library_open(struct ntk_core_model *model, const struct ntk_neff *neff,
                        const char *member_name, void **out_handle, struct ntk_err *err)
{
    char path[64];
    bool is_named = false;

    ntk_vec_each(struct core_library, known, &model->libraries) {
        if (strcmp(known->member, member_name) == 0) {
            *out_handle = known->handle;
            return 0;
        }
    }
    const struct ntk_neff_member *member = ntk_neff_member_get(neff, member_name);
    if (!member) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "the NEFF has no member '%s'",
                           member_name);
    }
    int fd = library_file(member, path, sizeof path, &is_named);
    if (fd < 0) {
        return ntk_err_set(err, fd, NTK_ERR_NO_OFFSET, "cannot unpack '%s' of the NEFF: %s",
                           member_name, strerror(-fd));
    }
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (is_named) {
        (void)unlink(path);
    }
    if (!handle) {
        const char *reason = dlerror();

        close(fd);
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "cannot load '%s' of the NEFF: %s",
                           member_name, reason ? reason : "unknown error");
    }
    struct core_library *library = ntk_vec_add(&model->libraries);
    char *name = strdup(member_name);
    if (!library || !name) {
        if (library) {
            model->libraries.count--;
        }
        free(name);
        dlclose(handle);
        close(fd);
        return out_of_memory(err);
    }
    *library = (struct core_library){ .member = name, .handle = handle, .fd = fd };
    *out_handle = handle;
    return 0;
}

static int cpu_step_make(struct ntk_core_model *model, const struct step_source *source,
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
    ret = library_open(model, neff, from->library, &handle, err);
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
static int core_step_make(struct ntk_core_model *model, const struct step_source *source,
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
        ret = subgraph_make(model, source, model->core->ncs[nc].first_physical + i, subgraph,
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

static int core_steps_make(struct ntk_core_model *model, struct step_source *source, uint32_t nc,
                           struct ntk_err *err)
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
    struct step_source source = { .neff = neff };
    uint32_t nc = model->nc;
    size_t most = 1;
    int ret = 0;

    for (uint32_t n = 0; n < neff->node_count; n++) {
        most += 1 + core_pipeline_length(model->core, neff, &neff->nodes[n]);
    }
    model->steps = calloc(most, sizeof *model->steps);
    if (!model->steps) {
        return out_of_memory(err);
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

/* Lays out the buffers between steps, after all variables have set the sizes. */
static void context_plan(struct ntk_core_model *model)
{
    for (uint32_t i = 0; i < model->first_passed; i++) {
        if (model->slots[i].io == CORE_SLOT_NONE && !model->slots[i].param) {
            model->slots[i].offset = model->context_bytes;
            model->context_bytes += core_round_up(model->slots[i].bytes, SLOT_ALIGN);
        }
    }
}

static void context_free(struct ntk_core_model *model, struct core_context *context)
{
    for (uint32_t i = 0; context->passed && i < model->slot_count - model->first_passed; i++) {
        core_memory_release(model->core, &context->passed[i]);
    }
    core_memory_release(model->core, &context->buffer);
    free(context->passed);
    free(context);
}

static struct core_context *context_make(struct ntk_core_model *model, struct ntk_err *err)
{
    uint32_t passed_count = model->slot_count - model->first_passed;
    struct core_context *context = calloc(1, sizeof *context);

    if (!context) {
        out_of_memory(err);
        return NULL;
    }
    int ret =
        memory_take(model, model->core->ncs[model->nc].first_physical, NTK_MEMORY_HOST_DMA_BUFFERS,
                    model->context_bytes, 0, model->name, &context->buffer, err);
    if (ret == 0 && passed_count > 0) {
        context->passed = calloc(passed_count, sizeof *context->passed);
        ret = context->passed ? 0 : out_of_memory(err);
    }
    for (uint32_t i = 0; i < passed_count && ret == 0; i++) {
        const struct core_slot *slot = &model->slots[model->first_passed + i];

        ret = memory_take(model, slot->physical_core, NTK_MEMORY_SCRATCHPAD, slot->bytes,
                          SLOT_ALIGN, slot->name, &context->passed[i], err);
    }
    if (ret < 0) {
        context_free(model, context);
        return NULL;
    }
    return context;
}

static bool context_is_needed(const struct ntk_core_model *model)
{
    return model->context_bytes > 0 || model->first_passed < model->slot_count;
}

struct core_context *core_context_take(struct ntk_core_model *model, bool *out_ok,
                                       struct ntk_err *err)
{
    *out_ok = true;
    if (!context_is_needed(model)) {
        return NULL;
    }
    pthread_mutex_lock(&model->context_lock);
    struct core_context *context = model->contexts;
    if (context) {
        model->contexts = context->next;
    }
    pthread_mutex_unlock(&model->context_lock);
    if (context) {
        return context;
    }
    context = context_make(model, err);
    *out_ok = context != NULL;
    return context;
}

/* Allocates contexts when the model is loaded. */
static int contexts_reserve(struct ntk_core_model *model, struct ntk_err *err)
{
    if (!context_is_needed(model)) {
        return 0;
    }
    for (uint32_t i = 0; i < model->depth; i++) {
        struct core_context *context = context_make(model, err);

        if (!context) {
            return -ENOMEM;
        }
        core_context_give_back(model, context);
    }
    return 0;
}

void core_context_give_back(struct ntk_core_model *model, struct core_context *context)
{
    if (context) {
        pthread_mutex_lock(&model->context_lock);
        context->next = model->contexts;
        model->contexts = context;
        pthread_mutex_unlock(&model->context_lock);
    }
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
    context_plan(model);
    if (model->depth == 0 && model->first_passed < model->slot_count) {
        model->depth = 1;
    }
    return contexts_reserve(model, err);
}

static void subgraph_fini(const struct ntk_core_model *model, struct core_subgraph *subgraph)
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

void core_model_free(struct ntk_core_model *model)
{
    struct ntk_core *core = model->core;

    for (uint32_t s = 0; s < model->step_count; s++) {
        struct core_step *step = &model->steps[s];

        for (uint32_t i = 0; i < step->subgraph_count; i++) {
            subgraph_fini(model, &step->subgraphs[i]);
        }
        free(step->inputs);
        free(step->outputs);
    }
    free(model->steps);
    while (model->contexts) {
        struct core_context *context = model->contexts;

        model->contexts = context->next;
        context_free(model, context);
    }
    ntk_vec_each(struct core_library, library, &model->libraries) {
        dlclose(library->handle);
        close(library->fd);
        free(library->member);
    }
    ntk_vec_fini(&model->libraries);
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
