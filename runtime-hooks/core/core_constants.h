/* SPDX-License-Identifier: MIT */
/*
 * core_constants - constants of a model on their way from the file to HBM: inflated straight into
 * the memory of the core that the model goes to, and held once by all models of one file on a
 * device when options.share_weights says so.
 *
 * Where a constant goes is known before the file says which nodes run on which core, so what lands
 * is a guess: the core that the first node gets. One that is needed next to another stack, or
 * aligned otherwise, is copied there, one at a time.
 *
 * Owner:   caller's storage for the time of one load; what no model took is returned by _fini.
 * Threads: one at a time per struct core_constants; weights are shared by all (core->weights_lock).
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_CONSTANTS_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_CONSTANTS_H

#include "runtime-hooks/core/core_state.h"
#include "shared/base/map.h"
#include "shared/formats/neff/neff.h"

struct core_weight;
struct ntk_core_model;

struct core_constants {
    struct ntk_core *core;
    uint32_t physical_core; /* next to which constants land */
    bool is_shared;
    uint8_t digest[32];     /* of the file, when is_shared */
    struct ntk_map members; /* name to struct core_landing * */
};

#define CORE_LANDING_BYTES_MIN 4096 /* smaller constants are copied */

/* For struct ntk_neff_landing, with the core_constants as ctx. */
void *core_constants_take(void *ctx, const char *member, uint64_t bytes_count, uint64_t alignment,
                          bool *out_is_there);
void core_constants_fini(struct core_constants *constants);

/*
 * The constant of a FILE variable as memory of the model on this physical core. With *out_weight
 * NULL it is the model's own, to be released; else the weight's, to be dropped: then the allocation
 * says where it is, and has bytes only if it counts as this model's.
 */
int core_constant_place(struct core_constants *constants, const struct ntk_core_model *model,
                        uint32_t physical_core, const struct ntk_neff_var *var,
                        struct core_allocation *out_allocation, struct core_weight **out_weight,
                        struct ntk_err *err);
/* The model on this core needs it no more; the memory is freed with its last user and counts as the
 * next one's until then. */
void core_weight_drop(struct ntk_core *core, struct core_weight *weight,
                      const struct ntk_core_model *model, uint32_t physical_core);

#endif
