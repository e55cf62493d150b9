/* SPDX-License-Identifier: MIT */
/*
 * core_model_parts - parts of a model under construction: subgraphs and their memory
 * (core_model_subgraph.c), libraries of nodes on the host (core_model_library.c), and the buffers
 * between steps (core_model_context.c). Private to runtime-hooks/core.
 *
 * Owner:   the model; core_model_free() frees all parts.
 * Threads: one, the thread that loads the model.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_MODEL_PARTS_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_MODEL_PARTS_H

#include "runtime-hooks/core/core_model.h"
#include "runtime-hooks/core/core_pipeline.h"

/* Where the subgraphs of a step come from. */
struct core_step_source {
    const struct ntk_neff *neff;
    uint32_t node;
    struct core_pipeline pipeline;
};

/* Takes memory for the model; 0 bytes take none. */
int core_model_memory_take(struct ntk_core_model *model, uint32_t physical,
                           enum ntk_memory_category category, uint64_t bytes, uint64_t align,
                           const char *name, struct core_allocation *out_allocation,
                           struct ntk_err *err);

/* Makes the program of a subgraph on a physical core, with its variables and code. */
int core_subgraph_make(struct ntk_core_model *model, const struct core_step_source *source,
                       uint32_t physical, const struct ntk_neff_subgraph *from,
                       struct core_subgraph *subgraph, struct ntk_err *err);
void core_subgraph_fini(const struct ntk_core_model *model, struct core_subgraph *subgraph);

/* Loads the shared object in a member of the NEFF, once per model. */
int core_library_open(struct ntk_core_model *model, const struct ntk_neff *neff,
                      const char *member_name, void **out_handle, struct ntk_err *err);
void core_libraries_fini(struct ntk_core_model *model);

/* Lays out the buffers between steps, after all variables have set the sizes. */
void core_context_plan(struct ntk_core_model *model);
/* Allocates contexts when the model is loaded. */
int core_contexts_reserve(struct ntk_core_model *model, struct ntk_err *err);
void core_contexts_fini(struct ntk_core_model *model);

#endif
