/* SPDX-License-Identifier: MIT */
/*
 * mlu_fuse_graph_executor - runs the segments of a bound symbol as fusion operators, like the
 * proposal's MluFuseGraphExecutor.
 *
 * Binding consists of the binding of graph_executor, the segments (mlu_segments.h), and one fusion
 * operator per segment with its operators in order and its inputs and outputs set. MluRunOps
 * compiles all fusion operators once and visits the operators: an operator outside of segments runs
 * separately; a segment runs at its last input operator, and its other operators are skipped.
 *
 * Inputs of a fusion operator are in order of (reading operator, input), its outputs in order of
 * (producing operator, output), each once.
 *
 * Owner:   the caller provides the storage, zeroed before a bind; _fini frees the content.
 * Threads: one.
 */
#ifndef NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_FUSE_GRAPH_EXECUTOR_H
#define NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_FUSE_GRAPH_EXECUTOR_H

#include "runtime-hooks/mlugraph/graph_executor.h"
#include "runtime-hooks/mlugraph/mlu_fuse_symbol.h"

struct mlu_fusion {
    const struct mlu_segment *segment;
    const struct mlu_stream *stream;
    void *fusion; /* fusion operator of the device */
    struct mlu_ndarray **inputs;
    uint32_t input_count;
    struct mlu_ndarray **outputs;
    uint32_t output_count;
};

struct mlu_fuse_graph_executor {
    struct graph_executor graph;
    struct mlu_fuse_symbol fuse;
    struct ntk_vec segments;
    struct mlu_fusion *fusions; /* one per segment */
    uint32_t *fusion_of;        /* per operator: number of its fusion + 1, 0 for none */
    bool is_compiled;
};

/* MluFuseSimpleBind and MluFuseBind: take the same arguments as the functions of graph_executor. */
int mlu_fuse_simple_bind(struct mlu_fuse_graph_executor *executor, const struct mlu_symbol *symbol,
                         const struct mlu_device_ops *ops, const struct mlu_type *const *types,
                         struct ntk_err *err);
int mlu_fuse_bind(struct mlu_fuse_graph_executor *executor, const struct mlu_symbol *symbol,
                  const struct mlu_device_ops *ops, const struct mlu_array *const *args,
                  struct ntk_err *err);
void mlu_fuse_graph_executor_fini(struct mlu_fuse_graph_executor *executor);
/* MluRunOps: does a Forward. The outputs are in executor->graph. */
int mlu_run_ops(struct mlu_fuse_graph_executor *executor, struct ntk_err *err);

#endif
