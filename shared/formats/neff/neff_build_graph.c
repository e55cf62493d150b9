/* SPDX-License-Identifier: MIT */
/* neff_build_graph - builds the nodes of neff.json: stages become one node, with the tensors that
 * other nodes see. */
#include "shared/formats/neff/neff_build_private.h"

#include <errno.h>
#include <string.h>

static const struct build_node *node_at(const struct ntk_neff_build *build, size_t index)
{
    return *(struct build_node **)ntk_vec_at(&build->nodes, index);
}

static const struct build_tensor *tensor_find(const struct ntk_vec *tensors, const char *name)
{
    ntk_vec_each(struct build_tensor, tensor, tensors) {
        if (strcmp(tensor->name, name) == 0) {
            return tensor;
        }
    }
    return NULL;
}

/* The tensor with this name that a stage in [first, end) produces; NULL if none does. */
static const struct build_tensor *output_find(const struct ntk_neff_build *build, size_t first,
                                              size_t end, const char *name)
{
    const struct build_tensor *found = NULL;

    for (size_t i = first; i < end && !found; i++) {
        found = tensor_find(&node_at(build, i)->outputs, name);
    }
    return found;
}

static bool is_taken(const struct ntk_neff_build *build, size_t first, size_t end, const char *name)
{
    bool taken = false;

    for (size_t i = first; i < end && !taken; i++) {
        taken = tensor_find(&node_at(build, i)->inputs, name) != NULL;
    }
    return taken;
}

static bool is_named_head(const struct ntk_neff_build *build, const char *name)
{
    for (size_t i = 0; i < build->heads.count; i++) {
        if (strcmp(*(char **)ntk_vec_at(&build->heads, i), name) == 0) {
            return true;
        }
    }
    return false;
}

static void tensor_add(struct ntk_neff_build *build, struct ntk_vec *tensors,
                       const struct build_tensor *tensor)
{
    if (ntk_vec_push(tensors, tensor) < 0) {
        neff_build_no_memory(build);
    }
}

/* Returns true if the input of stage i is produced by another stage of the same node. */
static bool is_passed(struct ntk_neff_build *build, size_t first, size_t i,
                      const struct build_tensor *tensor)
{
    const struct build_tensor *made = output_find(build, first, i, tensor->name);

    if (made && (made->dtype != tensor->dtype || made->bytes_count != tensor->bytes_count)) {
        neff_build_fail(build, -EINVAL, "tensor '%s' has two different shapes or dtypes",
                        tensor->name);
    }
    return made != NULL;
}

static void stages_join(struct ntk_neff_build *build, size_t first, struct graph_node *graph)
{
    size_t end = first + graph->stage_count;

    for (size_t i = first; i < end; i++) {
        const struct build_node *stage = node_at(build, i);

        ntk_vec_each(struct build_tensor, tensor, &stage->inputs) {
            if (!is_passed(build, first, i, tensor) && !tensor_find(&graph->inputs, tensor->name)) {
                tensor_add(build, &graph->inputs, tensor);
            }
        }
        ntk_vec_each(struct build_tensor, tensor, &stage->outputs) {
            if (output_find(build, first, i, tensor->name)) {
                neff_build_fail(build, -EEXIST, "tensor '%s' has two producers", tensor->name);
            }
            if (!is_taken(build, i + 1, end, tensor->name) ||
                is_taken(build, end, build->nodes.count, tensor->name) ||
                is_named_head(build, tensor->name)) {
                tensor_add(build, &graph->outputs, tensor);
            }
        }
    }
}

void neff_build_graph(struct ntk_neff_build *build)
{
    for (size_t i = 0; i < build->nodes.count && !neff_build_failed(build);) {
        struct graph_node *graph = neff_build_add(build, &build->graph);

        if (!graph) {
            return;
        }
        graph->node = node_at(build, i);
        graph->stage_count = 1;
        ntk_vec_init(&graph->inputs, sizeof(struct build_tensor));
        ntk_vec_init(&graph->outputs, sizeof(struct build_tensor));
        while (i + graph->stage_count < build->nodes.count &&
               node_at(build, i + graph->stage_count)->is_stage) {
            graph->stage_count++;
        }
        stages_join(build, i, graph);
        i += graph->stage_count;
    }
}
