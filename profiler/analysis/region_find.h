/* SPDX-License-Identifier: MIT */
/*
 * region_find - interface between the parts of regions.h: regions and their instances, in the order
 * of discovery.
 *
 * Instances of one region are in order of time. Owner: regions.c. Threads: one.
 */
#ifndef NTK_PROFILER_ANALYSIS_REGION_FIND_H
#define NTK_PROFILER_ANALYSIS_REGION_FIND_H

#include "profiler/analysis/regions.h"
#include "shared/base/vec.h"

#define NTK_REGION_NAME_BYTES 200

struct ntk_region_find {
    const struct ntk_program *program;
    struct ntk_vec regions;   /* elements are struct ntk_region, as far as known */
    struct ntk_long_list raw; /* elements are struct ntk_region_instance, as found */
    uint64_t omitted;
};

/* *out_region is NTK_REGION_NONE if there are too many. Returns 0 or -ENOMEM. */
int ntk_region_find_add(struct ntk_region_find *find, size_t core_index, unsigned engine,
                        enum ntk_region_kind kind, uint32_t *out_region);
/* Adds an instance; NTK_REGION_NONE counts as omitted. Returns 0 or -errno of the list. */
int ntk_region_find_put(struct ntk_region_find *find, uint32_t region, int64_t start_ps,
                        int64_t end_ps, uint32_t instruction, uint64_t instruction_count);

static inline struct ntk_region *ntk_region_find_at(const struct ntk_region_find *find,
                                                    uint32_t region)
{
    return ntk_vec_at(&find->regions, region);
}

/* Returns true if the instruction is not content: it waits, signals, orders or prepares. */
bool ntk_region_is_sync(const struct ntk_slot_fact *fact, uint8_t opcode);
/* Replaces each group of digits by one '#'. Returns buf. */
const char *ntk_region_plain_name(const char *name, char *buf, size_t buf_bytes);

/* ---- the parts ---- */

/* Finds loops, kernels and iterations on the engines of a core (region_engines.c). */
int ntk_region_find_repeats(struct ntk_region_find *find, size_t core_index);
/* Finds layers (region_layers.c). */
int ntk_region_find_layers(struct ntk_region_find *find, size_t core_index);
/* Finds collectives (region_collectives.c). */
int ntk_region_find_collectives(struct ntk_region_find *find, size_t core_index);

#endif
