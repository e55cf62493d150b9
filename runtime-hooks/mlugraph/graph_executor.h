/* SPDX-License-Identifier: MIT */
/*
 * graph_executor - runs a bound symbol operator by operator, like MXNet's GraphExecutor.
 *
 * Its steps have MXNet's names and order: infer context, types and shapes, AttachOpExecs,
 * AttachOpResource, InitCachedOps, Init() of every MLU operator, InitOpSegs; and Forward, which is
 * RunOps. Context and storage type were determined when the symbol was read; shapes and types of
 * variables are given, not inferred from the operators.
 *
 * Owner:   the caller provides the storage, zeroed before _simple_bind; graph_executor_fini() frees
 *          the content. The symbol is borrowed.
 * Threads: one.
 */
#ifndef NTK_RUNTIME_HOOKS_MLUGRAPH_GRAPH_EXECUTOR_H
#define NTK_RUNTIME_HOOKS_MLUGRAPH_GRAPH_EXECUTOR_H

#include "runtime-hooks/mlugraph/mlu_op_executor.h"

struct graph_executor {
    const struct mlu_symbol *symbol;
    const struct mlu_device_ops *ops;
    bool is_open; /* true while the library of the device is open: scopedCNMLLibraryInitializer */
    struct mlu_stream *streams;
    uint32_t stream_count;
    struct mlu_ndarray *entries; /* values of all nodes, output by output */
    uint32_t *first_entry;       /* index of the first entry, per node */
    struct mlu_op_executor *op_nodes;
};

/* SimpleBind: takes types per node of the symbol, NULL for operators and for variables without a
 * reader. Values of variables (arg_dict) are zero until written. -EINVAL: the types do not fit the
 * operators, or a required type is missing. */
int graph_executor_simple_bind(struct graph_executor *graph, const struct mlu_symbol *symbol,
                               const struct mlu_device_ops *ops,
                               const struct mlu_type *const *types, struct ntk_err *err);
/* Bind: the same as SimpleBind with values, which are copied. */
int graph_executor_bind(struct graph_executor *graph, const struct mlu_symbol *symbol,
                        const struct mlu_device_ops *ops, const struct mlu_array *const *args,
                        struct ntk_err *err);
void graph_executor_fini(struct graph_executor *graph);

/* Returns output `output` of a node; for a variable, output 0 is its value. The result is
 * borrowed. */
struct mlu_ndarray *graph_executor_entry(const struct graph_executor *graph, uint32_t node,
                                         uint32_t output);
/* Writes the value of a variable; the type must match. Constants only take effect before the first
 * Forward. */
int graph_executor_set_arg(struct graph_executor *graph, uint32_t node,
                           const struct mlu_array *value, struct ntk_err *err);
/* Forward: runs every operator and waits for the result. */
int graph_executor_forward(struct graph_executor *graph, struct ntk_err *err);
/* Returns a head on the host, borrowed until the next Forward; NULL with the message in err. */
const struct mlu_array *graph_executor_output(struct graph_executor *graph, uint32_t head,
                                              struct ntk_err *err);

/* Returns the types of values per node, to implement _bind with _simple_bind. */
int graph_executor_types_of(const struct mlu_symbol *symbol, const struct mlu_array *const *args,
                            struct mlu_type **out_storage, const struct mlu_type ***out_types,
                            struct ntk_err *err);

#endif
