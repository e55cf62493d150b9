/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/mlugraph/mlu_fuse_graph_executor.h"

#include <assert.h>
#include <stdlib.h>

void mlu_fuse_graph_executor_fini(struct mlu_fuse_graph_executor *executor)
{
    for (size_t i = 0; executor->fusions && i < executor->segments.count; i++) {
        struct mlu_fusion *fusion = &executor->fusions[i];

        if (fusion->stream) {
            fusion->stream->ops->fusion_destroy(fusion->fusion);
        }
        free(fusion->inputs);
        free(fusion->outputs);
    }
    free(executor->fusions);
    free(executor->fusion_of);
    if (executor->segments.item_bytes > 0) {
        mlu_segments_fini(&executor->segments);
    }
    mlu_fuse_symbol_fini(&executor->fuse);
    if (executor->graph.symbol) {
        graph_executor_fini(&executor->graph);
    }
    *executor = (struct mlu_fuse_graph_executor){ 0 };
}

/* ---- inputs and outputs ---- */

/* Classifies entries: needed outside their segment, or not needed at all; seen: already listed. */
struct marks {
    bool *is_needed_outside;
    bool *is_read;
    uint32_t *seen; /* number of the last fusion that listed the entry, + 1 */
};

static uint32_t entry_of(const struct mlu_fuse_graph_executor *e, const struct mlu_entry *entry)
{
    return e->graph.first_entry[entry->node] + entry->output;
}

/* Returns the fusion of a node, + 1; 0 for variables and separate operators. */
static uint32_t fusion_of_node(const struct mlu_fuse_graph_executor *e, uint32_t node)
{
    uint32_t order = e->graph.symbol->nodes[node].order;

    return order == MLU_SYMBOL_NONE ? 0 : e->fusion_of[order];
}

static void mark_entries(const struct mlu_fuse_graph_executor *e, struct marks *marks)
{
    const struct mlu_symbol *symbol = e->graph.symbol;

    for (uint32_t i = 0; i < symbol->operator_count; i++) {
        const struct mlu_node *node = &symbol->nodes[symbol->operators[i]];

        for (uint32_t k = 0; k < node->input_count; k++) {
            if (mlu_node_reads_at_run(symbol, node, k)) {
                uint32_t entry = entry_of(e, &node->inputs[k]);

                marks->is_read[entry] = true;
                marks->is_needed_outside[entry] |=
                    fusion_of_node(e, node->inputs[k].node) != e->fusion_of[i];
            }
        }
    }
    for (uint32_t h = 0; h < symbol->head_count; h++) {
        marks->is_needed_outside[entry_of(e, &symbol->heads[h])] = true;
    }
    for (uint32_t i = 0; i < e->graph.first_entry[symbol->node_count]; i++) {
        marks->is_needed_outside[i] |= !marks->is_read[i];
    }
}

static void list_io(struct mlu_fuse_graph_executor *e, struct mlu_fusion *fusion, uint32_t number,
                    struct marks *marks)
{
    const struct mlu_symbol *symbol = e->graph.symbol;

    for (uint32_t i = 0; i < fusion->segment->op_count; i++) {
        uint32_t index = symbol->operators[fusion->segment->ops[i]];
        const struct mlu_node *node = &symbol->nodes[index];

        for (uint32_t k = 0; k < node->input_count; k++) {
            uint32_t entry = entry_of(e, &node->inputs[k]);

            if (mlu_node_reads_at_run(symbol, node, k) &&
                fusion_of_node(e, node->inputs[k].node) != number && marks->seen[entry] != number) {
                marks->seen[entry] = number;
                fusion->inputs[fusion->input_count++] = &e->graph.entries[entry];
            }
        }
        for (uint32_t o = 0; o < node->output_count; o++) {
            uint32_t entry = e->graph.first_entry[index] + o;

            if (marks->is_needed_outside[entry]) {
                fusion->outputs[fusion->output_count++] = &e->graph.entries[entry];
            }
        }
    }
}

/* ---- the fusion operator of the device ---- */

static int collect_tensors(struct mlu_ndarray *const *arrays, uint32_t count,
                           const struct mlu_stream *stream, void **to, struct ntk_err *err)
{
    for (uint32_t i = 0; i < count; i++) {
        to[i] = mlu_ndarray_tensor(arrays[i], stream, err);
        if (!to[i]) {
            return ntk_err_no_memory(err);
        }
    }
    return 0;
}

static int create_fusion_op(struct mlu_fuse_graph_executor *e, struct mlu_fusion *fusion,
                            struct ntk_err *err)
{
    const struct mlu_device_ops *ops = fusion->stream->ops;
    void **in = calloc((size_t)fusion->input_count + 1, sizeof *in);
    void **out = calloc((size_t)fusion->output_count + 1, sizeof *out);
    int ret;

    if (!in || !out) {
        free(in);
        free(out);
        return ntk_err_no_memory(err);
    }
    ret = ops->fusion_create(fusion->stream->handle, &fusion->fusion, err);
    for (uint32_t i = 0; ret == 0 && i < fusion->segment->op_count; i++) {
        struct mlu_op_executor *op = &e->graph.op_nodes[fusion->segment->ops[i]];

        op->is_fused = true;
        ret = ops->fusion_add(fusion->fusion, op->op, err);
    }
    ret = ret < 0 ? ret
                  : collect_tensors(fusion->inputs, fusion->input_count, fusion->stream, in, err);
    ret = ret < 0
              ? ret
              : collect_tensors(fusion->outputs, fusion->output_count, fusion->stream, out, err);
    if (ret == 0) {
        ret = ops->fusion_set_io(fusion->fusion, in, fusion->input_count, out, fusion->output_count,
                                 err);
    }
    free(in);
    free(out);
    return ret;
}

static int init_fusion(struct mlu_fuse_graph_executor *e, uint32_t index, struct marks *marks,
                       struct ntk_err *err)
{
    struct mlu_fusion *fusion = &e->fusions[index];
    const struct mlu_symbol *symbol = e->graph.symbol;
    size_t inputs = 1;
    size_t outputs = 1;

    assert(fusion->segment);
    fusion->stream = e->graph.op_nodes[fusion->segment->ops[0]].stream;
    for (uint32_t i = 0; i < fusion->segment->op_count; i++) {
        const struct mlu_node *node = &symbol->nodes[symbol->operators[fusion->segment->ops[i]]];

        inputs += node->input_count;
        outputs += node->output_count;
    }
    fusion->inputs = calloc(inputs, sizeof(struct mlu_ndarray *));
    fusion->outputs = calloc(outputs, sizeof(struct mlu_ndarray *));
    if (!fusion->inputs || !fusion->outputs) {
        return ntk_err_no_memory(err);
    }
    list_io(e, fusion, index + 1, marks);
    return create_fusion_op(e, fusion, err);
}

/* Builds the fusion operators once their outputs are known. */
static int init_each(struct mlu_fuse_graph_executor *e, struct ntk_err *err)
{
    size_t entries = (size_t)e->graph.first_entry[e->graph.symbol->node_count] + 1;
    struct marks marks = { calloc(entries, sizeof(bool)), calloc(entries, sizeof(bool)),
                           calloc(entries, sizeof(uint32_t)) };
    int ret = 0;

    if (marks.is_needed_outside && marks.is_read && marks.seen) {
        mark_entries(e, &marks);
        for (uint32_t s = 0; ret == 0 && s < e->segments.count; s++) {
            ret = init_fusion(e, s, &marks, err);
        }
    } else {
        ret = ntk_err_no_memory(err);
    }
    free(marks.is_needed_outside);
    free(marks.is_read);
    free(marks.seen);
    return ret;
}

/* Init(): finds segments, then creates a fusion operator for each. */
static int init_fusions(struct mlu_fuse_graph_executor *e, struct ntk_err *err)
{
    const struct mlu_symbol *symbol = e->graph.symbol;
    int ret = mlu_fuse_symbol_init(symbol, &e->fuse, err);

    for (uint32_t i = 0; ret == 0 && i < symbol->operator_count; i++) {
        if (!e->graph.op_nodes[i].stream) { /* includes a device that does not exist */
            e->fuse.nodes[i].device = MLU_DEVICE_CPU;
        }
    }
    ret = ret < 0 ? ret : mlu_segments_find(&e->fuse.graph, &e->segments, err);
    if (ret < 0) {
        return ret;
    }
    e->fusions = calloc(e->segments.count + 1, sizeof *e->fusions);
    e->fusion_of = calloc((size_t)symbol->operator_count + 1, sizeof *e->fusion_of);
    if (!e->fusions || !e->fusion_of) {
        return ntk_err_no_memory(err);
    }
    uint32_t number = 0;
    ntk_vec_each(struct mlu_segment, segment, &e->segments) {
        e->fusions[number++].segment = segment;
        for (uint32_t i = 0; i < segment->op_count; i++) {
            e->fusion_of[segment->ops[i]] = number;
        }
    }
    return init_each(e, err);
}

int mlu_fuse_simple_bind(struct mlu_fuse_graph_executor *executor, const struct mlu_symbol *symbol,
                         const struct mlu_device_ops *ops, const struct mlu_type *const *types,
                         struct ntk_err *err)
{
    int ret = graph_executor_simple_bind(&executor->graph, symbol, ops, types, err);

    return ret < 0 ? ret : init_fusions(executor, err);
}

int mlu_fuse_bind(struct mlu_fuse_graph_executor *executor, const struct mlu_symbol *symbol,
                  const struct mlu_device_ops *ops, const struct mlu_array *const *args,
                  struct ntk_err *err)
{
    int ret = graph_executor_bind(&executor->graph, symbol, ops, args, err);

    return ret < 0 ? ret : init_fusions(executor, err);
}

/* ---- MluRunOps ---- */

static int compile_fusions(struct mlu_fuse_graph_executor *e, struct ntk_err *err)
{
    int ret = 0;

    for (size_t s = 0; ret == 0 && s < e->segments.count; s++) {
        struct mlu_fusion *fusion = &e->fusions[s];

        for (uint32_t i = 0; ret == 0 && i < fusion->segment->op_count; i++) {
            ret = mlu_op_executor_bind(&e->graph.op_nodes[fusion->segment->ops[i]], err);
        }
        ret = ret < 0 ? ret : fusion->stream->ops->fusion_compile(fusion->fusion, err);
    }
    e->is_compiled = ret == 0;
    return ret;
}

static int run_fusion(const struct mlu_fusion *fusion, struct ntk_err *err)
{
    int ret = 0;

    for (uint32_t i = 0; ret == 0 && i < fusion->input_count; i++) {
        ret = mlu_ndarray_to_device(fusion->inputs[i], fusion->stream, err);
    }
    for (uint32_t i = 0; ret == 0 && i < fusion->output_count; i++) {
        ret = mlu_ndarray_reserve_on_device(fusion->outputs[i], fusion->stream, err);
    }
    ret = ret < 0 ? ret : fusion->stream->ops->fusion_forward(fusion->fusion, err);
    for (uint32_t i = 0; ret == 0 && i < fusion->output_count; i++) {
        mlu_ndarray_was_written(fusion->outputs[i], fusion->stream);
    }
    return ret;
}

int mlu_run_ops(struct mlu_fuse_graph_executor *executor, struct ntk_err *err)
{
    struct graph_executor *graph = &executor->graph;
    int ret = executor->is_compiled ? 0 : compile_fusions(executor, err);

    for (uint32_t i = 0; ret == 0 && i < graph->symbol->operator_count; i++) {
        const struct mlu_fusion *fusion =
            executor->fusion_of[i] > 0 ? &executor->fusions[executor->fusion_of[i] - 1] : NULL;

        if (!fusion) {
            ret = mlu_op_executor_run(&graph->op_nodes[i], err);
        } else if (fusion->segment->fire == i) {
            ret = run_fusion(fusion, err);
        }
    }
    for (uint32_t i = 0; ret == 0 && i < graph->stream_count; i++) {
        ret = graph->ops->stream_wait(graph->streams[i].handle, err);
    }
    return ret;
}
