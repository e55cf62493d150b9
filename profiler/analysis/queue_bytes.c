/* SPDX-License-Identifier: MIT */
/* queue_bytes - packets against what the NEFF says of their queue. */
#include "profiler/analysis/queue_bytes.h"

#include <string.h>

#include "shared/formats/neff/neff.h"

#define TOUCHES_INPUT 1u
#define TOUCHES_OUTPUT 2u
#define TOUCHES_WEIGHT 4u

static unsigned touch_of(const struct ntk_neff_subgraph *neff,
                         const struct ntk_neff_pattern *pattern)
{
    if (pattern->var >= neff->var_count) {
        return 0;
    }
    switch (neff->vars[pattern->var].type) {
    case NTK_NEFF_VAR_INPUT:
        return TOUCHES_INPUT;
    case NTK_NEFF_VAR_OUTPUT:
        return TOUCHES_OUTPUT;
    case NTK_NEFF_VAR_FILE:
        return TOUCHES_WEIGHT;
    default:
        return 0;
    }
}

/* What the transfers of a queue set touch. */
static unsigned touches(const struct ntk_neff_subgraph *neff, const char *queue_name)
{
    unsigned mask = 0;

    for (unsigned e = 0; e < NTK_ISA_ENGINE_COUNT; e++) {
        for (uint32_t g = 0; g < neff->engines[e].group_count; g++) {
            const struct ntk_neff_dma_group *group = &neff->engines[e].groups[g];
            if (strcmp(neff->queue_sets[group->queue_set].name, queue_name) != 0) {
                continue;
            }
            for (uint32_t t = 0; t < group->transfer_count; t++) {
                const struct ntk_neff_transfer *transfer = &group->transfers[t];
                mask |= touch_of(neff, &transfer->to);
                for (uint32_t s = 0; s < transfer->source_count; s++) {
                    mask |= touch_of(neff, &transfer->from[s]);
                }
            }
        }
    }
    return mask;
}

static void add_core(const struct ntk_trace_core *core, struct ntk_queue_bytes *bytes)
{
    uint8_t masks[NTK_NTFF_DMA_ENGINES][NTK_NTFF_DMA_QUEUES] = { 0 };

    for (size_t q = 0; core->neff && q < core->ntff->queue_count; q++) {
        const struct ntk_ntff_queue *queue = &core->ntff->queues[q];
        /* Queues of one name stand together: one for each DMA engine. */
        const struct ntk_ntff_queue *before = q ? &core->ntff->queues[q - 1] : NULL;
        uint8_t mask;
        if (queue->queue >= NTK_NTFF_DMA_QUEUES) {
            continue;
        }
        if (before && before->queue == queue->queue && strcmp(before->name, queue->name) == 0) {
            mask = masks[before->engine % NTK_NTFF_DMA_ENGINES][queue->queue];
        } else {
            mask = (uint8_t)touches(core->neff, queue->name);
        }
        masks[queue->engine % NTK_NTFF_DMA_ENGINES][queue->queue] = mask;
    }
    ntk_trace_each_packet(core, packet) {
        if (packet->dma_class != NTK_TRACE_DMA_IO) {
            continue;
        }
        switch (masks[packet->engine % NTK_NTFF_DMA_ENGINES][packet->queue]) {
        case TOUCHES_INPUT:
            bytes->input_bytes += packet->bytes_count;
            break;
        case TOUCHES_OUTPUT:
            bytes->output_bytes += packet->bytes_count;
            break;
        case TOUCHES_WEIGHT:
            bytes->weight_bytes += packet->bytes_count;
            break;
        default:
            bytes->is_known = false;
            return;
        }
    }
}

void ntk_analysis_queue_bytes(const struct ntk_trace *trace, struct ntk_queue_bytes *out_bytes)
{
    struct ntk_queue_bytes bytes = { .is_known = true };

    for (size_t c = 0; c < trace->core_count && bytes.is_known; c++) {
        add_core(&trace->cores[c], &bytes);
    }
    *out_bytes = bytes;
}
