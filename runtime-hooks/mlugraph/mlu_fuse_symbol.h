/* SPDX-License-Identifier: MIT */
/*
 * mlu_fuse_symbol - converts a symbol to the form for mlu_segments: operators in file order,
 * without variables.
 *
 * Inputs not read at run time are omitted: a weight that is a variable, the label of a loss. Other
 * variables are external.
 *
 * Owner: the caller provides the storage, mlu_fuse_symbol_fini() frees the content. Threads: any.
 */
#ifndef NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_FUSE_SYMBOL_H
#define NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_FUSE_SYMBOL_H

#include "runtime-hooks/mlugraph/mlu_segments.h"
#include "runtime-hooks/mlugraph/mlu_symbol.h"

struct mlu_fuse_symbol {
    struct mlu_fuse_graph graph;
    struct mlu_fuse_node *nodes;
    struct mlu_fuse_input *inputs;
    bool *is_head;
};

int mlu_fuse_symbol_init(const struct mlu_symbol *symbol, struct mlu_fuse_symbol *out_fuse,
                         struct ntk_err *err);
void mlu_fuse_symbol_fini(struct mlu_fuse_symbol *fuse);

/* Returns true if an operator reads this input at run time rather than at creation. */
bool mlu_node_reads_at_run(const struct mlu_symbol *symbol, const struct mlu_node *node,
                           uint32_t input);

#endif
