/* SPDX-License-Identifier: MIT */
/*
 * packager_figures - computes the work and transfers of one slot of a vendor's program per
 * execution, by the rules of version 2.32 (docs/formats/profile-summary.md).
 *
 * Owner: plain data. Threads: any.
 */
#ifndef NTK_PROFILER_PACKAGER_PACKAGER_FIGURES_H
#define NTK_PROFILER_PACKAGER_PACKAGER_FIGURES_H

#include "shared/base/map.h"
#include "shared/formats/neff/neff.h"
#include "shared/formats/neff/vendor_slot.h"

struct packager_figures {
    bool has_flops; /* true for a MATMUL */
    bool is_transpose;
    struct ntk_vendor_flops flops;
    struct ntk_vendor_work work; /* `unknown` refers to the bytes of the opcode */
};

/* Data moved by each trigger of an engine: its groups are added up once for all slots that start
 * them.
 * Owner:   _init allocates, _fini frees; the subgraph is borrowed. */
struct packager_triggers {
    const struct ntk_neff_subgraph *subgraph;
    struct ntk_map works; /* values are struct ntk_vendor_work, by group number and queue name */
};

/* Returns 0 or -ENOMEM. */
int packager_triggers_init(struct packager_triggers *triggers,
                           const struct ntk_neff_subgraph *subgraph, enum ntk_isa_engine which);
void packager_triggers_fini(struct packager_triggers *triggers);
/* Returns figures of all groups that the slot starts; NULL if none. */
const struct ntk_vendor_work *packager_triggers_find(const struct packager_triggers *triggers,
                                                     const uint8_t slot[NTK_VENDOR_SLOT_BYTES]);

/* Computes figures: transfers by their variables, triggers by their groups. */
void packager_figures_get(const struct packager_triggers *triggers,
                          const uint8_t slot[NTK_VENDOR_SLOT_BYTES],
                          struct packager_figures *out_figures);

/* Figures of a program, with each slot counted once. */
struct packager_sums {
    uint64_t slots, unknown, matmuls;
    uint64_t flops, transpose_flops, adjusted_flops, adjusted_transpose_flops;
    bool has_unweighted; /* true if the type of a MATMUL is unknown */
    struct ntk_vendor_work work;
};

void packager_sums_add(struct packager_sums *sums, const struct packager_figures *figures);

#endif
