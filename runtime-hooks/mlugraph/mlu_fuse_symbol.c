/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/mlugraph/mlu_fuse_symbol.h"

#include <stdlib.h>

bool mlu_node_reads_at_run(const struct mlu_symbol *symbol, const struct mlu_node *node,
                           uint32_t input)
{
    enum mlu_role role = mlu_op_role(node->op, input);
    bool is_variable = !symbol->nodes[node->inputs[input].node].op;

    return role == MLU_ROLE_DATA || (role != MLU_ROLE_IGNORED && !is_variable);
}

void mlu_fuse_symbol_fini(struct mlu_fuse_symbol *fuse)
{
    free(fuse->nodes);
    free(fuse->inputs);
    free(fuse->is_head);
    *fuse = (struct mlu_fuse_symbol){ 0 };
}

int mlu_fuse_symbol_init(const struct mlu_symbol *symbol, struct mlu_fuse_symbol *out_fuse,
                         struct ntk_err *err)
{
    struct mlu_fuse_symbol fuse = { 0 };
    size_t inputs = 1;
    size_t outputs = 1;

    for (uint32_t i = 0; i < symbol->operator_count; i++) {
        const struct mlu_node *node = &symbol->nodes[symbol->operators[i]];

        inputs += node->input_count;
        outputs += node->output_count;
    }
    fuse.nodes = calloc((size_t)symbol->operator_count + 1, sizeof *fuse.nodes);
    fuse.inputs = calloc(inputs, sizeof *fuse.inputs);
    fuse.is_head = calloc(outputs, sizeof *fuse.is_head);
    if (!fuse.nodes || !fuse.inputs || !fuse.is_head) {
        mlu_fuse_symbol_fini(&fuse);
        return ntk_err_no_memory(err);
    }
    for (uint32_t i = 0; i < symbol->operator_count; i++) {
        const struct mlu_node *node = &symbol->nodes[symbol->operators[i]];

        fuse.nodes[i] = (struct mlu_fuse_node){ .device = node->device,
                                                .is_copy = node->op->kind == MLU_OP_COPY,
                                                .first_input = fuse.graph.input_count,
                                                .first_output = fuse.graph.output_count,
                                                .output_count = node->output_count };
        for (uint32_t k = 0; k < node->input_count; k++) {
            const struct mlu_node *producer = &symbol->nodes[node->inputs[k].node];

            if (mlu_node_reads_at_run(symbol, node, k)) {
                fuse.inputs[fuse.graph.input_count++] =
                    (struct mlu_fuse_input){ producer->op ? producer->order : MLU_FUSE_EXTERNAL,
                                             node->inputs[k].output };
            }
        }
        fuse.nodes[i].input_count = fuse.graph.input_count - fuse.nodes[i].first_input;
        fuse.graph.output_count += node->output_count;
    }
    for (uint32_t h = 0; h < symbol->head_count; h++) {
        const struct mlu_node *node = &symbol->nodes[symbol->heads[h].node];

        if (node->op) {
            fuse.is_head[fuse.nodes[node->order].first_output + symbol->heads[h].output] = true;
        }
    }
    fuse.graph.nodes = fuse.nodes;
    fuse.graph.node_count = symbol->operator_count;
    fuse.graph.inputs = fuse.inputs;
    fuse.graph.is_head = fuse.is_head;
    *out_fuse = fuse;
    return 0;
}
