/* SPDX-License-Identifier: MIT */
/*
 * core_constants - constants of a model on their way from the file to HBM: inflated straight into
 * the memory of the core that the model goes to, and held once by all models of one file on a
 * device when options.share_weights says so.
 *
 * Where a constant goes is known before the file says which nodes run on which core, so the place
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
    uint32_t physical_core; /* constants land in its memory */
    bool is_shared;
    uint8_t digest[32];     /* of the file, if is_shared */
    struct ntk_map members; /* name to struct core_landing * */
};

#define CORE_LANDING_BYTES_MIN 4096 /* smaller constants are copied */

/* Fits struct ntk_neff_landing, with the core_constants as ctx. */
void *core_constants_take(void *ctx, const char *member, uint64_t bytes_count, uint64_t alignment,
                          bool *out_is_there);
void core_constants_fini(struct core_constants *constants);

/*
 * Provides the constant of a FILE variable in memory of the model on this physical core. With
 * *out_weight NULL the model owns it and releases it; else it belongs to the weight, to be dropped:
 * then the allocation is its place, and has bytes only if accounted to this model.
 */
int core_constant_place(struct core_constants *constants, const struct ntk_core_model *model,
                        uint32_t physical_core, const struct ntk_neff_var *var,
                        struct core_allocation *out_allocation, struct core_weight **out_weight,
                        struct ntk_err *err);
/* The model on this core no longer needs it. The memory is freed after its last user; until then it
 * is accounted to the next one. */
void core_weight_drop(struct ntk_core *core, struct core_weight *weight,
                      const struct ntk_core_model *model, uint32_t physical_core);

#endif
