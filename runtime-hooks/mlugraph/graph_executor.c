/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/mlugraph/graph_executor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/memory.h"

struct mlu_ndarray *graph_executor_entry(const struct graph_executor *graph, uint32_t node,
                                         uint32_t output)
{
    return &graph->entries[graph->first_entry[node] + output];
}

void graph_executor_fini(struct graph_executor *graph)
{
    const struct mlu_symbol *symbol = graph->symbol;

    for (uint32_t i = 0; graph->op_nodes && i < symbol->operator_count; i++) {
        mlu_op_executor_fini(&graph->op_nodes[i]);
    }
    for (uint32_t i = 0; graph->entries && i < graph->first_entry[symbol->node_count]; i++) {
        mlu_ndarray_fini(&graph->entries[i]);
    }
    for (uint32_t i = 0; i < graph->stream_count; i++) {
        graph->ops->stream_close(graph->streams[i].handle);
    }
    if (graph->is_open) {
        graph->ops->close();
    }
    free(graph->op_nodes);
    free(graph->entries);
    free(graph->first_entry);
    free(graph->streams);
    *graph = (struct graph_executor){ 0 };
}

/* Allocates all values. */
static int make_entries(struct graph_executor *graph, struct ntk_err *err)
{
    const struct mlu_symbol *symbol = graph->symbol;
    uint32_t count = 0;

    graph->first_entry = calloc((size_t)symbol->node_count + 1, sizeof *graph->first_entry);
    graph->op_nodes = calloc((size_t)symbol->operator_count + 1, sizeof *graph->op_nodes);
    if (!graph->first_entry || !graph->op_nodes) {
        return ntk_err_no_memory(err);
    }
    for (uint32_t n = 0; n < symbol->node_count; n++) {
        graph->first_entry[n] = count;
        count += symbol->nodes[n].output_count;
    }
    graph->first_entry[symbol->node_count] = count;
    graph->entries = calloc((size_t)count + 1, sizeof *graph->entries);
    return graph->entries ? 0 : ntk_err_no_memory(err);
}

/* ---- InferShape, InferType ---- */

static int infer_node(struct graph_executor *graph, uint32_t index,
                      const struct mlu_type *const *types, struct ntk_err *err)
{
    const struct mlu_node *node = &graph->symbol->nodes[index];
    const struct mlu_type **in = calloc((size_t)node->input_count + 1, sizeof *in);
    struct mlu_type *out = calloc((size_t)node->output_count + 1, sizeof *out);
    int ret;

    if (!in || !out) {
        free(in);
        free(out);
        return ntk_err_no_memory(err);
    }
    ret = mlu_op_param_read(node, &graph->op_nodes[node->order].param, err);
    for (uint32_t i = 0; ret == 0 && i < node->input_count; i++) {
        const struct mlu_entry *entry = &node->inputs[i];
        const struct mlu_node *producer = &graph->symbol->nodes[entry->node];

        if (mlu_op_role(node->op, i) == MLU_ROLE_IGNORED) {
            continue;
        }
        if (!producer->op && !types[entry->node]) {
            ret = ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                              "node '%s' requires the variable '%s', which has no value",
                              node->name, producer->name);
        }
        in[i] = &graph_executor_entry(graph, entry->node, entry->output)->type;
    }
    if (ret == 0) {
        ret = mlu_infer(node, &graph->op_nodes[node->order].param, in, out, err);
    }
    for (uint32_t i = 0; ret == 0 && i < node->output_count; i++) {
        graph_executor_entry(graph, index, i)->type = out[i];
    }
    free(in);
    free(out);
    return ret;
}

static int infer_shapes_and_types(struct graph_executor *graph, const struct mlu_type *const *types,
                                  struct ntk_err *err)
{
    const struct mlu_symbol *symbol = graph->symbol;
    uint64_t available = ntk_memory_available();
    uint64_t bytes = 0;

    for (uint32_t n = 0; n < symbol->node_count; n++) { /* variables may come after operators */
        if (types[n] && !symbol->nodes[n].op) {
            graph_executor_entry(graph, n, 0)->type = *types[n];
        }
    }
    for (uint32_t i = 0; i < symbol->operator_count; i++) {
        uint32_t index = symbol->operators[i];
        int ret = infer_node(graph, index, types, err);

        if (ret < 0) {
            return ret;
        }
        for (uint32_t o = 0; o < symbol->nodes[index].output_count; o++) {
            const struct mlu_type *type = &graph_executor_entry(graph, index, o)->type;

            bytes += mlu_shape_count(&type->shape) * mlu_dtype_bytes(type->dtype);
        }
        if (bytes > available) {
            return ntk_err_set(
                err, -ENOMEM, NTK_ERR_NO_OFFSET,
                "node '%s': the values up to this node take %llu bytes, but this machine has %llu",
                symbol->nodes[index].name, (unsigned long long)bytes,
                (unsigned long long)available);
        }
    }
    return 0;
}

/* ---- AttachOpExecs, AttachOpResource, InitCachedOps ---- */

static int attach_op_execs(struct graph_executor *graph, struct ntk_err *err)
{
    for (uint32_t i = 0; i < graph->symbol->operator_count; i++) {
        struct mlu_op_executor *executor = &graph->op_nodes[i];

        executor->symbol = graph->symbol;
        executor->node = &graph->symbol->nodes[graph->symbol->operators[i]];
        executor->in_array =
            calloc((size_t)executor->node->input_count + 1, sizeof(struct mlu_ndarray *));
        executor->out_array =
            calloc((size_t)executor->node->output_count + 1, sizeof(struct mlu_ndarray *));
        if (!executor->in_array || !executor->out_array) {
            return ntk_err_no_memory(err);
        }
    }
    return 0;
}

static bool has_device(const struct mlu_op_executor *executor)
{
    return executor->node->device >= 0 && executor->node->op->kind != MLU_OP_COPY;
}

/* Opens one stream per used MLU. A copy between devices needs no stream: the value is copied when
 * an operator elsewhere reads it. */
static int attach_op_resource(struct graph_executor *graph, struct ntk_err *err)
{
    /* number of the stream + 1, by device */
    uint32_t *stream_of = calloc(MLU_DEVICE_ID_MAX + 1, sizeof *stream_of);
    uint32_t count = 0;
    int ret = 0;

    if (!stream_of) {
        return ntk_err_no_memory(err);
    }
    for (uint32_t i = 0; ret == 0 && i < graph->symbol->operator_count; i++) {
        const struct mlu_op_executor *executor = &graph->op_nodes[i];

        if (has_device(executor) && stream_of[executor->node->device] == 0) {
            stream_of[executor->node->device] = ++count;
        }
    }
    if (ret == 0 && count > 0) {
        ret = graph->ops->open(err);
        graph->is_open = ret == 0;
        graph->streams = calloc(count, sizeof *graph->streams);
        if (ret == 0 && !graph->streams) {
            ret = ntk_err_no_memory(err);
        }
    }
    for (int32_t device = 0; ret == 0 && device <= MLU_DEVICE_ID_MAX; device++) {
        if (stream_of[device] > 0) {
            struct mlu_stream *stream = &graph->streams[graph->stream_count];

            *stream = (struct mlu_stream){ graph->ops, device, NULL };
            ret = graph->ops->stream_open(device, &stream->handle, err);
            stream_of[device] = ++graph->stream_count;
            graph->stream_count -= ret < 0;
        }
    }
    for (uint32_t i = 0; ret == 0 && i < graph->symbol->operator_count; i++) {
        struct mlu_op_executor *executor = &graph->op_nodes[i];

        if (has_device(executor)) {
            executor->stream = &graph->streams[stream_of[executor->node->device] - 1];
        }
    }
    free(stream_of);
    return ret;
}

static void init_cached_ops(struct graph_executor *graph)
{
    for (uint32_t i = 0; i < graph->symbol->operator_count; i++) {
        struct mlu_op_executor *executor = &graph->op_nodes[i];
        const struct mlu_node *node = executor->node;

        for (uint32_t k = 0; k < node->input_count; k++) {
            if (mlu_op_role(node->op, k) != MLU_ROLE_IGNORED) {
                executor->in_array[k] =
                    graph_executor_entry(graph, node->inputs[k].node, node->inputs[k].output);
            }
        }
        for (uint32_t o = 0; o < node->output_count; o++) {
            executor->out_array[o] = graph_executor_entry(graph, graph->symbol->operators[i], o);
        }
    }
}

/* The proposal's InitOpSegs groups operators for a threaded engine; with the naive engine, the only
 * supported one, every operator is separate. */
static int init_mlu_ops(struct graph_executor *graph, struct ntk_err *err)
{
    for (uint32_t i = 0; i < graph->symbol->operator_count; i++) {
        int ret = mlu_op_executor_init(&graph->op_nodes[i], err);

        if (ret < 0) {
            return ret;
        }
    }
    return 0;
}

static int init_args(struct graph_executor *graph, const struct mlu_type *const *types,
                     struct ntk_err *err)
{
    int ret = 0;

    for (uint32_t n = 0; ret == 0 && n < graph->symbol->node_count; n++) {
        if (types[n] && !graph->symbol->nodes[n].op) {
            struct mlu_ndarray *arg = graph_executor_entry(graph, n, 0);

            ret = mlu_ndarray_reserve(arg, err);
            mlu_ndarray_was_written(arg, NULL);
        }
    }
    return ret;
}

int graph_executor_simple_bind(struct graph_executor *graph, const struct mlu_symbol *symbol,
                               const struct mlu_device_ops *ops,
                               const struct mlu_type *const *types, struct ntk_err *err)
{
    int ret;

    graph->symbol = symbol;
    graph->ops = ops;
    ret = make_entries(graph, err);
    ret = ret < 0 ? ret : infer_shapes_and_types(graph, types, err);
    ret = ret < 0 ? ret : attach_op_execs(graph, err);
    ret = ret < 0 ? ret : attach_op_resource(graph, err);
    if (ret == 0) {
        init_cached_ops(graph);
        ret = init_mlu_ops(graph, err);
    }
    return ret < 0 ? ret : init_args(graph, types, err);
}

int graph_executor_types_of(const struct mlu_symbol *symbol, const struct mlu_array *const *args,
                            struct mlu_type **out_storage, const struct mlu_type ***out_types,
                            struct ntk_err *err)
{
    struct mlu_type *storage = calloc((size_t)symbol->node_count + 1, sizeof *storage);
    const struct mlu_type **types = calloc((size_t)symbol->node_count + 1, sizeof *types);

    if (!storage || !types) {
        free(storage);
        free(types);
        ntk_err_no_memory(err);
        return -ENOMEM;
    }
    for (uint32_t n = 0; n < symbol->node_count; n++) {
        if (args[n]) {
            storage[n] = (struct mlu_type){ args[n]->dtype, args[n]->shape };
            types[n] = &storage[n];
        }
    }
    *out_storage = storage;
    *out_types = types;
    return 0;
}

int graph_executor_bind(struct graph_executor *graph, const struct mlu_symbol *symbol,
                        const struct mlu_device_ops *ops, const struct mlu_array *const *args,
                        struct ntk_err *err)
{
    struct mlu_type *storage = NULL;
    const struct mlu_type **types = NULL;
    int ret = graph_executor_types_of(symbol, args, &storage, &types, err);

    if (ret < 0) {
        return ret;
    }
    ret = graph_executor_simple_bind(graph, symbol, ops, types, err);
    for (uint32_t n = 0; ret == 0 && n < symbol->node_count; n++) {
        ret = args[n] ? graph_executor_set_arg(graph, n, args[n], err) : 0;
    }
    free(storage);
    free(types);
    return ret;
}

int graph_executor_set_arg(struct graph_executor *graph, uint32_t node,
                           const struct mlu_array *value, struct ntk_err *err)
{
    struct mlu_ndarray *arg = graph_executor_entry(graph, node, 0);

    if (graph->symbol->nodes[node].op || !arg->host.data || value->dtype != arg->type.dtype ||
        !mlu_shape_equal(&value->shape, &arg->type.shape)) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "variable '%s' was bound with a different type or shape",
                           graph->symbol->nodes[node].name);
    }
    memcpy(arg->host.data, value->data, value->count * mlu_dtype_bytes(value->dtype));
    mlu_ndarray_was_written(arg, NULL);
    return 0;
}

int graph_executor_forward(struct graph_executor *graph, struct ntk_err *err)
{
    int ret = 0;

    for (uint32_t i = 0; ret == 0 && i < graph->symbol->operator_count; i++) {
        struct mlu_op_executor *executor = &graph->op_nodes[i];

        ret = mlu_op_executor_run(executor, err);
        if (ret == 0 && executor->stream) {
            ret = graph->ops->stream_wait(executor->stream->handle, err);
        }
    }
    return ret;
}

const struct mlu_array *graph_executor_output(struct graph_executor *graph, uint32_t head,
                                              struct ntk_err *err)
{
    const struct mlu_entry *entry = &graph->symbol->heads[head];
    struct mlu_ndarray *value = graph_executor_entry(graph, entry->node, entry->output);

    return mlu_ndarray_to_host(value, err) < 0 ? NULL : &value->host;
}
