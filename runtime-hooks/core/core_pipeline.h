/* SPDX-License-Identifier: MIT */
/*
 * core_pipeline - a node of several subgraphs on a chip of the first generation: each subgraph is a
 * step on its own core, in order, and tensors with the same name that are written by one and read
 * by later ones are in device memory in between. Later chips run the subgraphs of a node in
 * parallel on one logical core.
 *
 * Owner:   caller's storage, a zeroed struct is not a pipeline; the model owns the plan.
 * Threads: one, that of the load.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_PIPELINE_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_PIPELINE_H

#include "runtime-hooks/core/core_model.h"
#include "shared/base/map.h"

/* The resources of a node while its steps are built. */
struct core_pipeline {
    struct ntk_map writers;         /* tensor to struct core_writer * */
    struct core_writer *writer_all; /* their storage */
};

/* Number of logical cores that a node needs, and of its steps. */
uint32_t core_pipeline_length(const struct ntk_core *core, const struct ntk_neff *neff,
                              const struct ntk_neff_node *node);

/*
 * Plans the writers and readers in the node (its first subgraph is on core nc); adds a slot to the
 * model for each tensor passed between its subgraphs. -EBADMSG with a message if a tensor is
 * written twice, read before it is written, read with another size, or written without a reader.
 */
int core_pipeline_plan(struct ntk_core_model *model, const struct ntk_neff *neff,
                       uint32_t node_index, uint32_t nc, struct core_pipeline *out_pipeline,
                       struct ntk_err *err);
void core_pipeline_fini(struct core_pipeline *pipeline);
/* The slot of a tensor written by a subgraph of the node; CORE_SLOT_NONE if none. */
uint32_t core_pipeline_slot(const struct core_pipeline *pipeline, const char *name);

#endif
