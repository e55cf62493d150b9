/* SPDX-License-Identifier: MIT */
/* core_pipeline - finds the tensors that each subgraph of a node passes to later ones. */
#include "runtime-hooks/core/core_pipeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct core_writer {
    const struct ntk_neff_var *var;
    uint32_t subgraph; /* index in the kelf */
    uint32_t slot;
    bool is_passed; /* not an output of the node: only later subgraphs use it */
    bool is_read;
};

/* A node while it is planned. */
struct plan {
    struct ntk_core_model *model;
    const struct ntk_neff_node *node;
    const struct ntk_neff_kelf *kelf;
    uint32_t first_slot; /* first slot of the node's outputs */
    uint32_t nc;         /* core of its first subgraph */
    struct core_pipeline *pipeline;
    struct ntk_map inputs;  /* the node's inputs by name */
    struct ntk_map outputs; /* maps a name to the tensor in node->outputs */
    struct ntk_err *err;
};

#define BAD(plan, ...) ntk_err_set((plan)->err, -EBADMSG, NTK_ERR_NO_OFFSET, __VA_ARGS__)

uint32_t core_pipeline_length(const struct ntk_core *core, const struct ntk_neff *neff,
                              const struct ntk_neff_node *node)
{
    if (node->kind != NTK_NEFF_NODE_CORE) {
        return 0;
    }
    return core->row->facts.generation == 1 ? neff->kelfs[node->kelf].subgraph_count : 1;
}

static const char *subgraph_name(const struct plan *plan, uint32_t subgraph)
{
    return plan->kelf->subgraphs[subgraph].name;
}

static int tensors_list(struct plan *plan, const struct ntk_neff *neff)
{
    const struct ntk_neff_node *node = plan->node;

    for (uint32_t i = 0; i < node->input_count; i++) {
        const struct ntk_neff_tensor *tensor = ntk_neff_tensor_get(neff, node->inputs[i]);

        if (tensor && ntk_map_put(&plan->inputs, tensor->name, (void *)tensor) < 0) {
            return ntk_err_no_memory(plan->err);
        }
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (ntk_map_put(&plan->outputs, node->outputs[i].name, &node->outputs[i]) < 0) {
            return ntk_err_no_memory(plan->err);
        }
    }
    return 0;
}

/* Adds a separate slot for a tensor, in memory of the core that writes it. */
static int slot_add(const struct plan *plan, struct core_writer *writer)
{
    struct ntk_core_model *model = plan->model;
    struct core_slot *slots = realloc(model->slots, (model->slot_count + 1) * sizeof *slots);

    if (!slots) {
        return ntk_err_no_memory(plan->err);
    }
    model->slots = slots;
    writer->slot = model->slot_count++;
    slots[writer->slot] = (struct core_slot){
        .io = CORE_SLOT_NONE,
        .bytes = writer->var->bytes_count,
        .is_passed = true,
        .name = strdup(writer->var->name),
        .physical_core = model->core->ncs[plan->nc + writer->subgraph].first_physical,
    };
    return slots[writer->slot].name ? 0 : ntk_err_no_memory(plan->err);
}

static int writer_add(const struct plan *plan, uint32_t subgraph, const struct ntk_neff_var *var,
                      struct core_writer *writer)
{
    const struct core_writer *other = ntk_map_get(&plan->pipeline->writers, var->name);
    const struct ntk_neff_tensor *output = ntk_map_get(&plan->outputs, var->name);

    if (other) {
        return BAD(plan, "tensor '%s' of node '%s' is written by %s and by %s", var->name,
                   plan->node->name, subgraph_name(plan, other->subgraph),
                   subgraph_name(plan, subgraph));
    }
    *writer = (struct core_writer){ .var = var, .subgraph = subgraph, .is_passed = !output };
    if (output) {
        writer->slot = plan->first_slot + (uint32_t)(output - plan->node->outputs);
    } else {
        int ret = slot_add(plan, writer);

        if (ret < 0) {
            return ret;
        }
    }
    return ntk_map_put(&plan->pipeline->writers, var->name, writer) < 0
               ? ntk_err_no_memory(plan->err)
               : 0;
}

static int writers_list(struct plan *plan)
{
    size_t count = 0;

    for (uint32_t s = 0; s < plan->kelf->subgraph_count; s++) {
        for (uint32_t v = 0; v < plan->kelf->subgraphs[s].var_count; v++) {
            count += plan->kelf->subgraphs[s].vars[v].type == NTK_NEFF_VAR_OUTPUT;
        }
    }
    plan->pipeline->writer_all = calloc(count + 1, sizeof *plan->pipeline->writer_all);
    if (!plan->pipeline->writer_all) {
        return ntk_err_no_memory(plan->err);
    }
    struct core_writer *writer = plan->pipeline->writer_all;
    for (uint32_t s = 0; s < plan->kelf->subgraph_count; s++) {
        for (uint32_t v = 0; v < plan->kelf->subgraphs[s].var_count; v++) {
            const struct ntk_neff_var *var = &plan->kelf->subgraphs[s].vars[v];
            int ret = var->type == NTK_NEFF_VAR_OUTPUT ? writer_add(plan, s, var, writer++) : 0;

            if (ret < 0) {
                return ret;
            }
        }
    }
    return 0;
}

static int reader_check(const struct plan *plan, uint32_t subgraph, const struct ntk_neff_var *var)
{
    struct core_writer *writer = ntk_map_get(&plan->pipeline->writers, var->name);
    bool is_input = ntk_map_get(&plan->inputs, var->name) != NULL;

    /* A tensor without a writer is either an input of the node, or rejected with its variable. */
    if (!writer || (is_input && writer->subgraph >= subgraph)) {
        return 0;
    }
    if (is_input) {
        return BAD(plan,
                   "%s reads tensor '%s', which is an input of node '%s' but is also written by %s",
                   subgraph_name(plan, subgraph), var->name, plan->node->name,
                   subgraph_name(plan, writer->subgraph));
    }
    if (writer->subgraph >= subgraph) {
        return BAD(plan, "%s reads tensor '%s' of node '%s' before %s writes it",
                   subgraph_name(plan, subgraph), var->name, plan->node->name,
                   subgraph_name(plan, writer->subgraph));
    }
    if (writer->var->bytes_count != var->bytes_count) {
        return BAD(plan, "tensor '%s' of node '%s' has %llu bytes in %s and %llu in %s", var->name,
                   plan->node->name, (unsigned long long)writer->var->bytes_count,
                   subgraph_name(plan, writer->subgraph), (unsigned long long)var->bytes_count,
                   subgraph_name(plan, subgraph));
    }
    writer->is_read = true;
    return 0;
}

static int readers_check(const struct plan *plan)
{
    for (uint32_t s = 0; s < plan->kelf->subgraph_count; s++) {
        for (uint32_t v = 0; v < plan->kelf->subgraphs[s].var_count; v++) {
            const struct ntk_neff_var *var = &plan->kelf->subgraphs[s].vars[v];
            int ret = var->type == NTK_NEFF_VAR_INPUT ? reader_check(plan, s, var) : 0;

            if (ret < 0) {
                return ret;
            }
        }
    }
    ntk_map_each(entry, &plan->pipeline->writers) {
        const struct core_writer *writer = entry->value;

        if (writer->is_passed && !writer->is_read) {
            return BAD(plan,
                       "tensor '%s' written by %s is not an output of node '%s', and no later "
                       "subgraph reads it",
                       writer->var->name, subgraph_name(plan, writer->subgraph), plan->node->name);
        }
    }
    return 0;
}

int core_pipeline_plan(struct ntk_core_model *model, const struct ntk_neff *neff,
                       uint32_t node_index, uint32_t nc, struct core_pipeline *out_pipeline,
                       struct ntk_err *err)
{
    const struct ntk_neff_node *node = &neff->nodes[node_index];
    struct plan plan = { .model = model,
                         .node = node,
                         .kelf = &neff->kelfs[node->kelf],
                         .first_slot = model->node_slots[node_index],
                         .nc = nc,
                         .pipeline = out_pipeline,
                         .err = err };
    int ret = tensors_list(&plan, neff);

    if (ret == 0) {
        ret = writers_list(&plan);
    }
    if (ret == 0) {
        ret = readers_check(&plan);
    }
    ntk_map_fini(&plan.inputs);
    ntk_map_fini(&plan.outputs);
    return ret;
}

void core_pipeline_fini(struct core_pipeline *pipeline)
{
    ntk_map_fini(&pipeline->writers);
    free(pipeline->writer_all);
    *pipeline = (struct core_pipeline){ 0 };
}

uint32_t core_pipeline_slot(const struct core_pipeline *pipeline, const char *name)
{
    const struct core_writer *writer = ntk_map_get(&pipeline->writers, name);

    return writer ? writer->slot : CORE_SLOT_NONE;
}
