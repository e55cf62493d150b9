/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/engine/engine_opaque.h"

#include "runtime-hooks/engine/cost_model.h"

/* Cycles of the base clock for each slot of the longest binary. */
#define CYCLES_PER_SLOT 64
#define BYTES_MAX (UINT64_C(1) << 62)

static uint64_t add(uint64_t a, uint64_t b)
{
    uint64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static uint64_t pattern_bytes(const struct ntk_neff_pattern *pattern)
{
    uint64_t bytes = 1;

    for (uint32_t d = 0; d < pattern->dim_count; d++) {
        if (__builtin_mul_overflow(bytes, pattern->sizes[d], &bytes) || bytes > BYTES_MAX) {
            return BYTES_MAX;
        }
    }
    return bytes;
}

static uint64_t pattern_run(const struct ntk_neff_pattern *pattern)
{
    return pattern->dim_count > 0 && pattern->steps[0] == 1 ? pattern->sizes[0] : 1;
}

static uint64_t transfer_ps(const struct ntk_engine_core_spec *spec,
                            const struct ntk_neff_subgraph *subgraph,
                            const struct ntk_neff_dma_group *group,
                            const struct ntk_neff_transfer *transfer, uint64_t *out_descriptors)
{
    uint64_t pieces = subgraph->queue_sets[group->queue_set].queue_count;
    uint64_t written = pattern_bytes(&transfer->to);
    uint64_t run = pattern_run(&transfer->to);
    uint64_t read = 0;

    for (uint32_t s = 0; s < transfer->source_count; s++) {
        uint64_t source_run = pattern_run(&transfer->from[s]);

        read = add(read, pattern_bytes(&transfer->from[s]));
        run = source_run < run ? source_run : run;
    }
    *out_descriptors = ntk_neff_transfer_descriptors(transfer);
    pieces = pieces < spec->dma_engine_count ? pieces : spec->dma_engine_count;
    pieces = pieces < *out_descriptors ? pieces : *out_descriptors;
    pieces = pieces > 0 ? pieces : 1;
    read = read > written ? read : written;
    read = read < BYTES_MAX ? read : BYTES_MAX;
    if (transfer->op == NTK_NEFF_TRANSFER_TRANSPOSE) {
        read = ntk_cost_dma_transpose_bytes(read);
    }
    return add(NTK_COST_DMA_LATENCY_PS, ntk_cost_dma_ps(spec, (read + pieces - 1) / pieces, run));
}

uint64_t ntk_engine_opaque_ps(const struct ntk_engine_core_spec *spec,
                              const struct ntk_neff_subgraph *subgraph, uint64_t *out_descriptors)
{
    uint64_t slots = 0;
    uint64_t total_ps = 0;

    *out_descriptors = 0;
    for (int e = 0; e < NTK_ENGINE_SEQUENCER_COUNT; e++) {
        const struct ntk_neff_engine *engine = &subgraph->engines[e];
        uint64_t own = engine->is_empty ? 0 : engine->code_bytes / NTK_ISA_SLOT_BYTES;

        slots = own > slots ? own : slots;
        for (uint32_t g = 0; g < engine->group_count; g++) {
            const struct ntk_neff_dma_group *group = &engine->groups[g];

            for (uint32_t t = 0; t < group->transfer_count; t++) {
                uint64_t descriptors;

                total_ps = add(total_ps, transfer_ps(spec, subgraph, group, &group->transfers[t],
                                                     &descriptors));
                *out_descriptors = add(*out_descriptors, descriptors);
            }
        }
    }
    return add(total_ps, ntk_cost_cycles_to_ps(spec, NTK_ENGINE_SP, slots * CYCLES_PER_SLOT));
}
