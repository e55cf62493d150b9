/* SPDX-License-Identifier: MIT */
/* queue_names - maps rings to numbers. */
#include "profiler/analysis/queue_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_NAME UINT32_MAX

struct ntk_queue_names_core {
    size_t first; /* first index in items: the core's names, then one for each kind */
    size_t name_count;
    uint32_t of[NTK_NTFF_DMA_ENGINES][NTK_NTFF_DMA_QUEUES]; /* index relative to first */
};

static size_t name_rings(const struct ntk_ntff_subgraph *subgraph,
                         struct ntk_queue_names_core *core, struct ntk_queue_name *items)
{
    size_t count = 0;

    memset(core->of, 0xff, sizeof core->of);
    for (size_t q = 0; q < subgraph->queue_count; q++) {
        const struct ntk_ntff_queue *queue = &subgraph->queues[q];
        size_t at = 0;

        while (at < count && strcmp(items[at].name, queue->name) != 0) {
            at++;
        }
        if (at == count) {
            items[count++].name = queue->name;
        }
        if (queue->queue < NTK_NTFF_DMA_QUEUES) {
            core->of[queue->engine % NTK_NTFF_DMA_ENGINES][queue->queue] = (uint32_t)at;
        }
    }
    return count;
}

int ntk_queue_names_init(struct ntk_queue_names *names, const struct ntk_trace *trace)
{
    size_t most = 1;

    *names = (struct ntk_queue_names){ 0 };
    for (size_t c = 0; c < trace->core_count; c++) {
        most += trace->cores[c].ntff->queue_count + NTK_TRACE_DMA_CLASS_COUNT;
    }
    names->items = calloc(most, sizeof *names->items);
    names->cores = calloc(trace->core_count + 1, sizeof *names->cores);
    if (!names->items || !names->cores) {
        ntk_queue_names_fini(names);
        return -ENOMEM;
    }
    for (size_t c = 0; c < trace->core_count; c++) {
        struct ntk_queue_names_core *core = &names->cores[c];

        core->first = names->count;
        core->name_count = name_rings(trace->cores[c].ntff, core, &names->items[core->first]);
        names->count += core->name_count + NTK_TRACE_DMA_CLASS_COUNT;
        for (size_t i = core->first; i < names->count; i++) {
            names->items[i].core = c;
        }
        for (unsigned k = 0; k < NTK_TRACE_DMA_CLASS_COUNT; k++) {
            names->items[core->first + core->name_count + k].dma_class = (uint8_t)k;
        }
    }
    return 0;
}

const char *ntk_queue_name_get(const struct ntk_ntff_subgraph *subgraph, unsigned engine,
                               unsigned queue)
{
    for (size_t q = subgraph->queue_count; q > 0; q--) {
        const struct ntk_ntff_queue *found = &subgraph->queues[q - 1];
        if (found->queue == queue &&
            found->engine % NTK_NTFF_DMA_ENGINES == engine % NTK_NTFF_DMA_ENGINES) {
            return found->name;
        }
    }
    return NULL;
}

const char *ntk_queue_name_show(const char *name, unsigned dma_class, char *buf, size_t buf_bytes)
{
    if (name) {
        ntk_ntff_queue_name_show(name, buf, buf_bytes);
    } else {
        snprintf(buf, buf_bytes, "(%s)", ntk_trace_dma_class_name(dma_class));
    }
    return buf;
}

size_t ntk_queue_names_find(const struct ntk_queue_names *names, size_t core,
                            const struct ntk_trace_packet *packet)
{
    const struct ntk_queue_names_core *of = &names->cores[core];
    uint32_t named = packet->queue < NTK_NTFF_DMA_QUEUES
                         ? of->of[packet->engine % NTK_NTFF_DMA_ENGINES][packet->queue]
                         : NO_NAME;

    return of->first + (named != NO_NAME ? named : of->name_count + packet->dma_class);
}

void ntk_queue_names_fini(struct ntk_queue_names *names)
{
    free(names->items);
    free(names->cores);
    *names = (struct ntk_queue_names){ 0 };
}
