/* SPDX-License-Identifier: MIT */
/*
 * core_constants - moves a model's constants from the file to HBM: they are inflated directly into
 * the memory of the core that will run the model, and, with options.share_weights, all models of
 * one file on a device share them.
 *
 * Constants are inflated before it is known which nodes run on which core, so their place is a
 * guess: the core of the first node. A constant that is needed in another stack, or with another
 * alignment, is copied there, one at a time.
 *
 * Owner:   caller's storage for the time of one load; _fini frees the memory that no model took.
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
    uint32_t physical_core; /* constants are inflated into this core's memory */
    bool is_shared;
    uint8_t digest[32];     /* digest of the file, if is_shared */
    struct ntk_map members; /* maps a name to struct core_landing * */
};

#define CORE_LANDING_BYTES_MIN 4096 /* smaller constants are always copied */

/* Callback for struct ntk_neff_landing, with the core_constants as ctx. */
void *core_constants_take(void *ctx, const char *member, uint64_t bytes_count, uint64_t alignment,
                          bool *out_is_there);
void core_constants_fini(struct core_constants *constants);

/*
 * Provides the content of a FILE variable in memory for the model on this physical core. If
 * *out_weight is NULL, the model owns the memory and releases it; otherwise it belongs to the
 * weight, to be dropped: the allocation is then its place, and has bytes only if it is accounted to
 * this model.
 */
int core_constant_place(struct core_constants *constants, const struct ntk_core_model *model,
                        uint32_t physical_core, const struct ntk_neff_var *var,
                        struct core_allocation *out_allocation, struct core_weight **out_weight,
                        struct ntk_err *err);
/* Called when the model on this core no longer needs the weight. The memory is freed after its last
 * user; until then it is accounted to the next user. */
void core_weight_drop(struct ntk_core *core, struct core_weight *weight,
                      const struct ntk_core_model *model, uint32_t physical_core);

#endif
