/* SPDX-License-Identifier: MIT */
/*
 * core_pipeline - a node with several subgraphs on a chip of the first generation: the subgraphs
 * are steps on separate cores, in order. A tensor that one subgraph writes and later ones read
 * under the same name is kept in device memory in between. Later chips run the subgraphs of a node
 * in parallel on one logical core.
 *
 * Owner:   caller's storage, a zeroed struct is not a pipeline; the model owns the plan.
 * Threads: one, the thread that loads the model.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_PIPELINE_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_PIPELINE_H

#include "runtime-hooks/core/core_model.h"
#include "shared/base/map.h"

/* The data of a node while its steps are built. */
struct core_pipeline {
    struct ntk_map writers;         /* maps a tensor name to struct core_writer * */
    struct core_writer *writer_all; /* storage of the writers */
};

/* The number of logical cores that a node needs, which is also its number of steps. */
uint32_t core_pipeline_length(const struct ntk_core *core, const struct ntk_neff *neff,
                              const struct ntk_neff_node *node);

/*
 * Plans the writers and readers in the node (its first subgraph is on core nc); adds a slot to the
 * model for each tensor passed between its subgraphs. Returns -EBADMSG with a message if a tensor
 * is written twice, read before it is written, read with another size, or written without a reader.
 */
int core_pipeline_plan(struct ntk_core_model *model, const struct ntk_neff *neff,
                       uint32_t node_index, uint32_t nc, struct core_pipeline *out_pipeline,
                       struct ntk_err *err);
void core_pipeline_fini(struct core_pipeline *pipeline);
/* The slot of a tensor that a subgraph of the node writes; CORE_SLOT_NONE if there is none. */
uint32_t core_pipeline_slot(const struct core_pipeline *pipeline, const char *name);

#endif
