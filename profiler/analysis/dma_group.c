/* SPDX-License-Identifier: MIT */
/* dma_group - triggers against the groups of the NEFF. */
#include "profiler/analysis/dma_group.h"

#include <string.h>

/* Whether a trigger that names an instance (1 + its number; 0: none) starts the group. */
static bool is_in_instance(const struct ntk_neff_subgraph *neff,
                           const struct ntk_neff_dma_group *group, uint32_t instance)
{
    const struct ntk_neff_queue_set *set = &neff->queue_sets[group->queue_set];

    return instance == 0 || (group->instance && instance <= set->instance_count &&
                             strcmp(group->instance, set->instances[instance - 1]) == 0);
}

const struct ntk_neff_dma_group *ntk_dma_group_next(const struct ntk_trace_core *core,
                                                    unsigned engine,
                                                    const struct ntk_isa_instr *instr,
                                                    uint32_t *index)
{
    const struct ntk_neff_engine *of = core->neff ? &core->neff->engines[engine] : NULL;

    while (of && *index < of->group_count) {
        const struct ntk_neff_dma_group *group = &of->groups[(*index)++];
        if (group->id == instr->group_id && group->queue_set == instr->queue &&
            is_in_instance(core->neff, group, instr->imm[0])) {
            return group;
        }
    }
    return NULL;
}

const struct ntk_neff_transfer *ntk_dma_transfer_next(const struct ntk_trace_core *core,
                                                      unsigned engine,
                                                      const struct ntk_isa_instr *instr,
                                                      struct ntk_dma_cursor *cursor)
{
    while (!cursor->group || cursor->transfer_index == cursor->group->transfer_count) {
        cursor->group = ntk_dma_group_next(core, engine, instr, &cursor->group_index);
        cursor->transfer_index = 0;
        if (!cursor->group) {
            return NULL;
        }
        cursor->has_group = true;
    }
    return &cursor->group->transfers[cursor->transfer_index++];
}

uint64_t ntk_dma_pattern_bytes(const struct ntk_neff_pattern *pattern)
{
    uint64_t bytes_count = 1;

    for (uint32_t d = 0; d < pattern->dim_count; d++) {
        bytes_count *= pattern->sizes[d];
    }
    return bytes_count;
}

bool ntk_dma_transfer_accumulates(const struct ntk_neff_transfer *transfer)
{
    switch (transfer->op) {
    case NTK_NEFF_TRANSFER_ADD:
    case NTK_NEFF_TRANSFER_FMA:
        return !transfer->has_source_array;
    case NTK_NEFF_TRANSFER_MIN:
    case NTK_NEFF_TRANSFER_MAX:
        return !transfer->has_source_array && !transfer->has_constant;
    default:
        return false;
    }
}
