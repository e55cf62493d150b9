/* SPDX-License-Identifier: MIT */
/*
 * core_pipeline - a node of several subgraphs on a chip of the first generation: each subgraph is a
 * step on its own core, in their order, and a tensor that one writes and later ones read by the
 * same name is in device memory between them. Later chips run the subgraphs of a node side by side
 * on one logical core instead.
 *
 * Owner:   caller's storage, a zeroed struct is not a pipeline; what is planned for the model stays
 *          with the model. Threads: one, that of the load.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_PIPELINE_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_PIPELINE_H

#include "runtime-hooks/core/core_model.h"
#include "shared/base/map.h"

/* What one node asks of the machine while it is made into steps. */
struct core_pipeline {
    struct ntk_map writers;         /* tensor to struct core_writer * */
    struct core_writer *writer_all; /* their storage */
};

/* Logical cores that a node needs, and steps that it becomes. */
uint32_t core_pipeline_length(const struct ntk_core *core, const struct ntk_neff *neff,
                              const struct ntk_neff_node *node);

/*
 * Who writes what in the node, whose first subgraph goes to core nc; adds a slot to the model for
 * each tensor that only passes between its subgraphs. -EBADMSG with a message when a tensor is
 * written twice, read before it is written, read with another size, or written without a reader.
 */
int core_pipeline_plan(struct ntk_core_model *model, const struct ntk_neff *neff,
                       uint32_t node_index, uint32_t nc, struct core_pipeline *out_pipeline,
                       struct ntk_err *err);
void core_pipeline_fini(struct core_pipeline *pipeline);
/* The slot of a tensor that a subgraph of the node writes; CORE_SLOT_NONE when none does. */
uint32_t core_pipeline_slot(const struct core_pipeline *pipeline, const char *name);

#endif
